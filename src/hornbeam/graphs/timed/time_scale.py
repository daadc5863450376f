"""How a model measures time: half-lives and ages, from the gaps in its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from hornbeam.base.arrays import Floats, Ints, begin_runs
from hornbeam.base.dates import TimeUnit
from hornbeam.facts.events import Events

#: Quantiles of the gaps between facts of the same pair that become bounds of ages, and half-lives.
AGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
HALF_LIVES = (0.3, 0.8)
#: Units of a length of time in seconds, and how many seconds each has.
OF_SECONDS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
#: Number of an entity's latest events that a query looks back at.
HISTORY = 4096


@dataclass(frozen=True)
class TimeScale:
    """How a model measures time: by the gaps in its data, in their unit.

    Attributes
    ----------
    unit
        What times count.
    half_lives
        The short and the long half-life of faded counts.
    ages
        Bounds of ages, ascending: a rule has a confidence for bodies up to the first age, up to the
        next, and so on, and one for all older bodies.
    history
        Maximum number of an entity's latest events that a query looks back at.
    """

    unit: TimeUnit
    half_lives: tuple[float, float]
    ages: tuple[int, ...]
    history: int = HISTORY

    @classmethod
    def of(cls, events: Events) -> Self:
        """The scale of events, by the gaps between facts of the same pair, else between times."""
        one, other = (
            np.minimum(events.subject, events.object),
            np.maximum(events.subject, events.object),
        )
        order = np.lexsort((events.time, other, one))
        same = ~begin_runs(one[order], other[order])[1:]
        gaps = np.diff(events.time[order])[same]
        gaps = gaps[gaps > 0]
        if not len(gaps):
            gaps = np.diff(np.unique(events.time))
        gaps = gaps if len(gaps) else np.ones(1, dtype=np.int64)
        ages = np.unique(np.quantile(gaps, AGES, method="inverted_cdf")).tolist()
        short, long = np.quantile(gaps, HALF_LIVES, method="inverted_cdf").tolist()
        return cls(events.unit, (float(short), float(long)), tuple(map(int, ages)))

    @classmethod
    def parse(cls, written: dict[str, Any]) -> Self:
        """Read a scale from the header of a model file."""
        short, long = map(float, written["half_lives"])
        ages = tuple(int(age) for age in written["ages"])
        return cls(TimeUnit(written["unit"]), (short, long), ages, int(written["history"]))

    @property
    def n_ages(self) -> int:
        """Number of confidences per rule."""
        return len(self.ages) + 1

    def age_text(self, place: int) -> str:
        """The bound of an age in the bracket of a rule: "3 days", or "ever" after the last bound.

        Examples
        --------
        >>> scale = TimeScale(TimeUnit.DAY, (2.0, 30.0), (1, 7))
        >>> [scale.age_text(place) for place in range(3)]
        ['1 day', '7 days', 'ever']
        """
        return duration(self.ages[place], self.unit) if place < len(self.ages) else "ever"

    def arrays(self) -> ScaleArrays:
        """The scale for kernels."""
        half = np.array([*self.half_lives, np.inf])
        return ScaleArrays(half, np.array(self.ages, dtype=np.int64), self.history)


def duration(length: float, unit: TimeUnit) -> str:
    """A length of time in words; seconds in the largest unit that they reach.

    Examples
    --------
    >>> duration(1, TimeUnit.DAY), duration(7200, TimeUnit.SECOND), duration(3, TimeUnit.STEP)
    ('1 day', '2 hours', '3 steps')
    """
    name = unit.value
    if unit is TimeUnit.SECOND:
        name, seconds = next((of for of in OF_SECONDS if length >= of[1]), OF_SECONDS[-1])
        length /= seconds
    return f"{length:.3g} {name}{'s' * (length != 1)}"


class ScaleArrays(NamedTuple):
    """A `TimeScale` for kernels; `half` ends with the infinite half-life of counts for ever."""

    half: Floats
    ages: Ints
    history: int
