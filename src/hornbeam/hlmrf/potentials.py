"""A ground program as arrays: weighted hinges and linear constraints over variables in [0, 1].

Grounding makes the arrays from rules and data; inference and weight learning read them. Row k has
the linear form

    l_k(y) = sum over its literals of coefficient * y[variable] + constant[k].

It is a potential, weight * max(0, l) or weight * max(0, l)^2, or a constraint, l <= 0 or l = 0. The
MAP state minimises the sum of all potentials subject to the constraints and 0 <= y <= 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Array,
    Bools,
    Floats,
    Ids,
    Integers,
    Ints,
    Kinds,
    Positions,
    begin_runs,
    part_numbers,
    pointers,
    ranges,
    run_starts,
)
from hornbeam.densities.hinges import Hinges, group_hinges

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: The fields of `Potentials` with one value per row.
ROW_COLUMNS = ("constant", "weight", "kind", "rule")


class PotentialKind(IntEnum):
    """The potential or constraint that a row makes of its linear form."""

    LINEAR = 0  #: weight * max(0, l)
    SQUARED = 1  #: weight * max(0, l)^2
    AT_MOST = 2  #: l <= 0
    EQUAL = 3  #: l = 0


@dataclass(frozen=True, eq=False)
class Potentials:
    """Potentials and constraints of a ground program.

    Row k has the variables `variable[indptr[k]:indptr[k+1]]`, which are distinct, and the
    `coefficient`s at the same places, which are not 0. `weight` is the rule's weight times the
    number of equal ground rules in the row; constraints have weight 0. `rule` is the rule of every
    row. `offset` is the constant that ground rules without variables add to the objective.
    """

    n_variables: int
    indptr: Ints
    variable: Ids
    coefficient: Floats
    constant: Floats
    weight: Floats
    kind: Kinds
    rule: Ids
    offset: float = 0.0

    def __len__(self) -> int:
        return len(self.constant)

    @classmethod
    def joined(cls, n_variables: int, parts: Sequence[Potentials]) -> Potentials:
        """One program with the rows of several programs over the same variables, in their order."""
        parts = [cls.of(n_variables, *(np.empty(0, np.int64) for _ in range(5))), *parts]
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("variable", "coefficient", *ROW_COLUMNS)
        }
        indptr = pointers(np.concatenate([part.sizes for part in parts]))
        return cls(n_variables, indptr, **columns, offset=sum(part.offset for part in parts))

    @classmethod
    def of(
        cls,
        n_variables: int,
        row: Integers,
        variable: Integers,
        coefficient: Array,
        constant: Array,
        weight: Array,
    ) -> Potentials:
        """Linear potentials of rule 0 from literals in any order.

        Coefficients of the same variable in a row are added up. Literals whose variable is negative
        are left out.
        """
        is_open = variable >= 0
        row, variable, coefficient = row[is_open], variable[is_open], coefficient[is_open]
        if np.any(row[1:] <= row[:-1]):  # else, as in most rules, one literal per row, and sorted
            order = np.lexsort((variable, row))
            row, variable = row[order], variable[order]
            starts = run_starts(row, variable)
            row, variable = row[starts], variable[starts]
            coefficient = np.add.reduceat(coefficient[order], starts)
        kept = coefficient != 0.0
        row, variable, coefficient = row[kept], variable[kept], coefficient[kept]
        return cls(
            n_variables,
            pointers(np.bincount(row, minlength=len(constant))),
            variable.astype(np.int32, copy=False),
            coefficient.astype(np.float64, copy=False),
            constant.astype(np.float64, copy=False),
            weight.astype(np.float64, copy=False),
            np.full(len(constant), PotentialKind.LINEAR, dtype=np.uint8),
            np.zeros(len(constant), dtype=np.int32),
        )

    @cached_property
    def matrix(self) -> csr_array:
        """Matrix of the coefficients, rows by variables; shares the memory of the literals."""
        from scipy.sparse import csr_array

        small = self.indptr[-1] <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32) if small else self.indptr
        return csr_array((self.coefficient, self.variable, indptr), (len(self), self.n_variables))

    @cached_property
    def row(self) -> Ints:
        """Row of every literal."""
        return part_numbers(self.indptr)

    @property
    def sizes(self) -> Ints:
        """Number of literals of every row."""
        return np.diff(self.indptr)

    @property
    def is_constraint(self) -> Bools:
        """Which rows are constraints."""
        return self.kind >= PotentialKind.AT_MOST

    def select(self, rows: Bools) -> Potentials:
        """The rows where `rows` is True as a program over the same variables; its offset is 0."""
        sizes = self.sizes
        literals = np.repeat(rows, sizes)
        return Potentials(
            self.n_variables,
            pointers(sizes[rows]),
            self.variable[literals],
            self.coefficient[literals],
            **{name: getattr(self, name)[rows] for name in ROW_COLUMNS},
        )

    def compact(self) -> tuple[Potentials, Ints]:
        """The program over the variables that are in its rows, and those variables' numbers."""
        used = np.flatnonzero(np.bincount(self.variable, minlength=self.n_variables))
        place = np.zeros(self.n_variables, dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        return replace(self, n_variables=len(used), variable=place[self.variable]), used

    def merged(self) -> tuple[Potentials, Positions]:
        """The distinct rows, each with the weights of all rows equal to it, and their numbers."""
        # numbers from a random state bring equal rows together; whether they are equal is checked
        forms = self.forms(np.random.default_rng(0).random(self.n_variables)) + math.pi * self.kind
        order, sizes = np.argsort(forms, kind="stable"), self.sizes
        is_new = begin_runs(*(one[order] for one in (forms, self.constant, self.kind, sizes)))
        likely = np.flatnonzero(~is_new)
        before, here = (
            ranges(self.indptr[rows], self.indptr[rows + 1])
            for rows in (order[likely - 1], order[likely])
        )
        differs = self.variable[before] != self.variable[here]
        differs |= self.coefficient[before] != self.coefficient[here]
        is_new[np.repeat(likely, sizes[order[likely]])[differs]] = True
        weight = np.zeros(len(self))
        weight[order[is_new]] = np.bincount(np.cumsum(is_new) - 1, self.weight[order])
        first = np.zeros(len(self), dtype=np.bool_)
        first[order[is_new]] = True
        distinct = replace(self, weight=weight).select(first)
        return replace(distinct, offset=self.offset), np.flatnonzero(first)

    def given(self, state: Floats, known: Bools) -> Potentials:
        """The program of the other variables where `known` variables keep their `state`."""
        inside = ~known[self.variable]
        fixed = np.where(inside, 0.0, self.coefficient * state[self.variable])
        return replace(
            self,
            indptr=pointers(np.bincount(self.row[inside], minlength=len(self))),
            variable=self.variable[inside],
            coefficient=self.coefficient[inside],
            constant=self.constant + np.bincount(self.row, fixed, len(self)),
        )

    def negated(self) -> Potentials:
        """The program with every row's form l replaced by -l."""
        return replace(self, coefficient=-self.coefficient, constant=-self.constant)

    def of_rule(self, rule: int, kind: PotentialKind, weight: float) -> Potentials:
        """The rows as rows of a rule, of one kind, with their weights times the rule's weight."""
        return replace(
            self,
            weight=weight * self.weight,
            kind=np.full(len(self), kind, dtype=np.uint8),
            rule=np.full(len(self), rule, dtype=np.int32),
        )

    def forms(self, state: Floats) -> Floats:
        """Value l of every row at a state."""
        products = self.coefficient * state[self.variable]
        return np.bincount(self.row, products, len(self)) + self.constant

    def values(self, state: Floats) -> Floats:
        """Weighted potential of every row at a state; 0 for constraints."""
        hinge = np.maximum(self.forms(state), 0.0)
        return self.weight * np.where(self.kind == PotentialKind.SQUARED, hinge * hinge, hinge)

    def objective(self, state: Floats) -> float:
        """Sum of all potentials, which the MAP state minimises."""
        return float(self.values(state).sum()) + self.offset

    def violations(self, state: Floats) -> Floats:
        """How far every row's constraint is from holding at a state; 0 for potentials."""
        forms = self.forms(state)
        far = np.where(self.kind == PotentialKind.EQUAL, np.abs(forms), np.maximum(forms, 0.0))
        return np.where(self.is_constraint, far, 0.0)


#: Weights of `ConditionalHinges.grouped`: one rule of weight 1, as strengths include the weights.
ONE_RULE = np.ones(1)


class ConditionalHinges(NamedTuple):
    """Hinges in one variable each, one hinge per literal of the potentials."""

    variable: Ids
    height: Floats
    down: Bools
    strength: Floats

    def strengths(self, n: int) -> tuple[Floats, Floats]:
        """Strengths A and B of each variable in {0, 1}: the cost of the values 0 and 1."""
        cost = self.strength * self.height
        up = np.bincount(self.variable, np.where(self.down, 0.0, cost), n)
        down = np.bincount(self.variable, np.where(self.down, cost, 0.0), n)
        return up.astype(np.float64), down.astype(np.float64)

    def grouped(self, n: int) -> Hinges:
        """Hinges for the closed forms: hinges of height 1 added up, hinges of height 0 left out."""
        full = self.height == 1.0
        part = full | (self.height == 0.0)
        up = np.bincount(self.variable, np.where(full & ~self.down, self.strength, 0.0), n)
        down = np.bincount(self.variable, np.where(full & self.down, self.strength, 0.0), n)
        every = np.arange(n)
        return group_hinges(
            np.concatenate([every, every, self.variable[~part]]),
            0,
            np.concatenate([np.ones(2 * n), self.height[~part]]),
            np.concatenate([np.zeros(n, np.bool_), np.ones(n, np.bool_), self.down[~part]]),
            np.concatenate([up, down, self.strength[~part]]),
            n,
        )


def conditional_hinges(
    potentials: Potentials, state: Floats, squared: Bools | bool
) -> ConditionalHinges:
    """Turn each row into one hinge per variable, with the other variables at their `state`.

    Let a be the variable's coefficient in a row (+m or -m if its atom occurs m times), and b the
    rest of the row's linear form, at the values of the other variables. Then max(0, a y + b)^p is

        m^p max(0, b/m - y)^p            for a = -m: it pulls y up,
        m^p max(0, (1 + b/m) + y - 1)^p  for a = +m: it pushes y down,

    and `hornbeam.densities.hinges` integrates sums of such hinges in closed form. `squared` tells
    whether p = 2, for all rows or for each row. A hinge without effect has height 0.

    Heights above 1, which only arithmetic rules have, become 1: without effect on p(y) where p = 1.
    Where p = 2 the hinge of height 1 has the same difference between the values 0 and 1.
    """
    row, size = potentials.row, np.abs(potentials.coefficient)
    down = potentials.coefficient > 0.0
    rest = potentials.forms(state)[row] - potentials.coefficient * state[potentials.variable]
    height = np.where(down, 1.0 + rest / size, rest / size)
    power = np.broadcast_to(np.where(squared, 2.0, 1.0), len(potentials))[row]
    strength = potentials.weight[row] * size**power
    # h^p - (h - 1)^p
    strength *= np.where((power == 2.0) & (height > 1.0), 2.0 * height - 1.0, 1.0)
    height = np.clip(height, 0.0, 1.0)
    return ConditionalHinges(potentials.variable, height, down, strength)
