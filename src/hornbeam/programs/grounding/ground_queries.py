"""Rules as SQL queries: a row of the answer stands for all ground rules with equal potentials.

A logical rule is violated by the conjunction x_1 & ... & x_m & !z_1 & ... & !z_k. The x are the
atoms of the body and of negated heads, the z are those of the head and of negated body literals.
With Łukasiewicz's operators the conjunction has the value

    l = sum x + sum (1 - z) - (m + k - 1)    and costs max(0, l)^p.

The atoms x must exist, so they are joined. The atoms z may be absent, so they are looked up. As in
PSL, a ground rule is left out if an observed x is 0, an observed z is 1, or none of its atoms is
open. An arithmetic rule without sums is the join of all its atoms. Ground rules with the same
random variables and the same constant part are counted, not listed. Their order is fixed, whatever
the number of threads.

The atoms are in a private DuckDB, one table per predicate, ids only. Table `atoms_K` of predicate K
has the columns a0, a1, ... (ids of constants), `v` (the number of the random variable, -1 for an
observed atom) and `t` (the truth value, 0 for a random variable). SQL texts contain column names
and ids only, never names from the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import numpy as np

from hornbeam.base.arrays import Array, Ids
from hornbeam.base.machine import worker_threads
from hornbeam.facts.reading.workspace import workspace
from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule, fixed_value
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    LogicalRule,
    Operator,
    Term,
)
from hornbeam.programs.program_data import PredicateTables, ProgramData

#: Values of `v` for an observed atom, and for an atom that does not exist.
OBSERVED, MISSING = -1, -2
#: SQL of every comparison, and of its opposite; ids are ranks of names, so < compares names.
OPERATORS = {Operator.EQUAL: "=", Operator.DIFFERENT: "<>", Operator.ORDERED: "<"}
OPPOSITES = {Operator.EQUAL: "<>", Operator.DIFFERENT: "=", Operator.ORDERED: ">="}


@dataclass(frozen=True)
class StoredPredicate:
    """Properties of a predicate's table, with which queries are simplified."""

    table: str  #: name of the table
    closed: bool
    arguments: tuple[Ids, ...]  #: ids of the observed atoms, then of the targets
    has_variables: bool
    has_observed: bool
    has_zeros: bool  #: whether an observed value is 0
    is_plain: bool  #: whether every atom is observed and true: neither `v` nor `t` is needed

    @property
    def rows(self) -> int:
        """Number of atoms."""
        return len(self.arguments[0])


@dataclass(frozen=True, eq=False)
class AtomTables:
    """The tables of a program's atoms in a database connection.

    `predicates` has lower-case names as keys, since PSL ignores the case of predicates.
    """

    connection: duckdb.DuckDBPyConnection
    data: ProgramData
    predicates: Mapping[str, StoredPredicate]
    n_variables: int

    def predicate(self, predicate: str) -> StoredPredicate:
        """The table of a predicate, in any spelling of its case."""
        return self.predicates[predicate.lower()]

    def constant(self, name: str) -> int:
        """Id of a constant; -1 if no atom has the constant."""
        return self.data.names.index(name)


@contextmanager
def atom_tables(
    data: ProgramData, closed: Collection[str], threads: int | None = None
) -> Iterator[AtomTables]:
    """Load a program's atoms into tables, which are dropped when the context ends."""
    with workspace() as space:
        connection = space.connection
        if threads is not None:
            connection.execute("SET threads = ?", [worker_threads(threads)])
        stored, variables = dict[str, StoredPredicate](), 0
        for number, (name, tables) in enumerate(data.predicates.items()):
            predicate = _stored(f"atoms_{number}", tables, name in closed)
            _load(connection, predicate, tables, variables)
            stored[name.lower()] = predicate
            variables += len(tables.targets)
        yield AtomTables(connection, data, stored, variables)


def _stored(table: str, tables: PredicateTables, closed: bool) -> StoredPredicate:
    observed, targets = tables.observed, tables.targets
    parts = observed.arguments, targets.arguments
    return StoredPredicate(
        table,
        closed,
        tuple(np.concatenate([part[k] for part in parts]) for k in range(tables.arity)),
        has_variables=len(targets) > 0,
        has_observed=len(observed) > 0,
        has_zeros=bool(np.any(observed.values == 0.0)),
        is_plain=not len(targets) and bool(np.all(observed.values == 1.0)),
    )


