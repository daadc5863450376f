"""How much n groundings of a rule weigh."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hornbeam.language.syntax import weight_text


class Counts(StrEnum):
    """How much n groundings of a rule weigh."""

    RAW = "raw"  #: n: PSL's meaning, and the only one that exports as plain PSL
    LOG = "log"  #: log2(1 + n): hubs with thousands of paths do not outweigh the rest
    EXISTS = "exists"  #: 1: one path is as good as many
    SHARE = "share"  #: how much of two hubs' many paths this pair has; for paths only


@dataclass(frozen=True)
class Weighing:
    """The way of counting of one rule, where it has its own.

    `median` belongs to shares: a share x weighs log2(1 + x / median). It is the median over the
    training pairs that have any.

    Examples
    --------
    >>> str(Weighing(Counts.LOG)), str(Weighing(Counts.SHARE, 0.0123))
    ('[log]', '[share / 0.0123]')
    """

    counts: Counts
    median: float = 1.0

    def __str__(self) -> str:
        if self.counts is Counts.SHARE:
            return f"[share / {weight_text(self.median)}]"
        return f"[{self.counts}]"


@dataclass(frozen=True)
class Threshold:
    """What a condition of a conjunction asks of its groundings: `[n >= 25]`, `[share > 0.012]`.

    A condition with a threshold counts once where it holds, however many groundings it has.
    """

    bound: float
    share: bool = False

    def __str__(self) -> str:
        return f"[share > {weight_text(self.bound)}]" if self.share else f"[n >= {self.bound:.0f}]"
