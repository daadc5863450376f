"""Queues of page requests: bounded, and the slow queue yields to the quick queue."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic

import anyio.to_thread

from hornbeam.serve.visits import Page, PageAnswer, Visit

#: Pause of the slow queue after a page while the quick queue is in use: as a multiple of the page's
#: time, and its maximum in seconds. The quick queue counts as in use for `IN_USE` seconds after its
#: last request.
PAUSE, MAX_PAUSE = 15.0, 5.0
IN_USE = 1.0

#: Makes a page outside the event loop.
PageMaker = Callable[[Page, Visit], Awaitable[PageAnswer]]


async def in_thread(page: Page, visit: Visit) -> PageAnswer:
    """Make a page in a thread."""
    return await anyio.to_thread.run_sync(page, visit)


class PageQueue:
    """A fixed number of page makers (threads at first) with a bounded queue.

    Pages share the machine, so a page that takes a second delays all other pages. A slow queue is
    given the quick queue as `others`: while that is in use, the slow queue pauses after every page.
    """

    def __init__(self, threads: int, max_waiting: int, others: PageQueue | None = None) -> None:
        self._free: list[PageMaker] = [in_thread] * threads
        self._n_makers = threads
        # a fair semaphore: first come, first served
        self._turns = asyncio.Semaphore(threads)
        self._max_waiting = max_waiting
        self._inside = 0
        self._others = others
        self._used_at = self._pause_until = -math.inf

    @property
    def is_full(self) -> bool:
        """Whether no further request may wait."""
        return self._inside >= self._n_makers + self._max_waiting

    @asynccontextmanager
    async def paused_makers(self) -> AsyncIterator[list[PageMaker]]:
        """Pause all makers and yield their list; the makers in it after the block take over."""
        for _ in range(self._n_makers):
            await self._turns.acquire()
        try:
            yield self._free
        finally:
            self._n_makers = len(self._free)
            for _ in range(self._n_makers):
                self._turns.release()

    async def run(self, page: Page, visit: Visit) -> PageAnswer:
        """Wait for a free maker, and have the page made."""
        self._used_at = monotonic()
        self._inside += 1
        try:
            async with self._turns:
                while self._must_wait:
                    await asyncio.sleep(0.05)
                # the most recently used maker: a single client then benefits from its caches
                began, make = monotonic(), self._free.pop()
                try:
                    return await make(page, visit)
                finally:
                    self._free.append(make)
                    ended = monotonic()
                    self._pause_until = ended + min(PAUSE * (ended - began), MAX_PAUSE)
        finally:
            self._inside -= 1

    @property
    def _must_wait(self) -> bool:
        """Whether to wait because the other queue is in use."""
        now, others = monotonic(), self._others
        return others is not None and now < self._pause_until and now < others._used_at + IN_USE
