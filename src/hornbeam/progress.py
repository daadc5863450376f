"""One way to tell a person how long work takes: a callback, on the command line a bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """What long work reports to."""

    def message(self, text: str) -> None:
        """Say something once (a forecast, a first-run compilation)."""

    def advance(self, stage: str, done: int, total: int) -> None:
        """Report that `done` of `total` units of `stage` are finished."""


@dataclass(frozen=True)
class Silent:
    """Reports nothing: the default of the Python interface."""

    def message(self, text: str) -> None:
        """Say nothing."""

    def advance(self, stage: str, done: int, total: int) -> None:
        """Show nothing."""


SILENT = Silent()

#: How many seconds of waiting go by before a first-run compilation is announced.
PATIENCE_SECONDS = 0.7


def announce_if_slow(work: Callable[[], T], text: str, progress: Progress) -> T:
    """Run `work`; when it takes longer than `PATIENCE_SECONDS`, say `text` meanwhile."""
    if isinstance(progress, Silent):
        return work()  # nobody listens, and a timer is a thread
    import threading

    timer = threading.Timer(PATIENCE_SECONDS, progress.message, [text])
    timer.daemon = True
    timer.start()
    try:
        return work()
    finally:
        timer.cancel()
