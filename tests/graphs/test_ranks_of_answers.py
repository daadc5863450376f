"""Ranks counted in the answers that `rank` lists are those that `evaluate` counts."""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.facts.table import ONE
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.ranking.fact_ranker import FactRanker
from tests.support.naive_ranks import Triple, naive_ranks
from tests.support.rich_worlds import ENTITIES, RichWorld, rich_models

#: More answers than any query has.
EVERYTHING = 10**6


def mrr_by_answers(
    model: hb.GraphModel | hb.Model, train: hb.Facts, test: list[Triple], valid: list[Triple]
) -> float:
    """The filtered MRR, from the answers of all test queries and the scores that they have."""
    asked = [query for s, p, o in test for query in ((s, p, "?"), ("?", p, o))]
    answers = model.rank(train, asked, top=EVERYTHING)
    scores: dict[tuple[str, str, bool], dict[str, float]] = defaultdict(dict)
    for row in answers.dicts():
        asks_subject = asked[row["query"] - 1][0] == "?"
        given, answer = (row["object"], row["subject"])[:: 1 if asks_subject else -1]
        scores[row["relation"], given, asks_subject][answer] = row["score"]
    known = [
        (train.entities[s], train.predicates[p], train.entities[o])
        for p, s, o in zip(train.binary.predicate.tolist(),
                           *(ids.tolist() for ids in train.binary.arguments), strict=True)
    ]  # fmt: skip
    seen = [(name, "is", name) for name in train.entities]  # every entity is a candidate
    ranks = naive_ranks(scores, [*known, *seen], valid, test)
    return float(np.mean([2 / sum(two) for two in ranks.values()]))


