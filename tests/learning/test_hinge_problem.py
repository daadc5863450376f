"""Learning and scoring with soft bodies and continuous targets, held to quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import hornbeam as hb
from hornbeam.base.choices import Relaxation
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import HornbeamWarning
from hornbeam.facts.table import Targets
from hornbeam.learning.hinge_problem import HingeProblem, hinge_problem
from hornbeam.learning.newton import Newton, penalised_loss
from hornbeam.learning.registry import BUNDLED
from hornbeam.learning.rule_learning import problem_of
from hornbeam.rules.clause import Clause
from hornbeam.rules.weighing import Counts

CONTINUOUS = [Relaxation.LINEAR, Relaxation.SQUARED]


def soft_world(seed: int = 0) -> tuple[hb.Facts, Targets]:
    rng = np.random.default_rng(seed)
    people = [f"e{i}" for i in range(12)]
    edges = {}
    for _ in range(70):
        a, b = rng.choice(people, 2)
        edges[(str(a), f"p{rng.integers(2)}", str(b))] = round(float(rng.uniform(0.3, 1)), 3)
    facts = hb.read_facts([(*edge, value) for edge, value in edges.items()])
    pairs = sorted({tuple(map(str, rng.choice(people, 2))) for _ in range(90)})

    def truth(a: str, b: str) -> float:
        """True where p0(a, c) & p1(c, b) holds well for some c, but for a tenth of the pairs."""
        bodies = [edges.get((a, "p0", c), 0) + edges.get((c, "p1", b), 0) - 1 for c in people]
        return float((max(bodies) > 0.2) != (rng.random() < 0.1))

    return facts, hb.read_labels([(a, "t", b, truth(a, b)) for a, b in pairs])


def discovered(seed: int = 0) -> tuple[Statistics, Targets]:
    facts, labels = soft_world(seed)
    language = hb.RuleLimits(max_length=2, min_coverage=5)
    table = hb.counting.discover(facts, labels, language).statistics
    assert table is not None
    assert table.body_truth is not None
    return table, labels


def potential(problem: HingeProblem[Clause], k: int, row: int, y: float) -> float:
    """Sum of the hinges of clause k at one target, by the definition."""
    power = 2 if problem.squared[k] else 1
    mine = (problem.rule == k) & (problem.target == row)
    height, count = problem.height[mine], problem.count[mine]
    reach = height + y - 1 if problem.clauses[k].negated else height - y
    return float(np.sum(count * np.maximum(reach, 0.0) ** power))


@pytest.mark.slow
@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_likelihood_is_that_of_the_definition(relaxation: Relaxation) -> None:
    table, labels = discovered()
    problem = hinge_problem(table, labels, (Counts.RAW,), relaxation)
    weights = np.random.default_rng(1).uniform(0, 0.5, len(problem.clauses))
    some = np.arange(len(problem.y)) < 3
    small = problem.subset(some)
    total = 0.0
    for row in range(3):

        def energy(y: float, row: int = row) -> float:
            n = len(small.clauses)
            return sum(float(weights[k]) * potential(small, k, row, y) for k in range(n))

        knees = np.unique(np.concatenate([[0.0, 1.0], small.height, 1 - small.height]))
        z = sum(
            width / 2 * share * np.exp(-energy(low + width * (node + 1) / 2))
            for low, width in zip(knees[:-1], np.diff(knees), strict=True)
            for node, share in zip(*np.polynomial.legendre.leggauss(6), strict=True)
        )
        total -= np.log(z) + energy(small.y[row])
    assert small.log_likelihood(weights) == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_fit_reaches_scipys_optimum(relaxation: Relaxation) -> None:
    table, labels = discovered()
    problem = problem_of(table, labels, (Counts.RAW,), relaxation)
    assert isinstance(problem, HingeProblem)
    n = len(problem.clauses)
    linear, ridge = np.where(problem.is_prior, 0.0, 0.5), np.full(n, 0.05)
    fit = Newton().fit(problem, linear, ridge)
    best = optimize.minimize(
        lambda w: penalised_loss(problem, linear, ridge, w),
        np.full(n, 0.1),
        jac=lambda w: problem.gradient(w) + linear + ridge * w,
        bounds=[(0, None)] * n,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9},
    )
    assert fit.loss == pytest.approx(best.fun, rel=1e-6)
    assert fit.loss <= best.fun + 1e-6 * abs(best.fun)


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_values_of_one_are_the_ordinary_problem(relaxation: Relaxation) -> None:
    table, labels = discovered()
    crisp = Statistics(table.bodies, table.n_targets, *crisp_rows(table))
    ordinary = problem_of(crisp, labels, (Counts.RAW,), relaxation)
    hinged = hinge_problem(crisp, labels, (Counts.RAW,), relaxation)
    weights = np.random.default_rng(2).uniform(0, 0.5, len(ordinary.clauses))
    assert hinged.log_likelihood(weights) == pytest.approx(ordinary.log_likelihood(weights))
    np.testing.assert_allclose(hinged.gradient(weights), ordinary.gradient(weights), rtol=1e-9)
    np.testing.assert_allclose(hinged.score(weights), ordinary.score(weights), rtol=1e-9)
    np.testing.assert_allclose(hinged.scales, ordinary.scales, rtol=1e-12)


def crisp_rows(table: Statistics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row a (sequence, target), as if every body were true."""
    path = np.repeat(np.arange(len(table.bodies)), np.diff(table.indptr))
    cells, place = np.unique(np.stack([path, table.target], axis=1), axis=0, return_inverse=True)
    count = np.bincount(place.ravel(), table.count).astype(np.int64)
    sizes = np.bincount(cells[:, 0], minlength=len(table.bodies))
    return np.append(0, np.cumsum(sizes)), cells[:, 1].astype(np.int32), count


@pytest.mark.parametrize("relaxation", CONTINUOUS)
@pytest.mark.parametrize("method", [point.name for point in BUNDLED if point.name != "boost"])
@pytest.mark.slow
def test_every_learner_learns_and_scores(method: str, relaxation: Relaxation) -> None:
    facts, labels = soft_world()
    language = hb.RuleLimits(max_length=2, min_coverage=5)
    model = hb.learn(facts, labels, method=method, language=language, relaxation=relaxation)
    again = hb.Model.parse(model.text)
    for score in ("mean", "map"):
        found = again.predict(facts, labels, score=score)["score"]
        assert np.all((found >= 0) & (found <= 1))
    assert again.evaluate(facts, labels).auc_roc > 0.5  # type: ignore[operator]


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_shares_become_logs_with_a_warning(relaxation: Relaxation) -> None:
    table, labels = discovered()
    with pytest.warns(HornbeamWarning, match=f"no shares for {relaxation.value} targets: .* log"):
        problem = problem_of(table, labels, [Counts.SHARE], relaxation)
    by_log = problem_of(table, labels, [Counts.LOG], relaxation)
    assert problem.clauses == by_log.clauses
    # nothing is said where the learner may choose another way of counting
    problem_of(table, labels, [Counts.EXISTS, Counts.SHARE], relaxation)
