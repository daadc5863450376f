"""The clauses of bodies: one for and one against the target per body and way of counting.

A body and its mirror image may share one column, the sum of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ints, part_numbers, pointers, run_starts
from hornbeam.counting.columns import ColumnArrays
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.rules.body import AnyBody, Conjunction
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import mentions_beliefs
from hornbeam.rules.weighing import MIN_MEDIAN, Counts, Weighing


def body_lengths(clauses: Sequence[Clause]) -> Ints:
    """Number of body atoms of every clause, 0 for priors."""
    return np.array([len(clause.body) for clause in clauses], dtype=np.int64)


def model_counts(ways: Sequence[Counts]) -> Counts:
    """The way of counting in a model's first line: the default of rules that state no other."""
    return ways[0] if len(ways) == 1 and ways[0] is not Counts.SHARE else Counts.RAW


def useful_ways(body: AnyBody, ways: Sequence[Counts]) -> list[Counts]:
    """The ways of counting that make sense for a body.

    Only paths over facts have shares, and only values of numbers are standardised. Atoms that decay
    with time are a number already. A body whose
    count is always 1 needs one way only.
    """
    if body.is_value:
        return [way for way in ways if way is Counts.Z]
    ways = [way for way in ways if way is not Counts.Z]
    if body.decays:
        return [way for way in ways if way in (Counts.RAW, Counts.LOG)] or [Counts.LOG]
    if isinstance(body, Conjunction) or body.is_fixed:
        return [model_counts(ways)]
    if body.has_share and not mentions_beliefs(body):
        return list(ways)
    return [way for way in ways if way is not Counts.SHARE] or [Counts.LOG]


class BodyClause(NamedTuple):
    """A clause, the index of its body, and the way of counting."""

    body: int
    way: Counts
    clause: Clause


def body_clauses(
    bodies: Sequence[AnyBody],
    ways: Sequence[Counts],
    weighings: Mapping[tuple[Counts, AnyBody], Weighing],
) -> list[BodyClause]:
    """List the clause and the negation of every body, for each of its ways of counting.

    `weighings` have the medians of shares, and mean and deviation of values.
    """
    model_way, listed = model_counts(ways), []
    for b, body in enumerate(bodies):
        for way in useful_ways(body, ways):
            own = weighings.get((way, body)) or Weighing(way)
            weighing = None if way is model_way else own
            listed += [
                BodyClause(b, way, Clause(body, negated, weighing)) for negated in (False, True)
            ]
    return listed


def priors_of(targets: Mapping[str, int]) -> list[Clause]:
    """List the two priors of every target predicate, given with its arity."""
    return [
        prior(name, negated, arity) for name, arity in targets.items() for negated in (False, True)
    ]


def mirror_groups(bodies: Sequence[AnyBody]) -> Ints:
    """For every body, the index at which it or its mirror image occurs first."""
    first: dict[AnyBody, int] = {}
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
    bodies: Sequence[AnyBody], shares: ColumnArrays, group: Ints
) -> tuple[ColumnArrays, dict[tuple[Counts, AnyBody], Weighing]]:
    """Columns log2(1 + share / median), and the weighings with the medians.

    A group has one median, so that a rule and its mirror image are equal. Engines add up shares in
    different orders, so their shares differ in the last digits. Medians and entries are rounded to
    make the models equal.
    """
    indptr, row, x = shares
    body = part_numbers(indptr)
    no_shares = np.array([body.is_value or body.decays for body in bodies], dtype=np.bool_)
    if no_shares.any():  # sums of values are no shares
        x = np.where(no_shares[body], 0.0, x)
    column = group[body]
    order = np.lexsort((x, column))
    found, start, size = np.unique(column[order], return_index=True, return_counts=True)
    middle = 0.5 * (x[order[start + (size - 1) // 2]] + x[order[start + size // 2]])
    by_group = np.ones(len(group))
    # only paths have shares and a median
    by_group[found] = [float(f"{m:.6g}") if m > 0.0 else 1.0 for m in middle.tolist()]
    # entries of bodies without shares are 0 and stay 0
    weighed = np.round(np.log2(1.0 + x / by_group[column]), 9).astype(np.float64)
    medians = by_group[group].tolist()
    return ColumnArrays(indptr, row, weighed), {
        (Counts.SHARE, body): Weighing(Counts.SHARE, median)
        for body, median in zip(bodies, medians, strict=True)
    }


def standardised_values(
    bodies: Sequence[AnyBody], statistics: Statistics, group: Ints
) -> tuple[ColumnArrays, dict[tuple[Counts, AnyBody], Weighing]]:
    """Columns of values of numbers, standardised, and the weighings with mean and deviation.

    Other bodies have empty columns. Mean and deviation are over the targets that have a value; a
    group has the same of both. They are rounded, as medians of shares are.
    """
    assert statistics.share is not None
    is_value = np.array([body.is_value for body in bodies], dtype=np.bool_)
    body = part_numbers(statistics.indptr)
    rows = np.flatnonzero(is_value[body])
    column, n, total = group[body[rows]], statistics.count[rows], statistics.share[rows]
    size = len(is_value)
    number = np.maximum(np.bincount(column, n, size), 1.0)
    pairs = np.maximum(np.bincount(column, minlength=size), 1)
    mean = np.bincount(column, total, size) / number
    around = total - n * mean[column]
    spread = np.sqrt(np.bincount(column, around**2, size) / pairs)
    deviation = _rounded(np.where(spread >= MIN_MEDIAN, spread, 1.0))
    # a mean may be large beside the deviation: it is rounded to digits of the deviation
    digits = 5 - np.floor(np.log10(deviation)).astype(np.int64)
    mean = (
        np.array([round(m, k) for m, k in zip(mean.tolist(), digits.tolist(), strict=True)]) + 0.0
    )
    around = total - n * mean[column]
    weighings = {
        (Counts.Z, body): Weighing(Counts.Z, mean=float(mean[g]), deviation=float(deviation[g]))
        for body, g in zip(bodies, group.tolist(), strict=True)
        if body.is_value
    }
    sizes = np.bincount(body[rows], minlength=size)
    entries = around / deviation[column]
    return ColumnArrays(pointers(sizes), statistics.target[rows], entries), weighings


def _rounded(numbers: Floats) -> Floats:
    return np.array([float(f"{number:.6g}") for number in numbers.tolist()])
