"""The ranking model: a softmax over every query's candidates, linear in their features.

One model is fitted for the graph, then one per step (a relation and a direction) that is drawn to
it by an L2 penalty. Features are divided by their standard deviations while fitting.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from hornbeam.arrays import Bools, Floats, Ints
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.softmax_kernels import loss_and_gradient, reciprocal_ranks

WORTH_COMPILING = 50_000
ITERATIONS = 200


def spread(feature: npt.NDArray[np.float32]) -> Floats:
    """Standard deviations of features, 1 where there is none."""
    deviation = feature.std(axis=0, dtype=np.float64)
    return np.where(deviation > 1e-6, deviation, 1.0)


def fit_softmax(
    offsets: Ints,
    feature: npt.NDArray[np.float32],
    truth: Bools,
    scale: Floats,
    center: Floats,
    penalty: float,
) -> Floats:
    """Weights that minimise loss + penalty/2 |scale (w - center)|^2."""
    run = loss_and_gradient.choose(20 * len(feature), WORTH_COMPILING)
    scratch = np.empty(int(np.diff(offsets).max(initial=1)))
    gradient = np.zeros(len(scale))

    def objective(z: Floats) -> tuple[float, Floats]:
        gradient[:] = 0.0
        loss = run(offsets, feature, truth, z / scale, scratch, gradient)
        away = z - center * scale
        return loss + penalty / 2 * float((away * away).sum()), gradient / scale + penalty * away

    found = minimize(
        objective,
        center * scale,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "maxcor": 20},
    )
    return np.asarray(found.x / scale)


def scores(feature: npt.NDArray[np.float32], weights: Floats) -> Floats:
    """Scores of candidates; summed in one order on any machine."""
    total = np.zeros(len(feature))
    for k in np.flatnonzero(weights):
        total += weights[k] * feature[:, k]
    return total


def summed_reciprocal_ranks(pool: Pool, score: Floats) -> Floats:
    """Sum of 1 / rank over the true answers of every source of a pool."""
    run = reciprocal_ranks.choose(20 * len(score), WORTH_COMPILING)
    sums: Floats = run(pool.offsets, score, pool.truth)
    return sums
