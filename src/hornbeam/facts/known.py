"""Targets as facts, facts as targets: known pairs join the evidence, test pairs leave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from hornbeam.base.arrays import Bools, Positions, run_starts
from hornbeam.facts.atom_keys import atom_keys, contained, pair_keys, united_edges
from hornbeam.facts.names import Names
from hornbeam.facts.reading.readers import Input, as_facts, as_labels
from hornbeam.facts.table import ONE, Atoms, Facts, Targets

#: Share of a relation's edges that must have their mirror image.
SYMMETRIC_SHARE = 0.95
#: Minimum number of edges to judge symmetry by.
MIN_EDGES = 20


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


def _distinct(edges: Atoms) -> Atoms:
    """Equal edges once, with the greatest of their values."""
    predicate, (subject, object_), values = edges.predicate, edges.arguments, edges.millionths
    first = run_starts(predicate, subject, object_)
    kept = None if values is None else np.maximum.reduceat(values, first)
    return Atoms(predicate[first], (subject[first], object_[first]), kept)


def rows_of_targets(facts: Facts, targets: Targets) -> Positions:
    """Rows of the targets in the table of binary facts; -1 for a target that is no fact."""
    table, sizes = facts.binary, (len(facts.entities), len(targets.predicates))
    # names are sorted in both tables, so that the keys of facts are sorted as the facts are
    predicate = facts.predicates.translate(targets.predicates)[table.predicate]
    rows = np.flatnonzero(predicate >= 0)
    subject, object_ = (column[rows] for column in table.arguments)
    keys = atom_keys(subject, predicate[rows], object_, *sizes)
    to_entity = targets.entities.translate(facts.entities)
    ends = to_entity[targets.subject], to_entity[targets.object]
    wanted = atom_keys(ends[0], targets.predicate, ends[1], *sizes)
    are_facts = (ends[0] >= 0) & (ends[1] >= 0) & contained(wanted, keys)
    located = np.full(len(targets), -1, dtype=np.intp)
    located[are_facts] = rows[np.searchsorted(keys, wanted[are_facts])]
    return located


def among_facts(facts: Facts, targets: Targets) -> Bools:
    """Which targets are among the facts."""
    return rows_of_targets(facts, targets) >= 0


def without_targets(facts: Facts, targets: Targets) -> Facts:
    """Take away the facts that state one of the targets, so that no answer is among the evidence.

    Entities and predicates keep their ids.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts, read_pairs
    >>> facts = read_facts([("a", "knows", "b"), ("b", "knows", "a")])
    >>> without_targets(facts, read_pairs([("a", "knows", "b")]))
    Facts(1 facts, 2 entities, 1 predicates)
    """
    rows = rows_of_targets(facts, targets)
    keep = np.ones(len(facts.binary), dtype=np.bool_)
    keep[rows[rows >= 0]] = False
    if keep.all():
        return facts
    atoms = {arity: table for arity, table in facts.atoms.items() if arity != 2}
    if keep.any():
        atoms[2] = facts.binary.select(keep)
    return Facts(facts.entities, facts.predicates, atoms)


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


def is_symmetric(facts: Facts, labels: Targets) -> bool:
    """Whether nearly every edge of the only target has its mirror image.

    The target's facts decide, or the true labels where it has few facts: labels often name an
    unordered pair once. Several targets are not symmetric.
    """
    if len(labels.predicates) != 1:
        return False
    subject, object_ = facts.links(labels.predicates[0])
    n = len(facts.entities)
    if len(subject) < MIN_EDGES:
        subject, object_ = labels.subject[labels.positive], labels.object[labels.positive]
        n = len(labels.entities)
    if len(subject) < MIN_EDGES:
        return False
    edges = np.sort(pair_keys(subject, object_, n))
    mirrored = contained(pair_keys(object_, subject, n), edges)
    return bool(mirrored.mean() > SYMMETRIC_SHARE)


def with_mirror_images(pairs: Targets) -> Targets:
    """The pairs, then each of them with its subject and object exchanged."""
    twice = pairs.select(np.tile(np.arange(len(pairs)), 2))
    subject, object_ = pairs.subject, pairs.object
    return replace(twice, subject=np.append(subject, object_), object=np.append(object_, subject))


def with_known(facts: Input, known: Input) -> Facts:
    """Facts and the labelled pairs of at least 0.5, in both directions of symmetric relations.

    Both come as files, frames, tuples or what was read before.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts, read_labels
    >>> facts = read_facts([("a", "knows", "b")])
    >>> with_known(facts, read_labels([("b", "knows", "c", 1), ("a", "knows", "c", 0)]))
    Facts(2 facts, 3 entities, 1 predicates)
    """
    facts, known = as_facts(facts), as_labels(known)
    true = known.select(known.positive)
    return with_targets(facts, with_mirror_images(true) if is_symmetric(facts, known) else true)
