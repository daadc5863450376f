"""Pairs as pages show them: by their names, with scores and labels, best first; listed pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Floats, Integers, Positions
from hornbeam.facts.atom_keys import atom_keys
from hornbeam.facts.table import ONE, Targets


@dataclass(frozen=True)
class ShownLink:
    """A pair by its names, with its score and, if any, its label.

    `before` is the score that it is compared with, `rank` its place among the answers of a query.
    """

    subject: str
    predicate: str
    object: str
    score: float
    label: float | None = None
    before: float | None = None
    rank: float | None = None

    @property
    def change(self) -> float:
        """Difference of the score from the one before."""
        return 0.0 if self.before is None else self.score - self.before


def links_at(
    targets: Targets,
    rows: Sequence[int] | Integers,
    scores: Floats,
    before: Floats | None = None,
) -> list[ShownLink]:
    """The pairs at some rows by their names, with their scores and the scores before."""
    chosen = np.asarray(rows, dtype=np.intp)
    subject, predicate, object_ = (
        column[chosen].tolist() for column in (targets.subject, targets.predicate, targets.object)
    )
    # cached: all pairs of an entity's page have its name
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
        )
        for k, score in enumerate(scores[chosen].tolist())
    ]


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
