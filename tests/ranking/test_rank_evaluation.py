"""Filtered ranks: held to the definition, computed naively, and to PyKEEN's formulas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.facts.reading.readers import read_facts
from hornbeam.ranking.filtered_ranks import Ranks
from hornbeam.ranking.queries import Answers, Queries
from hornbeam.ranking.rank_evaluation import GraphEvaluation, evaluate_ranks
from tests.support.brute_force import ONE
from tests.support.naive_ranks import Scores, TableRanker, Triple, collected_answers, naive_ranks
from tests.support.recorded_progress import RecordedProgress
from tests.support.worlds import facts_of

ENTITIES = st.sampled_from("abcdefg")
TRIPLES = st.tuples(ENTITIES, st.sampled_from("pqr"), ENTITIES)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Triple], list[Triple], list[Triple], Scores]:
    """Train, valid and test triples, and scores of answers that train's entities may be."""
    train = draw(st.lists(TRIPLES, min_size=1, max_size=12, unique=True))
    valid = draw(st.lists(TRIPLES, max_size=5, unique=True))
    test = draw(st.lists(TRIPLES, min_size=1, max_size=6, unique=True))
    names = sorted({name for s, _, o in train for name in (s, o)})
    relations = sorted({p for _, p, _ in train})
    score = st.sampled_from([-2.0, 0.0, 0.25, 0.5, 1.0])
    answers = st.dictionaries(st.sampled_from(names), score)
    queries = st.tuples(st.sampled_from(relations), st.sampled_from(names), st.booleans())
    return train, valid, test, draw(st.dictionaries(queries, answers, max_size=15))


def by_names(ranks: Ranks) -> dict[tuple[Triple, bool], float]:
    """Ranks by triple and direction."""
    queries, found = ranks.queries, {}
    assert queries.answer is not None
    for i, rank in enumerate(ranks.rank.tolist()):
        known = ranks.united.entity(int(queries.known[i]))
        answer = ranks.united.entity(int(queries.answer[i]))
        relation = ranks.united.relation(int(queries.relation[i]))
        asks_subject = bool(queries.asks_subject[i])
        subject, object_ = (answer, known) if asks_subject else (known, answer)
        found[(subject, relation, object_), asks_subject] = rank
    return found


def evaluated(
    train: list[Triple],
    valid: list[Triple],
    test: list[Triple],
    scores: Scores,
    below: Mapping[str, float] | None = None,
) -> GraphEvaluation:
    facts, tested, further = (
        facts_of(dict.fromkeys(triples, ONE)) for triples in (train, test, valid)
    )
    return evaluate_ranks(TableRanker(facts, scores, below), facts, tested, [further])


