"""Proposed links are the best of all pairs that rules reach, found without looking at all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import Relaxation, Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import HornbeamWarning, InputError, UnknownTargetError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.scoring import proposals
from hornbeam.scoring.proposals import Proposer, subjects_of
from tests.support.proposed import Scored, expected_links
from tests.support.random_rules import ReferenceModel, rule_models
from tests.support.worlds import CRISP, SOFT, World, worlds


def proposed_links(
    model: ReferenceModel, world: World, target: str, top: int, per_subject: bool, score: Score
) -> Scored:
    facts = world.facts
    engine = MemoryEngine(facts, threads=1)
    rules, types = model.of_target(target), ArgumentTypes(facts)
    proposer = Proposer(rules, engine, target, types, score=score)
    search = proposer.best_of_each if per_subject else proposer.best_of_all
    best = search(subjects_of(facts, target), top)
    pairs, found = proposer.pairs(best.start, best.end), best.score
    assert list(pairs.predicates) == [target]
    subjects, objects = (pairs.entities.take(ids) for ids in (pairs.subject, pairs.object))
    return list(zip(subjects, objects, found.tolist(), strict=True))


@given(
    value=st.sampled_from([CRISP, SOFT]),
    target=st.sampled_from(["t", "p"]),
    block=st.sampled_from([1, 256]),
    data=st.data(),
)
@settings(max_examples=60)
def test_they_are_the_best_of_all_pairs(
    value: st.SearchStrategy[int], target: str, block: int, data: st.DataObject
) -> None:
    world = data.draw(worlds(value))
    relaxations = tuple(Relaxation)
    model = data.draw(rule_models(target, relaxations))
    top, per_subject = data.draw(st.integers(1, 6)), data.draw(st.booleans())
    score = data.draw(st.sampled_from(Score))
    known = sorted({s for s, p, _ in world.values if p == target})
    everyone = sorted({name for s, _, o in world.values for name in (s, o)})
    links = expected_links(model, world, target, known or everyone, score)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals, "SUBJECTS_OF_EACH", block)
        found = proposed_links(model, world, target, top, per_subject, score)
    if per_subject:
        best = [row for s in sorted(links) for row in links[s][:top]]
    else:
        rows = [row for rows in links.values() for row in rows]
        best = sorted(rows, key=lambda row: (-row[2], row[0], row[1]))[:top]
    assert [row[:2] for row in found] == [row[:2] for row in best]
    assert [row[2] for row in found] == [row[2] for row in best]


def rule(weight: float, *steps: str, negated: bool = False) -> Rule:
    """A rule for t; a step that ends in ' walks backwards."""
    walked = tuple(Step(step.rstrip("'"), step.endswith("'")) for step in steps)
    return Rule(weight, Clause(Body(walked, "t"), negated))


FACTS = hb.read_facts(
    [("a", "p", "b"), ("b", "q", "c"), ("d", "q", "b"), ("a", "t", "x"), ("b", "t", "c")]
    + [("hub", "p", f"leaf{i}") for i in range(5)]
    + [("a", "p", "hub")]
)


def links(model: hb.Model, **settings: object) -> list[tuple[str, str]]:
    found = model.propose(FACTS, **settings)  # type: ignore[arg-type]
    return [(subject, object_) for subject, _, object_, _ in found]


def test_inverse_steps_are_followed_backwards() -> None:
    assert links(hb.Model((rule(1.0, "p", "q'"),))) == [("a", "d")]
    assert links(hb.Model((rule(1.0, "q'", "p'"),))) == []
    assert links(hb.Model((rule(1.0, "p'"),)), subjects=["b"]) == [("b", "a")]


def test_known_facts_are_not_proposed() -> None:
    assert links(hb.Model((rule(1.0, "q"),))) == []  # b q c, and b t c is known
    assert links(hb.Model((rule(1.0, "q"),)), subjects=["b", "d"]) == [("d", "b")]


