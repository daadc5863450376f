"""The best pairs of every subject by upper bounds: most of what a subject reaches is not counted.

From a block of subjects all objects' margins are found at once. For every subject the pairs of
highest bound are scored exactly, then, in rounds, those whose bounds still allow them to be among
its best.
"""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, Positions, run_starts
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.scoring.bounded_search import BestPairs, PairScorer, ScoreBounds
from hornbeam.scoring.margins import Margins

#: Maximum number of subjects walked from at once, and roughly that of the pairs that conditions may
#: give them.
MAX_SUBJECTS = 128
MAX_PAIRS = 4_000_000
#: Pairs of a subject that are counted first, in addition to `top`.
FIRST_PAIRS = 4


def best_of_each(
    margins: Margins,
    score_ids: PairScorer,
    subjects: Ids,
    top: int,
    score: Score,
    progress: Progress = SILENT,
) -> BestPairs:
    """Find the best new pairs of every subject: by subject, best first, ties by object."""
    bounds = ScoreBounds(margins.model.semantics.relaxation, score)
    size = max(1, min(MAX_SUBJECTS, MAX_PAIRS // max(margins.ends_by_conditions, 1)))
    blocks, subjects = [BestPairs.none(top)], np.sort(subjects)
    for low in range(0, len(subjects), size):
        block = subjects[low : low + size]
        blocks.append(_best_in(score_ids, bounds, *margins.above(block, -np.inf), top))
        progress.advance("Following rules", low + len(block), len(subjects))
    return BestPairs(
        np.concatenate([block.subject for block in blocks]),
        np.concatenate([block.object for block in blocks]),
        np.concatenate([block.score for block in blocks]),
        top,
    )


def _best_in(
    score_ids: PairScorer, bounds: ScoreBounds, subject: Ids, object_: Ids, margin: Floats, top: int
) -> BestPairs:
    """The best of some subjects' pairs, which are grouped by subject."""
    best, size = BestPairs.none(top), top + FIRST_PAIRS
    while len(subject):
        now = _highest(subject, margin, size)
        best = _united(best, *score_ids(subject[now], object_[now]))
        subject, object_, margin = subject[~now], object_[~now], margin[~now]
        # bounds of scores take long: most pairs are out by their margins already
        likely = margin >= _least_margins(best, bounds, margin)[_rows(best, subject)]
        subject, object_, margin = subject[likely], object_[likely], margin[likely]
        kept = _may_have(best, subject, object_, bounds.of(margin))
        subject, object_, margin = subject[kept], object_[kept], margin[kept]
        size *= 2
    return best


def _highest(subject: Ids, margin: Floats, size: int) -> Bools:
    """Which pairs are of the `size` highest margins of their subjects, or equal to the last."""
    starts = run_starts(subject)
    ends = np.append(starts[1:], len(subject))
    floor = [
        np.partition(margin[low:high], high - low - size)[high - low - size]
        if high - low > size
        else -np.inf
        for low, high in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return np.asarray(margin >= np.repeat(np.array(floor), ends - starts))


def _full(best: BestPairs) -> Positions:
    """Rows of the worst kept pair of every subject that already has `top` pairs."""
    return np.flatnonzero(_places(best.subject) == best.top - 1)


def _rows(best: BestPairs, subject: Ids) -> Positions:
    """Index of every pair's subject among the `_full` ones, -1 where it has fewer pairs."""
    full = best.subject[_full(best)]
    at = np.searchsorted(full, subject)
    return np.where(np.append(full, -1)[at] == subject, at, -1)


def _least_margins(best: BestPairs, bounds: ScoreBounds, margin: Floats) -> Floats:
    """Margins below which no pair enters a full subject's best; last, -inf for all others."""
    most = float(np.abs(margin).max(initial=1.0))
    return np.append(bounds.least_margins(best.score[_full(best)], most), -np.inf)


def _united(best: BestPairs, subject: Ids, object_: Ids, score: Floats) -> BestPairs:
    """The best pairs of every subject, updated with more pairs."""
    subject = np.concatenate([best.subject, subject])
    object_ = np.concatenate([best.object, object_])
    score = np.concatenate([best.score, score])
    order = np.lexsort((object_, -score, subject))
    order = order[_places(subject[order]) < best.top]
    return BestPairs(subject[order], object_[order], score[order], best.top)


def _may_have(best: BestPairs, subject: Ids, object_: Ids, bound: Floats) -> Bools:
    """Which pairs could be among the best of their subjects; `bound` is what they score at most."""
    last, row = _full(best), _rows(best, subject)
    least, before = np.append(best.score[last], -np.inf)[row], np.append(best.object[last], -1)[row]
    return np.asarray((bound > least) | ((bound == least) & (object_ < before)))


def _places(subject: Ids) -> Ints:
    """Position of every pair among those of its subject, from 0; pairs are grouped by subject."""
    starts = run_starts(subject)
    sizes = np.diff(np.append(starts, len(subject)))
    return np.arange(len(subject)) - np.repeat(starts, sizes)
