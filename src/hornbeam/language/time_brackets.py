"""Brackets behind an atom that say when it was true, as seen at the time of a query.

    visits(A, B) [last 30d] & visits(A, X) [last 90d, n >= 3] & calls(A, B) [decay 30d]

`[ever]` is the default of rules over facts with a time, and not written. All of them see what was
before the time of the query, strictly. Another bracket orders the atoms of a path:

    orders(A, X) & delivers(X, B) [last 30d] [after orders]
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hornbeam.base.dates import SECONDS_OF_DAY, TimeUnit
from hornbeam.errors import InputError

#: Seconds of the units that spans are written in; a span without one counts whole times.
SUFFIXES = {"s": 1, "h": 3600, "d": SECONDS_OF_DAY}
_TEXT = re.compile(r"\[(?:(ever)|(last|decay) (\d{1,15})([shd]?))(?:, n >= (\d{1,9}))?\]", re.ASCII)
_WORDS = {"": "times", "s": "seconds", "h": "hours", "d": "days"}


@dataclass(frozen=True, order=True)
class TimeCondition:
    """When an atom was true: ever before, in a span of time before, or how long ago and how often.

    Examples
    --------
    >>> TimeCondition.of_text("[last 90d, n >= 3]")
    TimeCondition(kind='last', amount=90, suffix='d', at_least=3)
    >>> str(TimeCondition("decay", 12, "h")), TimeCondition("ever").bracket
    ('[decay 12h]', '')
    """

    kind: str = ""  #: "ever", "last" or "decay"; "" in rules over facts without a time
    amount: int = 0
    suffix: str = ""  #: the unit of the amount, see `SUFFIXES`
    at_least: int = 1  #: fewest events

    def __post_init__(self) -> None:
        if self.kind in ("last", "decay") and self.amount < 1:
            raise ValueError(f"{self} spans no time; expected at least 1, as in [last 30d]")
        if self.at_least < 1 or (self.kind == "decay" and self.at_least > 1):
            expected = "[last 30d, n >= 3] or [ever, n >= 3]"
            raise ValueError(f"{self} asks for a wrong number of events; expected {expected}")

    @classmethod
    def of_text(cls, text: str) -> TimeCondition:
        """The condition of a bracket; a ValueError says what was expected."""
        found = _TEXT.fullmatch(text)
        if found is None:
            expected = "[last 30d], [last 90d, n >= 3], [decay 30d] or [ever]"
            raise ValueError(f"{text} is no condition on time; expected {expected}")
        ever, kind, amount, suffix, n = found.groups()
        return cls(ever or kind, int(amount or 0), suffix or "", int(n or 1))

    @property
    def is_decay(self) -> bool:
        """Whether events weigh the less, the longer they are ago."""
        return self.kind == "decay"

    @property
    def bracket(self) -> str:
        """What a rule's text has; nothing for the default."""
        return "" if self in (NO_TIME, EVER) else str(self)

    def span(self, unit: TimeUnit) -> int:
        """The amount in the unit of the facts' times."""
        if self.suffix and unit is TimeUnit.STEP:
            problem = f"{self} is in {_WORDS[self.suffix]}, and times of these facts are steps"
            raise InputError(f"{problem}; expected a whole number, as in [{self.kind} 30]")
        if self.suffix in ("s", "h") and unit is TimeUnit.DAY:
            problem = f"{self} is in {_WORDS[self.suffix]}, and times of these facts are days"
            raise InputError(f"{problem}; expected days, as in [{self.kind} 30d]")
        size = SUFFIXES[self.suffix] if self.suffix and unit is TimeUnit.SECOND else 1
        return self.amount * size

    @property
    def words(self) -> str:
        """The condition in words, after an atom."""
        span = f"{self.amount:,} {_WORDS[self.suffix]}"
        span = span.removesuffix("s") if self.amount == 1 else span
        if self.kind == "decay":
            return f"lately (half as much every {span})"
        often = f"{self.at_least:,} or more times " if self.at_least > 1 else ""
        if self.kind == "last":
            return f"{often}in the last {span}"
        return often.rstrip()

    def __str__(self) -> str:
        n = f", n >= {self.at_least}" if self.at_least > 1 else ""
        span = f" {self.amount}{self.suffix}" if self.kind in ("last", "decay") else ""
        return f"[{self.kind}{span}{n}]"


#: Of atoms in rules over facts without a time.
NO_TIME = TimeCondition()
EVER = TimeCondition("ever")


def time_text(when: TimeCondition, after: str) -> str:
    """The brackets that an atom has behind it, each after a space; nothing for the default."""
    order = f" [after {after}]" if after else ""
    return (f" {when.bracket}" if when.bracket else "") + order
