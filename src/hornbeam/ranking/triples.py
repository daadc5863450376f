"""True triples of several tables in one numbering: that of the facts, further names after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers, Ints
from hornbeam.facts.atom_keys import atom_keys, contained
from hornbeam.facts.names import Names
from hornbeam.facts.table import HALF, Facts


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
        true: Bools | slice = slice(None)
        if table.millionths is not None:
            true = table.millionths >= HALF
        subject, object_ = (column[true] for column in table.arguments)
        return cls(table.predicate[true].astype(np.int32), subject, object_)

    def __len__(self) -> int:
        return len(self.relation)

    def select(self, rows: Integers | Bools) -> Triples:
        """Select the triples at some rows."""
        return Triples(self.relation[rows], self.subject[rows], self.object[rows])


@dataclass(frozen=True, eq=False)
class UnitedTriples:
    """Triples of the facts and of other tables, in one numbering of their names.

    The ids of the facts are kept; entities and relations that only other tables have are numbered
    after them.
    """

    facts: Facts
    more_entities: Names
    more_relations: Names
    tables: tuple[Triples, ...]

    @property
    def n_entities(self) -> int:
        """Number of entities of all tables."""
        return len(self.facts.entities) + len(self.more_entities)

    @property
    def n_relations(self) -> int:
        """Number of relations of all tables."""
        return len(self.facts.predicates) + len(self.more_relations)

    def entity(self, number: int) -> str:
        """Name of an entity."""
        first = len(self.facts.entities)
        return self.facts.entities[number] if number < first else self.more_entities[number - first]

    def relation(self, number: int) -> str:
        """Name of a relation."""
        first = len(self.facts.predicates)
        if number < first:
            return self.facts.predicates[number]
        return self.more_relations[number - first]

    def unseen(self, triples: Triples) -> Bools:
        """Which triples name an entity or a relation that the facts do not have."""
        first = len(self.facts.entities)
        entity = (triples.subject >= first) | (triples.object >= first)
        return entity | (triples.relation >= len(self.facts.predicates))

    def keys(self, triples: Triples, *, asks_subject: bool = False) -> Ints:
        """One integer per triple, in the order of known argument, relation, answer."""
        known, answer = triples.subject, triples.object
        if asks_subject:
            known, answer = answer, known
        return atom_keys(known, triples.relation, answer, self.n_entities, self.n_relations)

    def among(self, triples: Triples, others: Triples) -> Bools:
        """Which triples are among others."""
        return contained(self.keys(triples), np.sort(self.keys(others)))


def unite(facts: Facts, others: Sequence[Facts]) -> UnitedTriples:
    """Number the names of further tables after those of the facts.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> united = unite(read_facts([("b", "p", "d")]), [read_facts([("a", "p", "b")])])
    >>> [united.entity(i) for i in range(united.n_entities)]
    ['b', 'd', 'a']
    """
    more_entities = _missing([table.entities for table in others], facts.entities)
    more_relations = _missing([table.predicates for table in others], facts.predicates)
    tables = [Triples.of(facts)]
    for table in others:
        entity = _numbers(table.entities, facts.entities, more_entities)
        relation = _numbers(table.predicates, facts.predicates, more_relations)
        own = Triples.of(table)
        tables.append(Triples(relation[own.relation], entity[own.subject], entity[own.object]))
    return UnitedTriples(facts, more_entities, more_relations, tuple(tables))


def _missing(tables: Sequence[Names], known: Names) -> Names:
    """Names of the tables that are not known."""
    return Names.of(
        name
        for names in tables
        for name in names.take(np.flatnonzero(names.translate(known) < 0).tolist())
    )


def _numbers(names: Names, known: Names, more: Names) -> Ids:
    """Numbers of names, known ones first."""
    first, further = names.translate(known), names.translate(more)
    return np.where(first >= 0, first, further + len(known)).astype(np.int32)
