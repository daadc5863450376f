"""The explorer of a model whose rules have weights: after an edit, only scores are recomputed.

All visitors share the explorer, which never changes; a visitor's changes are given as `Edits`.
`hornbeam.serve.pair_explorers` has the two ways of scoring pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, largest, run_starts
from hornbeam.base.files import fingerprint
from hornbeam.base.progress import Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.explaining.explainer import RuleExplainer
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.known_scores import CAUTION, KnownScores, cautions
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.atom_keys import atom_keys
from hornbeam.facts.table import Targets
from hornbeam.language.time_brackets import EVER, NO_TIME
from hornbeam.model import Model
from hornbeam.ranking.fact_ranker import RuleRanker
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.rules.codes import is_inverse, predicate_of
from hornbeam.rules.model_file import model_text
from hornbeam.rules.rule_model import Rule
from hornbeam.scoring.evaluation import Evaluation, evaluate
from hornbeam.scoring.model_checks import check_arities
from hornbeam.scoring.scored_links import RuleScorer
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.explorer import ModelExplorer
from hornbeam.serve.shown_values import (
    KnownEdges,
    MissingFacts,
    RelationSummary,
    ShownLink,
    links_at,
)

#: Maximum number of scores, and of figures, in the caches by edits.
CACHED_SCORES = 5_000_000
CACHED_FIGURES = 1000
#: Answers per query on the page of an entity, and paths per rule that are shown and drawn.
FIRST_ANSWERS, PATHS_SHOWN = 20, 12


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data that two compared models share: facts, listed pairs, and names of entities."""

    engine: MemoryEngine
    search: EntitySearch
    types: ArgumentTypes
    labels: Targets | None
    pairs: Targets | None

    @cached_property
    def listings(self) -> list[Targets]:
        """The labelled pairs, and the further pairs that are not labelled."""
        labels, pairs = self.labels, self.pairs
        if labels is None or pairs is None:
            return [listing for listing in (labels, pairs) if listing is not None]
        return [labels, _unlisted(pairs, labels)]


