"""The learning problem: all that learners see of statistics and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints, Positions
from hornbeam.base.choices import Relaxation
from hornbeam.learning.newton import Fit, Fittable, Newton
from hornbeam.learning.pieces import Piece
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
