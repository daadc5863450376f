"""The loops behind `hornbeam.densities.integrals`, and how they keep their digits.

The formulas are in `integrals`. The loops never subtract nearly equal numbers:

* p = 1: d = A - B is one rounded subtraction, and all else is a function of a = |d| alone. For
  a < 2 it is computed by even series in a/2 with positive terms.
* p = 2, s = A + B < 6: Gauss-Legendre quadrature of 10 or 16 nodes, which is exact to rounding
  for exponents this small. Where log Z is near 0, it is computed by expm1 and log1p.
* p = 2, s >= 6: moments of the normal about its mode, where at most one digit is lost.
* A piece of a quadratic with its mode outside: quadrature of up to 28 nodes on the part within
  exp(-50) of the peak. The textbook form, erfcx and a recurrence, loses every digit of the
  moments when the curvature is small compared with the slope. The quadrature loses none.
"""

import math

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.compiled import kernels

SixMoments = tuple[float, float, float, float, float, float]

kernel = kernels("the integrals")

SERIES_BELOW = 2.0  # differences |A - B| under this use a power series
LINEAR_TERMS = 10  # number of terms of the three even series of `linear_series`
LINEAR_SERIES = np.array(
    [
        [1 / math.factorial(2 * k + 3), (2 * k + 2) / math.factorial(2 * k + 3),
         2 * 4**k / math.factorial(2 * k + 4)]
        for k in range(LINEAR_TERMS)
    ]
)  # fmt: skip
HALF_SQRT_PI = math.sqrt(math.pi) / 2

TINY = 1.0  # exponents under this: 10 nodes, and log Z through expm1
SMALL = 6.0  # exponents under this: 16 nodes; from here on erf, or 28 nodes
CUT = 50.0  # the part of a monotone piece below exp(-50) of its peak is left out


