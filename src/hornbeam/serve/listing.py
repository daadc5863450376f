"""Listed pairs, with labels or without, and how to find them by name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from hornbeam.arrays import Positions
from hornbeam.facts.atom_keys import atom_keys
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets


def rows_of(targets: Targets, entity: str) -> Positions:
    """Rows that name the entity, in their order."""
    i = targets.entities.index(entity)
    return np.flatnonzero((targets.subject == i) | (targets.object == i))


def unlisted(pairs: Targets, listed: Targets) -> Targets:
    """The pairs that are not listed yet."""
    to_entity = pairs.entities.translate(listed.entities)
    predicate = pairs.predicates.translate(listed.predicates)[pairs.predicate]
    subject, object_ = to_entity[pairs.subject], to_entity[pairs.object]
    known = (predicate >= 0) & (subject >= 0) & (object_ >= 0)
    sizes = len(listed.entities), len(listed.predicates)
    keys = atom_keys(subject, predicate, object_, *sizes)
    listed_keys = atom_keys(listed.subject, listed.predicate, listed.object, *sizes)
    return pairs.select(~(known & np.isin(keys, listed_keys)))


def joined(tables: Sequence[Targets]) -> Targets:
    """The pairs of several tables concatenated, without labels."""
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
