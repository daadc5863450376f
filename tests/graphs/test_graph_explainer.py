"""Explanations of answers: every rule that fired is named, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.facts.entity_names import EntityNames
from hornbeam.graphs.features import FEATURES, EvidenceKind
from hornbeam.graphs.graph_explainer import GraphExplainer
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_reasons import (
    as_reason,
    fired_rules,
    properties_of,
    ridge_weights,
)
from hornbeam.ranking.queries import Direction
from hornbeam.rules.codes import step_code

# one model for all, which takes two seconds
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("graph_explanation")]


def world() -> list[tuple[str, str, str]]:
    """People live in towns of lands, and are citizens there, mostly; names need quotes."""
    rng = np.random.default_rng(1)
    rows = [(f'to"wn{i}', "in the", f"land, {i % 4}") for i in range(12)]
    for i in range(60):
        town = int(rng.integers(12))
        land = town if rng.random() < 0.9 else int(rng.integers(4))
        rows.append((f"p{i}", "lives", f'to"wn{town}'))
        rows.append((f"p{i}", "citizen", f"land, {land % 4}"))
        rows.append((f"p{i}", "knows", f"p{int(rng.integers(60))}"))
    return rows


@pytest.fixture(scope="module")
def facts() -> hb.Facts:
    return hb.read_facts([row for i, row in enumerate(world()) if i % 7])


@pytest.fixture(scope="module")
def model(facts: hb.Facts) -> hb.GraphModel:
    return hb.learn_graph(facts)


@pytest.fixture(scope="module")
def ranker(model: hb.GraphModel, facts: hb.Facts) -> MemoryRanker:
    return MemoryRanker.of(model, facts)


def steps(ranker: MemoryRanker) -> list[int]:
    predicates = range(len(ranker.facts.predicates))
    return [int(step_code(p, inverse)) for p in predicates for inverse in (False, True)]


@pytest.mark.slow
def test_the_best_of_every_class_is_the_feature_of_the_ranking(ranker: MemoryRanker) -> None:
    from hornbeam.graphs.grouped_queries import no_queries
    from hornbeam.graphs.pools import pool_of

    classes = {
        "path": EvidenceKind.PATH,
        "forward": EvidenceKind.FORWARD,
        "backward": EvidenceKind.BACKWARD,
    }
    known = set(world())
    for step in steps(ranker):
        source = ranker.graph.holders(step)[:1].astype(np.int32)
        rules = ranker.steps[step].rules
        pool = pool_of(ranker.evidence, rules, no_queries(source), ranker.model.pool)
        for row in range(0, len(pool.entity), 7):
            by_kind = fired_rules(ranker, pool, row)
            for name, kind in classes.items():
                confidences = [rule.confidence or 0.0 for rule in by_kind.get(kind, [])]
                best = float(np.exp(pool.feature[row, FEATURES.index(f"{name}_best")]))
                fired = float(np.expm1(pool.feature[row, FEATURES.index(f"{name}_fired")]))
                assert best == pytest.approx(max(confidences, default=1e-4), rel=1e-4)
                assert fired == pytest.approx(len(confidences), abs=1e-3)
            for rule in (rule for some in by_kind.values() for rule in some):
                reason = as_reason(ranker, pool, rule, 10**6)
                assert len(reason.groundings) == reason.count > 0
                for grounding in reason.groundings:
                    assert grounding.entities[0] == ranker.facts.entities[rule.start]
                    assert {(f.subject, f.predicate, f.object) for f in grounding.facts} <= known


@pytest.mark.slow
def test_weights_of_the_ridge_add_up_to_its_scores(ranker: MemoryRanker) -> None:
    penalty = 20.0
    ranker = MemoryRanker.of(replace(ranker.model, ridge=penalty), ranker.facts)
    ridge = ranker.evidence.ridge
    assert ridge is not None
    checked = 0
    for step in steps(ranker):
        forward, backward = ridge.scores(step, np.array([5]))
        for c in range(0, ranker.graph.n_entities, 5):
            asked = int(ranker.graph.run_of(np.array([c]), step ^ 1)[0])
            if asked >= 0 and asked not in properties_of(ranker.graph, 5):
                total = sum(weight for _, weight in ridge_weights(ranker, 5, asked))
                assert total == pytest.approx(penalty * float(forward[0, c]), abs=1e-4)
                checked += 1
            own = int(ranker.graph.run_of(np.array([5]), step)[0])
            if own >= 0 and own not in properties_of(ranker.graph, c):
                total = sum(weight for _, weight in ridge_weights(ranker, c, own))
                assert total == pytest.approx(penalty * float(backward[0, c]), abs=1e-4)
    assert checked > 5


def test_weights_of_a_pairs_links_add_up_to_the_feature(ranker: MemoryRanker) -> None:
    allies = [(f"c{i}", "ally", f"c{j}") for i in range(6) for j in range(i)]
    trade = [(b, "trades", a) for a, _, b in allies[3:]]
    facts = hb.read_facts([*allies, *trade, ("c0", "trades", "c0")])
    relations = (replace(ranker.model.relations[0], relation="trades", rules=(), weights=None),)
    model = replace(
        ranker.model, relations=relations, features=("linked_together",), weights=(1.0,), ridge=None
    )
    asked = MemoryRanker.of(model, facts)
    step = next(iter(asked.steps))
    pool, score = asked.scored(step, np.array([0], dtype=np.int32))
    heard = 0
    for row in range(len(pool.entity)):
        found = fired_rules(asked, pool, row).get(EvidenceKind.LINKED, [])
        total = sum(one.weight or 0.0 for one in found)
        assert total == pytest.approx(float(score[row]), abs=2e-3)  # the least are not named
        assert all(one.clause.target == "trades" for one in found)
        heard += len(found)
    assert heard


def test_parts_add_up_and_the_rank_is_that_of_the_ranker(ranker: MemoryRanker) -> None:
    facts = ranker.facts
    held = [row for i, row in enumerate(world()) if i % 7 == 0 and row[1] == "citizen"][:3]
    for triple in held:
        found = GraphExplainer(ranker).explain(*triple)
        assert not found.is_fact
        for one in found.directions:
            query = (triple[0], triple[1], "?")
            if one.asks is Direction.SUBJECT:
                query = ("?", triple[1], triple[2])
            table = ranker.rank([query], top=10**6)
            column = "object" if one.asks is Direction.OBJECT else "subject"
            place = list(table[column]).index(getattr(found, column))
            assert one.rank == table["rank"][place]
            assert one.probability == pytest.approx(float(table["probability"][place]))
            inverse = one.asks is Direction.SUBJECT
            known = facts.entities.index(triple[2] if inverse else triple[0])
            step = step_code(facts.predicates.index(triple[1]), inverse)
            pool, every = ranker.scored(step, np.array([known], dtype=np.int32))
            fit = ranker.fit(step, np.full_like(pool.entity, known), pool.entity)
            mean = float(every[fit].mean())
            assert one.total == pytest.approx(float(table["score"][place]) - mean, abs=1e-9)
            assert [other.rank for other in one.above] == sorted(other.rank for other in one.above)
            assert all(other.rank < (one.rank or 0.0) for other in one.above)


def test_a_fact_is_explained_as_if_it_were_none(model: hb.GraphModel, facts: hb.Facts) -> None:
    triple = next(row for i, row in enumerate(world()) if i % 7 and row[1] == "citizen")
    found = model.explain(facts, triple)
    assert found.is_fact
    assert found.directions[0].rank is not None
    text = str(found)
    assert "explained as if it were not" in text
    assert triple not in {
        (fact.subject, fact.predicate, fact.object)
        for one in found.directions
        for reason in one.reasons
        for grounding in reason.groundings
        for fact in grounding.facts
    }
    assert found.as_dict()["reasons"][0]["rule"] == found.directions[0].reasons[0].rule
    assert "Score above the mean candidate" in found._repr_html_()


def test_names_stand_in_the_place_of_ids_of_entities_and_relations(
    model: hb.GraphModel, facts: hb.Facts
) -> None:
    names = EntityNames({"land, 0": 'the "first"', "lives": "has a home in", "p1": "Ann"})
    found = model.explain(facts, ("p1", "citizen", "land, 0"), reasons=50)
    assert "'land, 0'" in str(found)
    shown = str(found.in_names(names))
    # the rules stay as the model file has them
    assert not [line for line in shown.splitlines() if "land, 0" in line and " -> " not in line]
    assert "then X citizen 'the \"first\"'." in shown
    assert "Ann  citizen  ?" in shown
    assert "-has a home in->" in shown


def test_what_cannot_be_explained_is_told(model: hb.GraphModel, facts: hb.Facts) -> None:
    with pytest.raises(InputError, match="no fact has the entity 'nobody'"):
        model.explain(facts, ("nobody", "citizen", "land, 0"))
    with pytest.raises(InputError, match=r"unknown target predicate 'owns'.*knows"):
        model.explain(facts, ("p1", "owns", "land, 0"))
