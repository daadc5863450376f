"""Paths from one entity, or between two, as exact numbers.

Where facts are 0/1 and variables may coincide, a number of paths is a product of sparse vectors:
a walk carries one count per node and merges at every step, so a sequence costs at most one pass
over the edges of its predicates, however many paths there are. Between two entities the walks from
either end meet where that costs least.

The counts lie in arrays of all nodes. A walk pays for the nodes that it meets and not for all: it
is lent zeros, and leaves zeros behind.
"""

# ruff: noqa: ANN001, ANN202
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Ids, Ints
from hornbeam.compiled import Kernel, kernels
from hornbeam.counting.memory.graph import Adjacency, Graph

kernel = kernels("the walks of the explorer")

#: A walk that leads nowhere: 0 is never a code.
NOWHERE = [0]
#: Where places to choose from are no more than so many times the rows, looking through them is
#: quicker than sorting the rows.
LOOKED_THROUGH = 8
#: Edges of a graph above which compiling pays.
WORTH_COMPILING = 20_000


@dataclass(frozen=True, eq=False)
class StepSequences:
    """Sequences of codes: walk k takes the steps `steps[bounds[k]:bounds[k + 1]]`."""

    steps: Ints
    bounds: Ints

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> StepSequences:
        """Lay sequences of codes one behind the other."""
        steps = np.array([code for codes in sequences for code in codes], dtype=np.int64)
        return cls(steps, np.cumsum([0, *(len(codes) for codes in sequences)]))


class WalkArrays:
    """Three arrays of zeros, one number per node, for each walk that is under way."""

    def __init__(self, n_nodes: int) -> None:
        self._n_nodes = n_nodes
        self._free: list[Ints] = []

    @contextmanager
    def lent(self) -> Iterator[Ints]:
        """Lend arrays to a walk; one that fails does not give them back, they may not be zeros."""
        try:
            zeros = self._free.pop()
        except IndexError:
            zeros = np.zeros((3, self._n_nodes), dtype=np.int64)
        yield zeros
        self._free.append(zeros)


class Ends(NamedTuple):
    """Ends of walks: the distinct `nodes`, and for every walk its rows (place among them, paths).

    Rows `indptr[k]:indptr[k + 1]` are those of walk k, sorted by place; so are the nodes.
    """

    nodes: Ids
    indptr: Ints
    place: Ids
    paths: Ints

    def reached_by(self, walk: int) -> Ids:
        """The nodes that one walk reaches."""
        return self.nodes[self.place[self.indptr[walk] : self.indptr[walk + 1]]]


def ends_of(
    adjacency: Adjacency,
    start: int,
    walks: StepSequences,
    wanted: npt.NDArray[np.bool_],
    left_out: Ids,
    arrays: WalkArrays,
) -> Ends:
    """Walk every sequence from one node, to what `wanted` walks reach but for nodes left out."""
    with arrays.lent() as zeros:
        found = _run_on(adjacency, _ends)(
            *adjacency[:3], zeros[0], zeros[1], np.int32(start), walks.steps, walks.bounds, wanted,
            left_out,
        )  # fmt: skip
    return Ends(*found)


def paths_between(
    graph: Graph, source: int, sink: int, walks: StepSequences, arrays: WalkArrays
) -> Ints:
    """Number of paths of every sequence from one node to another."""
    with arrays.lent() as zeros:
        counts: Ints = _run_on(graph.forward, _between)(
            *graph.forward[:3], *graph.backward[:3], zeros[0], zeros[1], zeros[2],
            np.int32(source), np.int32(sink), walks.steps, walks.bounds,
        )  # fmt: skip
    return counts


def _run_on(adjacency: Adjacency, kernel: Kernel) -> Callable[..., Any]:
    """A kernel for a graph: any walk may meet all of its edges."""
    return kernel.for_size(len(adjacency.neighbour), WORTH_COMPILING)


def neighbours(adjacency: Adjacency, node: int, code: int) -> Ids:
    """Nodes one step away, sorted."""
    low, high = adjacency.offsets[node], adjacency.offsets[node + 1]
    codes = adjacency.code[low:high]
    first, last = (np.searchsorted(codes, code, side=side) for side in ("left", "right"))
    return adjacency.neighbour[low + first : low + last]


def _with_room(array, size, more):
    """Give the array room for `more` behind its first `size` entries."""
    if size + more <= len(array):
        return array
    grown = np.empty(2 * (size + more), dtype=array.dtype)
    grown[:size] = array[:size]
    return grown


