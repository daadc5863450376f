"""What pages need of an explorer, whichever kind of model it shows.

`RuleExplorer` shows a model whose rules have weights, `GraphExplorer` one of a whole graph. They
differ in how links are scored, found and explained, and in how rules are listed; everything else
on a page is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hornbeam.base.progress import Progress
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.known_scores import KnownScores
from hornbeam.facts.table import Facts, Targets
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_words import Words
from hornbeam.serve.edits import Edits
from hornbeam.serve.entity_facts import EdgeSource
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.links import ShownLink


class UnknownNameError(InputError):
    """No entity, relation or page has the requested name."""


@dataclass(frozen=True)
class QueryAnswers:
    """A query, how many answers rules propose for it, and the best of them.

    `left_out` is the number of further answers that were not scored.
    """

    relation: str
    asks: Direction
    known: str
    candidates: int
    answers: Sequence[ShownLink]
    left_out: int = 0


@dataclass(frozen=True)
class MissingFacts:
    """Facts that an entity may lack in one relation and direction.

    `expected` is how much the query makes sense: 1 if the entity has such facts already, or rules
    were learned for this relation alone; else the share of similar entities that have some.
    """

    asked: QueryAnswers
    expected: float = 1.0

    @property
    def best_score(self) -> float:
        """Score of the first answer, times how much the query makes sense."""
        answers = self.asked.answers
        return self.expected * answers[0].score if answers else 0.0


@dataclass(frozen=True)
class ShownRule:
    """A rule as text and in words, its confidence, and its hits among all predictions."""

    rule: str
    words: Words
    confidence: float
    hits: int
    predicted: int


@dataclass(frozen=True)
class ShownDirection:
    """Rules of one direction of a relation: paths, and with constants; and how many paths."""

    asks: Direction
    queries: int
    total: int
    paths: tuple[ShownRule, ...]
    constants: tuple[ShownRule, ...]


@dataclass(frozen=True)
class RelationSummary:
    """A relation that has rules: its numbers of facts and of rules, and the most confident rule."""

    relation: str
    facts: int
    rules: int
    best: ShownRule | None = None


class Explorer(EdgeSource, Protocol):
    """A model over facts, as pages show it; nothing of it changes.

    `edits` are those of the visitor; a model of a whole graph has none.
    """

    @property
    def name(self) -> str:
        """Name of the model."""

    @property
    def search(self) -> EntitySearch:
        """Finds entities by typed text."""

    @property
    def listings(self) -> Sequence[Targets]:
        """Pairs that were listed for the explorer, with labels or without."""

    @property
    def score_name(self) -> str:
        """What a score is called."""

    @property
    def caution(self) -> str | None:
        """What every page with scores says of them; None where scores decide."""

    @property
    def cautions(self) -> Sequence[str]:
        """What the start page says of the model."""

    @property
    def fingerprint(self) -> str:
        """Identifier of the model in a cookie of edits."""

    @property
    def relations(self) -> Sequence[RelationSummary]:
        """The relations that have rules."""

    @property
    def examples(self) -> Sequence[str]:
        """Entities with many facts, as examples."""

    @property
    def forks(self) -> bool:
        """Whether pages can be made in separate processes: they share no changing state."""

    def warm_up(self, progress: Progress) -> None:
        """Compile and build what visitors would otherwise wait for."""

    def is_ready(self, edits: Edits) -> bool:
        """Whether scores under the edits are available at once."""

    def answers_at_once(self, name: str) -> bool:
        """Whether the missing facts of an entity are found in a moment."""

    def explains_at_once(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a link is explained in a moment."""

    def is_fact(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a link is among the facts."""

    def known_scores(self, edits: Edits) -> KnownScores | None:
        """Scores of known links, among which pages show scores; None where there is no caution."""

    def missing(self, name: str, edits: Edits) -> Sequence[MissingFacts]:
        """The best new links of an entity of the facts, by relation and direction."""

    def ask(
        self, known: str, relation: str, asks: Direction, edits: Edits, top: int
    ) -> QueryAnswers:
        """The best new answers of one query about an entity of the facts."""

    def listed(self, entity: str, edits: Edits, top: int) -> tuple[Sequence[ShownLink], int]:
        """Listed pairs that name the entity, best first, and how many there are."""

    def explain(self, subject: str, relation: str, object_: str, edits: Edits) -> Explanation:
        """Why a link has its score."""

    def counted_rules(self, relation: str) -> Sequence[ShownDirection]:
        """Rules of a relation in both directions; none where rules have weights instead."""


def entity_id(facts: Facts, name: str) -> int:
    """Id of an entity of the facts; an unknown name is an error."""
    entity = facts.entities.index(name)
    if entity < 0:
        raise UnknownNameError(f"No fact names “{name[:100]}”.")
    return entity


def relation_summary(explorer: Explorer, name: str) -> RelationSummary:
    """The relation with a name; one that has no rules is an error."""
    for summary in explorer.relations:
        if summary.relation == name:
            return summary
    raise UnknownNameError(f"The model has no rules for the relation “{name[:100]}”.")
