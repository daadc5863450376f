"""Consensus ADMM for MAP states, which stores nothing per literal except the literal itself.

Every row k has its own copy x of its variables, held to the consensus z by scaled duals u
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
(from s to z). The norms of the residuals follow from sums over rows and over variables.
step * t are the rows' Lagrange multipliers, which prove a lower bound of the optimum.

T does not expand distances, so a fixed point can be found faster than by w <- T(w):

    relaxed     w <- r T(w) + (1-r) w                                     (r = 1.6)
    anchored    w <- (k+1)/(k+2) (2 T(w) - w) + 1/(k+2) anchor            (Halpern's iteration)

with an anchor that is reset to w from time to time (k counts iterations since then), as in Lu and
Yang, *Restarted Halpern PDHG for Linear Programming* (2024). The relaxed iteration needs about half
as many steps as soon as some hinges are squared, also beside constraints and linear hinges. The
anchored iteration needs up to half as many for programs of linear hinges, and leaves less of a gap.

Stopping rule (PSL's, which is Boyd's): over the N literals, after a plain step,

    |x - z|            <= sqrt(N) epsilon_abs + epsilon_rel max(|x|, |z|),
    step * |z - z_old| <= sqrt(N) epsilon_abs + epsilon_rel step |u|,

and in addition no constraint is violated by more than `max_violation`: in a large program one
violated constraint does not show in the norms. Weights are divided by the largest weight, as PSL
2.4 does, so the step is in units of the largest weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.compiled import announced
from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import SILENT, Progress
from hornbeam.hlmrf.admm_steps import (
    PLAIN,
    AdmmPoint,
    AdmmRows,
    AdmmSteps,
    ArraySteps,
    CompiledSteps,
    Mixture,
)
from hornbeam.hlmrf.map_state import MapState, MapStatus, assess, dual_value, start_at
from hornbeam.hlmrf.potentials import PotentialKind, Potentials

#: Maximum number of iterations between two checks of constraints, and two progress reports.
PERIOD = 50
#: Number of literals below which threads cost more than they save.
WORTH_THREADS = 200_000
#: Number of literals times iterations by NumPy that takes as long as loading Numba and the compiled
#: loops (0.6 s), and the number of literals that takes as long as one iteration's NumPy calls.
WORTH_COMPILING, ARRAY_CALLS = 20_000_000, 2_000
#: Violation, weighted by the multipliers, up to which constraints do not count as contradictory.
NO_CONTRADICTION = 1e-6

#: Values of `relaxation`: the r of the relaxed iteration, and the mark of the anchored iteration.
RELAXED, ANCHORED = 1.6, 0.0
#: Share of squared hinges from which the relaxed iteration is quicker.
WORTH_RELAXING = 0.1


class Residuals(NamedTuple):
    """Residuals of an iteration, and the limits of the stopping rule."""

    primal: float = math.inf
    dual: float = math.inf
    primal_limit: float = 0.0
    dual_limit: float = 0.0
    movement: float = math.inf  #: |T(w) - w|

    @property
    def within_limits(self) -> bool:
        """Whether the stopping rule is met."""
        return self.primal <= self.primal_limit and self.dual <= self.dual_limit


@dataclass
class AnchorSchedule:
    """The schedule of the iterations: how the next iterate is mixed, and when the anchor is set."""

    relaxation: float
    age: int = 0  #: iterations since the anchor was set; -1: set it after the next iteration
    first: float = 0.0  #: movement when the anchor was set
    latest: float = 0.0  #: movement in the last iteration
    total: int = 0  #: iterations in all
    anchor_share: float = 0.0  #: the anchor's share in the point

    def mixture(self) -> Mixture:
        """The mixture of the next iterate."""
        if self.relaxation > 0.0:
            return self.relaxation, 1.0 - self.relaxation, 0.0
        if self.age < 0:
            return PLAIN
        of_anchor = 1.0 / (self.age + 2.0)
        return 2.0 * (1.0 - of_anchor), of_anchor - 1.0, of_anchor

    def steer(self, point: AdmmPoint, mixture: Mixture, movement: float) -> None:
        """After an iteration, decide whether to set the anchor to the present point.

        It is set once the movement |T(w) - w| has shrunk much, or has shrunk and grows again, or
        after a share of all iterations. Rules and constants are those of restarted first-order
        methods for LPs.
        """
        self.total += 1
        self.anchor_share = mixture[2]
        if self.relaxation > 0.0:
            return
        if self.age < 0:
            point.set_anchor()
            self.age = 0
            return
        if self.age == 0:
            self.first = movement
        shrunk = movement / self.first if self.first > 0.0 else 0.0
        grows = movement > self.latest
        old = shrunk <= 0.2 or (shrunk <= 0.8 and grows) or self.age >= 0.36 * self.total
        self.latest = movement
        self.age = -1 if self.age > 0 and old else self.age + 1


@dataclass(frozen=True)
class Admm:
    """Consensus ADMM; the defaults are PSL's."""

    step: float = 1.0  #: step size, in units of the largest weight
    #: Absolute and relative tolerance of the residuals.
    epsilon_abs: float = 1e-5
    epsilon_rel: float = 1e-3
    max_iterations: int = 25_000
    #: Over-relaxation; 1 is the plain iteration, as in PSL. By default `RELAXED` where at least
    #: `WORTH_RELAXING` of the hinges are squared, `ANCHORED` elsewhere.
    relaxation: float | None = None
    max_violation: float = 1e-3  #: how far a constraint may be from holding at the end
    #: Number of threads, all cores by default. The result is the same for any number, bit for bit.
    threads: int | None = None

    def solve(
        self,
        potentials: Potentials,
        start: Floats | None = None,
        progress: Progress = SILENT,
        leave: Callable[[int, Residuals], bool] | None = None,
    ) -> MapState:
        """Find a MAP state from the state `start`, all ones by default.

        The status is CONVERGED, ITERATIONS (the limit), or INFEASIBLE (see `contradict`). `leave`
        is asked after every period, with the iterations done and the residuals; if it is True,
        ADMM ends as at the limit.
        """
        hard = np.flatnonzero(potentials.is_constraint)
        constraints = potentials.select(potentials.is_constraint)
        iterations, minimum, status = 0, 1, MapStatus.ITERATIONS
        residuals = Residuals()
        with ThreadPoolExecutor(worker_threads(self.threads)) as pool:
            run = _Run(self, potentials, start, pool, progress)
            steps = run.steps()
            while iterations < self.max_iterations and status is MapStatus.ITERATIONS:
                steps, before = run.steps(), run.point.s[hard]
                limit = min(PERIOD, self.max_iterations - iterations)
                done, residuals = run.run(steps, minimum, limit)
                iterations += done
                progress.advance("ADMM", iterations, self.max_iterations)
                at_rest = residuals.within_limits
                if at_rest and self._hold(constraints, run.point.state):
                    status = MapStatus.CONVERGED
                elif contradict(constraints, run.point.s[hard] - before):
                    status = MapStatus.INFEASIBLE
                elif leave is not None and leave(iterations, residuals):
                    break
                # converged except for a violated constraint: check again after a whole period
                minimum = PERIOD if at_rest else 1
            multiplier = run.multipliers(steps)
        state = run.point.state
        return replace(
            assess(potentials, state, multiplier, status, "admm", self.max_violation),
            iterations=iterations,
            primal_residual=residuals.primal,
            dual_residual=residuals.dual,
        )

    def residuals(self, literals: int, rows: Floats, variables: Floats) -> Residuals:
        """Residuals from the sums of both halves of an iteration, and the number of literals."""
        moved, duals = rows.tolist()
        gap, copies, agreed, changed, rest, movement = variables.tolist()
        absolute = math.sqrt(literals) * self.epsilon_abs
        largest = math.sqrt(max(copies + moved, agreed, 0.0))
        return Residuals(
            math.sqrt(max(gap + moved, 0.0)),
            self.step * math.sqrt(changed),
            absolute + self.epsilon_rel * largest,
            absolute + self.epsilon_rel * self.step * math.sqrt(max(rest + duals, 0.0)),
            math.sqrt(max(movement + moved, 0.0)),
        )

    def _hold(self, constraints: Potentials, state: Floats) -> bool:
        """Whether all constraints hold within the tolerance."""
        return bool((constraints.violations(state) <= self.max_violation).all())


