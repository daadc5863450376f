"""Weights of given rules, against the pseudolikelihood worked out by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hornbeam.base.choices import WeightMethod
from hornbeam.language.arithmetic_rules import PslRule
from hornbeam.language.rule_texts import parse_rules
from hornbeam.learning.hinge_problem import HingeProblem
from hornbeam.programs.grounding.ground import ground
from hornbeam.programs.program_likelihood import fit_weights, ground_problem, piece
from tests.support.brute_grounding import Ground, Key, World, ground_by_brute_force
from tests.support.ground_worlds import program_data, variables_of, worlds

RULES = [
    "1: Q(A, B) & R(B, C) -> T(A, C) ^2",
    "1: T(A, B) & T(B, C) -> T(A, C)",
    "1: T(A, B) & T(B, A) -> !S(A, B) ^2",
    "1: P(A) & T(A, B) -> U(A)",
    "1: !T(A, B)",
    "1: !S(A, B) ^2",
    "U(A) & T(A, A) -> S(A, A) .",
]


def potential(one: Ground, state: dict[Key, float]) -> float:
    """Distance of a ground rule of weight 1 from satisfaction, to its power."""
    return one.cost(state)


def log_likelihood(
    rules: list[PslRule], world: World, truth: dict[Key, float], weights: np.ndarray
) -> float:
    """sum_i log p(y_i | the others), every integral over [0, 1] by a fine composite rule."""
    nodes, areas = np.polynomial.legendre.leggauss(12)
    cells = np.linspace(0.0, 1.0, 61)
    grid = (cells[:-1, None] + np.diff(cells)[:, None] * (nodes + 1) / 2).ravel()
    area = (np.diff(cells)[:, None] * areas / 2).ravel()
    grounded = [
        (k, one)
        for k, rule in enumerate(rules)
        if rule.weight is not None
        for one in ground_by_brute_force(rule, world)
    ]
    total = 0.0
    for key in variables_of(world):
        energy = np.zeros(len(grid))
        observed = 0.0
        for k, one in grounded:
            if any(atom == key for _, atom in one.literals):
                observed += weights[k] * potential(one, truth)
                energy += weights[k] * np.array(
                    [potential(one, {**truth, key: float(y)}) for y in grid]
                )
        total += -observed - float(np.log(area @ np.exp(-energy)))
    return total


def problem_of(
    world: World, truth: dict[Key, float]
) -> tuple[list[PslRule], HingeProblem[PslRule]]:
    rules = parse_rules("\n".join(RULES), "test")
    closed = [name for name, is_closed in world.closed.items() if is_closed]
    grounded = ground(rules, program_data(world), closed, missing_is_false=True)
    y = np.array([truth[key] for key in variables_of(world)])
    return rules, ground_problem(rules, grounded.potentials, y)


def truth_of(world: World, seed: int) -> dict[Key, float]:
    """Truth values that meet knees only at 0 and 1, or multiples of 1/20 (the cells' ends)."""
    rng = np.random.default_rng(seed)
    return {key: float(rng.integers(21)) / 20 for key in variables_of(world)}


@pytest.mark.slow
@settings(max_examples=3)
@given(world=worlds(), seed=st.integers(0, 1000))
def test_the_pseudolikelihood_is_that_of_quadrature(world: World, seed: int) -> None:
    truth = truth_of(world, seed)
    rules, problem = problem_of(world, truth)
    weights = np.random.default_rng(seed).exponential(1.0, len(rules))
    weights[-1] = 0.0
    expected = log_likelihood(rules, world, truth, weights)
    assert problem.log_likelihood(weights) == pytest.approx(expected, abs=1e-6)


def planted() -> tuple[World, dict[Key, float]]:
    rng = np.random.default_rng(5)
    constants = ["a", "b", "c"]
    pairs = [(c, d) for c in constants for d in constants]
    observed: dict[Key, float] = {("Q", p): 1.0 for p in pairs if rng.random() < 0.6}
    observed |= {("R", p): 1.0 for p in pairs if rng.random() < 0.6} | {("P", ("a",)): 1.0}
    targets = {(n, p) for n in "ST" for p in pairs} | {("U", (c,)) for c in constants}
    closed = {"P": True, "Q": True, "R": True, "S": False, "T": False, "U": False}
    world = World(constants, observed, frozenset(targets), closed)

    def probability(name: str, pair: tuple[str, ...]) -> float:
        """High for T where Q and R lead there, low everywhere else."""
        led = any({("Q", (pair[0], c)), ("R", (c, pair[-1]))} <= observed.keys() for c in constants)
        return 0.8 if name == "T" and led else 0.2

    return world, {key: float(rng.random() < probability(*key)) for key in variables_of(world)}


@pytest.mark.parametrize("method", WeightMethod)
def test_no_other_weights_are_better(method: WeightMethod) -> None:
    """The optimum by a general optimiser on the same objective, one piece at a time for ppll."""
    world, truth = planted()
    rules, problem = problem_of(world, truth)
    found = fit_weights(problem, method, weight_variance=10.0)
    assert found[0] > 0.1, "the planted rule"
    assert found[-1] == 0.0, "a hard rule has no weight"
    parts = [problem] if method == "joint" else [piece(problem, k) for k in range(len(rules) - 1)]
    weights = [found] if method == "joint" else [found[[k]] for k in range(len(rules) - 1)]
    for part, mine in zip(parts, weights, strict=True):

        def loss(w: np.ndarray, part: HingeProblem[PslRule] = part) -> float:
            return float(w @ w) / 20.0 - part.log_likelihood(np.maximum(w, 0.0))

        best = minimize(loss, np.ones(len(mine)), bounds=[(0.0, None)] * len(mine), tol=1e-12)
        assert loss(mine) <= best.fun + 1e-7


def test_ppll_sees_only_targets_that_a_rule_grounds_with() -> None:
    world, truth = planted()
    _, problem = problem_of(world, truth)
    prior = piece(problem, 4)
    assert len(prior.y) == sum(name == "T" for name, _ in world.targets)
