"""Slots: held to ridge regression column by column, in parts, and about entities never seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import Floats
from hornbeam.graphs.evidence_kernels import MILLION
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.slots import (
    PROPOSED,
    entities_by_steps,
    graph_slot_weights,
    proposed_by_step,
    proposed_entities,
    slot_scores,
    weights_for,
)
from tests.support.brute_graphs import ENTITIES, BruteGraph, Triple, graph_of, triples


def by_regression(brute: BruteGraph, steps: list[int], target: int, penalty: float) -> Floats:
    """Scores of all entities: the column of a step, predicted by ridge from all other columns."""
    others = [step for step in steps if step != target]
    x = np.array([[bool(brute.answers(c, s)) for s in others] for c in brute.entities], dtype=float)
    y = np.array([bool(brute.answers(c, target)) for c in brute.entities], dtype=float)
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(len(others)), x.T @ y)
    return np.asarray(x @ weights)


@given(triples, st.sampled_from([1.0, 10.0]))
def test_scores_are_those_of_a_ridge_per_relation(some: set[Triple], penalty: float) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    weights = graph_slot_weights(graph, penalty)
    steps = list(range(2, graph.step_limit))
    for step in steps:
        found = slot_scores(entities_by_steps(graph), weights_for(weights, step)) / MILLION
        expected = by_regression(brute, steps, step ^ 1, penalty)
        assert np.allclose(found, expected, atol=1e-5)


@given(triples, st.integers(1, ENTITIES))
def test_parts_propose_what_the_whole_graph_does(some: set[Triple], size: int) -> None:
    graph = graph_of(some)
    links, weights = graph.links, graph_slot_weights(graph, 10.0)
    parts = []
    for low in range(0, ENTITIES, size):
        runs = slice(links.first_run[low], links.first_run[min(low + size, ENTITIES)])
        parts.append((links.entities_of_runs()[runs], links.run_step[runs]))
    for step, proposed in proposed_by_step(parts, weights).items():
        whole = proposed_entities(slot_scores(entities_by_steps(graph), weights_for(weights, step)))
        assert proposed.tolist() == whole.tolist()


@given(st.lists(st.integers(-3, 3), min_size=PROPOSED, max_size=4 * PROPOSED))
def test_the_best_are_proposed_and_ties_are_broken_by_id(scores: list[int]) -> None:
    ranked = sorted((-score, entity) for entity, score in enumerate(scores) if score > 0)
    expected = [entity for _, entity in ranked[:PROPOSED]]
    assert proposed_entities(np.array(scores)).tolist() == expected


def towns(prefix: str, n: int) -> list[tuple[str, str, str]]:
    """People who work in firms that lie in towns; who works also lives somewhere."""
    found = []
    for i in range(n):
        person, firm, town = (f"{prefix}{kind}{i}" for kind in ("person", "firm", "town"))
        found += [(person, "works_at", firm), (firm, "lies_in", town), (person, "lives_in", town)]
        found += [(f"{prefix}cat{i}", "belongs_to", person), (town, "has", f"{prefix}park{i}")]
    return found


def test_entities_never_seen_are_ordered_by_their_relations() -> None:
    """Who lives in a new town is asked of a graph without any name of the training graph."""
    facts = hb.read_facts(towns("", 30))
    model = hb.learn_graph(facts, max_length=1, settings=GraphSettings(ridge=False))
    other = hb.read_facts([t for t in towns("new ", 90) if t[2] != "new town0"])
    ranker = model.ranker(other)
    ranks = ranker.evaluate(hb.read_facts([("new person0", "lives_in", "new town0")]))
    assert ranks.candidates == 5 * 90
    # the town has nothing but a park, as all towns have: they are ranked above all other entities
    assert ranks.ranks.rank[0] <= 90
    without = replace(model, slots=False)
    assert without.evaluate_ranks(other, [("new person0", "lives_in", "new town0")]).mrr < ranks.mrr
