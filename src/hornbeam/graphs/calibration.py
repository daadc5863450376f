"""From scores to probabilities: Platt's fit to held-out queries.

The softmax share of a candidate is the model's own probability that it is the answer, given that
the answer is among the candidates. Its log odds z are mapped to the probability that the answer is
right, 1 / (1 + exp(-(slope z + intercept))), by maximum likelihood.
"""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints
from hornbeam.graphs.ranking_model import Calibration

ROUNDS = 50


def softmax_log_odds(offsets: Ints, score: Floats) -> Floats:
    """Log odds of every candidate's softmax share among those of its query."""
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
