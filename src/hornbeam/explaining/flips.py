"""What would flip the decision on a pair: facts without which its score crosses the threshold.

Every grounding of a condition, called a path here, is a set of facts and is lost with any of them;
that of `(A == 'c')` needs no fact and is never lost. What a rule adds grows with the groundings of
each of its conditions, thresholds and products included. So a score never falls when a path for the
pair is added and never rises when a path against it is, and at best a set of r facts removes only
paths of the rules on the side of the decision: of each kind at most as many as the r facts in most
paths of that kind.

For shares this does not hold: removing a fact makes degrees smaller, and the shares of other paths
larger. Here every path has an equal part of its condition's share, whatever else is removed; that
guides a search, but proves nothing.

Sets of facts are tried by size, so the first that flips the decision is a smallest one. A branch is
pruned as soon as even the bound on what its remaining facts can do would not flip. Beyond
`EXACT_WORK` steps a greedy set is returned, which flips the decision but may not be the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.known_scores import ScorePlace
from hornbeam.explaining.reason import Fact
from hornbeam.explaining.scored_pair import ScoredPair
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.scoring.independent_scores import score_targets

#: Work of the exact search: about a second. A set that is extended costs `BRANCH_WORK`, and
#: one more per fact and kind of path.
EXACT_WORK = 4_000_000
BRANCH_WORK = 5_000
#: Facts that the greedy search scores per round: those in most of the paths whose loss helps.
GREEDY_WIDTH = 64

#: Numbers of facts.
FactSet = tuple[int, ...]


# --- the result -----------------------------------------------------------------------------------


class Crossing(NamedTuple):
    """How texts say that a score crosses the threshold of its model."""

    short: str
    infinitive: str
    present: str

    @classmethod
    def of_threshold(cls, threshold: float, down: bool) -> Crossing:
        """The crossing for a model that decides nothing: over a number, `down` or up."""
        where = f"below {threshold:.4g}" if down else f"to {threshold:.4g} or above"
        return cls(f"bring it {where}", f"bring the score {where}", f"brings the score {where}")


#: The crossing for a model that calls pairs true or false.
FLIP = Crossing("flip it", "flip the decision", "flips the decision")


class FlipStatus(StrEnum):
    """What is known about the found set of facts; `sentence` explains it."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"
    IMPOSSIBLE = "impossible"
    NOT_FOUND = "not found"

    @property
    def sentence(self) -> str:
        """The status as a sentence for users."""
        return self.sentence_about(FLIP)

    def sentence_about(self, crossing: Crossing) -> str:
        """The status as a sentence, in the words of a crossing."""
        return {
            FlipStatus.EXACT: f"no smaller set of facts {crossing.present}",
            FlipStatus.UPPER_BOUND: f"an upper bound: a smaller set may {crossing.infinitive} too",
            FlipStatus.IMPOSSIBLE: f"no removal of facts {crossing.present}",
            FlipStatus.NOT_FOUND: "no set of facts was found within the limits of the search",
        }[self]


@dataclass(frozen=True)
class Flip:
    """Facts whose removal flips the decision, and the score without them.

    `facts` is empty and `score` the pair's own if no such set is known; `status` is whether there
    is none, or whether the set is known to be the smallest. `place` is that of the score, as in
    `Explanation`.
    """

    status: FlipStatus
    facts: tuple[Fact, ...]
    score: float
    place: ScorePlace | None = None

    def as_dict(self, crossing: Crossing = FLIP) -> dict[str, Any]:
        """For JSON, in the words of a crossing."""
        return {
            "status": self.status.value,
            "meaning": self.status.sentence_about(crossing),
            "facts": [asdict(fact) for fact in self.facts],
            "score": self.score,
            "place": None if self.place is None else self.place.as_dict(),
        }


# --- scores without some facts --------------------------------------------------------------------


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

    def farthest(self, scores: Floats) -> int:
        """Which score is farthest on the side of the other decision, the first of equals."""
        return int(np.argmin(scores if self.scored.decision else -scores))

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


