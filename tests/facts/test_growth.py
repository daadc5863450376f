"""Facts that grow are those that are read together, and so is all that was prepared from them."""

from __future__ import annotations

import json
import pickle
from typing import Any
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
from hornbeam.graphs.features import FEATURES
from hornbeam.graphs.graph_evidence import GraphEvidence
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.linked_pairs import PAIRS, graph_pair_weights
from hornbeam.graphs.slots import ENTITIES, graph_slot_weights

LINK = st.tuples(st.sampled_from("bdfhj"), st.sampled_from(["p", "q"]), st.sampled_from("bdfhj"))
NEW_LINK = st.tuples(st.sampled_from("abcdz"), st.sampled_from("opqr"), st.sampled_from("abjkz"))
OTHER = st.sampled_from(
    [
        ("b", "young"),
        ("a", "old"),
        ("b", "s", "c", 0.5),
        ("z", "q", "z", 0.25),
        ("a", "u", "z", 0.0),
    ]
)
LINKS, NEW = st.lists(LINK, min_size=1, max_size=12), st.lists(NEW_LINK, max_size=6)
OTHERS = st.lists(OTHER, max_size=2)
RULES = """
1.25: p(A, B) & q(B, C) -> p(A, C)
0.5: q(B, A) & q(B, C) -> p(A, C) [share / 0.25]
0.75: o(A, B) & r(B, C) -> !p(A, C) [exists]
1.0: !p(A, B)
"""
GRAPH_RULES = """# hornbeam-graph: {"format": 3, "features": %s, "weights": %s, "ridge": 5.0,
"constants": true, "backward": true, "slots": true, "pool": 50, "max_length": 3,
"calibration": {"slope": 1.0, "intercept": 0.0}, "linked": {"train": 0.0, "valid": null},
"seed": 0, "chosen": {}, "predicates": {}}
## p(X, Y), Y is asked for: {"queries": 100}
0.5: q(X, Y) -> p(X, Y) [10 of 40]
0.4: q(X, A) & q(A, Y) -> p(X, Y) [12 of 42]
0.3: o(A, X) & r(A, Y) -> p(X, Y) [12 of 42]
## p(Y, X), Y is asked for: {"queries": 100}
0.5: q(Y, X) -> p(Y, X) [10 of 40]
"""
MODELS: dict[str, Any] = {
    "rules": hb.Model.parse(RULES),
    "graph": hb.GraphModel.parse(
        GRAPH_RULES.replace(",\n", ", ")
        % (json.dumps(FEATURES), json.dumps([0.5 + k / 10 for k in range(len(FEATURES))]))
    ),
}


def read(rows: list[tuple[str, ...]]) -> Facts:
    """Facts from rows of different widths."""
    widths = {len(row) for row in rows}
    return hb.read_facts(*([row for row in rows if len(row) == width] for width in widths))


def same(one: Facts, other: Facts) -> None:
    assert (one.entities, one.predicates) == (other.entities, other.predicates)
    assert list(one.atoms) == list(other.atoms)
    assert list(one.denied) == list(other.denied)
    tables = [*one.atoms.values(), *one.denied.values()]
    for table, twin in zip(tables, [*other.atoms.values(), *other.denied.values()], strict=True):
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
    parts: list[Array] = [*grown.graph.forward, grown.share_counter(None).forward]
    wanted: list[Array] = [*again.graph.forward, again.share_counter(None).forward]
    for part, other in zip(parts, wanted, strict=True):
        assert part.dtype == other.dtype
        np.testing.assert_array_equal(part, other)
    assert grown.graph.n_codes == again.graph.n_codes


