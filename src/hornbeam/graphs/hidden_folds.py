"""Hidden folds: links that are taken out of the graph to become training queries.

A random fold of *all* relations' links is hidden, everything that a ranking model sees
(confidences, constants, ridge, features) is computed without it, and its links are the queries to
learn from. So training queries look like those of missing links. Leaving out one link at a time
does not: the answers of its own relation would still be there in a number that tells it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hornbeam.graphs.graph_settings import Extent
from hornbeam.graphs.linked_graph import LinkedGraph


def hidden_folds(
    graph: LinkedGraph, extent: Extent, seed: int
) -> Iterator[tuple[LinkedGraph, LinkedGraph]]:
    """Pairs of the graph without a fold and that fold, as many as the extent asks for."""
    fold = np.random.default_rng([seed, 0]).permutation(len(graph)) % extent.folds
    for number in range(extent.hidden):
        yield graph.select(fold != number), graph.select(fold == number)
