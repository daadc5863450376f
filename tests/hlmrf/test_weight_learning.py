"""Weights by MAP states: margins, searches, and programs given a part of their values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.base.arrays import Bools, Floats
from hornbeam.hlmrf.exact import Exact
from hornbeam.hlmrf.max_margin import MaxMargin
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from hornbeam.hlmrf.reweighted import ReweightedRules, pulls_from
from hornbeam.hlmrf.weight_search import WeightSearch
from tests.support.random_programs import Row, program, programs
from tests.support.recorded_progress import RecordedProgress

RULES = 3
HINGES = (PotentialKind.LINEAR, PotentialKind.SQUARED)


def rules_of(potentials: Potentials) -> ReweightedRules:
    """The rows as ground rules, of weight 1, of three rules in turn."""
    rule = (np.arange(len(potentials)) % RULES).astype(np.int32)
    weight = np.where(potentials.is_constraint, 0.0, 1.0)
    return ReweightedRules(replace(potentials, rule=rule, weight=weight, offset=0.0), RULES)


def margin_loss(
    rules: ReweightedRules, truth: Floats, weights: Floats, free: Bools, variance: float
) -> float:
    """The objective of `MaxMargin`, its inner maximum by the exact solver."""
    true = truth.sum()
    balanced = 0 < true < len(truth)
    size = np.ones(len(truth))
    if balanced:
        size = np.where(
            truth > 0.5, 0.5 * len(truth) / true, 0.5 * len(truth) / (len(truth) - true)
        )
    energy = rules.potentials(weights)
    both = Potentials.joined(energy.n_variables, [energy, pulls_from(truth, size)])
    state = Exact().solve(both).state
    distance = float((size * np.abs(state - truth)).sum())
    hinge = energy.objective(truth) - energy.objective(state) + distance
    return float((weights[free] ** 2).sum()) / (2.0 * variance) + max(0.0, hinge)


@given(programs(kinds=HINGES), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 100.0]))
@settings(max_examples=40, deadline=None)
def test_no_other_weights_have_a_lower_margin_loss(
    potentials: Potentials, seed: int, variance: float
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, potentials.n_variables).astype(np.float64)
    rules, free = rules_of(potentials), np.array([True, True, rng.random() < 0.5])
    fixed = rng.uniform(0.0, 2.0, RULES)
    known = np.ones(len(truth), dtype=np.bool_)
    found = MaxMargin(variance, tolerance=1e-4).fit(rules, truth, known, fixed, free)
    assert (found.weights >= 0.0).all()
    np.testing.assert_array_equal(found.weights[~free], fixed[~free])
    reached = margin_loss(rules, truth, found.weights, free, variance)
    assert reached == pytest.approx(found.loss, rel=2e-3, abs=2e-3)
    for scale in (0.05, 0.5, 2.0, 10.0):
        other = np.where(free, rng.exponential(scale, RULES), fixed)
        assert reached <= margin_loss(rules, truth, other, free, variance) * 1.003 + 2e-3


def test_a_margin_prefers_the_rule_that_tells_the_truth() -> None:
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    rows: list[Row] = [(PotentialKind.SQUARED, 1.0, {i: -1.0}, 1.0) for i in range(4)]
    rows += [(PotentialKind.SQUARED, 1.0, {i: 1.0 - 2.0 * truth[i]}, truth[i]) for i in range(4)]
    rule = np.repeat([0, 1], 4).astype(np.int32)
    rules = ReweightedRules(replace(program(4, rows), rule=rule), 2)
    every = np.ones(4, dtype=np.bool_)
    found = MaxMargin().fit(rules, truth, every, np.ones(2), every[:2])
    assert found.weights[0] == 0.0  # all are true: wrong for half
    assert found.weights[1] > 0.1
    assert found.rounds < MaxMargin.rounds  # ended as the loss is near its bound
    assert found.bound <= found.loss <= found.bound / (1.0 - MaxMargin.tolerance)
    state = rules.map_state(found.weights, np.full(4, 0.5)).state
    np.testing.assert_allclose(state, truth, atol=1e-3)


def test_unknown_targets_do_not_count_in_the_margin() -> None:
    rows: list[Row] = [(PotentialKind.SQUARED, 1.0, {0: -1.0}, 1.0)]
    rules = ReweightedRules(program(2, rows), 1)
    truth, free = np.array([1.0, 0.0]), np.ones(1, dtype=np.bool_)
    known = np.array([True, False])
    found = MaxMargin().fit(rules, truth, known, np.zeros(1), free)
    with_second = MaxMargin().fit(rules, truth, np.array([True, True]), np.zeros(1), free)
    assert found.loss < with_second.loss


@given(programs(), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_a_program_given_some_values_is_the_program_with_these_values(
    potentials: Potentials, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    state, known = rng.random(potentials.n_variables), rng.random(potentials.n_variables) < 0.5
    rules, weights = rules_of(potentials), rng.random(RULES)
    shortened = rules.given(state, known)
    other = np.where(known, rng.random(len(state)), state)
    assert not known[shortened.unit.variable].any()
    assert shortened.potentials(weights).objective(other) == pytest.approx(
        rules.potentials(weights).objective(state), abs=1e-9
    )


# Search -------------------------------------------------------------------------------------------

FREE = np.array([True, True, False, True])
GIVEN = np.array([1.0, 2.0, 7.0, 0.5])
BEST = np.array([0.03, 20.0, 7.0, 0.0])


def nearness(weights: Floats) -> float:
    """A score that is highest at BEST."""
    return -float(np.abs(np.log(weights + 1e-3) - np.log(BEST + 1e-3)).sum())


def test_a_search_comes_near_the_best_weights_and_keeps_fixed_ones() -> None:
    progress = RecordedProgress()
    found = WeightSearch(trials=300).run(nearness, GIVEN, FREE, progress=progress)
    assert found.score > 0.25 * nearness(GIVEN)
    assert found.score == nearness(found.weights)
    assert (found.weights[2], found.trials) == (7.0, 300)
    assert found.score_given == nearness(GIVEN)
    assert progress.reports[-1] == ("search", 300, 300)


def test_the_seed_decides_a_search() -> None:
    first, again, other = (
        WeightSearch(20, seed).run(nearness, GIVEN, FREE).weights for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("trials", [1, 2, 3, 7])
def test_a_search_makes_just_its_trials_and_never_gets_worse(trials: int) -> None:
    tried: list[Floats] = []

    def score(weights: Floats) -> float:
        tried.append(weights)
        return nearness(weights)

    found = WeightSearch(trials).run(score, GIVEN, FREE, [BEST])
    assert len(tried) == trials
    assert found.score == max(map(nearness, tried)) >= nearness(GIVEN)
    np.testing.assert_array_equal(tried[0], GIVEN)
    assert (found.score == 0.0) == (trials >= 3)  # the third trial is the start


def test_equal_scores_keep_the_given_weights() -> None:
    found = WeightSearch(30).run(lambda _: 0.5, GIVEN, FREE)
    np.testing.assert_array_equal(found.weights, GIVEN)
