"""Grounding: from rules and atoms to potentials and constraints.

Each rule is one query (`ground_queries`, `ground_sums`). Where an upper bound on its rows is large,
their number is forecast from a sample of its first table. So a rule with too many groundings is
refused before it fills the memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.machine import physical_memory
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InputError
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule, Relation
from hornbeam.language.syntax import Atom, Constant, LogicalRule
from hornbeam.programs.grounding.ground_queries import (
    MISSING,
    AtomTables,
    GroundingQuery,
    Joins,
    arithmetic_query,
    atom_tables,
    logical_query,
)
from hornbeam.programs.grounding.ground_sums import ground_sums, has_sums, sum_joins
from hornbeam.programs.program_data import ProgramData

#: Rules whose join has at most this many rows are grounded without a forecast.
SMALL = 1_000_000
#: Factor by which each further sample of the first table is larger, and about how many rows of a
#: thinned table are left.
GROWTH, THINNED = 16, 32
#: Number of ground rules from which on a sample is large enough, and at which its count is cut off.
ENOUGH, CUT_OFF = 10_000, 2_000_000
#: Bytes of memory that a ground rule takes at most while a program is grounded and solved.
BYTES = 120

#: A form that stays below this for all states counts as never violated.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class GroundProgram:
    """Potentials and constraints, with the rules and atoms that they were made from.

    `counts` has the number of ground rules of every rule as PSL counts them: before equal ground
    rules are merged, and ground rules that no state can violate are dropped.
    """

    potentials: Potentials
    rules: Sequence[PslRule]
    counts: Ints
    data: ProgramData

    def atom_text(self, variable: int) -> str:
        """A random variable as an atom: `knows('ann', 'bob')`."""
        for name, tables in self.data.predicates.items():
            if variable < len(tables.targets):
                ids = [column[variable] for column in tables.targets.arguments]
                return f"{name}({', '.join(repr(self.data.names[int(i)]) for i in ids)})"
            variable -= len(tables.targets)
        raise IndexError(variable)

    def row_text(self, row: int) -> str:
        """A row as text: its rule, and the open atoms of the ground rule."""
        bounds = self.potentials.indptr[row : row + 2]
        atoms = map(self.atom_text, self.potentials.variable[slice(*bounds)].tolist())
        return f"{self.rules[self.potentials.rule[row]]}  with {', '.join(atoms) or 'no open atom'}"


def ground(
    rules: Sequence[PslRule],
    data: ProgramData,
    closed: Collection[str],
    *,
    missing_is_false: bool = False,
    limit: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> GroundProgram:
    """Ground every rule of a program; its rules have been checked (see `program_rules`).

    Absent atoms of `closed` predicates are false. A ground rule may need an atom of an open
    predicate that is neither observed nor a target. This is an error, as in PSL, or the atom is
    false with `missing_is_false`. `limit` is the maximum number of ground rules, by default as many
    as fit into memory.
    """
    memory = physical_memory()
    grounding = _Grounder(missing_is_false, limit or memory // BYTES, limit is None, progress)
    with atom_tables(data, closed, threads) as tables:
        parts: list[Potentials] = []
        counts = np.zeros(len(rules), dtype=np.int64)
        for i, rule in enumerate(rules):
            progress.advance("grounding", i, len(rules))
            rows = grounding.rows(rule, tables, int(counts.sum()))
            if rows is not None:
                signed = _signed(rule, rows)
                counts[i] = len(signed) * int(rows.weight.sum())
                parts += [part.of_rule(i, kind, rule.weight or 0.0) for kind, part in signed]
        progress.advance("grounding", len(rules), len(rules))
        return GroundProgram(Potentials.joined(tables.n_variables, parts), rules, counts, data)


def _signed(rule: PslRule, rows: Potentials) -> list[tuple[PotentialKind, Potentials]]:
    """Rows of left minus right (or of a logical rule) that a state can violate, with their kind."""
    weighted = PotentialKind.SQUARED if rule.squared else PotentialKind.LINEAR
    kind = PotentialKind.AT_MOST if rule.weight is None else weighted
    relation = rule.relation if isinstance(rule, ArithmeticRule) else Relation.AT_MOST
    match relation:
        case Relation.AT_MOST:
            return [(kind, _violable(rows))]
        case Relation.AT_LEAST:
            return [(kind, _violable(rows.negated()))]
        case Relation.EQUAL if rule.weight is None:
            return [(PotentialKind.EQUAL, rows)]
        case Relation.EQUAL:
            return [(kind, _violable(rows)), (kind, _violable(rows.negated()))]


def _violable(rows: Potentials) -> Potentials:
    """Rows of l <= 0 or max(0, l) that some state of the variables can violate."""
    largest = np.bincount(rows.row, np.maximum(rows.coefficient, 0.0), len(rows)) + rows.constant
    return rows.select(largest > NEGLIGIBLE)


@dataclass(frozen=True)
class _Grounder:
    """Settings of `ground`, and the grounding of one rule."""

    missing_is_false: bool
    limit: int
    limit_is_memory: bool
    progress: Progress

    def rows(self, rule: PslRule, tables: AtomTables, so_far: int) -> Potentials | None:
        """Rows of a rule's form, weighted by numbers of ground rules; None if no atom is open."""
        if isinstance(rule, ArithmeticRule) and has_sums(rule):
            self._forecast(rule, sum_joins(rule, tables), tables, so_far)
            return ground_sums(rule, tables)
        if isinstance(rule, ArithmeticRule):
            query = arithmetic_query(rule, tables)
        else:
            query = logical_query(rule, tables, self.missing_is_false)
        if query is None:
            return None
        self._forecast(rule, query.joins, tables, so_far)
        answer = tables.connection.execute(query.select).fetchnumpy()
        n, width = len(answer["n"]), len(query.coefficients)
        variable = np.concatenate([answer[f"v{i}"] for i in range(width)])
        if (variable == MISSING).any():
            assert isinstance(rule, LogicalRule)
            raise _missing(rule, query, tables)
        row, coefficient = np.tile(np.arange(n), width), np.repeat(query.coefficients, n)
        rows = Potentials.of(
            tables.n_variables, row, variable, coefficient, answer["c"], answer["n"]
        )
        if isinstance(rule, LogicalRule):
            # an atom on both sides has cancelled out: the ground rule is a tautology
            sizes = np.bincount(rows.row, np.abs(rows.coefficient), n)
            rows = rows.select(sizes == np.bincount(row[variable >= 0], minlength=n))
        return rows

    def _forecast(self, rule: PslRule, joins: Joins, tables: AtomTables, so_far: int) -> None:
        """Refuse a rule that would have more ground rules than the limit allows."""
        most = most_rows(joins.joined, tables)
        if most <= min(SMALL, self.limit - so_far):
            return
        expected = min(_expected(joins, tables), most)
        if expected > SMALL:
            size = f"{expected * BYTES / 1e9:,.1f} GB" if expected * BYTES >= 1e8 else "100 MB"
            self.progress.message(f"About {expected:,.0f} ground rules, at most {size}, of {rule}")
        if so_far + expected > self.limit:
            why = "the memory of this machine allows" if self.limit_is_memory else "the limit is"
            raise InputError(
                f"grounding would explode: about {expected:,.0f} ground rules of {rule}; "
                f"{why} {self.limit:,}. Add a body atom that lists the pairs worth a look "
                "(blocking), or raise `max_ground_rules`"
            )