# --- the search -----------------------------------------------------------------------------------


class _BudgetError(Exception):
    """The exact search has used up its budget."""


def smallest_flip(removals: Removals) -> tuple[FlipStatus, FactSet]:
    """Find the smallest set of facts whose loss flips the decision, or a greedy one.

    Facts are tried in the order of how far each alone moves the score, then of their numbers; the
    last of a set is the one that moves it farthest.
    """
    try:
        chosen = _smallest_set(removals)
    except _BudgetError:
        chosen = greedy_flip(removals)
        return (FlipStatus.UPPER_BOUND if chosen else FlipStatus.NOT_FOUND), chosen
    return (FlipStatus.EXACT if chosen else FlipStatus.IMPOSSIBLE), chosen


def _smallest_set(removals: Removals) -> FactSet:
    """Search depth-first for the first set of the smallest size; empty if no set flips."""
    candidates, budget = _candidates(removals), EXACT_WORK

    def extended(chosen: FactSet, start: int, size: int) -> FactSet:
        """Add `size` candidates from `start` on so that the decision flips; empty if none do."""
        nonlocal budget
        more = candidates[start:]
        total, carries = removals.left(chosen)
        budget -= BRANCH_WORK + carries.size
        if budget < 0:
            raise _BudgetError
        scores = removals.scores(removals.best_outcomes(total, carries[more], size))
        may = removals.flips(scores)
        if size == 1:
            return (*chosen, int(more[removals.farthest(scores)])) if may.any() else ()
        if not removals.scored.monotone:
            may[:] = True
        branches = np.flatnonzero(may).tolist()
        deeper = (extended((*chosen, int(more[k])), start + k + 1, size - 1) for k in branches)
        return next(filter(None, deeper), ())

    sizes = range(1, len(candidates) + 1)
    return next(filter(None, (extended((), 0, size) for size in sizes)), ())


def _candidates(removals: Removals) -> Ints:
    """Facts worth removing, one per set of equal paths, the strongest first."""
    total, carries = removals.left(())
    scores = removals.scores(total - carries)
    useful = carries[:, removals.helps].sum(axis=1) > 0
    if not removals.scored.monotone:
        useful[:] = True
    order = np.argsort(scores if removals.scored.decision else -scores, kind="stable")
    by_fact = np.lexsort((removals.carried, removals.fact))
    paths = np.split(removals.carried[by_fact], np.cumsum(np.bincount(removals.fact))[:-1])
    first: dict[bytes, int] = {}
    for fact in order[useful[order]].tolist():
        first.setdefault(paths[fact].tobytes(), fact)
    return np.array(list(first.values()), dtype=np.int64)


def greedy_flip(removals: Removals) -> FactSet:
    """Remove greedily the fact with the largest effect, then restore facts that are not needed.

    Empty where that does not flip the decision.
    """
    for chosen, score in growing_sets(removals, ()):
        if removals.flips(score):
            return _needed(removals, chosen)
    return ()


def growing_sets(removals: Removals, chosen: FactSet) -> Iterator[tuple[FactSet, Floats]]:
    """Sets that grow by the fact with the largest effect, each with the score without it."""
    while True:
        total, carries = removals.left(chosen)
        carried = carries[:, removals.helps].sum(axis=1)
        most_used = np.argsort(-carried, kind="stable")[:GREEDY_WIDTH]
        most_used = most_used[carried[most_used] > 0]
        if not len(most_used):
            return
        scores = removals.scores(total - carries[most_used])
        best = removals.farthest(scores)
        chosen = (*chosen, int(most_used[best]))
        yield chosen, scores[best]


def _needed(removals: Removals, chosen: FactSet) -> FactSet:
    """Restore facts, the first removed first, as long as the decision stays flipped."""
    for fact in chosen:
        fewer = tuple(other for other in chosen if other != fact)
        total, _ = removals.left(fewer)
        if removals.flips(removals.scores(total[np.newaxis]))[0]:
            chosen = fewer
    return chosen
