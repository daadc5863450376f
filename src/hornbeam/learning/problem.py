"""The learning problem: all that learners see of statistics and labels.

A `Problem` has the pseudolikelihood of all clauses together, a `Piece` that of one clause alone
(the piecewise pseudolikelihood). Targets with the same counts and label form one group of a piece,
so that the work of a step grows with the number of groups, not with the number of targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints, Positions, run_starts
from hornbeam.base.choices import Relaxation
from hornbeam.densities.integrals import DOWN, Densities
from hornbeam.learning.newton import Fit, Fittable, Newton
from hornbeam.rules.clause import Clause


class Problem(Fittable, Protocol):
    """Clauses, the targets' labels, and the pseudolikelihood of weights.

    Bodies are opaque: a learner sees clauses by index, and gets the pseudolikelihood, its
    derivatives and scores as functions of all weights. A clause with an empty body is a prior.
    """

    @property
    def clauses(self) -> Sequence[Clause]:
        """The clauses, their negations and the priors, which have one weight each."""

    @property
    def size(self) -> int:
        """Number of (clause, target) entries, a measure of the work of a fit."""

    @property
    def is_prior(self) -> Bools:
        """Which clauses are priors."""

    @property
    def is_own(self) -> Bools:
        """Which clauses are a user's own rules."""

    @property
    def is_base(self) -> Bools:
        """Which clauses every model has, without a penalty: priors and a user's own rules."""

    @property
    def lengths(self) -> Ints:
        """Number of body atoms of every clause, 0 for priors."""

    @property
    def scales(self) -> Floats:
        """Spread of every clause's entries over the targets."""

    @property
    def relaxation(self) -> Relaxation:
        """What values a target may take."""

    @property
    def symmetric(self) -> bool:
        """Whether a clause represents its mirror image too."""

    @property
    def pair(self) -> Ints | None:
        """Number of every target's unordered pair where the target is symmetric, else None."""

    def score(self, weights: Floats) -> Floats:
        """E[y] of every target."""

    def pieces(self, base: Floats | None) -> Callable[[int], Piece]:
        """A function from a clause's index to its piecewise objective.

        The objective is that of the clause on top of the clauses of `is_base`, with their weights
        among `base`, or of the clause alone if `base` is None.
        """

    def signature(self, rng: np.random.Generator) -> Floats:
        """A number per target that depends only on its entries: a random projection of them."""

    def distinct_columns(self) -> Self:
        """Leave out clauses whose entries are equal to those of an earlier clause."""

    def only(self, members: Ints | Positions) -> Self:
        """The problem with only the clauses whose indices are `members`."""

    def subset(self, targets: Bools) -> Self:
        """The problem with only the targets where `targets` is True (rows renumbered)."""


def fit_priors(problem: Problem, ridge: float, newton: Newton | None = None) -> Fit:
    """Fit the weights of the priors and of own rules, with all other weights at 0."""
    return (newton or Newton()).fit(problem, 0.0, ridge, allowed=problem.is_base)


#: Maximum number of distinct labels for which targets are grouped label by label.
FEW_LABELS = 8


class Piece(Protocol):
    """The log pseudolikelihood of one clause, alone or on top of the priors."""

    def derivatives(self, weight: float) -> tuple[float, float, float]:
        """Log pseudolikelihood at a weight, its slope and its curvature."""


class PieceLearner(Protocol):
    """A learner that learns every clause alone, from one piece per clause."""

    @property
    def weight_variance(self) -> float:
        """Variance of the Gaussian prior on weights."""

    @property
    def prior_inside(self) -> bool:
        """Whether every clause is fitted on top of the prior."""

    def fit_piece(self, piece: Piece, length: int, ridge: float) -> tuple[float, bool]:
        """Weight of one piece of a clause with `length` atoms, and whether the solver converged."""


@dataclass(frozen=True, eq=False)
class CountPiece:
    """The piece of a clause with counts, by groups of targets with equal counts and label.

    A group has the counts `x` (sides, groups), the label `y` and `size` targets. `prior` (one
    column for all groups, or one per group) has the prior's strengths, 0 if the prior is not part
    of the piece. `times` are those of the sides from 2 on; see `hornbeam.learning.count_problem`.
    """

    x: Floats
    y: Floats
    size: Floats
    prior: Floats
    relaxation: Relaxation
    times: tuple[int, ...] = ()

    def derivatives(self, weight: float) -> tuple[float, float, float]:
        """Log pseudolikelihood of this clause alone, its slope and its curvature.

        l' = sum (E[S] - S) and l'' = -sum Var[S], S the sum of x (1-y)^p, x y^p, ...
        """
        densities, observed = self._densities
        strengths = self.prior + weight * self.x
        log_z, mean, covariance = densities.moments(strengths)
        value = -float(self.size @ (log_z + np.sum(strengths * observed, axis=0)))
        slope = float(self.size @ np.sum(self.x * (mean - observed), axis=0))
        variance = np.einsum("sg,stg,tg->g", self.x, covariance, self.x)
        return value, slope, -float(self.size @ variance)

    @cached_property
    def _densities(self) -> tuple[Densities, Floats]:
        """The densities of the groups, and their potentials (sides, groups) at the labels."""
        repeated = np.flatnonzero(self.x[DOWN + 1 :].any(axis=0)).astype(np.int64)
        densities = Densities(self.relaxation, self.times, repeated)
        return densities, densities.statistics(self.y)


def grouped_counts(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Counts and labels of the distinct pairs (count, label), and how often each pair occurs."""
    labels = np.unique(y).tolist()
    if len(labels) > FEW_LABELS:
        first, size = distinct_rows([y, x])
        return x[first], y[first], size
    # one label at a time: sorting counts alone is many times faster than sorting pairs
    groups = [np.unique(x[y == label], return_counts=True) for label in labels]
    counts, sizes = (np.concatenate([group[i] for group in groups] or [x]) for i in range(2))
    return counts, np.repeat(labels, [len(group[0]) for group in groups]), sizes.astype(np.float64)


def distinct_rows(keys: Sequence[Floats]) -> tuple[Positions, Floats]:
    """The first index of every distinct combination of keys, and its number of occurrences."""
    order = np.lexsort(keys)
    starts = run_starts(*(key[order] for key in keys))
    return order[starts], np.diff(np.append(starts, len(order))).astype(np.float64)


def gain(piece: Piece, weight: float, ridge: float) -> float:
    """How much higher log pseudolikelihood minus ridge w^2 / 2 is at a weight than at 0."""
    at, none = (piece.derivatives(w)[0] for w in (weight, 0.0))
    return at - none - 0.5 * ridge * weight**2


def maximise(piece: Piece, ridge: float) -> float:
    """Maximise a concave piece minus ridge w^2 / 2 over w >= 0, by safeguarded Newton steps."""
    _, slope, curvature = piece.derivatives(0.0)
    if slope <= 0.0:
        return 0.0
    low, high = 0.0, np.inf
    weight = 0.0
    curvature -= ridge
    for _ in range(200):
        step = -slope / curvature if curvature < 0.0 else np.inf
        proposed = weight + step
        if not low < proposed < high:
            # the step left the bracket: bisect it, or double the weight while it has no upper end
            proposed = 2.0 * weight + 1.0 if np.isinf(high) else 0.5 * (low + high)
        if abs(proposed - weight) <= 1e-12 * max(weight, 1e-300):
            return proposed
        weight = proposed
        _, slope, curvature = piece.derivatives(weight)
        slope, curvature = slope - ridge * weight, curvature - ridge
        if slope == 0.0:
            return weight
        low, high = (weight, high) if slope > 0.0 else (low, weight)
    return weight