def _load(
    connection: duckdb.DuckDBPyConnection,
    stored: StoredPredicate,
    tables: PredicateTables,
    first: int,
) -> None:
    observed, targets = tables.observed, tables.targets
    columns: dict[str, Array] = {f"a{k}": ids for k, ids in enumerate(stored.arguments)}
    numbers = np.arange(first, first + len(targets), dtype=np.int32)
    columns["v"] = np.concatenate([np.full(len(observed), OBSERVED, dtype=np.int32), numbers])
    columns["t"] = np.concatenate([observed.values, np.zeros(len(targets))])
    connection.register("loading", columns)
    connection.execute(f"CREATE TEMP TABLE {stored.table} AS SELECT * FROM loading")
    connection.unregister("loading")


@dataclass
class Joins:
    """The FROM and WHERE of a query, to which atoms and conditions are added one by one."""

    tables: AtomTables
    bound: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    joined: list[Atom] = field(default_factory=list)

    def inner(self, atom: Atom) -> tuple[str, StoredPredicate]:
        """Join an atom that must exist; returns its alias and its table."""
        stored, alias = self.tables.predicate(atom.predicate), f"d{len(self.sources)}"
        for k, term in enumerate(atom.arguments):
            column = f"{alias}.a{k}"
            if isinstance(term, Constant) or term.name in self.bound:
                self.conditions.append(f"{column} = {self.column(term)}")
            else:
                self.bound[term.name] = column
        self.joined.append(atom)
        self.sources.append(f"{'CROSS JOIN ' if self.sources else ''}{stored.table} AS {alias}")
        return alias, stored

    def outer(self, atom: Atom) -> tuple[str, StoredPredicate]:
        """Look up an atom that may be absent; returns its alias and its table."""
        stored, alias = self.tables.predicate(atom.predicate), f"h{len(self.sources)}"
        self.sources.append(f"LEFT JOIN {stored.table} AS {alias} ON {self._equal(alias, atom)}")
        return alias, stored

    def holds(self, atom: Atom, negated: bool) -> None:
        """Require that an atom of a closed predicate is above 0, or, `negated`, that it is not."""
        table, same = self.tables.predicate(atom.predicate).table, self._equal("f", atom)
        exists = f"EXISTS (SELECT 1 FROM {table} AS f WHERE {same} AND f.t > 0)"
        self.conditions.append(f"{'NOT ' * negated}{exists}")

    def _equal(self, alias: str, atom: Atom) -> str:
        """The SQL condition that a row of the table `alias` is the atom."""
        columns = enumerate(map(self.column, atom.arguments))
        return " AND ".join(f"{alias}.a{k} = {column}" for k, column in columns)

    def compare(self, comparison: Comparison, holds: bool) -> None:
        """Require that a comparison holds, or that it does not."""
        operator = (OPERATORS if holds else OPPOSITES)[comparison.operator]
        left, right = self.column(comparison.left), self.column(comparison.right)
        self.conditions.append(f"{left} {operator} {right}")

    def column(self, term: Term) -> str:
        """Column of a variable, or id of a constant (-1 if no atom has the constant)."""
        if isinstance(term, Constant):
            return str(self.tables.constant(term.value))
        return self.bound[term.name]

    def text(self, *further: str) -> str:
        """The text of FROM and WHERE, with further conditions."""
        conditions = " AND ".join([*self.conditions, *further])
        return f"FROM {' '.join(self.sources)}{f' WHERE {conditions}' if conditions else ''}"


@dataclass(frozen=True)
class GroundingQuery:
    """The SQL query that grounds a rule.

    `variables` has the SQL of a random variable per coefficient, `constant` that of the constant
    part. `lookups` has the atoms of open predicates that may be missing, each with the column that
    has MISSING then.
    """

    joins: Joins
    variables: tuple[str, ...]
    coefficients: tuple[float, ...]
    constant: str
    lookups: Sequence[tuple[Atom, str]]

    @property
    def columns(self) -> str:
        """The SQL of the columns v0, v1, ... (random variables), and c (the constant part)."""
        variables = [f"{column} AS v{i}" for i, column in enumerate(self.variables)]
        return ", ".join([*variables, f"CAST({self.constant} AS DOUBLE) AS c"])

    @property
    def merged(self) -> str:
        """The query whose rows are distinct ground rules; n is the number of equal ones."""
        return f"SELECT {self.columns}, count(*) AS n {self.joins.text()} GROUP BY ALL ORDER BY ALL"


def grounding_query(
    rule: PslRule, tables: AtomTables, missing_is_false: bool, *, without: Collection[str] = ()
) -> GroundingQuery | None:
    """The query of a rule that adds up no atoms; see `logical_query` and `arithmetic_query`."""
    if isinstance(rule, ArithmeticRule):
        return arithmetic_query(rule, tables, without=without)
    return logical_query(rule, tables, missing_is_false, without=without)


