"""Facts of one argument, or of three and more, beside those that were read."""

from __future__ import annotations

import numpy as np

from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts


def with_atoms(facts: Facts, predicate: str, *rows: tuple[str, ...]) -> Facts:
    """The facts and those of a further predicate of one argument, or of three and more."""
    predicates = Names.of([*facts.predicates, predicate])
    entities = Names.of([*facts.entities, *(name for row in rows for name in row)])
    to_entity, moved = facts.entities.translate(entities), facts.predicates.translate(predicates)
    tables = {
        arity: Atoms(
            moved[table.predicate],
            tuple(to_entity[ids] for ids in table.arguments),
            table.millionths,
        )
        for arity, table in facts.atoms.items()
    }
    columns = np.array([entities.find(row) for row in sorted(rows)], dtype=np.int32).T
    own = np.full(len(rows), predicates.index(predicate), dtype=np.int32)
    return Facts(entities, predicates, {**tables, len(columns): Atoms(own, tuple(columns))})
