"""The joint learner: the path of strengths, and what is chosen along it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import transformed
from hornbeam.errors import InputError
from hornbeam.learning.count_problem import MIN_SPREAD, CountProblem
from hornbeam.learning.held_out import held_out_folds, log_losses
from hornbeam.learning.joint import Joint
from hornbeam.learning.newton import Newton
from hornbeam.learning.rule_learning import LearnedRules, learn_rules
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.rules.weighing import Counts
from tests.support.problems import (
    Reference,
    labels_of,
    learned_rules,
    problem_of,
    problems,
    statistics_of,
    violation,
)

RELAXATIONS = pytest.mark.parametrize("relaxation", list(Relaxation))
EXACT = Newton(iterations=200, tolerance=1e-10)


def planted(
    n: int = 150, columns: int = 10, noise: float = 0.15, seed: int = 0
) -> tuple[np.ndarray, Floats]:
    """Counts, and labels that follow the first three columns."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.6, (n, columns))
    lean = counts[:, 0] + counts[:, 1] - 2 * counts[:, 2]
    return counts, ((lean > 0) ^ (rng.random(n) < noise)).astype(float)


def learned(
    counts: np.ndarray, y: Floats, learner: Joint, kind: Counts | None = Counts.RAW
) -> LearnedRules:
    return learned_rules(statistics_of(counts), labels_of(y), learner, kind)


@RELAXATIONS
def test_the_path_begins_with_no_rule_and_gathers_them(relaxation: Relaxation) -> None:
    problem = problem_of(*planted(), relaxation)
    learner = Joint()
    strengths = learner.grid(problem)
    assert len(strengths) == 30
    assert strengths[-1] == pytest.approx(strengths[0] / 1000)
    fits = learner.path(problem, strengths)
    rules = [np.count_nonzero(fit.weights[~problem.is_prior] > 0) for fit in fits]
    assert rules[0] == 0
    np.testing.assert_array_equal(fits[0].weights, learner.priors(problem).weights)
    assert rules[-1] >= rules[5] > 0
    # at weight 0 squared hinges expect 1/3, so that fewer clauses pay
    assert relaxation is Relaxation.SQUARED or rules[-1] >= 8
    likelihoods = [problem.log_likelihood(fit.weights) for fit in fits]
    assert all(after >= before - 1e-3 for before, after in pairwise(likelihoods))


@RELAXATIONS
def test_the_strongest_strength_is_the_smallest_that_keeps_no_rule(relaxation: Relaxation) -> None:
    problem = problem_of(*planted(60, 4), relaxation)
    learner = Joint(newton=EXACT)
    strongest = learner.strongest(problem)
    above = learner.fit(problem, 1.001 * strongest)
    below = learner.fit(problem, 0.98 * strongest)
    assert not above.weights[~problem.is_prior].any()
    assert below.weights[~problem.is_prior].any()


def test_a_refit_is_an_optimum_without_the_penalty_on_rules() -> None:
    counts, y = planted()
    problem, semantics = problem_of(counts, y), Semantics()
    model = learn_rules(problem, Joint(), semantics, refit=True).model
    weights = {rule.clause: rule.weight for rule in model.rules}
    kept = problem.only(np.flatnonzero([clause in weights for clause in problem.clauses]))
    w = np.array([weights[clause] for clause in kept.clauses])
    assert len(w) > 2
    assert violation(w, kept.gradient(w) + w / Joint().weight_variance) < 1e-3 * len(y)


@pytest.mark.slow
@given(problems())
@settings(max_examples=8)
def test_every_point_of_the_path_is_an_optimum(problem: CountProblem) -> None:
    learner = Joint(weight_variance=20.0, length_penalty=0.3, newton=EXACT)
    unit = learner.unit_penalty(problem)
    n = len(problem.y)
    for strength in learner.grid(problem)[::9]:
        fit = learner.fit(problem, strength)
        reference = Reference(problem, strength * n * unit, np.full(len(problem.clauses), 1 / 20.0))
        assert fit.loss <= reference.minimum()[1] + 1e-6
        assert violation(fit.weights, reference(fit.weights)[1]) < 1e-6 * n


@RELAXATIONS
def test_the_path_begins_at_the_strength_of_an_earlier_optimum(relaxation: Relaxation) -> None:
    problem = problem_of(*planted(), relaxation)
    learner = Joint(weight_variance=0.05, newton=EXACT)
    strengths = learner.grid(problem)
    assert learner._begin(problem, strengths, None) == 0
    assert learner._begin(problem, strengths, learner.priors(problem).weights) == 0
    for i in (3, 9, 15):
        earlier = learner.fit(problem, strengths[i]).weights
        assert earlier[~problem.is_prior].any()
        assert learner._begin(problem, strengths, earlier) == i


