"""The progress callback; the command line shows it as a bar."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

LOG = logging.getLogger("hornbeam")


class Progress(Protocol):
    """The callback that long work reports to."""

    def message(self, text: str) -> None:
        """Report a message once (a forecast, a first-run compilation)."""

    def advance(self, stage: str, done: int, total: int) -> None:
        """Report that `done` of `total` units of `stage` are finished."""


@dataclass(frozen=True)
class Silent:
    """Shows nothing: the default of the Python interface.

    The logger `hornbeam` has the messages, and which stages are done, at the level INFO.
    """

    def message(self, text: str) -> None:
        """Log the message."""
        LOG.info("%s", text)

    def advance(self, stage: str, done: int, total: int) -> None:
        """Log the end of a stage."""
        if done >= total:
            LOG.info("%s: %d of %d.", stage, done, total)


SILENT = Silent()


@contextmanager
def as_progress(progress: Progress | bool) -> Iterator[Progress]:
    """What a user gives as `progress`: an object, False for none, or True for a bar on stderr.

    The bar is removed at the end of the block, also after an error.
    """
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield SILENT
    else:
        from hornbeam.base.terminal_progress import TerminalProgress

        bar = TerminalProgress()
        try:
            yield bar
        finally:
            bar.close()


@dataclass(frozen=True)
class PartOfWork:
    """Reports the progress of a part as units `before` to `before + size` of the whole stage."""

    progress: Progress
    stage: str
    before: int
    size: int
    total: int

    def part(self, low: int, high: int, n: int) -> PartOfWork:
        """The pieces `low` to `high`, out of `n` pieces of this part, as a part of its own."""
        begin, end = self.size * low // n, self.size * high // n
        return PartOfWork(self.progress, self.stage, self.before + begin, end - begin, self.total)

    def message(self, text: str) -> None:
        """Report a message once."""
        self.progress.message(text)

    def advance(self, stage: str, done: int, total: int) -> None:
        """Report a stage of the part under the name of the whole; `finish` reports the end."""
        if done < total:
            units = self.size * done // total
            self.progress.advance(self.stage, self.before + units, self.total)

    def finish(self) -> None:
        """Report that the part is done."""
        self.progress.advance(self.stage, self.before + self.size, self.total)
