"""Look-ups in sorted columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.arrays import FEW_ROWS, lower_bounds

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