def test_the_penalty_is_the_spread_of_the_column_times_its_length() -> None:
    problem = problem_of([[2, 0], [0, 0], [4, 1]], [0, 1, 1], lengths=[1, 3])
    # squares around the means 2 and 1/3
    scale = np.sqrt([8 / 3, 8 / 3, 2 / 9, 2 / 9, 0, 0])
    np.testing.assert_allclose(Joint().unit_penalty(problem), scale)
    lengths = np.array([1, 1, 3, 3, 0, 0])
    np.testing.assert_allclose(
        Joint(length_penalty=0.5).unit_penalty(problem), scale * (1 + 0.5 * lengths)
    )


def test_a_column_that_hardly_varies_has_a_share_of_its_size_for_its_spread() -> None:
    """Else it had a large weight for nothing, which the prior would take back."""
    constant, hardly = (
        problem_of([[7], [7], [7]], [0, 1, 1]),
        problem_of([[7], [7], [8]], [0, 1, 1]),
    )
    np.testing.assert_allclose(constant.scales[:2], MIN_SPREAD * 7)
    np.testing.assert_allclose(hardly.scales[:2], MIN_SPREAD * np.sqrt(162 / 3))
    assert np.std([7, 7, 8]) < hardly.scales[0]


def test_the_penalty_of_a_column_does_not_depend_on_a_hub_beside_it() -> None:
    counts = np.array([[10**9, 1], [10**9, 0], [10**9, 1]])
    alone = Joint().unit_penalty(problem_of(counts[:, 1:], [0, 1, 1]))
    beside = Joint().unit_penalty(problem_of(counts, [0, 1, 1]))
    np.testing.assert_allclose(beside[2:], alone)


def test_scaling_a_column_changes_no_choice() -> None:
    """The penalty follows the scale, so units do not matter (where the ridge does not)."""
    counts, y = planted(80, 4)
    learner = Joint(weight_variance=1e9, newton=EXACT)
    one, ten = (problem_of(counts * factor, y) for factor in (1, 10))
    strength = learner.strongest(one) / 10
    assert learner.strongest(ten) == pytest.approx(learner.strongest(one), rel=1e-6)
    priors = one.is_prior
    small, large = (learner.fit(problem, strength).weights for problem in (one, ten))
    np.testing.assert_allclose(10 * large[~priors], small[~priors], rtol=1e-3, atol=1e-6)


def test_the_length_penalty_prefers_short_rules() -> None:
    """Of two columns that differ in one target, the longer leads; the penalty turns it round."""
    rng = np.random.default_rng(3)
    y = (np.arange(100) % 2).astype(float)
    better = ((y > 0) ^ (rng.random(100) < 0.10)).astype(int)
    worse = better.copy()
    worse[:8] = rng.permutation(worse[:8])
    worse[np.flatnonzero(y > 0)[:2]] = 0
    problem = problem_of(np.column_stack([better, worse]), y, lengths=[3, 1])
    strengths = {}
    for beta in (0.0, 2.0):
        learner = Joint(length_penalty=beta, newton=EXACT)
        weights = learner.fit(problem, 0.6 * learner.strongest(problem)).weights
        strengths[beta] = weights[0], weights[2]
    assert strengths[0.0][0] > strengths[0.0][1]
    assert strengths[2.0][0] == 0.0 < strengths[2.0][1]


@given(problems())
@settings(max_examples=20)
def test_repeated_columns_change_nothing_about_the_optimum(problem: CountProblem) -> None:
    """A column that stands there twice may share its weight; the ridge alone notices.

    Without ridge the optimum with and without twins is the same.
    """
    twice = replace(
        problem,
        clauses=[*problem.clauses, *problem.clauses[:2]],
        columns=np.append(problem.columns, problem.columns[:, :2], axis=1),
    )
    learner = Joint(weight_variance=np.inf, newton=EXACT)
    strength = learner.strongest(problem) / 20
    alone, both = learner.fit(problem, strength), learner.fit(twice, strength)
    assert both.loss == pytest.approx(alone.loss, abs=1e-5)


