"""Piecewise pseudolikelihood: the paper's lemma and theorem, and every weight an optimum."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.errors import InputError
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.newton import FitStatus
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.problem import fit_priors
from hornbeam.rules.weighing import Counts
from tests.support.problems import Reference, dense, density, problem_of, problems

VARIANCE = 20.0
CONTINUOUS = st.sampled_from([Relaxation.LINEAR, Relaxation.SQUARED])


def clauses_of(problem: CountProblem) -> list[int]:
    return np.flatnonzero(~problem.is_prior).tolist()


def piece_value(problem: CountProblem, k: int, weight: float, home: tuple[Floats, Floats]) -> float:
    """Log pseudolikelihood of the targets that clause k meets, under it and the priors alone.

    Nothing is grouped and all integrals are sums over nodes.
    """
    u, d = dense(problem)
    rows = (u[:, k] > 0) | (d[:, k] > 0)
    p = 2 if problem.relaxation is Relaxation.SQUARED else 1
    y = problem.y[rows]
    up, down = home[0][rows] + weight * u[rows, k], home[1][rows] + weight * d[rows, k]
    log_z = density(up, down, problem.relaxation)[0]
    return -float(np.sum(log_z + up * (1 - y) ** p + down * y**p))


def home_of(
    problem: CountProblem, inside: bool, variance: float = VARIANCE
) -> tuple[Floats, Floats]:
    """Strengths of the priors, fitted alone by SciPy; nothing where they stay outside."""
    n = len(problem.clauses)
    if not inside:
        return np.zeros(len(problem.y)), np.zeros(len(problem.y))
    alone = Reference(problem, np.zeros(n), np.full(n, 1 / variance))
    weights = alone.minimum(np.flatnonzero(problem.is_prior).tolist())[0]
    u, d = dense(problem)
    return u @ weights, d @ weights


def best_weight(
    problem: CountProblem, k: int, home: tuple[Floats, Floats], variance: float = VARIANCE
) -> tuple[float, float]:
    """Best weight and its gain over 0, by a search that knows no derivatives."""

    def minus_gain(weight: float) -> float:
        gain = piece_value(problem, k, weight, home) - piece_value(problem, k, 0.0, home)
        return weight**2 / (2 * variance) - gain

    found = minimize_scalar(minus_gain, bounds=(0.0, 60.0), options={"xatol": 1e-9})
    return (float(found.x), -float(found.fun)) if found.fun < -1e-12 else (0.0, 0.0)


@pytest.mark.parametrize("inside", [False, True])
@given(problem=problems(max_columns=3))
@settings(max_examples=25)
def test_every_weight_is_the_optimum_of_its_piece(inside: bool, problem: CountProblem) -> None:
    fit = Ppll(prior_inside=inside, weight_variance=VARIANCE).fit(problem)
    assert fit.status is FitStatus.CONVERGED
    home = home_of(problem, inside)
    for k in clauses_of(problem):
        weight, gain = best_weight(problem, k, home)
        assert fit.weights[k] == pytest.approx(weight, abs=2e-3 * max(1.0, weight))

        def score(w: float, k: int = k) -> float:
            return piece_value(problem, k, w, home) - w**2 / (2 * VARIANCE)

        assert score(fit.weights[k]) - score(0.0) >= gain - 1e-7


@pytest.mark.parametrize("inside", [False, True])
@given(problem=problems())
def test_every_slope_is_zero_or_the_weight_is(inside: bool, problem: CountProblem) -> None:
    learner = Ppll(prior_inside=inside, weight_variance=VARIANCE)
    fit = learner.fit(problem)
    priors = fit_priors(problem, 1 / VARIANCE).weights
    pieces = problem.pieces(priors if inside else None)
    for k in clauses_of(problem):
        piece = pieces(k)
        _, slope, curvature = piece.derivatives(fit.weights[k])
        slope -= fit.weights[k] / VARIANCE
        scale = 1e-9 * (1 + np.sum(piece.x @ piece.size))
        assert abs(slope) <= scale if fit.weights[k] > 0 else slope <= scale
        assert curvature <= 0


@given(problems(CONTINUOUS, max_columns=2), st.booleans())
@settings(max_examples=15)
def test_lemma_1_together_or_one_by_one(problem: CountProblem, inside: bool) -> None:
    """Maximising the sum over all weights at once gives each clause's own maximum."""
    clauses, home = clauses_of(problem), home_of(problem, inside)

    def minus_ppll(weights: Floats) -> float:
        values = (piece_value(problem, k, w, home) for k, w in zip(clauses, weights, strict=True))
        return float(weights @ weights) / (2 * VARIANCE) - sum(values)

    joint = minimize(
        minus_ppll,
        np.full(len(clauses), 0.5),
        method="L-BFGS-B",
        bounds=[(0, None)] * len(clauses),
        options={"ftol": 1e-14, "gtol": 1e-8},
    )
    alone = Ppll(prior_inside=inside, weight_variance=VARIANCE).fit(problem).weights[clauses]
    assert minus_ppll(alone) <= joint.fun + 1e-8
    np.testing.assert_allclose(alone, joint.x, atol=2e-2 * max(1.0, alone.max()))


