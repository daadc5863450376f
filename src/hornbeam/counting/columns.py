"""From counts to columns: what each body adds to each target per unit of its rule's weight.

With 0/1 facts a rule of n groundings adds n, log2(1 + n) or 1. A *share* is a second number: the
sum over a path's groundings of the product over its steps of

    1 / sqrt(out-degree x in-degree of the step's relation),

that is, the number of paths normalised by the degrees of the entities on them, so that paths
through hubs count less; it adds log2(1 + share / m) with m its median over the training pairs that
have any. Groundings of a conjunction multiply; a condition with a threshold counts once where it
holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Floats, Ids, Integers, Ints, part_numbers, pointers, run_starts
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE
from hornbeam.rules.body import AnyBody, Body, Part
from hornbeam.rules.rule_model import Relaxation
from hornbeam.rules.weighing import Counts, Weighing

#: Rows and entries of one column; rows ascend.
Column = tuple[Ids, Floats]


class ColumnArrays(NamedTuple):
    """Columns, concatenated: where each begins, rows, entries."""

    indptr: Ints
    row: Ids
    x: Floats


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of bodies and conjunctions over one table of statistics."""

    statistics: Statistics
    relaxation: Relaxation = Relaxation.BOOLEAN
    #: The columns of all bodies for each way of counting that was requested.
    _cached: dict[Counts, ColumnArrays] = field(default_factory=dict, init=False, repr=False)

    def all(self, counts: Counts) -> ColumnArrays:
        """Columns of all bodies; shares are not divided by their median."""
        if counts not in self._cached:
            self._cached[counts] = count_columns(self.statistics, counts, self.relaxation)
        return self._cached[counts]

    def of(self, body: AnyBody, weighing: Weighing) -> Column:
        """The column of a body or conjunction."""
        parts = body.parts
        if len(parts) == 1 and parts[0].threshold is None:
            return self._weighed(parts[0].body, weighing)
        rows, n = self.factor(parts[0])
        for part in parts[1:]:
            others, m = self.factor(part)
            rows, of_n, of_m = np.intersect1d(rows, others, True, return_indices=True)
            n = n[of_n] * m[of_m]
        return rows, weighed(n, weighing)

    def _weighed(self, body: Body, weighing: Weighing) -> Column:
        rows, x = self._single(body, weighing.counts)
        return rows, weighed(x, weighing) if weighing.counts is Counts.SHARE else x

    def _single(self, body: Body, counts: Counts) -> Column:
        """The column of one body."""
        indptr, row, x = self.all(counts)
        j = self.statistics.place[body]
        part = slice(int(indptr[j]), int(indptr[j + 1]))
        return row[part], x[part]

    def factor(self, part: Part) -> Column:
        """What a condition multiplies the groundings of its conjunction by."""
        if part.threshold is None:
            return self._single(part.body, Counts.RAW)
        if part.threshold.share:
            rows, x = self._single(part.body, Counts.SHARE)
            rows = rows[x > part.threshold.bound]
        else:
            rows, n = self._groundings(part.body)
            rows = rows[n >= part.threshold.bound]
        return rows, np.ones(len(rows))

    def _groundings(self, body: Body) -> tuple[Ids, Ints]:
        """Targets of a body and their numbers of groundings, whatever the truth of these."""
        part = self.statistics.column(self.statistics.place[body])
        target, count = self.statistics.target[part], self.statistics.count[part]
        starts = run_starts(target)
        return target[starts], np.add.reduceat(count, starts) if len(starts) else count


def weighed(n: Floats, weighing: Weighing) -> Floats:
    """What n groundings add: n, log2(1 + n), 1, or log2(1 + n / median) for shares."""
    if weighing.counts is Counts.SHARE:
        return weighed_shares(n, weighing.median)
    return transformed(n, weighing.counts)


def weighed_shares(share: Floats, median: float | Floats) -> Floats:
    """What shares add: log2(1 + share / median)."""
    return np.asarray(np.log2(1.0 + share / median))


def transformed(count: Integers | Floats, counts: Counts) -> Floats:
    """n, log2(1 + n) or 1; shares unchanged."""
    match counts:
        case Counts.RAW | Counts.SHARE:
            return count.astype(np.float64)
        case Counts.LOG:
            return np.asarray(np.log2(1.0 + count))
        case Counts.EXISTS:
            return np.ones(len(count))


def count_columns(statistics: Statistics, counts: Counts, relaxation: Relaxation) -> ColumnArrays:
    """Columns of the strength x that each body adds to each target.

    With 0/1 facts x is the transformed count. With soft facts and Boolean targets a ground clause
    of body truth b adds b^p, its whole potential where the head is violated; for continuous
    targets the knees of soft hinges differ, and one number per target is not enough.
    """
    if counts is Counts.SHARE and statistics.share is None:
        raise InputError("shares were not counted: ask for them with `shares` of the language")
    if statistics.body_truth is None:
        n = statistics.share if counts is Counts.SHARE else statistics.count
        assert n is not None
        return ColumnArrays(statistics.indptr, statistics.target, transformed(n, counts))
    if relaxation is not Relaxation.BOOLEAN:
        raise InputError(
            "facts with truth values between 0 and 1 need the boolean relaxation here: "
            'use `relaxation="boolean"`, or round the facts'
        )
    column = part_numbers(statistics.indptr)
    starts = run_starts(column, statistics.target)
    body = statistics.body_truth / ONE
    if counts is Counts.EXISTS:
        x = np.maximum.reduceat(body, starts) if len(starts) else body[:0]
    else:
        each = statistics.share if counts is Counts.SHARE else body * statistics.count
        assert each is not None
        total = np.add.reduceat(each, starts) if len(starts) else body[:0]
        x = total if counts is not Counts.LOG else np.log2(1.0 + total)
    sizes = np.bincount(column[starts], minlength=len(statistics.bodies))
    return ColumnArrays(pointers(sizes), statistics.target[starts], x)
