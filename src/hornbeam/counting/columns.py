"""From counts to columns: what each body adds to each target per unit of its rule's weight.

With 0/1 facts a rule of n groundings adds n, log2(1 + n) or 1. A *share* is a second number: the
sum over a path's groundings of the product over its steps of

    1 / sqrt(out-degree x in-degree of the step's relation),

that is, the number of paths normalised by the degrees of the entities on them, so that paths
through hubs count less; it adds log2(1 + share / m) with m its median over the training pairs that
have any. A ground clause of a conjunction takes one grounding of each of its conditions, so their
numbers multiply, and its truth is Łukasiewicz's over all of its atoms (`conjoined`). A condition
with a threshold counts once, as true, where it holds: its groundings above 0 are counted.

A rule with `[z / mean deviation]` adds (x - mean) / deviation for every value x of its first
condition: a number that may be negative, times the groundings of its other conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Integers,
    Ints,
    Millionths,
    Positions,
    part_numbers,
    pointers,
    ranges,
    run_starts,
)
from hornbeam.base.choices import Relaxation
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE
from hornbeam.rules.body import AnyBody, Body, Part
from hornbeam.rules.weighing import Counts, Threshold, Weighing

#: About the maximum number of pairs of rows that are combined at a time.
MAX_COMBINED = 1 << 22


class GroundClauses(NamedTuple):
    """How many ground clauses a body has per target and truth of the body, sorted by both.

    Truths are in millionths, above 0. Numbers are floats: products may exceed 64-bit integers.
    """

    target: Ids
    truth: Millionths
    number: Floats

    @property
    def crisp(self) -> bool:
        """Whether all are wholly true, so that a target has one row."""
        return not len(self.truth) or int(self.truth.min()) == ONE


def conjoined(one: GroundClauses, other: GroundClauses) -> GroundClauses:
    """The ground clauses of two bodies together, without those of truth 0.

    Examples
    --------
    >>> target = np.zeros(2, dtype=np.int32)
    >>> truth = np.array([400_000, 900_000], dtype=np.int32)
    >>> both = conjoined(*[GroundClauses(target, truth, np.array([2.0, 3.0]))] * 2)
    >>> both.truth.tolist(), both.number.tolist()
    ([300000, 800000], [12.0, 9.0])
    """
    if one.crisp and other.crisp:  # far faster
        target, row, others = np.intersect1d(one.target, other.target, True, return_indices=True)
        return GroundClauses(target, one.truth[row], one.number[row] * other.number[others])
    # rows of a target ascend by truth, so those that add up to more than 1 follow each other
    keys = pair_keys(other.target, other.truth, ONE + 1)
    low = np.searchsorted(keys, pair_keys(one.target, ONE - one.truth, ONE + 1), side="right")
    high = np.searchsorted(keys, pair_keys(one.target, ONE, ONE + 1), side="right")
    batches = run_starts(np.cumsum(high - low) // MAX_COMBINED)[1:].tolist()
    parts = []
    for begin, end in pairwise([0, *batches, len(low)]):
        row = begin + part_numbers(pointers((high - low)[begin:end]))
        others = ranges(low[begin:end], high[begin:end])
        key = keys[others] - (ONE - one.truth[row])
        parts.append(_added(key, one.number[row] * other.number[others]))
    key, number = parts[0]
    if len(parts) > 1:
        key, number = _added(*map(np.concatenate, zip(*parts, strict=True)))
    target, truth = np.divmod(key, ONE + 1)
    return GroundClauses(target.astype(np.int32), truth.astype(np.int32), number)


def _added(key: Ints, number: Floats) -> tuple[Ints, Floats]:
    """Distinct keys in their order, and the sums of their numbers."""
    distinct, place = np.unique(key, return_inverse=True)
    return distinct, np.bincount(place, number, len(distinct)).astype(np.float64)


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
        parts, counts = body.parts, weighing.counts
        if counts is Counts.Z:
            value, *others = parts
            factors = map(self.grounded_part, others)
            target, truth, number = reduce(
                conjoined, factors, self.standardised(value.body, weighing)
            )
            starts = run_starts(target)
            return target[starts], _sums(truth / ONE * number, starts)
        if len(parts) == 1 and parts[0].threshold is None:
            rows, x = self._single(parts[0].body, counts)
        else:
            _check_that_strengths_add_up(self.statistics, self.relaxation)
            target, truth, number = self.ground_clauses(body)
            starts = run_starts(target)
            rows, x = target[starts], _strengths(starts, truth, number, counts)
        return rows, weighed_shares(x, weighing.median) if counts is Counts.SHARE else x

    def ground_clauses(self, body: AnyBody) -> GroundClauses:
        """The ground clauses of a body, or of a conjunction, that is not empty."""
        return reduce(conjoined, map(self.grounded_part, body.parts))

    def grounded_part(self, part: Part) -> GroundClauses:
        """The groundings of one condition; true, and one, where it has a threshold that holds."""
        if part.threshold is None:
            statistics = self.statistics
            rows = statistics.column(statistics.place[part.body])
            target, number = statistics.target[rows], statistics.number[rows].astype(np.float64)
            if statistics.body_truth is not None:
                return GroundClauses(target, statistics.body_truth[rows], number)
        else:
            target = self._reached(part.body, part.threshold)
            number = np.ones(len(target))
        return GroundClauses(target, np.full(len(target), ONE, dtype=np.int32), number)

    def standardised(self, body: Body, weighing: Weighing) -> GroundClauses:
        """A value of numbers, its distance from the mean in deviations as number of groundings."""
        rows, total = self._single(body, Counts.SHARE)
        _, n = self._groundings(body)
        number = (total - n * weighing.mean) / weighing.deviation
        return GroundClauses(rows, np.full(len(rows), ONE, dtype=np.int32), number)

    def _single(self, body: Body, counts: Counts) -> Column:
        """The column of one body."""
        indptr, row, x = self.all(counts)
        j = self.statistics.place[body]
        part = slice(int(indptr[j]), int(indptr[j + 1]))
        return row[part], x[part]

    def _reached(self, body: Body, threshold: Threshold) -> Ids:
        """The targets for which a threshold on the groundings of a body holds."""
        if threshold.share:
            rows, x = self._single(body, Counts.SHARE)
            return rows[x > threshold.bound]
        rows, n = self._groundings(body)
        return rows[n >= threshold.bound]

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
    """n, log2(1 + n) or 1; shares and values unchanged."""
    match counts:
        case Counts.RAW | Counts.SHARE | Counts.Z:
            return count.astype(np.float64)
        case Counts.LOG:
            return np.asarray(np.log2(1.0 + count))
        case Counts.EXISTS:
            return np.ones(len(count))


def strengths_add_up(statistics: Statistics, relaxation: Relaxation) -> bool:
    """Whether what a rule adds to a target is one number per unit of its weight.

    With 0/1 facts a ground clause adds a multiple of (1 - y)^p or y^p. With soft facts and Boolean
    targets one of body truth b adds b^p, its whole potential where the head is violated. For
    continuous targets the knees of soft hinges differ, and one number is not enough.
    """
    return statistics.body_truth is None or relaxation is Relaxation.BOOLEAN


def _check_that_strengths_add_up(statistics: Statistics, relaxation: Relaxation) -> None:
    if not strengths_add_up(statistics, relaxation):
        raise InputError(
            "facts with truth values between 0 and 1 need the boolean relaxation here: "
            'use `relaxation="boolean"`, or round the facts'
        )


def count_columns(statistics: Statistics, counts: Counts, relaxation: Relaxation) -> ColumnArrays:
    """Columns of the strength x that each body adds to each target (see `strengths_add_up`)."""
    if counts is Counts.SHARE and statistics.share is None:
        raise InputError("shares were not counted: ask for them with `shares` of the language")
    if statistics.body_truth is None:
        n = statistics.share if counts is Counts.SHARE else statistics.number
        assert n is not None
        return ColumnArrays(statistics.indptr, statistics.target, transformed(n, counts))
    _check_that_strengths_add_up(statistics, relaxation)
    column = part_numbers(statistics.indptr)
    starts = run_starts(column, statistics.target)
    if statistics.share is not None and counts is Counts.SHARE:
        x = _sums(statistics.share, starts)
    else:
        x = _strengths(starts, statistics.body_truth, statistics.number, counts)
    sizes = np.bincount(column[starts], minlength=len(statistics.bodies))
    return ColumnArrays(pointers(sizes), statistics.target[starts], x)


def _strengths(
    starts: Positions, truth: Millionths, number: Integers | Floats, counts: Counts
) -> Floats:
    """What ground clauses add to a Boolean target by their truths b; its rows begin at `starts`.

    That is the sum of b, log2(1 + the sum of b), or the largest b.
    """
    b = truth / ONE
    if counts is Counts.EXISTS:
        return np.maximum.reduceat(b, starts) if len(starts) else b[:0]
    return transformed(_sums(b * number, starts), counts)


def _sums(x: Floats, starts: Positions) -> Floats:
    """Sums of the runs that begin at `starts`."""
    return np.add.reduceat(x, starts) if len(starts) else x[:0]


class HingeRows(NamedTuple):
    """Targets of groups of ground clauses, the truth of their bodies, and their number."""

    target: Ints
    height: Floats
    number: Floats

    @classmethod
    def wholly_true(cls, targets: Integers, number: Floats | None = None) -> HingeRows:
        """So many ground clauses per target, one by default, whose bodies are true."""
        ones = np.ones(len(targets))
        return cls(targets.astype(np.int64), ones, ones if number is None else number)

    def part(self, rows: slice | Bools) -> HingeRows:
        """Some of the rows."""
        return HingeRows(self.target[rows], self.height[rows], self.number[rows])


def joined_rows(parts: Sequence[HingeRows]) -> tuple[Ints, HingeRows]:
    """The rows of all clauses, and the clause of each."""
    clause = part_numbers(pointers([len(part.target) for part in parts]))
    return clause, HingeRows._make(np.concatenate(column) for column in zip(*parts, strict=True))


def body_hinges(statistics: Statistics, counts: Counts) -> HingeRows:
    """The hinges of every body, in the order of the statistics."""
    starts = run_starts(part_numbers(statistics.indptr), statistics.target)
    count = statistics.number.astype(np.float64)
    return _hinges(GroundClauses(statistics.target, statistics.all_truths, count), starts, counts)


def clause_hinges(clauses: GroundClauses, counts: Counts) -> HingeRows:
    """The hinges of the ground clauses of one body or conjunction."""
    return _hinges(clauses, run_starts(clauses.target), counts)


def _hinges(clauses: GroundClauses, starts: Ints, counts: Counts) -> HingeRows:
    """One hinge per row; those of a (body, target) follow each other from `starts` on.

    Where counts are not raw, its n ground clauses share log2(1 + n) or 1.
    """
    target, truth, count = clauses
    if counts is not Counts.RAW:
        cell = part_numbers(np.append(starts, len(target)))
        total = np.bincount(cell, count)
        count = count * (transformed(total, counts) / total)[cell]
    return HingeRows(target.astype(np.int64), truth / ONE, count)
