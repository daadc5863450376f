"""Progress of work and a stable estimate of the remaining time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ProgressLine:
    """Progress as text: what is done, how fast, and the remaining time."""

    fraction: float
    done: str
    rate: str = ""
    seconds_left: float | None = None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f"{shown_seconds(self.seconds_left)} left"
        return ", ".join(part for part in (self.done, self.rate, left) if part)


@dataclass
class StageProgress:
    """The first and the latest report of one stage."""

    began: float
    done_before: int
    now: float = 0.0
    done: int = 0
    total: int = 0

    def report(self, now: float, done: int, total: int) -> None:
        """Record the latest report."""
        self.now, self.done, self.total = now, done, total

    @property
    def rate(self) -> float | None:
        """Units per second since the first report; None before any progress."""
        if self.done == self.done_before or self.now <= self.began:
            return None
        return (self.done - self.done_before) / (self.now - self.began)

    @property
    def seconds_left(self) -> float | None:
        """Remaining seconds by the rate so far."""
        rate = self.rate
        return None if rate is None or self.done >= self.total else (self.total - self.done) / rate

    @property
    def shown(self) -> ProgressLine:
        """As a line."""
        rate = self.rate
        return ProgressLine(
            self.done / max(self.total, 1),
            f"{self.done:,} of {self.total:,}",
            "" if rate is None else shown_rate(rate),
            self.seconds_left,
        )


@dataclass(frozen=True)
class StagePlan:
    """Work of several stages that is shown as one: its name, and the share of each stage.

    Shares are estimates of the time that stages take, in any unit; a stage without one is not
    shown.
    """

    name: str
    shares: Mapping[str, float]

    def interval(self, stage: str) -> tuple[float, float] | None:
        """The interval of [0, 1] that a stage covers; None for an unknown stage."""
        whole, before = sum(self.shares.values()), 0.0
        for name, share in self.shares.items():
            if name == stage:
                return before / whole, (before + share) / whole
            before += share
        return None


class OverallProgress:
    """Progress of all stages as one fraction that never decreases, with one remaining time.

    The rest of the current stage is estimated by its own rate, later stages by their shares and the
    time that a unit of share has taken so far.
    """

    def __init__(self, whole: StagePlan) -> None:
        self.name = whole.name
        self._whole = whole
        self._began: float | None = None
        self._fraction = 0.0
        self._seconds_left: float | None = None

    def report(self, stage: str, known: StageProgress) -> None:
        """Record the latest report of a stage; one that begins again changes nothing."""
        interval = self._whole.interval(stage)
        if interval is None:
            return
        begin, end = interval
        if self._began is None:
            self._began = known.began
        fraction = begin + (end - begin) * known.done / max(known.total, 1)
        if fraction <= self._fraction:
            return
        self._fraction = fraction
        per_unit = (known.now - self._began) / fraction
        rest = known.seconds_left
        if rest is None:
            rest = (end - fraction) * per_unit
        self._seconds_left = rest + (1.0 - end) * per_unit

    @property
    def shown(self) -> ProgressLine:
        """As a line."""
        return ProgressLine(
            self._fraction, f"{int(100 * self._fraction)} %", seconds_left=self._seconds_left
        )


def shown_rate(rate: float) -> str:
    """Format units per second.

    >>> shown_rate(12345.6), shown_rate(0.25)
    ('12,346/s', '0.25/s')
    """
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def shown_seconds(seconds: float) -> str:
    """Format a remaining time, rounded to the precision of such estimates.

    >>> shown_seconds(4.2), shown_seconds(200), shown_seconds(7500)
    ('5 s', '4 min', '2 h 5 min')
    """
    if seconds < 120:
        return f"{-(-seconds // 1):.0f} s"
    minutes = int(-(-seconds // 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
