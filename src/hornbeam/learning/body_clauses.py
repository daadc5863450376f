"""The clauses of bodies: one for and one against the target per body and way of counting.

A body and its mirror image may share one column, the sum of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ints, part_numbers, pointers, run_starts
from hornbeam.counting.columns import ColumnArrays
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import mentions_beliefs
from hornbeam.rules.weighing import Counts, Weighing


def body_lengths(clauses: Sequence[Clause]) -> Ints:
    """Number of body atoms of every clause, 0 for priors."""
    return np.array([len(clause.body) for clause in clauses], dtype=np.int64)


def model_counts(ways: Sequence[Counts]) -> Counts:
    """The way of counting in a model's first line: the default of rules that state no other."""
    return ways[0] if len(ways) == 1 and ways[0] is not Counts.SHARE else Counts.RAW


def useful_ways(body: Body, ways: Sequence[Counts]) -> list[Counts]:
    """The ways of counting that make sense for a body.

    Only paths over facts have shares. A body whose count is always 1 needs one way only.
    """
    if body.is_fixed:
        return [model_counts(ways)]
    if body.is_path and not mentions_beliefs(body):
        return list(ways)
    return [way for way in ways if way is not Counts.SHARE] or [Counts.LOG]


class BodyClause(NamedTuple):
    """A clause, the index of its body, and the way of counting."""

    body: int
    way: Counts
    clause: Clause


def body_clauses(
    bodies: Sequence[Body],
    ways: Sequence[Counts],
    medians: Mapping[Body, float],
) -> list[BodyClause]:
    """List the clause and the negation of every body, for each of its ways of counting."""
    model_way, listed = model_counts(ways), []
    for b, body in enumerate(bodies):
        for way in useful_ways(body, ways):
            # only shares have a median: a model file does not store it for other ways
            median = medians.get(body, 1.0) if way is Counts.SHARE else 1.0
            weighing = None if way is model_way else Weighing(way, median)
            listed += [
                BodyClause(b, way, Clause(body, negated, weighing)) for negated in (False, True)
            ]
    return listed


def priors_of(predicates: Iterable[str]) -> list[Clause]:
    """List the two priors of every target predicate."""
    return [prior(name, negated) for name in predicates for negated in (False, True)]


def mirror_groups(bodies: Sequence[Body]) -> Ints:
    """For every body, the index at which it or its mirror image occurs first."""
    first: dict[Body, int] = {}
    return np.array(
        [first.setdefault(body, first.setdefault(body.mirror, b)) for b, body in enumerate(bodies)],
        dtype=np.int64,
    )


def added_by_group(parts: Mapping[Counts, ColumnArrays], group: Ints) -> dict[Counts, ColumnArrays]:
    """Add up the columns of every group into its first column; its other columns become empty.

    All ways of counting have entries for the same rows.
    """
    added = dict[Counts, ColumnArrays]()
    for way, (indptr, row, x) in parts.items():
        if not added:
            column = np.repeat(group, np.diff(indptr))
            # every column is sorted already, which makes a stable sort fast
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
    different orders, so their shares differ in the last digits. Medians and entries are rounded to
    make the models equal.
    """
    indptr, row, x = shares
    column = group[part_numbers(indptr)]
    order = np.lexsort((x, column))
    found, start, size = np.unique(column[order], return_index=True, return_counts=True)
    middle = 0.5 * (x[order[start + (size - 1) // 2]] + x[order[start + size // 2]])
    by_group = np.ones(len(group))
    # only paths have shares and a median
    by_group[found] = [float(f"{m:.6g}") if m > 0.0 else 1.0 for m in middle.tolist()]
    # entries of bodies without shares are 0 and stay 0
    weighed = np.round(np.log2(1.0 + x / by_group[column]), 9).astype(np.float64)
    medians = {body: float(by_group[group[b]]) for b, body in enumerate(statistics.bodies)}
    return ColumnArrays(indptr, row, weighed), medians
