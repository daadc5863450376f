"""Closed forms for one variable: the integrals under every learner and every score.

A target y in [0, 1] has the conditional density exp(-f(y)) / Z. With 0/1 evidence a clause
of weight w has n ground clauses with the target, and f has only two strengths:

    f(y) = A (1 - y)^p + B y^p,      A = sum of w n+,   B = sum of w n-.

So everything a learner needs is a function of (A, B): log Z, the expectations of the
*sufficient statistics* (1-y)^p and y^p (minus the gradient of log Z), their covariance
matrix (the Hessian of log Z), and the score E[y]. The relaxation defines y and p:

=========  ==========  ============================================================
BOOLEAN    {0, 1}      Z = e^-A + e^-B, E[y] = 1 / (1 + e^-(A-B))
LINEAR     [0, 1]      p = 1: with d = |A-B|, Z = e^-min(A,B) (1 - e^-d) / d
SQUARED    [0, 1]      p = 2: a normal of mean m = A/s, s = A+B, cut off at 0 and 1:
                       Z = e^(-AB/s) sqrt(pi)/(2 sqrt s) (erf(A/sqrt s) + erf(B/sqrt s))
=========  ==========  ============================================================

The formulas are not computed as they are written here: the loops in `integral_kernels` keep a
relative error below 1e-12 in every number returned, for strengths from 1e-300 to 1e12
(measured: about 1e-14).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.choices import Relaxation, Score
from hornbeam.base.compiled import numba_in_use
from hornbeam.densities import integral_kernels as kernels
from hornbeam.densities.hinges import Hinges, group_hinges, hinge_covariance, hinge_moments

#: Number of integrated targets above which compiling pays, and the same if Numba is in use. A call
#: of the formulas over arrays takes as long as `CALL` targets. A SQUARED target, which has no
#: formula over arrays, takes as long as `SCALAR` targets.
WORTH_COMPILING, WORTH_READING = 2_000_000, 50_000
CALL, SCALAR = 200, 150

CODES = {Relaxation.BOOLEAN: 0, Relaxation.LINEAR: 1, Relaxation.SQUARED: 2}


class TwoSided(NamedTuple):
    """log Z of exp(-A (1-y)^p - B y^p), and the moments of (1-y)^p ("up") and y^p ("down")."""

    log_z: Floats
    e_up: Floats
    e_down: Floats
    var_up: Floats
    var_down: Floats
    cov: Floats


def _strengths(relaxation: Relaxation, *arrays: npt.ArrayLike) -> list[Floats]:
    """Broadcast arrays to floats of one shape; refuse entries that are negative or not finite.

    Boolean targets may have negative strengths, of numbers below their mean: only A - B counts.
    """
    found = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arrays))
    least = -np.finfo(np.float64).max if relaxation is Relaxation.BOOLEAN else 0.0
    for array in found:
        if array.size and not (array.min() >= least and array.max() < np.inf):
            raise ValueError(
                "a strength (weight times count) is negative, infinite or not a number; "
                "keep weights at or above 0 and finite"
            )
    return [np.asarray(a, order="C") for a in found]


def _apply(name: str, rows: int, inputs: list[Floats], relaxation: Relaxation) -> Floats:
    """Run a kernel, or its formula over arrays; returns `rows` arrays of the inputs' shape."""
    flat, shape = [a.ravel() for a in inputs], (rows, *inputs[0].shape)
    kernel = getattr(kernels, name)
    squared = relaxation is Relaxation.SQUARED
    limit = WORTH_READING if numba_in_use() else WORTH_COMPILING
    compiled = kernel.pays(CALL + inputs[0].size * (SCALAR if squared else 1), limit)
    if not (compiled or squared):
        found = _two_sides(flat[0], flat[1], relaxation)
        return (found if rows > 1 else found[2:3]).reshape(shape)
    out = np.empty((rows, inputs[0].size))
    (kernel.compiled if compiled else kernel.interpreted)(*flat, CODES[relaxation], out)
    return out.reshape(shape)


# --- small work: the formulas of BOOLEAN and LINEAR targets over whole arrays ---------------


