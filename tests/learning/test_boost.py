"""Boosted clauses say exactly what the trees say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import Floats
from hornbeam.errors import InputError
from hornbeam.facts.known import is_symmetric
from hornbeam.learning.boost import Boost
from hornbeam.learning.trees import Binned, Booster, Tree
from hornbeam.rules.body import Kind
from hornbeam.rules.rule_model import Rule
from hornbeam.rules.weighing import Counts, Threshold
from tests.support.recorded_progress import RecordedProgress

SEEDS = st.integers(0, 2**32 - 1)
LANGUAGE = hb.RuleLimits(max_length=2, min_coverage=3)


@dataclass(frozen=True)
class Recording(Booster):
    """Remembers what every tree adds to every row, and the derivatives that it was grown by."""

    grown: ClassVar[list[Floats]] = []
    derivatives: ClassVar[list[tuple[Floats, Floats]]] = []

    def grow(
        self, binned: Binned, gradient: Floats, curvature: Floats, rng: np.random.Generator
    ) -> tuple[Tree, Floats]:
        tree, value = super().grow(binned, gradient, curvature, rng)
        self.grown.append(value)
        self.derivatives.append((gradient, curvature))
        return tree, value


def world(seed: int, symmetric: bool, n: int = 24) -> tuple[hb.Facts, hb.Targets]:
    """Random facts, with hubs, and labels that follow those of p, but for a tenth."""
    rng = np.random.default_rng(seed)
    popular = rng.dirichlet(np.full(n, 0.5))
    drawn = {
        name: {tuple(rng.choice(n, 2, p=popular).tolist()) for _ in range(60)} for name in "pq"
    }
    linked = {(a, b) for a, b in drawn["p"] if a != b}
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(30)}
    pairs |= {(min(pair), max(pair)) for pair in linked}
    labels = []
    for a, b in sorted(pairs):
        found = {(a, b), (b, a)} & linked
        for pair in ((a, b), (b, a)):
            y = bool(found) if symmetric else pair in found
            labels.append((f"e{pair[0]}", "t", f"e{pair[1]}", float(y ^ (rng.random() < 0.1))))
        if symmetric:
            labels[-1] = (*labels[-1][:3], labels[-2][3])
    facts = [(f"e{a}", name, f"e{b}") for name in drawn for a, b in sorted(drawn[name])]
    return hb.read_facts(facts), hb.read_labels(labels)


def log_odds(model: hb.Model, facts: hb.Facts, labels: hb.Targets) -> Floats:
    score = model.predict(facts, labels)["score"]
    return np.asarray(np.log(score / (1.0 - score)))


def rules_of(model: hb.Model) -> list[Rule]:
    return [rule for rule in model.rules if not rule.clause.is_prior]


@pytest.mark.slow
@pytest.mark.parametrize("symmetric", [False, True])
@given(seed=SEEDS)
@example(seed=195)  # two shares differ in their last digit
@settings(max_examples=6)
def test_the_clauses_have_the_scores_of_the_trees(symmetric: bool, seed: int) -> None:
    facts, labels = world(seed, symmetric)
    Recording.grown.clear()
    model = hb.learn(
        facts,
        labels,
        method=Boost(trees=20, folds=2, booster=Recording(least=3)),
        language=LANGUAGE,
    )
    assert model.trace is not None
    n_trees, n = model.trace.fit.iterations, len(labels)
    times = 2 if is_symmetric(facts, labels) else 1  # too few pairs cannot be judged
    whole = [value for value in Recording.grown if len(value) == times * n]
    assert n_trees == len(whole)
    mean = labels.truth.mean()
    score = np.full(n, np.log(mean / (1 - mean)))
    score += sum(value.reshape(-1, n).sum(axis=0) for value in whole)
    # the booster has the pairs in an order of its own; weights are rounded to nine digits
    for one in (model, hb.Model.parse(model.text)):
        found = np.sort(log_odds(one, facts, labels))
        np.testing.assert_allclose(found, np.sort(score), rtol=0, atol=1e-7)


def test_the_first_tree_has_the_derivatives_of_the_log_loss() -> None:
    facts, labels = world(1, symmetric=False)
    Recording.derivatives.clear()
    hb.learn(facts, labels, method=Boost(trees=1, folds=2, booster=Recording()), language=LANGUAGE)
    assert Recording.derivatives
    for gradient, curvature in Recording.derivatives:
        p = np.mean(gradient < 0)  # of true pairs p - 1, of false ones p
        np.testing.assert_allclose(np.unique(np.round(gradient, 9)), np.round([p - 1, p], 9))
        np.testing.assert_allclose(curvature, p * (1 - p))


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=6)
def test_a_symmetric_target_has_symmetric_rules_and_scores(seed: int) -> None:
    facts, labels = world(seed, symmetric=True)
    assume(is_symmetric(facts, labels))  # too few pairs cannot be judged
    model = hb.learn(facts, labels, method=Boost(trees=30), language=LANGUAGE)
    weights = {rule.clause: rule.weight for rule in model.rules}
    assert len(weights) == len(model.rules)
    for clause, weight in weights.items():
        assert weights[clause.mirror] == weight
    swapped = [(o, "t", s) for s, _, o in map(labels.names_at, range(len(labels)))]
    np.testing.assert_allclose(
        model.predict(facts, labels)["score"],
        model.predict(facts, hb.read_pairs(swapped))["score"],
        rtol=1e-12,
    )


@pytest.mark.slow
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_limit_on_rules_is_kept(symmetric: bool) -> None:
    facts, labels = world(3, symmetric)

    def learned(most: int | None) -> hb.Model:
        method = Boost(trees=30, max_rules=most)
        return hb.learn(facts, labels, method=method, language=LANGUAGE)

    whole = learned(None)
    for most in (0, 1, 5):
        assert len(rules_of(whole)) > most
        short = rules_of(learned(most))
        # a rule and its mirror image share a weight and count once
        assert len({frozenset({one.clause, one.clause.mirror}) for one in short}) <= most
        assert most == 0 or short or (most == 1 and symmetric)
    assert learned(len(rules_of(whole))).rules == whole.rules


@pytest.mark.slow
def test_a_short_model_says_nearly_the_same() -> None:
    facts, labels = world(3, symmetric=False)
    whole, short = (
        hb.learn(facts, labels, method=Boost(trees=30, max_rules=most), language=LANGUAGE)
        for most in (None, 12)
    )
    one, other = (log_odds(model, facts, labels) for model in (whole, short))
    assert np.corrcoef(one, other)[0, 1] > 0.9


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model() -> None:
    facts, labels = world(5, symmetric=False)
    one, again, other = (
        hb.learn(facts, labels, method=Boost(trees=30, seed=seed), language=LANGUAGE).text
        for seed in (1, 1, 2)
    )
    assert one == again != other


@pytest.mark.slow
def test_the_number_of_trees_follows_the_validation() -> None:
    """Where nothing can be learned, no tree is kept; the patience ends the search."""
    facts, labels = world(7, symmetric=False)
    rng = np.random.default_rng(0)
    noise = [(*labels.names_at(i), float(rng.random() < 0.5)) for i in range(len(labels))]
    progress = RecordedProgress()
    model = hb.learn(
        facts, hb.read_labels(noise), method=Boost(trees=300, patience=20), language=LANGUAGE,
        progress=progress,
    )  # fmt: skip
    assert model.trace is not None
    assert model.trace.fit.iterations == 0
    assert rules_of(model) == []
    stage = "Choosing the number of trees"
    tried = max(done for name, done, _ in progress.reports if name == stage)
    assert 20 <= tried < 300


def test_only_whole_counts_and_boolean_targets_are_taken() -> None:
    facts, labels = world(1, symmetric=False)
    for wrong in ({"counts": "log"}, {"relaxation": "linear"}):
        with pytest.raises(InputError, match="boost"):
            hb.learn(facts, labels, method="boost", language=LANGUAGE, **wrong)  # type: ignore[arg-type]


def test_truths_that_add_up_to_whole_numbers_are_no_counts() -> None:
    """A threshold counts groundings: one learned from 0.5 + 0.5 = 1 would mean another thing."""
    names = [f"e{k}" for k in range(20)]
    facts = hb.read_facts([(name, "p", other, 0.5) for name in names for other in ("x", "y")])
    labels = hb.read_labels([(name, "t", "x", k % 2) for k, name in enumerate(names)])
    with pytest.raises(InputError, match="true or absent"):
        hb.learn(facts, labels, method="boost", language=hb.RuleLimits(bodies=(Kind.OPEN,)))


@pytest.mark.parametrize("wrong", [{"trees": 0}, {"folds": 1}, {"max_rules": -1}])
def test_settings_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="expected"):
        Boost(**wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_that_there_are_any_groundings_is_said_by_exists() -> None:
    facts, labels = world(3, symmetric=False)
    model = hb.learn(facts, labels, method=Boost(trees=30), language=LANGUAGE)
    for rule in rules_of(model):
        bounds = [part.threshold for part in rule.clause.body.parts]
        assert not all(bound == Threshold(1) for bound in bounds)
        if rule.clause.weighing is not None:
            assert rule.clause.weighing.counts is Counts.EXISTS
            assert bounds == [None] * len(bounds)
