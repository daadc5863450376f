"""The short cut for single pairs counts what the engine counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.explaining.scored_pair import one_pair
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.model import Model
from hornbeam.serve.independent_pairs import IndependentPairs
from tests.support.random_rules import rule_models
from tests.support.worlds import CRISP, SOFT, entities_of, worlds


@pytest.mark.parametrize("value", [CRISP, SOFT], ids=["crisp", "soft"])
@given(data=st.data())
@settings(max_examples=40)
def test_it_counts_as_the_engine_does(value: st.SearchStrategy[int], data: st.DataObject) -> None:
    world = data.draw(worlds(value))
    target = data.draw(st.sampled_from(["t", "p"]))
    drawn = data.draw(rule_models(target))
    model = Model(drawn.rules, drawn.semantics)
    engine = MemoryEngine(world.facts, threads=1)
    counter = IndependentPairs(model, engine, [], ArgumentTypes(engine.facts)).pair_counter
    name = st.sampled_from(entities_of(world))
    pair = one_pair(data.draw(name), target, data.draw(name))
    paths = model.bodies
    expected = engine.count(pair, paths, model.language)
    found = counter.count(pair, paths, model.language)
    for part in ("indptr", "target", "count"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
    assert (found.share is None) == (expected.share is None)
    if found.share is not None and expected.share is not None:
        np.testing.assert_allclose(found.share, expected.share, rtol=1e-12)
    assert (found.body_truth is None) == (expected.body_truth is None)
