"""Targets as facts, facts as targets: known pairs join the evidence, test pairs leave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Positions, run_starts
from hornbeam.facts.atom_keys import atom_keys, contained, pair_keys
from hornbeam.facts.events import Events, joined_events
from hornbeam.facts.growth import united_atoms
from hornbeam.facts.names import Names
from hornbeam.facts.reading.readers import Input, as_facts, as_labels
from hornbeam.facts.table import ONE, Atoms, Facts, Targets, wrong_arity

#: Share of a relation's edges that must have their mirror image.
SYMMETRIC_SHARE = 0.95
#: Minimum number of edges to judge symmetry by.
MIN_EDGES = 20


def with_targets(facts: Facts, targets: Targets, suffix: str = "") -> Facts:
    """Facts and, as true facts of `predicate + suffix`, the targets.

    The entities are those of the facts and of the targets. A target among the facts with a value
    below 1 gets the value 1. A predicate must have as many arguments in both.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts, read_pairs
    >>> facts = read_facts([("a", "knows", "b")])
    >>> with_targets(facts, read_pairs([("a", "knows", "b"), ("b", "likes", "c")]))
    Facts(2 facts, 3 entities, 2 predicates)
    """
    for name, arity in targets.arities.items() if not suffix else ():
        known = facts.not_binary.get(name, 2)
        if known != arity and name in facts.arity:
            raise wrong_arity(name, known, arity)
    facts = facts.over(targets.entities)
    names = [name + suffix for name in targets.predicates]
    predicates = Names.of([*facts.predicates, *names])
    from_targets = targets.entities.translate(facts.entities)
    renamed = facts.predicates.translate(predicates)
    atoms = {
        arity: replace(table, predicate=renamed[table.predicate].astype(np.int32))
        for arity, table in facts.atoms.items()
    }
    for arity, rows in targets.by_arity.items():
        some = targets.select(rows)
        new = Atoms(
            predicates.find(names)[some.predicate].astype(np.int32),
            tuple(from_targets[ends] for ends in (some.subject, some.object)[:arity]),
        )
        old = [atoms[arity]] if arity in atoms else []
        atoms[arity] = _distinct(united_atoms([new, *old]))
    events, new_events = facts.events, _events(targets, names, predicates, from_targets)
    if events is not None:
        events = replace(events, predicate=renamed[events.predicate])
    events = joined_events(events, len(facts), new_events, len(targets))
    return replace(facts, predicates=predicates, atoms=dict(sorted(atoms.items())), events=events)


def _events(
    targets: Targets, names: Sequence[str], predicates: Names, to_entity: Ids
) -> Events | None:
    """Targets at a time as events of facts; None of targets without times."""
    if targets.time is None:
        return None
    object_ = np.where(targets.on_one, -1, to_entity[targets.object]).astype(np.int32)
    predicate = predicates.find(names)[targets.predicate]
    columns = predicate, to_entity[targets.subject], object_, targets.time
    return Events.from_columns(columns, targets.unit)


def _distinct(atoms: Atoms) -> Atoms:
    """Equal atoms once, with the greatest of their values."""
    first, values = run_starts(atoms.predicate, *atoms.arguments), atoms.millionths
    kept = None if values is None else np.maximum.reduceat(values, first)
    return Atoms(atoms.predicate[first], tuple(ends[first] for ends in atoms.arguments), kept)


def rows_of_targets(facts: Facts, targets: Targets, arity: int = 2) -> Positions:
    """Rows of the targets in the facts of an arity; -1 for a target that is no such fact."""
    table, sizes = facts.of_arity(arity), (len(facts.entities), len(targets.predicates))
    # names are sorted in both tables, so that the keys of facts are sorted as the facts are
    predicate = facts.predicates.translate(targets.predicates)[table.predicate]
    rows = np.flatnonzero(predicate >= 0)
    subject, object_ = table.arguments[0][rows], table.arguments[-1][rows]
    keys = atom_keys(subject, predicate[rows], object_, *sizes)
    to_entity = targets.entities.translate(facts.entities)
    ends = to_entity[targets.subject], to_entity[targets.object]
    wanted = atom_keys(ends[0], targets.predicate, ends[1], *sizes)
    are_facts = (ends[0] >= 0) & (ends[1] >= 0) & contained(wanted, keys)
    are_facts &= targets.on_one == (arity == 1)
    located = np.full(len(targets), -1, dtype=np.intp)
    located[are_facts] = rows[np.searchsorted(keys, wanted[are_facts])]
    return located


def among_facts(facts: Facts, targets: Targets) -> Bools:
    """Which targets are among the facts."""
    among = np.zeros(len(targets), dtype=np.bool_)
    for arity in targets.by_arity:
        among |= rows_of_targets(facts, targets, arity) >= 0
    return among


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
    atoms = dict(facts.atoms)
    for arity in targets.by_arity:
        table, rows = facts.of_arity(arity), rows_of_targets(facts, targets, arity)
        keep = np.ones(len(table), dtype=np.bool_)
        keep[rows[rows >= 0]] = False
        if not keep.any():
            atoms.pop(arity, None)
        elif not keep.all():
            atoms[arity] = table.select(keep)
    unchanged = all(atoms.get(arity) is table for arity, table in facts.atoms.items())
    return facts if unchanged else facts.with_atoms(atoms)


def known_links(facts: Facts, predicates: Sequence[str]) -> Targets:
    """The true facts of some predicates as pairs that are labelled true, in the order of facts.

    Facts about one entity come last.
    """
    wanted = facts.predicates.find(predicates)
    tables = [facts.binary, facts.of_arity(1)]
    known = [t.select(t.true & np.isin(t.predicate, wanted[wanted >= 0])) for t in tables]
    predicate = np.concatenate([atoms.predicate.astype(np.int32) for atoms in known])
    subject, object_ = (np.concatenate([t.arguments[k] for t in known]) for k in (0, -1))
    true = np.full(len(subject), ONE, dtype=np.int32)
    unary = facts.unary.intersection(predicates)
    return Targets(facts.entities, facts.predicates, predicate, subject, object_, true, unary)


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
    unary = frozenset[str]().union(*(table.unary for table in tables))
    return Targets(entities, predicates, predicate, subject, object_, unary=unary)


def is_symmetric(facts: Facts, labels: Targets) -> bool:
    """Whether nearly every edge of the only target has its mirror image.

    The target's facts decide, or the true labels where it has few facts: labels often name an
    unordered pair once. Several targets are not symmetric, nor is a target on one entity.
    """
    if len(labels.predicates) != 1 or labels.unary:
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
