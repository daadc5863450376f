"""How much is searched and counted for a whole graph, and which parts of the method are used.

Each stage of learning takes a fraction of the whole time; the remaining time is estimated by these
fractions. They were measured on graphs of 2,000 to 300,000 facts. All stages but the ridge together
take time linear in the facts, each stage a fixed part of it. Inverting the ridge's matrix takes
time cubic in the entities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hornbeam.base.arrays import Ids
from hornbeam.graphs.linked_graph import GraphSize

#: Maximum number of facts of a small graph, of a graph of middle size, and of a large graph.
SMALL, MIDDLE, LARGE = 20_000, 150_000, 500_000
#: Seconds for learning a graph without its ridge: a minimum, and the seconds added per fact.
MIN_SECONDS, SECONDS_PER_FACT = 3.0, 0.0009
#: Seconds per cubed number of rows, for one inverse. Matrices of more rows than `WHOLE` are
#: inverted after an elimination, which leaves about half of the rows, and at most `CORE`.
SECONDS_PER_CUBE, WHOLE, CORE = 2.2e-11, 2_000, 12_000
#: Approximate percentages of the time for discovering, judging and counting rules.
DISCOVERING_PERCENT, JUDGING_PERCENT, COUNTING_PERCENT = 6.0, 12.0, 8.0


@dataclass(frozen=True)
class Extent:
    """How much is searched, counted and learned from: less per relation in larger graphs.

    Attributes
    ----------
    sampled, found
        Maximum number of links per relation that are searched for paths, and of paths to judge.
    judged, kept
        Maximum number of links per relation that paths are judged by, and of paths that are kept.
    counted
        Maximum number of links per relation that confidences are counted over.
    pool
        Maximum number of candidates per query.
    folds, hidden
        Number of folds of the graph, and how many folds are hidden, one after the other.
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
        """The extent that a graph's size allows."""
        if size.facts <= SMALL:
            return cls(found=700)
        if size.facts <= MIDDLE:
            return cls(judged=300, counted=2000, pool=100, folds=10, hidden=2, rediscover=False)
        large = cls(200, 300, 100, 120, counted=200, pool=100, folds=10, hidden=1, rediscover=False)
        # features of 100,000 queries and their copies take 3 GB, more than the facts
        return large if size.facts <= LARGE else replace(large, queries=30_000)


@dataclass(frozen=True, eq=False)
class GraphPlan:
    """How a graph is searched: paths of up to `length` canonical steps, an extent, and a seed.

    `canonical` has the canonical step of every step (`hornbeam.graphs.linked_graph`). All stages
    use the canonical steps of the whole graph, as hidden links would make any two steps differ.
    """

    length: int
    canonical: Ids
    extent: Extent
    seed: int


@dataclass(frozen=True)
class GraphSettings:
    """Which parts of the method are used: all of them, except in comparisons.

    Attributes
    ----------
    constants, backward, ridge, slots
        Classes of rules in addition to paths.
    per_relation
        A ranking model per relation and direction.
    rule_weights
        A weight per path rule, in sparse graphs, if the MRR of held-out queries gains by it.
    extent
        How much is searched and counted; None for the extent by the graph's size.
    """

    constants: bool = True
    backward: bool = True
    ridge: bool = True
    slots: bool = True
    per_relation: bool = True
    rule_weights: bool = True
    extent: Extent | None = None


def inverse_seconds(size: GraphSize) -> float:
    """Estimated seconds to invert the ridge's matrix."""
    n = size.entities
    return SECONDS_PER_CUBE * (n if n <= WHOLE else min(n / 2, CORE)) ** 3


@dataclass(frozen=True)
class StageShares:
    """Each stage's fraction of the whole work; the fractions of all stages add up to 1.

    `recounting` and `gathering` are fractions for one fold, `ridge` is the fraction for one
    inverse: the sum has them as often as they are repeated.
    """

    discovering: float
    judging: float
    counting: float
    recounting: float
    gathering: float
    ridge: float
    held: float
    fitting: float
    weighting: float
    refitting: float
    naming: float

    @classmethod
    def of(
        cls, size: GraphSize, length: int, extent: Extent, ridge: bool, held: bool, sparse: bool
    ) -> StageShares:
        """Estimate the fractions of a graph's stages, for paths of a length."""
        folds, finding = extent.hidden, DISCOVERING_PERCENT + JUDGING_PERCENT + COUNTING_PERCENT
        seconds = MIN_SECONDS + SECONDS_PER_FACT * size.facts
        inverse = 100 * inverse_seconds(size) / seconds if ridge else 0.0
        # in large graphs few links are sampled, which takes little time if paths are short
        walking = 0.1 if size.facts > MIDDLE and length <= 2 else 1.0
        parts = {
            "discovering": DISCOVERING_PERCENT * walking,
            "judging": JUDGING_PERCENT * walking,
            "counting": COUNTING_PERCENT * walking,
            "recounting": (finding if extent.rediscover else 20.0 / folds) * walking,
            "gathering": 20.0 / folds,
            "ridge": inverse,
            "held": 10.0 if held else 0.0,
            "fitting": 10.0,
            "weighting": 20.0 if sparse else 0.0,
            "refitting": 0.0 if held else 12.0,
            "naming": 4.0,
        }
        times = {"recounting": folds, "gathering": folds, "ridge": folds + held}
        total = sum(size * times.get(name, 1) for name, size in parts.items())
        return cls(**{name: size / total for name, size in parts.items()})
