"""Brackets after rules and their literals: what Hornbeam's models can express and PSL cannot.

0.8: (cites(A, X) & cites(X, B)) [n >= 3] & paper(B) -> cites(A, B) [log]
0.66: neighbour(X, A) & in_subregion(A, Y) -> in_subregion(X, Y) [88 of 129]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal as Literally

from hornbeam.language.places import Place

BracketOperator = Literally["", "/", ">=", ">"]


@dataclass(frozen=True)
class Bracket:
    """A bracket after a rule or some of its literals; Hornbeam's own, not PSL's.

    A way of counting is a name, or a name divided by a number: `[log]`, `[share / 0.0123]`. A
    threshold compares a name with a number: `[n >= 25]`, `[share > 0.012]`.
    """

    name: str
    operator: BracketOperator = ""
    number: float | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if bool(self.operator) != (self.number is not None):
            raise ValueError("a bracket has an operator and a number, or neither")
        if self.number is not None and not math.isfinite(self.number):
            raise ValueError(f"the number in a bracket is finite, not {self.number}")

    @property
    def is_threshold(self) -> bool:
        """Whether it compares."""
        return self.operator in (">=", ">")

    def __str__(self) -> str:
        if self.number is None:
            return f"[{self.name}]"
        # a whole number as it is counted, 25 and not 25.0
        return f"[{self.name} {self.operator} {repr(float(self.number)).removesuffix('.0')}]"


@dataclass(frozen=True)
class CountedBracket:
    """What was counted of a rule, after it: `[88 of 129]`, `[88 of 129, weight -0.5]`.

    The rule proposed `predicted` answers of queries, and `hits` of them were right. `weight` is
    what the ranking adds for the rule alone.
    """

    hits: int
    predicted: int
    weight: float = 0.0
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        own = f", weight {repr(float(self.weight)).replace('e+', 'e')}" if self.weight else ""
        return f"[{self.hits} of {self.predicted}{own}]"


@dataclass(frozen=True)
class ThresholdSpan:
    """A threshold after the literals from `start` to before `stop` of a body."""

    start: int
    stop: int
    threshold: Bracket


def check_spans(thresholds: Sequence[ThresholdSpan], n_literals: int) -> None:
    """Raise ValueError for thresholds that follow no literals, overlap, or compare nothing."""
    end = 0
    for span in thresholds:
        within = end <= span.start < span.stop <= n_literals
        if not within or not span.threshold.is_threshold:
            raise ValueError("thresholds stand behind literals of the body, in their order")
        end = span.stop


def with_thresholds(literals: Sequence[str], thresholds: Sequence[ThresholdSpan]) -> Iterator[str]:
    """Yield texts of literals; those before a threshold are one text with it."""
    end = 0
    for span in thresholds:
        yield from literals[end : span.start]
        text = " & ".join(literals[span.start : span.stop])
        several = span.stop - span.start > 1
        yield f"({text}) {span.threshold}" if several else f"{text} {span.threshold}"
        end = span.stop
    yield from literals[end:]
