"""How many groundings, or what share, a path may have at most from every entity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.graph.adjacency import Graph

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False)
class WalkBounds:
    """Bounds over the graph of an engine under a fan-out limit."""

    engine: MemoryEngine
    max_fanout: int | None = None

    @property
    def graph(self) -> Graph:
        """The graph that is walked."""
        return self.engine.limited_graph(self.max_fanout)

    @property
    def step_weights(self) -> Floats:
        """Factor of every edge in a path's share."""
        return self.engine.share_counter(self.max_fanout).step_weights

    def groundings(self, codes: Sequence[int]) -> Floats:
        """The most groundings of a path from every entity to any other.

        n(a, b) is the sum over a's first steps to u of n'(u, b), and the greatest of a sum is at
        most the sum of the greatest.
        """
        return self._most(codes, shares=False)

    def shares(self, codes: Sequence[int]) -> Floats:
        """The greatest share of a path from every entity to any other.

        It is at most 1: the matrix of a step's weights has no singular value above that.
        """
        return np.minimum(self._most(codes, shares=True), 1.0)

    def _most(self, codes: Sequence[int], shares: bool) -> Floats:
        *first, last = (self._matrix(code, shares) for code in codes)
        most: Floats = last.max(axis=1).toarray().astype(np.float64).ravel()
        for matrix in reversed(first):
            most = matrix @ most
        return most

    def _matrix(self, code: int, shares: bool) -> sparse.csr_array:
        """A step as a matrix: its edges, or their weights; parallel edges are added up."""
        if (code, shares) not in self._matrices:
            from scipy import sparse  # late: loading it takes a quarter of a second

            offsets, neighbour, codes, _ = self.graph.forward
            edges = np.flatnonzero(codes == code)
            node = np.searchsorted(offsets, edges, side="right") - 1
            entries = self.step_weights[edges] if shares else np.ones(len(edges))
            n = self.graph.n_entities
            self._matrices[code, shares] = sparse.csr_array(
                (entries, (node, neighbour[edges])), shape=(n, n)
            )
        return self._matrices[code, shares]

    @cached_property
    def _matrices(self) -> dict[tuple[int, bool], sparse.csr_array]:
        """Matrices of steps; a cache."""
        return {}