def most_rows(atoms: Sequence[Atom], tables: AtomTables) -> float:
    """An upper bound on the number of rows of the join of atoms.

    Every atom is joined on only one of the variables that earlier atoms bind: ignoring the other
    conditions can only add rows. The joins are then a tree, whose rows are counted from its leaves.
    Let ways(V = c) be the number of ways to complete all atoms that are joined on V, if V is c. An
    atom that is joined on V and binds X, Y, ... makes

        ways(V = c)  <-  ways(V = c)  *  sum over its rows with V = c of ways(X) ways(Y) ...

    An atom that binds no variable has at most one row, so it is left out.
    """
    ways: dict[str, Floats] = {}
    total = 1.0
    for at, atom in reversed(list(enumerate(atoms))):
        before = (term for other in atoms[:at] for term in other.arguments)
        bound = {term.name for term in before if not isinstance(term, Constant)}
        new = {
            term.name: k
            for k, term in reversed(list(enumerate(atom.arguments)))
            if not isinstance(term, Constant) and term.name not in bound
        }
        if not new:
            continue
        columns = tables.predicate(atom.predicate).arguments
        rows = np.ones(len(columns[0]))
        for name, k in new.items():
            if name in ways:
                rows *= ways.pop(name)[columns[k]]
        tied = [
            (term, column)
            for term, column in zip(atom.arguments, columns, strict=True)
            if isinstance(term, Constant) or term.name in bound
        ]
        if not tied:
            total *= rows.sum()
            continue
        term, column = tied[0]
        if isinstance(term, Constant):
            total *= rows[column == tables.constant(term.value)].sum()
        else:
            completed = np.bincount(column, rows, len(tables.data.names)).astype(np.float64)
            ways[term.name] = completed * ways.get(term.name, 1.0)
    return float(total)


