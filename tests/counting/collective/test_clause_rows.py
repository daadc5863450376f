"""The hash table of ground clauses holds what a dictionary would."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from hornbeam.counting.collective.clause_kernels import NONE, WIDTH, ClauseRows, add, fill_key


def test_rows_of_equal_keys_are_added_up_while_the_table_grows() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(-1, 9, size=(900, WIDTH + 1)).astype(np.int32)
    keys[:, 2:] = -1
    weights = rng.integers(1, 5, size=len(keys)).astype(np.float64)
    empty = np.empty((2, WIDTH + 1), dtype=np.int32)
    rows, size = ClauseRows(np.zeros(4, dtype=np.int64), empty, np.zeros(2)), 0
    expected = dict[tuple[int, ...], float]()
    with np.errstate(over="ignore"):  # hashes wrap around
        for key, weight in zip(keys, weights.tolist(), strict=True):
            rows, size = add(rows, size, key, weight)  # type: ignore[no-untyped-call]
            name = tuple(key.tolist())
            expected[name] = expected.get(name, 0.0) + weight
    found = {tuple(rows.key[i].tolist()): float(rows.weight[i]) for i in range(size)}
    assert found == expected
    assert len(found) == size > 50


def test_ground_clauses_of_the_same_pairs_have_one_key() -> None:
    """Whichever of their pairs a walk begins at, in the body or as the head."""
    found = set[tuple[int, ...]]()
    for start, *met in permutations([7, 3, 9, 5]):
        key = np.full(WIDTH + 1, 99, dtype=np.int32)
        assert fill_key(key, 2, start, False, False, np.array(met), len(met))  # type: ignore[no-untyped-call]
        found.add(tuple(key.tolist()))
    assert found == {(2, NONE, 3, 5, 7, 9, *[NONE] * (WIDTH - 5))}
