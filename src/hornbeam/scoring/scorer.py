"""What scores pairs, and the one place that chooses it for a model."""

from __future__ import annotations

from typing import Protocol

from hornbeam.arrays import Floats, Ids
from hornbeam.choices import Score
from hornbeam.counting.collective.target_edges import collective_evidence, collective_facts
from hornbeam.counting.opening import Evidence, open_engine
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.progress import SILENT, Progress
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


def open_scorer(
    model: RuleModel, facts: Evidence, engine: str = "memory", threads: int | None = None
) -> Scorer:
    """Choose the scorer of a model."""
    if model.semantics.two_steps:
        return TwoStepScorer(model, collective_evidence(facts, engine), threads)
    if model.semantics.collective:
        known = collective_facts(facts, model.semantics.max_fanout, engine)
        return CollectiveScorer(model, known, threads)
    return IndependentScorer(model, open_engine(facts, engine, threads))
