"""The learners by name, and from their weights to a list of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hornbeam.counting.collective.collective_statistics import CollectiveStatistics
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.table import Targets
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.hinge_problem import Learnable, learnable
from hornbeam.learning.joint import Joint, deal
from hornbeam.learning.newton import Fit, Newton
from hornbeam.learning.ppll import Ppll
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.rule_model import Counts, Relaxation, Rule, Semantics

Learner = Joint | Ppll | Greedy

#: Learners by their name on the command line, with the relaxation each is best with.
LEARNERS: dict[str, tuple[Callable[[], Learner], Relaxation]] = {
    "joint": (Joint, Relaxation.BOOLEAN),
    "ppll": (Ppll, Relaxation.LINEAR),
    "greedy": (Greedy, Relaxation.LINEAR),
}


@dataclass(frozen=True)
class Learned:
    """Rules, what scoring needs besides, and how they were found (for `model.trace.json`)."""

    rules: tuple[Rule, ...]
    semantics: Semantics
    trace: dict[str, Any] = field(default_factory=dict)


def learn_rules(
    statistics: Statistics | CollectiveStatistics,
    labels: Targets,
    learner: Learner,
    counts: Counts | None,
    relaxation: Relaxation,
    semantics: Semantics,
    refit: bool = False,
    progress: Progress = SILENT,
) -> Learned:
    """Learn from statistics only; `counts` None lets the joint learner choose.

    From collective statistics the rules are those of a collective model, with raw counts.
    """
    collective = isinstance(statistics, CollectiveStatistics)
    if isinstance(learner, Joint):
        every = [Counts.RAW] if collective else list(Counts)
        options = [counts] if counts is not None else every
        problem, fit, trace = _joint(statistics, labels, learner, options, relaxation, progress)
        chosen = Counts(trace["counts"])
    else:
        chosen = counts or Counts.RAW
        problem = learnable(statistics, labels, chosen, relaxation)
        # a clause learned alone cannot crowd out its twin, so ppll keeps both
        problem = problem.distinct_columns() if isinstance(learner, Greedy) else problem
        fit = learner.fit(problem, progress)
        trace = {"counts": chosen.value}
    if refit:
        problem, fit = _refitted(problem, fit, learner.weight_variance)
    kept = np.flatnonzero((fit.weights > 0.0) | problem.is_prior)
    rules = [Rule(float(fit.weights[k]), problem.clauses[k]) for k in kept.tolist()]
    trace |= {"status": fit.status.value, "iterations": fit.iterations, "loss": fit.loss}
    return Learned(
        sorted_rules(rules),
        replace(semantics, counts=chosen, relaxation=relaxation, collective=collective),
        trace,
    )


def _joint(
    statistics: Statistics | CollectiveStatistics,
    labels: Targets,
    learner: Joint,
    options: list[Counts],
    relaxation: Relaxation,
    progress: Progress,
) -> tuple[Learnable, Fit, dict[str, Any]]:
    """Choose strength and counts by internal validation, then fit everything once more."""
    best: tuple[float, Counts, Learnable, Any] | None = None
    validation: dict[str, Any] = {}
    fold = None
    for counts in options:
        problem = learnable(statistics, labels, counts, relaxation).distinct_columns()
        # the same folds for every way of counting, so that their losses compare
        fold = deal(problem, learner.folds, learner.seed) if fold is None else fold
        strengths = learner.grid(problem)
        by_fold = learner.fold_losses(problem, strengths, fold, progress)
        losses = by_fold.sum(axis=1) / len(problem.y)
        at = int(np.argmin(losses))
        sizes = np.maximum(np.bincount(fold, minlength=learner.folds), 1)
        validation[counts.value] = {
            "strengths": strengths[: len(losses)].tolist(),
            "log_loss": losses.tolist(),
            "folds": (by_fold[at] / sizes).tolist(),
        }
        if best is None or losses[at] < best[0]:
            best = (float(losses[at]), counts, problem, strengths[: at + 1])
    if best is None:
        raise InputError("no way of counting to choose from")
    loss, counts, problem, strengths = best
    fits = learner.path(problem, strengths)
    trace = {
        "counts": counts.value,
        "strength": float(strengths[-1]),
        "validation_log_loss": loss,
        "validation": validation,
        "path": [
            {"strength": float(strength), "rules": int((fit.weights > 0).sum()), "loss": fit.loss}
            for strength, fit in zip(strengths, fits, strict=True)
        ],
    }
    return problem, fits[-1], trace


def _refitted(problem: Learnable, fit: Fit, weight_variance: float) -> tuple[Learnable, Fit]:
    """Fit the survivors once more, together and without L1."""
    small = problem.only(np.flatnonzero((fit.weights > 0.0) | problem.is_prior))
    n = len(small.clauses)
    return small, Newton().fit(small, np.zeros(n), np.full(n, 1.0 / weight_variance))


def sorted_rules(rules: list[Rule]) -> tuple[Rule, ...]:
    """Sort rules by weight, largest first, and drop idle priors.

    One prior a target stays: the one that pulls, or !t with weight 0 where neither does.
    """
    rules = sorted(rules, key=lambda rule: -rule.weight)
    leaning = {r.clause.target for r in rules if r.clause.is_prior and r.weight > 0}
    return tuple(
        rule
        for rule in rules
        if not rule.clause.is_prior
        or rule.weight > 0
        or (rule.clause.negated and rule.clause.target not in leaning)
    )
