"""The explorer of a model whose rules have weights: read once, and edits only score again.

All visitors share it and it never changes; the changes of a visitor are given as `Edits`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, largest
from hornbeam.base.files import fingerprint
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.opening import open_in_memory
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.known_scores import CAUTION, KnownScores
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.table import Facts, Targets
from hornbeam.model import Model
from hornbeam.ranking.queries import Direction
from hornbeam.reporting.cautions import cautions
from hornbeam.reporting.evaluation import Evaluation, evaluate
from hornbeam.rules.model_file import model_text
from hornbeam.scoring.model_checks import check_arities
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.collective_pairs import CollectivePairs
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.entity_facts import KnownEdges, is_edge, known_edges
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.explorer import (
    MissingFacts,
    QueryAnswers,
    RelationSummary,
    ShownDirection,
    entity_id,
    relation_summary,
)
from hornbeam.serve.explorer_scorer import ExplorerScorer, NewLinks
from hornbeam.serve.independent_pairs import IndependentPairs
from hornbeam.serve.links import ShownLink, links_at, rows_of, unlisted

#: Maximum number of scores, and of figures, in the caches by edits.
CACHED_SCORES = 5_000_000
CACHED_FIGURES = 1000
#: Answers per query on the page of an entity, and entities that the start page names.
FIRST_ANSWERS, EXAMPLES = 20, 8
#: Number of facts of an entity from which its walks may take seconds.
MANY_FACTS = 1000


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model, its name, and its scorer."""

    name: str
    model: Model
    scorer: ExplorerScorer

    @cached_property
    def fingerprint(self) -> str:
        """The model's identifier in a cookie of edits."""
        return fingerprint(self.model.text)

    @cached_property
    def unedited(self) -> list[Floats]:
        """Scores by the model as it was loaded, listing by listing."""
        return self.scorer.scores(self.model.rules)

    @property
    def caution(self) -> str | None:
        """What every page with scores says of them once; None where the model decides."""
        return None if self.model.semantics.decides else CAUTION

    def known(self, edits: Edits = NO_EDITS) -> KnownScores | None:
        """Scores of known links, among which pages show scores; None where there is no caution."""
        if self.model.semantics.decides:
            return None
        return self.scorer.known(edits.scoring(self.model.rules))


