"""Facts that grow are those that are read together, and so is all that was prepared from them."""

from __future__ import annotations

import pickle
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import Array
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import open_in_memory
from hornbeam.errors import InputError
from hornbeam.facts import growth
from hornbeam.facts.table import Facts

LINK = st.tuples(st.sampled_from("bdfhj"), st.sampled_from(["p", "q"]), st.sampled_from("bdfhj"))
NEW_LINK = st.tuples(st.sampled_from("abcdz"), st.sampled_from("opqr"), st.sampled_from("abjkz"))
OTHER = st.sampled_from([("b", "young"), ("a", "old"), ("b", "s", "c", 0.5), ("z", "q", "z", 0.25)])
LINKS, NEW = st.lists(LINK, min_size=1, max_size=12), st.lists(NEW_LINK, max_size=6)
OTHERS = st.lists(OTHER, max_size=2)


def read(rows: list[tuple[str, ...]]) -> Facts:
    """Facts from rows of different widths."""
    widths = {len(row) for row in rows}
    return hb.read_facts(*([row for row in rows if len(row) == width] for width in widths))


def same(one: Facts, other: Facts) -> None:
    assert (one.entities, one.predicates) == (other.entities, other.predicates)
    assert list(one.atoms) == list(other.atoms)
    for arity, table in one.atoms.items():
        twin = other.atoms[arity]
        assert table.predicate.dtype == twin.predicate.dtype
        columns = (table.predicate, *table.arguments, table.all_millionths)
        others = (twin.predicate, *twin.arguments, twin.all_millionths)
        for column, wanted in zip(columns, others, strict=True):
            np.testing.assert_array_equal(column, wanted)
        assert (table.millionths is None) == (twin.millionths is None)


@given(LINKS, OTHERS, NEW, OTHERS)
def test_facts_that_grow_are_facts_that_are_read_together(
    links: list[tuple[str, ...]],
    others: list[tuple[str, ...]],
    new: list[tuple[str, ...]],
    more: list[tuple[str, ...]],
) -> None:
    before, after = [*links, *others], [*new, *more]
    rows = list(dict.fromkeys([*before, *after]))
    stated = {row[:3] for row in rows}
    if len(stated) == len(rows) and after:
        same(read(before) + read(after), read(rows))
        with patch.object(growth, "FEW", 0):
            same(read(before) + read(after), read(rows))


@given(LINKS, NEW)
def test_the_graph_and_its_shares_grow_with_the_facts(
    links: list[tuple[str, str, str]], new: list[tuple[str, str, str]]
) -> None:
    facts = hb.read_facts(links)
    engine = open_in_memory(facts, 1)
    assert engine.share_counter(None).forward is not None
    with patch.object(growth, "FEW", 0):
        grown = (facts + hb.read_facts(new or links)).kept["engine"]
    assert isinstance(grown, MemoryEngine)
    assert "graph" in vars(grown)
    again = MemoryEngine(hb.read_facts([*links, *new]), 1)
    parts: list[Array] = [*grown.graph.forward, *grown.share_counter(None).forward]
    wanted: list[Array] = [*again.graph.forward, *again.share_counter(None).forward]
    for part, other in zip(parts, wanted, strict=True):
        assert part.dtype == other.dtype
        np.testing.assert_array_equal(part, other)
    assert grown.graph.n_codes == again.graph.n_codes


def test_new_facts_that_contradict_are_refused() -> None:
    facts = hb.read_facts([("a", "p", "b", 0.5), ("a", "young")])
    with pytest.raises(InputError, match="'young' has 1 argument in the facts and 2 in the new"):
        facts + hb.read_facts([("a", "young", "b")])
    for row in (("a", "p", "b"), ("a", "p", "b", 0.25)):
        with pytest.raises(InputError, match=r"p\(a, b\) has another truth value"):
            facts + hb.read_facts([row])
    same(facts + hb.read_facts([("a", "p", "b", 0.5)]), facts)
    with pytest.raises(TypeError):
        facts + "more.tsv"  # type: ignore[operator]


def test_a_pickle_leaves_out_what_was_prepared() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    assert open_in_memory(facts, 1).graph is not None
    copy = pickle.loads(pickle.dumps(facts))
    same(copy, facts)
    assert copy.kept == {}
    assert "engine" in facts.kept
