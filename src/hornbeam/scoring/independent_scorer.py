"""Scores in closed form: with observed bodies targets are independent of each other.

A_i and B_i add up the weighted counts of the rules for and against target i; its score is the mean
E[y_i] of its conditional density, or the MAP state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.arrays import Floats, Ids
from hornbeam.choices import Score
from hornbeam.counting.columns import Columns
from hornbeam.counting.engine import Engine
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.hinges import group_hinges, hinge_map, hinge_moments
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.learning.hinge_problem import HingeRows, hinge_rows, joined_rows
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Relaxation, RuleModel
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.rule_columns import RuleLayout, added, targets_of, weights_of


@dataclass(frozen=True, eq=False)
class IndependentScorer:
    """Scores every pair by its own counts; see `hornbeam.scoring.scorer.Scorer`."""

    model: RuleModel
    engine: Engine

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""
        return self.engine.locate(names)

    def scores(
        self, pairs: Targets, score: Score = Score.MEAN, progress: Progress = SILENT
    ) -> Floats:
        """Scores of the pairs in their order."""
        model = self.model
        counted = self.engine.count(pairs, model.bodies, model.language, progress=progress)
        return score_targets(model, counted, pairs, score)


def score_targets(
    model: RuleModel, statistics: Statistics, targets: Targets, score: Score = Score.MEAN
) -> Floats:
    """Score every target from the counts of the rules' bodies."""
    relaxation = model.semantics.relaxation
    if statistics.body_truth is not None and relaxation is not Relaxation.BOOLEAN:
        return _soft_scores(model, statistics, targets, score)
    up, down = strengths(model, statistics, targets)
    closed_form = score_map if score is Score.MAP else score_mean
    return closed_form(up, down, relaxation)


def strengths(model: RuleModel, statistics: Statistics, targets: Targets) -> tuple[Floats, Floats]:
    """Add up A and B of every target."""
    columns = Columns(statistics, model.semantics.relaxation)
    batches = RuleLayout.of(model, statistics.bodies).over(columns, targets)
    return added(batches, weights_of(model.rules), len(targets))


def _soft_scores(
    model: RuleModel, statistics: Statistics, targets: Targets, score: Score
) -> Floats:
    """Score where bodies are soft and targets continuous: every hinge has its own knee."""
    rows_of = {
        way: hinge_rows(statistics, way)
        for way in {model.counts_of(rule.clause).counts for rule in model.rules}
    }
    column = {key: j for j, key in enumerate(statistics.bodies)}
    parts = []
    for rule in model.rules:
        if rule.clause.is_prior:
            parts.append(HingeRows.of_prior(targets_of(rule.clause, targets)))
        else:
            counts = model.counts_of(rule.clause).counts
            body = column[_single(rule.clause, counts)]
            parts.append(rows_of[counts].part(statistics.column(body)))
    of_rule, (target, height, number) = joined_rows(parts)
    down = np.array([rule.clause.negated for rule in model.rules])[of_rule]
    hinges = group_hinges(target, of_rule, height, down, number, len(targets))
    weights = weights_of(model.rules)
    if score is Score.MAP:
        return hinge_map(hinges, weights, model.semantics.relaxation)
    return hinge_moments(hinges, weights, model.semantics.relaxation).mean


def _single(clause: Clause, counts: Counts) -> Body:
    """The body of a clause whose groundings are hinges of their own."""
    [part, *others] = clause.body.parts
    if others or part.threshold is not None or counts is Counts.SHARE:
        raise InputError(
            "conjunctions and shares over facts with truth values between 0 and 1 need the boolean "
            f'relaxation: use `relaxation="boolean"`, or round the facts (the rule is: {clause})'
        )
    return part.body