class RuleExplorer:
    """One or two models on facts, with the pairs that were listed; see `Explorer`.

    Parameters
    ----------
    facts
        The evidence.
    model, name
        The model that visitors edit, and its name.
    other, other_name
        A second model to compare with.
    labels, pairs
        Labelled pairs, on which figures are computed, and further pairs to show; a collective
        model needs `pairs`, and scores all of these together.
    entity_names
        Names of entities on pages.
    """

    score_name = "score"

    def __init__(
        self,
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
    ) -> None:
        refuse_without_pairs([(model, name), (other, other_name)], pairs is not None)
        self.facts = facts
        self.engine = open_in_memory(facts, threads)
        self.entity_names = entity_names
        self.search = EntitySearch.of(facts.entities, entity_names)
        self.listings = _listings(labels, pairs)
        self.labels = labels
        self.types = ArgumentTypes(facts, entity_names, labels)
        self.served = self._serve(model, name, progress)
        self.other = None if other is None else self._serve(other, other_name, progress)
        self._scored: BoundedCache[list[Floats]] = BoundedCache(
            CACHED_SCORES, lambda x: sum(map(len, x))
        )
        self._evaluated: BoundedCache[Evaluation] = BoundedCache(CACHED_FIGURES, lambda _: 1)

    def warm_up(self, progress: Progress = SILENT) -> None:
        """Compile and build what visitors would otherwise wait for; pages work without it too."""
        self.scorer.warm_up(progress)

    def _serve(self, model: Model, name: str, progress: Progress) -> ServedModel:
        check_arities(model, self.engine)
        scorer: ExplorerScorer
        if model.semantics.collective:
            scorer = CollectivePairs(model, self.engine, self.listings, progress)
        else:
            scorer = IndependentPairs(model, self.engine, self.listings, self.types, progress)
        return ServedModel(name, model, scorer)

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.served.name

    @property
    def fingerprint(self) -> str:
        """Identifier of the model in a cookie of edits."""
        return self.served.fingerprint

    @property
    def caution(self) -> str | None:
        """What every page with scores says of them; None where the model decides."""
        return self.served.caution

    def known_scores(self, edits: Edits) -> KnownScores | None:
        """Scores of known links, among which pages show scores; None where there is no caution."""
        return self.served.known(edits)

    @property
    def cautions(self) -> list[str]:
        """What the start page says of the model."""
        return cautions(self.model, self.model.trace)

    @property
    def forks(self) -> bool:
        """Whether pairs are independent; a collective model caches the state of an edit."""
        return not self.scorer.collective

    @property
    def model(self) -> Model:
        """The model as it was loaded."""
        return self.served.model

    @property
    def scorer(self) -> ExplorerScorer:
        """The scorer of the model."""
        return self.served.scorer

    @cached_property
    def relations(self) -> list[RelationSummary]:
        """The targets of the model, with their facts and rules; priors count as rules."""
        binary, predicates = self.facts.binary.predicate, self.facts.predicates
        heads = Counter(rule.clause.target for rule in self.model.rules)
        return [
            RelationSummary(
                target, int(np.count_nonzero(binary == predicates.index(target))), heads[target]
            )
            for target in self.model.targets
        ]

    def counted_rules(self, relation: str) -> list[ShownDirection]:
        """None: rules have weights instead."""
        return []

    # -- edits ------------------------------------------------------------------------------------

    def is_ready(self, edits: Edits) -> bool:
        """Whether pages under these edits need no inference first."""
        return self.scorer.is_ready(edits.scoring(self.model.rules))

    def edited_text(self, edits: Edits) -> str:
        """The edited model as a file; rules that are off are left out."""
        kept = edits.kept(self.model.rules)
        if not kept:
            raise InputError("every rule is off, and a model has at least one: switch one on")
        return model_text(self.model.with_rules(kept))

    def scores(self, edits: Edits) -> list[Floats]:
        """Scores of the listed pairs under the edits, listing by listing."""
        return self._scored.get(
            edits.key, lambda: self.scorer.scores(edits.scoring(self.model.rules))
        )

    def figures(self, edits: Edits) -> Evaluation | None:
        """How well the scores fit the labels; None without labels."""
        if self.labels is None:
            return None
        labels = self.labels
        return self._evaluated.get(edits.key, lambda: evaluate(labels.truth, self.scores(edits)[0]))

    @cached_property
    def other_figures(self) -> Evaluation | None:
        """How well the other model's scores fit the labels."""
        if self.labels is None or self.other is None:
            return None
        return evaluate(self.labels.truth, self.other.unedited[0])

    def changed(self, edits: Edits, top: int) -> list[ShownLink]:
        """The listed pairs that the edits move most."""
        return self.furthest(self.scores(edits), self.served.unedited, top)

    def furthest(
        self, now: Sequence[Floats], before: Sequence[Floats], top: int
    ) -> list[ShownLink]:
        """The listed pairs whose scores are furthest apart."""
        found = []
        for listing, mine, theirs in zip(self.listings, now, before, strict=True):
            apart = np.abs(mine - theirs)
            moved = np.flatnonzero(apart)
            rows = moved[largest(apart[moved], top)]
            found += links_at(listing, rows, mine, theirs)
        return sorted(found, key=lambda link: -abs(link.change))[:top]

    def listed_page(
        self, edits: Edits, order: str, first: int, size: int
    ) -> tuple[list[ShownLink], int]:
        """Some of the listed pairs, highest score (or error) first, and how many there are."""
        scores = self.scores(edits)
        keys = [
            np.abs(mine - listing.truth)
            if order == "error" and listing.millionths is not None
            else mine - (order == "error")  # pairs without a label have no error: last
            for listing, mine in zip(self.listings, scores, strict=True)
        ]
        joint = np.concatenate([np.empty(0), *keys])
        chosen = largest(joint, min(first + size, len(joint)))[first:]
        n_labelled = len(keys[0]) if keys else 0
        links = []
        for row in chosen.tolist():
            which, at = (0, row) if row < n_labelled else (1, row - n_labelled)
            links += links_at(self.listings[which], [at], scores[which])
        return links, len(joint)

    # -- entities ---------------------------------------------------------------------------------

    @cached_property
    def examples(self) -> list[str]:
        """Entities with many facts or pairs."""
        return self.scorer.examples(EXAMPLES)

    def answers_at_once(self, name: str) -> bool:
        """Whether the walks from an entity do not begin at very many facts."""
        return self.n_facts_of(name) <= MANY_FACTS

    def explains_at_once(self, subject: str, relation: str, object_: str) -> bool:
        """True, for any pair."""
        return True

    def is_fact(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a pair is among the facts."""
        return is_edge(self.engine, subject, relation, object_)

    def n_facts_of(self, name: str) -> int:
        """Number of facts that link an entity with others."""
        entity = self.facts.entities.index(name)
        offsets = self.engine.graph.forward.offsets
        return int(offsets[entity + 1] - offsets[entity]) if entity >= 0 else 0

    def known_edges(self, entity: int) -> list[KnownEdges]:
        """Facts between an entity and others, by predicate and direction."""
        return known_edges(self.engine, entity)

    def new_links(
        self, entity: int, target: str, forward: bool, edits: Edits, top: int
    ) -> NewLinks:
        """Best new links of an entity as subject (`forward`) or object."""
        rules = edits.scoring(self.model.rules)
        return self.scorer.new_links(rules, entity, target, forward, top)

    def ask(
        self, known: str, relation: str, asks: Direction, edits: Edits, top: int
    ) -> QueryAnswers:
        """The best new answers of one query."""
        entity = entity_id(self.facts, known)
        relation_summary(self, relation)
        new = self.new_links(entity, relation, asks is Direction.OBJECT, edits, top)
        return QueryAnswers(relation, asks, known, new.total, new.links, new.left_out)

    def missing(self, name: str, edits: Edits) -> list[MissingFacts]:
        """New links of an entity by target and direction, those without any left out."""
        queries = ((target, asks) for target in self.model.targets for asks in Direction)
        answered = (self.ask(name, target, asks, edits, FIRST_ANSWERS) for target, asks in queries)
        return [MissingFacts(asked) for asked in answered if asked.answers]

    def listed(self, entity: str, edits: Edits, top: int) -> tuple[list[ShownLink], int]:
        """Listed pairs that name the entity, best first, and how many there are."""
        found, total = [], 0
        for listing, scores in zip(self.listings, self.scores(edits), strict=True):
            rows = rows_of(listing, entity)
            total += len(rows)
            best = rows[largest(scores[rows], top)]
            found += links_at(listing, best, scores)
        return sorted(found, key=lambda link: -link.score)[:top], total

    def explain(
        self, subject: str, target: str, object_: str, edits: Edits, *, flip: bool = False
    ) -> Explanation:
        """Why a pair scores as it does; reasons carry the numbers of the model's rules.

        With `flip` also what would flip the decision.
        """
        # rules that are off have weight 0: they give no reason, and the others keep their numbers
        rules = edits.scoring(self.model.rules)
        return self.scorer.explain(rules, subject, target, object_, flip=flip)

    def score_before(self, subject: str, target: str, object_: str) -> float:
        """Score of a pair without edits."""
        for listing, scores in zip(self.listings, self.served.unedited, strict=True):
            row = listing.row_of(subject, target, object_)
            if row is not None:
                return float(scores[row])
        return self.explain(subject, target, object_, NO_EDITS).score

    def label(self, subject: str, target: str, object_: str) -> float | None:
        """Label of a pair; None if it has none."""
        if self.labels is None:
            return None
        row = self.labels.row_of(subject, target, object_)
        return None if row is None else float(self.labels.truth[row])


def _listings(labels: Targets | None, pairs: Targets | None) -> list[Targets]:
    """The labelled pairs, then those that are not among them."""
    if labels is None or pairs is None:
        return [given for given in (labels, pairs) if given is not None]
    return [labels, unlisted(pairs, labels)]


def refuse_without_pairs(models: Sequence[tuple[Model | None, str]], pairs_given: bool) -> None:
    """Refuse collective models if no `pairs` are given."""
    for model, name in models:
        if model is not None and model.semantics.collective and not pairs_given:
            raise InputError(
                f"{name}: the model is collective: its scores depend on all pairs that are scored "
                "together; name them with `pairs`"
            )
