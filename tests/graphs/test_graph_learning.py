"""Learning whole graphs: nothing leaks, nothing depends on threads, new entities just work."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

import hornbeam as hb
from hornbeam import graph_learning
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.graph_learning import learn_graph
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.graph_evidence import GraphEvidence
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_settings import Extent, GraphPlan, GraphSettings
from hornbeam.graphs.graph_stages import held_triples
from hornbeam.graphs.grouped_queries import folds_of, hidden_folds, queries_along
from hornbeam.graphs.linked_graph import LinkedGraph, canonical_steps
from hornbeam.graphs.linked_pairs import linked_shares
from hornbeam.graphs.memory_graph import MemoryGraph
from hornbeam.graphs.model_parts import SHOWN
from hornbeam.graphs.path_rules import longest_path
from hornbeam.graphs.pools import pool_of
from hornbeam.graphs.ranking_model import path_of
from hornbeam.ranking.queries import Direction, Queries, Triples
from hornbeam.ranking.rank_evaluation import evaluate_ranks
from hornbeam.rules.body import Step
from hornbeam.rules.codes import step_code
from tests.support.brute_graphs import counted
from tests.support.kernels import compiles, kernels_are

pytestmark = compiles  # and one model for all

PEOPLE = 60


def planted(seed: int = 0, prefix: str = "") -> list[tuple[str, str, str]]:
    """Towns in countries, people in towns; they are citizens where their town is, mostly."""
    rng = np.random.default_rng(seed)
    rows = [(f"{prefix}town{i}", "in", f"{prefix}land{i % 4}") for i in range(12)]
    for i in range(PEOPLE):
        town = int(rng.integers(12))
        rows.append((f"{prefix}p{i}", "lives", f"{prefix}town{town}"))
        rows.append((f"{prefix}p{i}", "citizen", f"{prefix}land{town % 4}"))
        friend = int(rng.integers(PEOPLE))
        rows.append((f"{prefix}p{i}", "knows", f"{prefix}p{friend}"))
    return rows


def split(rows: list[tuple[str, str, str]]) -> tuple[hb.Facts, hb.Facts]:
    """A quarter of the citizens is held out."""
    held = [row for i, row in enumerate(rows) if row[1] == "citizen" and i % 12 == 1]
    return hb.read_facts([row for row in rows if row not in held]), hb.read_facts(held)


@pytest.fixture(scope="module")
def learned() -> tuple[hb.Facts, hb.Facts, GraphModel]:
    train, held = split(planted())
    return train, held, learn_graph(train)


@pytest.mark.slow
def test_a_planted_rule_is_found_and_ranks_well(
    learned: tuple[hb.Facts, hb.Facts, GraphModel],
) -> None:
    train, held, model = learned
    (part,) = (
        part
        for part in model.relations
        if part.relation == "citizen" and part.direction is Direction.OBJECT
    )
    best = max(part.rules, key=lambda rule: rule.hits)
    assert [step.predicate for step in path_of(best, part.direction)] == ["lives", "in"]
    found = evaluate_ranks(MemoryRanker.of(model, train), train, held)
    objects = [one for one in found.relations if one.direction == Direction.OBJECT]
    assert objects[0].mrr > 0.9


@pytest.mark.slow
def test_entities_that_training_never_saw(learned: tuple[hb.Facts, hb.Facts, GraphModel]) -> None:
    _, _, model = learned
    train, held = split(planted(seed=5, prefix="new_"))
    found = evaluate_ranks(MemoryRanker.of(model, train), train, held)
    objects = [one for one in found.relations if one.direction == Direction.OBJECT]
    assert objects[0].mrr > 0.9


@pytest.mark.slow
def test_same_bytes_on_any_number_of_threads() -> None:
    train, held = split(planted())
    texts = {learn_graph(train, held, threads=threads, seed=3).text for threads in (1, 2, 5)}
    assert len(texts) == 1
    assert learn_graph(train, held, seed=4).text not in texts


@pytest.mark.slow
def test_a_relation_of_one_fact_is_missing_from_most_folds() -> None:
    rows = [*planted(), ("town0", "twin of", "town1")]
    rare = learn_graph(rows, relations=["twin of"])
    assert {part.relation for part in rare.relations} == {"twin of"}
    assert len(learn_graph(rows).relations) == 10


@pytest.mark.slow
def test_same_bytes_interpreted_and_compiled() -> None:
    rows = planted()[:36]
    train, held = hb.read_facts(rows[:5] + rows[8:]), hb.read_facts(rows[5:8])
    settings = GraphSettings(extent=Extent(pool=6, folds=4, hidden=1))
    texts = set()
    for compiled in (False, True):
        with kernels_are(compiled):
            texts.add(learn_graph(train, held, settings=settings).text)
    assert len(texts) == 1


@pytest.mark.slow
def test_answers_do_not_depend_on_threads_or_company(
    learned: tuple[hb.Facts, hb.Facts, GraphModel],
) -> None:
    train, _, model = learned
    n = len(train.entities)
    citizen = train.predicates.index("citizen")
    queries = Queries(
        np.full(n, citizen, dtype=np.int32),
        np.arange(n, dtype=np.int32),
        np.arange(n) % 2 == 0,
    )
    together = MemoryRanker.of(model, train, threads=3).answers(queries)
    for row in (0, 7, n - 1):
        alone = MemoryRanker.of(model, train, threads=1).answers(
            Queries(queries.relation[[row]], queries.known[[row]], queries.asks_subject[[row]])
        )
        part = slice(together.offsets[row], together.offsets[row + 1])
        assert alone.entities.tolist() == together.entities[part].tolist()
        assert alone.scores.tolist() == together.scores[part].tolist()


@pytest.mark.slow
def test_random_triples_are_answered_by_chance() -> None:
    rng = np.random.default_rng(1)
    rows = {(f"e{s}", f"r{p}", f"e{o}") for s, p, o in rng.integers((40, 3, 40), size=(1100, 3))}
    listed = sorted(rows)
    order = rng.permutation(len(listed))
    train = hb.read_facts([listed[i] for i in order[150:]])
    test = hb.read_facts([listed[i] for i in order[:150]])
    model = learn_graph(train)
    mrr = evaluate_ranks(MemoryRanker.of(model, train), train, test).mrr
    # some 40 - 9 candidates are left per query
    chance = np.mean(1 / np.arange(1, 32))
    assert mrr == pytest.approx(chance, abs=0.04)


def test_links_that_say_the_same_are_hidden_together() -> None:
    """Relation 0 is symmetric, relation 2 the inverse of 1: no fold has one of two such links."""
    rng = np.random.default_rng(4)
    drawn = {(s, p, o) for s, p, o in rng.integers((30, 2, 30), size=(200, 3)).tolist()}
    drawn |= {(o, 0, s) for s, p, o in drawn if p == 0}
    drawn |= {(o, 2, s) for s, p, o in drawn if p == 1}
    graph = LinkedGraph(30, 3, *np.array(sorted(drawn), dtype=np.int32).T)
    folds = folds_of(graph, GraphPlan(2, canonical_steps(graph), Extent(folds=5), 0)).tolist()
    fold = dict(zip(sorted(drawn), folds, strict=True))
    for s, p, o in drawn:
        assert fold[s, p, o] == fold[o, (0, 2, 1)[p], s]
    assert all(np.bincount(folds) > len(drawn) / 15)


@pytest.mark.slow
def test_features_do_not_see_their_own_hidden_fold() -> None:
    rng = np.random.default_rng(2)
    rows = np.unique(rng.integers((30, 3, 30), size=(300, 3)), axis=0).astype(np.int32)
    extent = Extent(folds=5, hidden=5)
    graph = LinkedGraph(30, 3, *rows.T)
    every = np.stack(np.meshgrid(*map(np.arange, (30, 3, 30)), indexing="ij"), axis=-1)
    every = every.reshape(-1, 3).astype(np.int32)
    plan = GraphPlan(2, canonical_steps(graph), extent, 0)
    possible = folds_of(LinkedGraph(30, 3, *every.T), plan)
    for number, (rest, hidden) in enumerate(hidden_folds(graph, plan)):
        assert len(rest) + len(hidden) == len(graph)
        # the same graph with other links in the fold
        changed = np.concatenate(
            [
                np.stack([rest.subject, rest.predicate, rest.object], axis=1),
                rng.permutation(every[possible == number])[: len(hidden)],
            ]
        )
        changed = np.unique(changed, axis=0)
        parts = hidden_folds(LinkedGraph(30, 3, *changed.T), plan)
        (others,) = (some for k, (some, _) in enumerate(parts) if k == number)
        step = int(step_code(number % 3))
        paths = np.array([[2, 0], [5, 4], [6, 7]], dtype=np.int32)
        asked = queries_along(hidden, step)
        pools = [
            pool_of(
                GraphEvidence(some, 5.0),
                counted(some, step, paths, queries_along(some, step)),
                asked,
                100,
            )
            for some in (rest, others)
        ]
        assert pools[0].feature.tobytes() == pools[1].feature.tobytes()
        assert pools[0].entity.tobytes() == pools[1].entity.tobytes()


@pytest.mark.slow
def test_some_relations_only() -> None:
    train, held = split(planted())
    model = learn_graph(train, held, relations=["citizen"])
    assert {part.relation for part in model.relations} == {"citizen"}
    with pytest.raises(InputError, match="the facts have no relation 'owns'"):
        learn_graph(train, relations=["owns"])


def test_what_cannot_be_learned_is_told() -> None:
    with pytest.raises(InputError, match="a graph needs links"):
        learn_graph(hb.read_facts([("a", "p")]))
    with pytest.raises(InputError, match="`max_length` is 9"):
        learn_graph(hb.read_facts([("a", "p", "b")]), max_length=9)
    many = hb.read_facts([("a", f"p{i}", f"b{i}") for i in range(3000)])
    assert longest_path(LinkedGraph.of(many).size) == 3
    with pytest.raises(InputError, match="too much for 3,000 relations"):
        learn_graph(many, max_length=5)


@pytest.mark.slow
@pytest.mark.parametrize(("enough", "judge"), [(10, "valid"), (1000, "train")])
def test_held_out_facts_choose_unless_they_are_too_few(
    monkeypatch: pytest.MonkeyPatch, enough: int, judge: str
) -> None:
    monkeypatch.setattr(graph_learning, "MIN_QUERIES", enough)
    train, held = split(planted())
    model = learn_graph(train, held, settings=GraphSettings(rule_weights=False))
    assert model.linked.caution is None
    assert model.chosen["held_out"] == judge


def test_held_out_facts_that_stand_among_the_facts_are_left_out_with_a_warning() -> None:
    graph = hb.read_facts([("a", "p", "b"), ("b", "p", "c"), ("c", "p", "a")])
    held = hb.read_facts([("a", "p", "c"), ("b", "p", "c"), ("x", "p", "c"), ("c", "p", "a")])
    counter = MemoryGraph.of(graph, GraphSettings())
    with pytest.warns(HornbeamWarning, match="2 of 4 facts of `valid` are among the facts"):
        triples = held_triples(counter, held)
    assert triples is not None
    parts = triples.subject, triples.relation, triples.object
    assert [part.tolist() for part in parts] == [[0], [0], [2]]
    with pytest.warns(HornbeamWarning, match="3 of 3"):
        assert held_triples(counter, graph) is None


@pytest.mark.slow
def test_a_time_limit_ends_with_a_model() -> None:
    train, held = split(planted())
    model = learn_graph(train, held, time_limit=0.0)
    assert model.chosen["stopped_early"] == "yes"
    assert GraphModel.parse(model.text) == model
    evaluate_ranks(MemoryRanker.of(model, train), train, held)


@pytest.mark.slow
def test_classes_can_be_left_out() -> None:
    train, held = split(planted())
    settings = GraphSettings(constants=False, backward=False, ridge=False, per_relation=False)
    model = learn_graph(train, held, settings=settings)
    assert model.ridge is None
    assert not model.constants
    assert all(part.weights is None for part in model.relations)


def test_multiple_links() -> None:
    rows = np.array([[0, 0, 1], [1, 1, 0], [2, 0, 3]], dtype=np.int32)
    graph = LinkedGraph(4, 2, *rows.T)
    held = np.array([0, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32)
    found = linked_shares(graph, Triples(np.zeros(2, dtype=np.int32), *held))
    assert (found.train, found.valid) == (2 / 3, 1 / 2)


def test_the_best_constants_of_a_relation_are_named(
    learned: tuple[hb.Facts, hb.Facts, GraphModel],
) -> None:
    """The ten of highest confidence: a model has thousands."""
    of_relation = [part.constants for part in learned[2].relations]
    assert max(map(len, of_relation)) == SHOWN
    for rules in of_relation:
        best = [(rule.confidence, rule.hits) for rule in rules]
        assert best == sorted(best, reverse=True)


def test_linked_candidates_can_be_left_out(
    learned: tuple[hb.Facts, hb.Facts, GraphModel],
) -> None:
    train, _, model = learned
    # everybody knows one person: p0 would get no second answer
    parts = tuple(replace(part, functional=False) for part in model.relations)
    model = replace(model, relations=parts)
    p0 = train.entities.index("p0")
    query = Queries(
        np.array([train.predicates.index("knows")], dtype=np.int32),
        np.array([p0], dtype=np.int32),
        np.array([False]),
    )
    graph = LinkedGraph.of(train)
    linked = {int(o) for s, o in zip(graph.subject, graph.object, strict=True) if s == p0}
    linked |= {int(s) for s, o in zip(graph.subject, graph.object, strict=True) if o == p0}
    usual = set(MemoryRanker.of(model, train).answers(query).entities.tolist())
    without = set(
        MemoryRanker.of(model, train, leave_out_linked=True).answers(query).entities.tolist()
    )
    assert usual & linked
    assert not without & linked


def test_rules_that_say_the_same_are_written_once() -> None:
    """Neighbours are symmetric in the bundled facts; their spellings are one rule."""
    facts = hb.datasets.countries().facts
    extent = Extent(sampled=50, found=200, kept=100, folds=5, hidden=1)
    settings = GraphSettings(constants=False, backward=False, ridge=False, extent=extent)
    model = hb.learn_graph(facts, relations=["in_subregion"], max_length=3, settings=settings)
    links = defaultdict[Step, set[tuple[str, str]]](set)
    for subject, relation, object_ in facts:
        links[Step(relation)].add((subject, object_))
        links[Step(relation, inverse=True)].add((object_, subject))
    assert links[Step("neighbour")] == links[Step("neighbour", inverse=True)]
    for part in model.relations:
        meanings = [
            tuple(frozenset(links[step]) for step in path_of(rule, part.direction))
            for rule in part.rules
        ]
        assert any(len(meaning) == 3 for meaning in meanings)
        assert len(set(meanings)) == len(meanings)
