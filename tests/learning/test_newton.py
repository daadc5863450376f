"""Newton's fit is the optimum: by another optimiser, by its conditions, by its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.base.choices import Relaxation
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.newton import FitStatus, Newton, penalised_loss
from hornbeam.rules.weighing import Counts
from tests.support.problems import Reference, dense, problem_of, problems, violation

RELAXATIONS = pytest.mark.parametrize("relaxation", list(Relaxation))
#: (L1, ridge); without either the optimum may lie at infinity.
PENALTIES = pytest.mark.parametrize(("l1", "ridge"), [(0.0, 0.05), (0.3, 0.0), (0.1, 0.5)])


def reference(problem: CountProblem, l1: float, ridge: float) -> Reference:
    n = len(problem.clauses)
    return Reference(problem, np.full(n, l1), np.full(n, ridge))


@RELAXATIONS
@PENALTIES
@given(data=st.data())
@settings(max_examples=12)
def test_the_fit_is_scipys_optimum(
    relaxation: Relaxation, l1: float, ridge: float, data: st.DataObject
) -> None:
    problem = data.draw(problems(st.just(relaxation)))
    expected = reference(problem, l1, ridge)
    fit = Newton().fit(problem, expected.linear, expected.ridge)
    weights, least = expected.minimum()
    assert fit.status is FitStatus.CONVERGED
    loss, gradient = expected(fit.weights)
    assert fit.loss == pytest.approx(loss, abs=1e-9)
    assert fit.loss == pytest.approx(least, abs=1e-5)
    assert fit.loss <= least + 1e-7
    assert violation(fit.weights, gradient) <= 1.1e-7 * len(problem.y) + 1e-9
    if ridge:  # the optimum is unique
        np.testing.assert_allclose(fit.weights, weights, atol=1e-2 * max(1, weights.max()))


@given(problems(st.just(Relaxation.BOOLEAN), soft=True))
@settings(max_examples=20)
def test_without_penalties_soft_labels_have_an_optimum(problem: CountProblem) -> None:
    expected = reference(problem, 0.0, 0.0)
    fit = Newton().fit(problem, expected.linear, expected.ridge)
    assert fit.loss <= expected.minimum()[1] + 1e-6
    assert violation(fit.weights, expected(fit.weights)[1]) <= 1.1e-7 * len(problem.y) + 1e-9


@pytest.mark.slow
def test_columns_that_nearly_repeat_each_other_do_not_hold_the_fit_up() -> None:
    """More weights than targets, and labels near a half: coordinate descent alone crawls here."""
    counts = [[1, 1, 0, 4], [0, 2, 0, 4], [4, 6, 1, 0], [6, 0, 0, 4]]
    problem = problem_of(counts, [0.475, 0.423, 0.533, 0.491], kind=Counts.LOG)
    expected = reference(problem, 0.0, 0.0)
    fit = Newton(iterations=50).fit(problem, expected.linear, expected.ridge)
    assert fit.status is FitStatus.CONVERGED
    assert fit.loss <= expected.minimum()[1] + 1e-8


@given(problems(), st.integers(0, 2**32 - 1))
def test_log_likelihood_is_its_definition(problem: CountProblem, seed: int) -> None:
    weights = np.random.default_rng(seed).exponential(2.0, len(problem.clauses))
    weights[np.random.default_rng(seed).random(len(weights)) < 0.3] = 0.0
    up, down = problem.strengths(weights)
    u, d = dense(problem)
    np.testing.assert_allclose(up, u @ weights, rtol=1e-13)
    np.testing.assert_allclose(down, d @ weights, rtol=1e-13)
    loss, gradient = reference(problem, 0.0, 0.0)(weights)
    assert problem.log_likelihood(weights) == pytest.approx(-loss, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(problem.gradient(weights), gradient, rtol=1e-9, atol=1e-11)


@given(problems(soft=True), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_the_gradient_is_the_slope_of_the_loss(problem: CountProblem, seed: int) -> None:
    n = len(problem.clauses)
    weights = np.random.default_rng(seed).exponential(1.0, n) + 0.1
    zeros = np.zeros(n)
    step = 1e-5
    slopes = [
        (
            penalised_loss(problem, zeros, zeros, weights + step * unit)
            - penalised_loss(problem, zeros, zeros, weights - step * unit)
        )
        / (2 * step)
        for unit in np.eye(n)
    ]
    np.testing.assert_allclose(problem.gradient(weights), slopes, rtol=1e-5, atol=1e-5)


@RELAXATIONS
def test_every_step_lowers_the_loss(relaxation: Relaxation) -> None:
    rng = np.random.default_rng(3)
    problem = problem_of(rng.poisson(0.7, (60, 8)), rng.random(60) < 0.4, relaxation)
    expected = reference(problem, 0.01, 0.01)
    fits = [
        Newton(iterations=i, tolerance=1e-9).fit(problem, expected.linear, expected.ridge)
        for i in range(8)
    ]
    losses = [fit.loss for fit in fits]
    assert losses[0] == pytest.approx(expected(np.zeros(len(problem.clauses)))[0])
    assert losses == sorted(losses, reverse=True)
    assert losses[3] < losses[0]
    assert fits[0].status is FitStatus.ITERATIONS
    for fit in fits:
        assert fit.loss == pytest.approx(expected(fit.weights)[0], rel=1e-12)


def test_few_steps_are_enough() -> None:
    rng = np.random.default_rng(5)
    problem = problem_of(rng.poisson(0.5, (500, 30)), rng.random(500) < 0.5)
    expected = reference(problem, 0.5, 0.01)
    fit = Newton().fit(problem, expected.linear, expected.ridge)
    assert fit.status is FitStatus.CONVERGED
    assert fit.iterations <= 10  # Newton's steps, not a gradient's


def test_warm_starts_end_at_the_same_optimum() -> None:
    rng = np.random.default_rng(7)
    problem = problem_of(rng.poisson(0.5, (80, 6)), rng.random(80) < 0.5)
    expected = reference(problem, 0.2, 0.05)
    solver = Newton(tolerance=1e-10)
    cold = solver.fit(problem, expected.linear, expected.ridge)
    warm = solver.fit(
        problem, expected.linear, expected.ridge, start=rng.exponential(3.0, len(problem.clauses))
    )
    again = solver.fit(problem, expected.linear, expected.ridge, start=cold.weights)
    np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-6)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.weights, cold.weights)


@given(problems(), st.data())
@settings(max_examples=15)
def test_only_allowed_clauses_get_weights(problem: CountProblem, data: st.DataObject) -> None:
    n = len(problem.clauses)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    expected = reference(problem, 0.0, 0.1)
    fit = Newton().fit(problem, expected.linear, expected.ridge, allowed=allowed)
    assert not fit.weights[~allowed].any()
    assert fit.loss <= expected.minimum(np.flatnonzero(allowed).tolist())[1] + 1e-7
    small = problem.only(np.flatnonzero(allowed))
    alone = Newton().fit(small, np.zeros(len(small.clauses)), np.full(len(small.clauses), 0.1))
    assert alone.loss == pytest.approx(fit.loss, abs=1e-7)


def test_a_strong_l1_leaves_exact_zeros() -> None:
    rng = np.random.default_rng(2)
    problem = problem_of(rng.poisson(0.5, (50, 5)), rng.random(50) < 0.5)
    n = len(problem.clauses)
    fit = Newton().fit(problem, np.full(n, 1e6), np.zeros(n))
    assert fit.weights.tolist() == [0.0] * n
    start = Newton().fit(problem, np.full(n, 1e6), np.zeros(n), start=np.ones(n))
    assert start.weights.tolist() == [0.0] * n


@given(problems())
def test_subsets_of_targets_add_up(problem: CountProblem) -> None:
    some = np.arange(len(problem.y)) % 3 == 0
    weights = np.linspace(0, 2, len(problem.clauses))
    parts = [problem.subset(rows).log_likelihood(weights) for rows in (some, ~some)]
    assert sum(parts) == pytest.approx(problem.log_likelihood(weights), rel=1e-12)
    assert problem.subset(some).y.tolist() == problem.y[some].tolist()


def test_counts_weigh_as_they_are_told() -> None:
    table = [[0, 1], [3, 0], [7, 2]]
    expected = {
        Counts.RAW: np.array(table, dtype=float),
        Counts.LOG: np.log2(1 + np.array(table)),
        Counts.EXISTS: np.array(table) > 0,
    }
    for kind, x in expected.items():
        u, d = dense(problem_of(table, [0, 1, 1], kind=kind))
        # a sequence, its negation, the next one, ...; then the prior t and the prior !t
        np.testing.assert_allclose(u, np.column_stack([x[:, 0], 0 * x[:, 0], x[:, 1], 0 * x[:, 0],
                                                       np.ones(3), np.zeros(3)]))  # fmt: skip
        np.testing.assert_allclose(d, np.column_stack([0 * x[:, 0], x[:, 0], 0 * x[:, 0], x[:, 1],
                                                       np.zeros(3), np.ones(3)]))  # fmt: skip


def test_huge_counts_do_not_break_the_fit() -> None:
    rng = np.random.default_rng(11)
    counts = 10 ** rng.integers(0, 9, (100, 4)) * (rng.random((100, 4)) < 0.5)
    for relaxation in Relaxation:
        problem = problem_of(counts, rng.random(100) < 0.5, relaxation)
        n = len(problem.clauses)
        fit = Newton().fit(problem, np.zeros(n), np.full(n, 0.01))
        assert np.isfinite(fit.weights).all()
        priors = Newton().fit(problem, np.zeros(n), np.full(n, 0.01), allowed=problem.is_prior)
        assert fit.loss <= priors.loss


def test_a_problem_without_targets_keeps_weights_at_zero() -> None:
    problem = problem_of([[1], [2]], [0, 1])
    empty = replace(problem.subset(np.zeros(2, dtype=bool)))
    n = len(empty.clauses)
    assert not Newton().fit(empty, np.ones(n), np.ones(n)).weights.any()
