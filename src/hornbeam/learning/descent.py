"""Coordinate descent on the quadratic model of the pseudolikelihood: what all fits share."""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def gradients(indptr, row, x, column, up, slope_up, slope_down):
    """Derive the loss by every weight, given its derivatives by every A_i and B_i."""
    result = np.zeros(len(column))
    for k in range(len(column)):
        slope = slope_up if up[k] else slope_down
        total = 0.0
        for e in range(indptr[column[k]], indptr[column[k] + 1]):
            total += x[e] * slope[row[e]]
        result[k] = total
    return result


@njit(cache=True, nogil=True)
def strengths(indptr, row, x, column, up, weights, n_targets):
    """Add up A and B of every target."""
    total_up, total_down = np.zeros(n_targets), np.zeros(n_targets)
    for k in range(len(column)):
        if weights[k] != 0.0:
            side = total_up if up[k] else total_down
            for e in range(indptr[column[k]], indptr[column[k] + 1]):
                side[row[e]] += weights[k] * x[e]
    return total_up, total_down


@njit(cache=True, nogil=True)
def descend(
    indptr, row, x, column, up, active, weights, linear, ridge,
    slope_up, slope_down, curve_up, curve_down, curve_both, sweeps, share,
):  # fmt: skip
    """Minimise the quadratic model over non-negative weights, one active weight at a time.

    The model of the loss at shifts (dA, dB) of the strengths is
    slope . d + d' H d / 2 with H = [[curve_up, curve_both], [curve_both, curve_down]], plus
    linear . w + ridge |w|^2 / 2. `linear` carries the L1 strengths. Slopes are kept up to date as
    the weights move. Stops when a sweep gains less than `share` of what the first one gained: the
    model is rebuilt from there anyway. Returns the new weights and the slopes there.
    """
    weights = weights.copy()
    slope_up, slope_down = slope_up.copy(), slope_down.copy()
    curvature = np.zeros(len(active))
    for i in range(len(active)):
        k = active[i]
        curve = curve_up if up[k] else curve_down
        for e in range(indptr[column[k]], indptr[column[k] + 1]):
            curvature[i] += x[e] * x[e] * curve[row[e]]
    first = 0.0
    for sweep in range(sweeps):
        gain = 0.0
        for i in range(len(active)):
            k = active[i]
            low, high = indptr[column[k]], indptr[column[k] + 1]
            steepness = curvature[i] + ridge[k]
            if steepness <= 0.0:
                continue
            slope = slope_up if up[k] else slope_down
            descent = linear[k] + ridge[k] * weights[k]
            for e in range(low, high):
                descent += x[e] * slope[row[e]]
            step = max(-weights[k], -descent / steepness)
            if step == 0.0:
                continue
            weights[k] += step
            curve = curve_up if up[k] else curve_down
            other = slope_down if up[k] else slope_up
            for e in range(low, high):
                j = row[e]
                shift = x[e] * step
                slope[j] += curve[j] * shift
                other[j] += curve_both[j] * shift
            gain += steepness * step * step
        if sweep == 0:
            first = gain
        if gain <= share * first:
            break
    return weights, slope_up, slope_down


@njit(cache=True, nogil=True)
def quadratic(
    indptr, row, x, column, up, active,
    slope_up, slope_down, curve_up, curve_down, curve_both,
):  # fmt: skip
    """Gradient and Hessian of the loss in the active weights, given those in the strengths.

    Of every two columns the wider is spread out over the targets and the entries of the narrower
    are walked.
    """
    m = len(active)
    sizes = np.empty(m, dtype=np.int64)
    for i in range(m):
        sizes[i] = indptr[column[active[i]] + 1] - indptr[column[active[i]]]
    order = np.argsort(-sizes, kind="mergesort")
    gradient, hessian = np.empty(m), np.empty((m, m))
    same, cross = np.zeros(len(slope_up)), np.zeros(len(slope_up))
    for p in range(m):
        k = active[order[p]]
        low, high = indptr[column[k]], indptr[column[k] + 1]
        slope = slope_up if up[k] else slope_down
        curve = curve_up if up[k] else curve_down
        total = 0.0
        for e in range(low, high):
            j = row[e]
            total += x[e] * slope[j]
            same[j] = x[e] * curve[j]
            cross[j] = x[e] * curve_both[j]
        gradient[order[p]] = total
        for q in range(p, m):
            other = active[order[q]]
            spread = same if up[other] == up[k] else cross
            total = 0.0
            for e in range(indptr[column[other]], indptr[column[other] + 1]):
                total += x[e] * spread[row[e]]
            hessian[order[p], order[q]] = total
            hessian[order[q], order[p]] = total
        for e in range(low, high):
            same[row[e]] = 0.0
            cross[row[e]] = 0.0
    return gradient, hessian


@njit(cache=True, nogil=True)
def descend_model(gradient, hessian, weights, sweeps, share):
    """Minimise gradient . d + d' hessian d / 2 over weights + d >= 0; stops as `descend` does."""
    weights, gradient = weights.copy(), gradient.copy()
    first = 0.0
    for sweep in range(sweeps):
        gain = 0.0
        for k in range(len(weights)):
            steepness = hessian[k, k]
            if steepness <= 0.0:
                continue
            step = max(-weights[k], -gradient[k] / steepness)
            if step == 0.0:
                continue
            weights[k] += step
            for j in range(len(weights)):
                gradient[j] += hessian[k, j] * step
            gain += steepness * step * step
        if sweep == 0:
            first = gain
        if gain <= share * first:
            break
    return weights
