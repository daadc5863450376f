"""Edges come in one order, whoever sorts them."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.facts.ordering import sort_edges
from tests.support.kernels import compiles, kernels_are


@pytest.mark.slow
@compiles
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_numpy_and_the_kernel_sort_alike(seed: int, kind: type[np.integer]) -> None:
    rng = np.random.default_rng(seed)
    n, entities = int(rng.integers(1, 200)), int(rng.integers(1, 30))
    predicate = rng.integers(0, 5, n).astype(kind)
    ends = [rng.integers(0, entities, n).astype(np.int32) for _ in range(2)]
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            ordered, arguments, values = sort_edges(predicate, list(ends), None, entities)
        assert values is None
        found.append([ordered, *arguments])
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    rows = list(
        zip(*(column.tolist() for column in (found[0][1], found[0][0], found[0][2])), strict=True)
    )
    assert rows == sorted(rows)
