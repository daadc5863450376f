"""Claims of the paper held against exact arithmetic, on fold 0 of every task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import hornbeam as hb
from hornbeam.base.choices import Relaxation
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.problem import fit_priors, maximise
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.rules.weighing import Counts
from paper import NO_PRIOR, STEPS, TOP, auc_and_ties, worlds

VARIANCES = (1.0, 1e2, 1e4, 1e6, 1e8)


@dataclass(frozen=True)
class Ascent:
    """Training PPLL (0 is the model without clauses) and test AUC of three ways to the weights."""

    task: str
    exact: tuple[float, float]
    ascending: tuple[float, float]
    as_printed: tuple[float, float]
    steps: tuple[float, ...]


def ascent(data: str, task: str) -> Ascent:
    """Fold 0 with the paper's settings, p = 1: the exact optimum, 150 steps up, 150 as printed."""
    _, facts, train, test_facts, test = next(worlds(data, task, 1))
    statistics = hb.counting.discover(facts, train, hb.RuleLimits(3, 10, TOP)).statistics
    assert statistics is not None
    problem = CountProblem.of(statistics, train, (Counts.RAW,), Relaxation.LINEAR)
    clauses = np.flatnonzero(~problem.is_prior).tolist()
    prior = fit_priors(problem, 1.0 / NO_PRIOR).weights
    pieces = {k: problem.pieces(None)(k) for k in clauses}

    def reached(weight_of: Callable[[int], float]) -> tuple[float, float]:
        weights = prior.copy()
        for k in clauses:
            weights[k] = weight_of(k)
        value = sum(pieces[k].derivatives(weights[k])[0] for k in clauses)
        pairs = zip(weights.tolist(), problem.clauses, strict=True)
        rules = tuple(Rule(weight, clause) for weight, clause in pairs if weight > 0)
        model = hb.Model(rules, Semantics(Counts.RAW, Relaxation.LINEAR))
        return value, auc_and_ties(test.positive, model.predict(test_facts, test)["score"])[0]

    def climbed(k: int, step: float, sign: float) -> float:
        weight = 0.0
        for _ in range(150):
            slope = pieces[k].derivatives(weight)[1]
            weight = max(0.0, weight + step * sign * slope)
        return weight

    up = [reached(lambda k, s=step: climbed(k, s, 1.0)) for step in STEPS]  # type: ignore[misc]
    best = int(np.argmax([value for value, _ in up]))
    down = reached(lambda k: climbed(k, STEPS[best], -1.0))
    exact = reached(lambda k: maximise(pieces[k], 1.0 / NO_PRIOR))
    return Ascent(task, exact, up[best], down, tuple(value for value, _ in up))


@dataclass(frozen=True)
class Runaway:
    """A clause that the training labels never violate, and its weight under priors of any width."""

    task: str
    clause: str
    coverage: int
    weights: tuple[tuple[float, float], ...]


def runaway(data: str, task: str) -> Runaway | None:
    """The widest clause of fold 0 that is never violated; weights for p = 1 and p = 2."""
    _, facts, train, _, _ = next(worlds(data, task, 1))
    found = hb.counting.discover(facts, train)
    safe = np.flatnonzero(found.candidates.coverage_true == found.candidates.coverage)
    if not len(safe) or found.statistics is None:
        return None
    row = int(safe[0])
    problems = [
        CountProblem.of(found.statistics, train, (Counts.RAW,), relaxation)
        for relaxation in (Relaxation.LINEAR, Relaxation.SQUARED)
    ]
    weights = tuple(
        tuple(maximise(p.pieces(None)(2 * row), 1.0 / variance) for p in problems)
        for variance in VARIANCES
    )
    candidate = found.candidates[row]
    return Runaway(task, candidate.text, candidate.coverage, weights)  # type: ignore[arg-type]
