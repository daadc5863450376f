"""Triples, queries with one argument missing, (a, t, ?) or (?, t, b), and ranked answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Integers,
    Ints,
    Positions,
    part_numbers,
    pointers,
    ranges,
)
from hornbeam.base.progress import SILENT, Progress
from hornbeam.facts.atom_keys import atom_keys, contained
from hornbeam.facts.table import HALF, Facts
from hornbeam.rules.codes import step_code


class Direction(StrEnum):
    """Which argument a query asks for."""

    OBJECT = "object"  #: (a, t, ?)
    SUBJECT = "subject"  #: (?, t, b)


@dataclass(frozen=True, eq=False)
class Triples:
    """True facts of two arguments, by ids."""

    relation: Ids
    subject: Ids
    object: Ids

    @classmethod
    def of(cls, facts: Facts) -> Triples:
        """The facts between two entities that count as true."""
        table = facts.binary
        table = table if table.millionths is None else table.select(table.true)
        return cls(table.predicate.astype(np.int32), *table.arguments)

    def __len__(self) -> int:
        return len(self.relation)

    def select(self, rows: Integers | Bools) -> Triples:
        """Select the triples at `rows`."""
        return Triples(self.relation[rows], self.subject[rows], self.object[rows])

    def among_facts(self, facts: Facts) -> Bools:
        """Which triples are facts that count as true; few of them are looked up at once."""
        table = facts.binary
        place, known = table.places_of(self.relation, self.subject, self.object)
        if table.millionths is not None:
            known[known] = table.millionths[place[known]] >= HALF
        return known

    def among(self, others: Triples, n_entities: int, n_relations: int) -> Bools:
        """Which triples are also in `others`, of the same numbers of entities and relations."""
        mine, theirs = (
            atom_keys(table.subject, table.relation, table.object, n_entities, n_relations)
            for table in (self, others)
        )
        return contained(mine, np.sort(theirs))


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries over the ids of one table of facts.

    Attributes
    ----------
    relation
        Predicate ids.
    known
        Entity ids of the argument that is given.
    asks_subject
        True for (?, relation, known), False for (known, relation, ?).
    answer
        The true answers where they are known, as in an evaluation.
    time
        When they are asked, where they say so; a query sees the facts before its time, strictly.

    Every id is -1 where the facts do not have the name.
    """

    relation: Ids
    known: Ids
    asks_subject: Bools
    answer: Ids | None = None
    time: Ints | None = None

    @classmethod
    def both_ways(
        cls, relation: Ids, subject: Ids, object_: Ids, time: Ints | None = None
    ) -> Queries:
        """Both queries of every triple with their answers: for objects, then for subjects."""
        return cls(
            np.tile(relation, 2),
            np.concatenate([subject, object_]),
            np.repeat([False, True], len(relation)),
            np.concatenate([object_, subject]),
            None if time is None else np.tile(time, 2),
        )

    def __len__(self) -> int:
        return len(self.relation)

    @property
    def step(self) -> Ints:
        """Codes of the steps from known arguments to answers; see `hornbeam.rules.codes`."""
        return step_code(self.relation.astype(np.int64), self.asks_subject)

    @property
    def askable(self) -> Bools:
        """Which queries name a relation and an entity that the facts have."""
        return (self.relation >= 0) & (self.known >= 0)

    def select(self, rows: Integers | Bools) -> Queries:
        """Select the queries at `rows`."""
        answer = None if self.answer is None else self.answer[rows]
        time = None if self.time is None else self.time[rows]
        known, asks_subject = self.known[rows], self.asks_subject[rows]
        return Queries(self.relation[rows], known, asks_subject, answer, time)


@dataclass(frozen=True, eq=False)
class Answers:
    """Proposed answers of queries; query i has the answers offsets[i]:offsets[i + 1].

    A query has every proposed entity once, best score first. Entities that are not proposed tie
    below all proposed entities.
    """

    offsets: Integers
    entities: Ids
    scores: Floats

    @classmethod
    def none(cls, queries: int) -> Answers:
        """No answers to any of the `queries` queries."""
        return cls(np.zeros(queries + 1, np.int64), np.empty(0, np.int32), np.empty(0))

    @classmethod
    def concatenated(cls, parts: Sequence[Answers]) -> Answers:
        """The answers of all parts, one part after the other; needs at least one part."""
        return cls(
            pointers(np.concatenate([part.sizes for part in parts])),
            np.concatenate([part.entities for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Integers:
        """Number of answers of each query."""
        return np.diff(self.offsets)

    @property
    def query(self) -> Positions:
        """The number of every answer's query."""
        return part_numbers(self.offsets)

    def take(self, rows: Integers) -> Answers:
        """Answers of the queries at `rows`, in that order; a query may be repeated."""
        low, high = self.offsets[rows], self.offsets[rows + 1]
        chosen = ranges(low, high)
        return Answers(pointers(high - low), self.entities[chosen], self.scores[chosen])

    def triples(self, queries: Queries) -> Triples:
        """The triples that the answers make of their queries."""
        query, answer = self.query, self.entities
        known, asks_subject = queries.known[query], queries.asks_subject[query]
        subject = np.where(asks_subject, answer, known)
        return Triples(queries.relation[query], subject, np.where(asks_subject, known, answer))

    def where(self, kept: Bools) -> Answers:
        """Keep the answers where `kept` is true; queries without answers stay."""
        sizes = np.bincount(self.query[kept], minlength=len(self))
        return Answers(pointers(sizes), self.entities[kept], self.scores[kept])

    def best(self, top: int) -> Answers:
        """At most the first `top` answers of each query."""
        low = self.offsets[:-1]
        high = np.minimum(self.offsets[1:], low + min(top, len(self.entities)))
        chosen = ranges(low, high)
        return Answers(pointers(high - low), self.entities[chosen], self.scores[chosen])


class Ranker(Protocol):
    """Anything that proposes answers of queries, with scores."""

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """Every proposed answer of every query, best first; `others` orders the entities below.

        Queries name relations and entities that the facts have.
        """

    def others(self, step: int, source: int) -> Floats | None:
        """Scores of all entities by which those that are not proposed are ordered below all others.

        They tie if the scores are None; entities of score -inf tie below all others.
        """


def answered(ranker: Ranker, queries: Queries, progress: Progress = SILENT) -> Answers:
    """Answers of a ranker; a query with a name that the facts do not have gets no answer."""
    askable = queries.askable
    found = ranker.answers(queries.select(np.flatnonzero(askable)), progress)
    sizes = np.zeros(len(queries), dtype=np.int64)
    sizes[askable] = found.sizes
    return Answers(pointers(sizes), found.entities, found.scores)
