"""How much is searched and counted for a whole graph, and which parts of the method are used."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.graphs.graph_size import GraphSize

#: Maximum number of facts of a small graph, and of one of middle size.
SMALL, MIDDLE = 20_000, 150_000


@dataclass(frozen=True)
class Extent:
    """How much is searched, counted and learned from: less per relation in larger graphs.

    Attributes
    ----------
    sampled, found
        Links of a relation that are searched for paths, and the maximum number of paths to judge.
    judged, kept
        Queries that paths are judged by, and the maximum number of paths that become rules.
    counted
        Queries that confidences are counted over.
    pool
        Maximum number of candidates per query.
    folds, hidden
        Folds of the graph, and how many of them are hidden, one after the other.
    queries
        Maximum number of training queries per fold, shared fairly among relations and directions.
    rediscover
        Whether paths are discovered again without each hidden fold.
    """

    sampled: int = 300
    found: int = 1000
    judged: int = 1000
    kept: int = 300
    counted: int = 1000
    pool: int = 150
    folds: int = 5
    hidden: int = 5
    queries: int = 100_000
    rediscover: bool = True

    @classmethod
    def of(cls, size: GraphSize) -> Extent:
        """What a graph's size allows."""
        if size.facts <= SMALL:
            return cls(found=700)
        if size.facts <= MIDDLE:
            return cls(judged=300, counted=2000, pool=100, folds=10, hidden=2, rediscover=False)
        return cls(200, 300, 100, 120, counted=200, pool=100, folds=10, hidden=1, rediscover=False)


@dataclass(frozen=True)
class GraphSettings:
    """Which parts of the method are used: all of them, except in comparisons.

    Attributes
    ----------
    constants, backward, ridge
        Classes of rules in addition to paths.
    per_relation
        A ranking model per relation and direction.
    rule_weights
        A weight per path rule, in sparse graphs, if the MRR of held-out queries gains by it.
    extent
        How much is searched and counted; by size unless given.
    """

    constants: bool = True
    backward: bool = True
    ridge: bool = True
    per_relation: bool = True
    rule_weights: bool = True
    extent: Extent | None = None
