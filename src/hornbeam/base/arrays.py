"""Type aliases of arrays, and helpers for runs of equal rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Numbers of any kind.
Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
#: Numbers in single precision: features of many candidates, matrices of many entities.
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
#: Integers of any width.
Integers = npt.NDArray[np.integer]
#: Row numbers, as `flatnonzero` and `argsort` give them.
Positions = npt.NDArray[np.intp]
Unsigned = npt.NDArray[np.uint32]
#: Members of an enumeration by their numbers.
Kinds = npt.NDArray[np.uint8]
#: Ids of entities and predicates (their ranks in a table of names), and other 32-bit numbers.
Ids = npt.NDArray[np.int32]
#: Truth values as integers in units of one millionth.
Millionths = npt.NDArray[np.int32]
#: Sequences of up to four steps, packed into one number each.
Keys = npt.NDArray[np.uint64]

#: At most so many rows are looked up one by one: steps of all rows together take longer.
FEW_ROWS = 8
#: So many rows of a column that is spliced stay in the processor's cache while they are renumbered.
SPLICED_ROWS = 1 << 17
#: Renumberings that rise at most this many times are added up instead of looked up.
FEW_RISES = 6


def are_ties(sorted_scores: Floats) -> Bools:
    """Whether each score but the first ties with the score before it, to 12 significant digits.

    Sums of the same weights in another order are equal on paper, but differ in their last digits.
    Between 1/2 and 1, the digits of the distance from 1 are compared, as far as doubles have them.
    So scores near 1 tie under the same difference of log-odds as scores near 0.

    Examples
    --------
    >>> are_ties(np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.6001])).tolist()
    [True, False]
    """
    is_high = (sorted_scores > 0.5) & (sorted_scores < 1.0)
    size = np.where(is_high, 1.0 - sorted_scores, np.abs(sorted_scores))
    tolerance = np.maximum(1e-12 * size, is_high * 2.0**-51)
    return np.asarray(np.abs(np.diff(sorted_scores)) <= np.minimum(tolerance[1:], tolerance[:-1]))


def begin_runs(*columns: Array) -> Bools:
    """Which rows differ from the row before them; the first row counts as different."""
    new = np.zeros(len(columns[0]), dtype=np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def run_starts(*columns: Array) -> Positions:
    """Rows at which runs of equal rows begin; equal rows of the columns must be adjacent.

    Examples
    --------
    >>> run_starts(np.array([1, 1, 1, 2]), np.array([5, 6, 6, 6])).tolist()
    [0, 1, 3]
    """
    return np.flatnonzero(begin_runs(*columns))


def places_in_runs(column: Array) -> Positions:
    """The position of every row in its run of equal rows, counted from 0.

    Examples
    --------
    >>> places_in_runs(np.array([1, 1, 1, 2])).tolist()
    [0, 1, 2, 0]
    """
    starts = run_starts(column)
    return np.arange(len(column)) - np.repeat(starts, np.diff(np.append(starts, len(column))))


def added_up(numbers: Ints, *columns: Array) -> tuple[Array, ...]:
    """The distinct rows of the columns, sorted, and the sum of `numbers` per distinct row.

    Examples
    --------
    >>> added_up(np.array([1, 2, 4]), np.array([1, 0, 1]), np.array([5, 6, 5]))
    (array([0, 1]), array([6, 5]), array([2, 5]))
    """
    order = np.lexsort(columns[::-1])
    starts = run_starts(*(column[order] for column in columns))
    sums = np.add.reduceat(numbers[order], starts) if len(starts) else numbers
    return *(column[order][starts] for column in columns), sums


def row_numbers(n_rows: int, *columns: Ids) -> Positions:
    """Numbers from 0 on in the order of the rows, equal for equal rows; without columns all are 0.

    Examples
    --------
    >>> row_numbers(3, np.array([2, 0, 2]), np.array([1, 5, 1])).tolist()
    [1, 0, 1]
    """
    numbers = np.zeros(n_rows, dtype=np.int64)
    for column in columns:
        # distinct beginnings of rows are numbered anew, so that any number of columns fits
        keys = numbers * (int(column.max(initial=0)) + 1) + column
        numbers = np.unique(keys, return_inverse=True)[1].reshape(-1)
    return numbers


def pointers(sizes: npt.ArrayLike) -> Ints:
    """Offsets of consecutive parts of the given sizes: len(sizes) + 1 numbers from 0 on."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def part_numbers(starts: Integers) -> Positions:
    """The number of the part that every element is in; `starts` are offsets as of `pointers`.

    Examples
    --------
    >>> part_numbers(pointers([2, 0, 1])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def sums_by(ids: Integers, values: Floats, n: int) -> Floats:
    """The sum of the values per id, for ids 0 to n - 1; values are added in their order."""
    return np.bincount(ids, values, n).astype(np.float64, copy=False)


def ranges(low: Integers, high: Integers) -> Ints:
    """All numbers from each low to below its high, one range after the other.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([7, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    size = high - low
    starts = pointers(size)
    return np.arange(starts[-1]) - np.repeat(starts[:-1] - low, size)


def spliced(
    column: Array,
    at: Integers,
    new: npt.ArrayLike,
    moved: Array | Sequence[tuple[int, int]] = (),
) -> Array:
    """A column with new entries before some of its places, which ascend; far faster than `insert`.

    `moved` has the new value of every old value, and ascends; or from which value on values rise,
    and by how much.

    Examples
    --------
    >>> spliced(np.array([10, 20, 30]), np.array([0, 2, 2]), [5, 21, 22]).tolist()
    [5, 10, 20, 21, 22, 30]
    >>> spliced(np.array([0, 1, 0]), np.array([1]), [1], np.array([0, 2])).tolist()
    [0, 1, 2, 0]
    """
    table, rises = None, moved
    if isinstance(moved, np.ndarray):
        table, rises = moved, _rises(moved)
    kind = column.dtype if table is None else table.dtype
    entries = np.broadcast_to(np.asarray(new, dtype=kind), len(at))
    whole, done = np.empty(len(column) + len(at), dtype=kind), 0
    for k, place in enumerate([*at.tolist(), len(column)]):
        for low in range(done, place, SPLICED_ROWS):
            piece = column[low : min(low + SPLICED_ROWS, place)]
            into = whole[low + k : low + k + len(piece)]
            if table is not None and len(rises) > FEW_RISES:
                into[:] = table[piece]
            else:
                into[:] = piece
                for first, by in rises:
                    above = piece >= first
                    into += above if by == 1 else above * kind.type(by)
        whole[place + k : place + k + 1] = entries[k : k + 1]
        done = place
    return whole


def _rises(moved: Array) -> list[tuple[int, int]]:
    """From which number on a renumbering, which ascends, is higher, and by how much."""
    rise = np.diff(moved.astype(np.int64), prepend=-1) - 1
    first = np.flatnonzero(rise)
    return list(zip(first.tolist(), rise[first].tolist(), strict=True))


def lower_bounds(
    columns: Sequence[Array], wanted: Sequence[Array], low: Integers, high: Integers
) -> Ints:
    """Per wanted row, the first row in [low, high) that is not before it.

    The rows low to high of the columns are sorted by the first column, then by the next.

    Examples
    --------
    >>> columns = np.array([0, 0, 1]), np.array([3, 5, 4])
    >>> wanted = np.array([0, 1, 1]), np.array([4, 4, 9])
    >>> lower_bounds(columns, wanted, np.zeros(3, int), np.full(3, 3)).tolist()
    [1, 2, 3]
    """
    low, high = np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
    if len(low) <= FEW_ROWS:
        for k in range(len(low)):
            first, end = int(low[k]), int(high[k])
            for column, values in zip(columns, wanted, strict=True):
                number = int(values[k])
                first = bisect_left(column, number, first, end)
                end = bisect_right(column, number, first, end)
            low[k] = first
        return np.asarray(low)
    while (left := low < high).any():
        middle = (low + high) >> 1
        row, is_before, is_same = middle[left], *np.zeros((2, int(left.sum())), dtype=np.bool_)
        is_same[:] = True
        for column, values in zip(columns, wanted, strict=True):
            there, value = column[row], values[left]
            is_before |= is_same & (there < value)
            is_same &= there == value
        low[left] = np.where(is_before, row + 1, low[left])
        high[left] = np.where(is_before, high[left], row)
    return np.asarray(low)


def largest(values: Floats, top: int) -> Positions:
    """Positions of the `top` largest values, largest first; equal values stay in their order.

    Examples
    --------
    >>> largest(np.array([0.5, 2.0, 0.5, 1.0]), 3)
    array([1, 3, 0])
    """
    rows = np.arange(len(values))
    if len(values) > top:
        rows = np.flatnonzero(values >= np.partition(values, -top)[-top])
    return rows[np.argsort(-values[rows], kind="stable")][:top]