@pytest.mark.parametrize("score", [-2.0, 1e-9, 0.25, 0.75, 1 - 1e-9])
def test_sums_in_another_order_tie(score: float) -> None:
    """The last digit of a score is no reason to be above another answer, or below it."""
    train = [(name, "p", name) for name in "abcde"]
    digit = np.spacing(score)
    noisy = {
        "b": score,
        "c": score + digit,
        "d": score + 2 * digit,
        "e": score / 2,
        "a": score + 1e-6,
    }
    scores = {("p", "a", False): noisy, ("p", "b", False): {"a": score + 2 * digit}}
    found = by_names(evaluated(train, [], [("a", "p", "b")], scores).ranks)
    above = 0 if score > 0 else 1  # half a negative score is above it
    assert found[("a", "p", "b"), False] == above + 2.0


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(
    graphs(),
    st.none() | st.dictionaries(ENTITIES, st.sampled_from([-np.inf, -1.0, 0.0, 2.0])),
)
def test_ranks_are_those_of_the_definition(
    graph: tuple[list[Triple], list[Triple], list[Triple], Scores],
    below: Mapping[str, float] | None,
) -> None:
    """With an order of entities that are not proposed, and without."""
    train, valid, test, scores = graph
    found = evaluated(train, valid, test, scores, below)
    naive = naive_ranks(scores, train, valid, test, below)
    # PyKEEN: the realistic rank is the mean of the optimistic and the pessimistic one
    realistic = {key: (low + high) / 2 for key, (low, high) in naive.items()}
    assert by_names(found.ranks) == realistic
    rank = np.array(list(realistic.values()))
    assert found.mrr == pytest.approx(np.mean(1 / rank))
    for k, share in ((1, found.hits_1), (3, found.hits_3), (10, found.hits_10)):
        assert share == pytest.approx(np.mean(rank <= k)) == found.hits(k)
    assert found.hits(2) == pytest.approx(np.mean(rank <= 2))
    assert found.mean_rank == pytest.approx(np.mean(rank))
    table = found.to_ranks_table()
    listed = {
        ((row["subject"], row["relation"], row["object"]), row["asks"] == "subject"): row["rank"]
        for row in table.dicts()
    }
    assert listed == realistic
    names = {name for s, _, o in [*train, *valid, *test] for name in (s, o)}
    assert found.candidates == len(names)
    assert found.queries == 2 * len(test)
    assert found.in_facts == len(set(test) & set(train))
    known = {name for s, _, o in train for name in (s, o)}, {p for _, p, _ in train}
    assert found.unknown == sum(not ({s, o} <= known[0] and p in known[1]) for s, p, o in test)


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(graphs())
def test_relations_add_up_to_the_whole(
    graph: tuple[list[Triple], list[Triple], list[Triple], Scores],
) -> None:
    found = evaluated(*graph)
    rows = found.relations
    assert [(row.relation, row.direction) for row in rows] == [
        (p, direction)
        for p in sorted({p for _, p, _ in graph[2]})
        for direction in ("object", "subject")
    ]
    assert sum(row.queries for row in rows) == found.queries
    for name in ("mrr", "hits_1", "hits_3", "hits_10", "mean_rank"):
        assert found.macro[name] == pytest.approx(np.mean([getattr(row, name) for row in rows]))
        total = sum(getattr(row, name) * row.queries for row in rows)
        assert total == pytest.approx(getattr(found, name) * found.queries)


def test_a_worked_example() -> None:
    """Of (a, p, ?) b is known from train and c from the filter: d ranks behind e, tied with f."""
    scores: Scores = {("p", "a", False): {"b": 9.0, "c": 8.0, "e": 7.0, "d": 6.0, "f": 6.0}}
    train: list[Triple] = [("a", "p", "b"), ("c", "q", "d"), ("e", "q", "f")]
    found = evaluated(train, [("a", "p", "c")], [("a", "p", "d")], scores)
    # nothing is proposed for (?, p, d): six candidates tie
    assert found.ranks.rank.tolist() == [2.5, 3.5]
    assert found.as_dict() == {
        "mrr": pytest.approx((1 / 2.5 + 1 / 3.5) / 2),
        "hits_1": 0.0,
        "hits_3": 0.5,
        "hits_10": 1.0,
        "mean_rank": 3.0,
        "macro": {"mrr": pytest.approx((1 / 2.5 + 1 / 3.5) / 2), "hits_1": 0.0, "hits_3": 0.5,
                  "hits_10": 1.0, "mean_rank": 3.0},
        "queries": 2,
        "relations": [
            {"relation": "p", "direction": direction, "mrr": 1 / rank, "hits_1": 0.0,
             "hits_3": float(rank <= 3), "hits_10": 1.0, "mean_rank": rank,
             "queries": 1}
            for direction, rank in (("object", 2.5), ("subject", 3.5))
        ],
        "candidates": 6,
        "unknown": 0,
        "in_facts": 0,
        "left_out": 0,
        "seconds": found.seconds,
    }  # fmt: skip
    assert "MRR 0.3429" in repr(found)
    assert ">subject</td>" in found._repr_html_()


