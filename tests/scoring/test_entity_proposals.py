"""New links of an entity are those that proposing finds, from either end, exactly scored."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.base.choices import Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import HornbeamWarning
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.reading.readers import read_facts, read_labels
from hornbeam.facts.table import Facts
from hornbeam.model import Model
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.rules.weighing import Counts, Weighing
from hornbeam.scoring import entity_proposals
from hornbeam.scoring.entity_proposals import EntityProposer
from hornbeam.scoring.independent_scores import score_targets
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.pair_explorers import open_rule_explorer
from tests.support.proposed import expected_links, new_pairs
from tests.support.random_rules import ReferenceModel, rule_models
from tests.support.rich_worlds import ENTITIES, pairs_of, rich_models, rich_worlds
from tests.support.rich_worlds import SOFT as RICH_SOFT
from tests.support.synthetic import random_facts
from tests.support.worlds import CRISP, SOFT, World, entities_of, worlds

Scored = list[tuple[str, str, float]]


def proposer_of(model: Model, facts: Facts, target: str = "t", near: int = 0) -> EntityProposer:
    engine = MemoryEngine(facts, threads=1)
    return EntityProposer(model, engine, target, ArgumentTypes(facts), near)


def links_of(world: World, model: ReferenceModel, target: str, name: str, forward: bool) -> Scored:
    facts = world.facts
    served = Model(model.rules, model.semantics)
    if target not in served.targets:
        return []
    proposer = proposer_of(served, facts, target, near=0 if forward else 1)
    counted = proposer.counted(facts.entities.index(name))
    pairs, scores, total = proposer.best(counted, model.rules, top=100)
    assert total == len(pairs)
    assert counted.left_out == 0
    subjects, objects = (pairs.entities.take(ids) for ids in (pairs.subject, pairs.object))
    return list(zip(subjects, objects, scores.tolist(), strict=True))


@given(value=st.sampled_from([CRISP, SOFT]), target=st.sampled_from(["t", "p"]), data=st.data())
@settings(max_examples=60)
def test_they_are_the_best_of_all_pairs(
    value: st.SearchStrategy[int], target: str, data: st.DataObject
) -> None:
    world = data.draw(worlds(value))
    model = data.draw(rule_models(target))
    names = list(world.facts.entities)
    everything = expected_links(model, world, target, names, Score.MEAN)
    name = data.draw(st.sampled_from(names))
    assert links_of(world, model, target, name, True) == _close(everything.get(name, []))
    to_it = [row for rows in everything.values() for row in rows if row[1] == name]
    found = links_of(world, model, target, name, False)
    assert found == _close(sorted(to_it, key=lambda row: (-row[2], row[0])))


def _close(rows: Scored) -> list[tuple[str, str, object]]:
    return [(s, o, pytest.approx(score, abs=1e-12)) for s, o, score in rows]


@given(data=st.data())
@settings(max_examples=20)
def test_other_weights_need_no_new_counts(data: st.DataObject) -> None:
    """What an entity reaches is counted once; scoring it again is as if the model were another."""
    world = data.draw(worlds())
    model = data.draw(rule_models())
    name = data.draw(st.sampled_from(entities_of(world)[:1]))
    i = world.facts.entities.index(name)
    served = Model(model.rules, model.semantics)
    if i < 0 or not model.rules:
        return
    proposer = proposer_of(served, world.facts)
    counted = proposer.counted(i)
    weight = st.sampled_from([0.0, 0.3, 4.0])
    others = tuple(Rule(data.draw(weight), rule.clause) for rule in model.rules)
    again, scores, _ = proposer.best(counted, others, 100)
    edited = model.with_rules(others)
    rows = zip(*(again.entities.take(x) for x in (again.subject, again.object)), scores.tolist(),
               strict=True)  # fmt: skip
    assert list(rows) == _close(
        expected_links(edited, world, "t", [name], Score.MEAN).get(name, [])
    )


def test_where_much_is_reached_the_best_connected_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import hornbeam as hb

    facts = hb.read_facts(
        [("a", "p", f"m{i}") for i in range(3)]
        + [(f"m{i}", "q", f"o{k}") for i in range(3) for k in range(i + 1)]
    )
    model = Model.parse("1.0: p(A, B) & q(B, C) & (A != B) & (A != C) & (B != C) -> t(A, C)")
    monkeypatch.setattr(entity_proposals, "MAX_COUNTED", 2)
    proposer = proposer_of(model, facts)
    counted = proposer.counted(facts.entities.index("a"))
    pairs, _, total = proposer.best(counted, model.rules, 10)
    assert pairs.entities.take(pairs.object) == ["o0", "o1"]
    assert (total, counted.left_out) == (2, 1)


@given(value=st.sampled_from([CRISP, RICH_SOFT]), data=st.data())
@settings(max_examples=40)
def test_rules_of_all_kinds_lead_from_either_end(
    value: st.SearchStrategy[int], data: st.DataObject
) -> None:
    """New links under edited weights are the best of all pairs with groundings of some rule."""
    world = data.draw(rich_worlds(value))
    model = data.draw(rich_models())
    weight = st.sampled_from([0.0, 0.4, 3.0])
    edited = model.with_rules(Rule(data.draw(weight), rule.clause) for rule in model.rules)
    name, forward = data.draw(st.sampled_from(ENTITIES)), data.draw(st.booleans())
    given = 0 if forward else 1
    spoken = [pair for pair in new_pairs(edited, world, "t") if pair[2 * given] == name]
    edits = Edits({i: rule.weight for i, rule in enumerate(edited.rules)})
    explorer = open_rule_explorer(world.facts, Model(model.rules, model.semantics), threads=1)
    asks = Direction.OBJECT if forward else Direction.SUBJECT
    found = explorer.ask(name, "t", asks, edits, 100)
    assert (found.candidates, found.left_out) == (len(spoken), 0)
    assert {(link.subject, "t", link.object) for link in found.answers} == set(spoken)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        scores = edited.predict(world.facts, pairs_of(*spoken), threads=1)["score"]
    by_pair = dict(zip(spoken, scores.tolist(), strict=True))
    for link in found.answers:
        expected = by_pair[link.subject, "t", link.object]
        assert link.score == pytest.approx(expected, abs=1e-12)
    best = [link.score for link in found.answers]
    assert best == sorted(best, reverse=True)


TREATS = Model.parse(
    "1: binds(A, B) & binds(C, B) -> treats(A, C)\n1: near(A, B) -> treats(A, B)\n"
)
DRUGS = [
    ("Drug::a", "binds", "Gene::x"),
    ("Drug::b", "binds", "Gene::x"),
    ("Drug::a", "near", "Gene::x"),
    ("Drug::a", "near", "Disease::y"),
    ("Drug::b", "treats", "Disease::z"),
]


def treated(labels: list[tuple[str, str, str, int]]) -> list[str]:
    explorer = open_rule_explorer(
        read_facts(DRUGS), TREATS, labels=read_labels(labels) if labels else None
    )
    asked = explorer.ask("Drug::a", "treats", Direction.OBJECT, NO_EDITS, 9)
    return [link.object for link in asked.answers]


def test_no_loop_and_no_other_type_is_proposed() -> None:
    """True labels tell as well as facts what links of the target are like."""
    assert treated([]) == ["Disease::y"]
    assert treated([("Drug::b", "treats", "Drug::b", 0)]) == ["Disease::y"]
    assert treated([("Drug::b", "treats", "Drug::b", 1)]) == ["Disease::y", "Drug::a", "Drug::b"]


def test_examples_are_entities_that_targets_link() -> None:
    busy = [(f"Gene::{i}", "interacts", "Gene::x") for i in range(9)]
    explorer = open_rule_explorer(read_facts([*DRUGS, *busy]), TREATS)
    assert explorer.examples[:3] == ["Drug::b", "Disease::z", "Gene::x"]


@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("forward", [True, False])
def test_walks_find_the_shares_that_the_engine_counts(forward: bool, limit: int | None) -> None:
    """From subjects to the bit; from objects steps are multiplied in another order."""
    facts = random_facts(60, 700, 4, skew=0.5, seed=3)
    steps = [["p0", "p1"], ["p1", "p2", "p0"], ["p3"], ["p2", "p2"]]
    bodies = [Body(tuple(Step(p, inverse=k % 2 == 1) for k, p in enumerate(some)), "p3")
              for some in steps]  # fmt: skip
    rules = [
        Rule(0.5 + k, Clause(body, k == 2, way))
        for k, body in enumerate(bodies)
        for way in (Weighing(Counts.LOG), Weighing(Counts.SHARE, 0.1 + k))
    ]
    model = Model((*rules, Rule(1.0, prior("p3"))), Semantics(max_fanout=limit))
    proposer = proposer_of(model, facts, "p3", near=0 if forward else 1)
    shares = 0
    for entity in range(0, 60, 7):
        kept = proposer.counted(entity)
        found = kept.statistics
        expected = proposer.engine.count(kept.pairs, model.bodies, model.language)
        assert (found.indptr.tolist(), found.target.tolist(), found.count.tolist()) == (
            expected.indptr.tolist(), expected.target.tolist(), expected.count.tolist()
        )  # fmt: skip
        assert found.share is not None
        assert expected.share is not None
        if forward:
            assert found.share.tolist() == expected.share.tolist()
        np.testing.assert_allclose(found.share, expected.share, rtol=1e-12)
        scores = score_targets(model, expected, kept.pairs)
        np.testing.assert_allclose(kept.scores(model.rules), scores, rtol=1e-12)
        shares += len(found.share)
    assert shares > 30
