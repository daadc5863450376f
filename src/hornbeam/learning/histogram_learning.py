"""Learning from counts that do not fit in memory.

Piecewise pseudolikelihood needs no more than histograms of (count, label), which engines compute
where the counts are. `joint` and `greedy` need whole columns: they get counts and shares of the
bodies that the piecewise learner keeps, those of largest gain first, as many as fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.columns import transformed
from hornbeam.counting.statistics import Histograms, Statistics
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.learner import Learner
from hornbeam.learning.pieces import CountPiece, PieceLearner, gain
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.problem import fit_priors
from hornbeam.learning.rule_learning import LearnedRules, learn_rules, problem_of, sorted_rules
from hornbeam.learning.trace import FitReport, Screening
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts

#: Function that counts some bodies with the engine.
Count = Callable[[Sequence[Body]], Statistics]


@dataclass(frozen=True)
class Screened:
    """Result of the piecewise learner on histograms: rules, and the gain of each body."""

    rules: tuple[Rule, ...]
    gain: Floats


def learn_from_histograms(
    histograms: Histograms,
    labels: Targets,
    learner: Learner,
    counts: Sequence[Counts],
    semantics: Semantics,
    refit: bool,
    count: Count,
    progress: Progress = SILENT,
) -> LearnedRules:
    """Learn by PPLL, and by the other learners on the bodies that PPLL keeps and memory holds."""
    # histograms are of counts: shares, where requested, are computed for the kept bodies only
    screened_by = counts[0] if len(counts) == 1 and Counts.SHARE not in counts else Counts.RAW
    if learner.piecewise is not None and not refit:
        if Counts.SHARE in counts:
            raise InputError(
                f"the table of counts has {histograms.n_rows:,} rows, too many to hold, and "
                f"{learner.name} learns from histograms of counts, which have no shares: use "
                '`counts="log"`, fewer labels, a larger `min_coverage`, `top`, or more memory'
            )
        screened = screen_bodies(
            histograms, labels, learner.piecewise, screened_by, semantics.relaxation, progress
        )
        model = RuleModel(screened.rules, semantics)
        return LearnedRules(model, FitReport(histogram_groups=len(histograms.size)))
    piecewise = Ppll(weight_variance=learner.weight_variance)
    screened = screen_bodies(
        histograms, labels, piecewise, screened_by, Relaxation.LINEAR, progress
    )
    kept = _most_useful(histograms, screened)
    progress.message(
        f"The table of counts has {histograms.n_rows:,} rows, too many to hold: {learner.name} "
        f"learns from the {len(kept):,} of {len(histograms.bodies):,} bodies that ppll keeps."
    )
    counted = count([histograms.bodies[c] for c in kept])

    problem = problem_of(counted, labels, counts, semantics.relaxation)
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
) -> Screened:
    """Fit every clause alone on its histogram; weights are those of `Ppll.fit` on the counts."""
    ridge = 1.0 / learner.weight_variance
    priors = CountProblem.of(Statistics.empty([], len(labels)), labels, [counts], relaxation)
    fitted = fit_priors(priors, ridge).weights
    inside = priors.strengths(fitted)
    first = {name: np.argmax(labels.predicate == p) for p, name in enumerate(labels.predicates)}
    rules = [Rule(float(w), clause) for w, clause in zip(fitted, priors.clauses, strict=True)]
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
                rules.append(Rule(weight, Clause(body, bool(side))))
        if c % 64 == 63 or c + 1 == len(histograms.bodies):
            progress.advance(Ppll.stage, c + 1, len(histograms.bodies))
    return Screened(sorted_rules(rules), gains)


def _most_useful(histograms: Histograms, screened: Screened) -> list[int]:
    """The bodies of largest positive gain, as many as fit in memory, in their original order."""
    columns = map(histograms.column, range(len(histograms.bodies)))
    rows = np.array([int(histograms.size[column].sum()) for column in columns])
    useful = np.argsort(-screened.gain, kind="stable")
    useful = useful[screened.gain[useful] > 0.0]
    fitting = useful[np.cumsum(rows[useful]) <= histograms.max_rows]
    if not len(fitting):
        raise InputError(
            f"no body that ppll keeps has fewer than {histograms.max_rows:,} counts: use "
            '`method="ppll"`, fewer labels, or more memory'
        )
    return sorted(fitting.tolist())
