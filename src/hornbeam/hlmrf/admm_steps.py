"""The state of ADMM and its steps, which `hornbeam.hlmrf.admm` derives.

An iteration has two halves. `local_steps` solves every row alone and updates s; it returns the sums
of |a|^2 (s - t)^2 and |a|^2 t^2. `consensus` updates e and computes the consensus z; it returns the
remaining terms of |x - z|^2, |x|^2, |z|^2, |z - z_old|^2, |u|^2 and |T(w) - w|^2. Both run as
compiled loops on threads, or by NumPy if loading Numba is not worth it, on the same `AdmmPoint`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Kinds, Unsigned
from hornbeam.hlmrf import admm_kernels as kernels
from hornbeam.hlmrf.potentials import PotentialKind, Potentials

#: Shares of the plain step, of the old iterate and of the anchor in the next iterate.
Mixture = tuple[float, float, float]

#: The plain step alone.
PLAIN: Mixture = (1.0, 0.0, 0.0)


class AdmmRows(NamedTuple):
    """The literals by row, and the constants of every row's local step."""

    indptr: Unsigned
    variable: Unsigned
    coefficient: Floats
    constant: Floats
    kind: Kinds
    norm: Floats  #: |a|^2
    strength: Floats  #: largest t of a linear hinge; t / l of a squared hinge

    @classmethod
    def of(cls, potentials: Potentials, unit: float, step: float) -> AdmmRows:
        """Compute norms and strengths, weights in units of `unit`; constraints have no limit."""
        coefficient, weight = potentials.coefficient, potentials.weight / unit
        norm = np.bincount(potentials.row, coefficient * coefficient, len(potentials))
        return cls(
            potentials.indptr.astype(np.uint32),
            potentials.variable.view(np.uint32),
            coefficient,
            potentials.constant,
            potentials.kind,
            norm.astype(np.float64, copy=False),  # bincount returns integers without literals
            np.select(
                [potentials.kind == PotentialKind.LINEAR, potentials.kind == PotentialKind.SQUARED],
                [weight / step, 2.0 * weight / (step + 2.0 * weight * norm)],
                np.inf,
            ),
        )


class AdmmPoint(NamedTuple):
    """The state of ADMM, w = e - s a, and the anchor; the steps update them in place."""

    s: Floats  #: a row's part of w
    e: Floats  #: a variable's part of w
    pull: Floats  #: sum of s a over a variable's literals
    z: Floats  #: the consensus at w
    q: Floats  #: 2 z - e, which the local steps read
    state: Floats  #: the consensus after a plain step from w: the result
    anchor_s: Floats
    anchor_e: Floats
    anchor_pull: Floats

    @classmethod
    def at(cls, state: Floats, n_rows: int) -> AdmmPoint:
        """The point of a state, with duals of 0: w is the state itself."""
        nothing = np.zeros_like(state)
        return cls(
            s=np.zeros(n_rows),
            e=state.copy(),
            pull=nothing,
            z=state.copy(),
            q=state.copy(),
            state=state.copy(),
            anchor_s=np.zeros(n_rows),
            anchor_e=state.copy(),
            anchor_pull=nothing.copy(),
        )

    def set_anchor(self) -> None:
        """Set the anchor to the present point."""
        self.anchor_s[:], self.anchor_e[:], self.anchor_pull[:] = self.s, self.e, self.pull


class CompiledSteps:
    """The steps by compiled loops.

    Rows and variables are processed in blocks of fixed size. Every block writes its own sums, which
    are added up in the order of the blocks. So the result is the same for any number of threads.
    """

    def __init__(
        self, rows: AdmmRows, point: AdmmPoint, threads: int, pool: ThreadPoolExecutor
    ) -> None:
        """Sort the literals by variable, and compile the loops or load them."""
        n_rows, n_variables = len(point.s), len(point.z)
        self.rows, self.threads, self.pool = rows, threads, pool
        self.columns: kernels.AdmmColumns = kernels.by_variable.compiled(
            rows.indptr, rows.variable, rows.coefficient, n_variables
        )
        self.row_sums = np.zeros((-(-n_rows // kernels.BLOCK), 2))
        self.variable_sums = np.zeros((-(-n_variables // kernels.BLOCK), 6))
        # called without blocks, to compile or load: nothing moves
        kernels.local_steps.compiled(rows, point, PLAIN, 0, 0, self.row_sums)
        kernels.consensus.compiled(self.columns, point, PLAIN, 0, 0, self.variable_sums)

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
        """Run a kernel with an equal part of the blocks per thread, and wait for all threads."""
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


class ArraySteps:
    """The steps by NumPy.

    The local step of every kind of row is t = form * factor, kept between `lower` and `upper`. Here
    the form is the row's linear form at q plus `reach` times its old s. In a row without literals
    only the multiplier moves, up to its limit.
    """

    def __init__(self, potentials: Potentials, rows: AdmmRows) -> None:
        """Build the arrays of a program."""
        squared = rows.kind == PotentialKind.SQUARED
        self.row, self.variable = potentials.row, potentials.variable.astype(np.intp)
        self.coefficient, self.constant, self.norm = rows.coefficient, rows.constant, rows.norm
        self.reach = np.where((rows.norm > 0.0) | squared, rows.norm, 1.0)
        self.factor = np.divide(1.0, self.reach, out=rows.strength.copy(), where=~squared)
        self.lower = np.where(rows.kind == PotentialKind.EQUAL, -np.inf, 0.0)
        self.upper = np.where(squared, np.inf, rows.strength)
        degree = np.bincount(potentials.variable, minlength=potentials.n_variables)
        self.degree = degree.astype(np.float64)

    def local_steps(self, point: AdmmPoint, mixture: Mixture) -> Floats:
        """Solve every row alone."""
        of_step, of_old, of_anchor = mixture
        old = point.s.copy()
        literals = np.bincount(self.row, self.coefficient * point.q[self.variable], len(old))
        form = literals + self.constant + self.reach * old
        t = np.minimum(np.maximum(form * self.factor, self.lower), self.upper)
        point.s[:] = of_step * t + of_old * old + of_anchor * point.anchor_s
        point.s[np.abs(point.s) <= kernels.SMALLEST_DUAL] = 0.0
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
        # variables without literals do not change, not even by rounding
        for part, value in ((point.state, new), (e, moved), (z, agreed), (q, 2.0 * agreed - moved)):
            np.copyto(part, value, where=degree > 0.0)
        return np.array([one.sum() for one in sums])


AdmmSteps = ArraySteps | CompiledSteps
