"""The smallest set of facts without which the decision on a pair would be the other one.

Sets of facts are tried by size, so the first that flips the decision is a smallest one. A branch is
left as soon as even the bound of `hornbeam.explaining.counterfactual` on what its remaining facts
can do would not flip.

The search is exact up to `EXACT_PATHS` paths and `EXACT_WORK` steps; beyond, a greedy set is
returned, which flips the decision but may not be the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hornbeam.arrays import Floats, Ints
from hornbeam.explaining.counterfactual import Removals

#: Paths up to which the smallest set is looked for.
EXACT_PATHS = 10_000
#: Work of the exact search: a couple of seconds. A set that is extended costs `BRANCH_WORK`, and
#: one more for every fact and sequence.
EXACT_WORK = 40_000_000
BRANCH_WORK = 10_000
#: Facts that the greedy search may take.
GREEDY_FACTS = 100
#: Facts that the greedy search scores in every round: those on most of the paths that help.
GREEDY_WIDTH = 64

#: Numbers of facts.
FactSet = tuple[int, ...]


class FlipStatus(StrEnum):
    """What is known of the set of facts that was found; `sentence` says it in words."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"
    IMPOSSIBLE = "impossible"
    NOT_FOUND = "not found"

    @property
    def sentence(self) -> str:
        """What it means for a reader."""
        return {
            FlipStatus.EXACT: "no smaller set of facts flips the decision",
            FlipStatus.UPPER_BOUND: "an upper bound: a smaller set may flip the decision too",
            FlipStatus.IMPOSSIBLE: "no removal of facts flips the decision",
            FlipStatus.NOT_FOUND: "no set of facts was found within the limits of the search",
        }[self]


class _SpentError(Exception):
    """The exact search has done as much work as it may."""


@dataclass
class _Search:
    """Depth-first search for the smallest set; `left` is what remains of its budget."""

    removals: Removals
    candidates: Ints
    left: int

    def smallest(self) -> FactSet | None:
        """First set of the least size, None where no set flips."""
        for size in range(1, len(self.candidates) + 1):
            found = self._extend((), 0, size)
            if found is not None:
                return found
        return None

    def _extend(self, chosen: FactSet, start: int, size: int) -> FactSet | None:
        """Add `size` facts from `start` on so that the decision flips."""
        removals = self.removals
        total, carries = removals.left(chosen)
        self.left -= BRANCH_WORK + carries.size
        if self.left < 0:
            raise _SpentError
        carries = carries[self.candidates[start:]]
        may = np.flatnonzero(removals.may_flip(total, carries, size))
        if size == 1:
            scores = removals.scores(total - carries[may])
            flips = np.flatnonzero(removals.flips(scores))
            if not len(flips):
                return None
            last = start + may[farthest(scores, flips, removals)]
            return (*chosen, int(self.candidates[last]))
        for k in (start + may).tolist():
            found = self._extend((*chosen, int(self.candidates[k])), k + 1, size - 1)
            if found is not None:
                return found
        return None


def farthest(scores: Floats, among: Ints, removals: Removals) -> int:
    """Which of `among` moves the score farthest to the wanted side, the first of equals."""
    sign = 1.0 if removals.truth else -1.0
    return int(among[np.argmin(sign * scores[among])])


def smallest_flip(removals: Removals) -> tuple[FlipStatus, FactSet]:
    """Find the smallest set of facts whose loss flips the decision, or a greedy one.

    Facts are tried in the order of how far each alone moves the score, then of their numbers; the
    last of a set is the one that moves it farthest.
    """
    total, carries = removals.left(())
    if not removals.may_flip(total, carries, removals.n_facts).any():
        return FlipStatus.IMPOSSIBLE, ()
    candidates = _candidates(removals, total, carries)
    try:
        found = _Search(removals, candidates, EXACT_WORK).smallest()
    except _SpentError:
        found = greedy_flip(removals)
        return (FlipStatus.UPPER_BOUND, found) if found else (FlipStatus.NOT_FOUND, ())
    return (FlipStatus.EXACT, found) if found else (FlipStatus.IMPOSSIBLE, ())


def _candidates(removals: Removals, total: Ints, carries: Ints) -> Ints:
    """Facts worth removing, one of each that carry the same paths, the strongest first."""
    scores = removals.scores(total - carries)
    order = np.argsort(scores if removals.truth else -scores, kind="stable")
    by_fact = np.lexsort((removals.carried, removals.fact))
    ends = np.searchsorted(removals.fact[by_fact], np.arange(removals.n_facts + 1))
    seen: set[bytes] = set()
    kept = []
    for fact in order.tolist():
        paths = removals.carried[by_fact[ends[fact] : ends[fact + 1]]]
        if removals.monotone and not removals.helps[removals.path_body[paths]].any():
            continue
        if (mine := paths.tobytes()) not in seen:
            seen.add(mine)
            kept.append(fact)
    return np.array(kept, dtype=np.int64)


def greedy_flip(removals: Removals) -> FactSet:
    """Take away the fact that does most, again and again, then give back what is not needed.

    Empty where that does not flip the decision within `GREEDY_FACTS` facts.
    """
    chosen: FactSet = ()
    helping = removals.helps[removals.kinds[0]]
    while len(chosen) < GREEDY_FACTS:
        total, carries = removals.left(chosen)
        carried = carries[:, helping].sum(axis=1)
        busiest = np.argsort(-carried, kind="stable")[:GREEDY_WIDTH]
        busiest = busiest[carried[busiest] > 0]
        if not len(busiest):
            return ()
        scores = removals.scores(total - carries[busiest])
        best = farthest(scores, np.arange(len(busiest)), removals)
        chosen = (*chosen, int(busiest[best]))
        if removals.flips(scores[best : best + 1])[0]:
            return _needed(removals, chosen)
    return ()


def _needed(removals: Removals, chosen: FactSet) -> FactSet:
    """Give back facts, the first taken first, as long as the decision stays flipped."""
    for fact in chosen:
        fewer = tuple(other for other in chosen if other != fact)
        total, _ = removals.left(fewer)
        if removals.flips(removals.scores(total[np.newaxis]))[0]:
            chosen = fewer
    return chosen
