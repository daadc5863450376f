"""The steps of ADMM by compiled loops, on threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.hlmrf import admm_kernels as kernels
from hornbeam.hlmrf.admm_point import PLAIN, AdmmPoint, AdmmRows, Mixture


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
