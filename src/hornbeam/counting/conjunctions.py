"""Ground clauses of conjunctions: how many there are of which truth.

A ground clause of a conjunction takes one grounding of each of its bodies. So the numbers of
groundings multiply, and its truth is Łukasiewicz's over the atoms of all bodies,
max(0, sum x - (s - 1)): that of bodies of truths a and b is max(0, a + b - 1).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Floats,
    Ids,
    Ints,
    Millionths,
    part_numbers,
    pointers,
    ranges,
    run_starts,
)
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE

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
