"""Values that pages show: facts of an entity, scored links, answers of queries, counted rules.

`as_dict` gives a value for JSON, with the same keys for every kind of model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Integers
from hornbeam.explaining.grounding_finder import FactNumbers
from hornbeam.explaining.known_scores import KnownScores, ScorePlace
from hornbeam.explaining.number_groundings import value_text
from hornbeam.explaining.reason import Fact
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.ranking.named_queries import ASKED
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_words import Words

#: Maximum number of predicates that are shown, and of facts per predicate.
MAX_GROUPS = 40
FIRST = 8


class KnownEdges(NamedTuple):
    """Facts of one predicate between an entity and `others`, given by ids in increasing order.

    `inverse` says that the entity is the object of the facts.
    """

    predicate: str
    inverse: bool
    others: Ids


@dataclass(frozen=True)
class EdgeGroup:
    """Facts of one predicate between an entity and other entities; see `KnownEdges`."""

    predicate: str
    inverse: bool
    total: int
    first: Sequence[str]


@dataclass(frozen=True)
class NonBinaryGroup:
    """Facts of a predicate that is not binary about an entity; `alone` if it is unary."""

    predicate: str
    alone: bool
    total: int
    first: Sequence[Fact]


@dataclass(frozen=True)
class ShownLink:
    """A pair by its names, with its score and, if any, its label.

    `before` is the score to compare with, `rank` the rank of the pair among answers of a query. If
    scores do not decide what is true, `place` is the place of the score among known links.
    """

    subject: str
    predicate: str
    object: str
    score: float
    label: float | None = None
    before: float | None = None
    rank: float | None = None
    place: ScorePlace | None = None
    place_before: ScorePlace | None = None
    unary: bool = False  #: whether its relation is on one entity

    @property
    def change(self) -> float:
        """Difference of the score from the score before."""
        return 0.0 if self.before is None else self.score - self.before

    def as_dict(self, score_name: str = "score") -> dict[str, Any]:
        """The link with its score, also under `score_name`, and its further values that exist."""
        plain: dict[str, Any] = {
            "subject": self.subject,
            "relation": self.predicate,
            "object": None if self.unary else self.object,
            "score": self.score,
            score_name: self.score,
        }
        further = {"rank": self.rank, "label": self.label, "before": self.before}
        plain |= {key: value for key, value in further.items() if value is not None}
        return plain if self.place is None else {**plain, "place": self.place.as_dict()}


@dataclass(frozen=True)
class QueryAnswers:
    """A query, the number of answers that rules propose for it, and its best answers.

    `left_out` is the number of further proposed answers that were not scored.
    """

    relation: str
    asks: Direction
    known: str
    candidates: int
    answers: Sequence[ShownLink]
    left_out: int = 0

    @property
    def entities(self) -> list[str]:
        """Entities that the answers name."""
        return [name for link in self.answers for name in (link.subject, link.object)]

    def as_dict(self, score_name: str) -> dict[str, Any]:
        """The query with its answers; the argument that it asks for is a question mark."""
        asks_object = self.asks is Direction.OBJECT
        return {
            "subject": self.known if asks_object else ASKED,
            "relation": self.relation,
            "object": ASKED if asks_object else self.known,
            "candidates": self.candidates,
            "left_out": self.left_out,
            "answers": [answer.as_dict(score_name) for answer in self.answers],
        }


@dataclass(frozen=True)
class MissingFacts:
    """Facts that an entity may lack in one relation and direction.

    `expected` is how much the query makes sense. It is 1 if the entity has facts of the relation
    and direction already, and for a rule model; else the share of similar entities with such facts.
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
    """Rules of a relation in one direction: the best of `total` path rules, and with constants."""

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


def edge_groups(edges: Sequence[KnownEdges], entities: Names) -> list[EdgeGroup]:
    """The edges of an entity in groups, each with the names of its first entities."""
    return [
        EdgeGroup(predicate, inverse, len(others), entities.take(others[:FIRST]))
        for predicate, inverse, others in edges[:MAX_GROUPS]
    ]


def other_groups(facts: Facts, entity: int) -> list[NonBinaryGroup]:
    """Facts about an entity alone, or about it and at least two other entities."""
    numbers, groups = FactNumbers(facts), list[NonBinaryGroup]()
    for predicate, naming in numbers.naming(entity).items():
        first = [numbers.named(fact) for fact in naming[:FIRST].tolist()]
        groups.append(NonBinaryGroup(predicate, len(first[0].arguments) == 1, len(naming), first))
    return groups[:MAX_GROUPS]


def number_texts(facts: Facts, entity: int) -> dict[str, list[str]]:
    """The numbers and dates of an entity as they are read, by attribute."""
    numbers = facts.numbers
    return {
        name: [value_text(value, name in numbers.dates) for value in values]
        for name, values in list(numbers.of_entity(entity).items())[:MAX_GROUPS]
    }


def links_at(
    targets: Targets,
    rows: Sequence[int] | Integers,
    scores: Floats,
    known: KnownScores | None,
    before: Floats | None = None,
    known_before: KnownScores | None = None,
) -> list[ShownLink]:
    """The pairs at `rows` by their names, with their scores and the scores before.

    If scores do not decide what is true, they get their places among `known` scores.
    """
    chosen = np.asarray(rows, dtype=np.intp)
    subject, predicate, object_ = (
        column[chosen].tolist() for column in (targets.subject, targets.predicate, targets.object)
    )
    # each name is looked up once: all pairs on an entity's page have its name
    entity = {i: targets.entities[i] for i in {*subject, *object_}}
    name = {i: targets.predicates[i] for i in set(predicate)}
    labels = None if targets.millionths is None else targets.millionths[chosen].tolist()
    old = None if before is None else before[chosen].tolist()
    return [
        ShownLink(
            entity[subject[k]],
            name[predicate[k]],
            entity[object_[k]],
            score,
            None if labels is None else labels[k] / ONE,
            None if old is None else old[k],
            None,
            None if known is None else known.place(name[predicate[k]], score),
            None
            if old is None or known_before is None
            else known_before.place(name[predicate[k]], old[k]),
            name[predicate[k]] in targets.unary,
        )
        for k, score in enumerate(scores[chosen].tolist())
    ]
