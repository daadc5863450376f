"""What was known at a time, as ordinary facts: a relation for everything that rules say of time.

A snapshot has an atom `visits [last 30d](a, b)` where `visits(a, b)` was true in the last 30 days
before its time, and another for every other condition that is asked for. So engines, which know no
time, count them as any relation. Many snapshots are one world: each has copies of its own of the
entities, so that no path leads from one to another, and of these only those that matter: the facts
around the ends of its targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Ids, Ints, begin_runs
from hornbeam.counting.event_index import EventIndex
from hornbeam.facts.atom_keys import sort_atoms
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts, Targets, narrow_type
from hornbeam.language.time_brackets import TimeCondition
from hornbeam.rules.body import Step

#: Atoms of a world, in all its relations: some 200 MB while it is made.
MAX_ATOMS = 4_000_000
#: Names of copies that are written at once.
CHUNK = 100_000


@dataclass(frozen=True, order=True)
class TimedRelation:
    """A predicate and when its atoms were true."""

    predicate: str
    when: TimeCondition

    @property
    def name(self) -> str:
        """The name of the relation in a snapshot."""
        return Step(self.predicate, when=self.when).stated


@dataclass(frozen=True, eq=False)
class SeenFacts:
    """The facts of one or more snapshots, and the targets that see them, by their rows."""

    facts: Facts
    targets: Targets
    rows: Ints


def snapshot(
    facts: Facts, index: EventIndex, relations: Sequence[TimedRelation], time: int
) -> Facts:
    """The facts as they are seen at one time, over the same entities."""
    atom = np.arange(len(index.subject))
    at = np.full(len(atom), time)
    return _facts_of(facts, index, relations, atom, at, index.subject, index.object, facts.entities)


def snapshots(
    facts: Facts, relations: Sequence[TimedRelation], targets: Targets
) -> Iterator[SeenFacts]:
    """One world per time of the targets, with all facts, over their entities and the targets'."""
    assert targets.time is not None
    facts = facts.over(targets.entities)
    index = EventIndex.of(facts)
    for time in np.unique(targets.time).tolist():
        rows = np.flatnonzero(targets.time == time)
        seen = snapshot(facts, index, relations, time)
        yield SeenFacts(seen, replace(targets.select(rows), time=None), rows)


