"""A plugin of pytest for `make mutants`: which functions tests call, and runs of chosen tests.

`HORNBEAM_REACHED` is a folder for the functions that are called, one file per process with a line
of JSON per test that passes. `HORNBEAM_CHOSEN` is a file of the tests to run, in their order: each
line has the CPU seconds that a test may take, and its name.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import hornbeam
from hornbeam.base.compiled import Kernel

PACKAGE = f"{hornbeam.__path__[0]}{os.sep}"
#: Stands for all functions of a file whose kernels run compiled, which no trace sees.
COMPILED = "(compiled)"
#: CPU seconds that the collection of chosen tests may take.
COLLECTING = 60
_passed: set[str] = set()
_chosen: dict[str, float] = {}
_compiled: set[CodeType] = set()


def pytest_configure() -> None:
    """Watch kernels, and read which tests to run."""
    if "HORNBEAM_REACHED" in os.environ:
        made = Kernel.compiled.func  # type: ignore[attr-defined]

        def compiled(kernel: Kernel) -> Callable[..., Any]:
            _compiled.add(kernel.function.__code__)
            if kernel not in _made:
                _made[kernel] = made(kernel)
            return _made[kernel]

        _made: dict[Kernel, Callable[..., Any]] = {}
        Kernel.compiled = property(compiled)  # type: ignore[assignment]
    if "HORNBEAM_CHOSEN" in os.environ:
        for line in Path(os.environ["HORNBEAM_CHOSEN"]).read_text(encoding="utf-8").split("\n"):
            seconds, _, name = line.partition(" ")
            _chosen[name] = float(seconds)
        signal.setitimer(signal.ITIMER_PROF, COLLECTING)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests, in their order."""
    if "HORNBEAM_CHOSEN" in os.environ:
        place = {name: i for i, name in enumerate(_chosen)}
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note which functions a test calls, its fixtures included, on any thread.

    Of chosen tests, limit the CPU seconds: a mutant may never end.
    """
    if item.nodeid in _chosen:
        signal.setitimer(signal.ITIMER_PROF, _chosen[item.nodeid])
    if "HORNBEAM_REACHED" not in os.environ:
        return (yield)
    codes: set[CodeType] = set()
    _compiled.clear()

    def called(frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401
        codes.add(frame.f_code)

    began = time.process_time()
    threading.settrace(called)
    sys.settrace(called)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        if item.nodeid in _passed:
            _keep(_name(item), time.process_time() - began, codes)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember which tests pass."""
    if report.when == "call" and report.passed:
        _passed.add(report.nodeid)


def _name(item: pytest.Item) -> str:
    """Name of a test, without the group that a worker of pytest-xdist writes behind it."""
    grouped = "PYTEST_XDIST_WORKER" in os.environ and item.get_closest_marker("xdist_group")
    return item.nodeid.rpartition("@")[0] if grouped else item.nodeid


def _keep(name: str, seconds: float, codes: set[CodeType]) -> None:
    named = [(code, code.co_qualname) for code in codes] + [(code, COMPILED) for code in _compiled]
    ours = {
        f"{Path(code.co_filename.removeprefix(PACKAGE)).as_posix()} {name}"
        for code, name in named
        if code.co_filename.startswith(PACKAGE)
    }
    place = Path(os.environ["HORNBEAM_REACHED"]) / f"{os.getpid()}.jsonl"
    with place.open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, seconds, sorted(ours)]) + "\n")
