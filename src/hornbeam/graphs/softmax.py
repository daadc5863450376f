"""The ranking model: a softmax over every query's candidates, linear in their features.

First one model is fitted for the graph. Then one model is fitted per step (a relation and a
direction), shrunk towards the graph's model by an L2 penalty. Features are divided by their
standard deviations while fitting.

The softmax share of a candidate is the model's own probability that it is the answer, given that
the answer is among the candidates. Its log odds z are mapped to the probability that the answer is
right, 1 / (1 + exp(-(slope z + intercept))), by maximum likelihood: Platt's fit to held-out
queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Ints,
    Singles,
    part_numbers,
    pointers,
    ranges,
)
from hornbeam.graphs.lbfgs import minimise
from hornbeam.graphs.ranking_model import Calibration
from hornbeam.graphs.softmax_kernels import (
    add_curvature,
    loss_and_gradient,
    ranks_among_wrong,
)

#: Number of scored candidates, over all calls, above which compiling is worth it.
WORTH_COMPILING = 2_000
#: Minimum number of candidates for a search that begins with a part of them: every n-th source.
MANY, EVERY = 20_000, 8
#: Maximum number of Newton steps of the calibration.
ROUNDS = 50


class Firings(NamedTuple):
    """Which path rules fire for row i: `rule[start[i]:start[i + 1]]`."""

    start: Ints
    rule: Ids


NO_FIRINGS = Firings(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32))


class CandidateRows(NamedTuple):
    """Candidates of sources, with the features and firings whose weights are fitted."""

    offsets: Ints
    feature: Singles
    truth: Bools
    firings: Firings = NO_FIRINGS


def standard_deviations(feature: Singles) -> Floats:
    """Standard deviations of features, 1 for constant features."""
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

    Without a `start`, many candidates are first represented by a part of them, whose penalties are
    as much smaller: a search near its end takes few steps, and the Hessian there guides it best.
    Returns the best weights so far once `expired` returns True.
    """
    if start is None and len(rows.feature) >= MANY and not len(rows.firings.rule):
        part = _every(rows, EVERY)
        if len(part.feature):
            start = fit_softmax(part, scale, center, penalty / EVERY, center, expired)
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
    found = minimise(objective, begin * scale, expired=expired, precondition=guide)
    return found.x / scale


def _every(rows: CandidateRows, n: int) -> CandidateRows:
    """The candidates of every n-th source."""
    first, last = rows.offsets[:-1:n], rows.offsets[1::n]
    chosen = ranges(first, last)
    return CandidateRows(pointers(last - first), rows.feature[chosen], rows.truth[chosen])


def _inverse_curvature(
    rows: CandidateRows, scale: Floats, penalty: Floats, weights: Floats
) -> Callable[[Floats], Floats]:
    """A function that multiplies by the inverse Hessian at `weights`, diagonal for rules.

    Features are highly correlated: without the Hessian the search would take several times as long.
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


# --- from scores to probabilities -----------------------------------------------------------------


def softmax_log_odds(offsets: Ints, score: Floats) -> Floats:
    """Log odds of every candidate's softmax share among the candidates of its query."""
    sizes = np.diff(offsets)
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return np.zeros(0)
    starts, of = offsets[filled], np.repeat(np.arange(len(filled)), sizes[filled])
    shifted = score - np.maximum.reduceat(score, starts)[of]
    power = np.exp(shifted)
    rest = np.add.reduceat(power, starts)[of] - power
    odds = shifted - np.log(np.maximum(rest, 1e-12))
    return np.asarray(np.clip(odds, -30.0, 30.0))


def fit_calibration(z: Floats, truth: Bools) -> Calibration:
    """Slope and intercept by Newton's method, with weak penalties towards 1 and 0."""
    slope, intercept = 1.0, 0.0
    if not len(z) or not truth.any() or truth.all():
        return Calibration()
    label, sign = truth.astype(np.float64), np.where(truth, -1.0, 1.0)

    def loss(slope: float, intercept: float) -> float:
        fit = float(np.logaddexp(0.0, sign * (slope * z + intercept)).sum())
        return fit + 0.5 * ((slope - 1.0) ** 2 + intercept**2)

    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(slope * z + intercept, -40.0, 40.0)))
        away, weight = p - label, p * (1.0 - p)
        g0, g1 = float((away * z).sum() + slope - 1.0), float(away.sum() + intercept)
        h00 = float((weight * z * z).sum()) + 1.0
        h01, h11 = float((weight * z).sum()), float(weight.sum()) + 1.0
        determinant = h00 * h11 - h01 * h01
        d0, d1 = (h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant
        step = min(1.0, 2.0 / max(abs(d0), abs(d1), 1e-12))
        # full steps can go back and forth between two points, each on the far side of the minimum
        worse = loss(slope, intercept) * (1.0 + 1e-12)
        while step > 1e-6 and loss(slope - step * d0, intercept - step * d1) > worse:
            step /= 2.0
        slope, intercept = slope - step * d0, intercept - step * d1
        if max(abs(d0), abs(d1)) < 1e-10:
            break
    return Calibration(max(slope, 1e-6), intercept)


def probabilities(z: Floats, calibration: Calibration) -> Floats:
    """Calibrated probabilities of log odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-(calibration.slope * z + calibration.intercept))))
