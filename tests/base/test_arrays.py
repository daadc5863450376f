"""Look-ups in sorted columns, and columns with new rows."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base import arrays
from hornbeam.base.arrays import FEW_RISES, FEW_ROWS, lower_bounds, spliced

NUMBERS = st.integers(0, 3)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=12).map(sorted)
#: -1 stands for a name that is not known.
WANTED = st.tuples(*[st.integers(-1, 4)] * 3)


@given(ROWS, st.lists(WANTED, min_size=1, max_size=2 * FEW_ROWS), st.data())
def test_the_first_row_that_is_not_before(
    rows: list[tuple[int, ...]], wanted: list[tuple[int, ...]], data: st.DataObject
) -> None:
    """By brute force, whether few rows are wanted or many, and in columns of narrow types."""
    kinds = (np.int32, np.uint8, np.int32)
    columns = [np.array([row[k] for row in rows], dtype=kind) for k, kind in enumerate(kinds)]
    low = [data.draw(st.integers(0, len(rows))) for _ in wanted]
    high = [data.draw(st.integers(first, len(rows))) for first in low]
    found = lower_bounds(columns, list(np.array(wanted).T), np.array(low), np.array(high))
    expected = [
        next((at for at in range(first, end) if rows[at] >= row), end)
        for row, first, end in zip(wanted, low, high, strict=True)
    ]
    assert found.tolist() == expected


@given(
    st.lists(st.integers(0, 9), max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 50)), max_size=5),
    st.sets(st.integers(0, 9 + 2 * FEW_RISES), min_size=10, max_size=10),
    st.integers(1, 4),
)
def test_spliced_columns_have_old_rows_renumbered_and_new_ones_between(
    column: list[int], new: list[tuple[int, int]], renumbered: set[int], rows: int
) -> None:
    """By `np.insert`, whether few numbers rise or many, and in blocks of any size."""
    new = sorted((min(at, len(column)), value) for at, value in new)
    at, values = [place for place, _ in new], [value for _, value in new]
    moved = np.array(sorted(renumbered), dtype=np.int32)
    wanted = np.insert(moved[column], at, values)
    with patch.object(arrays, "SPLICED_ROWS", rows):
        found = spliced(np.array(column, dtype=np.int32), np.array(at, dtype=int), values, moved)
        assert found.tolist() == wanted.tolist()
        assert found.dtype == moved.dtype
        # numbers from 3 on rise by 1, those from 7 on by 2 more
        by_rises = spliced(
            np.array(column, dtype=np.int32), np.array(at, dtype=int), values, [(3, 1), (7, 2)]
        )
    risen = [number + (number >= 3) + 2 * (number >= 7) for number in column]
    assert by_rises.tolist() == np.insert(np.array(risen, dtype=int), at, values).tolist()
