"""The smallest set of facts without which the decision on a pair would be the other one.

Every path is a set of facts and dies with any of them. Sets of facts are tried by size, so the
first that flips the decision is a smallest one. A branch is left as soon as even the most that its
remaining removals could do would not flip: a score never falls when a path for the pair is added
and never rises when a path against it is, so no set of r facts does more than kill, of every rule
that helps, as many paths as its r busiest facts carry, the truest ones first, and no path of the
others.

The search is exact up to `EXACT_PATHS` paths and `EXACT_SCORINGS` sets; beyond, a greedy set is
returned, which flips the decision but may not be the smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.clauses.clause import Path, Prior
from hornbeam.clauses.rules import Counts, Relaxation, Rule, Semantics
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Targets
from hornbeam.inference.closed import Floats, rule_paths, score_targets
from hornbeam.statistics.table import Statistics

#: Paths up to which the smallest set is looked for; more are cut at an end.
EXACT_PATHS = 2_000
#: Sets of facts that the exact search may score.
EXACT_SCORINGS = 200_000
#: Facts that the greedy search may take.
GREEDY_FACTS = 100
#: Facts that the greedy search scores in every round: those on most of the paths that help.
GREEDY_WIDTH = 64

Ints = npt.NDArray[np.int64]
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


@dataclass(frozen=True, eq=False)
class Removals:
    """A pair's paths and the facts they are made of: scores after any removal of facts.

    Parameters
    ----------
    rules, semantics
        The model; all rules have one target.
    sequences
        The relation sequences of the rules.
    path_sequence, path_body
        For every path its sequence and the truth of its body in millionths.
    carries
        Sparse 0/1 matrix (facts, paths): which paths each fact carries.
    truth
        The decision that shall flip: true where the score is at least `semantics.threshold`.
    """

    rules: Sequence[Rule]
    semantics: Semantics
    sequences: Sequence[Path]
    path_sequence: Ints
    path_body: Ints
    carries: sparse.csr_array
    truth: bool

    @cached_property
    def kinds(self) -> tuple[Ints, Ints, Ints]:
        """Sequence and body truth of every kind of path, and the kind of each path."""
        both = np.stack([self.path_sequence, -self.path_body], axis=1)
        distinct, place = np.unique(both, axis=0, return_inverse=True)
        return distinct[:, 0], -distinct[:, 1], place.reshape(-1).astype(np.int64)

    @cached_property
    def helps(self) -> npt.NDArray[np.bool_]:
        """Which sequences speak for the decision alone, so that losing their paths helps."""
        return np.array([sides(self.rules, path) == {not self.truth} for path in self.sequences])

    @cached_property
    def monotone(self) -> bool:
        """Whether losing a path never moves the score towards the side of its rules."""
        return is_monotone(self.rules, self.semantics, bool((self.path_body < ONE).any()))

    def scores(self, counts: Ints) -> Floats:
        """Scores of worlds given by their numbers of paths: a row a world, a column a kind."""
        sequence, body, _ = self.kinds
        world, kind = np.nonzero(counts)
        worlds = Statistics.of(
            self.sequences,
            len(counts),
            sequence[kind],
            world.astype(np.int32),
            body[kind].astype(np.int32),
            counts[world, kind],
        )
        return score_targets(self.rules, self.semantics, worlds, self._targets(len(counts)))

    def _targets(self, n: int) -> Targets:
        clause = self.rules[0].clause
        target = clause.target if isinstance(clause, Prior) else clause.path.target
        zeros = np.zeros(n, dtype=np.int32)
        return Targets(Names.of(["pair"]), Names.of([target]), zeros, zeros, zeros)

    def flips(self, scores: Floats) -> npt.NDArray[np.bool_]:
        """Which scores stand for the other decision."""
        flipped: npt.NDArray[np.bool_] = (scores >= self.semantics.threshold) != self.truth
        return flipped

    def alive(self, removed: Sequence[int]) -> Ints:
        """Mark the paths that are left, 1 or 0."""
        gone = self.carries[list(removed)].sum(axis=0) if len(removed) else 0
        return np.asarray((np.zeros(len(self.path_body)) + gone) == 0, dtype=np.int64)

    def lost(self, alive: Ints) -> tuple[Ints, Ints]:
        """Numbers of living paths by kind, and how many of them each fact carries."""
        sequence, _, kind = self.kinds
        by_kind = np.zeros((len(kind), len(sequence)), dtype=np.int64)
        by_kind[np.arange(len(kind)), kind] = alive
        return by_kind.sum(axis=0), np.asarray(self.carries @ by_kind, dtype=np.int64)

    def best_possible(self, total: Ints, lost: Ints, removals: int) -> Floats:
        """Score that no choice of so many facts gets past; `monotone` only."""
        sequence, _, _ = self.kinds
        left = total.copy()
        for k in np.flatnonzero(self.helps).tolist():
            mine = np.flatnonzero(sequence == k)  # the truest first
            carried = lost[:, mine].sum(axis=1)
            busiest = np.sort(carried)[max(len(carried) - removals, 0) :]
            killed = min(int(busiest.sum()), int(total[mine].sum()))
            before = np.concatenate([[0], np.cumsum(total[mine])[:-1]])
            left[mine] -= np.clip(killed - before, 0, total[mine])
        return self.scores(left[np.newaxis])


def sides(rules: Sequence[Rule], path: Path) -> set[bool]:
    """Heads (negated or not) of the rules with weight that walk a sequence."""
    return {
        rule.clause.negated
        for rule in rules
        if not isinstance(rule.clause, Prior) and rule.clause.path == path and rule.weight > 0
    }


def is_monotone(rules: Sequence[Rule], semantics: Semantics, soft: bool) -> bool:
    """Whether losing a path never moves the score towards the side of its rules.

    It may where one sequence speaks for and against, and where soft paths share log2(1 + n) or 1:
    there a weak path can take from a strong one.
    """
    shared = soft and semantics.counts is not Counts.RAW
    if shared and semantics.relaxation is not Relaxation.BOOLEAN:
        return False
    return all(len(sides(rules, path)) < 2 for path in rule_paths(rules))


class _SpentError(Exception):
    """The exact search has scored as many sets as it may."""


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
        total, lost = self.removals.lost(self.removals.alive(chosen))
        lost = lost[self.candidates[start:]]
        if self.removals.monotone:
            self._spend(1)
            if not self.removals.flips(self.removals.best_possible(total, lost, size))[0]:
                return None
        if size == 1:
            self._spend(len(lost))
            scores = self.removals.scores(total - lost)
            flips = np.flatnonzero(self.removals.flips(scores))
            if not len(flips):
                return None
            return (*chosen, int(self.candidates[start + farthest(scores, flips, self.removals)]))
        for k in range(start, len(self.candidates) - size + 1):
            found = self._extend((*chosen, int(self.candidates[k])), k + 1, size - 1)
            if found is not None:
                return found
        return None

    def _spend(self, scorings: int) -> None:
        self.left -= scorings
        if self.left < 0:
            raise _SpentError


def farthest(scores: Floats, among: Ints, removals: Removals) -> int:
    """Which of `among` moves the score farthest to the wanted side, the first of equals."""
    sign = 1.0 if removals.truth else -1.0
    return int(among[np.argmin(sign * scores[among])])


def smallest_flip(removals: Removals) -> tuple[FlipStatus, FactSet]:
    """Find the smallest set of facts whose loss flips the decision, or a greedy one.

    Facts are tried in the order of how far each alone moves the score, then of their numbers; the
    last of a set is the one that moves it farthest.
    """
    total, lost = removals.lost(removals.alive(()))
    if removals.monotone:
        everything = removals.best_possible(total, lost, len(lost))
        if not removals.flips(everything)[0]:
            return FlipStatus.IMPOSSIBLE, ()
    candidates = _candidates(removals, total, lost)
    try:
        found = _Search(removals, candidates, EXACT_SCORINGS).smallest()
    except _SpentError:
        found = greedy_flip(removals)
        return (FlipStatus.UPPER_BOUND, found) if found else (FlipStatus.NOT_FOUND, ())
    return (FlipStatus.EXACT, found) if found else (FlipStatus.IMPOSSIBLE, ())


def _candidates(removals: Removals, total: Ints, lost: Ints) -> Ints:
    """Facts worth removing, one of each that carry the same paths, the strongest first."""
    scores = removals.scores(total - lost)
    order = np.argsort(scores if removals.truth else -scores, kind="stable")
    carries = removals.carries
    seen: set[bytes] = set()
    kept = []
    for fact in order.tolist():
        paths = carries.indices[carries.indptr[fact] : carries.indptr[fact + 1]]
        if removals.monotone and not removals.helps[removals.path_sequence[paths]].any():
            continue
        if (carried := np.sort(paths).tobytes()) not in seen:
            seen.add(carried)
            kept.append(fact)
    return np.array(kept, dtype=np.int64)


def greedy_flip(removals: Removals) -> FactSet:
    """Take away the fact that does most, again and again, then give back what is not needed.

    Empty where that does not flip the decision within `GREEDY_FACTS` facts.
    """
    chosen: FactSet = ()
    helping = removals.helps[removals.kinds[0]]
    while len(chosen) < GREEDY_FACTS:
        total, lost = removals.lost(removals.alive(chosen))
        carried = lost[:, helping].sum(axis=1)
        busiest = np.argsort(-carried, kind="stable")[:GREEDY_WIDTH]
        busiest = busiest[carried[busiest] > 0]
        if not len(busiest):
            return ()
        scores = removals.scores(total - lost[busiest])
        best = farthest(scores, np.arange(len(busiest)), removals)
        chosen = (*chosen, int(busiest[best]))
        if removals.flips(scores[best : best + 1])[0]:
            return _needed(removals, chosen)
    return ()


def _needed(removals: Removals, chosen: FactSet) -> FactSet:
    """Give back facts, the first taken first, as long as the decision stays flipped."""
    for fact in chosen:
        fewer = tuple(other for other in chosen if other != fact)
        total, _ = removals.lost(removals.alive(fewer))
        if removals.flips(removals.scores(total[np.newaxis]))[0]:
            chosen = fewer
    return chosen
