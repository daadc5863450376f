"""Timelines: when the facts about an entity, or between two entities, were true.

Every relation in one direction is a row, and every fact a dot at its time, from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.facts.table import Facts

#: Sizes in the drawing's own units, which are CSS pixels at full width.
WIDTH, LABELS, ROW_HEIGHT, AXIS = 920, 280, 26, 24
#: Rows of a timeline, those of most facts, and dots of a row, the latest.
MOST_ROWS, MOST_DOTS = 12, 400


@dataclass(frozen=True)
class EventDot:
    """A fact at a time: its place from left to right, the other entity and the time."""

    x: float
    other: str
    time: str


@dataclass(frozen=True)
class TimelineRow:
    """The facts of one relation, of which the entity is the object if it is `inverse`."""

    predicate: str
    inverse: bool
    total: int
    y: float
    dots: tuple[EventDot, ...]


@dataclass(frozen=True)
class EventTimeline:
    """Rows of dots between the first and the last time of all facts."""

    first: str
    last: str
    rows: tuple[TimelineRow, ...]
    more: int  #: number of relations without a row

    width: int = WIDTH
    labels: int = LABELS

    @property
    def height(self) -> int:
        """Height of the drawing."""
        return ROW_HEIGHT * len(self.rows) + AXIS


def timeline_about(facts: Facts, entity: int, other: int | None = None) -> EventTimeline | None:
    """The timeline of an entity, or of an entity and another one; None without any such fact."""
    events = facts.events
    if events is None or not len(events):
        return None
    first, last = int(events.time[0]), int(events.time[-1])
    columns = (events.subject, events.object), (events.object, events.subject)
    found = list[tuple[int, bool, np.ndarray]]()
    for inverse, (own, far) in enumerate(columns):
        rows = np.flatnonzero((own == entity) & (far >= 0))
        if other is not None:
            rows = rows[far[rows] == other]
        for predicate in np.unique(events.predicate[rows]).tolist():
            found.append((predicate, bool(inverse), rows[events.predicate[rows] == predicate]))
    found.sort(key=lambda row: (-len(row[2]), row[:2]))
    if not found:
        return None
    room, span = WIDTH - LABELS - 16, max(last - first, 1)
    drawn = []
    for place, (predicate, inverse, rows) in enumerate(found[:MOST_ROWS]):
        far = columns[inverse][1]
        shown = rows[-MOST_DOTS:]
        names = facts.entities.take(far[shown].tolist())
        dots = tuple(
            EventDot(LABELS + 8 + room * (time - first) / span, name, events.unit.text(time))
            for time, name in zip(events.time[shown].tolist(), names, strict=True)
        )
        y = ROW_HEIGHT * (place + 0.5)
        drawn.append(TimelineRow(facts.predicates[predicate], inverse, len(rows), y, dots))
    ends = events.unit.text(first), events.unit.text(last)
    return EventTimeline(*ends, tuple(drawn), max(len(found) - MOST_ROWS, 0))
