"""Coordinate descent on the quadratic model of the pseudolikelihood: what all fits share.

Clause k has one column of entries a side, `columns[side, k]` (-1 for none). Slopes (sides, n) and
curves (sides, sides, n) are the derivatives of the loss in every target's strengths; the helpers
take them flat, since slices in inner loops are not free.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def slope_of(indptr, row, x, columns, k, slopes, n):
    """Derive the loss by one weight."""
    total = 0.0
    for side in range(len(columns)):
        column = columns[side, k]
        if column >= 0:
            at = side * n
            for e in range(indptr[column], indptr[column + 1]):
                total += x[e] * slopes[at + row[e]]
    return total


@njit(cache=True, nogil=True)
def gradients(indptr, row, x, columns, slopes):
    """Derive the loss by every weight."""
    result = np.empty(columns.shape[1])
    flat = slopes.ravel()
    for k in range(columns.shape[1]):
        result[k] = slope_of(indptr, row, x, columns, k, flat, slopes.shape[1])
    return result


@njit(cache=True, nogil=True)
def strengths(indptr, row, x, columns, weights, n_targets):
    """Add up the strengths (n, sides) of every target."""
    total = np.zeros((n_targets, len(columns)))
    for k in range(columns.shape[1]):
        if weights[k] != 0.0:
            for side in range(len(columns)):
                column = columns[side, k]
                if column >= 0:
                    for e in range(indptr[column], indptr[column + 1]):
                        total[row[e], side] += weights[k] * x[e]
    return total


@njit(cache=True, nogil=True)
def spread_out(indptr, row, x, columns, k, curves, step, spread, n):
    """Add to `spread` how far a step of one weight moves every slope."""
    sides = len(columns)
    for side in range(sides):
        column = columns[side, k]
        if column >= 0:
            for other in range(sides):
                at, curve_at = other * n, (side * sides + other) * n
                for e in range(indptr[column], indptr[column + 1]):
                    spread[at + row[e]] += curves[curve_at + row[e]] * (x[e] * step)


@njit(cache=True, nogil=True)
def clear(indptr, row, columns, k, spread, n):
    """Set the rows of one clause back to 0."""
    for side in range(len(columns)):
        column = columns[side, k]
        if column >= 0:
            for at in range(0, len(spread), n):
                for e in range(indptr[column], indptr[column + 1]):
                    spread[at + row[e]] = 0.0


@njit(cache=True, nogil=True)
def curvature_of(indptr, row, x, columns, k, curves, spread, n):
    """Second derivative of the loss by one weight; `spread` is 0 before and after."""
    used = 0
    total = 0.0
    for side in range(len(columns)):
        column = columns[side, k]
        if column >= 0:
            used += 1
            at = side * (len(columns) + 1) * n
            for e in range(indptr[column], indptr[column + 1]):
                total += x[e] * x[e] * curves[at + row[e]]
    if used > 1:  # a target may have entries on several sides, which covary
        spread_out(indptr, row, x, columns, k, curves, 1.0, spread, n)
        total = slope_of(indptr, row, x, columns, k, spread, n)
        clear(indptr, row, columns, k, spread, n)
    return total


@njit(cache=True, nogil=True)
def descend(
    indptr, row, x, columns, active, weights, linear, ridge, slopes, curves, sweeps, share,
):  # fmt: skip
    """Minimise the quadratic model over non-negative weights, one active weight at a time.

    The model of the loss at shifts d of the strengths is slopes . d + d' curves d / 2, plus
    linear . w + ridge |w|^2 / 2. `linear` carries the L1 strengths. Slopes are kept up to date as
    the weights move. Stops when a sweep gains less than `share` of what the first one gained: the
    model is rebuilt from there anyway. Returns the new weights and the slopes there.
    """
    weights, slopes, n = weights.copy(), slopes.copy(), slopes.shape[1]
    flat, flat_curves, spread = slopes.ravel(), curves.ravel(), np.zeros(slopes.size)
    curvature = np.zeros(len(active))
    for i in range(len(active)):
        curvature[i] = curvature_of(indptr, row, x, columns, active[i], flat_curves, spread, n)
    first = 0.0
    for sweep in range(sweeps):
        gain = 0.0
        for i in range(len(active)):
            k = active[i]
            steepness = curvature[i] + ridge[k]
            if steepness <= 0.0:
                continue
            descent = linear[k] + ridge[k] * weights[k]
            descent += slope_of(indptr, row, x, columns, k, flat, n)
            step = max(-weights[k], -descent / steepness)
            if step == 0.0:
                continue
            weights[k] += step
            spread_out(indptr, row, x, columns, k, flat_curves, step, flat, n)
            gain += steepness * step * step
        if sweep == 0:
            first = gain
        if gain <= share * first:
            break
    return weights, slopes


@njit(cache=True, nogil=True)
def quadratic(indptr, row, x, columns, active, slopes, curves):
    """Gradient and Hessian of the loss in the active weights, given those in the strengths.

    Of every two clauses the wider is spread out over the targets and the entries of the narrower
    are walked.
    """
    m, n = len(active), slopes.shape[1]
    sizes = np.zeros(m, dtype=np.int64)
    for i in range(m):
        for side in range(len(columns)):
            column = columns[side, active[i]]
            if column >= 0:
                sizes[i] += indptr[column + 1] - indptr[column]
    order = np.argsort(-sizes, kind="mergesort")
    gradient, hessian = np.empty(m), np.empty((m, m))
    flat, flat_curves, spread = slopes.ravel(), curves.ravel(), np.zeros(slopes.size)
    for p in range(m):
        k = active[order[p]]
        gradient[order[p]] = slope_of(indptr, row, x, columns, k, flat, n)
        spread_out(indptr, row, x, columns, k, flat_curves, 1.0, spread, n)
        for q in range(p, m):
            total = slope_of(indptr, row, x, columns, active[order[q]], spread, n)
            hessian[order[p], order[q]] = total
            hessian[order[q], order[p]] = total
        clear(indptr, row, columns, k, spread, n)
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
