"""The steps of ADMM by NumPy, for programs that are not worth loading Numba."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Floats, Positions
from hornbeam.hlmrf.admm_point import SMALLEST_DUAL, AdmmPoint, AdmmRows, Mixture
from hornbeam.hlmrf.potentials import PotentialKind, Potentials


@dataclass(frozen=True, eq=False)
class ArraySteps:
    """Implements `hornbeam.hlmrf.admm_point.AdmmSteps`.

    The local step of every kind of row is t = form * factor, kept between `lower` and `upper`,
    where the form is that of its literals plus `reach` times the old t. In a row without literals
    only the multiplier moves, up to its limit.
    """

    row: Positions
    variable: Positions
    coefficient: Floats
    constant: Floats
    norm: Floats
    reach: Floats
    factor: Floats
    lower: Floats
    upper: Floats
    degree: Floats

    @classmethod
    def of(cls, potentials: Potentials, rows: AdmmRows) -> ArraySteps:
        """Build the arrays of a program."""
        squared = rows.kind == PotentialKind.SQUARED
        reach = np.where((rows.norm > 0.0) | squared, rows.norm, 1.0)
        degree = np.bincount(potentials.variable, minlength=potentials.n_variables)
        return cls(
            potentials.row,
            potentials.variable.astype(np.intp),
            rows.coefficient,
            rows.constant,
            rows.norm,
            reach,
            np.divide(1.0, reach, out=rows.strength.copy(), where=~squared),
            np.where(rows.kind == PotentialKind.EQUAL, -np.inf, 0.0),
            np.where(squared, np.inf, rows.strength),
            degree.astype(np.float64),
        )

    def local_steps(self, point: AdmmPoint, mixture: Mixture) -> Floats:
        """Solve every row alone."""
        of_step, of_old, of_anchor = mixture
        old = point.s.copy()
        literals = np.bincount(self.row, self.coefficient * point.q[self.variable], len(old))
        form = literals + self.constant + self.reach * old
        t = np.minimum(np.maximum(form * self.factor, self.lower), self.upper)
        point.s[:] = of_step * t + of_old * old + of_anchor * point.anchor_s
        point.s[np.abs(point.s) <= SMALLEST_DUAL] = 0.0
        return np.array([np.einsum("i,i,i", self.norm, x, x) for x in (old - t, t)])

    def consensus(self, point: AdmmPoint, mixture: Mixture) -> Floats:
        """Move e, and find the consensus there."""
        of_step, of_old, of_anchor = mixture
        degree, e, z, q = self.degree, point.e, point.z, point.q
        pull = np.bincount(self.variable, self.coefficient * point.s[self.row], len(z))
        # sum of t a: the pull after a plain step
        plain = (pull - of_old * point.pull - of_anchor * point.anchor_pull) / of_step
        back = point.pull - plain
        copies = np.maximum(degree, 1.0)
        new = np.clip(z - plain / copies, 0.0, 1.0)
        apart, step, change = q - new, new - z, z - e
        sums = [
            degree * apart * apart + 2.0 * apart * back,
            degree * q * q + 2.0 * q * back,
            degree * new * new,
            degree * step * step,
            degree * step * step + 2.0 * step * plain,
            degree * change * change + 2.0 * change * back,
        ]
        moved = of_step * z + of_old * e + of_anchor * point.anchor_e
        agreed = np.clip(moved - pull / copies, 0.0, 1.0)
        point.pull[:] = pull
        # variables without a literal do not change, not even by rounding
        for part, value in ((point.state, new), (e, moved), (z, agreed), (q, 2.0 * agreed - moved)):
            np.copyto(part, value, where=degree > 0.0)
        return np.array([one.sum() for one in sums])
