"""The ranking model: a softmax over every query's candidates, linear in their features.

One model is fitted for the graph, then one per step (a relation and a direction), shrunk towards it
by an L2 penalty. Features are divided by their standard deviations while fitting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, Singles, part_numbers
from hornbeam.graphs.lbfgs import minimise
from hornbeam.graphs.softmax_kernels import (
    add_curvature,
    loss_and_gradient,
    ranks_among_wrong,
)

#: Number of scored candidates, over all calls, above which compiling is worth it.
WORTH_COMPILING = 2_000
#: Maximum number of L-BFGS iterations, and the relative gain below which they end.
ITERATIONS, MIN_GAIN = 100, 1e-7


class Firings(NamedTuple):
    """Which path rules fire for row i: `rule[start[i]:start[i + 1]]`."""

    start: Ints
    rule: Ids


NO_FIRINGS = Firings(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32))


class CandidateRows(NamedTuple):
    """Candidates of sources, with the features that are fitted."""

    offsets: Ints
    feature: Singles
    truth: Bools
    firings: Firings = NO_FIRINGS


def standard_deviations(feature: Singles) -> Floats:
    """Standard deviations of features, 1 for constant ones."""
    if not len(feature):
        return np.ones(feature.shape[1])
    # column by column: NumPy would copy the whole matrix as doubles
    deviation = np.array([column.std(dtype=np.float64) for column in feature.T])
    return np.where(deviation > 1e-6, deviation, 1.0)


def fit_softmax(
    rows: CandidateRows,
    scale: Floats,
    center: Floats,
    penalty: Floats,
    start: Floats | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> Floats:
    """Weights w that minimise loss + sum of penalty/2 (scale (w - center))^2.

    Returns the best weights so far once `expired`.
    """
    run = loss_and_gradient.choose(len(rows.feature), WORTH_COMPILING)
    scratch = np.empty(int(np.diff(rows.offsets).max(initial=1)))
    gradient = np.zeros(len(scale))

    def objective(z: Floats) -> tuple[float, Floats]:
        gradient[:] = 0.0
        loss = run(
            rows.offsets, rows.feature, rows.truth, *rows.firings, z / scale, scratch, gradient
        )
        away = z - center * scale
        whole = loss + float((penalty * away * away).sum()) / 2
        return whole, gradient / scale + penalty * away

    begin = center if start is None else start
    guide = _inverse_curvature(rows, scale, penalty, begin)
    found = minimise(
        objective, begin * scale, ITERATIONS, MIN_GAIN, expired=expired, precondition=guide
    )
    return found.x / scale


def _inverse_curvature(
    rows: CandidateRows, scale: Floats, penalty: Floats, weights: Floats
) -> Callable[[Floats], Floats]:
    """A function that multiplies by the inverse Hessian at some weights, diagonal for rules.

    Features are highly correlated: without it the search would take several times as long.
    """
    run = add_curvature.choose(len(rows.feature), WORTH_COMPILING)
    n = rows.feature.shape[1]
    whole, own = np.zeros((n, n)), np.zeros(len(weights) - n)
    scratch = np.empty(int(np.diff(rows.offsets).max(initial=1)))
    run(
        rows.offsets, rows.feature, rows.truth, *rows.firings, weights, scratch, np.empty(n), whole,
        own,
    )  # fmt: skip
    whole += np.tril(whole, -1).T
    whole /= scale[:n, None] * scale[:n]
    inverse = inverse_of(whole + np.diag(penalty[:n]))
    diagonal = own / scale[n:] ** 2 + penalty[n:]

    def multiply(q: Floats) -> Floats:
        return np.concatenate([(inverse * q[:n]).sum(axis=1), q[n:] / diagonal])

    return multiply


def inverse_of(matrix: Floats) -> Floats:
    """Inverse of a small positive definite matrix by Gauss-Jordan, in one order of summation."""
    n = len(matrix)
    both = np.concatenate([matrix, np.eye(n)], axis=1)
    for k in range(n):
        both[k] /= both[k, k]
        factor = both[:, k].copy()
        factor[k] = 0.0
        both -= factor[:, None] * both[k]
    return both[:, n:]


def linear_scores(feature: Singles, weights: Floats) -> Floats:
    """Scores of candidates, with one order of summation on every machine."""
    total = np.zeros(len(feature))
    for k in range(len(weights)):
        total += weights[k] * feature[:, k]
    return total


def fired_scores(firings: Firings, weights: Floats) -> Floats:
    """Sum of the weights of the rules that fire for every row."""
    of = part_numbers(firings.start)
    sums: Floats = np.bincount(of, weights[firings.rule], len(firings.start) - 1).astype(np.float64)
    return sums


def reciprocal_ranks(offsets: Ints, score: Floats, truth: Bools) -> Floats:
    """1 / rank of every true answer among the wrong answers of its source."""
    run = ranks_among_wrong.choose(len(score), WORTH_COMPILING)
    rank: Floats = run(offsets, score, truth)
    return 1.0 / rank
