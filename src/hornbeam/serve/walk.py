"""Every entity that relation sequences reach from one, with exact numbers of paths.

Where facts are 0/1 and variables may coincide, a number of paths is a product of sparse vectors:
the walk carries one count a node and merges at every step, so a sequence costs at most one pass
over the edges of its predicates, however many paths there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from hornbeam.statistics.graph import Adjacency

Nodes = npt.NDArray[np.int32]


class Ends(NamedTuple):
    """Ends of walks: rows of (walk, node, number of paths), sorted by walk, then node."""

    walk: npt.NDArray[np.int64]
    node: Nodes
    paths: npt.NDArray[np.int64]


def walk_all(adjacency: Adjacency, start: int, walks: Sequence[Sequence[int]]) -> Ends:
    """Walk every sequence of codes from one node."""
    steps = np.array([code for codes in walks for code in codes], dtype=np.int64)
    bounds = np.cumsum([0, *(len(codes) for codes in walks)])
    sizes, nodes, counts = _walk_all(
        adjacency.offsets, adjacency.neighbour, adjacency.code, np.int32(start), steps, bounds
    )
    return Ends(np.repeat(np.arange(len(walks)), sizes), nodes, counts)


def neighbours(adjacency: Adjacency, node: int, code: int) -> Nodes:
    """Nodes one step away, sorted."""
    low, high = adjacency.offsets[node], adjacency.offsets[node + 1]
    codes = adjacency.code[low:high]
    first, last = (np.searchsorted(codes, code, side=side) for side in ("left", "right"))
    return adjacency.neighbour[low + first : low + last]


@njit(cache=True, nogil=True)
def _with_room(array, size, more):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Give the array room for `more` behind its first `size` entries."""
    if size + more <= len(array):
        return array
    grown = np.empty(2 * (size + more), dtype=array.dtype)
    grown[:size] = array[:size]
    return grown


@njit(cache=True, nogil=True)
def _walk_all(offsets, neighbour, code, start, steps, bounds):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    here = np.zeros(len(offsets) - 1, dtype=np.int64)
    there = np.zeros(len(offsets) - 1, dtype=np.int64)
    sizes = np.zeros(len(bounds) - 1, dtype=np.int64)
    nodes, counts = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int64)
    total = 0
    for k in range(len(bounds) - 1):
        frontier = np.full(1, start, dtype=np.int32)
        here[start] = 1
        for step in steps[bounds[k] : bounds[k + 1]]:
            reached, size = np.empty(16, dtype=np.int32), 0
            for u in frontier:
                low, high = offsets[u], offsets[u + 1]
                e = low + np.searchsorted(code[low:high], step)
                while e < high and code[e] == step:
                    v = neighbour[e]
                    if there[v] == 0:
                        reached = _with_room(reached, size, 1)
                        reached[size] = v
                        size += 1
                    there[v] += here[u]
                    e += 1
                here[u] = 0
            here, there = there, here
            frontier = reached[:size]
        frontier = np.sort(frontier)
        nodes = _with_room(nodes, total, len(frontier))
        counts = _with_room(counts, total, len(frontier))
        for u in frontier:
            nodes[total] = u
            counts[total] = here[u]
            here[u] = 0
            total += 1
        sizes[k] = len(frontier)
    return sizes, nodes[:total].copy(), counts[:total].copy()
