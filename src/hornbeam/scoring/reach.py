"""Pairs that positive rules may have groundings for, found from one argument.

From given subjects a path leads to its objects by sparse products of its relations. A condition on
the object leads to all entities that meet it, one on the subject leaves out subjects that do not.
In a conjunction all of that holds at once. An argument without any condition is one of the target's
known links (`hornbeam.scoring.proposable`). What comes out is a superset: thresholds, distinct
variables and fan-out limits are left to counting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers, Ints
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.table import Facts
from hornbeam.rules.body import AnyBody, Body, Kind, Step, free_argument

if TYPE_CHECKING:
    from scipy import sparse

#: Maximum number of starts followed at once, and roughly that of the pairs that conditions alone
#: may give them.
BLOCK = 256
MAX_PAIRS = 4_000_000


@dataclass(frozen=True, eq=False)
class Reach:
    """Where bodies lead from one argument of their target."""

    facts: Facts
    target: str
    bodies: Sequence[AnyBody]
    types: ArgumentTypes  #: which arguments fit the target
    #: 0 to follow bodies from subjects to objects, 1 the other way: the argument to start from.
    near: int = 0
    #: Which entities meet a condition; a cache.
    _met: dict[Body, Bools] = field(default_factory=dict, init=False, repr=False)
    #: Matrices of steps; a cache.
    _relations: dict[Step, sparse.csr_array] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def by_conditions(self) -> list[tuple[Bools, Bools]]:
        """Starts and ends of bodies that leave the start free, and of those that leave the end.

        Each of the starts leads to each of the ends.
        """
        nothing = np.zeros(len(self.facts.entities), dtype=np.bool_)
        groups = [(nothing, nothing), (nothing, nothing)]
        for body in self.bodies:
            free = free_argument(body)
            if free is not None:
                group = int(free != self.near)
                starts, ends = groups[group]
                groups[group] = starts | self._places(body, 0), ends | self._places(body, 1)
        return groups

    def ends_of(self, start: int, walked: Mapping[Body, Ids]) -> Ids:
        """Entities that some body leads one start to, known ones among them.

        `walked` holds the ends of every path, for callers that find them without matrices.
        """
        found = np.zeros(len(self.facts.entities), dtype=np.bool_)
        for body in self.bodies:
            if not self._places(body, 0)[start]:
                continue
            paths = [walked[part.body] for part in body.parts if part.body.is_path]
            led_to = self._places(body, 1)
            if paths:
                ends = reduce(np.intersect1d, paths)
                found[ends[led_to[ends]]] = True
            else:
                found |= led_to
        return np.flatnonzero(found).astype(np.int32)

    def blocks(self, starts: Ids) -> Iterator[tuple[int, Ids, Ids]]:
        """Pairs (start, end) that some body may have groundings for, a block of starts at a time.

        Comes with the number of starts done. Pairs that are facts are included.
        """
        width = max((self._width(body) for body in self.bodies), default=0)
        size = max(1, min(BLOCK, MAX_PAIRS // max(width, 1)))
        for low in range(0, len(starts), size):
            block = starts[low : low + size]
            row, end = self._ends_from(block)
            if len(row):
                yield low + len(block), block[row], end

    def _ends_from(self, starts: Ids) -> tuple[Ints, Ids]:
        from scipy import sparse  # late: loading it takes a quarter of a second

        chooser = sparse.csr_array(
            (np.ones(len(starts), dtype=np.int8), (np.arange(len(starts)), starts)),
            shape=(len(starts), len(self.facts.entities)),
        )
        reached = sparse.csr_array(chooser.shape, dtype=np.bool_)
        for body in self.bodies:
            reached = reached + self._followed(body, starts, chooser)
        row, end = reached.nonzero()
        kept = self.fit(starts[row], end)
        return row[kept].astype(np.int64), end[kept].astype(np.int32)

    def fit(self, starts: Integers, ends: Integers) -> Bools:
        """Which of the pairs have fitting types, and are loops only where known links are."""
        subject, object_ = (ends, starts) if self.near else (starts, ends)
        return self.types.fits(self.target, subject, object_)

    def _followed(self, body: AnyBody, starts: Ids, chooser: sparse.csr_array) -> sparse.csr_array:
        """Which entities a body leads each start to."""
        paths = [part for part in self._parts(body) if part.is_path]
        keep, ends = self._places(body, 0)[starts], self._places(body, 1)
        if not paths:  # without a path every start leads to every allowed end
            row, end = np.flatnonzero(keep), np.flatnonzero(ends)
            return _sparse(np.repeat(row, len(end)), np.tile(end, len(row)), chooser.shape)
        reached = self._walk(chooser, paths[0])
        for path in paths[1:]:
            reached = reached.multiply(self._walk(chooser, path))
        row, end = reached.nonzero()
        held = keep[row] & ends[end]
        return _sparse(row[held], end[held], chooser.shape)

    def _parts(self, body: AnyBody) -> list[Body]:
        """The conditions of a body as seen from the start."""
        return [part.body.mirror if self.near else part.body for part in body.parts]

    def _conditions(self, body: AnyBody, argument: int) -> list[Body]:
        """Conditions, not paths, on the start (0) or the end (1)."""
        parts = self._parts(body)
        return [part for part in parts if not part.is_path and part.argument == argument]

    def _places(self, body: AnyBody, argument: int) -> Bools:
        """Which entities meet a body's conditions on the start (0) or the end (1).

        Where the body leaves the argument free, those that known links of the target have there.
        """
        met = np.ones(len(self.facts.entities), dtype=np.bool_)
        place = self.near ^ argument
        if free_argument(body) == place:
            standing = self.types.standing(self.target, place)
            return met if standing is None else standing
        for part in self._conditions(body, argument):
            met &= self._meeting(part)
        return met

    def _width(self, body: AnyBody) -> int:
        """How many ends every start may have by conditions alone."""
        if any(part.is_path for part in self._parts(body)):
            return 0
        return int(np.count_nonzero(self._places(body, 1)))

    def _meeting(self, body: Body) -> Bools:
        """Which entities meet a condition that is not a path."""
        if body not in self._met:
            self._met[body] = self._entities_with(body)
        return self._met[body]

    def _entities_with(self, body: Body) -> Bools:
        facts, meeting = self.facts, np.zeros(len(self.facts.entities), dtype=np.bool_)
        constant = -1 if body.constant is None else facts.entities.index(body.constant)
        if not body.steps:
            meeting[[constant] if constant >= 0 else []] = True
            return meeting
        [step] = body.steps
        if body.kind is Kind.UNARY:
            table = facts.atoms.get(1)
            if table is not None:
                rows = table.predicate == facts.predicates.index(step.predicate)
                meeting[table.arguments[0][rows]] = True
            return meeting
        here, there = self._edges(step)
        meeting[here if body.constant is None else here[there == constant]] = True
        return meeting

    def _edges(self, step: Step) -> tuple[Ids, Ids]:
        """The ends of a step's facts; none where the facts do not have it."""
        subject, object_ = self.facts.links(step.relation)
        return (object_, subject) if step.inverse else (subject, object_)

    def _relation(self, step: Step) -> sparse.csr_array:
        if step not in self._relations:
            n = len(self.facts.entities)
            self._relations[step] = _sparse(*self._edges(step), (n, n)).astype(np.int32)
        return self._relations[step]

    def _walk(self, chooser: sparse.csr_array, body: Body) -> sparse.csr_array:
        """Which entities each chosen start reaches along a path."""
        frontier = chooser
        for step in body.steps:
            frontier = ((frontier @ self._relation(step)) > 0).astype(np.int8)
        return frontier


def _sparse(rows: Integers, columns: Integers, shape: tuple[int, int]) -> sparse.csr_array:
    from scipy import sparse

    return sparse.csr_array((np.ones(len(rows), dtype=np.bool_), (rows, columns)), shape=shape)