def test_distinct_columns_keep_the_first_of_each_kind() -> None:
    table = [[1, 1, 0, 2, 0], [0, 0, 1, 0, 1], [3, 3, 0, 6, 0]]
    problem = problem_of(table, [0, 1, 1])
    kept = problem.distinct_columns()
    names = [*(part.body.steps[0].predicate for clause in kept.clauses
               for part in clause.body.parts)]  # fmt: skip
    assert names == ["p0", "p0", "p2", "p2", "p3", "p3"]
    assert sum(clause.is_prior for clause in kept.clauses) == 2
    exists = problem_of(table, [0, 1, 1], kind=Counts.EXISTS).distinct_columns()
    assert len(exists.clauses) == 2 * 2 + 2
    # a sequence that every target has keeps standing beside the prior
    assert len(problem_of([[1], [1]], [0, 1]).distinct_columns().clauses) == 4


@given(problems())
def test_distinct_columns_lose_no_likelihood(problem: CountProblem) -> None:
    kept = problem.distinct_columns()
    n = len(kept.clauses)
    # moving a twin's weight to the first of its kind leaves every strength as it is
    weights = np.linspace(0.1, 1, len(problem.clauses))
    moved = np.zeros(n)
    for k, clause in enumerate(problem.clauses):
        mine = _column(problem, k)
        [home] = [
            i for i in range(n)
            if kept.is_prior[i] == clause.is_prior
            and kept.clauses[i].negated == clause.negated and _column(kept, i) == mine
        ]  # fmt: skip
        moved[home] += weights[k]
    np.testing.assert_allclose(problem.strengths(weights), kept.strengths(moved), rtol=1e-12)


def _column(problem: CountProblem, k: int) -> list[tuple[int, int, float]]:
    return [
        (side, row, x)
        for side in range(2)
        for row, x in zip(
            problem.row[problem.entries(k, side)].tolist(),
            problem.x[problem.entries(k, side)].tolist(),
            strict=True,
        )
    ]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes() -> None:
    counts, y = planted()
    one, again, other = (learned(counts, y, Joint(seed=seed), Counts.LOG) for seed in (3, 3, 4))
    assert one == again
    assert one.fit.choice is not None
    assert other.fit.choice is not None
    assert one.fit.choice.validation != other.fit.choice.validation


@pytest.mark.slow
def test_validation_is_the_held_out_log_loss() -> None:
    problem = problem_of(*planted(60, 4))
    learner = Joint(strengths=6, folds=3, newton=EXACT)
    strengths = learner.grid(problem)
    fold = held_out_folds(problem, 3, 0)
    run, scores = learner.validate(problem, fold)
    losses = run.log_loss
    assert run.strengths == tuple(strengths[: len(losses)])
    assert len(scores) == len(losses)
    for i in range(len(losses)):
        total = 0.0
        for k in range(3):
            weights = learner.fit(problem.subset(fold != k), strengths[i]).weights
            up, down = problem.strengths(weights)
            score = 1 / (1 + np.exp(down - up))
            y, s = problem.y[fold == k], score[fold == k]
            total -= np.sum(np.where(y > 0.5, np.log(s), np.log(1 - s)))
        assert losses[i] == pytest.approx(total / 60, rel=1e-5)


def test_validation_stops_when_its_patience_ends() -> None:
    counts, _ = planted(80, 8)
    hopeless = problem_of(counts, np.random.default_rng(5).random(80) < 0.5)
    learner = Joint(patience=3)
    losses = learner.validate(hopeless, held_out_folds(hopeless, 5, 0))[0].log_loss
    assert len(losses) == int(np.argmin(losses)) + 1 + 3 < 30


@pytest.mark.parametrize("all_rules", [False, True])
def test_the_strongest_within_one_error_of_the_least_loss_is_chosen(all_rules: bool) -> None:
    counts, y = planted()
    learner = Joint(all_rules=all_rules)
    result = learned(counts, y, learner)
    choice = result.fit.choice
    assert choice is not None
    shown = choice.validation
    best = int(np.argmin(shown.log_loss))
    error = np.std(shown.folds, ddof=1) / np.sqrt(5)
    near = [i for i, loss in enumerate(shown.log_loss) if loss <= shown.log_loss[best] + error]
    assert near[0] < best, "both choices would be the same"
    at = best if all_rules else near[0]
    assert choice.strength == shown.strengths[at]
    assert choice.log_loss == shown.log_loss[at]
    problem = problem_of(counts, y).distinct_columns()
    direct = learner.fit(problem, choice.strength).weights
    weights = {str(rule.clause): rule.weight for rule in result.model.rules}
    for k, clause in enumerate(problem.clauses):
        assert weights.get(str(clause), 0.0) == pytest.approx(direct[k], abs=1e-3)
    assert tuple(point.strength for point in choice.path) == shown.strengths[: at + 1]
    assert isinstance(result.chosen, Joint)
    again = result.chosen.learn(problem).fit.weights
    np.testing.assert_allclose(again, direct, atol=1e-3)


