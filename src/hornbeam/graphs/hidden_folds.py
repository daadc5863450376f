"""Hidden folds: links that are taken out of the graph to become training queries.

A random fold of *all* relations' links is hidden, everything that a ranking model sees (confidences,
constants, ridge, features) is computed without it, and its links are the queries to learn from. So
training queries look like those of missing links. Leaving out one link at a time does not: the
answers of its own relation would still be there in a number that tells it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hornbeam.graphs.graph import Graph

#: Facts up to which a graph is small, or of middle size.
SMALL, MIDDLE = 20_000, 150_000


@dataclass(frozen=True)
class Extent:
    """How much is searched, counted and learned from: less per relation in larger graphs.

    Attributes
    ----------
    sampled, found
        Links of a relation that are searched for paths, and the most paths to judge.
    judged, kept
        Queries that paths are judged by, and the most of them that become rules.
    counted
        Queries that confidences are counted over.
    pool
        The most candidates per query.
    folds, hidden
        Folds of the graph, and how many of them are hidden, one after the other.
    queries
        The most training queries per relation, direction and fold.
    """

    sampled: int = 300
    found: int = 1000
    judged: int = 1000
    kept: int = 300
    counted: int = 1000
    pool: int = 150
    folds: int = 5
    hidden: int = 5
    queries: int = 5000

    @classmethod
    def of(cls, graph: Graph) -> Extent:
        """What a graph's size allows."""
        if len(graph) <= SMALL:
            return cls()
        if len(graph) <= MIDDLE:
            return cls(judged=300, counted=2000, pool=100, folds=10, hidden=2)
        return cls(
            sampled=200, found=300, judged=100, kept=120, counted=200, pool=100, folds=10, hidden=1,
            queries=2000,
        )  # fmt: skip


def hidden_folds(graph: Graph, extent: Extent, seed: int) -> Iterator[tuple[Graph, Graph]]:
    """Pairs of the graph without a fold and that fold, as many as the extent asks for."""
    fold = np.random.default_rng([seed, 0]).permutation(len(graph)) % extent.folds
    for number in range(extent.hidden):
        yield graph.select(fold != number), graph.select(fold == number)
