"""Paths whose atoms were true one after the other, as `[after visits]` says.

A path holds if every atom has an event such that each is later than the neighbour that it comes
after, all of them before the time of the target. No snapshot knows this, so it is counted over the
events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Ints, pointers
from hornbeam.counting.event_index import EventIndex, earlier
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.rules.body import Body, Step

#: First atoms of paths that are walked at once.
MAX_ATOMS = 1_000_000


@dataclass(frozen=True, eq=False)
class WalkedPaths:
    """Paths over events: the row of the target of each, its nodes, and its atoms, by step."""

    row: Ints
    nodes: tuple[Ints, ...]
    atoms: tuple[Ints, ...]

    def taken(self, rows: Ints | Bools) -> WalkedPaths:
        """Some of the paths."""
        nodes, atoms = (tuple(c[rows] for c in some) for some in (self.nodes, self.atoms))
        return WalkedPaths(self.row[rows], nodes, atoms)

    def lengthened(self, path: Ints, node: Ints, atom: Ints) -> WalkedPaths:
        """Paths, by their places, each with one more atom that leads to a node."""
        longer = self.taken(path)
        return WalkedPaths(longer.row, (*longer.nodes, node), (*longer.atoms, atom))


def count_ordered(
    facts: Facts, index: EventIndex, targets: Targets, body: Body, distinct: bool
) -> tuple[Ints, Ints, Ints]:
    """Rows of targets, body truths in millionths, and numbers of paths of an ordered body.

    Examples
    --------
    >>> from hornbeam import read_facts, read_pairs
    >>> from hornbeam.language.time_brackets import EVER
    >>> facts = read_facts([("a", "p", "x", 1), ("x", "q", "b", 2), ("x", "q", "b", 5)], time=4)
    >>> pairs = read_pairs([("a", "t", "b", 2), ("a", "t", "b", 3)], time=4)
    >>> body = Body((Step("p", when=EVER), Step("q", when=EVER, after=-1)), "t")
    >>> count_ordered(facts, EventIndex.of(facts), pairs, body, distinct=False)[0].tolist()
    [1]
    """
    to_entity = targets.entities.translate(facts.entities).astype(np.int64)
    subject, object_ = to_entity[targets.subject], to_entity[targets.object]
    asked = (subject >= 0) & (object_ >= 0)
    asked &= targets.predicate == targets.predicates.index(body.target)
    if distinct and body.head_arity > 1:
        asked &= subject != object_
    row, truth = list[Ints](), list[Ints]()
    assert targets.time is not None
    for rows in _portions(np.flatnonzero(asked), index.degree(subject)):
        walked = _walked(index, facts.predicates, body, rows, subject, object_, targets.time)
        if distinct:
            walked = walked.taken(_are_distinct(walked))
        held, _ = in_order(index, body.steps, walked.atoms, targets.time[walked.row])
        walked = walked.taken(held)
        row.append(walked.row)
        truth.append(_truths(facts, index, walked))
    rows, truths = (np.concatenate([*some, np.empty(0, np.int64)]) for some in (row, truth))
    key, number = np.unique(rows[truths > 0] * (ONE + 1) + truths[truths > 0], return_counts=True)
    return *np.divmod(key, ONE + 1), number


def in_order(
    index: EventIndex, steps: Sequence[Step], atoms: Sequence[Ints], time: Ints
) -> tuple[Bools, Ints]:
    """Which paths have events in the order of their steps before a time, and their times.

    The times, one row per step, are the latest ones, from the last step back.

    Each atom's events that fit what comes before it on the path are a range: later than the first
    event of the atom before it that fits, or earlier than the last.
    """
    low, high = list[Ints](), list[Ints]()
    held = np.ones(len(time), dtype=np.bool_)
    for k, (step, atom) in enumerate(zip(steps, atoms, strict=True)):
        first, last = index.starts[atom], index.places_before(atom, time)
        if step.when.kind == "last":
            first = index.places_before(atom, earlier(time, step.when.span(index.unit)))
        held &= last - first >= step.when.at_least
        if step.after < 0:
            first = np.maximum(first, index.places_before(atom, _time(index, low[-1]) + 1))
        if k and steps[k - 1].after > 0:
            last = np.minimum(last, index.places_before(atom, _time(index, high[-1] - 1)))
            held &= step.after >= 0  # else each of two atoms would be later than the other
        held &= first < last
        low.append(first)
        high.append(last)
    times = np.zeros((len(steps), len(time)), dtype=np.int64)
    for k in reversed(range(len(steps))):
        last = high[k]
        if k + 1 < len(steps) and steps[k + 1].after < 0:
            last = np.minimum(last, index.places_before(atoms[k], times[k + 1]))
        times[k] = _time(index, last - 1)
    return held, times


def atoms_between(
    index: EventIndex, predicates: Names, step: Step, here: Ints, there: Ints
) -> Ints:
    """The atom that leads along a step from each entity to another, -1 where there is none."""
    subject, object_ = (there, here) if step.inverse else (here, there)
    return index.atoms_of(predicates.index(step.predicate), subject, object_)


def _walked(
    index: EventIndex,
    predicates: Names,
    body: Body,
    rows: Ints,
    subject: Ints,
    object_: Ints,
    time: Ints,
) -> WalkedPaths:
    """The paths of a body from subjects to objects, whose atoms were true as its steps say."""
    walked = WalkedPaths(rows, (subject[rows],), ())
    for step in body.steps[:-1]:
        here = walked.nodes[-1]
        path, atom = index.atoms_at(here)
        near, far = index.subject[atom], index.object[atom]
        near, far = (far, near) if step.inverse else (near, far)
        keep = (index.predicate[atom] == predicates.index(step.predicate)) & (near == here[path])
        keep &= far >= 0
        path, atom, far = path[keep], atom[keep], far[keep]
        keep = index.holds(step.when, atom, time[walked.row[path]])
        walked = walked.lengthened(path[keep], far[keep], atom[keep])
    end = object_[walked.row]
    atom = atoms_between(index, predicates, body.steps[-1], walked.nodes[-1], end)
    found = np.flatnonzero(atom >= 0)
    return walked.lengthened(found, end[found], atom[found])


def _are_distinct(walked: WalkedPaths) -> Bools:
    """Which paths meet no entity twice; the ends of a cycle are one variable."""
    held = np.ones(len(walked.row), dtype=np.bool_)
    inner = walked.nodes[1:-1]
    for k, node in enumerate(inner):
        for other in (walked.nodes[0], walked.nodes[-1], *inner[:k]):
            held &= node != other
    return held


def _truths(facts: Facts, index: EventIndex, walked: WalkedPaths) -> Ints:
    """The truth of the body of every path, in millionths: 0 where it is false."""
    total = np.full(len(walked.row), ONE, dtype=np.int64)
    for atom in walked.atoms:
        values = index.values(facts, atom)
        total += 0 if values is None else values.astype(np.int64) - ONE
    return np.maximum(total, 0)


def _portions(rows: Ints, size: Ints) -> Iterator[Ints]:
    """Rows in portions that each have about `MAX_ATOMS` atoms."""
    part = pointers(size[rows])[:-1] // MAX_ATOMS
    return iter(np.split(rows, np.flatnonzero(np.diff(part)) + 1))


def _time(index: EventIndex, place: Ints) -> Ints:
    """The times of events by their places; any where there are none."""
    return index.time[np.clip(place, 0, len(index.time) - 1)]