def _each(function: Callable[[float], float], values: Floats) -> Floats:
    return np.fromiter(map(function, values.tolist()), np.float64, values.size)


#: Functions of `math` for arrays. Compiled loops use `math`, too; NumPy's functions differ in the
#: last bit.
_MATH = SimpleNamespace(
    **{name: partial(_each, getattr(math, name)) for name in ("exp", "log", "log1p")}
)


def _over_arrays(formula: Callable[..., Any]) -> Callable[[Floats], tuple[Floats, ...]]:
    """Turn a formula of the kernels in one number, without branches, into a function of arrays."""
    assert isinstance(formula, FunctionType)
    return FunctionType(formula.__code__, vars(kernels) | {"math": _MATH})


_boolean, _linear_series, _linear_far = map(
    _over_arrays, (kernels.boolean, kernels.linear_series, kernels.linear_far)
)


def _two_sides(up: Floats, down: Floats, relaxation: Relaxation) -> Floats:
    """The rows of the kernel `two_sided`, equal to the last bit."""
    apart = np.abs(up - down)
    moments = np.empty((3, apart.size))
    if relaxation is Relaxation.BOOLEAN:
        moments[:] = _boolean(apart)
    else:
        near = apart < kernels.SERIES_BELOW
        for part, formula in ((near, _linear_series), (~near, _linear_far)):
            if part.any():
                moments[:, part] = formula(apart[part])
    log_z, small, var = moments
    leads, found = up >= down, np.empty((6, apart.size))
    found[0] = log_z - np.minimum(up, down)
    found[1] = np.where(leads, small, 1 - small)
    found[2] = np.where(leads, 1 - small, small)
    found[3:] = var, var, -var
    return found


# --- functions for learners and scorers ----------------------------------------------------


def two_sided(up: npt.ArrayLike, down: npt.ArrayLike, relaxation: Relaxation) -> TwoSided:
    """Integrate one target, exp(-A (1-y)^p - B y^p).

    Parameters
    ----------
    up, down
        A = sum of w n+ and B = sum of w n-, both >= 0; they are broadcast.
    relaxation
        For BOOLEAN and LINEAR everything follows from d = A - B.

    Returns
    -------
    TwoSided
        log Z, the moments of (1-y)^p (``up``) and of y^p (``down``), and their covariance:
        the gradient of log Z in (A, B) is -(e_up, e_down), its Hessian
        [[var_up, cov], [cov, var_down]]. Relative error below 1e-13 for the given doubles;
        the effect of rounding errors in A and B on d = A - B is not included. One number
        passes through zero: BOOLEAN log Z (at A = B = log 2, say) is accurate relative to
        min(A, B) + log 2, not to itself.

    Examples
    --------
    >>> two_sided([3.0], [1.0], Relaxation.BOOLEAN).e_down
    array([0.88079708])
    """
    return TwoSided(*_apply("two_sided", 6, _strengths(relaxation, up, down), relaxation))


def score_mean(up: npt.ArrayLike, down: npt.ArrayLike, relaxation: Relaxation) -> Floats:
    """E[y] of exp(-A (1-y)^p - B y^p), accurate relative to itself; see `two_sided`.

    E[1-y] is ``score_mean(down, up)``.

    Examples
    --------
    >>> score_mean([0.0, 0.0], [0.0, 1e9], Relaxation.LINEAR)
    array([5.e-01, 1.e-09])
    """
    return np.asarray(_apply("score_mean", 1, _strengths(relaxation, up, down), relaxation)[0])


def score_map(up: npt.ArrayLike, down: npt.ArrayLike, relaxation: Relaxation) -> Floats:
    """The y of least A (1-y)^p + B y^p; 0.5 where all y are equal.

    SQUARED: A / (A+B). BOOLEAN and LINEAR: 1 if A > B, 0 if A < B.

    Examples
    --------
    >>> score_map([3.0, 0.0], [1.0, 0.0], Relaxation.SQUARED)
    array([0.75, 0.5 ])
    """
    a, b = _strengths(relaxation, up, down)
    best: Floats = np.full(a.shape, 0.5)
    if relaxation is Relaxation.SQUARED:
        np.divide(a, a + b, out=best, where=a + b > 0)
    else:
        best += np.sign(a - b) / 2
    return best


