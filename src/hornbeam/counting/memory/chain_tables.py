"""Tables of the walks of chains: their steps, where they start and how far they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Integers, Ints, added_up
from hornbeam.counting.memory.condition_rows import ConditionRows
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE
from hornbeam.graph.adjacency import Graph
from hornbeam.rules.body import MAX_CHAIN
from hornbeam.rules.codes import inverse_code


def n_ends(graph: Graph) -> int:
    """A number above that of every end of chains."""
    return graph.n_codes + graph.n_entities


@dataclass(frozen=True, eq=False)
class ChainCounts(ConditionRows):
    """Numbers of walks by condition, row and truth.

    `deficit` is the sum of 1 - x over the values x of a walk's facts in millionths, at most one
    million; `doubtful` is 1 where some value rounds to false.
    """

    condition: Ints
    row: Ints
    deficit: Ints
    doubtful: Ints
    count: Ints

    def added_up(self) -> ChainCounts:
        """Equal rows as one row with the sum of their counts."""
        *columns, count = added_up(
            self.count, self.row, self.condition, self.deficit, self.doubtful
        )
        row, condition, deficit, doubtful = columns
        return ChainCounts(condition, row, deficit, doubtful, count)

    def further(self, row: Ints, deficit: Ints, doubtful: Ints) -> ChainCounts:
        """The same walks from other rows, with one fact more each."""
        deficit = np.minimum(self.deficit + deficit, ONE)
        return replace(self, row=row, deficit=deficit, doubtful=self.doubtful | doubtful)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of up to three steps, by their number: shorter ones first.

    `levels[k]` has the sorted keys of the sequences of k + 1 steps: the place of the prefix in
    its level, and the last code.
    """

    levels: tuple[Ints, ...]
    n_codes: int

    @classmethod
    def of(cls, walks: Ints, n_codes: int) -> tuple[Sequences, Ints]:
        """The sequences of some walks and their prefixes, and the number of every walk's."""
        levels, place = list[Ints](), np.zeros(len(walks), dtype=np.int64)
        number = place.copy()
        for codes in walks.T:
            rows = np.flatnonzero(codes)
            key = pair_keys(place[rows], codes[rows], n_codes)
            level, place[rows] = np.unique(key, return_inverse=True)
            number[rows] = sum(map(len, levels)) + place[rows]
            levels.append(level)
        return cls(tuple(levels), n_codes), number

    def first(self, level: int) -> int:
        """Number of the first sequence of a level."""
        return sum(map(len, self.levels[:level]))

    def go_on(self, length: int) -> Bools:
        """Which sequences of so many steps are the beginning of a longer one."""
        on = np.zeros(len(self.levels[length - 1]), dtype=np.bool_)
        if length < len(self.levels):
            on[self.levels[length] // self.n_codes] = True
        return on

    @cached_property
    def codes(self) -> Ints:
        """The codes of every sequence, padded with 0."""
        tables = [np.zeros((1, MAX_CHAIN), dtype=np.int64)]
        for level, keys in enumerate(self.levels):
            prefix, code = np.divmod(keys, self.n_codes)
            table = tables[-1][prefix]
            table[:, level] = code
            tables.append(table)
        return np.concatenate([tables[0][:0], *tables[1:]])

    def extended(self, keys: Ints) -> Sequences:
        """These sequences with the keys of one level more."""
        return replace(self, levels=(*self.levels, keys))


@dataclass(frozen=True, eq=False)
class WalkedChains:
    """Chains and their walks, how many lead through hubs, and how many were not made longer."""

    sequences: Sequences
    counts: ChainCounts
    n_hubs: int
    n_left: int  #: chains whose walks one step further are more than `MAX_WALKS`

    def mention(self, code: int) -> Bools:
        """Which sequences have a step along the predicate of a code."""
        codes = self.sequences.codes
        return np.asarray(((codes == code) | (codes == inverse_code(code))).any(axis=1))


@dataclass(frozen=True, eq=False)
class ChainStarts:
    """Where walks start: entities, or pairs at one of their arguments."""

    node: Integers
    size: Ints  #: number of pairs of every start
    #: Of pairs: the other argument, and the code of the pair's own fact from its node.
    other: Integers | None = None
    own_code: int = 0
    distinct: bool = False  #: whether a walk meets no entity twice, nor the other argument


@dataclass(frozen=True, eq=False)
class ChainLevel(ConditionRows):
    """The ends of walks of one length; `start` is 0 where walks of several starts meet."""

    sequence: Ints  #: place in its level
    node: Ints
    start: Ints
    walks: Ints  #: number of walks from all starts
    met: Ints  #: with distinct variables, the entities that the walk must not meet


@dataclass(frozen=True, eq=False)
class ChainSteps(ConditionRows):
    """Steps from the rows of one level to those of the next."""

    origin: Ints
    sequence: Ints
    code: Ints
    node: Ints
    deficit: Ints
    doubtful: Ints

    def counts(self, condition: Ints) -> ChainCounts:
        """The steps as the last of chains, by their conditions."""
        ones = np.ones(len(condition), dtype=np.int64)
        return ChainCounts(condition, self.origin, self.deficit, self.doubtful, ones)


class PassedSteps(NamedTuple):
    """Steps to the rows of a level, sorted by row."""

    steps: ChainSteps
    row: Ints


class WalkedPart(NamedTuple):
    """One step from some rows of a level: keys of the sequences, and where to walk on."""

    keys: Ints
    further: ChainSteps
    counts: Sequence[ChainCounts]
    n_hubs: int
