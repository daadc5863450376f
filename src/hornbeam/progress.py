"""One way to tell a person how long work takes: a callback, on the command line a bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
