"""Events by atom: how many there were in a span before a time, and how much they weigh by then."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Integers,
    Ints,
    Millionths,
    Positions,
    begin_runs,
    places_in_runs,
    pointers,
    ranges,
)
from hornbeam.base.dates import TimeUnit
from hornbeam.facts.atom_keys import atom_keys
from hornbeam.facts.table import Facts
from hornbeam.language.time_brackets import TimeCondition


@dataclass(frozen=True, eq=False)
class EventIndex:
    """The events of facts, sorted by atom and time; atoms are numbered in their order.

    Examples
    --------
    >>> from hornbeam import read_facts
    >>> facts = read_facts([("a", "p", "b", 1), ("a", "p", "b", 5), ("a", "p", "c", 3)], time=4)
    >>> index = EventIndex.of(facts)
    >>> times, last_3 = np.array([4, 5, 6]), TimeCondition("last", 3)
    >>> index.holds(last_3, np.array([0, 0, 0]), times).tolist()
    [True, False, True]
    >>> index.decayed(TimeCondition("decay", 1), np.array([0]), np.array([6])).tolist()
    [0.53125]
    """

    predicate: Ints
    subject: Ints
    object: Ints  #: -1 of an atom of one argument
    starts: Ints  #: the first event of every atom, and the number of all
    time: Ints
    unit: TimeUnit
    n_entities: int
    row: Positions  #: of every atom among all of the facts

    @classmethod
    def of(cls, facts: Facts) -> EventIndex:
        """The index of the events of facts that have a time."""
        events = facts.events
        assert events is not None
        order = np.lexsort((events.time, events.object, events.predicate, events.subject))
        columns = [column[order].astype(np.int64) for column in events.columns]
        predicate, subject, object_, time = columns
        first = begin_runs(subject, predicate, object_)
        starts = np.append(np.flatnonzero(first), len(time))
        p, s, o = (column[first] for column in (predicate, subject, object_))
        rows = facts.event_rows[order][first]
        return cls(p, s, o, starts, time, events.unit, len(facts.entities), rows)

    @cached_property
    def moments(self) -> Ints:
        """The distinct times."""
        return np.unique(self.time)

    @cached_property
    def _keys(self) -> Ints:
        """Atom and moment of every event as one ascending number."""
        return self.atom_of_event * (len(self.moments) + 1) + np.searchsorted(
            self.moments, self.time
        )

    def places_before(self, atom: Ints, time: Ints) -> Ints:
        """The place after the last event of each atom before a time."""
        moment = np.searchsorted(self.moments, time)
        return np.searchsorted(self._keys, atom * (len(self.moments) + 1) + moment)

    def events_before(self, atom: Ints, time: Ints) -> Ints:
        """How many events atoms had before each time, strictly."""
        return self.places_before(atom, time) - self.starts[atom]

    def holds(self, when: TimeCondition, atom: Ints, time: Ints) -> Bools:
        """Whether each atom was true as a condition says, seen at each time."""
        n = self.events_before(atom, time)
        if when.kind == "last":
            n -= self.events_before(atom, earlier(time, when.span(self.unit)))
        return np.asarray(n >= when.at_least)

    def decayed(self, when: TimeCondition, atom: Ints, time: Ints) -> Floats:
        """The sum over the events of each atom before a time of 2 ** (-age / half-life)."""
        half_life, seen = when.span(self.unit), self.places_before(atom, time)
        some = seen > self.starts[atom]
        total, last = np.zeros(len(atom)), seen[some] - 1
        age = (time[some] - self.time[last]) / half_life
        total[some] = self._sums(half_life)[last] * np.exp2(-age)
        return total

    def _sums(self, half_life: int) -> Floats:
        """The decayed sum of the events of an atom up to each of its events."""
        sums, place = np.ones(len(self.time)), places_in_runs(self.atom_of_event)
        fade = np.zeros(len(self.time))
        fade[1:] = np.exp2(-np.diff(self.time.astype(np.float64)).clip(min=0) / half_life)
        order = np.argsort(place, kind="stable")
        bounds = pointers(np.bincount(place))
        for k in range(1, len(bounds) - 1):
            rows = order[bounds[k] : bounds[k + 1]]
            sums[rows] += sums[rows - 1] * fade[rows]
        return sums

    @cached_property
    def atom_of_event(self) -> Ints:
        """The atom of every event."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def _at_entity(self) -> tuple[Ints, Ints]:
        """Atoms by their entities: offsets per entity, and atoms; a loop stands there once."""
        atoms = np.arange(len(self.subject))
        second = (self.object >= 0) & (self.object != self.subject)
        entity = np.concatenate([self.subject, self.object[second]])
        order = np.argsort(entity, kind="stable")
        atom = np.concatenate([atoms, atoms[second]])[order]
        return pointers(np.bincount(entity, minlength=self.n_entities)), atom

    def atoms_at(self, entity: Integers) -> tuple[Ints, Ints]:
        """The atoms of each entity (-1 for an unknown one): rows of the entities, and atoms."""
        offsets, atom = self._at_entity
        known = np.flatnonzero(entity >= 0)
        low, high = offsets[entity[known]], offsets[entity[known] + 1]
        return np.repeat(known, high - low), atom[ranges(low, high)]

    def atoms_of(self, predicate: int, subject: Ints, object_: Ints) -> Ints:
        """The atoms of a predicate between entities, -1 where there is none."""
        own, n_predicates = self._atom_keys
        if not 0 <= predicate < n_predicates or not len(own):
            return np.full(len(subject), -1, dtype=np.int64)
        wanted = atom_keys(
            subject,
            np.full(len(subject), predicate),
            object_ + 1,
            self.n_entities + 1,
            n_predicates,
        )
        place = np.minimum(np.searchsorted(own, wanted), len(own) - 1)
        return np.where(own[place] == wanted, place, -1)

    @cached_property
    def _atom_keys(self) -> tuple[Ints, int]:
        """The ascending keys of all atoms, and how many predicates they tell apart."""
        n = int(self.predicate.max(initial=0)) + 1
        return atom_keys(self.subject, self.predicate, self.object + 1, self.n_entities + 1, n), n

    def degree(self, entity: Integers) -> Ints:
        """How many atoms each entity has; 0 for an unknown one."""
        offsets, _ = self._at_entity
        return np.where(entity >= 0, np.diff(offsets)[np.maximum(entity, 0)], 0)

    def values(self, facts: Facts, atom: Ints) -> Millionths | None:
        """Truth values of atoms in millionths; None where all facts are true."""
        if not facts.soft:
            return None
        tables = [table.all_millionths for table in facts.atoms.values()]
        return np.concatenate(tables)[self.row[atom]]


def earlier(time: Ints, span: int) -> Ints:
    """The times less a span, without passing the smallest number."""
    least = np.iinfo(np.int64).min
    return np.where(time >= least + span, time - span, least)
