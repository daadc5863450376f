"""The protocol `Scorer`, the one place that chooses the scorer of a model, and scores of two steps.

The first step of a collective model of two steps scores every pair alone. Its scores become
evidence as beliefs, and the second step scores every pair by its counts over facts and beliefs, in
closed form. The score of a pair depends on which other pairs are scored with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hornbeam.base.arrays import Floats, Ids
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.believed_pairs import BelievedPairs, pair_density
from hornbeam.counting.collective.target_edges import collective_engine, recursive_engine
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import warn
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.collective_scorer import CollectiveScorer
from hornbeam.scoring.independent_scorer import IndependentScorer, score_targets

#: Tolerances before a warning: factor of pairs per entity, difference in the share of lone pairs.
MAX_DENSITY_RATIO, MAX_SHARE_DIFFERENCE = 2.0, 0.15
#: Minimum number of pairs to estimate pairs per entity.
MIN_PAIRS = 20


class Scorer(Protocol):
    """A model over evidence, ready to score pairs."""

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""

    def scores(
        self, pairs: Targets, score: Score = Score.MEAN, progress: Progress = SILENT
    ) -> Floats:
        """Scores of the pairs in their order."""


@dataclass(frozen=True, eq=False)
class TwoStepScorer:
    """Scores all pairs of a request together by a collective model of two steps; see `Scorer`."""

    model: RuleModel
    engine: MemoryEngine

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""
        return self.engine.locate(names)

    def scores(
        self, pairs: Targets, score: Score = Score.MEAN, progress: Progress = SILENT
    ) -> Floats:
        """Scores of the pairs in their order."""
        warn_of_other_pairs(self.model, pairs)
        beliefs = first_step_beliefs(self.model, self.engine, pairs, progress)
        counted = beliefs.count(pairs, self.model.bodies, self.model.language, progress=progress)
        return score_targets(self.model, counted, pairs, score)


def first_step_beliefs(
    model: RuleModel, engine: MemoryEngine, pairs: Targets, progress: Progress = SILENT
) -> BelievedPairs:
    """Beliefs: the scores of all pairs by the first step."""
    means = IndependentScorer(model.first_step, engine).scores(pairs, progress=progress)
    return BelievedPairs(engine, pairs, means, model.symmetric)


def warn_of_other_pairs(model: RuleModel, pairs: Targets) -> None:
    """Warn where pairs are distributed differently from those of training."""
    trained = model.semantics.asked
    if trained is None or not len(pairs):
        return
    scored = pair_density(pairs)
    differences = [
        f"{given:.3g} pairs per {end} (in training {known:.3g})"
        for end, given, known in (
            ("subject", scored.per_subject, trained.per_subject),
            ("object", scored.per_object, trained.per_object),
        )
        if len(pairs) >= MIN_PAIRS
        and not known / MAX_DENSITY_RATIO <= given <= known * MAX_DENSITY_RATIO
    ]
    if abs(scored.alone - trained.alone) > MAX_SHARE_DIFFERENCE:
        share = f"{scored.alone:.0%} of the pairs share no end with another"
        differences.append(f"{share} (in training {trained.alone:.0%})")
    if differences:
        warn(
            f"these pairs are not distributed as those of training: {', '.join(differences)}. "
            "Rules about other pairs may mislead the model; a plain model scores every pair alone"
        )


def open_scorer(model: RuleModel, engine: Engine) -> Scorer:
    """Choose the scorer of a model."""
    if model.semantics.two_steps:
        return TwoStepScorer(model, collective_engine(engine))
    if model.semantics.collective:
        return CollectiveScorer(model, recursive_engine(engine, model.semantics.max_fanout))
    return IndependentScorer(model, engine)
