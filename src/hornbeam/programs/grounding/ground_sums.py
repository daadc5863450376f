"""Arithmetic rules with sums: `Vote(A, +B) = 1 .  {B: Party(B)}`.

The plain variables are grounded first, by joining all atoms and looking at those variables only;
each distinct substitution is a group. Then every atom is expanded within the groups, its summation
variables running over the constants that pass their filters. As in PSL:

* an atom of an open predicate is added up where it is there, one of a closed predicate also where
  it is not (as 0); only the latter matters, and only for |V|, the number of atoms added up;
* in filters, any value above 0 is true.

Filters are conjunctions here: `hornbeam.programs.normal_form` makes a rule of every alternative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints
from hornbeam.errors import InputError
from hornbeam.language.arithmetic_rules import (
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Extreme,
    Number,
    Operation,
    SumAtom,
    SumVariable,
)
from hornbeam.language.rule_parts import cardinalities_of, literals_of
from hornbeam.language.syntax import Atom, Constant, Literal, Term, Variable
from hornbeam.programs.grounding.atom_tables import AtomTables
from hornbeam.programs.grounding.ground_queries import OPERATORS, OPPOSITES, Joins
from hornbeam.programs.grounding.ground_rows import GroundRows

#: The literals that each filtered variable must meet.
Filters = Mapping[str, tuple[Literal, ...]]

#: Operations on two coefficients.
OPERATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def has_sums(rule: ArithmeticRule) -> bool:
    """Whether an arithmetic rule adds up atoms."""
    return any(isinstance(term, SumVariable) for atom in rule.atoms for term in atom.arguments)


def sum_joins(rule: ArithmeticRule, tables: AtomTables) -> Joins:
    """Join all atoms of a rule, its summation variables like any other."""
    joins = Joins(tables)
    for atom in rule.atoms:
        joins.inner(atom)
    for comparison in rule.comparisons:
        joins.compare(comparison, holds=True)
    return joins


def ground_sums(rule: ArithmeticRule, tables: AtomTables) -> GroundRows:
    """Rows of left minus right."""
    plain = sorted(
        {t.name for atom in rule.atoms for t in atom.arguments if isinstance(t, Variable)}
    )
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
    filters = {one.variable: tuple(literals_of(one.condition)) for one in rule.filters}
    return _Expansion(rule, tables, places, filters, n_groups).rows()


@dataclass(frozen=True, eq=False)
class _Expansion:
    """One rule within its groups.

    `places` has the column of every plain variable.
    """

    rule: ArithmeticRule
    tables: AtomTables
    places: Mapping[str, str]
    filters: Filters
    n_groups: int

    def rows(self) -> GroundRows:
        """Expand, evaluate the coefficients and put the literals into rows."""
        expanded = {id(atom): self._expanded(atom) for atom in self.rule.atoms}
        cardinalities = self._cardinalities(expanded)
        constant = np.zeros(self.n_groups)
        literals: list[tuple[Ints, Ids, Floats]] = []
        for sign, side in ((1.0, self.rule.left), (-1.0, self.rule.right)):
            for summand in side:
                value = sign * _coefficient_values(summand.coefficient, cardinalities)
                coefficient = np.broadcast_to(value, (self.n_groups,))
                if summand.atom is None:
                    self._check(coefficient, np.arange(self.n_groups))
                    constant += coefficient
                    continue
                group, variable, truth = expanded[id(summand.atom)]
                self._check(coefficient, group)
                constant += np.bincount(group, coefficient[group] * truth, self.n_groups)
                literals.append((group, variable, coefficient[group]))
        group, variable, coefficients = (
            np.concatenate([part[i] for part in literals]) for i in range(3)
        )
        is_open = np.zeros(self.n_groups, dtype=np.bool_)
        is_open[group[variable >= 0]] = True
        ones = np.ones(self.n_groups, dtype=np.int64)
        return GroundRows.of_literals(group, variable, coefficients, constant, ones).take(is_open)

    def _check(self, coefficient: Floats, groups: Ints) -> None:
        if not np.isfinite(coefficient[groups]).all():
            raise InputError(
                f"a coefficient divides by zero in {self.rule}: "
                "some |V| is 0 there; write @Max[|V|, 1]"
            )

    def _expanded(self, atom: SumAtom) -> tuple[Ints, Ids, Floats]:
        """Group, variable and truth value of every atom that is there."""
        stored = self.tables.predicate(atom.predicate)
        sums: dict[str, str] = {}
        conditions = []
        for k, term in enumerate(atom.arguments):
            column = f"s.a{k}"
            if isinstance(term, SumVariable) and term.name not in sums:
                sums[term.name] = column
            else:
                conditions.append(f"{column} = {self._column(term, sums)}")
        conditions += self._filtered(sums)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        found = self.tables.connection.execute(
            f"SELECT g, v, t FROM groups CROSS JOIN {stored.table} AS s{where} ORDER BY ALL"
        ).fetchnumpy()
        return found["g"].astype(np.int64), found["v"].astype(np.int32), found["t"]

    def _cardinalities(self, expanded: Mapping[int, tuple[Ints, Ids, Floats]]) -> dict[str, Floats]:
        """|V| in every group, for the variables that a coefficient counts."""
        counted = {
            name for summand in self.rule.summands for name in cardinalities_of(summand.coefficient)
        }
        sizes: dict[str, Floats] = {}
        for atom in self.rule.atoms:
            names = {t.name for t in atom.arguments if isinstance(t, SumVariable)}
            if names & counted:
                if self.tables.predicate(atom.predicate).closed:
                    group = self._combinations(atom)
                else:
                    group = expanded[id(atom)][0]
                size = np.bincount(group, minlength=self.n_groups).astype(np.float64)
                sizes |= dict.fromkeys(names, size)
        return sizes

    def _combinations(self, atom: SumAtom) -> Ints:
        """Group of every combination of constants that a closed atom is added up over."""
        stored = self.tables.predicate(atom.predicate)
        sums: dict[str, str] = {}
        sources = ["groups"]
        fixed = [
            f"a{k} = {self.tables.constant(term.value)}"
            for k, term in enumerate(atom.arguments)
            if isinstance(term, Constant)
        ]
        where = f" WHERE {' AND '.join(fixed)}" if fixed else ""
        for k, term in enumerate(atom.arguments):
            if isinstance(term, SumVariable):
                sums[term.name] = f"c{k}.a{k}"
                sources.append(f"(SELECT DISTINCT a{k} FROM {stored.table}{where}) AS c{k}")
        conditions = self._filtered(sums)
        such = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        found = self.tables.connection.execute(
            f"SELECT g FROM {' CROSS JOIN '.join(sources)}{such}"
        ).fetchnumpy()
        return found["g"].astype(np.int64)

    def _filtered(self, sums: Mapping[str, str]) -> list[str]:
        """Conditions that the filters put on an atom's summation variables."""
        conditions = []
        for name in sums:
            for literal in self.filters.get(name, ()):
                if isinstance(literal.atom, Atom):
                    conditions.append(self._holds(literal.atom, literal.negated, sums))
                    continue
                operators = OPPOSITES if literal.negated else OPERATORS
                sides = [self._column(t, sums) for t in (literal.atom.left, literal.atom.right)]
                conditions.append(f" {operators[literal.atom.operator]} ".join(sides))
        return conditions

    def _holds(self, atom: Atom, negated: bool, sums: Mapping[str, str]) -> str:
        stored = self.tables.predicate(atom.predicate)
        same = [f"f.a{k} = {self._column(t, sums)}" for k, t in enumerate(atom.arguments)]
        such = " AND ".join([*same, "f.t > 0"])
        return f"{'NOT ' * negated}EXISTS (SELECT 1 FROM {stored.table} AS f WHERE {such})"

    def _column(self, term: Term | SumVariable, sums: Mapping[str, str]) -> str:
        if isinstance(term, Constant):
            return str(self.tables.constant(term.value))
        return sums[term.name] if term.name in sums else self.places[term.name]


def _coefficient_values(coefficient: Coefficient, cardinalities: Mapping[str, Floats]) -> Floats:
    """Value of a coefficient in every ground rule; `cardinalities` has |V| of each.

    Where it divides by zero the value is not finite.
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
