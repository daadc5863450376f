"""Lanes: who waits for whom while pages are made, and how many may wait."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic

import anyio.to_thread

from hornbeam.serve.visits import Answer, Page, Visit

#: How long the slow lane rests after a page while others ask: in units of what the page took, and
#: in seconds at most; and for how many seconds somebody who asked counts as asking.
REST, LONGEST_REST = 15.0, 5.0
STILL_ASKING = 1.0

#: Makes a page out of the way of the loop that talks to clients.
PageMaker = Callable[[Page, Visit], Awaitable[Answer]]


async def in_thread(page: Page, visit: Visit) -> Answer:
    """Make a page in a thread."""
    return await anyio.to_thread.run_sync(page, visit)


class PageQueue:
    """A number of makers of pages, threads at first, and a queue that does not grow for ever.

    Pages share the machine, so one that takes a second makes all others wait. A lane that gives
    way to `others` rests after every page as long as these are asked.
    """

    def __init__(self, threads: int, most_waiting: int, others: PageQueue | None = None) -> None:
        self._free: list[PageMaker] = [in_thread] * threads
        self._n_makers = threads
        # hands out turns in the order in which they were asked for
        self._turns = asyncio.Semaphore(threads)
        self._most_waiting = most_waiting
        self._inside = 0
        self._others = others
        self._asked = self._rests_until = -math.inf

    @property
    def is_full(self) -> bool:
        """Whether no more may wait."""
        return self._inside >= self._n_makers + self._most_waiting

    @asynccontextmanager
    async def makers_changed(self) -> AsyncIterator[list[PageMaker]]:
        """The makers, while none of them makes a page; who is listed at the end makes the next."""
        for _ in range(self._n_makers):
            await self._turns.acquire()
        try:
            yield self._free
        finally:
            self._n_makers = len(self._free)
            for _ in range(self._n_makers):
                self._turns.release()

    async def run(self, page: Page, visit: Visit) -> Answer:
        """Have a page made."""
        self._asked = monotonic()
        self._inside += 1
        try:
            async with self._turns:
                while self._gives_way:
                    await asyncio.sleep(0.05)
                # the last one: who asks alone meets the caches of one maker
                began, make = monotonic(), self._free.pop()
                try:
                    return await make(page, visit)
                finally:
                    self._free.append(make)
                    ended = monotonic()
                    self._rests_until = ended + min(REST * (ended - began), LONGEST_REST)
        finally:
            self._inside -= 1

    @property
    def _gives_way(self) -> bool:
        """Whether it rests, for the sake of others who ask meanwhile."""
        now, others = monotonic(), self._others
        return others is not None and now < self._rests_until and now < others._asked + STILL_ASKING


#: Which lane a visit takes.
QueueOf = Callable[[Visit], PageQueue]
