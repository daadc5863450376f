"""Explains pairs of a collective model of two steps: rules over facts and over beliefs.

Evidence from other pairs is among the groundings, as atoms `believed_t(a, b)` whose truth values
are the beliefs of the first step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from hornbeam.base.arrays import Floats
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.believed_pairs import BelievedPairs
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.explanation import PATHS, Explanation, not_among_pairs
from hornbeam.explaining.grounding_finder import FoundGroundings, GroundingFinder
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.explaining.known_scores import KnownCounts, KnownScores
from hornbeam.explaining.named_facts import Grounding
from hornbeam.explaining.scored_pair import one_pair
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import AnyBody, Body
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.two_step_scorer import first_step_beliefs, warn_of_other_pairs


@dataclass(frozen=True, eq=False)
class TwoStepExplainer:
    """Explains pairs that are scored together; see `Explainer`.

    `path_explainer` walks facts and beliefs as an independent explainer walks facts.
    """

    path_explainer: IndependentExplainer
    counted_beliefs: CountedBeliefs

    @classmethod
    def of(cls, model: RuleModel, engine: MemoryEngine, pairs: Targets) -> TwoStepExplainer:
        """Prepare to explain pairs that are scored together."""
        warn_of_other_pairs(model, pairs)
        beliefs, semantics = first_step_beliefs(model, engine, pairs), model.semantics
        finder = BeliefFinder(
            beliefs.over_beliefs, semantics.max_fanout, semantics.distinct_variables, beliefs
        )
        known = KnownCounts(model, engine.facts, beliefs)
        path_explainer = IndependentExplainer(model, finder, beliefs, model.clause_texts, known)
        return cls(path_explainer, CountedBeliefs(model, beliefs))

    def reweighted(self, model: RuleModel) -> TwoStepExplainer:
        """The same pairs under other weights of the same rules; beliefs stay."""
        return replace(self, path_explainer=replace(self.path_explainer, model=model))

    @property
    def model(self) -> RuleModel:
        """The rules."""
        return self.path_explainer.model

    @property
    def facts(self) -> Facts:
        """The evidence, without beliefs."""
        return self.counted_beliefs.beliefs.facts

    @property
    def known(self) -> KnownScores:
        """Scores of known links, next to the beliefs in the pairs."""
        return self.path_explainer.known

    @property
    def pair_scores(self) -> Floats:
        """Scores of all pairs, in their order."""
        return self.scores(self.counted_beliefs.beliefs.pairs, self.counted_beliefs.counted)

    def count(self, pairs: Targets, progress: Progress = SILENT) -> Statistics:
        """Count the groundings of every condition over facts and beliefs."""
        return self.path_explainer.count(pairs, progress)

    def scores(self, pairs: Targets, counted: Statistics) -> Floats:
        """Score pairs whose groundings have been counted."""
        return self.path_explainer.scores(pairs, counted)

    def groundings(
        self, body: AnyBody, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> tuple[Grounding, ...]:
        """List the first groundings of a body over facts and beliefs."""
        return self.path_explainer.groundings(body, subject, object_, limit, progress)

    def explain(
        self,
        subject: str,
        target: str,
        object_: str,
        *,
        paths: int = PATHS,
        flip: bool = True,
        progress: Progress = SILENT,
    ) -> Explanation:
        """Explain the score of target(subject, object), with the belief of the first step.

        `flip` is ignored: removing a fact would change the beliefs about other pairs.
        """
        alone = self.counted_beliefs.beliefs.belief_of(subject, target, object_)
        if alone is None:
            raise not_among_pairs(subject, target, object_)
        explained = self.path_explainer.explain(
            subject, target, object_, paths=paths, flip=False, progress=progress
        )
        unseen = self.facts.entities.missing([subject, object_])
        return replace(explained, alone=alone, unseen=unseen)


@dataclass(frozen=True, eq=False)
class CountedBeliefs:
    """Pairs that are scored together, and their counts, which do not depend on weights."""

    model: RuleModel
    beliefs: BelievedPairs

    @cached_property
    def counted(self) -> Statistics:
        """Counts of the rules' bodies for all pairs."""
        return self.beliefs.count(self.beliefs.pairs, self.model.bodies, self.model.language)


@dataclass(frozen=True, eq=False)
class BeliefFinder(GroundingFinder):
    """Finds groundings over facts and beliefs, those of a pair without its own atom."""

    beliefs: BelievedPairs

    def first(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> FoundGroundings:
        """The first groundings of a body; see `GroundingFinder.first`."""
        pair = self.beliefs.in_scored_direction(one_pair(subject, body.target, object_))
        subject, target, object_ = pair.names_at(0)
        own = self.beliefs.own_predicate(subject, target, object_)
        return super().first(body.with_target(own), subject, object_, limit, progress)
