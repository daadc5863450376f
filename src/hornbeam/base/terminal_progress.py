"""Progress and messages on stderr, of the commands and of `progress=True`, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hornbeam.base.texts import message_text

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

#: Progress bars appear after this time: shorter work shows none.
BAR_AFTER_SECONDS = 0.5
#: Time between lines of progress where stderr is not a terminal (a log, a batch job).
LINE_EVERY_SECONDS = 10.0


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


class TerminalProgress:
    """Shows progress: a bar on a terminal, a line now and then elsewhere, nothing if `quiet`.

    The stages of a `whole` share one bar. `verbose` adds the time to every message, a line for
    every stage that ends, and the time and memory of the whole work.
    """

    def __init__(
        self, quiet: bool = False, verbose: bool = False, whole: WholeProgress | None = None
    ) -> None:
        self._whole = whole
        self.quiet = quiet
        self.verbose = verbose and not quiet
        self._began = self._last_line = self._bar_from = time.monotonic()
        self._stages: dict[str, StageProgress] = {}
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}

    def message(self, text: str) -> None:
        """Print a message."""
        if self.verbose:
            print_message(f"[{time.monotonic() - self._began:7.2f} s] {text}")
        elif not self.quiet:
            print_message(text)

    def detail(self, text: str) -> None:
        """Print a message if verbose."""
        if self.verbose:
            self.message(text)

    def advance(self, stage: str, done: int, total: int) -> None:
        """Show the progress of a stage."""
        if self.quiet:
            return
        now = time.monotonic()
        known = self._stages.setdefault(stage, StageProgress(now, done))
        known.report(now, done, total)
        if self._whole is not None:
            self._whole.report(stage, known)
        name = stage if self._whole is None else self._whole.name
        shown = self._whole or known
        # while a bar is shown, Rich < 15 replaces sys.stderr by a proxy whose isatty() is false
        if self._bar is not None or _has_screen():
            self._draw(name, shown, now)
        elif now - max(self._last_line, known.began) >= LINE_EVERY_SECONDS and done < total:
            self._last_line = now
            self.message(f"{name}: {shown}.")
        if done >= total:
            del self._stages[stage]
            self.detail(f"{stage}: {known}.")

    def _draw(self, name: str, shown: StageProgress | WholeProgress, now: float) -> None:
        if self._bar is None:
            if now - self._bar_from < BAR_AFTER_SECONDS:
                return
            self._bar = _new_bar()
            self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=1.0, line="")
        self._bar.update(self._tasks[name], completed=shown.fraction, line=str(shown))

    def close(self) -> None:
        """Remove the bars from the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks.clear()
        self._bar_from = time.monotonic()

    def print_cost(self) -> None:
        """If verbose, print the time and memory that the work took."""
        self.detail(f"Done. CPU {time.process_time():.2f} s{_peak_memory()}.")


def _has_screen() -> bool:
    """Whether stderr can show a bar: a terminal, or Jupyter with what Rich needs there."""
    if sys.stderr.isatty():
        return True
    # only a notebook has imported ipykernel, and only then is it worth to ask Rich
    if "ipykernel" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return Console(stderr=True).is_jupyter


def _new_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[line]}"),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )


def _peak_memory() -> str:
    if sys.platform == "win32":
        return ""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f", peak memory {peak * (1 if sys.platform == 'darwin' else 1024) / 2**20:,.0f} MiB"


def print_message(text: str) -> None:
    """Print a message to stderr, with control characters in quoted data escaped."""
    print(message_text(text), file=sys.stderr, flush=True)  # noqa: T201
