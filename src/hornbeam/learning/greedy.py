"""Greedy local search (the paper's algorithm 1), with the exact pseudolikelihood.

The search starts from the priors, with the user's own rules if there are any. Each round tries
every remaining clause, refits all weights of the model with it, and adds the clause of largest
gain. It stops when no clause gains more than the tolerance. The paper prints `current <- prev`, and
`or` for `and`: both are misprints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.choices import Relaxation
from hornbeam.base.progress import SILENT, Progress
from hornbeam.learning.learner import Learned
from hornbeam.learning.newton import Fit, FitStatus, Newton
from hornbeam.learning.problem import Problem, fit_priors
from hornbeam.learning.settings import Setting, check_settings, option
from hornbeam.rules.body import Kind
from hornbeam.rules.weighing import Counts


@dataclass(frozen=True)
class Greedy:
    """Settings of greedy local search.

    Parameters
    ----------
    max_rules
        Maximum number of clauses in addition to the prior and own rules (the paper's l).
    tolerance
        Least gain of the penalised log pseudolikelihood that another clause must bring.
    weight_variance
        Variance of the Gaussian prior on weights.
    length_penalty
        beta: a clause must gain more than beta times its length.
    iterations
        Maximum number of steps of an inner fit; the paper allows 15.
    inner_tolerance
        Tolerance of the inner fits (see `Newton`).
    """

    name: ClassVar[str] = "greedy"
    relaxation: ClassVar[Relaxation] = Relaxation.LINEAR
    bodies: ClassVar[tuple[Kind, ...]] = (Kind.PATH,)
    counts: ClassVar[tuple[Counts, ...]] = (Counts.RAW,)
    ties_mirrors: ClassVar[bool] = True
    dropped: ClassVar[str] = "gains too little in addition to the rules that are kept"
    stage: ClassVar[str] = "Greedy search"
    piecewise: ClassVar[None] = None

    max_rules: int = option("max_rules", 15)
    tolerance: float = option("tolerance")
    weight_variance: float = option("weight_variance")
    length_penalty: float = option("length_penalty")
    iterations: int = option("iterations", 15)
    inner_tolerance: float = Setting(1e-6, least=0.0).field()

    def __post_init__(self) -> None:
        check_settings(self)

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Choose clauses one at a time; of clauses with equal columns only the first is tried."""
        problem = problem.distinct_columns()
        return Learned(problem, self.fit(problem, progress))

    def fit(self, problem: Problem, progress: Progress = SILENT) -> Fit:
        """Choose clauses one at a time; clauses that are not chosen have weight 0."""
        current = fit_priors(problem, 1.0 / self.weight_variance)
        chosen = problem.is_base.copy()
        rounds = 0
        while rounds < self.max_rules:
            best, best_gain, best_clause = current, self.tolerance, -1
            # only clauses that can gain: the concave objective must rise at weight 0
            promising = ~chosen & (problem.gradient(current.weights) < 0)
            for k in np.flatnonzero(promising).tolist():
                tried = chosen.copy()
                tried[k] = True
                fit = self._refit(problem, tried, current.weights)
                gain = current.loss - fit.loss - self.length_penalty * problem.lengths[k]
                if gain > best_gain:
                    best, best_gain, best_clause = fit, gain, k
            if best_clause < 0:
                break
            chosen[best_clause] = True
            current = best
            rounds += 1
            progress.advance(self.stage, rounds, self.max_rules)
        if 0 < rounds < self.max_rules:
            progress.advance(self.stage, rounds, rounds)
        return Fit(current.weights, FitStatus.CONVERGED, current.loss, rounds)

    def _refit(self, problem: Problem, tried: Bools, start: Floats) -> Fit:
        """Refit the weights of the tried clauses; only their columns are read."""
        members = np.flatnonzero(tried)
        small = problem.only(members)
        newton = Newton(self.iterations, self.inner_tolerance)
        fit = newton.fit(small, 0.0, 1.0 / self.weight_variance, start[members])
        weights = np.zeros(len(problem.clauses))
        weights[members] = fit.weights
        return replace(fit, weights=weights)
