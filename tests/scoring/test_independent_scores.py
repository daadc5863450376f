"""Scores in closed form against the definition: walk every path, integrate, compare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation, Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.independent_scores import score_targets, strengths
from tests.support.random_rules import ReferenceModel, energy, mean_by_quadrature, rule_models
from tests.support.recorded_progress import RecordedProgress
from tests.support.worlds import SOFT, World, worlds

FACTS = hb.read_facts([("a", "p", "b")])
PAIR = hb.read_pairs([("a", "t", "b")])
RELAXATIONS = pytest.mark.parametrize("relaxation", list(Relaxation))


def scored(model: ReferenceModel, world: World, score: Score) -> Floats:
    engine = MemoryEngine(world.facts, threads=1)
    counted = engine.count(world.targets, model.bodies, model.language)
    return score_targets(model, counted, world.targets, score)


def check(model: ReferenceModel, world: World) -> None:
    relaxation = model.semantics.relaxation
    p = 2 if relaxation is Relaxation.SQUARED else 1
    means, maps = scored(model, world, Score.MEAN), scored(model, world, Score.MAP)
    for i, (pair, _) in enumerate(world.labels):
        hinges = model.hinges(world.values, pair)
        assert means[i] == pytest.approx(mean_by_quadrature(hinges, relaxation), abs=1e-9)
        states = (
            np.array([0.0, 1.0]) if relaxation is Relaxation.BOOLEAN else np.linspace(0, 1, 501)
        )
        least = energy(hinges, states, p).min()
        if relaxation is Relaxation.BOOLEAN and maps[i] not in (0.0, 1.0):
            at = energy(hinges, states, p)
            assert maps[i] == 0.5
            assert at[0] == pytest.approx(at[1], abs=1e-12)
        else:
            assert energy(hinges, maps[i : i + 1], p)[0] <= least + 1e-9
        if not any(weight for weight, _, _ in hinges):
            assert means[i] == maps[i] == 0.5


@given(worlds(), rule_models("t") | rule_models("p"))
@settings(max_examples=60)
def test_scores_are_those_of_the_definition(world: World, model: ReferenceModel) -> None:
    check(model, world)


@given(worlds(SOFT), rule_models("t") | rule_models("p"))
@settings(max_examples=60)
def test_soft_scores_are_those_of_the_definition(world: World, model: ReferenceModel) -> None:
    check(replace(model, semantics=replace(model.semantics, counts=Counts.RAW)), world)


@RELAXATIONS
def test_where_no_rule_speaks_the_score_is_a_half(relaxation: Relaxation) -> None:
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c"), ("x", "t", "y")])
    rules = (Rule(2.0, Clause(Body((Step("p", True),), "t"))), Rule(0.0, prior("t")))
    model = hb.Model(rules, Semantics(relaxation=relaxation))
    for score in Score:
        assert model.predict(facts, pairs, score=score)["score"].tolist() == [0.5] * 3


@RELAXATIONS
def test_entities_never_seen_score_by_the_prior(relaxation: Relaxation) -> None:
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "nobody"), ("nobody", "t", "noone")])
    rules = (Rule(5.0, Clause(Body((Step("p"),), "t"))), Rule(1.0, prior("t")))
    model, progress = hb.Model(rules, Semantics(relaxation=relaxation)), RecordedProgress()
    score = model.predict(facts, pairs, progress=progress)["score"]
    assert score[0] > 0.5 > score[1] == score[2]
    assert progress.messages == [
        "2 pairs name an entity that no fact has; they score by the prior."
    ]


def test_strengths_add_up_what_rules_say() -> None:
    facts = hb.read_facts([("a", "p", "b"), ("a", "q", "b"), ("a", "p", "c"), ("c", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("b", "u", "a"), ("a", "t", "b")])
    rules = (
        Rule(1.0, Clause(Body((Step("p"),), "t"))),
        Rule(10.0, Clause(Body((Step("p"), Step("p")), "t"))),
        Rule(100.0, Clause(Body((Step("q"),), "t"), negated=True)),
        Rule(1000.0, prior("t")),
        Rule(0.5, prior("u", negated=False)),
        Rule(7.0, Clause(Body((Step("p", True),), "u"))),
        # the same rule twice weighs twice
        Rule(1.0, Clause(Body((Step("p"),), "t"))),
    )
    counted = MemoryEngine(facts).count(pairs, RuleModel(rules).bodies, hb.RuleLimits())
    up, down = strengths(RuleModel(rules), counted, pairs)
    assert up.tolist() == [12.0, 7.5, 12.0]
    assert down.tolist() == [1100.0, 0.0, 1100.0]


def test_a_pair_among_the_facts_is_no_evidence_for_itself() -> None:
    facts = hb.read_facts([("a", "t", "b"), ("b", "t", "a"), ("a", "t", "c")])
    rules = (Rule(3.0, Clause(Body((Step("t"),), "t"))),
             Rule(3.0, Clause(Body((Step("t", True),), "t"))))  # fmt: skip
    score = hb.Model(rules).predict(facts, hb.read_pairs([("a", "t", "b"), ("a", "t", "c")]))[
        "score"
    ]
    assert score.tolist() == pytest.approx([1 / (1 + np.exp(-3)), 0.5])


@given(st.sampled_from(Relaxation), st.floats(0, 50), st.floats(0, 50))
def test_the_map_state_is_where_the_energy_is_least(
    relaxation: Relaxation, up: float, down: float
) -> None:
    rules = (Rule(up, prior("t", negated=False)), Rule(down, prior("t")))
    model = hb.Model(rules, Semantics(relaxation=relaxation))
    [state] = model.predict(FACTS, PAIR, score="map")["score"]
    if up == down == 0:
        assert state == 0.5
    elif relaxation is Relaxation.SQUARED:
        assert state == pytest.approx(up / (up + down))
    else:
        assert state == (0.5 if up == down else float(up > down))


def test_rules_over_unknown_predicates_warn_and_have_no_groundings() -> None:
    rules = (Rule(5.0, Clause(Body((Step("gone"),), "t"))), Rule(1.0, prior("t")))
    with pytest.warns(HornbeamWarning, match="no predicate 'gone'") as caught:
        [score] = hb.Model(rules).predict(FACTS, PAIR)["score"]
    assert len(caught) == 1
    assert score == pytest.approx(1 / (1 + np.e))


def test_pairs_without_groundings_warn_and_score_a_half() -> None:
    with pytest.warns(HornbeamWarning, match="no rule for 't'"):
        assert hb.Model((Rule(1.0, prior("u")),)).predict(FACTS, PAIR)["score"].tolist() == [0.5]


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="unknown `engine` 'abacus'; expected"):
        hb.Model((Rule(1.0, prior("t")),)).predict(FACTS, PAIR, engine="abacus")


def test_a_model_without_rules_scores_a_half() -> None:
    with pytest.warns(HornbeamWarning, match="no rule for"):
        assert hb.Model(()).predict(FACTS, PAIR)["score"].tolist() == [0.5]
