"""Explorers of models whose rules have weights: with independent pairs, and collective.

Groundings of independent pairs are counted once, so that an edit only computes scores. Pairs of a
collective model are inferred again after every edit: all listed pairs together, without their
labels, as if `hornbeam predict` had been given both listings. A collective model proposes no new
links, since further pairs would change all scores. Facts whose removal flips a decision are not
searched either, since removing them would also change all scores.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import open_engine, open_in_memory
from hornbeam.counting.snapshot_engine import SnapshotEngine, as_timed
from hornbeam.errors import InputError
from hornbeam.explaining.explainer import JointExplainer, open_joint_explainer
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.groundings import PathEnds, first_paths
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.known import joined
from hornbeam.facts.table import Facts, Targets
from hornbeam.model import Model
from hornbeam.ranking.queries import Direction
from hornbeam.rules.codes import path_codes, step_code
from hornbeam.scoring.entity_proposals import EntityProposer
from hornbeam.scoring.independent_scores import CachedCounts, RuleLayout
from hornbeam.scoring.model_checks import check_time, labels_for, pairs_for
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.rule_explorer import Evidence, RuleExplorer
from hornbeam.serve.shown_values import QueryAnswers, ShownLink, links_at

#: Maximum number of rows in the cache of entities' counts.
CACHED_ROWS = 5_000_000
#: Walks from an entity with more facts may take seconds.
MANY_FACTS = 1000


def open_rule_explorer(
    facts: Facts,
    model: Model,
    name: str = "model",
    *,
    other: Model | None = None,
    other_name: str = "other",
    labels: Targets | None = None,
    pairs: Targets | None = None,
    entity_names: EntityNames = NO_NAMES,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> RuleExplorer:
    """Open the explorer of a model, perhaps with a second model, on facts and listed pairs.

    Parameters
    ----------
    facts
        The evidence.
    model, name
        The model that visitors edit, and its name.
    other, other_name
        A second model to compare with.
    labels, pairs
        Labelled pairs, on which figures are computed, and further pairs to show. A collective model
        needs `pairs`, and scores all labelled and further pairs together.
    entity_names
        Names of entities on pages.
    """
    refuse_without_pairs([(model, name), (other, other_name)], pairs is not None)
    labels = None if labels is None else labels_for(model, labels)
    pairs = None if pairs is None else pairs_for(model, pairs)
    engine = _engine(facts, [model, *([] if other is None else [other])], threads)
    types = ArgumentTypes(engine.facts, entity_names, labels)
    types.check()
    search = EntitySearch.of(facts.entities, entity_names)
    evidence = Evidence(engine, search, types, labels, pairs)

    def opened(model: Model, name: str, other: RuleExplorer | None = None) -> RuleExplorer:
        kind = CollectiveExplorer if model.semantics.collective else IndependentExplorer
        return kind(evidence, model, name, other, progress)

    return opened(model, name, None if other is None else opened(other, other_name))


def _engine(facts: Facts, models: Sequence[Model], threads: int | None) -> MemoryEngine:
    """The engine over facts; of models over facts with a time, over what was true before now."""
    if not any(model.semantics.time for model in models):
        return open_in_memory(facts, threads)
    opened = open_engine(facts, threads=threads)
    for model in models:
        check_time(model, opened)
    timed = as_timed(opened, "the facts have no time")
    return SnapshotEngine.of(timed, [body for model in models for body in model.bodies])


def refuse_without_pairs(models: Sequence[tuple[Model | None, str]], pairs_given: bool) -> None:
    """Refuse collective models if no `pairs` are given."""
    for model, name in models:
        if model is not None and model.semantics.collective and not pairs_given:
            raise InputError(
                f"{name}: the model is collective: its scores depend on all pairs that are scored "
                "together; name them with `pairs`"
            )


class IndependentExplorer(RuleExplorer):
    """Scores every pair by its own counts."""

    forks = True

    @cached_property
    def explainer(self) -> IndependentExplainer:
        """The explainer of the unedited rules, which most visitors see."""
        return IndependentExplainer.of(self.model, self.engine)

    def prepare(self, progress: Progress) -> None:
        """Count the listed pairs."""
        model, bodies = self.model, self.model.bodies
        layout = RuleLayout.of(model, bodies)
        self._counted = [
            CachedCounts(
                model,
                layout,
                self.engine.count(listing, bodies, model.language, progress=progress),
                listing,
            )
            for listing in self.listings
        ]
        self._connected = BoundedCache[CachedCounts](
            CACHED_ROWS, lambda counted: counted.size + 100
        )

    @cached_property
    def _proposers(self) -> dict[tuple[str, Direction], EntityProposer]:
        """Proposers of answers, by target and direction: they walk from a query's known entity."""
        return {
            (target, asks): EntityProposer(
                self.model, self.engine, target, self.evidence.types, near
            )
            for target in self.model.targets
            for near, asks in enumerate((Direction.OBJECT, Direction.SUBJECT))
        }

    def warm_up(self, progress: Progress) -> None:
        """Compile what the first visitor would otherwise wait for."""
        atoms, graph = self.facts.binary, self.explainer.finder.graph
        with announced(progress):
            for target in self.model.targets if len(atoms) else ():
                subject, object_ = (int(column[0]) for column in atoms.arguments)
                names = self.facts.entities.take([subject, object_])
                self.ask(names[0], target, Direction.OBJECT, NO_EDITS, 1)
                # a pair that is a fact is counted in another way
                for end in names if target not in self.unary else names[:1]:
                    self.explain(names[0], target, end, NO_EDITS)
                steps = [step_code(int(atoms.predicate[0]))]
                first_paths(graph, steps, PathEnds(subject, object_, 0), False, 1)
                if not self.model.semantics.decides:
                    self.explainer.known.place(target, 0.0)

    def answers_at_once(self, name: str) -> bool:
        """Whether an entity has at most `MANY_FACTS` facts, at which its walks begin."""
        entity, offsets = self.facts.entities.index(name), self.engine.graph.forward.offsets
        return entity < 0 or int(offsets[entity + 1] - offsets[entity]) <= MANY_FACTS

    def computed_scores(self, edits: Edits) -> list[Floats]:
        """Scores of all listed pairs by their counts."""
        return [listing.scores(self.edited(edits)) for listing in self._counted]

    def ask(
        self, known: str, relation: str, asks: Direction, edits: Edits, top: int
    ) -> QueryAnswers:
        """The best new answers of one query, by walks from the known entity."""
        entity, relation = self.entity_id(known), self.relation_summary(relation).relation
        if relation in self.unary:
            return self._asked_of_itself(known, relation, asks, edits)
        proposer = self._proposers[relation, asks]
        counted = self._connected.get((entity, relation, asks), lambda: proposer.counted(entity))
        pairs, scores, total = proposer.best(counted, self.edited(edits), top)
        links = links_at(pairs, range(len(pairs)), scores, self.known_scores(edits))
        return QueryAnswers(relation, asks, known, total, links, counted.left_out)

    def _asked_of_itself(
        self, known: str, relation: str, asks: Direction, edits: Edits
    ) -> QueryAnswers:
        """A relation on one entity has the entity for its answer, if a rule is for it."""
        explained = self.explainer_under(edits).explain(known, relation, known, flip=False)
        place, new = explained.place, not self.is_fact(known, relation, known)
        link = ShownLink(known, relation, known, explained.score, place=place, unary=True)
        answers = [link] if new and explained.supporting else []
        return QueryAnswers(relation, asks, known, len(answers), answers)

    @cached_property
    def examples(self) -> list[str]:
        """The entities with most facts; entities in facts of the targets come first."""
        degree = np.diff(self.engine.graph.forward.offsets)
        linked = np.zeros(len(degree), dtype=np.bool_)
        for target in self.model.targets:
            for ends in self.facts.links(target):
                linked[ends] = True
        best = np.lexsort((np.arange(len(degree)), -degree, ~linked))
        return self.facts.entities.take(best[: self.EXAMPLES])

    def lacks(self, rule: int) -> bool:
        """Whether the facts lack a predicate or a constant of a rule's body."""
        predicates, entities = self.engine.predicates, self.facts.entities
        return any(
            path_codes(part.body, predicates) is None
            or (part.body.constant is not None and entities.index(part.body.constant) < 0)
            for part in self.model.rules[rule].clause.body.parts
        )