def test_the_folds_of_the_validation_are_those_of_its_least_loss() -> None:
    counts, y = planted(101, 6)
    choice = learned(counts, y, Joint()).fit.choice
    assert choice is not None
    shown = choice.validation
    sizes = np.bincount(held_out_folds(problem_of(counts, y).distinct_columns(), 5, 0))
    assert np.average(shown.folds, weights=sizes) == pytest.approx(min(shown.log_loss))


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 1, 2, 4])
def test_a_limit_on_rules_takes_the_weakest_strength_that_keeps_it(most: int) -> None:
    counts, y = planted(300, noise=0.05)
    free = learned(counts, y, Joint(all_rules=True))
    assert len(rules_of(free)) > most
    short = learned(counts, y, Joint(all_rules=True, max_rules=most))
    assert len(rules_of(short)) <= most
    assert short.fit.choice is not None
    assert free.fit.choice is not None
    shown = free.fit.choice.validation
    problem = problem_of(counts, y).distinct_columns()
    at = shown.strengths.index(short.fit.choice.strength)
    following = Joint().path(problem, np.array(shown.strengths[: at + 2]))[-1]
    assert np.count_nonzero(following.weights[~problem.is_prior]) > most
    assert short.fit.choice.log_loss == shown.log_loss[at]


def test_a_limit_that_is_kept_anyway_changes_nothing() -> None:
    counts, y = planted()
    assert learned(counts, y, Joint(max_rules=1000)) == learned(counts, y, Joint())


def rules_of(learned: LearnedRules) -> list[Rule]:
    return [rule for rule in learned.model.rules if not rule.clause.is_prior]


@pytest.mark.slow
@pytest.mark.parametrize("truth", [Counts.RAW, Counts.LOG, Counts.EXISTS])
def test_side_by_side_the_right_way_of_counting_has_the_weight(truth: Counts) -> None:
    """Labels drawn from a model that counts one way are best explained that way."""
    rng = np.random.default_rng(12)
    counts = np.floor(10 ** (3 * rng.random((600, 2)))).astype(int) * (rng.random((600, 2)) < 0.7)
    x = {Counts.RAW: counts / 100, Counts.LOG: np.log2(1 + counts), Counts.EXISTS: 4 * (counts > 0)}
    lean = x[truth][:, 0] - x[truth][:, 1]
    y = (rng.random(600) < 1 / (1 + np.exp(-lean))).astype(float)
    problem = CountProblem.of(statistics_of(counts), labels_of(y), tuple(x))
    learned = learn_rules(problem, Joint(), Semantics())
    some = counts[:, 0] > 0
    spread = {way: np.std(np.where(some, transformed(counts[:, 0], way), 0.0)) for way in x}
    pull = dict.fromkeys(x, 0.0)
    for rule in learned.model.rules:
        if not rule.clause.is_prior:
            way = learned.model.counts_of(rule.clause).counts
            pull[way] += float(rule.weight * spread[way])
    assert max(pull, key=lambda way: pull[way]) is truth


def test_folds_spread_classes_evenly_whatever_the_order() -> None:
    counts, y = planted(101, 6)
    problem = problem_of(counts, y)
    fold = held_out_folds(problem, 5, 0)
    for value in (0.0, 1.0):
        sizes = np.bincount(fold[y == value], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert (fold == held_out_folds(problem, 5, 0)).all()
    assert (fold != held_out_folds(problem, 5, 1)).any()
    # every fold gets the same counts and labels when the rows are permuted
    order = np.random.default_rng(1).permutation(101)
    permuted = held_out_folds(problem_of(counts[order], y[order]), 5, 0)
    for k in range(5):
        one = sorted(zip(map(tuple, counts[fold == k].tolist()), y[fold == k], strict=True))
        other = sorted(
            zip(map(tuple, counts[order][permuted == k].tolist()), y[order][permuted == k],
                strict=True)
        )  # fmt: skip
        assert one == other


def test_log_loss_of_sure_mistakes_is_finite() -> None:
    losses = log_losses(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert losses == pytest.approx(-np.log(1e-15), rel=1e-3)
    assert log_losses(np.array([0.25]), np.array([0.5])) == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"strengths": 0},
        {"folds": 1},
        {"smallest": 0.0},
        {"weight_variance": 0.0},
        {"length_penalty": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected"):
        Joint(**wrong)  # type: ignore[arg-type]
