"""Variables that share no row with another: their MAP values in closed form.

Such a variable's objective is a sum of hinges in one number, convex and piecewise linear or
quadratic. Its derivative grows from knee to knee, so the minimum lies where it passes 0: at a knee,
or in a segment at the root of a straight line.
"""

# ruff: noqa: ANN001, ANN202
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from hornbeam.statistics.potentials import Floats, Potentials

jit = njit(cache=True, nogil=True, error_model="numpy")

#: Part of the sum of its terms' sizes up to which a derivative is rounding and counts as 0.
ROUNDING = 1e-13

# `Kind` as plain numbers, which kernels can compare with
LINEAR, SQUARED, AT_MOST, EQUAL = 0, 1, 2, 3


def settle(potentials: Potentials, state: Floats) -> npt.NDArray[np.intp]:
    """Move every variable of one-literal rows to its best value, in place.

    Of several best values it takes the nearest to where the variable stood.

    Parameters
    ----------
    potentials
        A program whose rows have one literal each.
    state
        Where the variables stand; those without a row stay there.

    Returns
    -------
    ndarray
        Variables whose constraints contradict each other; they come to rest between them.
    """
    order = np.argsort(potentials.variable, kind="stable")
    coefficient = potentials.coefficient[order]
    variables, first = np.unique(potentials.variable[order], return_index=True)
    stuck: npt.NDArray[np.bool_] = _settle_all(
        variables,
        np.append(first, len(order)),
        -potentials.constant[order] / coefficient,
        coefficient,
        potentials.weight[order],
        potentials.kind[order],
        state,
    )
    return np.flatnonzero(np.bincount(variables[stuck], minlength=potentials.n_variables))


@jit
def _settle_all(variables, first, knee, slope, weight, kind, state):
    """Settle every variable; says which have no feasible value."""
    conflict = np.zeros(len(variables), dtype=np.bool_)
    for i in range(len(variables)):
        rows = slice(first[i], first[i + 1])
        low, high = _feasible(knee[rows], slope[rows], kind[rows])
        if low > high:
            conflict[i] = low - high > 1e-9
            low = high = (low + high) / 2.0
        least = _least_minimiser(low, high, knee[rows], slope[rows], weight[rows], kind[rows])
        # the greatest minimiser is the least one of the program turned around
        most = -_least_minimiser(-high, -low, -knee[rows], -slope[rows], weight[rows], kind[rows])
        state[variables[i]] = min(max(state[variables[i]], least), max(least, most))
    return conflict


@jit
def _feasible(knee, slope, kind):
    """Interval that the constraints and [0, 1] leave."""
    low, high = 0.0, 1.0
    for k in range(len(knee)):
        if kind[k] == EQUAL or (kind[k] == AT_MOST and slope[k] < 0.0):
            low = max(low, knee[k])
        if kind[k] == EQUAL or (kind[k] == AT_MOST and slope[k] > 0.0):
            high = min(high, knee[k])
    return low, high


@jit
def _derivative(y, knee, slope, weight, kind):
    """Derivative just above y, 0 if it is rounding, and its own derivative there."""
    total, size, curvature = 0.0, 0.0, 0.0
    for k in range(len(knee)):
        active = y >= knee[k] if slope[k] > 0.0 else y < knee[k]
        if not active or kind[k] > SQUARED:
            continue
        if kind[k] == LINEAR:
            term = weight[k] * slope[k]
        else:
            bend = 2.0 * weight[k] * slope[k] * slope[k]
            term = bend * (y - knee[k])
            curvature += bend
        total += term
        size += abs(term)
    return (total if abs(total) > ROUNDING * size else 0.0), curvature


@jit
def _least_minimiser(low, high, knee, slope, weight, kind):
    """Least minimiser in [low, high]: where the derivative from above is first not negative."""
    inside = knee[(knee > low) & (knee < high)]
    nodes = np.empty(len(inside) + 1)
    nodes[0] = low
    nodes[1:] = np.sort(inside)
    # of the nodes where the function still falls, the last one
    falling, rising = -1, len(nodes)
    while rising - falling > 1:
        middle = (falling + rising) // 2
        if _derivative(nodes[middle], knee, slope, weight, kind)[0] < 0.0:
            falling = middle
        else:
            rising = middle
    if falling < 0:
        return low
    derivative, curvature = _derivative(nodes[falling], knee, slope, weight, kind)
    end = high if rising == len(nodes) else nodes[rising]
    if curvature == 0.0:
        return end
    return min(nodes[falling] - derivative / curvature, end)
