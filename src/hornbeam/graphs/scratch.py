"""Memory for gathering candidates, used again by query after query.

It has a place for every entity and every property. To clear that much for each query would take
longer than to answer it; whoever uses it leaves it as it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Bools, Floats, Ids, Ints
from hornbeam.graphs.graph import Graph


class Scratch(NamedTuple):
    """What `gather` writes to; all but `evidence`, `is_touched`, `is_known`, `shared` may be dirty.

    Walks of a depth reached an entity where `seen` has the number of the walk, which `stamp` counts
    on and on.
    """

    node: Ids
    first: Ids
    seen: Ints
    size: Ints
    stamp: Ints
    evidence: Floats
    touched: Ids
    is_touched: Bools
    is_known: Bools
    shared: Ids
    listed: Ints
    strength: Floats

    @classmethod
    def of(cls, graph: Graph, depths: int) -> Scratch:
        """Memory for a graph and for paths of less than `depths` steps."""
        n, n_properties = graph.n_entities, len(graph.links.run_step) + graph.step_limit
        return cls(
            np.empty((depths, n), dtype=np.int32),
            np.empty((depths, n), dtype=np.int32),
            np.zeros((depths, n), dtype=np.int64),
            np.zeros(depths, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.zeros((n, 3, 5)),
            np.empty(n, dtype=np.int32),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n_properties, dtype=np.int32),
            np.empty(n_properties, dtype=np.int64),
            np.empty(n),
        )


@dataclass(frozen=True, eq=False)
class ScratchPool:
    """Memory of one graph: as many pieces as there were users at once."""

    graph: Graph
    _free: deque[Scratch] = field(default_factory=deque)

    @contextmanager
    def lent(self, depths: int) -> Iterator[Scratch]:
        """A piece that nobody else has; it is thrown away where its user fails."""
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = Scratch.of(self.graph, depths)
        if len(scratch.size) < depths:
            scratch = Scratch.of(self.graph, depths)
        yield scratch
        self._free.append(scratch)
