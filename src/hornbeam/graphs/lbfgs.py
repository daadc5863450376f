"""Limited-memory BFGS for smooth convex functions of few variables.

SciPy has an implementation, but it calls BLAS for vectors of a dozen numbers. The threads of BLAS
wait for each other longer than the work takes, and its order of summation varies. Here every sum is
NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Floats

#: Armijo condition: required decrease as a fraction of the predicted decrease.
SUFFICIENT = 1e-4
#: Maximum number of times that a step is halved.
HALVINGS = 40
#: Number of past steps that the curvature is estimated from (Nocedal and Wright, algorithm 7.4).
PAST_STEPS = 10


@dataclass(frozen=True, eq=False)
class Minimum:
    """The smallest value found, its position `x`, and why the search ended."""

    x: Floats
    value: float
    iterations: int
    status: str


def minimise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    iterations: int = 100,
    min_gain: float = 1e-7,
    expired: Callable[[], bool] = lambda: False,
    precondition: Callable[[Floats], Floats] | None = None,
) -> Minimum:
    """Minimise a function that returns its value and gradient.

    Parameters
    ----------
    function
        Value and gradient at a point.
    start
        The first point.
    iterations
        Maximum number of iterations.
    min_gain
        The search ends when an iteration gains at most this fraction of the value.
    expired
        Whether there is no time for a further iteration.
    precondition
        Multiplies a vector by an estimate of the inverse Hessian; past steps refine the estimate.
    """
    x = start.copy()
    value, gradient = function(x)
    pairs: list[tuple[Floats, Floats, float]] = []
    for iteration in range(iterations):
        direction = -_times_inverse(gradient, pairs, precondition)
        slope = _dot(gradient, direction)
        if slope >= 0:
            return Minimum(x, value, iteration, "the gradient is zero within rounding")
        step = 1.0
        if precondition is None and not pairs:
            step = min(1.0, 1.0 / np.sqrt(_dot(gradient, gradient)))
        for _ in range(HALVINGS):
            new = x + step * direction
            new_value, new_gradient = function(new)
            if new_value <= value + SUFFICIENT * step * slope:
                break
            step /= 2
        else:
            return Minimum(x, value, iteration, "no step is better")
        moved, change = new - x, new_gradient - gradient
        curvature = _dot(moved, change)
        if curvature > 1e-12 * _dot(change, change):
            pairs = [*pairs[-(PAST_STEPS - 1) :], (moved, change, curvature)]
        gain = value - new_value
        x, value, gradient = new, new_value, new_gradient
        if gain <= min_gain * max(abs(value), 1.0):
            return Minimum(x, value, iteration + 1, "nothing more to gain")
        if expired():
            return Minimum(x, value, iteration + 1, "the time limit is reached")
    return Minimum(x, value, iterations, "the iteration limit is reached")


def _times_inverse(
    gradient: Floats,
    pairs: list[tuple[Floats, Floats, float]],
    precondition: Callable[[Floats], Floats] | None,
) -> Floats:
    """The estimated inverse Hessian times the gradient, by two loops over past steps."""
    q = gradient.copy()
    shares = []
    for moved, change, curvature in reversed(pairs):
        share = _dot(moved, q) / curvature
        shares.append(share)
        q -= share * change
    if precondition is not None:
        q = precondition(q)
    elif pairs:
        _, change, curvature = pairs[-1]
        q *= curvature / _dot(change, change)
    for (moved, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        q += (share - _dot(change, q) / curvature) * moved
    return q


def _dot(a: Floats, b: Floats) -> float:
    return float((a * b).sum())
