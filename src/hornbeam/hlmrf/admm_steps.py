"""The steps of ADMM: compiled loops on threads, or NumPy where loading Numba is not worth it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hornbeam.base.arrays import Floats, Positions
from hornbeam.hlmrf import admm_kernels as kernels
from hornbeam.hlmrf.admm_point import PLAIN, SMALLEST_DUAL, AdmmPoint, AdmmRows, Mixture
from hornbeam.hlmrf.potentials import PotentialKind, Potentials


@dataclass(frozen=True, eq=False)
class CompiledSteps:
    """Implements `hornbeam.hlmrf.admm_point.AdmmSteps`.

    Rows and variables are processed in blocks of fixed size. Every block writes its own sums, which
    are added up in the order of the blocks, so the result is the same for any
    number of threads.
    """

    rows: AdmmRows
    columns: kernels.AdmmColumns
    row_sums: Floats
    variable_sums: Floats
    threads: int
    pool: ThreadPoolExecutor

    @classmethod
    def of(
        cls, rows: AdmmRows, point: AdmmPoint, threads: int, pool: ThreadPoolExecutor
    ) -> CompiledSteps:
        """Sort the literals by variable too; compiles the loops, or loads them."""
        n_rows, n_variables = len(point.s), len(point.z)
        steps = cls(
            rows,
            kernels.by_variable.compiled(rows.indptr, rows.variable, rows.coefficient, n_variables),
            np.zeros((-(-n_rows // kernels.BLOCK), 2)),
            np.zeros((-(-n_variables // kernels.BLOCK), 6)),
            threads,
            pool,
        )
        # no blocks: nothing moves
        kernels.local_steps.compiled(rows, point, PLAIN, 0, 0, steps.row_sums)
        kernels.consensus.compiled(steps.columns, point, PLAIN, 0, 0, steps.variable_sums)
        return steps

    def local_steps(self, point: AdmmPoint, mixture: Mixture) -> Floats:
        """Solve every row alone."""
        self._share(kernels.local_steps.compiled, self.rows, point, mixture, self.row_sums)
        return np.asarray(self.row_sums.sum(axis=0))

    def consensus(self, point: AdmmPoint, mixture: Mixture) -> Floats:
        """Move e, and find the consensus there."""
        self._share(kernels.consensus.compiled, self.columns, point, mixture, self.variable_sums)
        return np.asarray(self.variable_sums.sum(axis=0))

    def _share(
        self,
        kernel: Callable[..., None],
        side: AdmmRows | kernels.AdmmColumns,
        point: AdmmPoint,
        mixture: Mixture,
        sums: Floats,
    ) -> None:
        """Run a kernel with an equal part of the blocks per thread, and wait for all."""
        if self.threads == 1:
            kernel(side, point, mixture, 0, len(sums), sums)
            return
        cuts = np.linspace(0, len(sums), self.threads + 1).astype(int).tolist()
        shares = [
            self.pool.submit(kernel, side, point, mixture, low, high, sums)
            for low, high in pairwise(cuts)
        ]
        for share in shares:
            share.result()


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
