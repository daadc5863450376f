"""A ground program as arrays: weighted hinges and linear constraints over variables in [0, 1].

Grounding produces it from rules and data; inference and weight learning read it. Row k has the
linear form

    l_k(y) = sum over its literals of coefficient * y[variable] + constant[k],

as a potential weight * max(0, l) or weight * max(0, l)^2, or as a constraint l <= 0 or l = 0. The
MAP state minimises the sum of all potentials subject to the constraints and 0 <= y <= 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, Kinds, part_numbers, pointers

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class PotentialKind(IntEnum):
    """The potential or constraint that a row makes of its linear form."""

    LINEAR = 0  #: weight * max(0, l)
    SQUARED = 1  #: weight * max(0, l)^2
    AT_MOST = 2  #: l <= 0
    EQUAL = 3  #: l = 0


@dataclass(frozen=True, eq=False)
class Potentials:
    """Potentials and constraints of a ground program.

    The literals of row k are `variable[indptr[k]:indptr[k+1]]`, distinct within a row, with their
    `coefficient`s, none of them 0. `weight` counts merged duplicates; constraints have weight 0.
    `rule` is the rule of every row. `offset` is the constant that ground rules without variables
    add to the objective.
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

    @cached_property
    def matrix(self) -> csr_array:
        """Coefficients, rows by variables; shares the memory of the literals."""
        from scipy.sparse import csr_array

        small = self.indptr[-1] <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32) if small else self.indptr
        return csr_array((self.coefficient, self.variable, indptr), (len(self), self.n_variables))

    @cached_property
    def row(self) -> Ints:
        """Row of every literal."""
        return part_numbers(self.indptr)

    @property
    def is_constraint(self) -> Bools:
        """Which rows are constraints."""
        return self.kind >= PotentialKind.AT_MOST

    def select(self, rows: Bools) -> Potentials:
        """The program of these rows only, over the same variables; its offset is 0."""
        sizes = np.diff(self.indptr)
        literals = np.repeat(rows, sizes)
        return Potentials(
            self.n_variables,
            pointers(sizes[rows]),
            self.variable[literals],
            self.coefficient[literals],
            self.constant[rows],
            self.weight[rows],
            self.kind[rows],
            self.rule[rows],
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
