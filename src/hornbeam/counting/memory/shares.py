"""Shares of paths: what part of two hubs' many paths a pair has.

The share of a pair is the sum over its paths of the product over their steps u -> v of

    1 / sqrt(out-degree of u x in-degree of v), both of the step's relation.

Over a graph of 0/1 facts such sums are propagated: from a source along the first steps of a
sequence, once for all its targets, and gathered at the last step of each target. Sequences are
gone through in order, so that those with common first steps share the work. Where paths differ in
what they may see (the target's own edge in sequences of its relation, distinct variables, soft
facts), they are walked one by one.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.arrays import Array, Floats, Ids, Ints, run_starts
from hornbeam.compiled import kernels
from hornbeam.counting.memory.conditions import LocatedPairs
from hornbeam.counting.memory.graph import Adjacency, Graph
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import ONE
from hornbeam.rules.body import MAX_LENGTH
from hornbeam.rules.codes import turned

kernel = kernels("the shares of paths")

#: Edges to walk above which compiling pays.
WORTH_COMPILING = 200_000


@dataclass(frozen=True, eq=False)
class ShareCounter:
    """Adds up shares over one graph.

    `whole` is the same graph without a fan-out limit: its degrees count.
    """

    graph: Graph
    whole: Graph

    def add(
        self,
        share: Floats,
        table: Statistics,
        sequences: Mapping[int, Sequence[int]],
        pairs: LocatedPairs,
        distinct: bool,
    ) -> None:
        """Write the shares of the rows of some bodies of one target predicate into `share`.

        `sequences` has the codes of these bodies. Where a body and target have rows of several
        truths, the share of all its paths stands in the first.
        """
        place = np.full(table.n_targets, -1, dtype=np.int64)
        place[pairs.row] = np.arange(len(pairs))
        # sequences in their order, so that neighbours share their first steps
        ordered = sorted(sequences, key=lambda i: tuple(sequences[i]))
        codes = np.zeros((len(ordered), MAX_LENGTH), dtype=np.int64)
        for k, i in enumerate(ordered):
            codes[k, : len(sequences[i])] = sequences[i]
        rows = np.concatenate([np.arange(*table.indptr[i : i + 2].tolist()) for i in ordered])
        sizes = [int(np.diff(table.indptr[i : i + 2])[0]) for i in ordered]
        rank = np.repeat(np.arange(len(ordered)), sizes)
        pair = place[table.target[rows]]
        alike = np.lexsort((pair, rank, pairs.subject[pair]))
        first = alike[run_starts(rank[alike], pair[alike])]
        rows, rank, pair = rows[first], rank[first], pair[first]
        soft = len(self.whole.forward.value) > 0
        # only a sequence of the target's own relation could meet its edge
        recursive = np.any(np.isin(codes, [pairs.own_code, turned(pairs.own_code)]), axis=1)
        one_by_one = (pairs.own[pair] & recursive[rank]) | distinct | soft
        fast, slow = np.flatnonzero(~one_by_one), np.flatnonzero(one_by_one)
        if len(fast):
            share[rows[fast]] = self._propagated(codes, pairs, rank[fast], pair[fast])
        if len(slow):
            share[rows[slow]] = self._walked(codes, pairs, rank[slow], pair[slow], distinct)

    @cached_property
    def _degrees(self) -> tuple[Ints, Ids]:
        """Every (node, code) of the whole graph as a sorted key, and how many edges above 0."""
        offsets, _, code, value = self.whole.forward
        node = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        key = node * np.int64(self.whole.n_codes) + code
        if len(value):
            key = key[value > 0]
        starts = run_starts(key)
        return key[starts], np.diff(np.append(starts, len(key))).astype(np.int32)

    def _degree(self, node: Array, code: Array) -> Ids:
        keys, size = self._degrees
        key = node.astype(np.int64) * self.whole.n_codes + code
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        found: Ids = np.where(keys[at] == key, size[at], 0)
        return found

    def _at_edges(self, adjacency: Adjacency) -> tuple[Ids, Ids]:
        """Degrees of both ends of every edge, along it."""
        offsets, neighbour, code, _ = adjacency
        node = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return self._degree(node, code), self._degree(neighbour, code ^ 1)

    @cached_property
    def _forward_degrees(self) -> tuple[Ids, Ids]:
        return self._at_edges(self.graph.forward)

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        """Weights of the steps that leave a node, and of those that may be walked to it."""
        forward = _weight(*self._forward_degrees)
        if self.graph.forward is self.graph.backward:
            return forward, forward
        return forward, _weight(*self._at_edges(self.graph.backward))

    def _work(self, source: Ids) -> int:
        """Edges of the first steps; what is walked besides is of the same order."""
        return int(np.diff(self.graph.forward.offsets)[source].sum()) + len(source)

    def _propagated(self, codes: Ints, pairs: LocatedPairs, rank: Ints, pair: Ints) -> Floats:
        forward, backward = self._weights
        source, n = pairs.subject[pair], self.graph.n_entities
        run = propagate.choose(self._work(source), WORTH_COMPILING)
        found: Floats = run(
            *self.graph.forward[:3], forward, *self.graph.backward[:3], backward, codes,
            source, pairs.object[pair], rank, np.zeros((MAX_LENGTH, n)),
            np.zeros((MAX_LENGTH, n), dtype=np.int32),
        )  # fmt: skip
        return found

    def _walked(
        self, codes: Ints, pairs: LocatedPairs, rank: Ints, pair: Ints, distinct: bool
    ) -> Floats:
        here, there = self._forward_degrees
        source = pairs.subject[pair]
        run = walk.choose(4 * self._work(source), WORTH_COMPILING)
        own = np.where(pairs.own[pair], pairs.own_code, 0).astype(np.int64)
        found: Floats = run(
            *self.graph.forward, here, there, codes, source, pairs.object[pair], own, rank,
            distinct, ONE,
        )  # fmt: skip
        return found


def _weight(here: Ids, there: Ids) -> Floats:
    return np.asarray(1.0 / np.sqrt(here.astype(np.float64) * there))


def run_of(offsets, code, node, wanted):
    """First and last edge of a code at a node."""
    low, high = offsets[node], offsets[node + 1]
    start = low + np.searchsorted(code[low:high], wanted)
    stop = start + np.searchsorted(code[start:high], wanted, side="right")
    return start, stop


def run_between(offsets, neighbour, code, node, wanted, end):
    """First and last edge of a code from a node to another."""
    low, high = run_of(offsets, code, node, wanted)
    start = low + np.searchsorted(neighbour[low:high], end)
    stop = start + np.searchsorted(neighbour[start:high], end, side="right")
    return start, stop


def edges_on(offsets, neighbour, code, node, wanted, last, end):
    """Edges that a path may go on with; where its next step is the last, those to its end."""
    if last:
        return run_between(offsets, neighbour, code, node, wanted, end)
    return run_of(offsets, code, node, wanted)


@kernel
def propagate(
    offsets, neighbour, code, weight, back_offsets, back_neighbour, back_code, back_weight, codes,
    source, sink, rank, level, touched,
):  # fmt: skip
    """Sums over paths for rows (source, sink, sequence), sorted by source, then sequence.

    `level[k]` has the sums of k steps from the present source, `touched[k]` the nodes that have
    one.
    """
    found = np.zeros(len(rank))
    sizes = np.zeros(level.shape[0], dtype=np.int64)
    reached = 0  # levels that hold the first steps of the sequence before
    last_rank = -1
    for row in range(len(rank)):
        r = rank[row]
        if row == 0 or source[row] != source[row - 1]:
            for k in range(level.shape[0]):
                for i in range(sizes[k]):
                    level[k, touched[k, i]] = 0.0
                sizes[k] = 0
            level[0, source[row]] = 1.0
            touched[0, 0] = source[row]
            sizes[0] = 1
            reached = 0
            last_rank = -1
        length = 0
        while length < codes.shape[1] and codes[r, length] > 0:
            length += 1
        if r != last_rank:
            common = 0
            if last_rank >= 0:
                while (
                    common < reached
                    and common < length - 1
                    and codes[r, common] == codes[last_rank, common]
                ):
                    common += 1
            for k in range(common, length - 1):
                for i in range(sizes[k + 1]):
                    level[k + 1, touched[k + 1, i]] = 0.0
                size = 0
                for i in range(sizes[k]):
                    u = touched[k, i]
                    start, stop = run_of(offsets, code, u, codes[r, k])
                    for edge in range(start, stop):
                        v = neighbour[edge]
                        if level[k + 1, v] == 0.0:
                            touched[k + 1, size] = v
                            size += 1
                        level[k + 1, v] += level[k, u] * weight[edge]
                sizes[k + 1] = size
            reached = length - 1
            last_rank = r
        start, stop = run_of(back_offsets, back_code, sink[row], codes[r, length - 1] ^ 1)
        total = 0.0
        for edge in range(start, stop):
            total += level[length - 1, back_neighbour[edge]] * back_weight[edge]
        found[row] = total
    return found


@kernel
def walk(
    offsets, neighbour, code, value, here, there, codes, source, sink, own, rank, distinct, one
):
    """Sums over paths for rows (source, sink, sequence), walked one by one.

    `own` is the code of the step from source to sink that no path may take and no degree counts,
    0 where it is no fact; with `distinct` no path meets a node twice.
    """
    found = np.zeros(len(rank))
    longest = codes.shape[1]
    node = np.zeros(longest + 1, dtype=np.int64)
    at = np.zeros(longest + 1, dtype=np.int64)
    stop = np.zeros(longest + 1, dtype=np.int64)
    product = np.ones(longest + 1)
    deficit = np.zeros(longest + 1, dtype=np.int64)
    for row in range(len(rank)):
        r, a, b, mine = rank[row], source[row], sink[row], own[row]
        length = 0
        while length < longest and codes[r, length] > 0:
            length += 1
        node[0] = a
        at[0], stop[0] = edges_on(offsets, neighbour, code, a, codes[r, 0], length == 1, b)
        depth = 0
        total = 0.0
        while depth >= 0:
            if at[depth] >= stop[depth]:
                depth -= 1
                continue
            edge = at[depth]
            at[depth] += 1
            u, v, c = node[depth], neighbour[edge], codes[r, depth]
            if mine > 0 and (
                (u == a and v == b and c == mine) or (u == b and v == a and c == mine ^ 1)
            ):
                continue
            if distinct:
                again = v == b and depth + 1 < length
                for k in range(depth + 1):
                    again = again or node[k] == v
                if again:
                    continue
            lost = deficit[depth]
            if len(value) > 0:
                lost += one - value[edge]
                if lost >= one:
                    continue
            out, into = here[edge], there[edge]
            if mine > 0:
                out -= (u == a and c == mine) or (u == b and c == mine ^ 1)
                into -= (v == b and c == mine) or (v == a and c == mine ^ 1)
            weight = product[depth] / np.sqrt(np.float64(out) * np.float64(into))
            if depth + 1 == length:
                total += weight
                continue
            depth += 1
            node[depth], product[depth], deficit[depth] = v, weight, lost
            at[depth], stop[depth] = edges_on(
                offsets, neighbour, code, v, codes[r, depth], depth + 1 == length, b
            )
        found[row] = total
    return found
