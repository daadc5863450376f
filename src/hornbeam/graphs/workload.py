"""Work on many relations at once: threads, progress as a fraction, and a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import SILENT, Progress

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Units of work that progress is reported in.
UNITS = 1000


@dataclass
class Workload:
    """The progress and the time limit of all stages of one piece of work.

    Parameters
    ----------
    progress
        Called with the fraction of the work that is done.
    stage
        The name of the work.
    seconds
        Time limit in seconds after which `expired` is true; None for no limit.
    threads
        Number of threads that items are divided among; results do not depend on it.
    """

    progress: Progress = SILENT
    stage: str = "Learning"
    seconds: float | None = None
    threads: int | None = None
    done: float = 0.0
    started: float = field(default_factory=time.monotonic)
    _lock: Lock = field(default_factory=Lock)

    def expired(self, share: float = 1.0) -> bool:
        """Whether a fraction of the time limit has passed."""
        return self.left(share) < 0

    @property
    def passed(self) -> float:
        """The fraction of the time limit that has passed, at most 1; 0 without a limit."""
        if self.seconds is None:
            return 0.0
        return min((time.monotonic() - self.started) / max(self.seconds, 1e-9), 1.0)

    def left(self, share: float = 1.0) -> float:
        """Seconds until a fraction of the time limit has passed."""
        if self.seconds is None:
            return float("inf")
        return share * self.seconds - (time.monotonic() - self.started)

    def advance(self, share: float) -> None:
        """Report a further fraction of the whole as done, or the passed time if that is more."""
        with self._lock:
            self.done = min(self.done + share, 1.0)
            self.progress.advance(self.stage, round(UNITS * max(self.done, self.passed)), UNITS)

    def finish(self) -> None:
        """Report that everything is done."""
        self.done = 1.0
        self.progress.advance(self.stage, UNITS, UNITS)


def batches(items: Sequence[int], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Batches of items, in order, whose sizes add up to no more than `most` where possible.

    Examples
    --------
    >>> batches([5, 6, 7, 8], [3, 1, 9, 1], most=4)
    [[5, 6], [7], [8]]
    """
    parts: list[list[int]] = []
    held = 0
    for item, size in zip(items, sizes, strict=True):
        if not parts or held + size > most:
            parts.append([])
            held = 0
        parts[-1].append(item)
        held += size
    return parts


@dataclass(frozen=True)
class Portion:
    """A fraction of a workload, and the fraction of the time limit after which no item is started.

    `preparation` is a further fraction of the workload, done before the first item.
    """

    work: Workload
    share: float
    until: float = 1.0
    preparation: float = 0.0

    def each(
        self,
        do: Callable[[Item], Result],
        items: Sequence[Item],
        sizes: Sequence[float],
        threads: int | None = None,
    ) -> list[tuple[Item, Result]]:
        """Items with the results of `do`; items for which no time is left are missing.

        Parameters
        ----------
        do, items
            The function, and its arguments.
        sizes
            Duration of each item relative to the others.
        threads
            Number of threads for these items, by default that of the workload.
        """
        work, total = self.work, sum(sizes) or 1.0
        if not items:
            work.advance(self.share)
        results: dict[int, Result] = {}

        def one(place: int) -> None:
            if not work.expired(self.until):
                results[place] = do(items[place])
                work.advance(self.share * sizes[place] / total)

        if len(items) == 1:  # starting a thread takes longer than answering many queries
            one(0)
        else:
            # large items first, so that all threads end at about the same time
            order = sorted(range(len(items)), key=lambda i: (-sizes[i], i))
            pool = ThreadPoolExecutor(worker_threads(threads or work.threads))
            try:
                list(pool.map(one, order))
            finally:
                pool.shutdown(cancel_futures=True)  # an interrupt does not wait for unstarted items
        return [(items[place], results[place]) for place in sorted(results)]
