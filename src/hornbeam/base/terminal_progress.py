"""Progress and messages on stderr: of the commands, and of `progress=True` in Python."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hornbeam.base.remaining_time import StageProgress, WholeProgress
from hornbeam.base.texts import message_text

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

#: Progress bars appear after this time: shorter work shows none.
BAR_AFTER_SECONDS = 0.5
#: Time between lines of progress where stderr is not a terminal (a log, a batch job).
LINE_EVERY_SECONDS = 10.0


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
