"""A search that has to stop for room again and again finds what one with room finds."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.counting.memory import parallel, search
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.memory.parallel import Worker
from hornbeam.rules.candidates import RuleLimits


def random_facts(rng: np.random.Generator, soft: bool) -> hb.Facts:
    rows = {
        (f"e{a}", f"p{p}", f"e{b}"): round(float(x), 6) if soft else 1.0
        for a, p, b, x in zip(
            rng.integers(12, size=70),
            rng.integers(3, size=70),
            rng.integers(12, size=70),
            rng.uniform(0.6, 1.0, size=70),
            strict=True,
        )
    }
    return hb.read_facts([(*atom, value) for atom, value in rows.items()])


@pytest.fixture
def grown_rooms() -> Iterator[set[int]]:
    """Every array begins with room for one; which of them had to grow."""
    rooms: set[int] = set()
    grow = Worker.grow

    def noted(worker: Worker, room: np.int64, needed: int) -> None:
        rooms.add(int(room))
        grow(worker, room, needed)

    with (
        patch.object(parallel, "SMALL", 1),
        patch.object(parallel, "FEW_SLOTS", 2),
        patch.object(Worker, "grow", noted),
    ):
        yield rooms


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_arrays_that_grow_change_nothing(
    length: int, soft: bool, distinct: bool, grown_rooms: set[int]
) -> None:
    rng = np.random.default_rng([length, soft, distinct])
    facts = random_facts(rng, soft)
    labels = hb.read_labels(
        [(f"e{i}", "p0", f"e{(5 * i + 2) % 12}", float(i % 2)) for i in range(12)]
    )
    language = RuleLimits(length, 1, distinct_variables=distinct)
    found = MemoryEngine(facts, 2).discover(labels, language)
    assert search.ROOM_NEAR in grown_rooms
    if length == 4 and soft:
        assert grown_rooms == set(range(search.ROOMS))
    grown_rooms.clear()
    with (
        patch.object(parallel, "SMALL", 100_000),
        patch.object(parallel, "FEW_SLOTS", 1 << 20),
    ):
        expected = MemoryEngine(facts, 1).discover(labels, language)
    assert not grown_rooms
    for name in ("steps", "coverage", "coverage_true", "paths"):
        one, other = getattr(found.candidates, name), getattr(expected.candidates, name)
        np.testing.assert_array_equal(one, other)
    assert found.statistics is not None
    assert expected.statistics is not None
    assert len(expected.statistics.count)
    for name in ("indptr", "target", "count", "all_truths"):
        one, other = getattr(found.statistics, name), getattr(expected.statistics, name)
        np.testing.assert_array_equal(one, other)
