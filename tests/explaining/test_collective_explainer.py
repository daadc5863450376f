"""Explanations of collective models against the energy of every ground clause."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod, Relaxation
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.explaining.collective_explainer import CollectiveExplainer
from hornbeam.rules.clause import prior
from hornbeam.rules.rule_model import Rule, Semantics
from tests.support.brute_force import ONE, Triple
from tests.support.collective_worlds import RELAXATIONS, RULES, Energy, at, chain, models
from tests.support.worlds import World, worlds

MAP = CollectiveMethod.MAP

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")

NODES = (np.arange(60) + 0.5) / 60


def explainer_of(
    rules: list[Rule], world: World, relaxation: Relaxation
) -> tuple[hb.Model, CollectiveExplainer]:
    model = hb.Model(tuple(rules), Semantics(relaxation=relaxation, collective=MAP))
    return model, CollectiveExplainer.of(model, MemoryEngine(world.facts, 1), world.targets)


def mean(energy: Energy, values: dict[Triple, float], pair: Triple) -> float:
    """E[y] of a pair with the others held, from the energy at many values of y."""
    y = np.array([0.0, 1.0]) if energy.relaxation is Relaxation.BOOLEAN else NODES
    cost = np.array([energy(values | {pair: float(value)}) for value in y])
    density = np.exp(cost.min() - cost)
    return float(density @ y / density.sum())


@pytest.mark.slow
@given(worlds(max_facts=4), models(2), RELAXATIONS)
@settings(max_examples=15, deadline=None)
def test_pulls_are_those_of_the_energy(
    world: World, rules: list[Rule], relaxation: Relaxation
) -> None:
    model, explainer = explainer_of(rules, world, relaxation)
    state = explainer.state
    values = at(state, state.state)
    row = 0
    pair = world.labels[row][0]
    found = explainer.explain(*pair)
    scores = model.predict(world.facts, world.targets, threads=1)["score"]
    assert found.score == pytest.approx(scores[row], abs=1e-6)
    assert (
        found.map == model.predict(world.facts, world.targets, score="map", threads=1)["score"][row]
    )
    slack = 1e-9 if relaxation is Relaxation.BOOLEAN else 2e-3
    reasons = {reason.index: reason for reason in found.reasons}
    for k, rule in enumerate(rules):
        others = [*rules[:k], *rules[k + 1 :]]
        without = mean(Energy(others, world, relaxation), values, pair)
        if k not in reasons:
            assert without == pytest.approx(found.score, abs=slack + 1e-5)
            continue
        assert reasons[k].pull == pytest.approx(found.score - without, abs=slack)
        assert reasons[k].count >= 1
        assert reasons[k].weight == rule.weight
        for path in reasons[k].groundings:
            for fact in path.facts:
                assert fact.object is not None
                triple = (fact.subject, fact.predicate, fact.object)
                assert triple != pair
                known = values.get(triple, float(triple in world.values))
                assert fact.truth == pytest.approx(known, abs=1 / ONE)
    assert found.flip is None


@pytest.mark.parametrize("relaxation", list(Relaxation))
def test_other_pairs_stand_in_paths_with_their_map_values(relaxation: Relaxation) -> None:
    world = chain()
    _, explainer = explainer_of(RULES, world, relaxation)
    found = explainer.explain("a", "t", "d")
    transitive = found.supporting[0]
    assert transitive.index == 1
    assert [path.entities for path in transitive.groundings] == [("a", "b", "d"), ("a", "c", "d")]
    assert "a -t" in str(found)


def test_a_pair_whose_consequence_is_false_is_pushed_down() -> None:
    text = """2: p(A, B) -> t(A, B)
1: t(A, B) & p(B, C) -> t(A, C)
5: owes(A, B) -> !t(A, B)
"""
    model = hb.Model(hb.Model.parse(text).rules, Semantics(collective=MAP))
    facts = hb.read_facts([("a", "p", "b"), ("b", "p", "c"), ("a", "owes", "c")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c")])
    found = model.explain(facts, ("a", "b"), pairs=pairs)
    [against] = found.opposing
    assert (against.index, against.count, against.groundings) == (1, 1, ())
    [consequence] = against.linked_pairs
    assert (consequence.subject, consequence.object) == ("a", "c")
    assert consequence.truth == pytest.approx(0.0, abs=1e-4)
    assert "together with the pair a  t  c" in str(found)


def test_a_rule_for_another_target_may_speak() -> None:
    model = hb.Model(
        hb.Model.parse("1: q(A, B) -> !p(A, B)\n2: !q(A, B)\n").rules,
        Semantics(collective=MAP),
    )
    facts = hb.read_facts([("a", "r", "b"), ("a", "p", "b")])
    pairs = hb.read_pairs([("a", "q", "b"), ("a", "p", "b")])
    found = model.explain(facts, ("a", "q", "b"), pairs=pairs)
    assert [(reason.index, reason.groundings) for reason in found.reasons] == [(1, ()), (0, ())]
    assert [fact.predicate for fact in found.reasons[1].linked_pairs] == ["p"]


def test_the_pair_must_be_among_the_pairs() -> None:
    world = chain()
    model, _ = explainer_of(RULES, world, Relaxation.LINEAR)
    with pytest.raises(InputError, match="name them with `pairs`"):
        model.explain(world.facts, ("a", "d"))
    with pytest.raises(InputError, match=r"t\('d', 'a'\) is not among the pairs"):
        model.explain(world.facts, ("d", "a"), pairs=world.targets)
    found = model.explain(world.facts, ("a", "d"), pairs=world.targets)
    assert found.as_dict()["flip"] is None


def test_a_pair_of_no_rule_scores_a_half() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("x", "t", "y")])
    model = hb.Model((Rule(0.0, prior("t")),), Semantics(collective=MAP))
    found = model.explain(facts, ("x", "y"), pairs=pairs)
    assert (found.score, found.reasons, found.unseen) == (0.5, (), ())


def test_the_report_of_a_collective_model() -> None:
    world = chain()
    model = hb.Model(tuple(RULES), Semantics(collective=MAP))
    labels = hb.read_labels([(s, "t", o, float(s < "b")) for (s, _, o), _ in world.labels])
    page = model.report(world.facts, labels)
    scores = model.predict(world.facts, labels)["score"]
    worst = int(np.argmax(np.where(labels.positive, -1, scores)))
    assert f"{scores[worst]:.4g}" in page


@pytest.mark.parametrize("method", ["map", "two-step"])
def test_explainers_of_pairs_together_grow_with_the_facts(method: str) -> None:
    rules = {
        "map": '# hornbeam: {"collective": true}\n2: p(A, B) & t(B, C) -> t(A, C)\n1: !t(A, B)\n',
        "two-step": (
            '# hornbeam: {"collective": "two-step"}\n'
            "1: p(A, B) & believed_t(B, C) -> t(A, C)\n2: p(A, B) -> t(A, B)\n"
            "2: p(A, B) -> believed_t(A, B)\n1: !believed_t(A, B)\n"
        ),
    }
    model = hb.Model.parse(rules[method])
    rows, new = [("a", "p", "b"), ("b", "p", "c")], [("c", "p", "d"), ("a", "p", "aa")]
    pairs = [(one, "t", other) for one in "ab" for other in "cd"]
    whole = model.explainer(hb.read_facts([*rows, *new]), pairs)
    grown = model.explainer(hb.read_facts(rows), pairs).with_facts(new)
    for pair in pairs:
        assert grown.explain(*pair).as_dict() == whole.explain(*pair).as_dict()
