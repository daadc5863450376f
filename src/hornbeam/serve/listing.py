"""Pairs that were listed, with labels or without, and where to find them by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from hornbeam.arrays import Positions
from hornbeam.facts.atom_keys import atom_keys
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Targets


@dataclass(frozen=True, eq=False)
class Listing:
    """Listed pairs, in the order they were given."""

    targets: Targets

    def __len__(self) -> int:
        return len(self.targets)

    def rows_of(self, entity: str) -> Positions:
        """Rows that name the entity, in their order."""
        i = self.targets.entities.index(entity)
        return np.flatnonzero((self.targets.subject == i) | (self.targets.object == i))

    def row_of(self, subject: str, predicate: str, object_: str) -> int | None:
        """First row of one pair."""
        s, o = (self.targets.entities.index(name) for name in (subject, object_))
        rows = np.flatnonzero((self.targets.subject == s) & (self.targets.object == o))
        rows = rows[self.targets.predicate[rows] == self.targets.predicates.index(predicate)]
        return int(rows[0]) if len(rows) else None

    def label(self, row: int) -> float | None:
        """Label of a pair, None where the pairs have none."""
        labels = self.targets.millionths
        return None if labels is None else int(labels[row]) / ONE


def unlisted(pairs: Targets, listed: Targets) -> Targets:
    """Those of the pairs that are not listed yet."""
    to_entity = pairs.entities.translate(listed.entities)
    predicate = pairs.predicates.translate(listed.predicates)[pairs.predicate]
    subject, object_ = to_entity[pairs.subject], to_entity[pairs.object]
    known = (predicate >= 0) & (subject >= 0) & (object_ >= 0)
    sizes = len(listed.entities), len(listed.predicates)
    mine = atom_keys(subject, predicate, object_, *sizes)
    theirs = atom_keys(listed.subject, listed.predicate, listed.object, *sizes)
    return pairs.select(~(known & np.isin(mine, theirs)))


def joined(tables: Sequence[Targets]) -> Targets:
    """The pairs of several tables one behind the other, without labels."""
    entities = Names.of(chain.from_iterable(table.entities for table in tables))
    predicates = Names.of(chain.from_iterable(table.predicates for table in tables))
    columns = [
        (
            table.predicates.translate(predicates)[table.predicate],
            table.entities.translate(entities)[table.subject],
            table.entities.translate(entities)[table.object],
        )
        for table in tables
    ]
    predicate, subject, object_ = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return Targets(entities, predicates, predicate, subject, object_)
