"""What pages show: a model of either kind over facts, or a PSL program.

`RuleExplorer` shows a model whose rules have weights, `GraphExplorer` a model of a whole graph.
They differ in how links are scored, found and explained, and in how rules are listed. The rest of a
page is the same. `ProgramExplorer` shows the ground rules and inferred atoms of a program, on pages
of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from hornbeam.base.progress import Progress
from hornbeam.errors import UnknownNameError
from hornbeam.explaining.explanation import Explanation
from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.table import Facts, Targets
from hornbeam.ranking.queries import Direction
from hornbeam.serve.edits import Edits
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.shown_values import (
    KnownEdges,
    MissingFacts,
    QueryAnswers,
    RelationSummary,
    ShownDirection,
    ShownLink,
)
from hornbeam.serve.timelines import EventTimeline, timeline_about


class Explorer(ABC):
    """What the application shows; an explorer never changes.

    Parameters
    ----------
    name
        Name of the model or program.
    search
        Finds entities by typed text, and has their names.
    """

    #: Whether the pages are those of a program.
    is_program = False
    #: Whether pairs are scored together: then only listed pairs have scores, and edits take longer.
    collective = False
    #: Whether pages can be made in separate processes, which share no changing state.
    forks = False
    #: A caution about scores on every page with scores; None if scores decide what is true.
    caution: str | None = None
    #: Pairs that were listed for the explorer, with labels or without.
    listings: Sequence[Targets] = ()
    #: Relations on one entity: the subject of such a link is also its object.
    unary: Collection[str] = ()
    #: A second model to compare with.
    other: Explorer | None = None

    def __init__(self, name: str, search: EntitySearch) -> None:
        self.name = name
        self.search = search

    @property
    def entity_names(self) -> EntityNames:
        """Names of entities on pages."""
        return self.search.entity_names

    @property
    def fingerprint(self) -> str:
        """Identifier of the model in a cookie of edits."""
        return ""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The sizes of the data, at the foot of every page."""

    @abstractmethod
    def warm_up(self, progress: Progress) -> None:
        """Compile and build what visitors would wait for; pages also work without a warm-up."""


class ModelExplorer(Explorer):
    """A model over facts, as pages show it.

    `edits` are the edits of the visitor; a model of a whole graph has none. The methods with a body
    here are for models without edits, listed pairs and cautions.

    Parameters
    ----------
    facts
        The evidence.
    name
        Name of the model.
    search
        Finds entities by typed text, and has their names.
    """

    #: The word for a score on pages.
    score_name = "score"

    def __init__(self, facts: Facts, name: str, search: EntitySearch) -> None:
        super().__init__(name, search)
        self.facts = facts

    @property
    def summary(self) -> str:
        """The numbers of facts, of the times that they were true, and of entities."""
        events = self.facts.events
        times = "" if events is None else f", true {len(events):,} times"
        return f"{len(self.facts):,} facts{times} · {len(self.facts.entities):,} entities"

    @property
    @abstractmethod
    def cautions(self) -> Sequence[str]:
        """Cautions about the model on the start page."""

    @property
    @abstractmethod
    def relations(self) -> Sequence[RelationSummary]:
        """The relations that have rules."""

    @property
    @abstractmethod
    def examples(self) -> Sequence[str]:
        """Entities with many facts or pairs, as examples."""

    def is_ready(self, edits: Edits) -> bool:
        """Whether scores under the edits are available at once."""
        return True

    def answers_at_once(self, name: str) -> bool:
        """Whether the missing facts of an entity are found at once, without seconds of work."""
        return True

    def explains_at_once(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a link is explained at once, without seconds of work."""
        return True

    @abstractmethod
    def is_fact(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a link is among the facts."""

    @abstractmethod
    def known_edges(self, entity: int) -> Sequence[KnownEdges]:
        """Facts between an entity and other entities, by predicate and direction."""

    @abstractmethod
    def missing(self, name: str, edits: Edits) -> Sequence[MissingFacts]:
        """The best new links of an entity of the facts, by relation and direction."""

    @abstractmethod
    def ask(
        self, known: str, relation: str, asks: Direction, edits: Edits, top: int
    ) -> QueryAnswers:
        """The best new answers of one query about an entity of the facts."""

    def listed(self, entity: str, edits: Edits, top: int) -> tuple[Sequence[ShownLink], int]:
        """The `top` best listed pairs of an entity, and the number of all its listed pairs."""
        return [], 0

    @abstractmethod
    def explain(self, subject: str, relation: str, object_: str, edits: Edits) -> Explanation:
        """Explain the score of a link."""

    def timeline(self, entity: str, other: str | None = None) -> EventTimeline | None:
        """When the facts about an entity were true, or those about two; None without any."""
        ids = [self.facts.entities.index(name) for name in (entity, other) if name is not None]
        return None if min(ids) < 0 else timeline_about(self.facts, *ids)

    def counted_rules(self, relation: str) -> Sequence[ShownDirection]:
        """Rules of a relation in both directions; none for a model whose rules have weights."""
        return []

    def entity_id(self, name: str) -> int:
        """Id of an entity of the facts; an unknown name is an error."""
        entity = self.facts.entities.index(name)
        if entity < 0:
            raise UnknownNameError(f"No fact names “{name[:100]}”.")
        return entity

    def relation_summary(self, name: str) -> RelationSummary:
        """The summary of a relation by id or name; a relation without rules is an error."""
        summaries = {summary.relation: summary for summary in self.relations}
        found = summaries.get(self.entity_names.relation(name, summaries))
        if found is not None:
            return found
        raise UnknownNameError(f"The model has no rules for the relation “{name[:100]}”.")
