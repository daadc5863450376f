"""A pair's groundings and the facts in them: how it would score without some facts.

Every grounding of a condition, called a path here, is a set of facts and is lost with any of them;
that of `(A == 'c')` needs no fact and is never lost. What a rule adds grows with the groundings of
each of its conditions, thresholds and products included. So a score never falls when a path for the
pair is added and never rises when a path against it is, and at best a set of r facts removes only
paths of the rules on the side of the decision: of each kind at most as many as the r facts in most
paths of that kind.

For shares this does not hold: removing a fact makes degrees smaller, and the shares of other paths
larger. Here every path has an equal part of its condition's share, whatever else is removed; that
guides a search, but proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.scored_pair import ScoredPair
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.scoring.independent_scorer import score_targets


class PathKinds(NamedTuple):
    """Body and truth of every kind of path, and the kind of each path."""

    body: Ints
    truth: Ints
    of_path: Ints


@dataclass(frozen=True, eq=False)
class Removals:
    """A pair's paths and their facts: scores after any removal of facts."""

    scored: ScoredPair
    #: For every path the number of its condition among the pair's `grounded_bodies`, and its truth
    #: in millionths.
    path_body: Ints
    path_truth: Ints
    #: Which facts are in which paths: pairs of a fact's number and a path's, each once.
    fact: Ints
    carried: Ints
    n_facts: int

    @cached_property
    def kinds(self) -> PathKinds:
        """Paths of one body and truth are of one kind."""
        both = np.stack([self.path_body, -self.path_truth], axis=1)
        distinct, place = np.unique(both, axis=0, return_inverse=True)
        return PathKinds(distinct[:, 0], -distinct[:, 1], place.reshape(-1).astype(np.int64))

    @cached_property
    def helps(self) -> Bools:
        """Which kinds of paths support the decision, so that losing them helps to flip it."""
        bodies = self.scored.grounded_bodies
        of_body = np.array([body in self.scored.deciding_bodies for body in bodies], dtype=np.bool_)
        return np.asarray(of_body[self.kinds.body])

    def scores(self, counts: Ints) -> Floats:
        """Scores of outcomes, given by their numbers of paths: rows are outcomes, columns kinds."""
        body, truth, _ = self.kinds
        outcome, kind = np.nonzero(counts)
        number = counts[outcome, kind]
        outcomes = Statistics.of(
            self.scored.grounded_bodies,
            len(counts),
            body[kind],
            outcome.astype(np.int32),
            truth[kind].astype(np.int32),
            number,
            number * self._share_of_path[body[kind]],
        )
        zeros = np.zeros(len(counts), dtype=np.int32)
        targets = Targets(Names.of(["pair"]), self.scored.pair.predicates, zeros, zeros, zeros)
        return score_targets(self.scored.grounded_model, outcomes, targets)

    @cached_property
    def _share_of_path(self) -> Floats:
        """The part of each path of a condition in its share."""
        scored = self.scored
        shares = [scored.share_of(b) / scored.count_of(b) for b in scored.grounded_bodies]
        return np.array(shares, dtype=np.float64)

    def flips(self, scores: Floats) -> Bools:
        """Which scores mean the other decision."""
        threshold = self.scored.model.semantics.threshold
        return np.asarray((scores >= threshold) != self.scored.decision)

    def left(self, removed: Sequence[int]) -> tuple[Ints, Ints]:
        """Count, by kind, the paths that a removal leaves, and those of them with each fact."""
        n_kinds, kind = len(self.kinds.body), self.kinds.of_path
        is_removed = np.zeros(self.n_facts, dtype=np.bool_)
        remains = np.ones(len(kind), dtype=np.bool_)
        is_removed[list(removed)] = True
        remains[self.carried[is_removed[self.fact]]] = False
        remaining_uses = remains[self.carried]
        cell = self.fact[remaining_uses] * n_kinds + kind[self.carried[remaining_uses]]
        carries = np.bincount(cell, minlength=self.n_facts * n_kinds)
        return np.bincount(kind[remains], minlength=n_kinds), carries.reshape(-1, n_kinds)

    def best_outcomes(self, total: Ints, carries: Ints, size: int) -> Ints:
        """Per fact, the numbers of paths left without it and the best `size` - 1 later facts.

        `carries` has one row per fact that may be removed; the others come after the fact. If
        scores are `monotone`, this bounds them: no such set leads to an outcome whose score is
        farther on the other side. With `size` 1 the outcomes are exact.
        """
        if size == 1:
            return total - carries
        largest_losses = np.sort(carries, axis=0)[::-1][: size - 1].sum(axis=0)
        later = np.zeros_like(carries)
        later[:-1] = np.maximum.accumulate(carries[::-1], axis=0)[::-1][1:]
        lost = carries + np.minimum(largest_losses, (size - 1) * later)
        left: Ints = total - self.helps * np.minimum(lost, total)
        return left
