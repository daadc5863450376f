"""Progress of work and a stable estimate of the remaining time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass
class StageProgress:
    """The first and the latest report of one stage; as text, its progress, rate and time left."""

    began: float
    done_before: int
    now: float = 0.0
    done: int = 0
    total: int = 0

    def report(self, now: float, done: int, total: int) -> None:
        """Record the latest report."""
        self.now, self.done, self.total = now, done, total

    @property
    def fraction(self) -> float:
        """The share of the stage that is done, from 0 to 1."""
        return self.done / max(self.total, 1)

    @property
    def rate(self) -> float | None:
        """Units per second since the first report; None before any progress."""
        if self.done == self.done_before or self.now <= self.began:
            return None
        return (self.done - self.done_before) / (self.now - self.began)

    @property
    def seconds_left(self) -> float | None:
        """Remaining seconds at the rate so far; None without a rate or at the end."""
        rate = self.rate
        return None if rate is None or self.done >= self.total else (self.total - self.done) / rate

    def __str__(self) -> str:
        parts = [f"{self.done:,} of {self.total:,}"]
        parts += [] if self.rate is None else [shown_rate(self.rate)]
        return ", ".join([*parts, *_left(self.seconds_left)])


@dataclass
class WholeProgress:
    """Progress of several stages as one fraction that never decreases, with one remaining time.

    `shares` estimate the time that each stage takes, in any unit; a stage without a share is not
    shown. The rest of the current stage is estimated by its own rate. Later stages are estimated by
    their shares and the time that a unit of share has taken so far.
    """

    name: str
    shares: Mapping[str, float]
    fraction: float = 0.0
    seconds_left: float | None = None
    began: float | None = None

    def report(self, stage: str, known: StageProgress) -> None:
        """Record the latest report of a stage; a report behind the current progress is ignored."""
        if stage not in self.shares:
            return
        if self.began is None:
            self.began = known.began
        names, shares = list(self.shares), list(self.shares.values())
        place, whole = names.index(stage), sum(shares)
        begin, end = sum(shares[:place]) / whole, sum(shares[: place + 1]) / whole
        fraction = begin + (end - begin) * known.fraction
        if fraction <= self.fraction:
            return
        self.fraction = fraction
        per_unit = (known.now - self.began) / fraction
        rest = known.seconds_left
        if rest is None:
            rest = (end - fraction) * per_unit
        self.seconds_left = rest + (1.0 - end) * per_unit

    def __str__(self) -> str:
        return ", ".join([f"{int(100 * self.fraction)} %", *_left(self.seconds_left)])


def _left(seconds: float | None) -> list[str]:
    return [] if seconds is None else [f"{shown_seconds(seconds)} left"]


def shown_rate(rate: float) -> str:
    """Format units per second.

    >>> shown_rate(12345.6), shown_rate(0.25)
    ('12,346/s', '0.25/s')
    """
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def shown_seconds(seconds: float) -> str:
    """Format a remaining time, rounded up to seconds or minutes, as precise as the estimate.

    >>> shown_seconds(4.2), shown_seconds(200), shown_seconds(7500)
    ('5 s', '4 min', '2 h 5 min')
    """
    if seconds < 120:
        return f"{-(-seconds // 1):.0f} s"
    minutes = int(-(-seconds // 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
