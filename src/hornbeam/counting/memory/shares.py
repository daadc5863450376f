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

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-calls=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints, ranges, run_starts, spliced
from hornbeam.base.compiled import kernels
from hornbeam.counting.memory.path_search import LocatedPairs
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import ONE
from hornbeam.graph.adjacency import Adjacency, Graph, places_in
from hornbeam.graph.edge_runs import edges_on, is_among, run_of
from hornbeam.rules.body import MAX_LENGTH
from hornbeam.rules.codes import inverse_code

kernel = kernels("the shares of paths")

#: Edges to walk above which compiling pays.
WORTH_COMPILING = 200_000


class ShareRows(NamedTuple):
    """Rows (sequence, source, sink), sorted by source, `pass_id`, sequence.

    `rank` is the number of the sequence. `own` is the code of the step from source to sink where
    that is a fact that the sequence may meet, else 0. Rows share their passes from a source where
    `pass_id` is the same; a target that has an `own` step has its own value.
    """

    rank: Ints
    source: Ids
    sink: Ids
    own: Ints
    pass_id: Ints


@dataclass(frozen=True, eq=False)
class ShareCounter:
    """Adds up shares over one graph.

    `whole` is the same graph without the fan-out limit; degrees are taken from it. Of the two
    degrees of a step, that at its near end is the length of a run, which a walk finds anyway. Only
    that at its far end is kept per edge.
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
        counted = np.diff(table.indptr) > 0
        ordered = sorted((i for i in sequences if counted[i]), key=lambda i: tuple(sequences[i]))
        if not ordered:
            return
        codes = np.zeros((len(ordered), MAX_LENGTH), dtype=np.int64)
        for k, i in enumerate(ordered):
            codes[k, : len(sequences[i])] = sequences[i]
        low, high = table.indptr[ordered], table.indptr[np.array(ordered) + 1]
        rows, rank = ranges(low, high), np.repeat(np.arange(len(ordered)), high - low)
        pair = place[table.target[rows]]
        # only a sequence of the target's own relation could meet its edge
        own_steps = (codes == pairs.own_code) | (codes == inverse_code(pairs.own_code))
        recursive = np.any(own_steps, axis=1)
        pass_id = np.where(pairs.own[pair] & recursive[rank], pair, -1)
        order = np.lexsort((pair, rank, pass_id, pairs.subject[pair]))
        first = order[run_starts(rank[order], pair[order])]
        rows, rank, pair, pass_id = rows[first], rank[first], pair[first], pass_id[first]
        if len(rows):
            own = np.where(pass_id >= 0, pairs.own_code, 0)
            ends = pairs.subject[pair], pairs.object[pair]
            share[rows] = self._sums(codes, ShareRows(rank, *ends, own, pass_id), distinct)

    def _sums(self, codes: Ints, rows: ShareRows, distinct: bool) -> Floats:
        """The share of every row; `codes` has the steps of every sequence, then zeros."""
        graph, n = self.graph, self.graph.n_entities
        # edges of the first and the last steps; the rest of the work is of the same order
        ends = graph.forward.degree(rows.source), graph.backward.degree(rows.sink)
        work = int(sum(map(np.sum, ends))) + len(rows.source)
        shares = np.zeros(len(rows.rank))
        walked = (graph.forward, self.forward, self.whole.forward)
        if distinct or len(self.whole.forward.value):
            walk.choose(4 * work, WORTH_COMPILING)(*walked, codes, rows, distinct, shares)
        else:
            run = propagate.choose(work, WORTH_COMPILING)
            run(
                *walked, graph.backward, self.backward, codes, rows,
                np.zeros((MAX_LENGTH, n)), np.zeros((MAX_LENGTH, n), dtype=np.int32),
                np.zeros(MAX_LENGTH, dtype=np.int64), shares,
            )  # fmt: skip
        return shares

    def grown(self, graph: Graph, new_edges: Ints) -> ShareCounter:
        """The counter over a graph without fan-out limit that has some new edges.

        A new edge changes the degree of its run: the far degree of all reversals of this run.
        """
        counter, edges = ShareCounter(graph, graph), graph.forward
        if "forward" in vars(self):
            far = spliced(self.forward, new_edges - np.arange(len(new_edges)), 0)
            for node, code in {(edges.neighbour[e], edges.code[e] ^ 1) for e in new_edges}:
                low, high = run_of(edges.offsets, edges.code, node, code)
                back = np.full(high - low, code ^ 1), np.full(high - low, node)
                far[places_in(edges, edges.neighbour[low:high], *back)] = high - low
            vars(counter)["forward"] = far
        return counter

    def _far_degrees(self, edges: Adjacency) -> Ids:
        return self.whole.degree(edges.neighbour, inverse_code(edges.code))

    @cached_property
    def forward(self) -> Ids:
        """The far degree of every step that leaves a node."""
        return self._far_degrees(self.graph.forward)

    @cached_property
    def backward(self) -> Ids:
        """The degree, where it begins, of every step that may be walked to a node, by that node."""
        if self.graph.forward is self.graph.backward:
            return self.forward
        return self._far_degrees(self.graph.backward)

    def weights(self, edges: Adjacency) -> Floats:
        """The factor of a path's share at every edge of one of the graph's adjacency lists."""
        leaving, arriving = self.whole.step_degrees(edges)
        return np.asarray(1.0 / np.sqrt(leaving.astype(np.float64) * arriving))


def degree_of(whole, node, code):  # type: ignore[no-untyped-def]
    """Number of edges of a code that leave a node."""
    start, stop = run_of(whole.offsets, whole.code, node, code)
    return stop - start


def seen_weight(u, v, c, a, b, own_code, out, into):  # type: ignore[no-untyped-def]
    """Weight of a step u -> v for a target a -> b; `own_code` is that of its own edge, or 0.

    The own edge is not walked (weight 0) and not counted in the degrees `out` and `into`.
    """
    if own_code == 0:
        return 1.0 / np.sqrt(np.float64(out) * np.float64(into))
    if (u == a and v == b and c == own_code) or (u == b and v == a and c == own_code ^ 1):
        return 0.0
    out -= (u == a and c == own_code) or (u == b and c == own_code ^ 1)
    into -= (v == b and c == own_code) or (v == a and c == own_code ^ 1)
    return 1.0 / np.sqrt(np.float64(out) * np.float64(into))


@kernel
def propagate(  # type: ignore[no-untyped-def]
    forward, into, whole, backward, back_out, codes, rows, level, touched, sizes, shares
):
    """Add up the shares of rows from source to sink, pass by pass.

    `into` has the far degree of every edge of `forward`, `back_out` of those of `backward`.

    `level[k]` has the sums of k steps from the present source, `touched[k]` the `sizes[k]` nodes
    that have one. The share of every row goes to `shares`.
    """
    offsets, neighbour, code = forward.offsets, forward.neighbour, forward.code
    back_offsets, back_neighbour, back_code = backward.offsets, backward.neighbour, backward.code
    rank, source, sink, own, pass_id = rows
    reached = 0  # levels that are still valid from the previous sequence
    last_rank = -1
    for row in range(len(rank)):
        r, a, b, own_code = rank[row], source[row], sink[row], own[row]
        if row == 0 or a != source[row - 1] or pass_id[row] != pass_id[row - 1]:
            for k in range(level.shape[0]):
                for i in range(sizes[k]):
                    level[k, touched[k, i]] = 0.0
                sizes[k] = 0
            level[0, a] = 1.0
            touched[0, 0] = a
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
                c = codes[r, k]
                met = own_code if c == own_code or c == own_code ^ 1 else 0
                for i in range(sizes[k]):
                    u = touched[k, i]
                    # the fan-out limit keeps whole runs of steps that leave a node, or none
                    start, stop = run_of(offsets, code, u, c)
                    for edge in range(start, stop):
                        v = neighbour[edge]
                        step = seen_weight(u, v, c, a, b, met, stop - start, into[edge])
                        if step == 0.0:
                            continue
                        if level[k + 1, v] == 0.0:
                            touched[k + 1, size] = v
                            size += 1
                        level[k + 1, v] += level[k, u] * step
                sizes[k + 1] = size
            reached = length - 1
            last_rank = r
        c = codes[r, length - 1]
        met = own_code if c == own_code or c == own_code ^ 1 else 0
        start, stop = run_of(back_offsets, back_code, b, c ^ 1)
        arriving = degree_of(whole, b, c ^ 1)
        total = 0.0
        for edge in range(start, stop):
            u = back_neighbour[edge]
            step = seen_weight(u, b, c, a, b, met, back_out[edge], arriving)
            total += level[length - 1, u] * step
        shares[row] = total


@kernel
def walk(graph, into, whole, codes, rows, distinct, shares):  # type: ignore[no-untyped-def]
    """Add up the shares of rows, path by path; with `distinct` no path meets a node twice.

    No path takes the `own` step of its row, and no degree counts it. `into` has the far degree of
    every edge. The share of every row goes to `shares`.
    """
    offsets, neighbour, code, value = graph
    rank, source, sink, own, _ = rows
    longest = codes.shape[1]
    node = np.zeros(longest + 1, dtype=np.int64)
    at = np.zeros(longest + 1, dtype=np.int64)
    stop = np.zeros(longest + 1, dtype=np.int64)
    product = np.ones(longest + 1)
    deficit = np.zeros(longest + 1, dtype=np.int64)
    for row in range(len(rank)):
        r, a, b, own_code = rank[row], source[row], sink[row], own[row]
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
            out = degree_of(whole, u, c)
            step = seen_weight(u, v, c, a, b, own_code, out, into[edge])
            if step == 0.0:
                continue
            if distinct:
                ends_early = v == b and depth + 1 < length
                if ends_early or is_among(node, depth + 1, v):
                    continue
            lost = deficit[depth]
            if len(value) > 0:
                lost += ONE - value[edge]
                if lost >= ONE:
                    continue
            weight = product[depth] * step
            if depth + 1 == length:
                total += weight
                continue
            depth += 1
            node[depth], product[depth], deficit[depth] = v, weight, lost
            at[depth], stop[depth] = edges_on(
                offsets, neighbour, code, v, codes[r, depth], depth + 1 == length, b
            )
        shares[row] = total
