"""Histograms: all that the piecewise learner needs of a table of counts that does not fit.

A clause that learns alone sees targets only by their count and label, so the numbers of targets
with each (sequence, count, label) are enough; a database adds them up where the counts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.arrays import Integers, Ints, Millionths, pointers
from hornbeam.rules.body import Body


@dataclass(frozen=True, eq=False)
class Histograms:
    """Groups `indptr[c]:indptr[c+1]` of equal (count, label) belong to `bodies[c]`.

    `size` says how many targets a group has, `label` its label in millionths. Within a sequence
    groups are sorted by count, then label. The table they stand for has `n_rows` rows; it
    would have fitted with `max_rows`.
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
        path: Integers,
        count: Ints,
        label: Integers,
        size: Ints,
    ) -> Histograms:
        """Sort groups given in any order."""
        order = np.lexsort((label, count, path))
        indptr = pointers(np.bincount(path, minlength=len(bodies)))
        return cls(
            bodies, max_rows, indptr, count[order], label[order].astype(np.int32), size[order]
        )

    @property
    def n_rows(self) -> int:
        """Rows of the table of counts that the histograms sum up."""
        return int(self.size.sum())

    def column(self, row: int) -> slice:
        """Where the groups of a sequence stand."""
        return slice(int(self.indptr[row]), int(self.indptr[row + 1]))
