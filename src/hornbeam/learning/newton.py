"""Maximum pseudolikelihood of given clauses with non-negative weights, by proximal Newton steps.

The fit minimises the penalised loss

    -l(w) + sum_k linear_k w_k + ridge_k w_k^2 / 2,     w >= 0,

which is convex: log Z is the cumulant function of an exponential family. On w >= 0 an L1 penalty is
linear, so clauses that gain less than their penalty end at exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Integers


class Fittable(Protocol):
    """The protocol of a problem to fit, from structure learning or from a given program."""

    @property
    def clauses(self) -> Sequence[object]:
        """The objects whose weights are fitted, one weight per object."""

    @property
    def y(self) -> Floats:
        """Labels of the targets."""

    @property
    def fixed(self) -> Floats | None:
        """Weights that do not move, NaN where they are fitted; None if all are fitted."""

    def log_likelihood(self, weights: Floats) -> float:
        """Log pseudolikelihood of the labels."""

    def gradient(self, weights: Floats) -> Floats:
        """Derivative of -l by every weight."""

    def propose(self, weights: Floats, active: Integers, linear: Floats, ridge: Floats) -> Floats:
        """Minimise the quadratic model of the penalised loss over w >= 0."""


class FitStatus(StrEnum):
    """How a fit ended."""

    CONVERGED = "converged: no weight can improve the objective"
    ITERATIONS = "stopped at the iteration limit; allow more iterations for the exact optimum"


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit: weights, how it ended, the penalised loss, and its iterations."""

    weights: Floats
    status: FitStatus
    loss: float
    iterations: int


@dataclass(frozen=True)
class Newton:
    """Proximal Newton method."""

    iterations: int = 100  #: maximum number of outer steps; the paper allows GLS 15
    #: Largest violation of the optimality conditions, relative to the number of targets.
    tolerance: float = 1e-7

    def fit(
        self,
        problem: Fittable,
        linear: Floats | float,
        ridge: Floats | float,
        start: Floats | None = None,
        allowed: Bools | None = None,
    ) -> Fit:
        """Fit the weights of the allowed clauses (all by default); other weights do not move.

        Clauses with a fixed weight have it in every fit.
        `linear` and `ridge` have a number per clause, or one number for all clauses. Weights start
        at `start`, or at 0.
        """
        n = len(problem.clauses)
        linear, ridge = np.full(n, linear), np.full(n, ridge)
        weights = np.zeros(n) if start is None else start.copy()
        allowed = np.ones(n, dtype=np.bool_) if allowed is None else allowed
        if problem.fixed is not None:
            is_fixed = ~np.isnan(problem.fixed)
            weights[is_fixed] = problem.fixed[is_fixed]
            allowed = allowed & ~is_fixed
        limit = self.tolerance * max(len(problem.y), 1)
        loss_at = partial(penalised_loss, problem, linear, ridge)
        loss = loss_at(weights)
        for iteration in range(self.iterations):
            gradient = problem.gradient(weights) + linear + ridge * weights
            violation = np.where(weights > 0, np.abs(gradient), np.maximum(-gradient, 0.0))
            violation[~allowed] = 0.0
            if violation.max(initial=0.0) <= limit:
                return Fit(weights, FitStatus.CONVERGED, loss, iteration)
            active = np.flatnonzero(allowed & ((weights > 0) | (gradient < 0)))
            proposed = problem.propose(weights, active, linear, ridge)
            moved = _line_search(loss_at, weights, proposed, loss)
            if moved is None:
                return Fit(weights, FitStatus.CONVERGED, loss, iteration)
            weights, loss = moved
        return Fit(weights, FitStatus.ITERATIONS, loss, self.iterations)


def _line_search(
    loss_at: Callable[[Floats], float], weights: Floats, proposed: Floats, loss: float
) -> tuple[Floats, float] | None:
    """Halve the step until the loss falls; returns weights and loss, None if it never falls."""
    step = 1.0
    while step > 1e-10:
        # the full step is `proposed` itself, without arithmetic: its zeros stay exactly 0
        tried = proposed if step == 1.0 else weights + step * (proposed - weights)
        tried_loss = loss_at(tried)
        if tried_loss < loss:
            return tried, tried_loss
        step /= 2.0
    return None


def penalised_loss(problem: Fittable, linear: Floats, ridge: Floats, weights: Floats) -> float:
    """Penalised loss, the objective that `Newton.fit` minimises."""
    penalty = linear @ weights + 0.5 * (ridge @ (weights * weights))
    return float(penalty) - problem.log_likelihood(weights)
