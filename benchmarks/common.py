"""Timing, fresh processes and Markdown tables for the benchmarks."""

from __future__ import annotations

import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

# Synthetic data come from the tests' helpers.
sys.path.insert(0, str(Path(__file__).parents[1]))

T = TypeVar("T")
Figures = dict[str, Any]

#: The shared data sets.
DATA = Path(os.environ.get("HORNBEAM_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Timed:
    """Seconds of the fastest of several runs, by CPU time."""

    cpu: float
    wall: float


def timed(work: Callable[[], T], repeat: int = 1) -> tuple[T, Timed]:
    """Run `work` and return its last result with the seconds of the fastest run."""
    runs = []
    for _ in range(repeat):
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        runs.append((time.process_time() - cpu, time.perf_counter() - wall))
    return result, Timed(*min(runs))


def resident() -> int:
    """Bytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak() -> int:
    """Most bytes of memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_fresh_process(script: str, *arguments: str) -> Figures:
    """Run a benchmark script on its own; it prints its figures as JSON on the last line."""
    command = [sys.executable, script, *arguments]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(run.stdout.splitlines()[-1])
    return figures


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, figures to the right."""
    listed = [[str(cell) for cell in row] for row in rows]
    rule = ["---", *(["--:"] * (len(header) - 1))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(header), rule, *listed])


def machine() -> str:
    """One line on the machine and how busy it is."""
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        f"load average {load:.1f} at the end"
    )


def finish() -> None:
    """Say where this ran and with what command."""
    print(f"\n{machine()}\n")
    print(f"Command: `{shlex.join(['python', *sys.argv])}`")