def logical_query(
    rule: LogicalRule,
    tables: AtomTables,
    missing_is_false: bool,
    *,
    without: Collection[str] = (),
) -> GroundingQuery | None:
    """The query of a logical rule; None if none of its atoms can be open.

    An absent atom of an open predicate has the number MISSING or, with `missing_is_false`, the
    number OBSERVED and the value 0. Atoms of the predicates in `without` are left out.
    """
    absent = OBSERVED if missing_is_false else MISSING
    required, refused = (_violation(rule, holds) for holds in (True, False))
    joined, looked_up = (
        [atom for atom in atoms if isinstance(atom, Atom) and atom.predicate not in without]
        for atoms in (required, refused)
    )
    joins = Joins(tables)
    constant = 1.0 - len(joined) - len(looked_up)
    variables: list[tuple[str, float]] = []
    open_ones: list[str] | None = []
    parts: list[str] = []
    for atom in joined:
        alias, stored = joins.inner(atom)
        if stored.has_zeros:
            joins.conditions.append(f"({alias}.v >= 0 OR {alias}.t > 0)")
        if stored.has_variables:
            variables.append((f"{alias}.v", 1.0))
            if not stored.has_observed:
                open_ones = None
            elif open_ones is not None:
                open_ones.append(f"{alias}.v >= 0")
        if stored.is_plain:
            constant += 1.0
        elif stored.has_observed:
            parts.append(f"{alias}.t")
    for conditions, holds in ((required, True), (refused, False)):
        for condition in conditions:
            if isinstance(condition, Comparison):
                joins.compare(condition, holds)
    lookups: list[tuple[Atom, str]] = []
    for atom in looked_up:
        alias, stored = joins.outer(atom)
        constant += 1.0
        if stored.is_plain:
            joins.conditions.append(f"{alias}.v IS NULL")
        elif stored.has_observed:
            joins.conditions.append(f"({alias}.v IS NULL OR {alias}.v >= 0 OR {alias}.t < 1)")
            parts.append(f"-coalesce({alias}.t, 0)")
        if not stored.closed:
            column = f"coalesce({alias}.v, {absent})"
            variables.append((column, -1.0))
            lookups.append((atom, column))
            if open_ones is not None:
                open_ones.append(f"{column} <> {OBSERVED}")
    if not variables:
        return None
    if open_ones is not None:
        joins.conditions.append(f"({' OR '.join(open_ones)})")
    return _query(joins, variables, parts, constant, lookups)


def arithmetic_query(
    rule: ArithmeticRule, tables: AtomTables, *, without: Collection[str] = ()
) -> GroundingQuery | None:
    """The query of an arithmetic rule without sums, whose form is left minus right.

    Atoms of the predicates in `without` are left out.
    """
    joins = Joins(tables)
    constant = 0.0
    variables: list[tuple[str, float]] = []
    open_ones: list[str] = []
    parts: list[str] = []
    for sign, side in ((1.0, rule.left), (-1.0, rule.right)):
        for summand in side:
            value = fixed_value(summand.coefficient)
            assert value is not None, "without sums there is nothing to count or to divide by"
            coefficient = sign * value
            if summand.atom is None:
                constant += coefficient
                continue
            if summand.atom.predicate in without:
                continue
            alias, stored = joins.inner(summand.atom)
            if stored.has_variables:
                variables.append((f"{alias}.v", coefficient))
                open_ones.append(f"{alias}.v >= 0")
            if stored.has_observed:
                parts.append(f"({coefficient!r} * {alias}.t)")
    if not variables:
        return None
    for comparison in rule.comparisons:
        joins.compare(comparison, holds=True)
    joins.conditions.append(f"({' OR '.join(open_ones)})")
    return _query(joins, variables, parts, constant, [])


def _violation(rule: LogicalRule, holds: bool) -> list[Atom | Comparison]:
    """Atoms and comparisons that must hold for the rule to be violated, or that must not."""
    return [
        literal.atom
        for side, in_body in ((rule.body, True), (rule.head, False))
        for literal in side
        if (in_body != literal.negated) is holds
    ]


def _query(
    joins: Joins,
    variables: Sequence[tuple[str, float]],
    parts: Iterable[str],
    constant: float,
    lookups: Sequence[tuple[Atom, str]],
) -> GroundingQuery:
    columns, factors = zip(*variables, strict=True)
    total = " + ".join([*parts, repr(constant)])
    return GroundingQuery(joins, columns, factors, total, lookups)