def _unit_rule(n: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre rule on [0, 1]; weights 1 / sum of (2k+1) P_k^2, more exact than NumPy's."""
    nodes, _ = np.polynomial.legendre.leggauss(n)
    below = np.polynomial.legendre.legvander(nodes, n - 1)
    return (1 + nodes) / 2, 1 / (below**2 @ (2.0 * np.arange(n) + 1))


TINY_NODES, TINY_WEIGHTS = _unit_rule(10)
SMALL_NODES, SMALL_WEIGHTS = _unit_rule(16)
LARGE_NODES, LARGE_WEIGHTS = _unit_rule(28)


# --- one strength --------------------------------------------------------------------------


def boolean(a: float) -> tuple[float, float, float]:
    """Log Z, mean and variance of S in {0, 1}, with Z = 1 + e^-a."""
    e = math.exp(-a)
    return math.log1p(e), e / (1 + e), e / ((1 + e) * (1 + e))


def linear_series(a: float) -> tuple[float, float, float]:
    """Power p = 1, a = 2x < 2: log Z = log(sinh x / x) - x, E[u] = (1 - coth x + 1/x) / 2.

    The even series of sinh x / x - 1, (cosh x - sinh x / x) / x and sinh^2 x - x^2 (whose
    quotient by a^2 sinh^2 x is the variance) have positive terms only.
    """
    x = a / 2
    y = x * x
    sinh = cosh = spread = 0.0
    for k in range(LINEAR_TERMS - 1, -1, -1):
        sinh = sinh * y + LINEAR_SERIES[k, 0]
        cosh = cosh * y + LINEAR_SERIES[k, 1]
        spread = spread * y + LINEAR_SERIES[k, 2]
    ratio = 1 + sinh * y
    return math.log1p(sinh * y) - x, 0.5 - x * cosh / (2 * ratio), spread / (ratio * ratio)


def linear_far(a: float) -> tuple[float, float, float]:
    """Z = (1 - e^-a) / a, E[u] = 1/a - e^-a/(1 - e^-a), Var = 1/a^2 - e^-a/(1 - e^-a)^2."""
    e = math.exp(-a)
    odds = e / (1 - e)
    return math.log((1 - e) / a), 1 / a - odds, 1 / a / a - odds / (1 - e)


def _linear(a: float) -> tuple[float, float, float]:
    """Power p = 1, any a."""
    return linear_series(a) if a < SERIES_BELOW else linear_far(a)


# --- pieces of a quadratic -----------------------------------------------------------------


def _central(e1: float, e2: float, e3: float, e4: float) -> tuple[float, float, float]:
    """Variance, third central moment and variance of the square, from raw moments."""
    c2 = e2 - e1 * e1
    c3 = e3 - e1 * (3 * e2 - 2 * e1 * e1)
    c4 = e4 - e1 * (4 * e3 - e1 * (6 * e2 - 3 * e1 * e1))
    return c2, c3, c4 - c2 * c2


def _quadrature(
    slope: float, curve: float, origin: float, centre: float, nodes: Floats, weights: Floats
) -> SixMoments:
    """Density exp(-(slope x + curve x^2)), x = t - origin, on [0, 1]: all terms positive."""
    tiny = slope + curve < TINY
    z = e1 = e2 = e3 = e4 = deficit = 0.0
    for k in range(nodes.size):
        x = nodes[k] - origin
        exponent = -x * (slope + curve * x)
        if tiny:
            drop = math.expm1(exponent)
            deficit += weights[k] * drop
            w = weights[k] * (1 + drop)
        else:
            w = weights[k] * math.exp(exponent)
        t = nodes[k] - centre
        z += w
        e1 += w * t
        e2 += w * t * t
        e3 += w * t * t * t
        e4 += w * t * t * t * t
    e1 /= z
    c2, c3, c22 = _central(e1, e2 / z, e3 / z, e4 / z)
    log_z = math.log1p(deficit) if tiny else math.log(z)
    return log_z, centre + e1, 1 - centre - e1, c2, c3, c22


def _flat(slope: float, curve: float, origin: float) -> SixMoments:
    """Quadrature for exponents under SMALL, with fewer nodes for those under TINY."""
    if slope + curve < TINY:
        return _quadrature(slope, curve, origin, 0.5, TINY_NODES, TINY_WEIGHTS)
    return _quadrature(slope, curve, origin, 0.5, SMALL_NODES, SMALL_WEIGHTS)


def _mode_inside(up: float, down: float) -> SixMoments:
    """Density exp(-s (t - m)^2) on [0, 1], s = A + B, m = A / s, for 0 <= A <= B.

    With z = sqrt(s) (t - m) in [-alpha, beta], alpha = A / sqrt(s), beta = B / sqrt(s), and
    G the integral of exp(-z^2): E[z] = (e^-alpha^2 - e^-beta^2) / 2G, where beta^2 - alpha^2
    = B - A, and E[z^(k+1)] = k/2 E[z^(k-1)] + ((-alpha)^k e^-alpha^2 - beta^k e^-beta^2) / 2G.
    """
    s = up + down
    if s < SMALL:
        return _flat(0.0, s, up / s if s > 0 else 0.5)
    root = math.sqrt(s)
    alpha, beta = up / root, down / root
    g = HALF_SQRT_PI * (math.erf(alpha) + math.erf(beta))
    left = math.exp(-alpha * alpha) / (2 * g)
    right = math.exp(-beta * beta) / (2 * g)
    e1 = -left * math.expm1(up - down)
    e2 = 0.5 - (alpha * left + beta * right)
    # no powers: Python rounds them differently from products
    alpha2, beta2 = alpha * alpha, beta * beta
    e3 = e1 + (alpha2 * left - beta2 * right)
    e4 = 1.5 * e2 - (alpha * alpha2 * left + beta * beta2 * right)
    c2, c3, c22 = _central(e1, e2, e3, e4)
    log_z = math.log(g / root)
    return log_z, (alpha + e1) / root, (beta - e1) / root, c2 / s, c3 / s / root, c22 / s / s


def _mirrored(moments: SixMoments) -> SixMoments:
    """Turn the moments of t into those of 1 - t."""
    log_z, left, right, c2, c3, c22 = moments
    return log_z, right, left, c2, -c3, c22


def _normal(up: float, down: float) -> SixMoments:
    """Density exp(-s (t - m)^2) on [0, 1], s = A + B, m = A / s, for any A, B >= 0."""
    if up <= down:
        return _mode_inside(up, down)
    return _mirrored(_mode_inside(down, up))


def _falling(slope: float, curve: float) -> SixMoments:
    """Density exp(-(slope t + curve t^2)) on [0, 1], slope and curve >= 0."""
    if slope == 0 and curve == 0:
        return 0.0, 0.5, 0.5, 1 / 12, 0.0, 1 / 180
    if curve == 0:
        log_z, mean, var = _linear(slope)
        return log_z, mean, 1 - mean, var, 0.0, 0.0
    if slope + curve < SMALL:
        return _flat(slope, curve, 0.0)
    end = min(1.0, 2 * CUT / (slope + math.sqrt(slope * slope + 4 * CUT * curve)))
    log_z, mean, _, c2, c3, c22 = _quadrature(
        slope * end, curve * end * end, 0.0, 0.0, LARGE_NODES, LARGE_WEIGHTS
    )
    return log_z + math.log(end), mean * end, 1 - mean * end, c2 * end**2, c3 * end**3, c22 * end**4


def _segment(up: float, down: float, curve: float) -> SixMoments:
    """Moments of a piece of any of the three shapes: mode inside, falling, rising."""
    if up > 0 and down > 0 and curve > 0:
        return _normal(up, down)
    if up <= 0:
        return _falling(-2 * up, curve)
    return _mirrored(_falling(-2 * down, curve))


@kernel
def segments(up: Floats, down: Floats, curve: Floats, out: Floats) -> None:
    """Integrate exp(-(h(t) - min h)) on [0, 1], h linear or a convex quadratic.

    A = -h'(0) / 2 ("up") and B = h'(1) / 2 ("down") are half the slopes at the ends, of any sign,
    so that h(t) = -2A t + (A+B) t^2 up to a constant; the curve q = A + B >= 0 is given separately
    since the sum may cancel. Rows of out: log of the integral, E[t], E[1 - t] (computed apart: when
    tiny, 1 - E[t] would lose its digits), variance of t, third central moment, variance of
    (t - E[t])^2. On a sloping straight line (q = 0) the last two are returned as 0, not computed.
    """
    for i in range(up.size):
        row = _segment(up[i], down[i], curve[i])
        out[0, i], out[1, i], out[2, i], out[3, i], out[4, i], out[5, i] = row


# --- two sides -----------------------------------------------------------------------------


def _two_exchange(up: float, down: float, code: int) -> SixMoments:
    """BOOLEAN and LINEAR, where the statistics 1-y and y mirror each other."""
    log_z, small, var = boolean(abs(up - down)) if code == 0 else _linear(abs(up - down))
    log_z -= min(up, down)
    large = 1 - small
    if up >= down:
        return log_z, small, large, var, var, -var
    return log_z, large, small, var, var, -var


def _two_squared(up: float, down: float) -> SixMoments:
    """Moments of (1-y)^2 and y^2 from the central moments c2, c3 and c4 - c2^2 of y.

    With mu = E[y], nu = E[1-y] and y = mu + t: y^2 = mu^2 + 2 mu t + t^2 and
    (1-y)^2 = nu^2 - 2 nu t + t^2. The covariance is negative; its leading term is -4 mu nu c2.
    """
    log_z, mu, nu, c2, c3, c22 = _normal(up, down)
    low, high = min(up, down), max(up, down)
    if high > 0:
        log_z -= low * (high / (low + high))
    var_up = 4 * nu * (nu * c2 - c3) + c22
    var_down = 4 * mu * (mu * c2 + c3) + c22
    cov = c22 - 4 * mu * nu * c2 - 2 * (nu - mu) * c3
    return log_z, c2 + nu * nu, c2 + mu * mu, var_up, var_down, cov


@kernel
def two_sided(up: Floats, down: Floats, code: int, out: Floats) -> None:
    """Rows of out: log Z, means of (1-y)^p and y^p, their variances and covariance."""
    for i in range(up.size):
        a, b = up[i], down[i]
        row = _two_squared(a, b) if code == 2 else _two_exchange(a, b, code)
        out[0, i], out[1, i], out[2, i], out[3, i], out[4, i], out[5, i] = row


@kernel
def score_mean(up: Floats, down: Floats, code: int, out: Floats) -> None:
    """Fill the one row of out: E[y]."""
    for i in range(up.size):
        if code == 2:
            out[0, i] = _normal(up[i], down[i])[1]
        else:
            out[0, i] = _two_exchange(up[i], down[i], code)[2]
