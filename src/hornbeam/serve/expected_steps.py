"""Which queries about an entity make sense, judged by the relations that it has.

A model ranks answers of any query, even of meaningless ones such as the capital of a river. So a
page that queries everything about an entity first looks at the steps (relations and directions)
along which it has links. A step that it has makes sense; another one does to the extent that
entities with one of its steps have that other one, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from hornbeam.base.arrays import Floats, Ints, ranges
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.path_rules import SMOOTHING
from hornbeam.serve.cache import BoundedCache

#: Number of steps whose co-occurrence shares are cached.
CACHED = 2000


@dataclass(frozen=True, eq=False)
class ExpectedSteps:
    """Co-occurrence of steps among entities."""

    graph: LinkedGraph

    @cached_property
    def _rows(self) -> BoundedCache[Floats]:
        return BoundedCache(CACHED, lambda _: 1)

    def shares(self, entity: int) -> Floats:
        """How much each step is expected of an entity: 1 if it has links along it.

        Otherwise the largest share, over its steps s, of the entities with s that have the other
        one, smoothed so that few entities count for less.
        """
        own = self._steps(entity)
        expected = np.zeros(self.graph.step_limit)
        for step in own.tolist():
            row = self._rows.get(step, partial(self._co_occurrence, step))
            np.maximum(expected, row, out=expected)
        expected[own] = 1.0
        return expected

    def _steps(self, entity: int) -> Ints:
        links = self.graph.links
        runs = slice(int(links.first_run[entity]), int(links.first_run[entity + 1]))
        return links.run_step[runs].astype(np.int64)

    def _co_occurrence(self, step: int) -> Floats:
        """Share of the holders of a step that have each other one."""
        links, holders = self.graph.links, self.graph.holders(step)
        runs = ranges(links.first_run[holders], links.first_run[holders + 1])
        counts = np.bincount(links.run_step[runs], minlength=self.graph.step_limit)
        return np.asarray(counts / (len(holders) + SMOOTHING))