@given(problems(CONTINUOUS, max_columns=2))
@settings(max_examples=15)
def test_theorem_1_the_best_subset_is_all_clauses_at_once(problem: CountProblem) -> None:
    """Exhaustive search over subsets finds nothing better, and the same clauses are in the model.

    With y in [0, 1] a clause of weight 0 has Z = 1 and adds nothing, as the proof needs.
    """
    clauses, home = clauses_of(problem), home_of(problem, inside=False)
    assert all(piece_value(problem, k, 0.0, home) == pytest.approx(0, abs=1e-12) for k in clauses)
    best = {k: best_weight(problem, k, home)[1] for k in clauses}
    subsets = [subset for size in range(len(clauses) + 1) for subset in combinations(clauses, size)]
    exhaustive = max(subsets, key=lambda subset: sum(best[k] for k in subset))
    fit = Ppll(prior_inside=False, weight_variance=VARIANCE).fit(problem)
    assert -fit.loss == pytest.approx(sum(best[k] for k in exhaustive), abs=1e-6)
    clear = {k for k in clauses if best[k] > 1e-6}
    assert clear <= {k for k in clauses if fit.weights[k] > 0}
    assert all(fit.weights[k] == 0 for k in clauses if best[k] == 0 and k not in clear
               and best_slope(problem, k, home) < -1e-6)  # fmt: skip


def best_slope(problem: CountProblem, k: int, home: tuple[Floats, Floats]) -> float:
    """Slope of a piece at weight 0, by a difference."""
    return (piece_value(problem, k, 1e-6, home) - piece_value(problem, k, 0.0, home)) / 1e-6


@given(problems(st.just(Relaxation.BOOLEAN), max_columns=2))
@settings(max_examples=15)
def test_loss_is_minus_the_gain_over_no_clause(problem: CountProblem) -> None:
    fit = Ppll(weight_variance=VARIANCE).fit(problem)
    home = home_of(problem, inside=True)
    gains = [best_weight(problem, k, home)[1] for k in clauses_of(problem)]
    assert -fit.loss == pytest.approx(sum(gains), abs=1e-5)


@pytest.mark.parametrize("relaxation", list(Relaxation))
@pytest.mark.parametrize("inside", [False, True])
def test_many_gradient_steps_end_where_newton_does(relaxation: Relaxation, inside: bool) -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 3, (30, 4))
    problem = problem_of(counts, (counts[:, 0] > 0) ^ (rng.random(30) < 0.1), relaxation)
    newton = Ppll(prior_inside=inside).fit(problem)
    learner = Ppll(
        "gradient", iterations=20_000, step_size=0.05, tolerance=1e-13, prior_inside=inside
    )
    gradient = learner.fit(problem)
    assert newton.weights[0] > 0.5
    np.testing.assert_allclose(gradient.weights, newton.weights, atol=2e-3)
    assert gradient.status is FitStatus.CONVERGED
    few = Ppll("gradient", iterations=3, step_size=0.01, prior_inside=inside).fit(problem)
    assert few.status is FitStatus.ITERATIONS
    assert newton.loss <= gradient.loss + 1e-9 <= few.loss + 2e-9


@pytest.mark.parametrize("variance", [np.inf, 0.3])
def test_gradient_steps_are_the_papers(variance: float) -> None:
    """w <- max(0, w + alpha (expected - observed)), from 0, until the score hardly improves."""
    problem = problem_of([[2, 0], [1, 3], [1, 1]], [1, 0, 1], Relaxation.LINEAR)
    step, tolerance = 0.1, 0.02
    fit = Ppll(
        "gradient", iterations=50, step_size=step, prior_inside=False, weight_variance=variance,
        tolerance=tolerance,
    ).fit(problem)  # fmt: skip
    u, d = dense(problem)
    taken = set()
    for k in clauses_of(problem):
        n = u[:, k] + d[:, k]
        penalty = problem.y if problem.clauses[k].negated else 1 - problem.y
        weight, score, steps = 0.0, -np.inf, 0
        while steps < 50:
            log_z, expected, _ = density(weight * n, 0 * n, Relaxation.LINEAR)
            before = score
            score = float(np.sum(-log_z - weight * n * penalty)) - weight**2 / (2 * variance)
            if 0.0 <= score - before <= tolerance:
                break
            slope = float(np.sum(n * (expected - penalty))) - weight / variance
            weight = max(0.0, weight + step * slope)
            steps += 1
        taken.add(steps)
        assert fit.weights[k] == pytest.approx(weight, rel=1e-9, abs=1e-12)
    assert any(1 < steps < 50 for steps in taken)