def closed_form_score(
    score: Score, up: npt.ArrayLike, down: npt.ArrayLike, relaxation: Relaxation
) -> Floats:
    """The mean or the MAP state."""
    return (score_map if score is Score.MAP else score_mean)(up, down, relaxation)


# --- targets with any number of sides -------------------------------------------------------

UP, DOWN = 0, 1


class Moments(NamedTuple):
    """log Z of every target, and means (sides, n) and covariances (sides, sides, n) of its S.

    Means are minus the gradient of log Z in the strengths; covariances are its Hessian.
    """

    log_z: Floats
    mean: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Densities:
    """Densities of targets as functions of their strengths, the sums of weights on each side.

    A target y in [0, 1] has the density exp(-sum_s a_s S_s(y)) / Z, with one strength a_s per side:

        side 0, "up"        S = (1 - y)^p                    ground clauses with the target as head
        side 1, "down"      S = y^p                          negated heads, and body atoms
        side 2, 3, ...      S = max(0, m y - (m-1))^p        the target occurs m >= 2 times

    Most targets have only the first two sides; their moments are closed forms of two numbers. The
    moments of other targets are those of hinges. BOOLEAN targets never need more than two sides:
    all S but the first are y. `times` has the m of the sides from 2 on. `repeated` are the targets
    with such a side.
    """

    relaxation: Relaxation
    times: tuple[int, ...]
    repeated: Ints

    @property
    def power(self) -> int:
        """The p of the hinges."""
        return 2 if self.relaxation is Relaxation.SQUARED else 1

    @property
    def sides(self) -> int:
        """Number of sides."""
        return 2 + len(self.times)

    def statistics(self, y: Floats) -> Floats:
        """S of every target (sides, n) at its label."""
        forms = [1.0 - y, y, *(m * y - (m - 1) for m in self.times)]
        return np.asarray(np.maximum(np.stack(forms), 0.0) ** self.power)

    def moments(self, strengths: Floats) -> Moments:
        """Moments of every target at its strengths (sides, n)."""
        plain = two_sided(strengths[UP], strengths[DOWN], self.relaxation)
        sides, n = strengths.shape
        mean, covariance = np.zeros((sides, n)), np.zeros((sides, sides, n))
        mean[UP], mean[DOWN] = plain.e_up, plain.e_down
        covariance[UP, UP], covariance[DOWN, DOWN] = plain.var_up, plain.var_down
        covariance[UP, DOWN] = covariance[DOWN, UP] = plain.cov
        log_z = plain.log_z
        if len(self.repeated):
            weights = self._weights(strengths)
            exact = hinge_moments(self._hinges, weights, self.relaxation)
            log_z[self.repeated] = exact.log_z
            mean[:, self.repeated] = exact.expected.reshape(-1, sides).T
            blocks = hinge_covariance(self._hinges, weights, self.relaxation)
            by_target = blocks.reshape(-1, sides, sides)
            covariance[:, :, self.repeated] = by_target.transpose(1, 2, 0)
        return Moments(log_z, mean, covariance)

    def score(self, strengths: Floats) -> Floats:
        """E[y] of every target."""
        mean = score_mean(strengths[UP], strengths[DOWN], self.relaxation)
        if len(self.repeated):
            weights = self._weights(strengths)
            mean[self.repeated] = hinge_moments(self._hinges, weights, self.relaxation).mean
        return mean

    def _weights(self, strengths: Floats) -> Floats:
        """Strengths of the repeated targets as weights of their hinges."""
        return strengths[:, self.repeated].T.ravel()

    @cached_property
    def _hinges(self) -> Hinges:
        """One hinge per side of every repeated target, each with a weight of its own."""
        n = len(self.repeated)
        height = np.array([1.0, 1.0, *(1.0 / m for m in self.times)])
        count = np.array([1.0, 1.0, *(float(m**self.power) for m in self.times)])
        down = np.arange(self.sides) >= DOWN
        return group_hinges(
            np.repeat(np.arange(n), self.sides),
            np.arange(n * self.sides),
            np.tile(height, n),
            np.tile(down, n),
            np.tile(count, n),
            n,
        )
