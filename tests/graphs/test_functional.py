"""Functional relations: learned where chance does not explain them, and their limit on answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.graphs.functional import functional_steps
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.memory_graph import open_graph
from hornbeam.ranking.queries import Direction
from tests.support.recorded_progress import RecordedProgress

#: Countries, each with one continent but the last three, and with the two next ones as neighbours.
COUNTRIES, WITHOUT, CONTINENTS = 60, 3, 4


def continent(i: int) -> str:
    return f"continent{i * CONTINENTS // COUNTRIES}"


def world() -> list[tuple[str, str, str]]:
    within = [(f"c{i:02}", "in", continent(i)) for i in range(COUNTRIES - WITHOUT)]
    pairs = [(i, (i + k) % COUNTRIES) for i in range(COUNTRIES) for k in (1, 2)]
    borders = [(f"c{i:02}", "borders", f"c{j:02}") for i, j in pairs]
    return within + borders


@pytest.fixture(scope="module")
def model() -> hb.GraphModel:
    return hb.learn_graph(hb.read_facts(world()), max_length=2, settings=GraphSettings(ridge=False))


def functional_of(model: hb.GraphModel) -> set[tuple[str, Direction]]:
    return {(part.relation, part.direction) for part in model.relations if part.functional}


def test_who_has_an_answer_gets_no_other(model: hb.GraphModel) -> None:
    facts = hb.read_facts(world())
    assert functional_of(model) == {("in", Direction.OBJECT)}
    ranker = model.ranker(facts)
    assert len(ranker.rank([("c00", "in", "?")])) == 0
    assert ranker.rank([("c57", "in", "?")], top=1)["object"].tolist() == ["continent3"]
    without = {f"c{i:02}" for i in range(COUNTRIES - WITHOUT, COUNTRIES)}
    countries = ranker.rank([("?", "in", "continent3")], top=COUNTRIES)["subject"]
    assert without <= set(countries)
    assert not {f"c{i:02}" for i in range(57)} & set(countries)
    proposed = model.propose(facts, target="in", top=20)["subject"].tolist()
    assert set(proposed) == without


def test_every_use_of_the_model_has_the_limit(model: hb.GraphModel) -> None:
    facts, second = hb.read_facts(world()), ("c00", "in", "continent3")
    ranker = model.ranker(facts)
    scores = ranker.scores([("c00", "in", "?"), ("c57", "in", "?")])
    assert len(set(scores.values[0].tolist())) == 1
    assert len(set(scores.values[1].tolist())) > 1
    scored = model.predict(facts, [second])
    assert scored["probability"][0] < 1e-9
    explained = model.explain(facts, second)
    assert explained.rank is None
    assert explained.directions[0].score == 0.0
    assert explained.directions[1].rank is None
    known = model.explain(facts, ("c00", "in", "continent0"))
    assert known.is_fact
    assert known.rank == 1.0
    found = model.evaluate_ranks(facts, [("c57", "in", "continent3"), ("c00", "in", "continent1")])
    assert found.ranks.rank[found.ranks.queries.known == facts.entity("c57")].tolist() == [1.0]


def test_a_database_has_the_same_limit(model: hb.GraphModel) -> None:
    queries = [("c00", "in", "?"), ("c57", "in", "?"), ("?", "in", "continent3")]
    with hb.open_duckdb(world()) as engine:
        assert functional_steps(open_graph(engine, GraphSettings()), [2, 3, 4, 5]) == {
            2 + 2 * hb.read_facts(world()).predicates.index("in")
        }
        stored = model.rank(engine, queries, top=COUNTRIES)
    in_memory = model.rank(hb.read_facts(world()), queries, top=COUNTRIES)
    for name in ("subject", "object", "rank"):
        assert stored[name].tolist() == in_memory[name].tolist()


def test_a_query_that_has_its_answer_is_told_why_it_gets_none(model: hb.GraphModel) -> None:
    told = RecordedProgress()
    facts, why = hb.read_facts(world()), "one answer among the facts, so none is proposed: 'in' is"
    assert not len(model.rank(facts, [("c00", "in", "?")], progress=told))
    assert told.messages[-1] == f"The query has its {why} functional."
    model.rank(facts, [("c57", "in", "?"), ("c00", "in", "?")], top=1, progress=told)
    assert told.messages[-1] == f"1 of 2 queries have their {why} functional."


def test_models_say_so_and_older_models_have_no_limit(model: hb.GraphModel) -> None:
    text = model.text
    assert "# Every known X has one Y: an X with a known Y gets no other." in text
    assert hb.GraphModel.parse(text) == model
    older = hb.GraphModel.parse(text.replace(', "functional": true', ""))
    assert not functional_of(older)
    assert len(older.rank(hb.read_facts(world()), [("c00", "in", "?")]))
    parts = tuple(replace(part, functional=False) for part in model.relations)
    assert older == replace(model, relations=parts)


@pytest.mark.parametrize("value", ["1", "null", '"yes"'])
def test_a_flag_that_is_no_truth_value_is_refused(model: hb.GraphModel, value: str) -> None:
    wrong = model.text.replace('"functional": true', f'"functional": {value}')
    with pytest.raises(InputError, match="functional"):
        hb.GraphModel.parse(wrong)


def test_held_out_facts_refute() -> None:
    facts = hb.read_facts(world())
    held = hb.read_facts([("c57", "in", "continent3"), ("c10", "in", "continent3")])
    model = hb.learn_graph(facts, held, max_length=1, settings=GraphSettings(ridge=False))
    assert not functional_of(model)


def test_few_links_among_many_entities_are_not_functional() -> None:
    """Random links, by which a relation has one answer by chance in half of the graphs."""
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        links = np.unique(rng.integers(100, size=(12, 2)), axis=0)
        every = [(f"e{a}", "r", f"e{b}") for a, b in links.tolist()]
        every += [(f"e{i}", "s", f"e{(i + 1) % 100}") for i in range(100)]
        every += [(f"e{i}", "s", f"e{(i + 7) % 100}") for i in range(100)]
        found += len(functional_steps(open_graph(hb.read_facts(every), GraphSettings()), [2, 3]))
    assert found == 0