class RuleExplorer(ModelExplorer):
    """A model on facts, with listed pairs, and perhaps another model to compare with."""

    #: Number of entities that the start page names.
    EXAMPLES = 8
    #: Number of cached explainers under edited weights; all of them share the large arrays.
    cached_explainers = 32
    #: Approximate seconds to score under other weights; 0 if that is not noticeable.
    seconds = 0.0

    def __init__(
        self,
        evidence: Evidence,
        model: Model,
        name: str,
        other: RuleExplorer | None,
        progress: Progress,
    ) -> None:
        super().__init__(evidence.engine.facts, name, evidence.search)
        check_arities(model, evidence.engine)
        self.evidence = evidence
        self.engine = evidence.engine
        self.labels = evidence.labels
        self.listings = evidence.listings
        self.model = model
        self.unary = {name for name, arity in model.target_arities.items() if arity == 1}
        self.other: RuleExplorer | None = other
        self.caution = None if model.semantics.decides else CAUTION
        self._scored = BoundedCache[list[Floats]](CACHED_SCORES, lambda x: sum(map(len, x)))
        self._evaluated = BoundedCache[Evaluation](CACHED_FIGURES)
        self._explainers = BoundedCache[RuleExplainer](self.cached_explainers)
        self.prepare(progress)

    # -- for the JSON service ---------------------------------------------------------------------

    @cached_property
    def scorer(self) -> RuleScorer:
        """The model over the facts, ready to score pairs."""
        return RuleScorer(self.model, self.engine)

    @cached_property
    def ranker(self) -> RuleRanker:
        """The model over the facts, ready to answer queries; a collective one ranks none."""
        return RuleRanker.of(self.model, self.engine)

    # -- what independent and collective pairs differ in ------------------------------------------

    @property
    @abstractmethod
    def explainer(self) -> RuleExplainer:
        """The explainer of the unedited rules."""

    @abstractmethod
    def prepare(self, progress: Progress) -> None:
        """Count or infer the listed pairs."""

    @abstractmethod
    def computed_scores(self, edits: Edits) -> list[Floats]:
        """Scores of all listed pairs under edits, listing by listing."""

    @abstractmethod
    def lacks(self, rule: int) -> bool:
        """Whether a rule has no grounding because the facts lack a predicate or constant of it."""

    def reweighted(self, edits: Edits) -> RuleExplainer:
        """A new explainer of the edited rules, which shares all counts."""
        return self.explainer.reweighted(self.model.with_rules(self.edited(edits)))

    # -- the model --------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """Identifier of the model in a cookie of edits."""
        return fingerprint(self.model.text)

    @property
    def cautions(self) -> list[str]:
        """Cautions about the model on the start page."""
        return cautions(self.model, self.model.trace)

    @cached_property
    def relations(self) -> list[RelationSummary]:
        """The targets of the model, with their facts and rules; priors count as rules."""
        heads = Counter(rule.clause.target for rule in self.model.rules)
        return [
            RelationSummary(target, len(self.facts.links(target)[0]), heads[target])
            for target in self.model.targets
        ]

    # -- edits ------------------------------------------------------------------------------------

    def edited(self, edits: Edits) -> list[Rule]:
        """All rules with their edited weights.

        Rules that are off have weight 0: they give no reason, and other rules keep their numbers.
        """
        return edits.scoring(self.model.rules)

    def edited_text(self, edits: Edits) -> str:
        """The text of the edited model's file; rules that are off are left out."""
        kept = edits.kept(self.model.rules)
        if not kept:
            raise InputError("every rule is off, and a model has at least one: switch one on")
        return model_text(self.model.with_rules(kept))

    def explainer_under(self, edits: Edits) -> RuleExplainer:
        """The explainer of the edited rules, cached by their weights."""
        weights = self._edited_weights(edits)
        if weights is None:
            return self.explainer
        return self._explainers.get(weights, lambda: self.reweighted(edits))

    def has_explainer(self, edits: Edits) -> bool:
        """Whether the explainer under edits is available at once."""
        weights = self._edited_weights(edits)
        return weights is None or weights in self._explainers

    def _edited_weights(self, edits: Edits) -> tuple[float, ...] | None:
        """The weights of all edited rules; None if all weights are as learned."""
        learned, weights = (
            tuple(rule.weight for rule in rules) for rules in (self.model.rules, self.edited(edits))
        )
        return None if weights == learned else weights

    def known_scores(self, edits: Edits) -> KnownScores | None:
        """Scores of known links, among which other scores get places; None if scores decide."""
        return None if self.model.semantics.decides else self.explainer_under(edits).known

    # -- listed pairs -----------------------------------------------------------------------------

    @cached_property
    def unedited(self) -> list[Floats]:
        """Scores by the model as it was loaded, listing by listing."""
        return self.computed_scores(NO_EDITS)

    def scores(self, edits: Edits) -> list[Floats]:
        """Scores of the listed pairs under the edits, listing by listing."""
        if not edits:
            return self.unedited
        return self._scored.get(edits.key, lambda: self.computed_scores(edits))

    def figures(self, edits: Edits) -> Evaluation | None:
        """How well the scores fit the labels; None without labels."""
        if self.labels is None:
            return None
        truth = self.labels.truth
        return self._evaluated.get(edits.key, lambda: evaluate(truth, self.scores(edits)[0]))

    def changed(self, edits: Edits, top: int) -> list[ShownLink]:
        """The listed pairs whose scores the edits change most."""
        return self.furthest(edits, self, top)

    def furthest(self, edits: Edits, other: RuleExplorer, top: int) -> list[ShownLink]:
        """The listed pairs whose scores under the edits differ most from another model's scores."""
        links, known = list[ShownLink](), (self.known_scores(edits), other.known_scores(NO_EDITS))
        scores = zip(self.listings, self.scores(edits), other.unedited, strict=True)
        for listing, mine, theirs in scores:
            apart = np.abs(mine - theirs)
            moved = np.flatnonzero(apart)
            rows = moved[largest(apart[moved], top)]
            links += links_at(listing, rows, mine, known[0], theirs, known[1])
        return sorted(links, key=lambda link: -abs(link.change))[:top]

    def listed_page(
        self, edits: Edits, order: str, first: int, size: int
    ) -> tuple[list[ShownLink], int]:
        """A page of the listed pairs, highest score (or error) first, and the number of pairs."""
        scores, known = self.scores(edits), self.known_scores(edits)
        keys = [
            np.abs(mine - listing.truth)
            if order == "error" and listing.millionths is not None
            else mine - (order == "error")  # pairs without a label come last: they have no error
            for listing, mine in zip(self.listings, scores, strict=True)
        ]
        joint = np.concatenate([np.empty(0), *keys])
        chosen = largest(joint, min(first + size, len(joint)))[first:]
        n_labelled = len(keys[0]) if keys else 0
        links = []
        for row in chosen.tolist():
            which, at = (0, row) if row < n_labelled else (1, row - n_labelled)
            links += links_at(self.listings[which], [at], scores[which], known)
        return links, len(joint)

    def listed(self, entity: str, edits: Edits, top: int) -> tuple[list[ShownLink], int]:
        """The `top` best listed pairs of an entity, and the number of all its listed pairs."""
        links, total, known = list[ShownLink](), 0, self.known_scores(edits)
        for listing, scores in zip(self.listings, self.scores(edits), strict=True):
            i = listing.entities.index(entity)
            rows = np.flatnonzero((listing.subject == i) | (listing.object == i))
            total += len(rows)
            links += links_at(listing, rows[largest(scores[rows], top)], scores, known)
        return sorted(links, key=lambda link: -link.score)[:top], total

    def label(self, subject: str, target: str, object_: str) -> float | None:
        """Label of a pair; None if it has none."""
        if self.labels is None:
            return None
        row = self.labels.row_of(subject, target, object_)
        return None if row is None else float(self.labels.truth[row])

    # -- entities and links -----------------------------------------------------------------------

    def is_fact(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a pair is among the facts."""
        return self.facts.has(subject, relation, object_)

    def known_edges(self, entity: int) -> list[KnownEdges]:
        """Facts between an entity and one other entity, by predicate and direction."""
        adjacency, edges = self.engine.graph.forward, list[KnownEdges]()
        low, high = adjacency.offsets[entity : entity + 2].tolist()
        own, others = adjacency.code[low:high], adjacency.neighbour[low:high]
        starts = run_starts(own)
        bounds = [*starts.tolist(), high - low]
        for code, first, last in zip(own[starts].tolist(), bounds, bounds[1:], strict=False):
            step = Step.along(self.engine.predicates[predicate_of(code)], is_inverse(code))
            if step.arity == 2 and step.when in (NO_TIME, EVER):
                edges.append(KnownEdges(step.predicate, step.inverse, others[first:last]))
        return edges

    def missing(self, name: str, edits: Edits) -> list[MissingFacts]:
        """New links of an entity by target and direction; queries without answers are left out."""
        queries = (
            (target, asks)
            for target in self.model.targets
            for asks in Direction
            if target not in self.unary or asks is Direction.OBJECT
        )
        answered = (self.ask(name, target, asks, edits, FIRST_ANSWERS) for target, asks in queries)
        return [MissingFacts(asked) for asked in answered if asked.answers]

    def explain(
        self, subject: str, relation: str, object_: str, edits: Edits, *, flip: bool = False
    ) -> Explanation:
        """Explain the score of a pair; reasons have the numbers of the model's rules.

        With `flip`, the explanation has facts that would flip the decision, and no paths. That
        takes seconds on large facts.
        """
        paths = 0 if flip else PATHS_SHOWN
        explainer = self.explainer_under(edits)
        return explainer.explain(subject, relation, object_, paths=paths, flip=flip)

    def score_before(self, subject: str, target: str, object_: str) -> float:
        """Score of a pair without edits."""
        for listing, scores in zip(self.listings, self.unedited, strict=True):
            row = listing.row_of(subject, target, object_)
            if row is not None:
                return float(scores[row])
        return self.explain(subject, target, object_, NO_EDITS).score


def _unlisted(pairs: Targets, listed: Targets) -> Targets:
    """The pairs that are not among the listed pairs."""
    to_entity = pairs.entities.translate(listed.entities)
    predicate = pairs.predicates.translate(listed.predicates)[pairs.predicate]
    subject, object_ = to_entity[pairs.subject], to_entity[pairs.object]
    known = (predicate >= 0) & (subject >= 0) & (object_ >= 0)
    sizes = len(listed.entities), len(listed.predicates)
    keys = atom_keys(subject, predicate, object_, *sizes)
    listed_keys = atom_keys(listed.subject, listed.predicate, listed.object, *sizes)
    return pairs.select(~(known & np.isin(keys, listed_keys)))
