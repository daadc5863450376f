"""Weighted rules, and what scoring needs to know besides them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hornbeam.rules.clause import PathClause, Prior


class Counts(StrEnum):
    """How much n groundings of a rule weigh."""

    RAW = "raw"  #: n: PSL's meaning, and the only one that exports as plain PSL
    LOG = "log"  #: log2(1 + n): hubs with thousands of paths do not drown the rest
    EXISTS = "exists"  #: 1: one path is as good as many


class Relaxation(StrEnum):
    """What values a target may take, and the power of the hinge."""

    BOOLEAN = "boolean"  #: y in {0, 1}
    LINEAR = "linear"  #: y in [0, 1], hinges of power 1
    SQUARED = "squared"  #: y in [0, 1], hinges of power 2 (written ^2)


@dataclass(frozen=True)
class Rule:
    """A clause with a weight of at least 0."""

    weight: float
    clause: PathClause | Prior


@dataclass(frozen=True)
class Semantics:
    """What a model's scores depend on besides its rules; the first line of a model file.

    `threshold` is the score from which a target is called true.
    """

    counts: Counts = Counts.RAW
    relaxation: Relaxation = Relaxation.BOOLEAN
    collective: bool = False
    max_fanout: int | None = None
    threshold: float = 0.5
