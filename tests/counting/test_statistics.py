from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.counting.statistics import Statistics
from hornbeam.rules.body import Body, Step
from tests.support.brute_force import ONE
from tests.support.dense_counts import dense

PATHS = [Body((Step(name),), "t") for name in "abc"]
CELLS = st.tuples(st.integers(0, 2), st.integers(0, 4), st.sampled_from([ONE, 1, 500_000]))


def of(rows: list[tuple[tuple[int, int, int], int]]) -> Statistics:
    columns = np.array([(*cell, n) for cell, n in rows], dtype=np.int64).reshape(-1, 4).T
    path, target, body, count = columns
    return Statistics.of(PATHS, 5, path, target.astype(np.int32), body.astype(np.int32), count)


@given(st.dictionaries(CELLS, st.integers(1, 2**60)), st.data())
def test_rows_are_sorted(cells: dict[tuple[int, int, int], int], data: st.DataObject) -> None:
    statistics = of(data.draw(st.permutations(list(cells.items()))))
    crisp = all(body == ONE for _, _, body in cells)
    assert (statistics.body_truth is None) == crisp
    found = []
    for c in range(3):
        part = statistics.column(c)
        body = [ONE] * (part.stop - part.start) if crisp else statistics.body_truth[part].tolist()  # type: ignore[index]
        columns = (statistics.target[part].tolist(), body, statistics.count[part].tolist())
        found += [((c, t, b), n) for t, b, n in zip(*columns, strict=True)]
    assert found == sorted(cells.items())


def test_dense() -> None:
    statistics = of([((2, 4, ONE), 7), ((0, 1, ONE), 2), ((0, 0, ONE), 1)])
    expected = np.zeros((5, 3), dtype=np.int64)
    expected[0, 0], expected[1, 0], expected[4, 2] = 1, 2, 7
    np.testing.assert_array_equal(dense(statistics), expected)
    assert repr(statistics) == "Statistics(3 bodies x 5 targets, 3 counts)"


def test_empty() -> None:
    statistics = of([])
    assert statistics.indptr.tolist() == [0, 0, 0, 0]
    assert dense(statistics).shape == (5, 3)


def test_soft_rows_are_sorted_alike_by_one_key_and_by_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    cells = list(zip(*rng.integers(0, [3, 5, ONE], size=(300, 3)).T.tolist(), strict=True))
    rows = [(cell, n) for n, cell in enumerate(cells)]
    one = of(rows)
    monkeypatch.setattr("hornbeam.counting.statistics.LIMIT", 0)
    other = of(rows)
    for name in ("indptr", "target", "count", "body_truth"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
