"""Counts chains: walks of up to three steps from one argument of the pairs to any end.

Pairs of one entity have the same walks, but for those over a pair's own fact and, with distinct
variables, over its other argument. So walks start at every entity once, and meet where they reach
an entity by the same steps:

    forwards     from level to level, a row per sequence of steps and entity that it reaches
    backwards    the ends of a level are carried to the starts, added up at every level

An *end* is a number: 0 for any entity, the code of a unary fact about it, or the number of the
entity as a constant. A sequence is walked further only where it covers enough pairs itself and does
not lead through hubs.

Pairs that are facts are walked apart by the chains that have their predicate: every such pair is a
start of its own, which does not walk its own fact. With distinct variables all pairs are, and walks
that meet an entity again end; a constant is not a variable, and may be any entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Bools, Integers, Ints, ranges, run_starts
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.chain_tables import (
    ChainCounts,
    ChainLevel,
    ChainStarts,
    ChainSteps,
    PassedSteps,
    Sequences,
    WalkedChains,
    WalkedPart,
    n_ends,
)
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.table import HALF, ONE
from hornbeam.graph.adjacency import Adjacency, Graph
from hornbeam.rules.body import MAX_CHAIN
from hornbeam.rules.codes import HUB_WALKS, MAX_WALKS, WALKING, inverse_code

#: About the maximum number of steps, or of walks to constants, that are held at a time.
BATCH = 2_000_000


@dataclass(frozen=True, eq=False)
class ChainWalks:
    """Counts chains from some starts over one graph: all, or those of the `wanted` conditions.

    Conditions are given by keys: the number of a sequence times `n_ends`, plus the number of an
    end.
    """

    whole: Graph
    forward: Adjacency  #: the steps that may be walked
    facts: Adjacency  #: unary facts by entity
    starts: ChainStarts
    max_atoms: int
    min_pairs: int = 1  #: chains of fewer pairs need not be counted
    known: Sequences | None = None  #: the only sequences to walk
    wanted: Ints | None = None  #: sorted keys of the conditions to count

    @property
    def n_codes(self) -> int:
        """A number above every code."""
        return self.whole.n_codes

    @property
    def n_ends(self) -> int:
        """A number above that of every end."""
        return n_ends(self.whole)

    def counted(self, progress: Progress = SILENT) -> WalkedChains:
        """Count chains by start, level by level, in parts of whole sequences."""
        sequences = self.known or Sequences((), self.n_codes)
        level, passed = self._first_level(), list[PassedSteps]()
        counts, n_hubs, n_left = list[ChainCounts](), 0, 0
        longest = min(MAX_CHAIN, self.max_atoms)
        for length in range(1, longest + 1):
            rows, beyond = self._affordable(level, length, passed)
            n_left += beyond
            if not len(rows):
                break
            batches = _batches(level.sequence[rows], self._n_steps(level.node[rows]))
            keys, further = list[Ints](), list[ChainSteps]()
            for k, batch in enumerate(batches):
                before = sum(map(len, keys))
                part = self._walked(sequences, level, rows[batch], length, before, passed)
                keys.append(part.keys)
                counts += map(self._frequent, part.counts)
                n_hubs += part.n_hubs
                if length < longest:
                    further.append(part.further)
                done = (length - 1) * len(batches) + k + 1
                progress.advance(WALKING, done, longest * len(batches))
            if self.known is None:
                sequences = sequences.extended(np.concatenate(keys))
            if length < longest:
                level, reached = self._next_level(level, ChainSteps.united(further))
                passed.append(reached)
        return WalkedChains(sequences, ChainCounts.united(counts), n_hubs, n_left)

    def _affordable(
        self, level: ChainLevel, length: int, passed: Sequence[PassedSteps]
    ) -> tuple[Ints, int]:
        """Rows of a level that are walked on from, and how many sequences are left out.

        Sequences of the fewest walks one step further are walked on first, see `MAX_WALKS`.
        """
        rows, n = np.arange(len(level.node)), self.whole.n_entities
        if self.known is not None or length == 1:
            return rows, 0
        zero = np.zeros_like(rows)
        ends = ChainCounts(pair_keys(level.sequence, level.node, n), rows, zero, zero, zero)
        ends = self._from_starts(ends, passed)
        sequence, node = np.divmod(ends.condition[run_starts(ends.row, ends.condition)], n)
        present, group = np.unique(sequence, return_inverse=True)
        forecast = np.bincount(group, self._n_steps(node), len(present))
        distinct, rank = np.unique(forecast, return_inverse=True)
        few = (np.cumsum(np.bincount(rank, forecast, len(distinct))) <= MAX_WALKS)[rank]
        return rows[contained(level.sequence, present[few])], int(np.count_nonzero(~few))

    def _n_steps(self, node: Ints) -> Ints:
        """Numbers of steps that leave entities."""
        offsets = self.forward.offsets
        return np.asarray(offsets[node + 1] - offsets[node])

    def _walked(
        self,
        sequences: Sequences,
        level: ChainLevel,
        rows: Ints,
        length: int,
        before: int,
        passed: Sequence[PassedSteps],
    ) -> WalkedPart:
        """Walk one step from some rows of a level; parts before had so many sequences."""
        keys, steps = self._steps(sequences, level, rows, length)
        walked, n_hubs = self._apart(level, steps), 0
        first, parts = sequences.first(length - 1), list[ChainCounts]()
        if self.known is None:
            first += before
        free = self._from_starts(walked.counts(self._key(first, walked, 0)), passed)
        if self.known is None:
            covers = self._may_cover(free, first, len(keys))
            hub = self._through_hubs(free, level, walked, first, len(keys))
            n_hubs = int((covers & hub).sum())
            # a constant that is no variable may be met again, and cover more pairs than that
            steps = steps.take((~hub if self.starts.distinct else covers & ~hub)[steps.sequence])
            walked = walked.take(covers[walked.sequence])
            further = walked.take(~hub[walked.sequence])
            further = replace(further, sequence=before + further.sequence)
        else:
            further = walked.take(sequences.go_on(length)[walked.sequence])
        if length > 1:
            parts += [free, *self._to_constants(level, steps, first, passed)]
        if length < self.max_atoms:
            parts.append(self._from_starts(self._to_facts(level, walked, first), passed))
        return WalkedPart(keys, further, parts, n_hubs)

    def _key(self, first: int, steps: ChainSteps, end: Integers | int) -> Ints:
        """Conditions whose walks end with the steps."""
        return pair_keys(first + steps.sequence, end, self.n_ends)

    def _first_level(self) -> ChainLevel:
        node = self.starts.node.astype(np.int64)
        zero, other = np.zeros_like(node), self.starts.other
        start = zero if other is None else np.arange(len(node))
        met = np.empty((len(node), 0), dtype=np.int64)
        if other is not None and self.starts.distinct:
            met = np.stack([node, other], axis=1)
        return ChainLevel(zero, node, start, np.ones_like(node), met)

    def _steps(
        self, sequences: Sequences, level: ChainLevel, rows: Ints, length: int
    ) -> tuple[Ints, ChainSteps]:
        """All steps that leave some rows of a level, but for a pair's own fact.

        Their sequences are places among the keys, which are given too.
        """
        node = level.node[rows]
        edge = ranges(self.forward.offsets[node], self.forward.offsets[node + 1])
        origin = np.repeat(rows, self._n_steps(node))
        code = self.forward.code[edge].astype(np.int64)
        node = self.forward.neighbour[edge].astype(np.int64)
        keep = ~self._are_own(level, origin, code, node)
        key = pair_keys(level.sequence[origin], code, self.n_codes)
        if self.known is None:
            keys, place = np.unique(key[keep], return_inverse=True)
        else:
            keys = sequences.levels[length - 1]
            keep &= contained(key, keys)
            place = np.searchsorted(keys, key[keep])
        columns = origin[keep], place, code[keep], node[keep]
        return keys, ChainSteps(*columns, *self._softness(self.forward, edge[keep]))

    def _softness(self, adjacency: Adjacency, edge: Ints) -> tuple[Ints, Ints]:
        """Deficit of facts, and whether they are doubtful."""
        if not len(adjacency.value):
            return np.zeros_like(edge), np.zeros_like(edge)
        value = adjacency.value[edge].astype(np.int64)
        return ONE - value, (value < HALF).astype(np.int64)

    def _are_own(self, level: ChainLevel, origin: Ints, code: Ints, node: Ints) -> Bools:
        """Which steps walk the own fact of the pair that they started from."""
        starts = self.starts
        if starts.other is None:
            return np.zeros(len(code), dtype=np.bool_)
        start, here = level.start[origin], level.node[origin]
        at_node, at_other = starts.node[start], starts.other[start]
        forth = (code == starts.own_code) & (here == at_node) & (node == at_other)
        back = (code == inverse_code(starts.own_code)) & (here == at_other) & (node == at_node)
        return np.asarray(forth | back)

    def _apart(self, level: ChainLevel, steps: ChainSteps) -> ChainSteps:
        """The steps to entities that a walk has not met, where variables are distinct."""
        if not self.starts.distinct:
            return steps
        return steps.take((level.met[steps.origin] != steps.node[:, None]).all(axis=1))

    def _next_level(self, level: ChainLevel, steps: ChainSteps) -> tuple[ChainLevel, PassedSteps]:
        """The rows that steps lead to, and the steps by the row that they lead to."""
        start, walks = level.start[steps.origin], level.walks[steps.origin]
        if self.starts.distinct:  # every walk has its own past
            met = np.concatenate([level.met[steps.origin], steps.node[:, None]], axis=1)
            reached = ChainLevel(steps.sequence, steps.node, start, walks, met)
            return reached, PassedSteps(steps, np.arange(len(steps.node)))
        order = np.lexsort((steps.node, steps.sequence, start))
        columns = [column[order] for column in (steps.sequence, steps.node, start)]
        first = run_starts(*columns)
        row = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
        walks = np.bincount(row, walks[order], len(first)).astype(np.int64)
        sequence, node, start = (column[first] for column in columns)
        reached = ChainLevel(sequence, node, start, walks, np.empty((len(first), 0), np.int64))
        return reached, PassedSteps(steps.take(order), row)

    def _to_facts(self, level: ChainLevel, steps: ChainSteps, first: int) -> ChainCounts:
        """The steps that end in an entity with unary facts, once per fact."""
        low, high = self.facts.offsets[steps.node], self.facts.offsets[steps.node + 1]
        fact = ranges(low, high)
        ending = steps.take(np.repeat(np.arange(len(steps.node)), high - low))
        code = self.facts.code[fact].astype(np.int64)
        deficit, doubtful = self._softness(self.facts, fact)
        counts = ending.counts(self._key(first, ending, code))
        if self.starts.other is not None:
            # of a target on one entity, the own fact is unary
            start = level.start[ending.origin]
            node, other = self.starts.node[start], self.starts.other[start]
            own = (code == self.starts.own_code) & (ending.node == node) & (node == other)
            counts, deficit, doubtful = counts.take(~own), deficit[~own], doubtful[~own]
        return counts.further(counts.row, deficit, doubtful)

    def _to_constants(
        self, level: ChainLevel, steps: ChainSteps, first: int, passed: Sequence[PassedSteps]
    ) -> Iterator[ChainCounts]:
        """The steps by the entities that they end in, in batches."""
        key = self._key(first, steps, self.n_codes + steps.node)
        walks = level.walks[steps.origin]
        if self.wanted is not None:
            keep = np.flatnonzero(contained(key, self.wanted))
            key, walks, steps = key[keep], walks[keep], steps.take(keep)
        else:
            distinct, place, group = np.unique(key, return_index=True, return_inverse=True)
            frequent = np.bincount(group, walks, len(distinct)) >= self.min_pairs
            # an entity that one fact leads to repeats the chain to the fact's other entity
            frequent &= self.whole.degree(steps.node[place], inverse_code(steps.code[place])) > 1
            keep = np.flatnonzero(frequent[group])
            key, walks, steps = key[keep], walks[keep], steps.take(keep)
        for rows in _batches(key, walks):
            counts = self._from_starts(steps.take(rows).counts(key[rows]), passed)
            yield counts if self.known is not None else self._of_many(counts)

    def _of_many(self, counts: ChainCounts) -> ChainCounts:
        """The counts of conditions that hold for enough different entities."""
        sure = counts.doubtful == 0
        node = self.starts.node[counts.row[sure]]
        held = np.unique(pair_keys(counts.condition[sure], node, self.n_ends)) // self.n_ends
        distinct, size = np.unique(held, return_counts=True)
        return counts.take(contained(counts.condition, distinct[size >= self.min_pairs]))

    def _from_starts(self, counts: ChainCounts, passed: Sequence[PassedSteps]) -> ChainCounts:
        """Carry the ends of walks back to their starts."""
        if self.wanted is not None:
            counts = counts.take(contained(counts.condition, self.wanted))
        counts = counts.added_up()
        for steps, row in reversed(passed):
            bounds = np.searchsorted(row, [counts.row, counts.row + 1])
            step = ranges(*bounds)
            repeated = counts.take(np.repeat(np.arange(len(counts.row)), bounds[1] - bounds[0]))
            counts = repeated.further(
                steps.origin[step], steps.deficit[step], steps.doubtful[step]
            ).added_up()
        return counts

    def _may_cover(self, free: ChainCounts, first: int, n: int) -> Bools:
        """Which sequences of a level may cover enough pairs."""
        sure = free.doubtful == 0
        place = free.condition[sure] // self.n_ends - first
        covered: Bools = np.bincount(place, self.starts.size[free.row[sure]], n) >= self.min_pairs
        return covered

    def _through_hubs(
        self, free: ChainCounts, level: ChainLevel, steps: ChainSteps, first: int, n: int
    ) -> Bools:
        """Which sequences of a level lead through hubs (see `HUB_WALKS`), by all their walks."""
        place = free.condition // self.n_ends - first
        walks = np.bincount(steps.sequence, level.walks[steps.origin], n)
        # walks of several truths are several rows of a start
        starts = np.bincount(place[run_starts(free.row, place)], minlength=n)
        reached = np.unique(pair_keys(steps.sequence, steps.node, self.whole.n_entities))
        ends = np.bincount(reached // self.whole.n_entities, minlength=n)
        few = (walks <= HUB_WALKS * starts) | (walks <= 2 * ends) | (ends <= HUB_WALKS)
        return ~few

    def _frequent(self, counts: ChainCounts) -> ChainCounts:
        """The counts of conditions that may cover enough pairs."""
        if self.min_pairs == 1:
            return counts
        distinct, group = np.unique(counts.condition, return_inverse=True)
        size = self.starts.size[counts.row] * (counts.doubtful == 0)
        return counts.take((np.bincount(group, size, len(distinct)) >= self.min_pairs)[group])


def _batches(group: Ints, size: Ints) -> list[Ints]:
    """Rows in batches of whole groups, in their order, with sizes of about `BATCH` in all."""
    if not len(group):
        return []
    order = np.argsort(group, kind="stable")
    first = run_starts(group[order])
    batch = np.cumsum(np.add.reduceat(size[order], first)) // BATCH
    return np.split(order, first[run_starts(batch)[1:]])
