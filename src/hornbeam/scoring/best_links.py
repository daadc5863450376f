"""The best pairs, of all or of every start, by upper bounds: few of the others are counted.

From a block of starts the margins of all ends are found at once (`hornbeam.scoring.margins`). The
pairs of highest margin are counted and scored exactly, then, in rounds, those whose bounds still
allow them to be among the best. A score is never above its bound, so what is left at the end are
the best, ties by start and end included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Positions, places_in_runs, run_starts
from hornbeam.base.choices import Relaxation, Score
from hornbeam.densities.integrals import closed_form_score
from hornbeam.scoring.margin_kernels import PairBounds

#: Maximum rounding error of a score computed from its margin.
ROUNDING = 8 * np.finfo(np.float64).eps


class ScoredPairs(NamedTuple):
    """Pairs from starts to ends, and their scores."""

    start: Ids
    end: Ids
    score: Floats

    @classmethod
    def concatenated(cls, parts: Sequence[ScoredPairs]) -> ScoredPairs:
        """All pairs of some parts, of which there may be none."""
        none = np.empty(0, dtype=np.int32)
        return cls(
            np.concatenate([none, *(part.start for part in parts)]),
            np.concatenate([none, *(part.end for part in parts)]),
            np.concatenate([np.empty(0), *(part.score for part in parts)]),
        )

    def take(self, rows: Integers | Bools) -> ScoredPairs:
        """The pairs at some rows."""
        return ScoredPairs(self.start[rows], self.end[rows], self.score[rows])


#: Scores pairs, and leaves out those that no rule for the target reaches.
PairScorer = Callable[[Ids, Ids], ScoredPairs]


@dataclass(frozen=True, eq=False)
class ScoreBounds:
    """The score that pairs of a margin have at most."""

    relaxation: Relaxation
    score: Score

    def of(self, margin: Floats) -> Floats:
        """Bounds of scores, non-decreasing in the margin.

        For y in {0, 1} and for hinges of power 1 a score depends on A - B alone. For power 2 the
        density of y is proportional to exp(d y + s y (1 - y)) with d = A - B and s = A + B >= |d|;
        the second factor draws towards 1/2, so that the score is highest at s = d where d > 0, and
        else at most 1/2.
        """
        up, down = np.maximum(margin, 0.0), np.maximum(-margin, 0.0)
        if self.relaxation is Relaxation.SQUARED:
            down = np.zeros_like(down)
        highest = closed_form_score(self.score, up, down, self.relaxation)
        return np.minimum(highest * (1.0 + ROUNDING), 1.0)

    def least_margins(self, wanted: Floats, most: float) -> Floats:
        """Lower bounds of the margins whose score bound reaches each value of `wanted`.

        Bisected between `-most` and `most`.
        """
        low, high = np.full(len(wanted), -most), np.full(len(wanted), most)
        for _ in range(60):
            middle = (low + high) / 2
            less = self.of(middle) < wanted
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return np.where(self.of(np.full(len(wanted), -most)) >= wanted, -np.inf, low)


@dataclass(frozen=True, eq=False)
class BestPairs:
    """Subjects, objects and scores of at most `top` pairs, of all or of every subject.

    Best first, ties by subject and object; by subject first where `per_subject`.
    """

    top: int
    per_subject: bool
    pairs: ScoredPairs = field(default_factory=lambda: ScoredPairs.concatenated([]))

    def with_pairs(self, others: ScoredPairs) -> BestPairs:
        """The best of these and others."""
        pairs = ScoredPairs.concatenated([self.pairs, others])
        group = self.group(pairs.start)
        order = np.lexsort((pairs.end, pairs.start, -pairs.score, group))
        return replace(self, pairs=pairs.take(order[places_in_runs(group[order]) < self.top]))

    def with_best_of(
        self, others: PairBounds, score_ids: PairScorer, bounds: ScoreBounds, first: int
    ) -> BestPairs:
        """The best of these and of others, of which no more are scored than may be among them.

        In the first round `top` and `first` more pairs are scored, of all or of every start.
        """
        best, (start, end, margin, _) = self, others
        most, size = float(np.abs(margin).max(initial=1.0)), self.top + first
        # scores of higher margins are equal to the last digit
        highest = float(bounds.least_margins(np.ones(1), most)[0])
        while len(start):
            now = _first(self.group(start), start, end, np.minimum(margin, highest), size)
            best = best.with_pairs(score_ids(start[now], end[now]))
            # bounds of scores take long: most pairs are out by their margins already
            likely = margin >= best.least(start, lambda least: bounds.least_margins(least, most))
            likely[now] = False
            start, end, margin = start[likely], end[likely], margin[likely]
            kept = best.may_include(bounds.of(margin), start, end)
            start, end, margin = start[kept], end[kept], margin[kept]
            size *= 2
        return best

    def group(self, subject: Ids) -> Ids:
        """What pairs compete in: their subjects, or all in one."""
        return subject if self.per_subject else np.zeros_like(subject)

    @cached_property
    def _last(self) -> ScoredPairs:
        """The worst pair of every group that already has `top` pairs."""
        return self.pairs.take(places_in_runs(self.group(self.pairs.start)) == self.top - 1)

    def _row(self, subject: Ids) -> Positions:
        """Index of the group of every subject in `_last`, -1 where it has fewer pairs."""
        group, full = self.group(subject), self.group(self._last.start)
        at = np.searchsorted(full, group)
        return np.where(np.append(full, -1)[at] == group, at, -1)

    def least(self, subject: Ids, value: Callable[[Floats], Floats] = np.asarray) -> Floats:
        """The score that a pair of each subject must reach to be among them, or a value of it."""
        return np.append(value(self._last.score), -np.inf)[self._row(subject)]

    def may_include(self, bound: Floats, subject: Ids, object_: Ids | None = None) -> Bools:
        """Which pairs, or with their subjects alone which of these, could be among them.

        `bound` is what they score at most.
        """
        row, least = self._row(subject), self.least(subject)
        last_subject, last_object = (np.append(ids, -1)[row] for ids in self._last[:2])
        before = subject < last_subject
        before |= (subject == last_subject) & (True if object_ is None else object_ < last_object)
        return np.asarray((bound > least) | ((bound == least) & before))


def _first(group: Ids, subject: Ids, object_: Ids, margin: Floats, size: int) -> Positions:
    """Rows of the `size` pairs of highest margin of every group, ties by subject and object."""
    starts = run_starts(group).tolist()
    chosen = []
    for low, high in zip(starts, [*starts[1:], len(group)], strict=True):
        rows = np.arange(low, high)
        if len(rows) > size:
            floor = np.partition(margin[low:high], len(rows) - size)[len(rows) - size]
            rows = low + np.flatnonzero(margin[low:high] >= floor)
            rows = rows[np.lexsort((object_[rows], subject[rows], -margin[rows]))[:size]]
        chosen.append(rows)
    return np.concatenate(chosen)
