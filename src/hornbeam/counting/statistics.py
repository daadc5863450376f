"""Statistics: the sparse table of counts that engines produce and learners consume.

For body c and target i it gives the number of ground clauses and the truth of their bodies: rows
(target, body truth, count), grouped by body. With 0/1 facts every body truth is 1 and a (body,
target) has one row: its number of groundings. A clause with head t turns the count into n⁺, its
negation into n⁻. Engines and learners share nothing else.

`Histograms` replace counts that do not fit in memory. A clause that is fitted alone sees targets
only by their count and label, so the piecewise learner needs no more than the numbers of targets
with each (body, count, label). The database that has the counts adds these numbers up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Integers,
    Ints,
    Millionths,
    part_numbers,
    pointers,
    ranges,
)
from hornbeam.facts.atom_keys import LIMIT, pair_keys
from hornbeam.facts.table import ONE
from hornbeam.rules.body import Body

#: Bytes of one row of the sparse table while it is built.
ROW_BYTES = 60


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts per body: rows `indptr[c]:indptr[c+1]` belong to `bodies[c]`.

    Within a body rows are sorted by target, then body truth. `body_truth` is None where every
    body truth is 1; else it holds integer millionths above 0. `share` holds the shares of the
    counted paths (see `hornbeam.counting.columns`), to be added up over the rows of a target; of
    values of numbers their sum; of atoms that decay with time the sum of what is left of them; 0
    for other bodies. It is None where none of these was requested.
    """

    bodies: Sequence[Body]
    n_targets: int
    indptr: Ints
    target: Ids
    count: Ints
    body_truth: Millionths | None = None
    share: Floats | None = None

    @cached_property
    def place(self) -> dict[Body, int]:
        """Index of the column of every body."""
        return {body: j for j, body in enumerate(self.bodies)}

    @cached_property
    def number(self) -> Ints | Floats:
        """What is counted: groundings, each of them one, or less where they decay with time."""
        decays = [] if self.share is None else [body.decays for body in self.bodies]
        if self.share is None or not any(decays):
            return self.count
        decayed = np.array(decays, dtype=np.bool_)[part_numbers(self.indptr)]
        return np.where(decayed, self.share, self.count)

    @property
    def all_truths(self) -> Millionths:
        """The body truth of every row, also where all of them are 1."""
        if self.body_truth is None:
            return np.full(len(self.count), ONE, dtype=np.int32)
        return self.body_truth

    @classmethod
    def of(
        cls,
        bodies: Sequence[Body],
        n_targets: int,
        body: Integers,
        target: Ids,
        body_truth: Millionths,
        count: Ints,
        share: Floats | None = None,
    ) -> Statistics:
        """Sort rows given in any order; `body` has the index of the body of every row."""
        crisp = bool(np.all(body_truth == ONE))
        key = pair_keys(body, target, n_targets)
        if crisp:
            # a (body, target) has one row, so the order of equal keys does not matter
            order = np.argsort(key)
        elif len(bodies) * n_targets * (ONE + 1) <= LIMIT:
            # one sort of a joint key takes a tenth of the time of three
            order = np.argsort(pair_keys(key, body_truth, ONE + 1), kind="stable")
        else:
            order = np.lexsort((body_truth, key))
        indptr = pointers(np.bincount(body, minlength=len(bodies)))
        truth = None if crisp else body_truth[order]
        shares = None if share is None else share[order]
        return cls(bodies, n_targets, indptr, target[order], count[order], truth, shares)

    @classmethod
    def empty(cls, bodies: Sequence[Body], n_targets: int, shares: bool = False) -> Statistics:
        """A table without counts."""
        none = np.empty(0, dtype=np.int32)
        share = np.empty(0) if shares else None
        return cls.of(bodies, n_targets, none, none, none, none.astype(np.int64), share)

    def without_shares(self) -> Statistics:
        """The counts alone."""
        return replace(self, share=None)

    def followed_by(self, other: Statistics) -> Statistics:
        """Append the columns of other bodies for the same targets; soft if either table is."""
        indptr = np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]])
        bodies = [*self.bodies, *other.bodies]
        return replace(_rows_of_all([self, other]), bodies=bodies, indptr=indptr)

    def only(self, members: Integers) -> Statistics:
        """The columns of some bodies, in that order."""
        low, high = self.indptr[members], self.indptr[members + 1]
        rows = ranges(low, high)
        bodies = [self.bodies[k] for k in members.tolist()]
        return replace(self._rows(rows), bodies=bodies, indptr=pointers(high - low))

    def of_targets(self, rows: Ints) -> Statistics:
        """Counts of some targets, renumbered from 0; `rows` ascend."""
        place = np.full(self.n_targets, -1)
        place[rows] = np.arange(len(rows))
        keep = place[self.target] >= 0
        kept = self._rows(keep)
        target = place[kept.target].astype(np.int32)
        indptr = pointers(keep)[self.indptr]
        return replace(kept, n_targets=len(rows), target=target, indptr=indptr)

    def figures(self, positive: Bools) -> Ints:
        """Coverage, coverage of `positive` targets, and ground clauses of every body, as rows."""
        body, target = part_numbers(self.indptr), self.target
        if self.body_truth is not None:  # a target has a row per truth
            body, target = np.unique(np.stack([body, target]), axis=1)
        coverage, true = (
            np.bincount(covered, minlength=len(self.bodies))
            for covered in (body, body[positive[target]])
        )
        return np.stack([coverage, true, np.diff(pointers(self.count)[self.indptr])])

    def _rows(self, rows: Integers | Bools) -> Statistics:
        """A selection of rows, with `indptr` left unchanged."""
        return replace(
            self,
            target=self.target[rows],
            count=self.count[rows],
            body_truth=None if self.body_truth is None else self.body_truth[rows],
            share=None if self.share is None else self.share[rows],
        )

    @classmethod
    def united(cls, n_targets: int, parts: Sequence[tuple[Ints, Statistics]]) -> Statistics:
        """One table from tables of the same bodies for parts of the targets.

        Each table comes with the rows of its targets among all.
        """
        rows = _rows_of_all([table for _, table in parts])
        return cls.of(
            rows.bodies,
            n_targets,
            np.concatenate([part_numbers(table.indptr) for _, table in parts]),
            np.concatenate([rows[table.target] for rows, table in parts]).astype(np.int32),
            rows.all_truths,
            rows.count,
            rows.share,
        )

    def column(self, row: int) -> slice:
        """Slice of the rows of a body."""
        return slice(int(self.indptr[row]), int(self.indptr[row + 1]))

    def __repr__(self) -> str:
        return (
            f"Statistics({len(self.bodies):,} bodies x {self.n_targets:,} targets, "
            f"{len(self.count):,} counts)"
        )


