"""The smallest set of facts without which the decision on a pair would be the other one.

Sets of facts are tried by size, so the first that flips the decision is a smallest one. A branch is
pruned as soon as even the bound of `hornbeam.explaining.counterfactual` on what its remaining facts
can do would not flip. Beyond `EXACT_WORK` steps a greedy set is returned, which flips the decision
but may not be the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.explaining.counterfactual import Removals

#: Work of the exact search: about a second. A set that is extended costs `BRANCH_WORK`, and
#: one more per fact and kind of path.
EXACT_WORK = 4_000_000
BRANCH_WORK = 5_000
#: Facts that the greedy search scores per round: those in most of the paths whose loss helps.
GREEDY_WIDTH = 64

#: Numbers of facts.
FactSet = tuple[int, ...]


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


class _BudgetError(Exception):
    """The exact search has used up its budget."""


@dataclass
class _SmallestSet:
    """Depth-first search for the smallest set; `left` is what remains of its budget."""

    removals: Removals
    candidates: Ints
    left: int

    def smallest(self) -> FactSet | None:
        """The first set of the smallest size; None if no set flips."""
        for size in range(1, len(self.candidates) + 1):
            found = self._extend((), 0, size)
            if found is not None:
                return found
        return None

    def _extend(self, chosen: FactSet, start: int, size: int) -> FactSet | None:
        """Add `size` facts from `start` on so that the decision flips."""
        removals, more = self.removals, self.candidates[start:]
        total, carries = removals.left(chosen)
        self.left -= BRANCH_WORK + carries.size
        if self.left < 0:
            raise _BudgetError
        scores = removals.scores(removals.best_outcomes(total, carries[more], size))
        may = removals.flips(scores)
        if size == 1:
            return (*chosen, int(more[farthest(scores, removals)])) if may.any() else None
        if not removals.scored.monotone:
            may[:] = True
        for k in np.flatnonzero(may).tolist():
            found = self._extend((*chosen, int(more[k])), start + k + 1, size - 1)
            if found is not None:
                return found
        return None


def farthest(scores: Floats, removals: Removals) -> int:
    """Which score is farthest on the side of the other decision, the first of equals."""
    return int(np.argmin(scores if removals.scored.decision else -scores))


def smallest_flip(removals: Removals) -> tuple[FlipStatus, FactSet]:
    """Find the smallest set of facts whose loss flips the decision, or a greedy one.

    Facts are tried in the order of how far each alone moves the score, then of their numbers; the
    last of a set is the one that moves it farthest.
    """
    try:
        found = _SmallestSet(removals, _candidates(removals), EXACT_WORK).smallest()
    except _BudgetError:
        found = greedy_flip(removals)
        return (FlipStatus.UPPER_BOUND, found) if found else (FlipStatus.NOT_FOUND, ())
    return (FlipStatus.EXACT, found) if found else (FlipStatus.IMPOSSIBLE, ())


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
        best = farthest(scores, removals)
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
