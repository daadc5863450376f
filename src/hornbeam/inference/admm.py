"""Consensus ADMM for MAP states, with nothing to store per literal but the literals themselves.

Every row k gets its own copy x of its variables, held to the consensus z by scaled duals u
(Boyd et al., *Distributed Optimization and Statistical Learning via ADMM*, 2011; Bach et al.,
*Hinge-Loss Markov Random Fields and Probabilistic Soft Logic*, 2017):

    x <- argmin f_k(x) + step/2 |x - z + u|^2      (local step, every row alone)
    z <- clip(mean over the copies of x + u)       (consensus, every variable alone)
    u <- u + x - z

A row's function depends on x through l = a'x + c alone, so its local step moves along a:
x = v - t a with v = z - u, and with l = a'v + c

    linear hinge    t = min(max(l / |a|^2, 0), weight / step)
    squared hinge   t = max(l, 0) 2 weight / (step + 2 weight |a|^2)      (Sherman-Morrison)
    l <= 0          t = max(l / |a|^2, 0)                                 (projection)
    l  = 0          t = l / |a|^2                                         (projection)

In terms of w = z + u the iteration is Douglas-Rachford splitting: z = clip(mean of w), x as above
with v = 2z - w, and T(w) = w + x - z. If w = e - s a with one number e for every variable and one
number s for every row, as it is at u = 0, then v = (2z - e) + s a and

    T(w) = z - t a:      e <- z,    s <- t.

So an iteration is one pass over the literals by row (from q = 2z - e to t) and one by variable
(from s to z), and the norms of the residuals follow from sums over rows and over variables.
step * t are the rows' Lagrange multipliers, which gives a lower bound of the optimum for nothing.

T does not expand distances, so a fixed point may be sought faster than by w <- T(w):

    relaxed     w <- r T(w) + (1-r) w                                     (r = 1.6)
    anchored    w <- (k+1)/(k+2) (2 T(w) - w) + 1/(k+2) anchor            (Halpern's iteration)

with an anchor that is moved to w now and then (k counts from there), as in Lu and Yang, *Restarted
Halpern PDHG for Linear Programming* (2024). Relaxed takes a third of the iterations off programs
of squared hinges; anchored needs up to ten times fewer where linear hinges or constraints are.

Stopping rule (PSL's, which is Boyd's): over the N literals, after a plain step,

    |x - z|            <= sqrt(N) epsilon_abs + epsilon_rel max(|x|, |z|),
    step * |z - z_old| <= sqrt(N) epsilon_abs + epsilon_rel step |u|,

and besides, no constraint is violated by more than `max_violation`: in a large program one broken
constraint does not show in the norms. Weights are divided by the largest, as PSL 2.4 does, so the
step is in units of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from hornbeam.inference import admm_kernels as kernels
from hornbeam.inference.map_state import MapState, Status, assess, dual_value, start_at
from hornbeam.statistics.potentials import Floats, Kind, Potentials

#: Iterations between two looks at constraints and callbacks.
PERIOD = 50
#: Literals below which threads cost more than they give.
WORTH_THREADS = 200_000
#: Violation, averaged by the multipliers, up to which nothing counts as a contradiction.
NO_CONTRADICTION = 1e-6

#: Over-relaxation.
RELAXED = 1.6

Watch = Callable[[int, float, float], None]


class Acceleration(StrEnum):
    """How the next iterate is made of T(w)."""

    PLAIN = "plain"
    RELAXED = "relaxed"
    ANCHORED = "anchored"


@dataclass(frozen=True)
class Admm:
    """Consensus ADMM; the defaults are PSL's.

    Parameters
    ----------
    step
        Step size, in units of the largest weight.
    epsilon_abs, epsilon_rel
        Absolute and relative tolerance of the residuals.
    max_iterations
        Most iterations.
    acceleration
        Plain (as PSL), relaxed or anchored. By default relaxed for programs of squared hinges
        only, anchored for others.
    max_violation
        How far a constraint may be from holding at the end.
    threads
        All cores by default. The result is the same for any number, bit for bit.
    """

    step: float = 1.0
    epsilon_abs: float = 1e-5
    epsilon_rel: float = 1e-3
    max_iterations: int = 25_000
    acceleration: Acceleration | None = None
    max_violation: float = 1e-3
    threads: int | None = None

    def solve(
        self, potentials: Potentials, start: Floats | None = None, watch: Watch | None = None
    ) -> MapState:
        """Find a MAP state.

        Parameters
        ----------
        potentials
            The ground program.
        start
            State to start from, all ones by default.
        watch
            Told the iteration and both residuals, every `PERIOD` iterations.

        Returns
        -------
        MapState
            With status converged, iteration limit, or infeasible (see `contradict`).
        """
        began = time.perf_counter()
        work = _Work.of(potentials, start_at(potentials, start), self)
        hard = np.flatnonzero(potentials.is_constraint)
        constraints = potentials.select(potentials.is_constraint)
        iterations, least, status = 0, 1, Status.ITERATIONS
        residuals = kernels.Residuals(np.inf, np.inf, 0.0, 0.0, np.inf)
        with ThreadPoolExecutor(work.threads) as pool:
            while iterations < self.max_iterations and status is Status.ITERATIONS:
                before = work.point.s[hard]
                most = min(PERIOD, self.max_iterations - iterations)
                done, residuals = work.run(least, most, pool)
                iterations += done
                if watch is not None:
                    watch(iterations, residuals.primal, residuals.dual)
                at_rest = kernels.within_limits(residuals)
                if at_rest and self._hold(constraints, work.point.state):
                    status = Status.CONVERGED
                elif contradict(constraints, work.point.s[hard] - before):
                    status = Status.INFEASIBLE
                # at rest but for a constraint: look again after a whole period
                least = PERIOD if at_rest else 1
        return assess(
            potentials,
            work.point.state,
            multiplier=work.multipliers(),
            status=status,
            solver="admm",
            max_violation=self.max_violation,
            iterations=iterations,
            primal_residual=residuals.primal,
            dual_residual=residuals.dual,
            seconds=time.perf_counter() - began,
        )

    def _hold(self, constraints: Potentials, state: Floats) -> bool:
        """Whether all constraints hold within the tolerance."""
        return bool((constraints.violations(state) <= self.max_violation).all())


@dataclass(frozen=True, eq=False)
class _Work:
    """The arrays of one run and the threads that walk them."""

    settings: Admm
    rows: kernels.Rows
    columns: kernels.Columns
    point: kernels.Point
    control: Floats
    sums: kernels.Sums
    step: float
    threads: int

    @classmethod
    def of(cls, potentials: Potentials, state: Floats, settings: Admm) -> _Work:
        """Lay out the literals by row and by variable; duals start at 0."""
        n, n_variables = len(potentials), potentials.n_variables
        step = settings.step * (potentials.weight.max(initial=0.0) or 1.0)
        indptr = potentials.indptr.astype(np.uint32)
        variable = potentials.variable.view(np.uint32)
        norm = kernels.squared_norms(indptr, potentials.coefficient)
        strength = kernels.strengths(potentials.kind, potentials.weight, norm, step)
        threads = settings.threads or os.cpu_count() or 1
        return cls(
            settings,
            kernels.Rows(
                indptr, variable, potentials.coefficient, potentials.constant, potentials.kind,
                norm, strength,
            ),
            kernels.by_variable(indptr, variable, potentials.coefficient, n_variables),
            _begin(state, n),
            np.array([_relaxation(settings, potentials), 0.0, 0.0, 0.0, 0.0, 0.0]),
            kernels.Sums(
                np.zeros((-(-n // kernels.BLOCK), 2)),
                np.zeros((-(-n_variables // kernels.BLOCK), 6)),
            ),
            step,
            threads if len(variable) >= WORTH_THREADS else 1,
        )  # fmt: skip

    def run(self, least: int, most: int, pool: ThreadPoolExecutor) -> tuple[int, kernels.Residuals]:
        """Iterate until the stopping rule is met, `least` to `most` times."""
        ours = self.settings
        rule = ours.step, ours.epsilon_abs, ours.epsilon_rel
        point, control, sums = self.point, self.control, self.sums
        if self.threads == 1:
            done, residuals = kernels.iterate(
                self.rows, self.columns, point, control, sums, *rule, least, most
            )
            return done, residuals
        done = 0
        while True:
            mixture = kernels.mixture(control)
            self._share(pool, kernels.local_steps, self.rows, mixture, sums.row)
            self._share(pool, kernels.consensus, self.columns, mixture, sums.variable)
            residuals = kernels.residuals(sums, len(self.rows.variable), *rule)
            kernels.steer(control, point, mixture, residuals.movement)
            done += 1
            if done >= most or (done >= least and kernels.within_limits(residuals)):
                return done, residuals

    def multipliers(self) -> Floats:
        """Lagrange multipliers of the rows: step * t of one more local step, the anchor left out.

        It ends the run: the point is no iterate any more.
        """
        point, home = self.point, float(self.control[kernels.HOME])
        for part, anchor in (
            (point.s, point.anchor_s),
            (point.e, point.anchor_e),
            (point.pull, point.anchor_pull),
        ):
            part -= home * anchor
            part /= 1.0 - home
        degree = np.maximum(np.diff(self.columns.indptr), 1)
        point.q[:] = 2.0 * np.clip(point.e - point.pull / degree, 0.0, 1.0) - point.e
        blocks = len(self.sums.row)
        kernels.local_steps(self.rows, point, (1.0, 0.0, 0.0), 0, blocks, self.sums.row)
        return self.step * point.s

    def _share(
        self,
        pool: ThreadPoolExecutor,
        kernel: Callable[..., None],
        side: kernels.Rows | kernels.Columns,
        mixture: tuple[float, float, float],
        sums: Floats,
    ) -> None:
        """Give every thread an equal share of the blocks, and wait for all."""
        cuts = np.linspace(0, len(sums), self.threads + 1).astype(int).tolist()
        shares = [
            pool.submit(kernel, side, self.point, mixture, low, high, sums)
            for low, high in pairwise(cuts)
        ]
        for share in shares:
            share.result()


def _begin(state: Floats, n_rows: int) -> kernels.Point:
    """Where duals are 0: w is the state itself."""
    copies = [state.copy() for _ in range(5)]
    pulls = np.zeros_like(state), np.zeros_like(state)
    return kernels.Point(
        s=np.zeros(n_rows),
        e=copies[0],
        pull=pulls[0],
        z=copies[1],
        q=copies[2],
        state=copies[3],
        anchor_s=np.zeros(n_rows),
        anchor_e=copies[4],
        anchor_pull=pulls[1],
    )


def _relaxation(settings: Admm, potentials: Potentials) -> float:
    """Over-relaxation; 0 if the iteration is anchored."""
    squared = bool((potentials.kind == Kind.SQUARED).all())
    default = Acceleration.RELAXED if squared else Acceleration.ANCHORED
    chosen = settings.acceleration or default
    return {Acceleration.PLAIN: 1.0, Acceleration.RELAXED: RELAXED, Acceleration.ANCHORED: 0.0}[
        chosen
    ]


def contradict(constraints: Potentials, change: Floats) -> bool:
    """Whether the growth of the constraints' multipliers proves that they contradict each other.

    In a program without a feasible state the multipliers grow for ever along a direction that is
    such a proof (Banjac et al., *Infeasibility Detection in ADMM for Convex Optimization*, 2019):
    its `dual_value` is positive. Divided by the sum of the multipliers it says how far from
    holding some constraint is at any state, so the proof does not depend on convergence.
    """
    if not len(constraints):
        return False
    at_most = constraints.kind == Kind.AT_MOST
    change = np.where(at_most, np.maximum(change, 0.0), change)
    return dual_value(constraints, change) > NO_CONTRADICTION * float(np.abs(change).sum())
