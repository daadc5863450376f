"""Paths from one entity, or between two, as exact numbers.

Where facts are 0/1 and variables may coincide, a number of paths is a product of sparse vectors:
a walk carries one count per node and merges at every step, so a sequence costs at most one pass
over the edges of its predicates, however many paths there are. Between two entities the walks from
either end meet where that costs least.

Shares of paths (see `hornbeam.counting.memory.shares`) are carried with the counts where they are
requested. Walked from the subject they equal the engine's to the last bit; walked from the object
they may differ by rounding.

The counts are in arrays over all nodes. So that a walk costs time only for the nodes that it meets,
it borrows zeroed arrays and zeroes what it has touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, part_numbers, pointers
from hornbeam.graph.adjacency import Adjacency, Graph
from hornbeam.serve import walk_kernels as kernels

#: The only step of a walk that leads nowhere: 0 is never a code.
DEAD_END = [0]


@dataclass(frozen=True, eq=False)
class StepSequences:
    """Sequences of codes: walk k takes the steps `steps[bounds[k]:bounds[k + 1]]`."""

    steps: Ints
    bounds: Ints

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> StepSequences:
        """Concatenate sequences of codes."""
        steps = np.array([code for codes in sequences for code in codes], dtype=np.int64)
        return cls(steps, np.cumsum([0, *(len(codes) for codes in sequences)]))


class StepWeights(NamedTuple):
    """Factor of a path's share per edge, forwards and backwards; empty without shares."""

    forward: Floats
    backward: Floats

    @property
    def reversed(self) -> StepWeights:
        """The weights of the same graph for walks from the other end."""
        return StepWeights(self.backward, self.forward)


NO_WEIGHTS = StepWeights(np.empty(0), np.empty(0))


class WalkCounters(NamedTuple):
    """Three arrays of zeros, one number per node, for paths, and for shares if there are any."""

    paths: Ints
    shares: Floats


class WalkArrays:
    """Counters for concurrent walks."""

    def __init__(self, n_nodes: int, shares: bool = False) -> None:
        self._n_nodes = n_nodes
        self._n_shares = n_nodes if shares else 0
        self._free: list[WalkCounters] = []

    @contextmanager
    def borrowed(self) -> Iterator[WalkCounters]:
        """Lend arrays to a walk; if it fails they are dropped, since they may not be zeros."""
        try:
            zeros = self._free.pop()
        except IndexError:
            paths = np.zeros((3, self._n_nodes), dtype=np.int64)
            zeros = WalkCounters(paths, np.zeros((3, self._n_shares)))
        yield zeros
        self._free.append(zeros)


class Ends(NamedTuple):
    """Ends of walks: the distinct `nodes`, and for every walk its rows.

    A row has an index into the nodes, a number of paths, and a share (0 where edges have no
    weights). Rows `indptr[k]:indptr[k + 1]` are those of walk k, sorted by index; so are the nodes.
    """

    nodes: Ids
    indptr: Ints
    place: Ids
    paths: Ints
    share: Floats


def ends_of(
    graph: Graph,
    weights: StepWeights,
    start: int,
    walks: StepSequences,
    wanted: Bools,
    left_out: Ids,
    arrays: WalkArrays,
) -> Ends:
    """Walk every sequence from one node to all nodes that `wanted` walks reach, except some."""
    with arrays.borrowed() as zeros:
        indptr, nodes, paths, shares = graph.walked_by(kernels.ends)(
            *graph.forward[:3], weights.forward, *zeros.paths[:2], *zeros.shares[:2],
            np.int32(start), walks.steps, walks.bounds,
        )  # fmt: skip
    walk = part_numbers(indptr)
    keep = np.zeros(graph.n_entities, dtype=np.bool_)
    keep[nodes[wanted[walk]]] = True
    keep[left_out] = False
    kept, rows = np.flatnonzero(keep).astype(np.int32), np.flatnonzero(keep[nodes])
    place_of_node = np.empty(len(keep), dtype=np.int32)  # read at the kept nodes alone
    place_of_node[kept] = np.arange(len(kept))
    sizes = np.bincount(walk[rows], minlength=len(wanted))
    return Ends(kept, pointers(sizes), place_of_node[nodes[rows]], paths[rows], shares[rows])


def paths_between(
    graph: Graph,
    weights: StepWeights,
    source: int,
    sink: int,
    walks: StepSequences,
    arrays: WalkArrays,
) -> tuple[Ints, Floats]:
    """Number of paths of every sequence from one node to another, and their shares."""
    with arrays.borrowed() as zeros:
        counts, shares = graph.walked_by(kernels.between)(
            *graph.forward[:3], weights.forward, *graph.backward[:3], weights.backward, *zeros,
            np.int32(source), np.int32(sink), walks.steps, walks.bounds,
        )  # fmt: skip
    return counts, shares


def neighbours(adjacency: Adjacency, node: int, code: int) -> Ids:
    """Nodes one step away, sorted."""
    low, high = adjacency.offsets[node], adjacency.offsets[node + 1]
    codes = adjacency.code[low:high]
    first, last = (np.searchsorted(codes, code, side=side) for side in ("left", "right"))
    return adjacency.neighbour[low + first : low + last]
