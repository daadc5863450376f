"""Listed pairs, with labels or without, and how to find them by name."""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import Positions
from hornbeam.facts.atom_keys import atom_keys
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
