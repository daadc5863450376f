from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.progress import SILENT
from hornbeam.counting.memory.parallel import (
    Rows,
    SpareWorkers,
    WorkerPool,
    balanced_blocks,
    run_blocks,
)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 10**12)), max_size=40),
    st.integers(1, 9),
)
def test_blocks_cover_everything_and_split_no_source(
    items: list[tuple[int, int]], blocks: int
) -> None:
    items.sort()
    source = np.array([s for s, _ in items], dtype=np.int32)
    cost = np.array([c for _, c in items], dtype=np.int64)
    bounds = balanced_blocks(source, cost, blocks)
    assert len(bounds) <= blocks + 1
    assert [i for low, high in bounds for i in range(low, high)] == list(range(len(items)))
    for low, _ in bounds[1:]:
        assert source[low - 1] != source[low]


def test_blocks_of_equal_costs_are_of_equal_size() -> None:
    bounds = balanced_blocks(np.arange(1000, dtype=np.int32), np.ones(1000, dtype=np.int64), 10)
    assert [high - low for low, high in bounds] == [100] * 10


def test_results_come_in_the_order_of_the_blocks() -> None:
    def work(low: int, high: int) -> tuple[int, Rows]:
        return low, (np.arange(low, high),)

    bounds = [(i, i + 1) for i in range(50)]
    results = run_blocks(work, bounds, 3, SILENT)
    assert [low for low, _ in results] == list(range(50))


def test_an_error_in_a_block_is_raised() -> None:
    def work(low: int, high: int) -> tuple[int, Rows]:
        raise MemoryError("too large")

    with pytest.raises(MemoryError, match="too large"):
        run_blocks(work, [(0, 1), (1, 2)], 2, SILENT)


def test_ctrl_c_leaves_the_other_blocks_alone() -> None:
    started, ended = list[int](), list[int]()
    interrupted = threading.Event()

    class Interrupt:
        def message(self, text: str) -> None: ...

        def advance(self, stage: str, done: int, total: int) -> None:
            raise KeyboardInterrupt

    def work(low: int, high: int) -> tuple[int, Rows]:
        started.append(low)
        if low:
            interrupted.wait(60)
            ended.append(low)
        return low, ()

    with pytest.raises(KeyboardInterrupt):
        run_blocks(work, [(i, i + 1) for i in range(1000)], 2, Interrupt())
    assert not ended  # the running block is not waited for
    interrupted.set()
    assert set(started) <= {0, 1, 2}


def test_a_worker_is_lent_to_one_thread_at_a_time() -> None:
    pool = WorkerPool(2, SpareWorkers(3), np.empty(0, dtype=np.uint64))
    with pool.borrowed() as (_, one), pool.borrowed() as (_, other):
        assert one is not other
        assert pool._idle.empty()
    assert not pool._idle.empty()
