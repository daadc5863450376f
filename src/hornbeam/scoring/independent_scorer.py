"""Scores in closed form: with observed bodies targets are independent of each other.

A_i and B_i add up the weighted counts of the rules for and against target i; its score is the mean
E[y_i] of its conditional density, or the MAP state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Floats, Ids
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.columns import Columns, strengths_add_up
from hornbeam.counting.engine import Engine
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.hinges import group_hinges, hinge_map, hinge_moments
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.learning.hinge_problem import HingeRows, clause_hinges, joined_rows
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts, Weighing
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
    if not strengths_add_up(statistics, relaxation):
        return _hinge_scores(model, statistics, targets, score)
    up, down = strengths(model, statistics, targets)
    closed_form = score_map if score is Score.MAP else score_mean
    return closed_form(up, down, relaxation)


def strengths(model: RuleModel, statistics: Statistics, targets: Targets) -> tuple[Floats, Floats]:
    """Add up A and B of every target."""
    columns = Columns(statistics, model.semantics.relaxation)
    batches = RuleLayout.of(model, statistics.bodies).over(columns, targets)
    return added(batches, weights_of(model.rules), len(targets))


def _hinge_scores(
    model: RuleModel, statistics: Statistics, targets: Targets, score: Score
) -> Floats:
    """Score where bodies are soft and targets continuous: every hinge has its own knee."""
    columns = Columns(statistics)
    of_rule, (target, height, number) = joined_rows(
        [
            rule_hinges(columns, rule.clause, model.counts_of(rule.clause), targets)
            for rule in model.rules
        ]
    )
    down = np.array([rule.clause.negated for rule in model.rules])[of_rule]
    hinges = group_hinges(target, of_rule, height, down, number, len(targets))
    weights = weights_of(model.rules)
    if score is Score.MAP:
        return hinge_map(hinges, weights, model.semantics.relaxation)
    return hinge_moments(hinges, weights, model.semantics.relaxation).mean


def rule_hinges(
    columns: Columns, clause: Clause, weighing: Weighing, targets: Targets
) -> HingeRows:
    """The hinges of a rule where bodies are soft and targets continuous.

    A share does not depend on the truth of its groundings, so it is one hinge of height 1.
    """
    if clause.is_prior:
        return HingeRows.of_prior(targets_of(clause, targets))
    if weighing.counts is Counts.SHARE:
        rows, x = columns.of(clause.body, weighing)
        return HingeRows.wholly_true(rows, x)
    return clause_hinges(columns.ground_clauses(clause.body), weighing.counts)
