"""A rule model as a ranker: what rules lead to, with the scores that pairs have."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.ranking.queries import Queries
from tests.support.naive_ranks import naive_ranks

FACTS = [
    ("ann", "knows", "ben"), ("ann", "knows", "cleo"), ("ben", "works_in", "oslo"),
    ("cleo", "works_in", "oslo"), ("cleo", "works_in", "rome"), ("dan", "knows", "cleo"),
    ("dan", "works_in", "rome"), ("eve", "lives_in", "bonn"),
]  # fmt: skip
RULES = """
1.0: knows(A, B) & works_in(B, C) -> works_in(A, C)
0.3: lives_in(A, B) -> works_in(A, B)
0.7: knows(A, X) -> !works_in(A, B)
0.5: !works_in(A, B)
"""


@pytest.fixture(scope="module")
def facts() -> hb.Facts:
    return hb.read_facts(FACTS)


@pytest.fixture(scope="module")
def model() -> hb.Model:
    return hb.Model.parse(RULES)


def all_queries(facts: hb.Facts, relation: str) -> Queries:
    """Every entity in both places."""
    n = len(facts.entities)
    ids = np.tile(np.arange(n, dtype=np.int32), 2)
    p = np.full(2 * n, facts.predicates.index(relation), dtype=np.int32)
    order = np.random.default_rng(0).permutation(2 * n)
    return Queries(p, ids, np.repeat([False, True], n)).select(order)


def test_what_positive_rules_reach_is_proposed_with_the_scores_of_pairs(
    facts: hb.Facts, model: hb.Model
) -> None:
    queries = all_queries(facts, "works_in")
    found = model.ranker(facts).answers(queries)
    assert len(found) == len(queries)
    reached = {("ann", "oslo"), ("ann", "rome"), ("dan", "oslo"), ("dan", "rome"), ("eve", "bonn")}
    pairs = set()
    for i in range(len(queries)):
        known = facts.entities[int(queries.known[i])]
        rows = slice(found.offsets[i], found.offsets[i + 1])
        answers = facts.entities.take(found.entities[rows].tolist())
        assert found.scores[rows].tolist() == sorted(found.scores[rows].tolist(), reverse=True)
        own = [(a, known) if queries.asks_subject[i] else (known, a) for a in answers]
        assert len(set(own)) == len(own)
        pairs |= set(own)
        if own:
            scores = model.predict(facts, hb.read_pairs([(s, "works_in", o) for s, o in own]))[
                "score"
            ]
            assert found.scores[rows].tolist() == scores.tolist()
    assert pairs == reached


def test_ranks_are_those_of_the_scores(facts: hb.Facts, model: hb.Model) -> None:
    test = [("ann", "works_in", "rome"), ("ben", "works_in", "rome"), ("eve", "works_in", "bonn")]
    valid = [("dan", "works_in", "oslo"), ("new", "works_in", "rome")]
    found = model.evaluate_ranks(facts, test, filter=valid)
    scores: dict[tuple[str, str, bool], dict[str, float]] = {}
    proposed = [("ann", "oslo"), ("ann", "rome"), ("dan", "oslo"), ("dan", "rome"), ("eve", "bonn")]
    pairs = hb.read_pairs([(s, "works_in", o) for s, o in proposed])
    for (s, o), score in zip(proposed, model.predict(facts, pairs)["score"].tolist(), strict=True):
        scores.setdefault(("works_in", s, False), {})[o] = score
        scores.setdefault(("works_in", o, True), {})[s] = score
    naive = naive_ranks(scores, FACTS, valid, test)
    realistic = [sum(two) / 2 for two in naive.values()]
    assert sorted(found.ranks.rank.tolist()) == sorted(realistic)


def test_a_target_that_the_facts_do_not_have_is_ranked(facts: hb.Facts) -> None:
    model = hb.Model.parse("1.0: knows(A, B) & works_in(B, C) -> visits(A, C)\n")
    found = model.evaluate_ranks(facts, [("dan", "visits", "rome")])
    assert found.unknown == 0
    assert found.mrr == pytest.approx((1 / 1.5 + 1 / 1.5) / 2)


def test_several_targets_are_ranked_at_once(facts: hb.Facts) -> None:
    model = hb.Model.parse(RULES + "1.0: works_in(A, B) -> lives_in(A, B)\n")
    test = [("ann", "works_in", "rome"), ("dan", "lives_in", "rome")]
    found = model.evaluate_ranks(facts, test)
    assert [(row.relation, row.queries) for row in found.relations] == [
        ("lives_in", 1), ("lives_in", 1), ("works_in", 1), ("works_in", 1),
    ]  # fmt: skip
    alone = hb.Model.parse(RULES).evaluate_ranks(facts, test[:1])
    assert [row.mrr for row in found.relations[2:]] == [row.mrr for row in alone.relations]


def test_answers_come_as_a_table(facts: hb.Facts, model: hb.Model) -> None:
    asked = [("ann", "works_in", "?"), ("?", "works_in", "rome")]
    with pytest.warns(HornbeamWarning, match="no fact has 'nobody', which query 3 names; it gets"):
        table = model.rank(facts, [*asked, ("nobody", "works_in", "?")], top=2)
    assert table.names == ["subject", "relation", "object", "score", "rank", "query"]
    rows = [(*row[:3], *row[4:]) for row in table]
    assert rows == [
        ("ann", "works_in", "oslo", 1.0, 1), ("ann", "works_in", "rome", 2.0, 1),
        ("ann", "works_in", "rome", 1.0, 2),
    ]  # fmt: skip
    known = model.rank(facts, asked, top=2, known=True)
    # dan works in rome already
    assert [row[0] for row in known if row[-1] == 2] == ["dan", "ann"]


def test_a_collective_model_ranks_nothing(facts: hb.Facts) -> None:
    model = hb.Model.parse('# hornbeam: {"collective": true}\n1.0: knows(A, B) -> knows(B, A)\n')
    with pytest.raises(InputError, match="a collective model scores pairs together and ranks no"):
        model.evaluate_ranks(facts, [("ann", "knows", "dan")])


def test_facts_of_little_truth_are_no_new_answers() -> None:
    facts = hb.read_facts([("a", "t", "b", 0.25), ("c", "t", "d", 1.0), ("b", "u"), ("d", "u")])
    model = hb.Model.parse("1: u(B) -> t(A, B)")
    asked = model.rank(facts, [("a", "t", "?"), ("?", "t", "b")])
    ranked = {*zip(asked["subject"], asked["object"], strict=True)}
    proposed = model.propose(facts)
    assert ranked == {*zip(proposed["subject"], proposed["object"], strict=True)}
    assert ranked == {("a", "d"), ("c", "b")}