def test_names_that_train_does_not_have_are_counted_and_said() -> None:
    train, scores = [("a", "p", "b"), ("b", "p", "c")], {("p", "a", False): {"b": 1.0, "c": 0.5}}
    test = [("a", "p", "new"), ("a", "other", "b"), ("a", "p", "c")]
    facts, told = read_facts(train), RecordedProgress()
    found = evaluate_ranks(TableRanker(facts, scores), facts, read_facts(test), progress=told)
    assert found.unknown == 2
    [said] = told.messages
    assert said.startswith("2 test facts name an entity or a relation that no fact has")
    ranks = by_names(found.ranks)
    # among a, b, c, new: b and c are known, so new ties with a below nothing
    assert ranks[("a", "p", "new"), False] == 1.5
    # nothing is proposed: all four candidates tie
    assert ranks[("a", "other", "b"), False] == ranks[("a", "other", "b"), True] == 2.5
    assert {stage for stage, _, _ in told.reports} == {"Ranking answers"}
    assert told.reports[-1] == ("Ranking answers", 6, 6)
    assert told.reports == sorted(told.reports)


def test_test_facts_that_are_in_train_are_said() -> None:
    with pytest.warns(HornbeamWarning, match="1 test fact is among the facts too"):
        found = evaluated([("a", "p", "b")], [], [("a", "p", "b"), ("b", "p", "a")], {})
    assert found.in_facts == 1


def test_a_filter_that_is_the_test_is_warned_of() -> None:
    test: list[Triple] = [("a", "p", "c"), ("b", "p", "c")]
    with pytest.warns(HornbeamWarning, match="the filter has the same facts as the test"):
        evaluated([("a", "p", "b")], test[::-1], test, {})


def test_there_must_be_something_to_rank() -> None:
    facts = read_facts([("a", "p", "b"), ("a", "kind")])
    with pytest.raises(InputError, match="the test has no true fact of two arguments"):
        evaluate_ranks(TableRanker(facts, {}), facts, read_facts([("a", "kind")]))
    with pytest.raises(InputError, match="the test has no fact of q, r, which the model"):
        evaluate_ranks(
            TableRanker(facts, {}), facts, read_facts([("b", "p", "a")]), relations=["r", "q"]
        )
    with pytest.raises(DataError, match="has no rows"):
        read_facts([])


def test_false_test_facts_are_left_out() -> None:
    facts = read_facts([("a", "p", "b")])
    test = read_facts([("b", "p", "a", 1.0), ("b", "p", "b", 0.0), ("a", "p", "a", 0.25)])
    found = evaluate_ranks(TableRanker(facts, {}), facts, test)
    assert found.queries == 2


def test_relations_of_no_rule_are_left_out_and_said() -> None:
    facts, told = read_facts([("a", "p", "b"), ("a", "q", "b")]), RecordedProgress()
    test = read_facts([("b", "p", "a"), ("b", "q", "a"), ("a", "q", "a")])
    found = evaluate_ranks(TableRanker(facts, {}), facts, test, relations=["p"], progress=told)
    assert (found.queries, found.left_out) == (2, 2)
    assert told.messages == [
        "2 test facts are of relations that the model has no rules for; they are left out."
    ]


class Backwards:
    """Proposes the worst first."""

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        n = len(queries)
        entities = np.tile(np.arange(2, dtype=np.int32), n)
        return Answers(np.arange(n + 1) * 2, entities, np.tile([0.0, 1.0], n))

    def others(self, step: int, source: int) -> None:
        """All others tie."""


def test_a_ranker_that_breaks_its_word_is_noticed() -> None:
    facts = read_facts([("a", "p", "b")])
    with pytest.raises(ValueError, match="best first"):
        evaluate_ranks(Backwards(), facts, read_facts([("b", "p", "a")]))


class RandomRanker:
    """Proposes random entities, so many for each query."""

    def __init__(self, n_entities: int, size: int) -> None:
        self.n_entities, self.size = n_entities, size

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        rng, n = np.random.default_rng(0), len(queries)
        step = rng.integers(1, self.n_entities // self.size, (n, self.size))
        entities = step.cumsum(axis=1).astype(np.int32).ravel()
        query = np.repeat(np.arange(n), self.size)
        return collected_answers(n, query, entities, rng.random(len(query)).round(2))
