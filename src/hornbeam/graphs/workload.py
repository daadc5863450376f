"""Work on many relations at once: threads, a truthful share of what is done, and a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from hornbeam.machine import worker_threads
from hornbeam.progress import SILENT, Progress

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Units of work that progress is reported in.
UNITS = 1000


@dataclass
class Workload:
    """What is left to do, for all stages of one piece of work.

    Parameters
    ----------
    progress
        Hears which share is done.
    stage
        The name of the work.
    seconds
        After so many seconds `expired` is true; None for no limit.
    threads
        Threads that items are shared among; results do not depend on them.
    """

    progress: Progress = SILENT
    stage: str = "Learning"
    seconds: float | None = None
    threads: int | None = None
    done: float = 0.0
    started: float = field(default_factory=time.monotonic)
    _lock: Lock = field(default_factory=Lock)

    def expired(self, share: float = 1.0) -> bool:
        """Whether a share of the time limit has passed."""
        return self.left(share) < 0

    @property
    def passed(self) -> float:
        """The share of the time limit that has passed, at most 1; 0 where there is none."""
        if self.seconds is None:
            return 0.0
        return min((time.monotonic() - self.started) / max(self.seconds, 1e-9), 1.0)

    def left(self, share: float = 1.0) -> float:
        """Seconds until a share of the time limit has passed."""
        if self.seconds is None:
            return float("inf")
        return share * self.seconds - (time.monotonic() - self.started)

    def advance(self, share: float) -> None:
        """Report that a further share of the whole is done, or of the time if that is more."""
        with self._lock:
            self.done = min(self.done + share, 1.0)
            self.progress.advance(self.stage, round(UNITS * max(self.done, self.passed)), UNITS)

    def finish(self) -> None:
        """Report that everything is done."""
        self.done = 1.0
        self.progress.advance(self.stage, UNITS, UNITS)

    def each(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        sizes: Sequence[float],
        share: float,
        until: float = 1.0,
        threads: int | None = None,
    ) -> list[Result | None]:
        """Do `work` on every item; None for those that the time limit leaves no time for.

        Parameters
        ----------
        work, items
            What is done, and on what.
        sizes
            How long each item takes, relative to the others.
        share
            Which share of the whole workload all items are.
        until
            The share of the time limit that must not have passed when an item is begun.
        threads
            Threads for this work, where it is not for as many as others.
        """
        if not items:
            self.advance(share)
            return []
        total = sum(sizes) or 1.0

        def one(place: int) -> Result | None:
            if self.expired(until):
                return None
            result = work(items[place])
            self.advance(share * sizes[place] / total)
            return result

        if len(items) == 1:  # a thread would take longer to begin than many a query to answer
            return [one(0)]
        # large ones first, so that no thread is left alone with one in the end
        order = sorted(range(len(items)), key=lambda i: (-sizes[i], i))
        pool = ThreadPoolExecutor(worker_threads(threads or self.threads))
        try:
            results = dict(zip(order, pool.map(one, order), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)  # an interrupt does not wait for what is not begun
        return [results[i] for i in range(len(items))]
