"""Collective learning problems against their definition: quadrature over every target's terms."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

import hornbeam as hb
from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.counting.collective.collective_statistics import (
    CollectiveStatistics,
    discover_collective,
)
from hornbeam.counting.opening import open_in_memory
from hornbeam.errors import InputError
from hornbeam.learning.collective_problem import collective_problem
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.joint import Joint
from hornbeam.learning.newton import Newton
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.problem import fit_priors
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.weighing import Counts
from tests.support.ground_clauses import Conditioned
from tests.support.worlds import World, worlds

#: Composite Gauss-Legendre between 0, 1/2, 2/3, 3/4 and 1, where the hinges of repeats bend.
_X, _W = np.polynomial.legendre.leggauss(24)
ENDS = np.array([0, 0.25, 0.5, 2 / 3, 0.75, 0.8, 1])
NODES = np.concatenate([a + (b - a) * (_X + 1) / 2 for a, b in pairwise(ENDS)])
SHARES = np.concatenate([(b - a) * _W / 2 for a, b in pairwise(ENDS)])

Term = tuple[str, int, int]


@dataclass(frozen=True)
class Reference:
    """Terms of every clause, found by enumeration, and the density of a target by summation."""

    terms: list[Counter[Term]]
    y: Floats
    relaxation: Relaxation

    def statistic(self, k: int, i: int, y: Floats) -> Floats:
        """Potential of clause k, weight 1, as a function of target i."""
        p = 2 if self.relaxation is Relaxation.SQUARED else 1
        boolean = self.relaxation is Relaxation.BOOLEAN
        total = np.zeros(len(y))
        for (side, row, times), count in self.terms[k].items():
            if row == i:
                times = 1 if boolean else times  # a soft label is a mean of 0s and 1s
                form = 1 - y if side == "up" else np.maximum(times * y - (times - 1), 0)
                total += count * form**p
        return total

    def log_likelihood(self, weights: Floats, rows: list[int] | None = None) -> float:
        """Log pseudolikelihood of some targets."""
        boolean = self.relaxation is Relaxation.BOOLEAN
        nodes = np.array([0.0, 1.0]) if boolean else NODES
        shares = np.ones(2) if boolean else SHARES
        total = 0.0
        used = np.flatnonzero(weights > 0).tolist()
        for i in range(len(self.y)) if rows is None else rows:
            energy = sum((weights[k] * self.statistic(k, i, nodes) for k in used), 0 * nodes)
            at = sum(weights[k] * self.statistic(k, i, self.y[i : i + 1])[0] for k in used)
            total -= np.log(shares @ np.exp(-energy)) + at
        return float(total)


def both(world: World, relaxation: Relaxation, top: int = 6) -> tuple[CountProblem, Reference]:
    """The problem, and the same by the definition."""
    language = RuleLimits(3, 1, top)
    _, counted = discover_collective(
        open_in_memory(world.facts, 1), world.targets, language, own_facts_expected=True
    )
    problem = collective_problem(counted, world.targets, relaxation)
    ground = Conditioned(world.values, world.labels)
    terms = []
    for clause in problem.clauses:
        if clause.is_prior:
            mine = [row for (s, p, o), row in ground.row.items() if p == clause.target]
            terms.append(Counter({("down" if clause.negated else "up", row, 1): 1 for row in mine}))
        else:
            [part] = clause.body.parts
            terms.append(ground.terms(part.body, clause.negated, False))
    return problem, Reference(terms, world.targets.truth, relaxation)


RELAXATIONS = st.sampled_from(list(Relaxation))
WEIGHTS = st.floats(0, 2)


@given(worlds(max_facts=6), RELAXATIONS, st.data())
@settings(max_examples=12, deadline=None)
def test_likelihood_and_gradient(world: World, relaxation: Relaxation, data: st.DataObject) -> None:
    problem, reference = both(world, relaxation)
    n = len(problem.clauses)
    weights = np.array(data.draw(st.lists(WEIGHTS, min_size=n, max_size=n)))
    value = problem.log_likelihood(weights)
    assert value == pytest.approx(reference.log_likelihood(weights), rel=1e-9, abs=1e-9)
    gradient = problem.gradient(weights)
    step = 1e-5
    for k in range(0, n, 3):
        shifted = weights + step * (np.arange(n) == k)
        rise = reference.log_likelihood(shifted) - value
        scale = 1 + sum(reference.terms[k].values())
        assert gradient[k] == pytest.approx(-rise / step, rel=1e-3, abs=1e-3 * scale)


@pytest.mark.slow
@pytest.mark.parametrize("relaxation", list(Relaxation))
def test_newton_finds_the_optimum(relaxation: Relaxation) -> None:
    problem, reference = both(small_world(), relaxation, top=4)
    n = len(problem.clauses)
    ridge = np.full(n, 0.1)
    fit = Newton().fit(problem, np.full(n, 0.05), ridge)

    def loss(weights: Floats) -> float:
        penalty = 0.05 * float(weights.sum()) + 0.05 * float(weights @ weights)
        return penalty - reference.log_likelihood(np.maximum(weights, 0.0))

    found = minimize(loss, np.full(n, 0.3), bounds=[(0, None)] * n, method="L-BFGS-B")
    assert fit.loss <= found.fun + 1e-7
    assert loss(fit.weights) == pytest.approx(fit.loss, rel=1e-9)


def small_world() -> World:
    """Two target predicates, recursion both ways, targets that stand several times."""
    names = [f"e{i}" for i in range(4)]
    values = {(s, "p", o): 1_000_000 for s, o in pairwise(names)}
    values |= {(names[0], "p", names[3]): 1_000_000, (names[1], "p", names[1]): 1_000_000}
    true = {("e0", "e1"), ("e1", "e2"), ("e1", "e1"), ("e2", "e0")}
    labels = [
        ((s, t, o), 1_000_000 if ((s, o) in true) == (t == "t") else 0)
        for t in ("t", "u") for s in names[:3] for o in names[:3]
    ]  # fmt: skip
    return World(values, labels)


@pytest.mark.slow
@pytest.mark.parametrize("relaxation", list(Relaxation))
@pytest.mark.parametrize("inside", [False, True])
def test_every_ppll_weight_is_the_optimum_of_its_piece(
    relaxation: Relaxation, inside: bool
) -> None:
    problem, reference = both(small_world(), relaxation, top=4)
    fit = Ppll(prior_inside=inside, weight_variance=4.0).fit(problem)
    prior = np.where(problem.is_prior, fit_priors(problem, 0.25).weights, 0.0) * inside
    repeated = 0
    for k in np.flatnonzero(~problem.is_prior).tolist():
        rows = sorted({row for _, row, _ in reference.terms[k]})
        repeated += any(times > 1 for _, _, times in reference.terms[k])

        def minus(weight: float, k: int = k, rows: list[int] = rows) -> float:
            weights = prior + weight * (np.arange(len(prior)) == k)
            return weight**2 / 8 - reference.log_likelihood(weights, rows)

        found = minimize_scalar(minus, bounds=(0.0, 20.0), options={"xatol": 1e-6})
        best = float(found.x) if found.fun < minus(0.0) - 1e-12 else 0.0
        assert fit.weights[k] == pytest.approx(best, abs=2e-4)
        value = problem.pieces(prior if inside else None)(k).derivatives(0.7)[0]
        expected = 0.7**2 / 8 - minus(0.7)
        assert value == pytest.approx(expected, rel=1e-9)
    assert repeated > 1


@pytest.mark.parametrize("relaxation", list(Relaxation))
@pytest.mark.parametrize("learner", [Joint(folds=2, strengths=4), Ppll(), Greedy(max_rules=3)])
def test_every_learner_learns(relaxation: Relaxation, learner: Joint | Ppll | Greedy) -> None:
    world = small_world()
    language = RuleLimits(max_length=2, min_coverage=1)
    model = hb.learn(
        world.facts, world.targets, method=learner, language=language, relaxation=relaxation,
        collective="map",
    )  # fmt: skip
    assert model.semantics.collective
    assert model.semantics.counts is Counts.RAW
    assert model.rules


def test_other_counts_are_refused() -> None:
    world = small_world()
    for counts in (Counts.LOG, Counts.EXISTS):
        with pytest.raises(InputError, match='`counts="raw"`'):
            hb.learn(world.facts, world.targets, counts=counts, collective="map")


LABELS = small_world().targets


def statistics() -> CollectiveStatistics:
    """What learners learn from in the small world."""
    world = small_world()
    return discover_collective(open_in_memory(world.facts), world.targets, RuleLimits(3, 1, 8))[1]
