"""The protocol `Scorer`, and the one place that chooses the scorer of a model."""

from __future__ import annotations

from typing import Protocol

from hornbeam.base.arrays import Floats, Ids
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.target_edges import collective_engine, recursive_engine
from hornbeam.counting.engine import Engine
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.collective_scorer import CollectiveScorer
from hornbeam.scoring.independent_scorer import IndependentScorer
from hornbeam.scoring.two_step_scorer import TwoStepScorer


class Scorer(Protocol):
    """A model over evidence, ready to score pairs."""

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""

    def scores(
        self, pairs: Targets, score: Score = Score.MEAN, progress: Progress = SILENT
    ) -> Floats:
        """Scores of the pairs in their order."""


def open_scorer(model: RuleModel, engine: Engine) -> Scorer:
    """Choose the scorer of a model."""
    if model.semantics.two_steps:
        return TwoStepScorer(model, collective_engine(engine))
    if model.semantics.collective:
        return CollectiveScorer(model, recursive_engine(engine, model.semantics.max_fanout))
    return IndependentScorer(model, engine)
