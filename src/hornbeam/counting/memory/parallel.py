"""Blocks of targets on threads: each worker has its own counters, merged at the end.

Sums of integers do not depend on which worker counted what, so any number of threads gives the
same result.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hornbeam.arrays import Array, Ids, Ints, Keys, Millionths, pointers, run_starts
from hornbeam.counting.memory.search import Counters, filled
from hornbeam.progress import Progress

#: Known sequences to enter above which compiling pays.
WORTH_COMPILING = 100_000

Rows = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class MergedCounts:
    """What all blocks found: distinct keys with their figures, and rows of the sparse table.

    `figures` has three rows: targets connected, true targets connected, paths. `path` points
    into `key`.
    """

    key: Keys
    figures: Ints
    path: Ints
    target: Ids
    body: Millionths
    count: Ints


#: One slot per node for each half of a path, all of them -1 between searches.
NodeSlots = tuple[Ids, Ids]


class SpareSlots:
    """Slots that the searches over one graph reuse: many small ones need not allocate their own."""

    def __init__(self, n_entities: int) -> None:
        self.n_entities = n_entities
        self._spare: queue.SimpleQueue[NodeSlots] = queue.SimpleQueue()
        self.give_back = self._spare.put

    def take(self) -> NodeSlots:
        """Slots that no other search uses, created where none are free."""
        try:
            return self._spare.get_nowait()
        except queue.Empty:
            n = self.n_entities
            return np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)


@dataclass(eq=False)
class Worker:
    """State used by one thread at a time: counters, and slots for both halves of a path."""

    number: int
    counters: Counters
    size: int
    slots: NodeSlots


class WorkerPool:
    """As many workers as threads, each borrowed by one at a time."""

    def __init__(self, threads: int, spare: SpareSlots, known: Keys) -> None:
        fill = filled.choose(threads * len(known), WORTH_COMPILING)
        self.workers = [
            Worker(number, fill(empty_counters(), known), len(known), spare.take())
            for number in range(threads)
        ]
        self._spare = spare
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self._idle.put(worker)

    @contextmanager
    def borrowed(self) -> Iterator[Worker]:
        """Borrow a worker."""
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)

    def merged(self, blocks: list[tuple[int, Rows]], target: Ints) -> MergedCounts:
        """Unite the workers' counters and renumber the blocks' rows accordingly.

        All blocks are done, so that the slots are free; those of an interrupted search never are.
        """
        for worker in self.workers:
            self._spare.give_back(worker.slots)
        keys = [worker.counters.key[: worker.size] for worker in self.workers]
        key, place = np.unique(np.concatenate(keys), return_inverse=True)
        figures = np.zeros((3, len(key)), dtype=np.int64)
        renumbered, start = [], 0
        for worker in self.workers:
            mine = place[start : start + worker.size]
            figures[:, mine] += worker.counters.figures[:, : worker.size]
            renumbered.append(mine)
            start += worker.size
        rows = [
            (renumbered[number][path], target[row].astype(np.int32), body, count)
            for number, (row, path, body, count) in blocks
        ]
        return MergedCounts(key, figures, *concatenated(rows))


def concatenated(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows (path, target, body, count) of the parts, which may be none."""
    kinds = (np.int64, np.int32, np.int32, np.int64)
    return tuple(
        np.concatenate([part[k] for part in parts]) if parts else np.empty(0, dtype=kind)
        for k, kind in enumerate(kinds)
    )


def empty_counters() -> Counters:
    """An empty hash table; it grows as sequences are found."""
    capacity = 1 << 12
    return Counters(
        np.zeros(capacity, dtype=np.uint64),
        np.zeros(capacity, dtype=np.int32),
        np.zeros(capacity // 2, dtype=np.uint64),
        np.zeros((3, capacity // 2), dtype=np.int64),
    )


def balanced_blocks(source: Ids, cost: Ints, blocks: int) -> list[tuple[int, int]]:
    """Cut targets, sorted by source, into blocks of about equal cost that split no source."""
    if not len(source):
        return []
    starts = run_starts(source)
    share = pointers(cost)[starts] * blocks // max(int(cost.sum()), 1)
    cuts = [*starts[run_starts(share)].tolist(), len(source)]
    return list(pairwise(cuts))


def run_blocks(
    work: Callable[[int, int], tuple[int, Rows]],
    bounds: list[tuple[int, int]],
    threads: int,
    progress: Progress,
) -> list[tuple[int, Rows]]:
    """Run `work` on every block and return the results in the order of the blocks.

    Ctrl-C does not wait for running blocks, which may take long: they hold nothing but memory,
    and their results are discarded.
    """
    total = bounds[-1][1] if bounds else 0
    executor = ThreadPoolExecutor(max_workers=threads)
    try:
        futures = {executor.submit(work, low, high): high - low for low, high in bounds}
        done = 0
        pending = set(futures)
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            done += sum(futures[future] for future in finished)
            progress.advance("Counting paths", done, total)
        return [future.result() for future in futures]
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