def test_the_prior_inside_is_fitted_first_and_leans_either_way() -> None:
    counts = np.ones((20, 1), dtype=int)
    for share, leans_up in ((0.9, True), (0.1, False)):
        y = (np.arange(20) < 20 * share).astype(float)
        problem = problem_of(counts, y, Relaxation.LINEAR)
        weights = Ppll(weight_variance=1e6).fit(problem).weights
        up, down = weights[problem.is_prior]
        assert (up > 0, down > 0) == (leans_up, not leans_up)
        # the prior says it all already: what every target has can add nothing
        np.testing.assert_allclose(weights[~problem.is_prior], 0, atol=1e-4)
        outside = Ppll(weight_variance=1e6, prior_inside=False).fit(problem).weights
        assert outside[0 if leans_up else 1] > 1
        np.testing.assert_allclose(outside[problem.is_prior], weights[problem.is_prior])


@pytest.mark.parametrize("relaxation", list(Relaxation))
@pytest.mark.parametrize("inside", [False, True])
def test_a_clause_never_violated_has_a_finite_weight(relaxation: Relaxation, inside: bool) -> None:
    problem = problem_of([[3], [1], [2], [0], [0]], [1, 1, 1, 0, 0], relaxation)
    weights = {
        variance: Ppll(prior_inside=inside, weight_variance=variance).fit(problem).weights[0]
        for variance in (1.0, 100.0, 1e4)
    }
    assert 0 < weights[1.0] < weights[100.0] < weights[1e4] < 1e4
    assert all(np.isfinite(weight) for weight in weights.values())
    alone = Ppll(prior_inside=inside, weight_variance=np.inf).fit(problem).weights
    assert np.isfinite(alone).all()


@given(problems(max_columns=3), st.floats(0.01, 2.0), st.booleans())
@settings(max_examples=25)
def test_the_length_penalty_keeps_what_gains_more(
    problem: CountProblem, beta: float, inside: bool
) -> None:
    plain = Ppll(prior_inside=inside, weight_variance=VARIANCE).fit(problem).weights
    kept = Ppll(prior_inside=inside, weight_variance=VARIANCE, length_penalty=beta).fit(problem)
    home = home_of(problem, inside)
    for k in clauses_of(problem):
        gain = best_weight(problem, k, home)[1]
        price = beta * len(problem.clauses[k].body)
        if abs(gain - price) > 1e-5:
            assert kept.weights[k] == (plain[k] if gain > price else 0.0)
    np.testing.assert_array_equal(kept.weights[problem.is_prior], plain[problem.is_prior])


@given(problems(), st.floats(0, 5))
def test_grouping_equals_no_grouping(problem: CountProblem, weight: float) -> None:
    priors = fit_priors(problem, 1 / VARIANCE).weights
    up, down = dense(problem)
    home = up @ priors, down @ priors
    pieces = problem.pieces(priors)
    for k in clauses_of(problem):
        piece = pieces(k)
        part = problem.entries(k, int(problem.clauses[k].negated))
        assert piece.size.sum() == part.stop - part.start
        groups = list(zip(*piece.x.tolist(), piece.y.tolist(), strict=True))
        assert len(groups) == len(set(groups))
        expected = piece_value(problem, k, weight, home)
        value, slope, _ = piece.derivatives(weight)
        assert value == pytest.approx(expected, rel=1e-10, abs=1e-10)
        rise = piece_value(problem, k, weight + 1e-5, home) - expected
        assert slope == pytest.approx(rise / 1e-5, rel=1e-3, abs=1e-3 * (1 + piece.x.sum()))


def test_repeated_targets_weigh_as_often_as_they_stand_there() -> None:
    rng = np.random.default_rng(6)
    counts, y = rng.poisson(1.0, (15, 3)), rng.random(15) < 0.5
    once = problem_of(counts, y, Relaxation.LINEAR)
    thrice = problem_of(np.tile(counts, (3, 1)), np.tile(y, 3), Relaxation.LINEAR)
    one = Ppll(weight_variance=30.0).fit(once)
    three = Ppll(weight_variance=10.0).fit(
        thrice
    )  # a third of the variance for three times as many
    np.testing.assert_allclose(three.weights, one.weights, rtol=1e-6, atol=1e-9)
    assert three.loss == pytest.approx(3 * one.loss, rel=1e-6)


def test_a_clause_does_not_know_of_others() -> None:
    rng = np.random.default_rng(8)
    counts, y = rng.poisson(0.8, (40, 5)), rng.random(40) < 0.5
    together = Ppll().fit(problem_of(counts, y, Relaxation.LINEAR, Counts.LOG)).weights
    for j in range(5):
        alone = Ppll().fit(problem_of(counts[:, [j]], y, Relaxation.LINEAR, Counts.LOG)).weights
        np.testing.assert_array_equal(alone[:2], together[2 * j : 2 * j + 2])


def test_an_empty_column_has_weight_zero() -> None:
    fit = Ppll().fit(problem_of([[0, 1], [0, 2]], [0, 1], Relaxation.LINEAR))
    assert fit.weights[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"solver": "newtown"},
        {"iterations": 0},
        {"step_size": float("nan")},
        {"weight_variance": 0.0},
        {"weight_variance": float("nan")},
        {"length_penalty": -1.0},
        {"length_penalty": float("inf")},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="expected"):
        Ppll(**wrong)  # type: ignore[arg-type]