def random_graph(seed: int) -> tuple[hb.Facts, list[Triple], list[Triple]]:
    """Two relations, one the other's square on a ring with shortcuts; no link is a loop."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 20))
    near = {(i, (i + k) % n) for i in range(n) for k in (1, int(rng.integers(2, n)))}
    far = {(a, d) for a, b in near for c, d in near if b == c and a != d}
    triples = sorted([(f"e{a}", "near", f"e{b}") for a, b in near]
                     + [(f"e{a}", "far", f"e{b}") for a, b in far])  # fmt: skip
    hidden = {triples[int(i)] for i in rng.permutation(len(triples))[: len(triples) // 4]}
    held = sorted(hidden)
    return hb.read_facts([t for t in triples if t not in hidden]), held[::2], held[1::2]


@pytest.mark.parametrize("seed", range(4))
def test_of_whole_graphs(seed: int) -> None:
    """With a pool for all candidates, and with a small one that most of them follow."""
    train, test, valid = random_graph(seed)
    learned = hb.learn_graph(train, max_length=2, seed=seed)
    for model in (learned, replace(learned, pool=3)):
        found = model.evaluate_ranks(train, test, filter=valid)
        assert found.mrr == pytest.approx(mrr_by_answers(model, train, test, valid), abs=1e-9)


def mrr_by_scores(
    ranker: FactRanker, test: list[Triple], valid: list[Triple], train: hb.Facts
) -> float:
    """The filtered MRR, from the scores of all entities."""
    asked = [query for s, p, o in test for query in ((s, p, "?"), ("?", p, o))]
    found = ranker.scores(asked)
    assert found.values.dtype == np.float32
    assert np.isfinite(found.values).all()
    true = {*test, *valid, *((s, p, o) for p in train.predicates for s, o in named(train, p))}
    total = 0.0
    for (s, p, o), row, (subject, _, object_) in zip(
        asked, found.values, [t for t in test for _ in range(2)], strict=True
    ):
        answer = object_ if o == "?" else subject
        own = row[found.entities.index(answer)]
        better = equal = 0
        for name, score in zip(found.entities, row, strict=True):
            triple = (s, p, name) if o == "?" else (name, p, o)
            if triple not in true:
                better += score > own
                equal += score == own
        total += 1 / (1 + better + equal / 2)
    return total / len(asked)


def named(facts: hb.Facts, predicate: str) -> list[tuple[str, str]]:
    """Subjects and objects of a relation's facts."""
    subject, object_ = facts.links(predicate)
    return [(facts.entities[s], facts.entities[o]) for s, o in zip(subject, object_, strict=True)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_every_entity_has_a_score_in_the_order_of_ranks(seed: int, engine: str) -> None:
    """Also where few are proposed: the others are in the order of slots, loops come last."""
    train, test, valid = random_graph(seed)
    further = [("e1", "sees", f"e{i}") for i in range(5, 9)]
    train = train + hb.read_facts(further)
    without = GraphSettings(ridge=False)
    learned = hb.learn_graph(train, max_length=1, seed=seed, settings=without)
    model = replace(learned, pool=2)
    expected = model.evaluate_ranks(train, test, filter=valid).mrr
    with nullcontext(train) if engine == "memory" else hb.open_duckdb(train) as facts:
        ranker = model.ranker(facts, test=as_facts([*test, *valid]))
        assert mrr_by_scores(ranker, test, valid, train) == pytest.approx(expected, abs=1e-6)
        predicted = np.asarray(model.scorer(facts).predict(test))
        blocks = list(ranker.score_blocks([(s, p, "?") for s, p, _ in test], rows=2))
    values = np.concatenate([block.values for block in blocks])
    own = [ranker.facts.entities.index(o) for _, _, o in test]
    assert predicted == pytest.approx(values[np.arange(len(test)), own], rel=1e-5)


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(rich_models(), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_scores_of_rule_models_are_those_of_pairs(model: hb.Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in ENTITIES for b in ENTITIES]
    facts = [(p, *pairs[i]) for p in "pqt" for i in rng.permutation(len(pairs))[:6].tolist()]
    train = RichWorld(dict.fromkeys(facts, ONE)).facts
    for known, inverse in ((ENTITIES[0], False), (ENTITIES[1], True)):
        found = model.ranker(train).scores([("?", "t", known) if inverse else (known, "t", "?")])
        asked = [(known, name)[:: -1 if inverse else 1] for name in found.entities]
        expected = np.asarray(model.predict(train, asked))
        assert found.values[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(rich_models(), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_of_rules(model: hb.Model, seed: int) -> None:
    """One rule leads back to where it starts from, and no known link is a loop."""
    rng = np.random.default_rng(seed)
    back = hb.Model.parse("1.7: p(A, X) & p(B, X) -> t(A, B)\n").rules
    model = replace(model, rules=(*model.rules, *back))
    pairs = [(a, b) for a in ENTITIES for b in ENTITIES]
    facts = [(p, *pairs[i]) for p in "pq" for i in rng.permutation(len(pairs))[:6].tolist()]
    links = [("t", a, b) for a, b in rng.permutation(pairs).tolist() if a != b]
    train = RichWorld(dict.fromkeys([*facts, *links[:4]], ONE)).facts
    test, valid = ([(s, p, o) for p, s, o in some] for some in (links[4:7], links[7:9]))
    found = model.evaluate_ranks(train, as_facts(test), filter=as_facts(valid))
    assert found.mrr == pytest.approx(mrr_by_answers(model, train, test, valid), abs=1e-9)


def as_facts(triples: list[Triple]) -> hb.Facts:
    return RichWorld({(p, s, o): ONE for s, p, o in triples}).facts


def test_as_many_answers_as_are_asked_for() -> None:
    """Pools limit what is described, not what is listed; the first answers stay the same."""
    pairs = [(f"a{i}", "p", f"b{i * 7 % 90 + k}") for i in range(90) for k in range(2)]
    linked = [(s, "q", o) for s, _, o in pairs[::2]]
    facts = hb.read_facts([*pairs, *linked, ("a0", "q", "b2")])  # else q is functional
    learned = hb.learn_graph(facts, max_length=2)
    small, asked = replace(learned, pool=5), [("a3", "q", "?"), ("?", "q", "b7")]
    few, many = small.rank(facts, asked, top=5), small.rank(facts, asked, top=5000)
    all_at_once = learned.rank(facts, asked, top=5000)
    for query in (1, 2):
        listed = [row for row in many.dicts() if row["query"] == query]
        assert len(listed) == sum(row["query"] == query for row in all_at_once.dicts()) > 40
        first = [row for row in few.dicts() if row["query"] == query]
        assert [row["object"] for row in first] == [row["object"] for row in listed[:5]]
        expected = [row["probability"] for row in first]
        assert [row["probability"] for row in listed[:5]] == pytest.approx(expected, abs=1e-12)
        assert [row["rank"] for row in listed[5:]] == list(range(6, len(listed) + 1))
    rules = hb.Model.parse("1: p(A, X) -> q(A, B)\n")
    assert len(rules.rank(facts, asked[:1], top=5000)) == len(set(facts.links("q")[1].tolist())) - 1
