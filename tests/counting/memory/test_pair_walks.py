"""Paths of one pair, counted by walks: the same as those that the search counts."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.rules.body import Body, Step
from hornbeam.rules.candidates import RuleLimits

BODIES = [
    Body((Step("p"),), "t"),
    Body((Step("p"), Step("q", inverse=True)), "t"),
    Body((Step("q"), Step("absent")), "t"),
    Body((Step("t"), Step("p"), Step("q")), "t"),
    Body((Step("q"), Step("q", inverse=True), Step("p"), Step("t", inverse=True)), "t"),
]


@pytest.mark.parametrize("max_fanout", [None, 3])
def test_walks_count_as_the_search(max_fanout: int | None) -> None:
    rng = np.random.default_rng(3)
    ends = rng.integers(12, size=(120, 2)).tolist()
    rows = {(f"e{a}", rng.choice(["p", "q", "t"]).item(), f"e{b}") for a, b in ends}
    engine = MemoryEngine(hb.read_facts(sorted(rows)), 1)
    pairs = hb.read_pairs([(f"e{a}", "t", f"e{b}") for a in range(13) for b in range(13)])
    language = RuleLimits(max_fanout=max_fanout, shares=True)
    together = engine.count(pairs, BODIES, language)
    assert together.count.max() > 1
    for row in range(len(pairs)):
        alone = engine.count(pairs.select(np.array([row])), BODIES, language)
        expected = together.target == row
        sizes = [int(expected[together.column(k)].sum()) for k in range(len(BODIES))]
        assert np.diff(alone.indptr).tolist() == sizes
        assert alone.count.tolist() == together.count[expected].tolist()
        assert alone.share is not None
        assert together.share is not None
        assert alone.share.tolist() == together.share[expected].tolist()
