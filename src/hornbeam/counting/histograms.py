"""Histograms: what the piecewise learner needs of counts that do not fit in memory.

A clause that is fitted alone sees targets only by their count and label, so the numbers of targets
with each (body, count, label) are enough; the database that has the counts adds them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Integers, Ints, Millionths, pointers
from hornbeam.rules.body import Body


@dataclass(frozen=True, eq=False)
class Histograms:
    """Groups `indptr[c]:indptr[c+1]` of equal (count, label) belong to `bodies[c]`.

    `size` is the number of targets of a group, `label` their label in millionths. Within a body
    groups are sorted by count, then label. The table of counts would have `n_rows` rows, more
    than the `max_rows` that fit in memory.
    """

    bodies: Sequence[Body]
    max_rows: int
    indptr: Ints
    count: Ints
    label: Millionths
    size: Ints

    @classmethod
    def of(
        cls,
        bodies: Sequence[Body],
        max_rows: int,
        body: Integers,
        count: Ints,
        label: Integers,
        size: Ints,
    ) -> Histograms:
        """Sort groups given in any order; `body` has the index of the body of every group."""
        order = np.lexsort((label, count, body))
        indptr = pointers(np.bincount(body, minlength=len(bodies)))
        return cls(
            bodies, max_rows, indptr, count[order], label[order].astype(np.int32), size[order]
        )

    @property
    def n_rows(self) -> int:
        """Rows of the table of counts that the histograms sum up."""
        return int(self.size.sum())

    def column(self, row: int) -> slice:
        """Slice of the groups of a body."""
        return slice(int(self.indptr[row]), int(self.indptr[row + 1]))
