"""From columns of variables to the rows of `Potentials`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, part_numbers, pointers, run_starts
from hornbeam.hlmrf.potentials import PotentialKind, Potentials

#: A form that stays below this for all states counts as never violated.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class GroundRows:
    """Rows of one rule: literals in CSR form, constants, and the number of ground rules per row."""

    indptr: Ints
    variable: Ids
    coefficient: Floats
    constant: Floats
    count: Ints

    def __len__(self) -> int:
        return len(self.constant)

    @classmethod
    def of_literals(
        cls,
        row: Ints,
        variable: Ids,
        coefficient: Floats,
        constant: Floats,
        count: Ints,
    ) -> GroundRows:
        """Build from literals in any order; equal variables of a row are added up.

        Literals whose variable is negative are observed and left out.
        """
        open_ones = variable >= 0
        row, variable, coefficient = row[open_ones], variable[open_ones], coefficient[open_ones]
        order = np.lexsort((variable, row))
        row, variable, coefficient = row[order], variable[order], coefficient[order]
        if len(row):
            starts = run_starts(row, variable)
            row, variable = row[starts], variable[starts]
            coefficient = np.add.reduceat(coefficient, starts)
            kept = coefficient != 0.0
            row, variable, coefficient = row[kept], variable[kept], coefficient[kept]
        indptr = pointers(np.bincount(row, minlength=len(constant)))
        return cls(indptr, variable, coefficient, constant, count)

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[Ids],
        coefficients: Sequence[float],
        constant: Floats,
        count: Ints,
    ) -> GroundRows:
        """Build from one column of variables per literal."""
        n = len(constant)
        if len(columns) == 1 and (n == 0 or columns[0].min() >= 0):
            # most rules: one literal per row, nothing to sort
            coefficient = np.full(n, coefficients[0])
            return cls(np.arange(n + 1), columns[0], coefficient, constant, count)
        return cls.of_literals(
            np.tile(np.arange(n), len(columns)),
            np.concatenate(columns),
            np.repeat(np.asarray(coefficients, dtype=np.float64), n),
            constant,
            count,
        )

    def negated(self) -> GroundRows:
        """The rows of the opposite form."""
        return GroundRows(self.indptr, self.variable, -self.coefficient, -self.constant, self.count)

    def largest(self) -> Floats:
        """Largest value of every row's form in the box [0, 1]."""
        return self._summed(np.maximum(self.coefficient, 0.0)) + self.constant

    def sizes(self) -> Floats:
        """Sum of the absolute values of every row's coefficients."""
        return self._summed(np.abs(self.coefficient))

    def _summed(self, values: Floats) -> Floats:
        row = part_numbers(self.indptr)
        return np.bincount(row, values, len(self)).astype(np.float64)

    def take(self, keep: Bools) -> GroundRows:
        """Some of the rows."""
        sizes = np.diff(self.indptr)
        literals = np.repeat(keep, sizes)
        return GroundRows(
            pointers(sizes[keep]),
            self.variable[literals],
            self.coefficient[literals],
            self.constant[keep],
            self.count[keep],
        )

    def violable(self) -> GroundRows:
        """Rows of l <= 0 or max(0, l) that some state of the variables violates."""
        return self.take(self.largest() > NEGLIGIBLE)


def as_potentials(
    n_variables: int, parts: Sequence[tuple[int, PotentialKind, float, GroundRows]]
) -> Potentials:
    """Concatenate rows; each part is (rule, kind, weight of one ground rule, rows)."""
    sizes = [np.diff(rows.indptr) for *_, rows in parts]
    lengths = [len(rows) for *_, rows in parts]

    def joined(arrays: Sequence[npt.NDArray[np.generic]], kind: type) -> npt.NDArray[np.generic]:
        return np.concatenate([np.empty(0, dtype=kind), *arrays]).astype(kind, copy=False)

    return Potentials(
        n_variables,
        pointers(joined(sizes, np.int64)),
        joined([rows.variable for *_, rows in parts], np.int32),  # type: ignore[arg-type]
        joined([rows.coefficient for *_, rows in parts], np.float64),  # type: ignore[arg-type]
        joined([rows.constant for *_, rows in parts], np.float64),  # type: ignore[arg-type]
        joined([weight * rows.count for _, _, weight, rows in parts], np.float64),  # type: ignore[arg-type]
        np.repeat([kind for _, kind, _, _ in parts], lengths).astype(np.uint8),
        np.repeat([rule for rule, *_ in parts], lengths).astype(np.int32),
    )
