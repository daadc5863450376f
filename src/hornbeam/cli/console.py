"""What a person sees besides the result: progress, messages and errors, all on stderr."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class TerminalProgress:
    """A progress bar on a terminal, plain messages elsewhere, nothing when quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}
        self._shown = time.monotonic()

    def message(self, text: str) -> None:
        """Say something once."""
        if not self.quiet:
            say(text)

    def advance(self, stage: str, done: int, total: int) -> None:
        """Move the stage's bar; work that ends within half a second shows none."""
        if self.quiet or not sys.stderr.isatty():
            return
        if self._bar is None:
            if time.monotonic() - self._shown < 0.5:
                return
            self._bar = _new_bar()
            self._bar.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=total)
        self._bar.update(self._tasks[stage], completed=done, total=total)

    def close(self) -> None:
        """Take the bars off the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks.clear()
        self._shown = time.monotonic()


def _new_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def progress_shown(quiet: bool) -> Iterator[TerminalProgress]:
    """Progress that is taken off the screen however the work ends."""
    progress = TerminalProgress(quiet)
    try:
        yield progress
    finally:
        progress.close()


def say(text: str) -> None:
    """One line to stderr."""
    print(text, file=sys.stderr, flush=True)


def print_json(result: Mapping[str, Any]) -> None:
    """Print the one JSON object of `--json`."""
    print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def screen() -> Console:
    """Where tables go: stdout, with colours only on a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    # names in the data are shown as they are: no :smile: turns into a picture
    return Console(highlight=False, emoji=False, width=width, soft_wrap=False)


def show_warnings() -> None:
    """Print warnings as one line each instead of with a source line."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"hornbeam: warning: {message}")

    warnings.showwarning = show
