"""Fractions of the learning time per stage, to estimate the remaining time.

Measured on graphs of 2,000 to 300,000 facts: all stages but the ridge together take a time that is
linear in facts, each a fixed part of it; inverting the ridge's matrix is cubic in entities.
"""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.graphs.graph_settings import MIDDLE, Extent
from hornbeam.graphs.graph_size import GraphSize

#: Seconds for a graph without its ridge: at least, and per fact.
MIN_SECONDS, SECONDS_PER_FACT = 3.0, 0.0009
#: Seconds per cubed number of entities, for one inverse.
SECONDS_PER_CUBE = 2.2e-11
#: Approximate percentages of the time for discovering, judging and counting rules.
DISCOVERING_PERCENT, JUDGING_PERCENT, COUNTING_PERCENT = 6.0, 12.0, 8.0


def inverse_seconds(size: GraphSize) -> float:
    """Estimated seconds to invert the ridge's matrix."""
    return SECONDS_PER_CUBE * size.entities**3


@dataclass(frozen=True)
class StageShares:
    """Fractions of the whole work, which add up to 1 if repeated ones are counted each time.

    `recounting` and `gathering` are those of one fold, `ridge` that of one inverse.
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