def _run(offsets, code, node, step):
    """Where the edges of one step stand among a node's."""
    last = offsets[node + 1]
    low = offsets[node] + np.searchsorted(code[offsets[node] : last], step)
    high = low
    while high < last and code[high] == step:
        high += 1
    return low, high


def _cost(offsets, code, frontier, step):
    """Count the edges of a step that leave the frontier."""
    edges = 0
    for node in frontier:
        low, high = _run(offsets, code, node, step)
        edges += high - low
    return edges


def _step(offsets, neighbour, code, frontier, step, here, there):
    """Carry the counts of the frontier one step, from `here` to `there`; return who has some."""
    reached, size = np.empty(16, dtype=np.int32), 0
    for u in frontier:
        low, high = _run(offsets, code, u, step)
        reached = _with_room(reached, size, high - low)
        for e in range(low, high):
            v = neighbour[e]
            if there[v] == 0:
                reached[size] = v
                size += 1
            there[v] += here[u]
        here[u] = 0
    return reached[:size]


@kernel
def _ends(offsets, neighbour, code, here, there, start, steps, bounds, wanted, left_out):
    n_walks = len(bounds) - 1
    indptr = np.zeros(n_walks + 1, dtype=np.int64)
    nodes, paths = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int64)
    total = 0
    for k in range(n_walks):
        frontier = np.full(1, start, dtype=np.int32)
        here[start] = 1
        for step in steps[bounds[k] : bounds[k + 1]]:
            frontier = _step(offsets, neighbour, code, frontier, step, here, there)
            here, there = there, here
        nodes = _with_room(nodes, total, len(frontier))
        paths = _with_room(paths, total, len(frontier))
        for u in frontier:
            nodes[total] = u
            paths[total] = here[u]
            here[u] = 0
            total += 1
        indptr[k + 1] = total
    return _placed(nodes, paths, indptr, wanted, left_out, here, there)


def _placed(nodes, paths, indptr, wanted, left_out, mark, count):
    """Keep the rows of nodes that a wanted walk reaches, with the nodes' places for the nodes.

    `mark` and `count` are zeros before and after.
    """
    n_walks = len(indptr) - 1
    for v in left_out:
        mark[v] = -1
    kept, size = np.empty(64, dtype=np.int32), 0
    for k in range(n_walks):
        if wanted[k]:
            for v in nodes[indptr[k] : indptr[k + 1]]:
                if mark[v] == 0:
                    mark[v] = 1
                    kept = _with_room(kept, size, 1)
                    kept[size] = v
                    size += 1
    kept = np.sort(kept[:size])
    for i in range(size):
        mark[kept[i]] = i + 1
    rows = 0
    new_indptr = np.zeros(n_walks + 1, dtype=np.int64)
    place, number = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=np.int64)
    for k in range(n_walks):
        first = rows
        for e in range(indptr[k], indptr[k + 1]):
            i = mark[nodes[e]] - 1
            if i >= 0:
                place[rows] = i
                count[i] = paths[e]
                rows += 1
        if size < LOOKED_THROUGH * (rows - first):
            at = first
            for i in range(size):
                if count[i] > 0:
                    place[at] = i
                    at += 1
        else:
            place[first:rows].sort()
        for row in range(first, rows):
            number[row] = count[place[row]]
            count[place[row]] = 0
        new_indptr[k + 1] = rows
    for v in kept:
        mark[v] = 0
    for v in left_out:
        mark[v] = 0
    return kept, new_indptr, place[:rows].copy(), number[:rows].copy()


@kernel
def _between(
    offsets, neighbour, code, offsets_back, neighbour_back, code_back, front, back, spare,
    source, sink, steps, bounds,
):  # fmt: skip
    """For every walk, step from the cheaper end until both meet, and multiply what is there."""
    counts = np.zeros(len(bounds) - 1, dtype=np.int64)
    for k in range(len(counts)):
        low, high = bounds[k], bounds[k + 1]
        ahead, behind = np.full(1, source, dtype=np.int32), np.full(1, sink, dtype=np.int32)
        front[source], back[sink] = 1, 1
        while low < high and len(ahead) and len(behind):
            forth, towards = steps[low], steps[high - 1] ^ 1
            cost = _cost(offsets, code, ahead, forth)
            if cost <= _cost(offsets_back, code_back, behind, towards):
                ahead = _step(offsets, neighbour, code, ahead, forth, front, spare)
                front, spare = spare, front
                low += 1
            else:
                behind = _step(
                    offsets_back, neighbour_back, code_back, behind, towards, back, spare
                )
                back, spare = spare, back
                high -= 1
        for v in ahead:
            counts[k] += front[v] * back[v]
            front[v] = 0
        for v in behind:
            back[v] = 0
    return counts
