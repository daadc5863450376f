"""How much n groundings of a rule weigh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.language.syntax import Bracket, weight_text

#: Least divisor of shares, far below that of any path; shares divided by it stay finite.
MIN_MEDIAN = 1 / MAX_NUMBER


class Counts(StrEnum):
    """How much n groundings of a rule weigh."""

    RAW = "raw"  #: n: PSL's meaning, and the only one that exports as plain PSL
    LOG = "log"  #: log2(1 + n): hubs with thousands of paths do not outweigh the rest
    EXISTS = "exists"  #: 1: one path is as good as many
    #: n normalised by the degrees of the entities on the paths, so that paths through hubs count
    #: less; for paths only
    SHARE = "share"
    #: the sum of values of numbers, standardised; for bodies with a value only
    Z = "z"


@dataclass(frozen=True)
class Weighing:
    """The way of counting of one rule, where it has its own.

    `median` belongs to shares: a share x weighs log2(1 + x / median). It is the median over the
    training pairs that have any. `mean` and `deviation` belong to values of numbers: a value x
    weighs (x - mean) / deviation. They are those of the values of the training pairs.

    Examples
    --------
    >>> str(Weighing(Counts.LOG)), str(Weighing(Counts.SHARE, 0.0123))
    ('[log]', '[share / 0.0123]')
    >>> str(Weighing(Counts.Z, mean=1987.25, deviation=12.0))
    '[z / 1987.25 12.0]'
    """

    counts: Counts
    median: float = 1.0
    mean: float = 0.0
    deviation: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and MIN_MEDIAN <= self.deviation < math.inf):
            expected = f"expected a deviation of at least {MIN_MEDIAN:g}"
            raise ValueError(f"values deviate by {self.deviation:g} from {self.mean:g}; {expected}")
        if not MIN_MEDIAN <= self.median < math.inf:
            expected = f"expected a number of at least {MIN_MEDIAN:g}"
            raise ValueError(f"the median of shares is {self.median:g}; {expected}")

    @classmethod
    def from_bracket(cls, bracket: Bracket) -> Weighing:
        """The way of counting in a bracket; a ValueError names what was expected."""
        if bracket.name not in list(Counts):
            raise ValueError(
                f"{bracket} is not a way of counting; expected [raw], [log], [exists], a share by "
                "its median, [share / 0.0123], or a number by its mean and deviation, [z / 3 1.5]"
            )
        if bracket.name == Counts.Z:
            if bracket.number is None or bracket.second is None:
                expected = "mean and deviation, as in [z / 1987.2 12.4]"
                raise ValueError(f"{bracket} does not standardise; expected {expected}")
            return cls(Counts.Z, mean=bracket.number, deviation=bracket.second)
        if bracket.second is not None:
            raise ValueError(f"{bracket} has two numbers; expected [{bracket.name} / 0.0123]")
        if bracket.name != Counts.SHARE:
            if bracket.number is not None:
                raise ValueError(f"{bracket} divides; expected [{bracket.name}] (only shares do)")
            return cls(Counts(bracket.name))
        if bracket.number is None:
            raise ValueError("[share] has no median; expected one, as in [share / 0.0123]")
        return cls(Counts.SHARE, bracket.number)

    def __str__(self) -> str:
        if self.counts is Counts.SHARE:
            return f"[share / {weight_text(self.median)}]"
        if self.counts is Counts.Z:
            return f"[z / {weight_text(self.mean)} {weight_text(self.deviation)}]"
        return f"[{self.counts}]"


@dataclass(frozen=True)
class Threshold:
    """A condition on the groundings of a body in a conjunction: `[n >= 25]`, `[share > 0.012]`.

    A condition with a threshold counts once where it holds, however many groundings it has.
    """

    bound: float
    share: bool = False

    def __post_init__(self) -> None:
        if self.share and not 0.0 <= self.bound < math.inf:
            raise ValueError(f"a threshold of shares is {self.bound:g}; expected at least 0")
        if not self.share and not (float(self.bound).is_integer() and self.bound >= 1):
            why = "expected a whole number of at least 1"
            raise ValueError(f"a threshold of groundings is {self.bound:g}; {why}")

    @classmethod
    def from_bracket(cls, bracket: Bracket) -> Threshold:
        """The threshold in a bracket; a ValueError names what was expected."""
        if (bracket.name, bracket.operator) not in (("n", ">="), ("share", ">")):
            raise ValueError(f"{bracket} is not a threshold; expected [n >= 25] or [share > 0.012]")
        return cls(bracket.number or 0.0, bracket.name == "share")

    def __str__(self) -> str:
        return f"[share > {weight_text(self.bound)}]" if self.share else f"[n >= {self.bound:.0f}]"