class _Run:
    """One run of the solver: the literals, the current point, and the anchor's schedule."""

    def __init__(
        self,
        settings: Admm,
        potentials: Potentials,
        start: Floats | None,
        pool: ThreadPoolExecutor,
        progress: Progress,
    ) -> None:
        self.settings, self.potentials = settings, potentials
        self.pool, self.progress = pool, progress
        self.rows = AdmmRows.of(potentials, _largest_weight(potentials), settings.step)
        self.point = AdmmPoint.at(start_at(potentials, start), len(potentials))
        linear, squared = (
            int((potentials.kind == kind).sum())
            for kind in (PotentialKind.LINEAR, PotentialKind.SQUARED)
        )
        default = RELAXED if squared >= WORTH_RELAXING * (linear + squared) else ANCHORED
        relaxation = default if settings.relaxation is None else settings.relaxation
        self.steering = AnchorSchedule(relaxation)

    def run(self, steps: AdmmSteps, minimum: int, limit: int) -> tuple[int, Residuals]:
        """Iterate until the stopping rule is met, at least `minimum` and at most `limit` times."""
        point, residuals = self.point, Residuals()
        for done in range(1, limit + 1):
            mixture = self.steering.mixture()
            rows = steps.local_steps(point, mixture)
            variables = steps.consensus(point, mixture)
            residuals = self.settings.residuals(len(self.potentials.variable), rows, variables)
            self.steering.steer(point, mixture, residuals.movement)
            if done >= minimum and residuals.within_limits:
                return done, residuals
        return limit, residuals

    def steps(self) -> AdmmSteps:
        """The implementation of the next steps: NumPy while it costs less than loading Numba."""
        soon = self.steering.total + PERIOD
        if soon * (len(self.potentials.variable) + ARRAY_CALLS) <= WORTH_COMPILING:
            return self._arrays
        return self._compiled

    @cached_property
    def _arrays(self) -> ArraySteps:
        return ArraySteps(self.potentials, self.rows)

    @cached_property
    def _compiled(self) -> CompiledSteps:
        many = len(self.potentials.variable) >= WORTH_THREADS
        threads = worker_threads(self.settings.threads) if many else 1
        with announced(self.progress):
            return CompiledSteps(self.rows, self.point, threads, self.pool)

    def multipliers(self, steps: AdmmSteps) -> Floats:
        """Lagrange multipliers of the rows: step * t of one more local step, without the anchor.

        This ends the run: the current point is overwritten.
        """
        point, share = self.point, self.steering.anchor_share
        for part, anchor in (
            (point.s, point.anchor_s),
            (point.e, point.anchor_e),
            (point.pull, point.anchor_pull),
        ):
            part -= share * anchor
            part /= 1.0 - share
        degree = np.bincount(self.potentials.variable, minlength=len(point.z))
        mean = point.e - point.pull / np.maximum(degree, 1)
        point.q[:] = 2.0 * np.clip(mean, 0.0, 1.0) - point.e
        steps.local_steps(point, PLAIN)
        return self.settings.step * point.s * _largest_weight(self.potentials)


def _largest_weight(potentials: Potentials) -> float:
    """The largest weight, the divisor of all weights; multiplying the step instead could give 0."""
    return float(potentials.weight.max(initial=0.0)) or 1.0


def contradict(constraints: Potentials, change: Floats) -> bool:
    """Whether the growth of the constraints' multipliers proves that they contradict each other.

    In a program without a feasible state the multipliers grow without bound, along a direction
    whose `dual_value` is positive (Banjac et al., *Infeasibility Detection in ADMM for Convex
    Optimization*, 2019). At any state, some constraint is violated by at least this value divided
    by the sum of the multipliers. So the proof does not depend on convergence.
    """
    if not len(constraints):
        return False
    at_most = constraints.kind == PotentialKind.AT_MOST
    change = np.where(at_most, np.maximum(change, 0.0), change)
    return dual_value(constraints, change) > NO_CONTRADICTION * float(np.abs(change).sum())
