"""When facts were true: every event is an atom and a time.

The same atom may have many events. `Facts.atoms` has it once, as something that was ever true;
`Facts.events` says when. Whoever asks at a time sees the events before it, strictly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Integers, Ints, run_starts
from hornbeam.base.dates import TimeUnit
from hornbeam.errors import InputError, warn


@dataclass(frozen=True, eq=False)
class Events:
    """Atoms of one or two arguments with a time, sorted by time, then the atom; distinct.

    Ids are those of the facts. `object` is -1 for atoms of one argument.

    Examples
    --------
    >>> from hornbeam import read_facts
    >>> rows = [("ann", "visits", "rome", "2014-05-01"), ("ann", "visits", "rome", "2014-05-03")]
    >>> facts = read_facts(rows, time=4)
    >>> facts, facts.events
    (Facts(1 facts at 2 times, 2 entities, 1 predicates), Events(2 from 2014-05-01 to 2014-05-03))
    """

    predicate: Ids
    subject: Ids
    object: Ids
    time: Ints
    unit: TimeUnit

    @classmethod
    def from_columns(cls, columns: Iterable[Array], unit: TimeUnit) -> Events:
        """Events from predicates, subjects, objects and times in any order, repetitions allowed."""
        predicate, subject, object_, time = columns
        order = np.lexsort((object_, predicate, subject, time))
        ordered = [column[order] for column in (predicate, subject, object_, time)]
        first = run_starts(*ordered)
        p, s, o, t = (column[first] for column in ordered)
        return cls(p.astype(np.int32), s.astype(np.int32), o.astype(np.int32), t, unit)

    def __len__(self) -> int:
        return len(self.time)

    def select(self, rows: slice | Bools | Integers) -> Events:
        """The events at some rows, which ascend."""
        return Events(
            self.predicate[rows], self.subject[rows], self.object[rows], self.time[rows], self.unit
        )

    def before(self, time: int) -> Events:
        """The events before a time, strictly."""
        return self.select(slice(0, int(np.searchsorted(self.time, time, "left"))))

    def moved(self, to_entity: Ids, to_predicate: Ids | None = None) -> Events:
        """The same events where entities and predicates have other ids in the same order."""
        object_ = np.where(self.object < 0, -1, to_entity[self.object]).astype(np.int32)
        predicate = self.predicate if to_predicate is None else to_predicate[self.predicate]
        return replace(self, predicate=predicate, subject=to_entity[self.subject], object=object_)

    def joined(self, other: Events) -> Events:
        """The events of both, over one table of entities and of predicates.

        Raises
        ------
        hornbeam.errors.InputError
            Where they count in different units.
        """
        check_units(self.unit, other.unit)
        pairs = zip(self.columns, other.columns, strict=True)
        return Events.from_columns((np.concatenate(two) for two in pairs), self.unit)

    @property
    def columns(self) -> tuple[Array, Array, Array, Array]:
        """Predicate, subject, object and time."""
        return self.predicate, self.subject, self.object, self.time

    def __repr__(self) -> str:
        if not len(self):
            return "Events(0)"
        first, last = (self.unit.text(int(self.time[k])) for k in (0, -1))
        return f"Events({len(self):,} from {first} to {last})"


def warn_of_no_past(events: Events, time: Ints, noun: tuple[str, str]) -> None:
    """Warn of those who ask before the first event, or at its time: they see nothing."""
    first = int(events.time[0]) if len(events) else 0
    early = int(np.count_nonzero(time <= first))
    if early:
        asked = f"1 {noun[0]} is" if early == 1 else f"{early:,} {noun[1]} are"
        start = events.unit.text(first)
        warn(f"{asked} asked before any fact (the first is at {start}): nothing is known then")


def check_units(
    unit: TimeUnit, other: TimeUnit, one: str = "one input", another: str = "another"
) -> None:
    """Refuse times of different units."""
    if unit is other:
        return
    hint = ": write dates as 2014-11-30T00:00:00, or cut timestamps to dates"
    raise InputError(
        f"times are {unit}s in {one} and {other}s in {another}; expected one unit"
        f"{hint if TimeUnit.STEP not in (unit, other) else ''}"
    )


def joined_events(
    events: Events | None, n: int, other: Events | None, others: int
) -> Events | None:
    """The events of two tables of `n` and of `others` facts; both have a time, or none has one."""
    if events is not None and other is not None:
        return events.joined(other)
    untimed = (n if events is None else 0) + (others if other is None else 0)
    timed = other if events is None else events
    if timed is not None and untimed:
        raise InputError("facts without a time beside facts with one; expected a time for all")
    return timed
