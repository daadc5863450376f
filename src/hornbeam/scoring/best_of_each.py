"""The best pairs of every subject by upper bounds: most of what a subject reaches is not counted.

From a block of subjects all objects' margins are found at once. Of every subject the pairs of
highest bound are scored exactly, then, round by round, those whose bounds let them be among its
best still.
"""

from __future__ import annotations

import numpy as np

from hornbeam.arrays import Bools, Floats, Ids, Ints, run_starts
from hornbeam.choices import Score
from hornbeam.progress import SILENT, Progress
from hornbeam.scoring.bounded_search import BestPairs, Exactly, ScoreBounds
from hornbeam.scoring.margins import Margins

#: Most subjects walked from at once, and about the most pairs that conditions may give them.
MOST_SUBJECTS = 256
MOST_PAIRS = 4_000_000
#: Pairs of a subject that are counted first, beside as many as are wanted.
FIRST_PAIRS = 4


def best_of_each(
    margins: Margins,
    exactly: Exactly,
    subjects: Ids,
    top: int,
    score: Score,
    progress: Progress = SILENT,
) -> BestPairs:
    """Find the best new pairs of every subject: by subject, best first, ties by object."""
    bounds = ScoreBounds(margins.model.semantics.relaxation, score)
    size = max(1, min(MOST_SUBJECTS, MOST_PAIRS // max(margins.ends_by_conditions, 1)))
    blocks, subjects = [BestPairs.none(top)], np.sort(subjects)
    for low in range(0, len(subjects), size):
        block = subjects[low : low + size]
        subject, object_, margin = margins.above(block, -np.inf)
        blocks.append(_best_in(exactly, subject, object_, bounds.of(margin), top))
        progress.advance("Following rules", low + len(block), len(subjects))
    return BestPairs(
        np.concatenate([block.subject for block in blocks]),
        np.concatenate([block.object for block in blocks]),
        np.concatenate([block.score for block in blocks]),
        top,
    )


def _best_in(exactly: Exactly, subject: Ids, object_: Ids, bound: Floats, top: int) -> BestPairs:
    """The best of some subjects' pairs."""
    order = np.lexsort((object_, -bound, subject))
    subject, object_, bound = subject[order], object_[order], bound[order]
    best, size = BestPairs.none(top), top + FIRST_PAIRS
    while len(subject):
        now = _places(subject) < size
        best = _united(best, *exactly(subject[now], object_[now]))
        kept = ~now
        kept[kept] = _may_have(best, subject[kept], object_[kept], bound[kept])
        subject, object_, bound = subject[kept], object_[kept], bound[kept]
        size *= 2
    return best


def _united(best: BestPairs, subject: Ids, object_: Ids, score: Floats) -> BestPairs:
    """The best of every subject's, with more pairs."""
    subject = np.concatenate([best.subject, subject])
    object_ = np.concatenate([best.object, object_])
    score = np.concatenate([best.score, score])
    order = np.lexsort((object_, -score, subject))
    order = order[_places(subject[order]) < best.top]
    return BestPairs(subject[order], object_[order], score[order], best.top)


def _may_have(best: BestPairs, subject: Ids, object_: Ids, bound: Floats) -> Bools:
    """Which pairs could be among the best of their subjects; `bound` is what they score at most."""
    last = np.flatnonzero(_places(best.subject) == best.top - 1)
    at = np.searchsorted(best.subject[last], subject)
    full = np.append(best.subject[last], -1)[at] == subject
    least = np.append(best.score[last], -np.inf)[at]
    before = object_ < np.append(best.object[last], -1)[at]
    return np.asarray(~full | (bound > least) | ((bound == least) & before))


def _places(subject: Ids) -> Ints:
    """The place of every pair among those of its subject, which stand together, from 0."""
    starts = run_starts(subject)
    sizes = np.diff(np.append(starts, len(subject)))
    return np.arange(len(subject)) - np.repeat(starts, sizes)
