"""The best pairs of all, found by upper bounds: what cannot be among them is never counted.

Subjects are queued by the best score that any of their pairs could have. From those at the
front all objects' margins are found at once (`hornbeam.scoring.margins`), the pairs of highest
bound are counted and scored exactly, and subjects that cannot enter the best any more are dropped.
A score is never above its bound, so what is left at the end are the best, ties by subject and
object included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.rules.rule_model import Relaxation
from hornbeam.scoring.margins import Margins

#: Maximum number of subjects walked from at once; begins with one and doubles each time.
MAX_SUBJECTS = 1024
#: Pairs that are counted first, in addition to `top`.
FIRST_PAIRS = 64
#: Maximum rounding error of a score computed from its margin.
ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class BestPairs:
    """Subjects, objects and scores, best first, ties by subject and object; at most `top`."""

    subject: Ids
    object: Ids
    score: Floats
    top: int

    @classmethod
    def none(cls, top: int) -> BestPairs:
        """No pairs yet."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), top)

    def with_pairs(self, subject: Ids, object_: Ids, score: Floats) -> BestPairs:
        """The best of these and others."""
        subject = np.concatenate([self.subject, subject])
        object_ = np.concatenate([self.object, object_])
        score = np.concatenate([self.score, score])
        best = np.lexsort((object_, subject, -score))[: self.top]
        return BestPairs(subject[best], object_[best], score[best], self.top)

    @property
    def least(self) -> float:
        """The score that a pair must reach to be among them."""
        return float(self.score[-1]) if len(self.score) == self.top else -np.inf

    def may_include(self, bound: Floats, subject: Ids, object_: Ids | None = None) -> Bools:
        """Which pairs, or with their subjects alone which of these, could be among them.

        `bound` is what they score at most.
        """
        if len(self.score) < self.top:
            return np.ones(len(bound), dtype=np.bool_)
        last = self.subject[-1], self.object[-1]
        before = subject < last[0]
        before |= (subject == last[0]) & (True if object_ is None else object_ < last[1])
        return np.asarray((bound > self.least) | ((bound == self.least) & before))


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
        closed_form = score_map if self.score is Score.MAP else score_mean
        return np.minimum(closed_form(up, down, self.relaxation) * (1.0 + ROUNDING), 1.0)

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


#: Scores pairs, and leaves out those that no rule for the target reaches.
PairScorer = Callable[[Ids, Ids], tuple[Ids, Ids, Floats]]


def best_pairs(
    margins: Margins,
    score_ids: PairScorer,
    subjects: Ids,
    top: int,
    score: Score,
    progress: Progress = SILENT,
) -> BestPairs:
    """Find the best new pairs of some subjects."""
    bounds = ScoreBounds(margins.model.semantics.relaxation, score)
    best, margin = BestPairs.none(top), margins.most(subjects)
    order = np.lexsort((subjects, -margin))
    waiting, bound = subjects[order], bounds.of(margin[order])
    most, size = float(np.abs(margin).max(initial=1.0)), 1
    while len(waiting):
        block, waiting, bound = waiting[:size], waiting[size:], bound[size:]
        floor = float(bounds.least_margins(np.array([best.least]), most)[0])
        subject, object_, found = margins.above(np.sort(block), floor)
        best = _with_best_of(best, score_ids, subject, object_, bounds.of(found))
        kept = best.may_include(bound, waiting)
        waiting, bound = waiting[kept], bound[kept]
        size = min(2 * size, MAX_SUBJECTS)
        progress.advance("Following rules", len(subjects) - len(waiting), len(subjects))
    return best


def _with_best_of(
    best: BestPairs,
    score_ids: PairScorer,
    subject: Ids,
    object_: Ids,
    bound: Floats,
) -> BestPairs:
    """The best of these and of some pairs, of which no more are scored than may be among them."""
    order = np.lexsort((object_, subject, -bound))
    size = best.top + FIRST_PAIRS
    while len(order):
        some, order = order[:size], order[size:]
        best = best.with_pairs(*score_ids(subject[some], object_[some]))
        order = order[best.may_include(bound[order], subject[order], object_[order])]
        size *= 2
    return best
