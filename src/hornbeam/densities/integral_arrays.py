"""The functions of `integral_kernels` for BOOLEAN and LINEAR targets by NumPy, for small work.

Exponentials and logarithms are those of `math`, which compiled loops use too: NumPy's own differ in
the last bit.
"""

import math
from collections.abc import Callable

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.densities.integral_kernels import LINEAR_SERIES, LINEAR_TERMS, SERIES_BELOW

OneSide = tuple[Floats, Floats, Floats]


def _each(function: Callable[[float], float], values: Floats) -> Floats:
    """Apply a function of `math`."""
    return np.fromiter(map(function, values.tolist()), np.float64, values.size)


def _boolean(a: Floats) -> OneSide:
    """Z = 1 + e^-a, S in {0, 1}."""
    e = _each(math.exp, -a)
    return _each(math.log1p, e), e / (1 + e), e / ((1 + e) * (1 + e))


def _linear_series(a: Floats) -> OneSide:
    """Power p = 1, a < 2; see `integral_kernels`."""
    x = a / 2
    y = x * x
    sinh = cosh = spread = np.zeros(a.size)
    for k in range(LINEAR_TERMS - 1, -1, -1):
        sinh = sinh * y + LINEAR_SERIES[k, 0]
        cosh = cosh * y + LINEAR_SERIES[k, 1]
        spread = spread * y + LINEAR_SERIES[k, 2]
    ratio = 1 + sinh * y
    log_z = _each(math.log1p, sinh * y) - x
    return log_z, 0.5 - x * cosh / (2 * ratio), spread / (ratio * ratio)


def _linear_far(a: Floats) -> OneSide:
    """Z = (1 - e^-a) / a, a >= 2."""
    e = _each(math.exp, -a)
    odds = e / (1 - e)
    return _each(math.log, (1 - e) / a), 1 / a - odds, 1 / a / a - odds / (1 - e)


def _linear(a: Floats) -> OneSide:
    found = np.empty((3, a.size))
    near = a < SERIES_BELOW
    for part, form in ((near, _linear_series), (~near, _linear_far)):
        if part.any():
            found[:, part] = form(a[part])
    return found[0], found[1], found[2]


def one_sided(a: Floats, code: int, out: Floats) -> None:
    """Rows of out: log Z, E[S], Var[S]."""
    out[:] = _boolean(a) if code == 0 else _linear(a)


def two_sided(up: Floats, down: Floats, code: int, out: Floats) -> None:
    """Rows of out: log Z, means of 1-y and y, their variances and covariance."""
    apart = np.abs(up - down)
    log_z, small, var = _boolean(apart) if code == 0 else _linear(apart)
    large = 1 - small
    out[0] = log_z - np.minimum(up, down)
    out[1] = np.where(up >= down, small, large)
    out[2] = np.where(up >= down, large, small)
    out[3] = out[4] = var
    out[5] = -var


def score_mean(up: Floats, down: Floats, code: int, out: Floats) -> None:
    """The row of out: E[y]."""
    every = np.empty((6, up.size))
    two_sided(up, down, code, every)
    out[0] = every[2]
