"""Greedy local search against exhaustive search that refits everything with SciPy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam.base.choices import Relaxation
from hornbeam.errors import InputError
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.newton import Newton
from hornbeam.learning.problem import fit_priors
from tests.support.problems import (
    Reference,
    labels_of,
    learned_rules,
    problem_of,
    problems,
    statistics_of,
)

VARIANCE = 20.0
EXACT = Newton()
#: Gains that differ by less are ties: either clause may be taken.
TIE = 1e-5


def greedy(
    max_rules: int = 15, tolerance: float = 0.0, length_penalty: float = 0.0, newton: Newton = EXACT
) -> Greedy:
    return Greedy(
        max_rules, tolerance, VARIANCE, length_penalty, newton.iterations, newton.tolerance
    )


def reference_of(problem: CountProblem) -> Reference:
    n = len(problem.clauses)
    return Reference(problem, np.zeros(n), np.full(n, 1 / VARIANCE))


def priors_of(problem: CountProblem) -> list[int]:
    return np.flatnonzero(problem.is_prior).tolist()


def steps_by_exhaustion(
    problem: CountProblem, max_rules: int, tolerance: float, beta: float = 0.0
) -> tuple[list[int], list[float]]:
    """Clauses in the order they are taken, and the losses from the priors alone on.

    Every clause is tried in every round and the whole model is refitted by SciPy.
    """
    reference = reference_of(problem)
    chosen: list[int] = []
    losses = [reference.minimum(priors_of(problem))[1]]
    while len(chosen) < max_rules:
        gains = {}
        for k in range(len(problem.clauses)):
            if k not in chosen and not problem.is_prior[k]:
                loss = reference.minimum([*chosen, k, *priors_of(problem)])[1]
                price = beta * int(problem.lengths[k])
                gains[k] = (losses[-1] - loss - price, loss)
        best = sorted(gains, key=lambda k: -gains[k][0])
        # what is nearly a tie, or nearly worth nothing, is left to rounding errors
        assume(len(best) < 2 or gains[best[0]][0] - gains[best[1]][0] > TIE)
        assume(not best or abs(gains[best[0]][0] - tolerance) > TIE)
        if not best or gains[best[0]][0] <= tolerance:
            break
        chosen.append(best[0])
        losses.append(gains[best[0]][1])
    return chosen, losses


@pytest.mark.slow
@given(problems(max_columns=3))
@settings(max_examples=10)
def test_the_first_pick_is_the_best_single_clause(problem: CountProblem) -> None:
    reference = reference_of(problem)
    alone = {
        k: reference.minimum([k, *priors_of(problem)])[1]
        for k in range(len(problem.clauses))
        if not problem.is_prior[k]
    }
    prior = reference.minimum(priors_of(problem))[1]
    best = min(alone, key=lambda k: alone[k])
    fit = greedy(max_rules=1).fit(problem)
    taken = np.flatnonzero((fit.weights > 0) & ~problem.is_prior)
    if alone[best] < prior - TIE:
        [k] = taken.tolist()
        assert alone[k] <= alone[best] + TIE
        assert fit.loss == pytest.approx(alone[best], abs=TIE)
        assert fit.iterations == 1
    else:
        assert fit.loss == pytest.approx(prior, abs=TIE)


@pytest.mark.slow
@given(problems(max_columns=2), st.sampled_from([0.0, 0.05, 0.5]))
@settings(max_examples=6)
def test_every_pick_is_the_best_after_refitting_everything(
    problem: CountProblem, tolerance: float
) -> None:
    chosen, losses = steps_by_exhaustion(problem, 3, tolerance)
    for rules in range(4):
        fit = greedy(rules, tolerance).fit(problem)
        expected = min(rules, len(chosen))
        assert fit.iterations == expected
        assert fit.loss == pytest.approx(losses[expected], abs=TIE)
        members = set(np.flatnonzero(fit.weights > 0)) - set(priors_of(problem))
        assert members <= set(chosen[:expected])


@pytest.mark.slow
@given(problems(max_columns=2), st.floats(0.05, 1.0))
@settings(max_examples=6)
def test_the_length_penalty_is_paid_by_every_pick(problem: CountProblem, beta: float) -> None:
    chosen, losses = steps_by_exhaustion(problem, 2, 0.0, beta)
    fit = greedy(2, length_penalty=beta).fit(problem)
    assert fit.iterations == len(chosen)
    assert fit.loss == pytest.approx(losses[-1], abs=TIE)


@pytest.mark.slow
@given(problems(max_columns=2))
@settings(max_examples=6)
def test_it_stops_when_nothing_improves(problem: CountProblem) -> None:
    fit = greedy(tolerance=1e-6).fit(problem)
    reference = reference_of(problem)
    members = np.flatnonzero((fit.weights > 0) | problem.is_prior).tolist()
    assert fit.loss == pytest.approx(reference(fit.weights)[0], abs=1e-9)
    for k in range(len(problem.clauses)):
        more = reference.minimum(sorted({*members, k}))[1]
        assert fit.loss - more <= 1e-6 + TIE


@pytest.mark.slow
@given(problems(max_columns=2))
@settings(max_examples=4)
def test_it_lies_between_the_prior_and_the_best_subset(problem: CountProblem) -> None:
    reference = reference_of(problem)
    priors = priors_of(problem)
    others = [k for k in range(len(problem.clauses)) if k not in priors]
    best = min(
        reference.minimum([*subset, *priors])[1]
        for size in range(len(others) + 1)
        for subset in combinations(others, size)
    )
    assert best - TIE <= greedy().fit(problem).loss <= reference.minimum(priors)[1] + TIE


@pytest.mark.slow
@pytest.mark.parametrize("relaxation", list(Relaxation))
def test_more_rules_are_never_worse_and_limits_hold(relaxation: Relaxation) -> None:
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.6, (80, 10))
    noisy = (counts[:, 0] + counts[:, 1] > counts[:, 2] + 1) ^ (rng.random(80) < 0.15)
    problem = problem_of(counts, noisy, relaxation)
    fits = [Greedy(rules, 1e-3).fit(problem) for rules in (0, 1, 2, 3, 30)]
    losses = [fit.loss for fit in fits]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(fit_priors(problem, 0.01).loss)
    assert [fit.iterations for fit in fits[:3]] == [0, 1, 2]
    for rules, fit in zip((0, 1, 2, 3, 30), fits, strict=True):
        assert np.count_nonzero(fit.weights[~problem.is_prior]) <= rules
    # what the planted sequences say is found first (squared hinges see it otherwise)
    taken = {k // 2 for k in np.flatnonzero(fits[2].weights[~problem.is_prior])}
    assert relaxation is Relaxation.SQUARED or taken <= {0, 1, 2}
    demanding = Greedy(30, 3.0).fit(problem)
    assert demanding.iterations < fits[-1].iterations
    gain = fits[0].loss - demanding.loss
    assert gain >= 3.0 * demanding.iterations


def test_a_hopeless_problem_keeps_the_prior_alone() -> None:
    rng = np.random.default_rng(0)
    problem = problem_of(rng.poisson(1.0, (40, 4)), np.arange(40) % 2)
    fit = Greedy(tolerance=50.0).fit(problem)
    assert fit.iterations == 0
    assert not fit.weights[~problem.is_prior].any()


def test_a_twin_is_never_taken_beside_the_first() -> None:
    """Two columns with the same counts would share a weight, and halve what the prior costs."""
    rng = np.random.default_rng(2)
    counts = np.repeat(rng.poisson(0.7, (60, 3)), 2, axis=1)
    y = (counts[:, 0] > 0) ^ (rng.random(60) < 0.1)
    learner = Greedy(4, tolerance=1e-6, weight_variance=0.5)
    raw = learner.fit(problem_of(counts, y, Relaxation.LINEAR)).weights
    assert (raw[0] > 0, raw[2] > 0) == (True, True)
    learned = learned_rules(
        statistics_of(counts), labels_of(y), learner, relaxation=Relaxation.LINEAR
    )
    walked = {
        step.predicate
        for rule in learned.model.rules
        if not rule.clause.is_prior
        for part in rule.clause.body.parts
        for step in part.body.steps
    }
    assert "p0" in walked
    assert walked <= {"p0", "p2", "p4"}


def test_fifteen_inner_steps_are_as_good_as_convergence() -> None:
    rng = np.random.default_rng(9)
    counts = rng.poisson(0.6, (60, 8))
    problem = problem_of(counts, (counts[:, 0] > 0) ^ (rng.random(60) < 0.2), Relaxation.LINEAR)
    paper, exact = (
        Greedy(5).fit(problem),
        Greedy(5, iterations=EXACT.iterations, inner_tolerance=EXACT.tolerance).fit(problem),
    )
    assert paper.iterations == exact.iterations >= 1
    assert paper.loss == pytest.approx(exact.loss, abs=1e-4)
    np.testing.assert_allclose(paper.weights, exact.weights, atol=1e-2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rules": -1},
        {"tolerance": float("nan")},
        {"weight_variance": -1.0},
        {"length_penalty": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected"):
        Greedy(**wrong)  # type: ignore[arg-type]
