"""Targets as facts: labelled pairs that are known to be true join the evidence."""

from __future__ import annotations

import numpy as np

from hornbeam.arrays import Millionths, run_starts
from hornbeam.facts.names import Names
from hornbeam.facts.ordering import sort_edges
from hornbeam.facts.table import ONE, Atoms, Facts, Targets


def with_targets(facts: Facts, targets: Targets, suffix: str = "") -> Facts:
    """Facts and, as true facts of `predicate + suffix`, the targets.

    The entities are those of the facts and of the targets. Where a target stands among the facts
    with a value below 1, the value is 1 now.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts, read_pairs
    >>> facts = read_facts([("a", "knows", "b")])
    >>> with_targets(facts, read_pairs([("a", "knows", "b"), ("b", "likes", "c")]))
    Facts(2 facts, 3 entities, 2 predicates)
    """
    missing = np.flatnonzero(targets.entities.translate(facts.entities) < 0).tolist()
    entities = facts.entities
    if missing:
        entities = Names.of([*entities, *targets.entities.take(missing)])
    names = [name + suffix for name in targets.predicates]
    predicates = Names.of([*facts.predicates, *names])
    from_facts, from_targets = (table.entities.translate(entities) for table in (facts, targets))
    renamed = facts.predicates.translate(predicates)
    atoms = {
        arity: Atoms(
            renamed[table.predicate].astype(np.int32),
            tuple(from_facts[column] for column in table.arguments),
            table.millionths,
        )
        for arity, table in facts.atoms.items()
    }
    if len(targets):
        new = Atoms(
            predicates.find(names)[targets.predicate].astype(np.int32),
            (from_targets[targets.subject], from_targets[targets.object]),
        )
        atoms[2] = _united(new, atoms.get(2), len(entities))
    return Facts(entities, predicates, atoms)


def _united(new: Atoms, old: Atoms | None, n_entities: int) -> Atoms:
    """Both, sorted; of equal atoms the new one."""
    if old is None:
        old = Atoms(new.predicate[:0], tuple(column[:0] for column in new.arguments))
    predicate = np.append(new.predicate, old.predicate)
    arguments = [np.append(a, b) for a, b in zip(new.arguments, old.arguments, strict=True)]
    values: Millionths | None = None
    if old.millionths is not None:
        values = np.append(np.full(len(new), ONE, dtype=np.int32), old.millionths)
    predicate, (subject, object_), values = sort_edges(predicate, arguments, values, n_entities)
    first = run_starts(predicate, subject, object_)
    kept = None if values is None else np.maximum.reduceat(values, first)
    return Atoms(predicate[first], (subject[first], object_[first]), kept)
