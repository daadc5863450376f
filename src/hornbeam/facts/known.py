"""Targets as facts, known pairs that join the evidence, and facts as targets, the known links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from hornbeam.base.arrays import Positions, run_starts
from hornbeam.facts.atom_keys import atom_keys
from hornbeam.facts.names import Names
from hornbeam.facts.ordering import united_edges
from hornbeam.facts.table import ONE, Atoms, Facts, Targets


def with_targets(facts: Facts, targets: Targets, suffix: str = "") -> Facts:
    """Facts and, as true facts of `predicate + suffix`, the targets.

    The entities are those of the facts and of the targets. A target among the facts with a value
    below 1 gets the value 1.

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
        old = [atoms[2]] if 2 in atoms else []
        atoms[2] = _distinct(united_edges([new, *old]))
    return Facts(entities, predicates, atoms)


def rows_of_targets(facts: Facts, targets: Targets) -> Positions:
    """Rows of the targets in the table of binary facts; every target must be a fact."""
    table, sizes = facts.binary, (len(facts.entities), len(facts.predicates))
    to_entity = targets.entities.translate(facts.entities)
    to_predicate = targets.predicates.translate(facts.predicates)
    ends = to_entity[targets.subject], to_entity[targets.object]
    keys = atom_keys(table.arguments[0], table.predicate, table.arguments[1], *sizes)
    wanted = atom_keys(ends[0], to_predicate[targets.predicate], ends[1], *sizes)
    return np.searchsorted(keys, wanted)


def _distinct(edges: Atoms) -> Atoms:
    """Equal edges once, with the greatest of their values."""
    predicate, (subject, object_), values = edges.predicate, edges.arguments, edges.millionths
    first = run_starts(predicate, subject, object_)
    kept = None if values is None else np.maximum.reduceat(values, first)
    return Atoms(predicate[first], (subject[first], object_[first]), kept)


def known_links(facts: Facts, predicates: Sequence[str]) -> Targets:
    """The true facts of some predicates as pairs that are labelled true, in the order of facts."""
    atoms, wanted = facts.binary, facts.predicates.find(predicates)
    rows = np.flatnonzero(atoms.true & np.isin(atoms.predicate, wanted[wanted >= 0]))
    predicate = atoms.predicate[rows].astype(np.int32)
    true = np.full(len(rows), ONE, dtype=np.int32)
    subject, object_ = (column[rows] for column in atoms.arguments)
    return Targets(facts.entities, facts.predicates, predicate, subject, object_, true)


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