def _expected(joins: Joins, tables: AtomTables) -> float:
    """Estimate the number of ground rules from a sample.

    The sample is one row of the first table, then more rows until it has enough ground rules. Where
    a single row has too many ground rules to count, the other tables are thinned as well.
    """
    connection = tables.connection
    sizes = [max(tables.predicate(atom.predicate).rows, 1) for atom in joins.joined]
    strides = [sizes[0], *(1 for _ in sizes[1:])]
    found = _counted(joins, strides, connection)
    for i in range(1, len(sizes)):
        if found < CUT_OFF:
            break
        strides[i] = max(1, sizes[i] // THINNED)
        found = _counted(joins, strides, connection)
    while found < ENOUGH and strides[0] > 1 and max(strides[1:], default=1) == 1:
        strides[0] = strides[0] // GROWTH or 1
        found = _counted(joins, strides, connection)
    shares = [
        size / len(range(0, size, stride)) for size, stride in zip(sizes, strides, strict=True)
    ]
    return found * math.prod(shares)


def _counted(joins: Joins, strides: Sequence[int], connection: duckdb.DuckDBPyConnection) -> int:
    """Count the ground rules of a sample, one row in `strides[i]` of table i; at most `CUT_OFF`."""
    sampled = [f"d{i}.rowid % {stride} = 0" for i, stride in enumerate(strides) if stride > 1]
    [(found,)] = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 {joins.text(*sampled)} LIMIT {CUT_OFF})"
    ).fetchall()
    return int(found)


def _missing(rule: LogicalRule, query: GroundingQuery, tables: AtomTables) -> InputError:
    """The error about an atom that a ground rule needs but is neither observed nor a target."""
    names = tables.data.names
    for atom, column in query.lookups:
        arguments = ", ".join(query.joins.column(term) for term in atom.arguments)
        row = tables.connection.execute(
            f"SELECT {arguments} {query.joins.text(f'{column} = {MISSING}')} ORDER BY ALL LIMIT 1"
        ).fetchone()
        if row is not None:
            shown = ", ".join(repr(names[i]) if i >= 0 else "?" for i in row)
            return InputError(
                f"{atom.predicate}({shown}) is needed by {rule} but is neither observed nor among "
                f"the targets of {atom.predicate}; add it to one of them, or set the option "
                "pam.throw to false to take such atoms for false"
            )
    raise AssertionError("no atom is missing")