def test_rules_that_speak_against_or_weigh_nothing_reach_nothing() -> None:
    silent = (rule(2.0, "p", negated=True), rule(0.0, "p"), Rule(3.0, prior("t", negated=False)))
    assert links(hb.Model(silent)) == []


def test_a_hub_beyond_the_limit_is_not_walked() -> None:
    both = (rule(1.0, "p", "p"), rule(0.5, "p"))
    free = links(hb.Model(both), top=100)
    assert {object_ for _, object_ in free} == {f"leaf{i}" for i in range(5)} | {"b", "hub"}
    limited = links(hb.Model(both, Semantics(max_fanout=4)), top=100)
    assert limited == [("a", "b"), ("a", "hub")]


def test_distinct_variables_do_not_come_back() -> None:
    facts = hb.read_facts([("a", "p", "b"), ("c", "p", "b"), ("x", "t", "x")])
    for distinct, expected in ((False, ["a", "c"]), (True, ["c"])):
        semantics = Semantics(distinct_variables=distinct)
        model = hb.Model((rule(1.0, "p", "p'"),), semantics)
        assert list(model.propose(facts, subjects=["a"])["object"]) == expected


def test_loops_are_proposed_only_where_some_fact_is_one() -> None:
    model = hb.Model((rule(1.0, "p", "p'"),))
    siblings = [("a", "p", "m"), ("b", "p", "m"), ("a", "t", "c"), ("b", "t", "c")]
    for known, expected in (("c", [("a", "b"), ("b", "a")]), ("d", [("a", "a"), ("a", "b")])):
        for per_subject in (False, True):
            found = model.propose([*siblings, ("d", "t", known)], top=2, per_subject=per_subject)
            assert [(s, o) for s, _, o, _ in found][:2] == expected


def test_subjects_are_the_known_ones_unless_told() -> None:
    assert subjects_of(FACTS, "t").tolist() == FACTS.entities.find(["a", "b"]).tolist()
    assert len(subjects_of(FACTS, "never")) == len(FACTS.entities)
    of_one = hb.read_facts([("a", "p", "b")], [("b", "known")])
    assert subjects_of(of_one, "known").tolist() == [0, 1]
    model = hb.Model((rule(1.0, "p"),))
    assert {s for s, _ in links(model, top=100)} == {"a"}
    # naming a subject twice changes nothing
    assert links(model, subjects=["hub", "a", "hub"], top=100) == links(
        model, subjects=["a", "hub"], top=100
    )
    assert len(links(model, subjects=["hub"], top=3)) == 3


def test_the_target_is_chosen_among_several() -> None:
    other = Rule(1.0, Clause(Body((Step("p"),), "u")))
    model = hb.Model((rule(1.0, "p"), other))
    with pytest.raises(InputError, match="several targets; name one by `target`: "):
        model.propose(FACTS)
    with pytest.raises(UnknownTargetError, match="'v'"):
        model.propose(FACTS, target="v")
    assert set(model.propose(FACTS, target="u", subjects=["a"])["predicate"]) == {"u"}


def test_unknown_subjects_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="no fact has the subject 'nobody'"):
        hb.Model((rule(1.0, "p"),)).propose(FACTS, subjects=["a", "nobody"])


def test_unknown_predicates_warn_once() -> None:
    with pytest.warns(HornbeamWarning, match="'gone'") as caught:
        hb.Model((rule(1.0, "p"), rule(1.0, "gone"))).propose(FACTS)
    assert len(caught) == 1


def test_scores_are_those_of_predict() -> None:
    model = hb.Model((rule(1.0, "p", "p"), rule(0.5, "p"), Rule(0.7, prior("t"))))
    found = model.propose(FACTS, top=100)
    np.testing.assert_array_equal(found, model.predict(FACTS, found))
    states = model.propose(FACTS, top=100, score="map")
    assert set(states["score"].tolist()) <= {0.0, 1.0}
