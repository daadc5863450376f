"""Columns of bodies that belong together: a body and its mirror image share one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hornbeam.base.arrays import Ints, part_numbers, pointers, run_starts
from hornbeam.counting.columns import ColumnArrays
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.rules.body import Body
from hornbeam.rules.weighing import Counts


def mirror_groups(bodies: Sequence[Body]) -> Ints:
    """For every body the first index of itself or its mirror image."""
    first: dict[Body, int] = {}
    return np.array(
        [first.setdefault(body, first.setdefault(body.mirror, b)) for b, body in enumerate(bodies)],
        dtype=np.int64,
    )


def added_by_group(parts: Mapping[Counts, ColumnArrays], group: Ints) -> dict[Counts, ColumnArrays]:
    """Columns with the sum of a group as its first column; the others of the group are empty.

    All ways of counting have entries for the same rows.
    """
    added = dict[Counts, ColumnArrays]()
    for way, (indptr, row, x) in parts.items():
        if not added:
            column = np.repeat(group, np.diff(indptr))
            # columns are sorted already, and a stable sort makes use of it
            key = pair_keys(column, row, int(row.max(initial=0)) + 1)
            order = np.argsort(key, kind="stable")
            starts = run_starts(key[order])
            pointer = pointers(np.bincount(column[order[starts]], minlength=len(group)))
            rows = row[order[starts]]
        sums = np.add.reduceat(x[order], starts) if len(starts) else x
        added[way] = ColumnArrays(pointer, rows, sums)
    return added


def shares_by_median(
    statistics: Statistics, shares: ColumnArrays, group: Ints
) -> tuple[ColumnArrays, dict[Body, float]]:
    """Columns log2(1 + share / median), and the medians.

    A group has one median, so that a rule and its mirror image are equal. Engines add up shares in
    different orders and differ in the last digits: medians and entries are rounded so that the
    model is the same.
    """
    indptr, row, x = shares
    column = group[part_numbers(indptr)]
    order = np.lexsort((x, column))
    found, start, size = np.unique(column[order], return_index=True, return_counts=True)
    middle = 0.5 * (x[order[start + (size - 1) // 2]] + x[order[start + size // 2]])
    by_group = np.ones(len(group))
    # only paths have shares and a median
    by_group[found] = [float(f"{m:.6g}") if m > 0.0 else 1.0 for m in middle.tolist()]
    # rows of bodies without shares have share 0 and stay 0
    weighed = np.round(np.log2(1.0 + x / by_group[column]), 9).astype(np.float64)
    medians = {body: float(by_group[group[b]]) for b, body in enumerate(statistics.bodies)}
    return ColumnArrays(indptr, row, weighed), medians
