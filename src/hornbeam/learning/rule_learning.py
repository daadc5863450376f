"""From statistics and labels, through a learner's weights, to a list of rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.base.choices import Relaxation
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.columns import strengths_add_up
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import Targets
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.hinge_problem import hinge_problem
from hornbeam.learning.learner import Learned, Learner
from hornbeam.learning.newton import Newton
from hornbeam.learning.problem import Problem
from hornbeam.learning.trace import FitReport
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts


@dataclass(frozen=True)
class LearnedRules:
    """Rules with their semantics, and how the fit went; `chosen` as in `Learned`."""

    model: RuleModel
    fit: FitReport
    chosen: Learner | None = field(default=None, compare=False)


def problem_of(
    statistics: Statistics,
    labels: Targets,
    ways: Sequence[Counts],
    relaxation: Relaxation,
    symmetric: bool = False,
    tied: bool = True,
) -> Problem:
    """The problem of statistics and labels: hinges if bodies are soft and targets continuous."""
    if strengths_add_up(statistics, relaxation):
        return CountProblem.of(statistics, labels, ways, relaxation, symmetric, tied)
    return hinge_problem(statistics, labels, ways, relaxation)


def learn_rules(
    problem: Problem,
    learner: Learner,
    semantics: Semantics,
    refit: bool = False,
    progress: Progress = SILENT,
) -> LearnedRules:
    """Learn the weights of clauses, and make rules of those with a positive weight.

    Where a rule represents its mirror image too, both are written.
    """
    learned = learner.learn(problem, progress)
    return rules_of(learned, learner.weight_variance if refit else None, semantics)


def rules_of(learned: Learned, refit: float | None, semantics: Semantics) -> LearnedRules:
    """Make rules of learned weights, refitted if `refit`, a variance of weights, is given."""
    if refit is not None:
        learned = _refitted(learned, refit)
    problem, fit = learned.problem, learned.fit
    kept = np.flatnonzero((fit.weights > 0.0) | problem.is_prior)
    rules = [Rule(float(fit.weights[k]), problem.clauses[k]) for k in kept.tolist()]
    if problem.symmetric:
        rules = [one for rule in rules for one in _with_mirror(rule)]
    return LearnedRules(
        RuleModel(sorted_rules(rules), semantics),
        FitReport(fit.status.value, fit.iterations, fit.loss, learned.choice),
        learned.chosen,
    )


def _with_mirror(rule: Rule) -> list[Rule]:
    """A rule and its mirror image, if different."""
    mirror = rule.clause.mirror
    return [rule] if mirror == rule.clause else [rule, Rule(rule.weight, mirror)]


def _refitted(learned: Learned, weight_variance: float) -> Learned:
    """Refit the kept clauses, together and without L1."""
    problem = learned.problem
    small = problem.only(np.flatnonzero((learned.fit.weights > 0.0) | problem.is_prior))
    n = len(small.clauses)
    fit = Newton().fit(small, np.zeros(n), np.full(n, 1.0 / weight_variance))
    return replace(learned, problem=small, fit=fit)


def sorted_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Sort rules by weight, largest first, and drop priors without weight.

    One prior per target stays: the one with a weight, or !t with weight 0 where neither has one.
    """
    rules = sorted(rules, key=lambda rule: -rule.weight)
    weighted = {rule.clause.target for rule in rules if rule.clause.is_prior and rule.weight > 0}
    return tuple(
        rule
        for rule in rules
        if not rule.clause.is_prior
        or rule.weight > 0
        or (rule.clause.negated and rule.clause.target not in weighted)
    )