def worlds(
    facts: Facts,
    index: EventIndex,
    relations: Sequence[TimedRelation],
    targets: Targets,
    radius: int,
) -> Iterator[SeenFacts]:
    """Worlds of the snapshots of all targets in the order of time, each of at most `MAX_ATOMS`.

    A snapshot has the facts of the entities that are at most `radius` steps from an end of its
    targets. A snapshot that has too many facts alone is a world of its own.
    """
    assert targets.time is not None
    order = np.argsort(targets.time, kind="stable")
    to_entity = targets.entities.translate(facts.entities)
    ends = np.stack([to_entity[targets.subject], to_entity[targets.object]])
    size = index.degree(ends[0]) + index.degree(ends[1]) if radius == 0 else _reach(index, ends)
    # a target that comes after this many atoms begins another world
    spent = np.cumsum(size[order] * max(len(relations) // max(len(facts.predicates), 1), 1))
    new = begin_runs(targets.time[order]) if radius else np.ones(len(order), dtype=np.bool_)
    part = (spent - size[order]) // MAX_ATOMS
    # targets of one time stay together where their neighbourhoods overlap
    number = np.maximum.accumulate(np.where(new, part, 0))
    for k in np.unique(number).tolist():
        rows = np.sort(order[number == k])
        yield _world(facts, index, relations, targets.select(rows), rows, radius)


def _reach(index: EventIndex, ends: Ints | Ids) -> Ints:
    """About how many atoms are near the ends of targets; never more than all."""
    near = (index.degree(ends[0]) + index.degree(ends[1])) ** 2
    return np.asarray(np.minimum(near, len(index.subject)))


def _world(
    facts: Facts,
    index: EventIndex,
    relations: Sequence[TimedRelation],
    targets: Targets,
    rows: Ints,
    radius: int,
) -> SeenFacts:
    """The world of some targets."""
    assert targets.time is not None
    times, moment = np.unique(targets.time, return_inverse=True)
    n, to_entity = index.n_entities + len(targets.entities), _with_unknown(facts, targets)
    ends = [moment * n + to_entity[targets.subject], moment * n + to_entity[targets.object]]
    reached = np.unique(np.concatenate(ends))
    for _ in range(radius):
        copy, atom = _incident(index, reached, n)
        second = index.object[atom] >= 0
        both = [copy * n + index.subject[atom], (copy * n + index.object[atom])[second]]
        reached = np.unique(np.concatenate([reached, *both]))
    copy, atom = _incident(index, reached, n)
    key = np.unique(copy * len(index.subject) + atom)
    copy, atom = np.divmod(key, max(len(index.subject), 1))
    subject = copy * n + index.subject[atom]
    object_ = np.where(index.object[atom] < 0, -1, copy * n + index.object[atom])
    nodes = np.unique(np.concatenate([subject, object_[object_ >= 0], *ends]))
    names = _numbered(len(nodes))
    object_ = np.where(object_ < 0, -1, np.searchsorted(nodes, object_))
    subject = np.searchsorted(nodes, subject)
    seen = _facts_of(facts, index, relations, atom, times[copy], subject, object_, names)
    subjects, objects = (np.searchsorted(nodes, end).astype(np.int32) for end in ends)
    asked = replace(targets, entities=names, subject=subjects, object=objects, time=None)
    return SeenFacts(seen, asked, rows)


def _incident(index: EventIndex, nodes: Ints, n: int) -> tuple[Ints, Ints]:
    """The copies and atoms of all atoms that some nodes of copies have."""
    copy, entity = np.divmod(nodes, n)
    row, atom = index.atoms_at(np.where(entity < index.n_entities, entity, -1))
    return copy[row], atom


def _with_unknown(facts: Facts, targets: Targets) -> Ints:
    """Numbers of the targets' entities: those of the facts, and others for unknown entities."""
    known = targets.entities.translate(facts.entities).astype(np.int64)
    other = len(facts.entities) + np.arange(len(known))
    return np.asarray(np.where(known < 0, other, known))


def _numbered(n: int) -> Names:
    """Names of so many entities, in their order."""
    width = len(str(n))
    return Names.from_sorted_chunks(
        [f"{k:0{width}}" for k in range(start, min(start + CHUNK, n))]
        for start in range(0, n, CHUNK)
    )


def _facts_of(
    facts: Facts,
    index: EventIndex,
    relations: Sequence[TimedRelation],
    atom: Ints,
    time: Ints,
    subject: Ints,
    object_: Ints,
    entities: Names,
) -> Facts:
    """Atoms, each seen at a time, in the relations whose conditions hold."""
    predicates = Names.of(relation.name for relation in relations)
    values = index.values(facts, atom)
    by_condition: dict[TimeCondition, list[TimedRelation]] = {}
    for relation in relations:
        by_condition.setdefault(relation.when, []).append(relation)
    rows, number = list[Ints](), list[Ints]()
    for when, asked in by_condition.items():
        of_predicate = np.full(len(facts.predicates), -1)
        for relation in asked:
            place = facts.predicates.index(relation.predicate)
            if place >= 0:
                of_predicate[place] = predicates.index(relation.name)
        wanted = of_predicate[index.predicate[atom]] if len(of_predicate) else atom[:0]
        some = np.flatnonzero(wanted >= 0)
        some = some[index.holds(when, atom[some], time[some])]
        rows.append(some)
        number.append(wanted[some])
    row = np.concatenate([atom[:0], *rows])
    predicate = np.concatenate([atom[:0], *number])
    atoms = dict[int, Atoms]()
    for arity, among in ((1, object_[row] < 0), (2, object_[row] >= 0)):
        if among.any():
            ends = [subject[row[among]], object_[row[among]]][:arity]
            atoms[arity] = _sorted(
                predicate[among], ends, None if values is None else values[row[among]],
                len(predicates),
            )  # fmt: skip
    if entities is facts.entities:
        return replace(facts, predicates=predicates, atoms=atoms, events=None)
    return Facts(entities, predicates, atoms)


def _sorted(predicate: Ints, ends: Sequence[Ints], values: Ids | None, n_predicates: int) -> Atoms:
    arguments = [column.astype(np.int32) for column in ends]
    kind = narrow_type(n_predicates)
    sorted_predicate, arguments, millionths = sort_atoms(predicate.astype(kind), arguments, values)
    return Atoms(sorted_predicate, tuple(arguments), millionths)
