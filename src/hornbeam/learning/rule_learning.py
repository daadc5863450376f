"""Rule learning: from statistics and labels, through a learner's weights, to a list of rules.

Counts may not fit in memory. Piecewise pseudolikelihood needs only histograms of (count, label),
which engines compute where the counts are. Other learners need whole columns. They get the counts
and shares of the bodies that the piecewise learner keeps. Bodies of largest gain come first, as
many as fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.columns import strengths_add_up, transformed
from hornbeam.counting.statistics import Histograms, Statistics
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning.body_clauses import model_counts
from hornbeam.learning.clause_columns import number_conjunctions
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.hinge_problem import HingeProblem, hinge_problem
from hornbeam.learning.learner import Learned, Learner
from hornbeam.learning.newton import Newton
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.problem import CountPiece, PieceLearner, Problem, fit_priors, gain
from hornbeam.learning.trace import CandidateOutcome, FitReport, Screening
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Candidates
from hornbeam.rules.clause import Clause
from hornbeam.rules.own_rules import NO_OWN_RULES, OwnRules
from hornbeam.rules.provenance import significant
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts


@dataclass(frozen=True)
class LearnedRules:
    """A model of learned rules, the report of its fit, and `chosen` as in `Learned`."""

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
    own: OwnRules = NO_OWN_RULES,
) -> Problem:
    """Make the learning problem: hinges if bodies are soft and targets continuous, else counts.

    It also has clauses with a number of one argument and the entity at the other.
    """
    problem: CountProblem | HingeProblem[Clause]
    if strengths_add_up(statistics, relaxation):
        both = number_conjunctions(statistics)
        problem = CountProblem.of(statistics, labels, ways, relaxation, symmetric, tied, own, both)
    else:
        problem = hinge_problem(statistics, labels, ways, relaxation, own)
    if not own.rules:
        return problem
    return replace(problem, fixed=own.fixed_weights(problem.clauses, problem.scales > 0.0))


def learn_rules(
    problem: Problem,
    learner: Learner,
    semantics: Semantics,
    refit: bool = False,
    progress: Progress = SILENT,
) -> LearnedRules:
    """Learn the weights of clauses, and make rules of the priors and clauses of positive weight.

    Where a clause represents its mirror image too, both become rules.
    """
    learned = learner.learn(problem, progress)
    return rules_of(learned, learner.weight_variance if refit else None, semantics)


def rules_of(learned: Learned, refit: float | None, semantics: Semantics) -> LearnedRules:
    """Make rules of learned weights; `refit` is the variance of weights for a refit, or None."""
    if refit is not None:
        learned = _refitted(learned, refit)
    problem, fit = learned.problem, learned.fit
    weights = significant(fit.weights)
    if problem.fixed is not None:  # whatever a learner makes of them
        weights = np.where(np.isnan(problem.fixed), weights, problem.fixed)
    kept = np.flatnonzero((weights > 0.0) | problem.is_base)
    rules = [Rule(float(weights[k]), problem.clauses[k]) for k in kept.tolist()]
    own = {problem.clauses[k] for k in np.flatnonzero(problem.is_own).tolist()}
    if problem.symmetric:
        rules = [
            Rule(rule.weight, clause)
            for rule in rules
            for clause in dict.fromkeys([rule.clause, rule.clause.mirror])
            if clause is rule.clause or clause not in own
        ]
    return LearnedRules(
        RuleModel(sorted_rules(rules, own), semantics),
        FitReport(fit.status.value, fit.iterations, fit.loss, learned.choice),
        learned.chosen,
    )


def _refitted(learned: Learned, weight_variance: float) -> Learned:
    """Refit the base and the clauses of positive weight, together and without an L1 penalty."""
    problem = learned.problem
    small = problem.only(np.flatnonzero((learned.fit.weights > 0.0) | problem.is_base))
    fit = Newton().fit(small, 0.0, 1.0 / weight_variance)
    return replace(learned, problem=small, fit=fit)


def sorted_rules(rules: Iterable[Rule], own: Collection[Clause] = frozenset()) -> tuple[Rule, ...]:
    """Sort rules by weight, largest first, and drop priors of weight 0 that are not `own` rules.

    Every target keeps a prior: where both have weight 0, `!t` stays.
    """
    rules = sorted(rules, key=lambda rule: -rule.weight)
    weighted = {rule.clause.target for rule in rules if rule.clause.is_prior and rule.weight > 0}
    return tuple(
        rule
        for rule in rules
        if not rule.clause.is_prior
        or rule.weight > 0
        or rule.clause in own
        or (rule.clause.negated and rule.clause.target not in weighted)
    )


def candidate_outcomes(
    candidates: Candidates,
    statistics: Statistics | None,
    model: RuleModel,
    learner: Learner,
    own: OwnRules = NO_OWN_RULES,
) -> tuple[CandidateOutcome, ...]:
    """List every candidate with its coverage, and with its weight or why it became no rule.

    Without `statistics`, candidates with the same counts as another one are not recognised.
    """
    kept: dict[Body, list[str]] = defaultdict(list)
    for rule in model.rules:
        side = " against the target" if rule.clause.negated else ""
        counted = "" if rule.clause.weighing is None else f" {rule.clause.weighing}"
        among = " in a conjunction" if len(rule.clause.body.parts) > 1 else ""
        for part in rule.clause.body.parts:
            kept[part.body].append(f"weight {rule.weight:.3g}{side}{counted}{among}")
    # a learner of single clauses drops no clause for having the same counts as another
    twins = dict[int, int]()
    if statistics is not None and learner.piecewise is None:
        twins = _twins(statistics, model.semantics.counts is Counts.EXISTS)
    rows = []
    for k, candidate in enumerate(candidates):
        outcome = " and ".join(kept[candidate.body])
        if not outcome and own.rules and not own.admits(Clause(candidate.body)):
            outcome = "an own rule says the same"
        if not outcome and k in twins:
            outcome = f"same counts on every pair as {candidates.text(twins[k])}"
        figures = (candidate.coverage, candidate.coverage_true, candidate.paths)
        became, why = bool(kept[candidate.body]), outcome or learner.dropped
        rows.append(CandidateOutcome(candidate.text, *figures, became, why))
    return tuple(rows)


def _twins(statistics: Statistics, exists: bool) -> dict[int, int]:
    """Map every body with the same counts as an earlier body to the index of that body.

    With `exists`, only the covered targets are compared, not the numbers of groundings.
    """
    first: dict[tuple[str, bytes, bytes, bytes], int] = {}
    twins = {}
    for k, body in enumerate(statistics.bodies):
        rows = statistics.column(k)
        column = (
            body.target,
            statistics.target[rows].tobytes(),
            b"" if exists else statistics.number[rows].tobytes(),
            b"" if statistics.body_truth is None else statistics.body_truth[rows].tobytes(),
        )
        if first.setdefault(column, k) != k:
            twins[k] = first[column]
    return twins


# --- counts that do not fit in memory ---------------------------------------------------------

#: A function that counts the given bodies with the engine.
Count = Callable[[Sequence[Body]], Statistics]


def learn_from_histograms(
    histograms: Histograms,
    labels: Targets,
    learner: Learner,
    counts: Sequence[Counts],
    semantics: Semantics,
    refit: bool,
    count: Count,
    progress: Progress = SILENT,
    own: OwnRules = NO_OWN_RULES,
) -> LearnedRules:
    """Learn from histograms by PPLL; other learners get the bodies that PPLL keeps and that fit."""
    # histograms have counts only: shares, where requested, are computed for the kept bodies
    screened_by = model_counts(counts)
    if learner.piecewise is not None and not refit:
        if Counts.SHARE in counts:
            raise InputError(
                f"the table of counts has {histograms.n_rows:,} rows, too many to hold, and "
                f"{learner.name} learns from histograms of counts, which have no shares: use "
                '`counts="log"`, fewer labels, a larger `min_coverage`, `top`, or more memory'
            )
        if own:
            raise InputError(
                f"the table of counts has {histograms.n_rows:,} rows, too many to hold, and "
                f"{learner.name} learns from histograms, which do not tell pairs with own rules or "
                'a guard apart: use `method="joint"`, fewer labels, a larger `min_coverage`, '
                "`top`, or more memory"
            )
        rules, _ = screen_bodies(
            histograms, labels, learner.piecewise, screened_by, semantics.relaxation, progress
        )
        return LearnedRules(
            RuleModel(rules, semantics), FitReport(histogram_groups=len(histograms.size))
        )
    piecewise = Ppll(weight_variance=learner.weight_variance)
    _, gains = screen_bodies(
        histograms, labels, piecewise, screened_by, Relaxation.LINEAR, progress
    )
    kept = _most_useful(histograms, gains)
    progress.message(
        f"The table of counts has {histograms.n_rows:,} rows, too many to hold: {learner.name} "
        f"learns from the {len(kept):,} of {len(histograms.bodies):,} bodies that ppll keeps."
    )
    bodies = [histograms.bodies[c] for c in kept]
    own = own.beside(bodies, labels.predicates)
    counted = count([*bodies, *sorted(own.extra, key=str)])

    problem = problem_of(counted, labels, counts, semantics.relaxation, own=own)
    learned = learn_rules(problem, learner, semantics, refit, progress)
    screening = Screening("ppll", len(histograms.bodies), len(kept))
    return replace(learned, fit=replace(learned.fit, screening=screening))


def screen_bodies(
    histograms: Histograms,
    labels: Targets,
    learner: PieceLearner,
    counts: Counts,
    relaxation: Relaxation,
    progress: Progress = SILENT,
) -> tuple[tuple[Rule, ...], Floats]:
    """Fit every clause alone on its histogram; returns the rules, and the gain of each body.

    The weights are equal to those that `Ppll.fit` learns from the counts themselves.
    """
    ridge = 1.0 / learner.weight_variance
    priors = CountProblem.of(Statistics.empty([], len(labels)), labels, [counts], relaxation)
    fitted = fit_priors(priors, ridge).weights
    inside = priors.strengths(fitted)
    first = {name: np.argmax(labels.predicate == p) for p, name in enumerate(labels.predicates)}
    prior_weights = significant(fitted).tolist()
    rules = [Rule(w, clause) for w, clause in zip(prior_weights, priors.clauses, strict=True)]
    gains = np.zeros(len(histograms.bodies))
    for c, body in enumerate(histograms.bodies):
        part = histograms.column(c)
        x = transformed(histograms.count[part], counts)
        y, size = histograms.label[part] / ONE, histograms.size[part].astype(np.float64)
        prior = inside[:, [first[body.target]]] if learner.prior_inside else np.zeros((2, 1))
        if counts is Counts.EXISTS:  # groups with the same label are merged
            y, place = np.unique(y, return_inverse=True)
            x, size = np.ones(len(y)), np.bincount(place, size).astype(np.float64)
        for side in (0, 1):
            both = np.zeros((2, len(x)))
            both[side] = x
            piece = CountPiece(both, y, size, prior, relaxation)
            weight, _ = learner.fit_piece(piece, len(body), ridge)
            if weight > 0.0:
                gains[c] = max(gains[c], gain(piece, weight, ridge))
                rules.append(Rule(float(significant([weight])[0]), Clause(body, bool(side))))
        if c % 64 == 63 or c + 1 == len(histograms.bodies):
            progress.advance(Ppll.stage, c + 1, len(histograms.bodies))
    return sorted_rules(rules), gains


def _most_useful(histograms: Histograms, gains: Floats) -> list[int]:
    """Indices of the bodies of largest positive gain, as many as fit in memory, ascending."""
    columns = map(histograms.column, range(len(histograms.bodies)))
    rows = np.array([int(histograms.size[column].sum()) for column in columns])
    useful = np.argsort(-gains, kind="stable")
    useful = useful[gains[useful] > 0.0]
    fitting = useful[np.cumsum(rows[useful]) <= histograms.max_rows]
    if not len(fitting):
        raise InputError(
            f"no body that ppll keeps has fewer than {histograms.max_rows:,} counts: use "
            '`method="ppll"`, fewer labels, or more memory'
        )
    return sorted(fitting.tolist())