class CollectiveExplorer(RuleExplorer):
    """Scores all listed pairs together; an explanation holds other pairs at their MAP values."""

    collective = True
    #: An explainer takes some 50 bytes per fact, for the states of all pairs and their arrays.
    cached_explainers = 8

    @cached_property
    def explainer(self) -> JointExplainer:
        """The explainer of the pairs under the unedited rules."""
        return open_joint_explainer(self.model, self.engine, self._pairs)

    def prepare(self, progress: Progress) -> None:
        """Infer the listed pairs."""
        self._pairs = joined(self.listings)
        progress.message(f"Scoring {len(self._pairs):,} pairs together ...")
        self._infer(self.explainer)

    def warm_up(self, progress: Progress) -> None:
        """Explain one pair, which builds the arrays that all explanations share."""
        progress.message("Finding what links the pairs, rule by rule ...")
        with announced(progress):
            self.explain(*self._pairs.names_at(0), NO_EDITS)

    def is_ready(self, edits: Edits) -> bool:
        """Whether the pairs have been inferred under the edits."""
        return self.has_explainer(edits)

    def computed_scores(self, edits: Edits) -> list[Floats]:
        """Scores of all listed pairs in their MAP state."""
        ends = np.cumsum([len(listing) for listing in self.listings])[:-1]
        return np.split(cast("JointExplainer", self.explainer_under(edits)).pair_scores, ends)

    def reweighted(self, edits: Edits) -> JointExplainer:
        """The explainer of the edited rules; it infers now, in the slow queue, not when read."""
        explainer = self.explainer.reweighted(self.model.with_rules(self.edited(edits)))
        self._infer(explainer)
        return explainer

    def explain(
        self, subject: str, relation: str, object_: str, edits: Edits, *, flip: bool = False
    ) -> Explanation:
        """Explain the score of a listed pair; facts that flip its decision are not searched."""
        if flip:
            raise InputError(
                "The model is collective: without a fact the scores of all pairs change, so facts "
                "that flip one decision are not searched for."
            )
        return super().explain(subject, relation, object_, edits)

    def ask(
        self, known: str, relation: str, asks: Direction, edits: Edits, top: int
    ) -> QueryAnswers:
        """No answers: only listed pairs are scored."""
        self.entity_id(known)
        return QueryAnswers(self.relation_summary(relation).relation, asks, known, 0, ())

    @cached_property
    def examples(self) -> list[str]:
        """The entities with most listed pairs."""
        ends = np.concatenate([self._pairs.subject, self._pairs.object])
        best = np.argsort(-np.bincount(ends), kind="stable")
        return self._pairs.entities.take(best[: self.EXAMPLES])

    def lacks(self, rule: int) -> bool:
        """Whether a rule's body has a predicate that neither the facts nor the pairs have."""
        known = (self.facts.predicates, self._pairs.predicates)
        walked = self.model.rules[rule].clause.body.predicates - set(self.model.believed)
        return any(max(names.index(predicate) for names in known) < 0 for predicate in walked)

    def _infer(self, explainer: JointExplainer) -> None:
        """Infer the MAP state of all pairs, and record the time that this takes."""
        began = time.perf_counter()
        _ = explainer.pair_scores
        self.seconds = time.perf_counter() - began
