"""Grounding of arithmetic rules with sums: `Vote(A, +B) = 1 .  {B: Party(B)}`.

The plain variables are grounded first, by a join of all atoms. Each distinct substitution of plain
variables is a group. Then every atom is expanded within the groups: its summation variables run
over the constants that pass their filters. As in PSL:

* A sum over an open predicate has the atoms that exist. A sum over a closed predicate also has
  absent atoms, as 0. This matters only for |V|, the number of atoms added up.
* In filters, any value above 0 is true.

Filters are conjunctions here: `hornbeam.programs.program_rules` makes one rule per alternative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints
from hornbeam.errors import InputError
from hornbeam.hlmrf.potentials import Potentials
from hornbeam.language.arithmetic_rules import (
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Extreme,
    Number,
    Operation,
    cardinalities_of,
    literals_of,
    rule_variables,
)
from hornbeam.language.syntax import Atom, Constant, SumVariable
from hornbeam.programs.grounding.ground_queries import AtomTables, Joins

#: Operations on two coefficients.
OPERATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def has_sums(rule: ArithmeticRule) -> bool:
    """Whether an arithmetic rule adds up atoms."""
    return any(map(_sum_variables, rule.atoms))


def sum_joins(rule: ArithmeticRule, tables: AtomTables, *, without: Collection[str] = ()) -> Joins:
    """Join the atoms of a rule; summation variables are joined like plain variables.

    Atoms of the predicates in `without` are left out.
    """
    joins = Joins(tables)
    for atom in rule.atoms:
        if atom.predicate not in without:
            joins.inner(atom)
    for comparison in rule.comparisons:
        joins.compare(comparison, holds=True)
    return joins


def ground_sums(rule: ArithmeticRule, tables: AtomTables) -> Potentials:
    """Ground an arithmetic rule with sums: one row of left minus right per open group."""
    rows, is_open = grouped_rows(rule, tables, rule_variables(rule))
    return rows.select(is_open)


def grouped_rows(
    rule: ArithmeticRule, tables: AtomTables, plain: Sequence[str]
) -> tuple[Potentials, Bools]:
    """One row of left minus right per group, and whether the group has an open atom.

    Leaves the groups in the table `groups`: their number g, and the ids x0, x1, ... of the plain
    variables.
    """
    joins = sum_joins(rule, tables)
    if plain:
        columns = ", ".join(f"{joins.bound[name]} AS x{i}" for i, name in enumerate(plain))
        order = ", ".join(f"x{i}" for i in range(len(plain)))
        select = (
            f"SELECT row_number() OVER (ORDER BY {order}) - 1 AS g, * "
            f"FROM (SELECT DISTINCT {columns} {joins.text()})"
        )
    else:
        select = f"SELECT 0 AS g {joins.text()} LIMIT 1"
    tables.connection.execute(f"CREATE OR REPLACE TEMP TABLE groups AS {select}")
    [(n_groups,)] = tables.connection.execute("SELECT count(*) FROM groups").fetchall()
    places = {name: f"groups.x{i}" for i, name in enumerate(plain)}
    return _Expansion(rule, tables, places, n_groups).rows()


@dataclass(frozen=True, eq=False)
class _Expansion:
    """The expansion of one rule within its groups.

    `places` has the column of every plain variable in the table of groups.
    """

    rule: ArithmeticRule
    tables: AtomTables
    places: Mapping[str, str]
    n_groups: int

    def rows(self) -> tuple[Potentials, Bools]:
        """The rows of all groups, and whether they have an open atom."""
        expanded = {id(atom): self._expanded(atom) for atom in self.rule.atoms}
        cardinalities = self._cardinalities(expanded)
        constant = np.zeros(self.n_groups)
        literals: list[tuple[Ints, Ids, Floats]] = []
        for sign, side in ((1.0, self.rule.left), (-1.0, self.rule.right)):
            for summand in side:
                value = sign * _coefficient_values(summand.coefficient, cardinalities)
                coefficient = np.broadcast_to(value, (self.n_groups,))
                if summand.atom is None:
                    self._check(coefficient)
                    constant += coefficient
                    continue
                group, variable, truth = expanded[id(summand.atom)]
                self._check(coefficient[group])
                constant += np.bincount(group, coefficient[group] * truth, self.n_groups)
                literals.append((group, variable, coefficient[group]))
        group, variable, coefficients = (
            np.concatenate([part[i] for part in literals]) for i in range(3)
        )
        is_open = np.bincount(group[variable >= 0], minlength=self.n_groups) > 0
        weight = np.ones(self.n_groups)
        rows = Potentials.of(
            self.tables.n_variables, group, variable, coefficients, constant, weight
        )
        return rows, is_open

    def _check(self, coefficient: Floats) -> None:
        if not np.isfinite(coefficient).all():
            raise InputError(
                f"a coefficient divides by zero in {self.rule}: "
                "some |V| is 0 there; write @Max[|V|, 1]"
            )

    def _within_groups(self, sums: Mapping[str, str] | None = None) -> Joins:
        """Joins that begin with the table of groups; `sums` has columns of summation variables."""
        return Joins(self.tables, {**self.places, **(sums or {})}, ["groups"])

    def _expanded(self, atom: Atom) -> tuple[Ints, Ids, Floats]:
        """Group, random variable and truth value of every existing atom of the expansion."""
        joins = self._within_groups()
        joins.inner(atom)
        self._filter(joins, atom)
        answer = self.tables.connection.execute(
            f"SELECT g, v, t {joins.text()} ORDER BY ALL"
        ).fetchnumpy()
        return answer["g"].astype(np.int64), answer["v"].astype(np.int32), answer["t"]

    def _cardinalities(self, expanded: Mapping[int, tuple[Ints, Ids, Floats]]) -> dict[str, Floats]:
        """|V| in every group, for the summation variables V that a coefficient counts."""
        counted = {
            name for summand in self.rule.summands for name in cardinalities_of(summand.coefficient)
        }
        sizes: dict[str, Floats] = {}
        for atom in self.rule.atoms:
            names = set(_sum_variables(atom))
            if names & counted:
                if self.tables.predicate(atom.predicate).closed:
                    group = self._combinations(atom)
                else:
                    group = expanded[id(atom)][0]
                size = np.bincount(group, minlength=self.n_groups).astype(np.float64)
                sizes |= dict.fromkeys(names, size)
        return sizes

    def _combinations(self, atom: Atom) -> Ints:
        """Group of every combination of constants over which a closed predicate is summed."""
        table = self.tables.predicate(atom.predicate).table
        fixed = [
            f"a{k} = {self.tables.constant(term.value)}"
            for k, term in enumerate(atom.arguments)
            if isinstance(term, Constant)
        ]
        where = f" WHERE {' AND '.join(fixed)}" if fixed else ""
        sums = _sum_variables(atom)
        joins = self._within_groups({name: f"c{k}.a{k}" for name, k in sums.items()})
        for k in sums.values():
            constants = f"(SELECT DISTINCT a{k} FROM {table}{where})"
            joins.sources.append(f"CROSS JOIN {constants} AS c{k}")
        self._filter(joins, atom)
        answer = self.tables.connection.execute(f"SELECT g {joins.text()}").fetchnumpy()
        return answer["g"].astype(np.int64)

    def _filter(self, joins: Joins, atom: Atom) -> None:
        """Require the filters of an atom's summation variables."""
        sums = _sum_variables(atom)
        for condition in (one.condition for one in self.rule.filters if one.variable in sums):
            for literal in literals_of(condition):
                if isinstance(literal.atom, Atom):
                    joins.holds(literal.atom, literal.negated)
                else:
                    joins.compare(literal.atom, not literal.negated)


def _sum_variables(atom: Atom) -> dict[str, int]:
    """Summation variables of an atom, and their positions among its arguments."""
    terms = enumerate(atom.arguments)
    return {term.name: k for k, term in terms if isinstance(term, SumVariable)}


def _coefficient_values(coefficient: Coefficient, cardinalities: Mapping[str, Floats]) -> Floats:
    """Value of a coefficient in every group; `cardinalities` has |V| of every group by V.

    Where the coefficient divides by zero, its value is not finite.
    """
    match coefficient:
        case Number():
            return np.float64(coefficient.value)  # type: ignore[return-value]
        case Cardinality():
            return cardinalities[coefficient.variable]
        case Extreme():
            values = [_coefficient_values(part, cardinalities) for part in coefficient.arguments]
            choose = np.minimum if coefficient.function == "Min" else np.maximum
            return reduce(choose, values)
        case Operation():
            left = _coefficient_values(coefficient.left, cardinalities)
            right = _coefficient_values(coefficient.right, cardinalities)
            with np.errstate(divide="ignore", invalid="ignore"):
                return OPERATIONS[coefficient.operator](left, right)
