"""One contract for all scorers and explainers: what each says agrees with `predict`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import replace

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod, Score
from hornbeam.counting.opening import open_in_memory
from hornbeam.explaining.collective_explainer import CollectiveExplainer
from hornbeam.explaining.explainer import Explainer, JointExplainer, open_explainer
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.explaining.two_step_explainer import TwoStepExplainer
from hornbeam.rules.rule_model import Relaxation, Rule
from hornbeam.rules.rule_words import rule_words
from hornbeam.scoring.collective_scorer import CollectiveScorer
from hornbeam.scoring.independent_scorer import IndependentScorer
from hornbeam.scoring.scorer import Scorer, open_scorer
from hornbeam.scoring.two_step_scorer import TwoStepScorer

#: Scorer and explainer of models, by how those are collective. A new kind adds a line here.
CONTRACT = {
    None: (IndependentScorer, IndependentExplainer),
    CollectiveMethod.MAP: (CollectiveScorer, CollectiveExplainer),
    CollectiveMethod.MAP_HEADS: (CollectiveScorer, CollectiveExplainer),
    CollectiveMethod.TWO_STEP: (TwoStepScorer, TwoStepExplainer),
}
every_kind = pytest.mark.parametrize("collective", list(CONTRACT))
every_relaxation = pytest.mark.parametrize("relaxation", list(Relaxation))

RULES = """2: p(A, B) & t(B, C) -> t(A, C)
1: p(A, B) -> t(A, B)
3: q(A, B) -> !t(A, B)
0.5: !t(A, B)
"""
OF_BELIEFS = """0.7: p(A, B) & believed_t(B, C) -> t(A, C)
0.4: believed_t(A, C) -> !t(A, B)
0.9: believed_t(B, A) -> t(A, B)
"""
FACTS = [
    ("a", "p", "b"), ("b", "p", "c"), ("c", "t", "d"), ("a", "q", "d"), ("b", "q", "b"),
]  # fmt: skip
PAIRS = [("a", "t", "c"), ("b", "t", "d"), ("a", "t", "d"), ("c", "t", "d"), ("a", "t", "new")]


def opened(
    collective: CollectiveMethod | None, relaxation: Relaxation = Relaxation.BOOLEAN
) -> tuple[hb.Model, hb.Facts, hb.Targets]:
    model = hb.Model.parse(RULES)
    semantics = replace(model.semantics, collective=collective, relaxation=relaxation)
    rules, beliefs = model.rules, tuple[Rule, ...]()
    if semantics.two_steps:
        rules, beliefs = (*hb.Model.parse(OF_BELIEFS).rules, *rules), rules
    return hb.Model(rules, semantics, beliefs), hb.read_facts(FACTS), hb.read_pairs(PAIRS)


def implementations(package: str, method: str) -> set[type]:
    """Classes of a package with a method of that name that are no protocols."""
    path = importlib.import_module(package).__path__
    return {
        kind
        for module in pkgutil.iter_modules(path, f"{package}.")
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if hasattr(kind, method) and kind.__module__.startswith(package)
    } - {Scorer, Explainer, JointExplainer}


def test_every_implementation_is_held_to_the_contract() -> None:
    scorers, explainers = (set(kinds) for kinds in zip(*CONTRACT.values(), strict=True))
    assert implementations("hornbeam.scoring", "locate") == scorers
    assert implementations("hornbeam.explaining", "explain") == explainers


@every_kind
def test_a_model_opens_its_own(collective: CollectiveMethod | None) -> None:
    model, facts, pairs = opened(collective)
    engine = open_in_memory(facts)
    kinds = type(open_scorer(model, engine)), type(open_explainer(model, engine, pairs))
    assert kinds == CONTRACT[collective]


@every_relaxation
@every_kind
def test_scores_are_those_of_predict(
    collective: CollectiveMethod | None, relaxation: Relaxation
) -> None:
    model, facts, pairs = opened(collective, relaxation)
    engine = open_in_memory(facts)
    scorer, explainer = open_scorer(model, engine), open_explainer(model, engine, pairs)
    for score in Score:
        expected = model.predict(facts, pairs, score=score, threads=1)["score"]
        np.testing.assert_array_equal(scorer.scores(pairs, score), expected)
        for row, pair in enumerate(PAIRS):
            found = explainer.explain(*pair)
            value = found.map if score is Score.MAP else found.score
            assert value == pytest.approx(expected[row], abs=1e-9)
    scores = explainer.scores(pairs, explainer.count(pairs))
    np.testing.assert_array_equal(scores, model.predict(facts, pairs, threads=1)["score"])
    assert (scorer.locate(pairs.entities) < 0).sum() == 1


@every_kind
def test_counts_paths_and_pulls_agree(collective: CollectiveMethod | None) -> None:
    model, facts, pairs = opened(collective)
    explainer = open_explainer(model, open_in_memory(facts), pairs)
    assert (explainer.model, explainer.facts) == (model, facts)
    counted = explainer.count(pairs)
    for row, pair in enumerate(PAIRS):
        found = explainer.explain(*pair, paths=100)
        for reason in found.reasons:
            clause = model.rules[reason.index].clause
            assert reason.weight == model.rules[reason.index].weight
            if not clause.is_prior and not reason.linked_pairs:
                [part] = clause.body.parts
                rows = counted.column(list(counted.bodies).index(part.body))
                mine = counted.target[rows] == row
                assert len(reason.groundings) == counted.count[rows][mine].sum() == reason.count
                again = explainer.groundings(clause.body, pair[0], pair[2], 100)
                assert again == reason.groundings
            assert (reason.is_prior, reason.words) == (clause.is_prior, rule_words(clause))
        strengths = [abs(reason.strength) for reason in found.reasons]
        assert strengths == sorted(strengths, reverse=True)
        assert explainer.explain(*pair, flip=False).flip is None