@given(LINKS, st.lists(NEW_LINK, min_size=1, max_size=6))
def test_the_arrays_of_a_whole_graph_grow_with_the_facts(
    links: list[tuple[str, str, str]], new: list[tuple[str, str, str]]
) -> None:
    graph = LinkedGraph.of(facts := hb.read_facts(links))
    graph.prepare()
    pairs, slots = graph_pair_weights(graph), graph_slot_weights(graph, 10.0)
    assert len(pairs) == len(slots) == graph.step_limit
    with patch.object(growth, "FEW", 0):
        grown = LinkedGraph.of(facts + hb.read_facts(new))
    assert "links" in vars(grown)
    again = LinkedGraph.of(hb.read_facts([*links, *new]))
    arrays: list[Array] = [*grown.links]
    for part, wanted in zip(arrays, list[Array](again.links), strict=True):
        assert part.dtype == wanted.dtype
        np.testing.assert_array_equal(part, wanted)
    np.testing.assert_array_equal(grown.degree, again.degree)
    np.testing.assert_array_equal(graph_pair_weights(grown), graph_pair_weights(again))
    np.testing.assert_array_equal(graph_slot_weights(grown, 10.0), graph_slot_weights(again, 10.0))
    assert {PAIRS, ENTITIES} <= set(grown.kept)


@given(LINKS, st.lists(st.lists(NEW_LINK, min_size=1, max_size=3), min_size=1, max_size=3))
def test_rules_of_any_entity_are_counted_again_only_where_links_changed_them(
    links: list[tuple[str, str, str]], growths: list[list[tuple[str, str, str]]]
) -> None:
    def evidence_of(facts: Facts) -> GraphEvidence:
        return GraphEvidence.remembering(LinkedGraph.of(facts), None, GraphSettings())

    facts, stated = hb.read_facts(links), list(links)
    evidence = evidence_of(facts)
    evidence.prepare()
    for step in range(2, evidence.graph.step_limit):
        evidence.common(step)
    for new in growths:
        with evidence.scratch() as scratch:
            pass
        with patch.object(growth, "FEW", 0):
            facts = facts + hb.read_facts(new)
        stated += new
        evidence, again = evidence_of(facts), evidence_of(hb.read_facts(stated))
        assert scratch in evidence.counted.free
        waiting = sorted(evidence.counted.before)
        assert waiting
        # the others wait for a further growth
        for step in waiting if new is growths[-1] else waiting[len(new) % 2 :: 2]:
            rules, wanted = (one.common(step).any_entity_rules for one in (evidence, again))
            assert rules.step == wanted.step == step
            for name in ("property", "answer", "hits", "predicted"):
                np.testing.assert_array_equal(getattr(rules, name), getattr(wanted, name))


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(LINKS, st.lists(NEW_LINK, min_size=1, max_size=4), st.sampled_from(list(MODELS)))
def test_prepared_forms_grow_with_the_facts(
    links: list[tuple[str, str, str]], new: list[tuple[str, str, str]], kind: str
) -> None:
    links = [
        *links,
        ("b", "p", "d"),
    ]  # a graph's model answers queries of relations that have facts
    model, facts, wanted = MODELS[kind], hb.read_facts(links), hb.read_facts([*links, *new])
    prepared = model.scorer(facts), model.ranker(facts), model.explainer(facts)
    again = model.scorer(wanted), model.ranker(wanted), model.explainer(wanted)
    same_answers(*prepared, *(model.scorer(facts), model.ranker(facts), model.explainer(facts)))
    with patch.object(growth, "FEW", 0):
        grown = tuple(one.with_facts(new) for one in prepared)
        same_answers(*grown, *again)
        more = facts + hb.read_facts(new)
        same_answers(model.scorer(more), model.ranker(more), model.explainer(more), *again)


def same_answers(*forms: Any) -> None:  # noqa: ANN401
    """Two scorers, rankers and explainers say the same of all pairs."""
    scorer, ranker, explainer, other_scorer, other_ranker, other_explainer = forms
    names = sorted({"a", "b", "z", *ranker.facts.entities})
    pairs = [(one, "p", other) for one in names for other in names]
    for column, wanted in zip(
        scorer.predict(pairs).columns.values(), other_scorer.predict(pairs).columns.values(),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(column, wanted)
    queries = [(name, "p", "?") for name in names] + [("?", "p", name) for name in names]
    rows = (list(one.rank(queries)) for one in (ranker, other_ranker))
    assert next(rows) == next(rows)
    for subject, object_ in (("b", "d"), ("d", "b"), ("j", "f")):
        if {subject, object_} <= set(explainer.facts.entities):
            one = explainer.explain(subject, "p", object_)
            assert one.as_dict() == other_explainer.explain(subject, "p", object_).as_dict()


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