def _rows_of_all(tables: Sequence[Statistics]) -> Statistics:
    """The concatenated rows, soft or with shares if some table is; all else as in the first."""
    soft = any(table.body_truth is not None for table in tables)
    shares = any(table.share is not None for table in tables)
    return replace(
        tables[0],
        target=np.concatenate([table.target for table in tables]),
        count=np.concatenate([table.count for table in tables]),
        body_truth=np.concatenate([table.all_truths for table in tables]) if soft else None,
        share=np.concatenate([_shares(table) for table in tables]) if shares else None,
    )


def _shares(table: Statistics) -> Floats:
    """The share of every row, 0 where shares were not requested."""
    return np.zeros(len(table.count)) if table.share is None else table.share


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

    def followed_by(self, other: Histograms) -> Histograms:
        """Append the groups of other bodies."""
        return replace(
            self,
            bodies=[*self.bodies, *other.bodies],
            indptr=np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]]),
            count=np.concatenate([self.count, other.count]),
            label=np.concatenate([self.label, other.label]),
            size=np.concatenate([self.size, other.size]),
        )

    def only(self, members: Integers) -> Histograms:
        """The groups of some bodies, in that order."""
        low, high = self.indptr[members], self.indptr[members + 1]
        rows = ranges(low, high)
        return replace(
            self,
            bodies=[self.bodies[k] for k in members.tolist()],
            indptr=pointers(high - low),
            count=self.count[rows],
            label=self.label[rows],
            size=self.size[rows],
        )

    @property
    def n_rows(self) -> int:
        """Rows of the table of counts that the histograms sum up."""
        return int(self.size.sum())

    def column(self, row: int) -> slice:
        """Slice of the groups of a body."""
        return slice(int(self.indptr[row]), int(self.indptr[row + 1]))
