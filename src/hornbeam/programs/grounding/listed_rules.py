"""Every ground rule of a program at a state: one row each, in a table of a private database.

Grounding merges equal ground rules and forgets their constants, which inference does not need. Here
the queries of the rules are asked again, without merging. DuckDB computes the distances, sorts and
writes, and spills to disk, so that millions of ground rules need little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from typing import Any, TypeVar

import duckdb
import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.progress import SILENT, Progress
from hornbeam.facts.reading.workspace import MEMORY_LIMIT
from hornbeam.hlmrf.potentials import PotentialKind
from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule, core_text, rule_variables
from hornbeam.language.syntax import Constant, LogicalRule, Term, Variable
from hornbeam.programs.grounding.ground import GroundProgram, kind_and_signs
from hornbeam.programs.grounding.ground_queries import (
    AtomTables,
    GroundingQuery,
    atom_tables,
    grounding_query,
)
from hornbeam.programs.grounding.ground_sums import grouped_rows, has_sums

#: A constraint is broken if its distance is larger.
BROKEN = 1e-3
#: Columns of the table: `rule` is the number of the rule, `form` its linear form l (with the sign
#: that makes l > 0 a violation), `distance` its distance to satisfaction, and `cost` the weighted
#: potential, NULL in a hard rule.
FIGURES = "rule INTEGER, form DOUBLE, distance DOUBLE, cost DOUBLE, broken BOOLEAN"
#: Further columns: the text of the ground rule; or the ids of the rule's variables in the order of
#: `rule_variables`, and the random variables with their coefficients, which may repeat.
TEXTS = "ground_rule VARCHAR"
PARTS = "arguments INTEGER[], variables INTEGER[], coefficients DOUBLE[]"
#: The table for people, the most expensive ground rule first; broken constraints come before all.
SORTED = (
    "SELECT round(cost, 10) AS cost, weight, round(distance, 10) AS distance, "
    "round(greatest(1.0 - distance, 0.0), 10) AS satisfaction, rule + 1 AS rule, ground_rule "
    "FROM listed JOIN weights USING (rule) "
    "ORDER BY broken DESC, coalesce(listed.cost, 0.0) DESC, listed.distance DESC, rule, ground_rule"
)
#: Memory for texts of ground rules; the rest is sorted on disk. Where texts are too long for that,
#: and for tables of ids, which are searched again and again, it is `MEMORY_LIMIT`.
TEXT_MEMORY = "256MB"
#: Stands around the name of a variable in a rule's text.
MARK = "\0"

RulePart = TypeVar("RulePart")


@contextmanager
def listed_rules(
    grounded: GroundProgram,
    state: Floats,
    closed: Collection[str],
    *,
    missing_is_false: bool,
    texts: bool,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Make the table `listed` of all ground rules at a state; it is dropped at the end.

    With `texts` it has the column of `TEXTS`, else those of `PARTS`. The table `weights` has the
    weight of every rule.
    """
    with atom_tables(grounded.data, closed, threads) as tables:
        if texts:
            with suppress(duckdb.OutOfMemoryException):  # the atoms alone take more
                tables.connection.execute("SET memory_limit = ?", [TEXT_MEMORY])
        listing = _Listing(tables, grounded, state, missing_is_false, texts)
        listing.prepare()
        for number in range(len(grounded.rules)):
            progress.advance("listing ground rules", number, len(grounded.rules))
            listing.add(number)
        progress.advance("listing ground rules", len(grounded.rules), len(grounded.rules))
        yield tables.connection


def with_enough_memory(connection: duckdb.DuckDBPyConnection, work: Callable[[], object]) -> None:
    """Do some work with a connection; if the memory is too short for it, again with more."""
    try:
        work()
    except duckdb.OutOfMemoryException:
        connection.execute("SET memory_limit = ?", [MEMORY_LIMIT])
        work()


