"""Shares of paths: their number, normalised by the degrees of the entities on them.

So paths through hubs count less. The share of a pair is the sum over its paths of the product over
their steps u -> v of

    1 / sqrt(out-degree of u x in-degree of v), both of the step's relation.

Over a graph of 0/1 facts such sums are propagated: from a source along the first steps of a
sequence, once for all its targets, and gathered at the last step of each target. Sequences are
processed in order, so that those with common first steps share the work. A target that is a fact
has a pass of its own for the sequences of its relation: its own edge is not walked, and counts in
no degree. With distinct variables or soft facts paths are walked one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Array, Floats, Ids, Ints, part_numbers, run_starts
from hornbeam.counting.memory.conditions import LocatedPairs
from hornbeam.counting.memory.share_kernels import propagate, walk
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE
from hornbeam.graph.adjacency import Adjacency, Graph
from hornbeam.rules.body import MAX_LENGTH
from hornbeam.rules.codes import inverse_code

#: Edges to walk above which compiling pays.
WORTH_COMPILING = 200_000


@dataclass(frozen=True, eq=False)
class ShareCounter:
    """Adds up shares over one graph.

    `whole` is the same graph without the fan-out limit; degrees are taken from it.
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
        truths, the share of all its paths is in the first.
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
        # only a sequence of the target's own relation could meet its edge
        recursive = np.any(np.isin(codes, [pairs.own_code, inverse_code(pairs.own_code)]), axis=1)
        pass_id = np.where(pairs.own[pair] & recursive[rank], pair, -1)
        alike = np.lexsort((pair, rank, pass_id, pairs.subject[pair]))
        first = alike[run_starts(rank[alike], pair[alike])]
        rows, rank, pair, pass_id = rows[first], rank[first], pair[first], pass_id[first]
        if not len(rows):
            return
        if distinct or len(self.whole.forward.value):
            share[rows] = self._walked(codes, pairs, rank, pair, distinct)
        else:
            share[rows] = self._propagated(codes, pairs, rank, pair, pass_id)

    @cached_property
    def _degrees(self) -> tuple[Ints, Ids]:
        """Sorted keys (node, code) of the whole graph, and their numbers of edges."""
        offsets, _, code, _ = self.whole.forward
        key = pair_keys(part_numbers(offsets), code, self.whole.n_codes)
        starts = run_starts(key)
        return key[starts], np.diff(np.append(starts, len(key))).astype(np.int32)

    def _degree(self, node: Array, code: Array) -> Ids:
        keys, size = self._degrees
        key = pair_keys(node, code, self.whole.n_codes)
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        found: Ids = np.where(keys[at] == key, size[at], 0)
        return found

    def _at_edges(self, adjacency: Adjacency) -> tuple[Ids, Ids]:
        """Out-degree and in-degree of the step along every edge."""
        offsets, neighbour, code, _ = adjacency
        node = part_numbers(offsets)
        return self._degree(node, code), self._degree(neighbour, inverse_code(code))

    @cached_property
    def _forward(self) -> EdgeWeights:
        """Weights of the steps that leave a node."""
        return EdgeWeights.of(*self._at_edges(self.graph.forward))

    @cached_property
    def _backward(self) -> EdgeWeights:
        """Weights of the steps that may be walked to a node, by that node."""
        if self.graph.forward is self.graph.backward:
            return self._forward
        return EdgeWeights.of(*self._at_edges(self.graph.backward))

    @property
    def step_weights(self) -> Floats:
        """Factor of a path's share for every edge of the graph, walked forwards."""
        return self._forward.weight

    @property
    def steps_back(self) -> Floats:
        """Factors of the edges that may be walked to a node, by that node; see `step_weights`."""
        return self._backward.weight

    def _work(self, source: Ids) -> int:
        """Edges of the first steps; the rest of the work is of the same order."""
        return int(self.graph.forward.degree(source).sum()) + len(source)

    def _propagated(
        self, codes: Ints, pairs: LocatedPairs, rank: Ints, pair: Ints, pass_id: Ints
    ) -> Floats:
        source, n = pairs.subject[pair], self.graph.n_entities
        run = propagate.choose(self._work(source), WORTH_COMPILING)
        own, found = np.where(pass_id >= 0, pairs.own_code, 0), np.zeros(len(rank))
        run(
            *self.graph.forward[:3], *self._forward, *self.graph.backward[:3], *self._backward,
            codes, source, pairs.object[pair], own, pass_id, rank, np.zeros((MAX_LENGTH, n)),
            np.zeros((MAX_LENGTH, n), dtype=np.int32), np.zeros(MAX_LENGTH, dtype=np.int64), found,
        )  # fmt: skip
        return found

    def _walked(
        self, codes: Ints, pairs: LocatedPairs, rank: Ints, pair: Ints, distinct: bool
    ) -> Floats:
        out_degree, in_degree, _ = self._forward
        source = pairs.subject[pair]
        run = walk.choose(4 * self._work(source), WORTH_COMPILING)
        own = np.where(pairs.own[pair], pairs.own_code, 0)
        found: Floats = run(
            *self.graph.forward, out_degree, in_degree, codes, source, pairs.object[pair], own,
            rank, distinct, ONE,
        )  # fmt: skip
        return found


class EdgeWeights(NamedTuple):
    """Out-degree, in-degree and weight of the step along every edge."""

    out_degree: Ids
    in_degree: Ids
    weight: Floats

    @classmethod
    def of(cls, out_degree: Ids, in_degree: Ids) -> EdgeWeights:
        """Weights by degrees."""
        weight = 1.0 / np.sqrt(out_degree.astype(np.float64) * in_degree)
        return cls(out_degree, in_degree, weight)
