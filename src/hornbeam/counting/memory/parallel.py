"""Blocks of targets on threads: each worker has its own counters, merged at the end.

Sums of integers do not depend on which worker counted what, so any number of threads gives the
same result. The arrays that a search works in grow where it stops for lack of room.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints, Keys, pointers, run_starts
from hornbeam.base.progress import Progress
from hornbeam.counting.memory import search
from hornbeam.counting.memory.search import (
    Counters,
    Entries,
    MiddleSteps,
    Prefixes,
    PrefixNumbers,
    Scratch,
    Suffixes,
    enter_keys,
)

#: Bytes of arrays, those of one number per entity aside, that are kept for another search.
MAX_SPARE_BYTES = 1 << 24
#: Room of new arrays, and of new hash tables; the latter is a power of two.
SMALL = 1 << 10
FEW_SLOTS = 1 << 12
#: Keys to enter above which compiling pays.
WORTH_COMPILING = 100_000

Rows = tuple[Array, ...]
T = TypeVar("T")
Named = dict[str, Array]


def _empty(kind: type[np.generic], names: str, size: int) -> Named:
    return {name: np.empty(size, dtype=kind) for name in names.split()}


def _nodes(size: int) -> Named:
    return _empty(np.int32, "node", size) | _empty(np.int64, "start stop", size)


def _items(size: int) -> Named:
    return _empty(np.int32, "prefix via deficit times", size)


def _suffixes(size: int) -> Named:
    segments = _empty(np.int32, "row", size) | _empty(np.int64, "start stop", size)
    sorted_ = _empty(np.uint64, "key order", 2 * size) | _empty(np.int32, "v w deficit", 2 * size)
    return segments | sorted_


def _by_prefix(size: int) -> Named:
    lists = {name: np.zeros(size, dtype=np.int32) for name in ("touched", "seen", "met")}
    return lists | {"counts": np.zeros(size, np.int64), "folded": np.zeros((size, 3), np.int64)}


#: What to make again in a larger size, by what lacks room: an attribute of `Worker`, and the
#: function that makes its fields.
MADE: dict[np.int64, tuple[str, Callable[[int], Named]]] = {
    search.ROOM_NEAR: ("near", lambda size: _nodes(size) | _items(size)),
    search.ROOM_FAR_NODES: ("far", _nodes),
    search.ROOM_FAR_ITEMS: ("far", _items),
    search.ROOM_STEPS: ("steps", lambda size: _empty(np.int32, "u v code deficit", size)),
    search.ROOM_CODES: ("numbers", lambda size: _empty(np.uint64, "code", size)),
    search.ROOM_PAIRS: ("numbers", lambda size: {"pair": np.full(size, -1, dtype=np.int32)}),
    search.ROOM_SUFFIXES: ("suffixes", _suffixes),
    search.ROOM_PREFIXES: ("scratch", _by_prefix),
    search.ROOM_BODIES: ("scratch", lambda size: _empty(np.uint64, "bodies", size)),
}


class Worker:
    """What one search at a time works in; another search may use it afterwards.

    Between searches all slots and pairs are -1, and scratch is 0. Each search begins with counters
    of its own (`begin`), of which the first `size` ids are taken.
    """

    def __init__(self, n_entities: int) -> None:
        made: dict[str, Named] = {"scratch": {"places": np.empty(64, dtype=np.int64)}}
        for attribute in ("near", "far"):
            made[attribute] = {"slot": np.full(n_entities, -1, dtype=np.int32)}
        for attribute, fields in MADE.values():
            made.setdefault(attribute, {}).update(fields(SMALL))
        self.near, self.far = Prefixes(**made["near"]), Prefixes(**made["far"])
        self.steps, self.numbers = MiddleSteps(**made["steps"]), PrefixNumbers(**made["numbers"])
        self.suffixes, self.scratch = Suffixes(**made["suffixes"]), Scratch(**made["scratch"])
        rows = _empty(np.int32, "row body truth", SMALL)
        self.entries = Entries(**rows, **_empty(np.int64, "paths", SMALL))
        self.begin(search.NO_KEYS)

    @property
    def arrays(self) -> tuple[tuple[Array, ...], ...]:
        """The arrays that the kernel takes, apart from counters."""
        return (
            self.near, self.far, self.steps, self.numbers, self.suffixes, self.scratch,
            self.entries,
        )  # fmt: skip

    @property
    def grown_bytes(self) -> int:
        """Bytes of all arrays that grow."""
        slots = self.near.slot.nbytes + self.far.slot.nbytes
        return sum(array.nbytes for part in (*self.arrays, self.counters) for array in part) - slots

    def begin(self, known: Keys) -> None:
        """Begin a search with counters of the known keys."""
        none = np.zeros((3, len(known)), dtype=np.int64)
        self.counters, self.size = counters_of(known, none, len(known)), len(known)

    def search(self, run: Callable[..., bool], *block: Any) -> Rows:  # noqa: ANN401
        """Search a block to its end; rows of the sparse table."""
        state, wanted = np.zeros(search.STATES, np.int64), np.zeros(search.ROOMS, np.int64)
        state[search.AT_ROW], state[search.SIZE] = search.NEW_SOURCE, self.size
        while not run(*block, *self.arrays, self.counters, state, wanted):
            self.size = int(state[search.SIZE])
            for room in np.flatnonzero(wanted):
                self.grow(room, int(wanted[room]))
            wanted[:] = 0
        self.size = int(state[search.SIZE])
        n = state[search.ENTRIES]
        return tuple(column[:n].copy() for column in self.entries)

    def grow(self, room: np.int64, needed: int) -> None:
        """Make room for what lacks it; only counters and entries keep what they have."""
        size = needed + needed // 2
        if room == search.ROOM_COUNTERS:
            key, figures = self.counters.key[: self.size], self.counters.figures[:, : self.size]
            self.counters = counters_of(key, figures, needed)
        elif room == search.ROOM_ENTRIES:
            self.entries = Entries(*(extended(column, size) for column in self.entries))
        else:
            attribute, fields = MADE[room]
            setattr(self, attribute, getattr(self, attribute)._replace(**fields(size)))


def extended(array: Array, size: int) -> Array:
    """The array with zeros at the end of its last axis, which gets that size."""
    longer = np.zeros((*array.shape[:-1], size), dtype=array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer


def counters_of(keys: Keys, figures: Array, size: int) -> Counters:
    """A hash table of distinct keys with their figures, with room for `size`, at most half full.

    Keys are numbered in their order.
    """
    slots = max(FEW_SLOTS, 1 << (2 * size).bit_length())
    slot_key, slot_id = np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.int32)
    enter_keys.choose(len(keys), WORTH_COMPILING)(slot_key, slot_id, keys)
    return Counters(slot_key, slot_id, extended(keys, slots // 2), extended(figures, slots // 2))


@dataclass(frozen=True, eq=False)
class MergedCounts:
    """What all blocks found: distinct keys with their figures, and rows of the sparse table.

    `figures` has three rows: targets connected, true targets connected, paths. `rows` are body,
    target, truth and count; bodies point into `key`.
    """

    key: Keys
    figures: Ints
    rows: Rows


class SpareWorkers:
    """Workers for the searches over one graph: many small searches need not make their own."""

    def __init__(self, n_entities: int) -> None:
        self.n_entities = n_entities
        self._spare: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def give_back(self, worker: Worker) -> None:
        """Keep the worker of a search that is done, unless its arrays have grown large."""
        if worker.grown_bytes <= MAX_SPARE_BYTES:
            self._spare.put(worker)

    def take(self) -> Worker:
        """A worker that no other search uses, created where none is free."""
        try:
            return self._spare.get_nowait()
        except queue.Empty:
            return Worker(self.n_entities)


class WorkerPool:
    """As many workers as threads, each borrowed by one thread at a time."""

    def __init__(self, threads: int, spare: SpareWorkers, known: Keys) -> None:
        self.workers = [spare.take() for _ in range(threads)]
        self._spare = spare
        self._idle: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number, worker in enumerate(self.workers):
            worker.begin(known)
            self._idle.put(number)

    @contextmanager
    def borrowed(self) -> Iterator[tuple[int, Worker]]:
        """Borrow a worker, which comes with its number."""
        number = self._idle.get()
        try:
            yield number, self.workers[number]
        finally:
            self._idle.put(number)

    def merged(self, blocks: list[tuple[int, Rows]], target: Ints) -> MergedCounts:
        """Unite the workers' counters and renumber the blocks' rows accordingly.

        All blocks are done, so that the workers are free; those of an interrupted search never are.
        """
        keys = [worker.counters.key[: worker.size] for worker in self.workers]
        key, place = np.unique(np.concatenate(keys), return_inverse=True)
        figures = np.zeros((3, len(key)), dtype=np.int64)
        renumbered, start = [], 0
        for worker in self.workers:
            mine = place[start : start + worker.size]
            figures[:, mine] += worker.counters.figures[:, : worker.size]
            renumbered.append(mine)
            start += worker.size
            self._spare.give_back(worker)
        rows = [
            (renumbered[number][body], target[row].astype(np.int32), truth, count)
            for number, (row, body, truth, count) in blocks
        ]
        return MergedCounts(key, figures, concatenated(rows))


def concatenated(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows (body, target, truth, count) of the parts, which may be none."""
    kinds = (np.int64, np.int32, np.int32, np.int64)
    return tuple(
        np.concatenate([part[k] for part in parts]) if parts else np.empty(0, dtype=kind)
        for k, kind in enumerate(kinds)
    )


def balanced_blocks(source: Ids, cost: Ints, blocks: int) -> list[tuple[int, int]]:
    """Cut targets, sorted by source, into blocks of about equal cost that split no source."""
    if not len(source):
        return []
    starts = run_starts(source)
    share = pointers(cost)[starts] * blocks // max(int(cost.sum()), 1)
    cuts = [*starts[run_starts(share)].tolist(), len(source)]
    return list(pairwise(cuts))


def even_blocks(n: int, blocks: int) -> list[tuple[int, int]]:
    """Cut `n` items into at most that many blocks of about equal size, none of them empty."""
    cuts = np.linspace(0, n, blocks + 1).astype(int).tolist()
    return [(low, high) for low, high in pairwise(cuts) if high > low]


def run_blocks(
    work: Callable[[int, int], T],
    bounds: list[tuple[int, int]],
    threads: int,
    progress: Progress,
) -> list[T]:
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
