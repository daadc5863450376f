"""High-precision reference: a density exp(-f) on [0, 1], f convex, as weighted points.

Gauss-Legendre quadrature with 40 digits on panels that end at the knees of f and at dyadic
distances from those and from its minimum, so that any scale of the peak is resolved.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf
from mpmath.calculus.quadrature import GaussLegendre

from hornbeam.base.arrays import Floats

mp.dps = 40
NODES = GaussLegendre(mp).get_nodes(-1, 1, 4, mp.prec)
RESOLVE = 150  # panels grow dyadically until f has changed by this much
FORGET = 720  # what lies below exp(-720) of the peak is left out
Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Measure:
    """log Z and points with their probabilities."""

    log_z: mpf
    points: list[mpf]
    chances: list[mpf]

    def mean(self, value: Function) -> mpf:
        """E[value(y)]."""
        return mp.fsum(p * value(y) for y, p in zip(self.points, self.chances, strict=True))

    def cov(self, one: Function, other: Function) -> mpf:
        """Cov[one(y), other(y)], centred before it is summed."""
        m1, m2 = self.mean(one), self.mean(other)
        return self.mean(lambda y: (one(y) - m1) * (other(y) - m2))


def minimum(slope: Function) -> mpf:
    """Bisect the slope of a convex function."""
    low, high = mpf(0), mpf(1)
    for _ in range(mp.prec + 10):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return (low + high) / 2


def panel_ends(f: Function, centres: list[mpf]) -> list[mpf]:
    """Ends at the centres, and at dyadic distances from them as long as f changes there."""
    ends = {mpf(0), mpf(1), *centres}
    for centre, side in itertools.product(centres, (-1, 1)):
        distance = mpf(1)
        while distance > mpf(10) ** -35:
            at = centre + side * distance
            if 0 < at < 1:
                change = abs(f(at) - f(centre))
                if change < RESOLVE:
                    ends.add(at)
                if change < 0.5:
                    break
            distance /= 2
    return sorted(ends)


def measure(f: Function, slope: Function, knees: Sequence[mpf] = ()) -> Measure:
    """Integrate exp(-f)."""
    mode = minimum(slope)
    floor = f(mode)
    ends = panel_ends(f, [mode, *(k for k in knees if 0 < k < 1)])
    points, masses, deficits = [], [], []
    for low, high in itertools.pairwise(ends):
        if min(f(low), f(high)) - floor > FORGET:
            continue
        half = (high - low) / 2
        for x, w in NODES:
            y = low + half * (1 + x)
            height = f(y)
            points.append(y)
            masses.append(w * half * mp.exp(floor - height))
            deficits.append(w * half * mp.expm1(-height))
    total = mp.fsum(masses)
    tiny = max(f(mpf(0)), f(mpf(1))) < 1
    log_z = mp.log1p(mp.fsum(deficits)) if tiny else mp.log(total) - floor
    return Measure(log_z, points, [m / total for m in masses])


def two_sided_measure(a: float, b: float, p: int) -> Measure:
    """The density exp(-a (1-y)^p - b y^p) for the doubles a and b."""
    a, b = mpf(a), mpf(b)
    return measure(
        lambda y: a * (1 - y) ** p + b * y**p,
        lambda y: p * (b * y ** (p - 1) - a * (1 - y) ** (p - 1)),
    )


def identity(y: mpf) -> mpf:
    """The function whose mean is that of y."""
    return y


def relative_error(found: float | Floats, exact: mpf) -> float:
    """|found - exact| / |exact|; underflow to 0 is no error."""
    if abs(exact) < mpf(10) ** -300:
        return float(abs(found - exact) / mpf(10) ** -300)
    return float(abs((mpf(float(found)) - exact) / exact))


def derivative(function: Callable[[float], Any], at: float) -> Any:  # noqa: ANN401
    """Eighth-order central difference in double precision."""
    step = min(at / 32, 0.06)
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    terms = (w * (function(at + k * step) - function(at - k * step)) for k, w in weights.items())
    return sum(terms) / step