def substituted(part: RulePart, terms: Mapping[str, Term]) -> RulePart:
    """A rule or a part of it with other terms in place of some variables.

    Examples
    --------
    >>> from hornbeam.language.rule_texts import parse_rules
    >>> [rule] = parse_rules("1: Knows(A, B) & (A != B) -> Knows(B, A)", "program.psl")
    >>> str(substituted(rule, {"A": Constant("ann")}))
    "1.0: Knows('ann', B) & ('ann' != B) -> Knows(B, 'ann')"
    """
    changed: Any = part
    if isinstance(part, Variable):
        changed = terms.get(part.name, part)
    elif type(part) is tuple:  # not a place in the text, which is a named tuple
        changed = tuple(substituted(one, terms) for one in changed)
    elif is_dataclass(part):
        values = {field.name: getattr(part, field.name) for field in fields(part)}
        changed = replace(part, **{name: substituted(one, terms) for name, one in values.items()})  # type: ignore[type-var]
    return changed  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class _Listing:
    """The table that is being filled, one rule after the other."""

    tables: AtomTables
    grounded: GroundProgram
    state: Floats
    missing_is_false: bool
    texts: bool

    def prepare(self) -> None:
        """Make the empty table, and the tables that it is computed from."""
        self._load("state", {"v": np.arange(len(self.state)), "y": self.state})
        weights = [rule.weight for rule in self.grounded.rules]
        missing = [np.nan if weight is None else weight for weight in weights]
        self._load("weights", {"rule": np.arange(len(weights)), "weight": np.array(missing)})
        self._execute("UPDATE weights SET weight = NULL WHERE isnan(weight)")
        self._execute(f"CREATE TEMP TABLE listed ({FIGURES}, {TEXTS if self.texts else PARTS})")
        if self.texts:
            names = self.grounded.data.names
            shown = [str(Constant(name)) for name in names.take(range(len(names)))]
            columns = {"id": np.arange(len(shown)), "name": np.array(shown, dtype=object)}
            self._load("quoted", columns)
            self._execute("CREATE TEMP TABLE pieces (piece VARCHAR[])")

    def add(self, number: int) -> None:
        """Add the ground rules of a rule."""
        rule = self.grounded.rules[number]
        names = rule_variables(rule)
        source = self._source(rule, names)
        if source is None:
            return
        kind, signs = kind_and_signs(rule)
        # not the greatest of both: that may be -0.0
        hinge = "CASE WHEN form > 0.0 THEN form ELSE 0.0 END"
        distance = "abs(form)" if kind is PotentialKind.EQUAL else hinge
        power = "distance * distance" if kind is PotentialKind.SQUARED else "distance"
        cost = "NULL" if rule.weight is None else f"{rule.weight!r} * {power}"
        broken = f"distance > {BROKEN}" if rule.weight is None else "false"
        text, joins = self._text(rule, names) if self.texts else ("", "")
        for sign in signs:
            self._execute(
                f"INSERT INTO listed SELECT {number}, {sign} * l AS form, {distance} AS distance, "
                f"{cost}, {broken}, {text or _parts(names, sign)} FROM ({source}) AS ground{joins}"
            )

    def _source(self, rule: PslRule, names: Sequence[str]) -> str | None:
        """A query of x0, x1, ... (ids of the variables), l, and random variables and coefficients.

        None if the rule has no open atom.
        """
        if isinstance(rule, ArithmeticRule) and has_sums(rule):
            return self._grouped_source(rule, names)
        query = grounding_query(rule, self.tables, self.missing_is_false)
        if query is None:
            return None
        arguments = [f"{query.joins.bound[name]} AS x{i}" for i, name in enumerate(names)]
        columns = ", ".join([*arguments, query.columns])
        rows = f"SELECT {columns} {query.joins.text(*_no_tautology(rule, query))}"
        # an observed variable has no row in `state`
        values = [f"{a!r} * coalesce(y{i}.y, 0.0)" for i, a in enumerate(query.coefficients)]
        joined = [f"LEFT JOIN state AS y{i} ON y{i}.v = v{i}" for i in range(len(values))]
        variables = ", ".join(f"v{i}" for i in range(len(values)))
        coefficients = ", ".join(map(repr, query.coefficients))
        listed = [
            *(f"x{i}" for i in range(len(names))),
            f"{' + '.join(['c', *values])} AS l",
            f"[{variables}] AS variables",
            f"[{coefficients}]::DOUBLE[] AS coefficients",
        ]
        return f"SELECT {', '.join(listed)} FROM ({rows}) AS found {' '.join(joined)}"

    def _grouped_source(self, rule: ArithmeticRule, names: Sequence[str]) -> str:
        """The source of a rule with sums, whose forms are computed here."""
        rows, is_open = grouped_rows(rule, self.tables, names)
        groups = np.flatnonzero(is_open)
        self._load("forms", {"g": groups, "l": rows.forms(self.state)[groups]})
        literals = {"g": rows.row, "v": rows.variable, "a": rows.coefficient}
        self._load("literals", literals)
        lists = "SELECT g, list(v) AS variables, list(a) AS coefficients FROM literals GROUP BY g"
        return (
            "SELECT groups.*, l, variables, coefficients FROM groups JOIN forms USING (g) "
            f"LEFT JOIN ({lists}) USING (g)"
        )

    def _text(self, rule: PslRule, names: Sequence[str]) -> tuple[str, str]:
        """SQL of a ground rule's text, and the joins that it needs."""
        marked = {name: Variable(f"{MARK}{name}{MARK}") for name in names}
        pieces = core_text(substituted(rule, marked)).split(MARK)
        self._execute("DELETE FROM pieces")
        self._execute("INSERT INTO pieces VALUES (?)", [pieces[::2]])
        shown = ["piece[1]"]
        for i, name in enumerate(pieces[1::2], 2):
            shown += [f"q{names.index(name)}.name", f"piece[{i}]"]
        joins = [f" JOIN quoted AS q{i} ON q{i}.id = x{i}" for i in range(len(names))]
        return f"concat({', '.join(shown)})", "".join([", pieces", *joins])

    def _load(self, table: str, columns: Mapping[str, Any]) -> None:
        self.tables.connection.register("loading", dict(columns))
        self._execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM loading")
        self.tables.connection.unregister("loading")

    def _execute(self, query: str, parameters: object = None) -> None:
        connection = self.tables.connection
        with_enough_memory(connection, lambda: connection.execute(query, parameters))


def _parts(names: Sequence[str], sign: float) -> str:
    """SQL of the columns of `PARTS`."""
    arguments = ", ".join(f"x{i}" for i in range(len(names)))
    signed = f"list_transform(coefficients, lambda a: {sign} * a)"
    return f"[{arguments}]::INTEGER[], variables::INTEGER[], {signed}"


def _no_tautology(rule: PslRule, query: GroundingQuery) -> list[str]:
    """Conditions that no open atom is both required and refused by a violation of the rule."""
    if not isinstance(rule, LogicalRule):
        return []
    columns = list(zip(query.variables, query.coefficients, strict=True))
    required = [column for column, a in columns if a > 0.0]
    refused = [column for column, a in columns if a < 0.0]
    return [f"NOT ({one} >= 0 AND {one} = {other})" for one, other in product(required, refused)]
