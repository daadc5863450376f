"""How long until the explorer's first page: CPU and wall seconds from the command to its home page.

    python benchmarks/bench_first_page.py --facts 100000

Random facts of 20 predicates and a model of some rules are written to a temporary folder, and
`hornbeam serve` is run on them in fresh processes: cold with an empty cache of compiled code, warm
with what the run before has left. CPU seconds are those of the server. Of the wall seconds some are
spent waiting for a core that others use; without these it would have been so on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from common import finish, markdown

RULES = """2: p0(A, B) & t(B, C) -> t(A, C)
1: p1(A, B) & p2(C, B) -> t(A, C)
0.5: p3(A, C) -> !t(A, B) [log]
1: !t(A, B)
"""


def write_world(folder: Path, n_facts: int, seed: int = 0) -> None:
    """Write facts and a model."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n_facts // 5, (n_facts, 2))
    predicates = [*(f"p{k}" for k in range(19)), "t"]
    rows = zip(ends.tolist(), rng.integers(0, 20, n_facts).tolist(), strict=True)
    lines = (f"entity_{s}\t{predicates[p]}\tentity_{o}\n" for (s, o), p in rows)
    (folder / "facts.tsv").write_text("".join(lines))
    (folder / "model.psl").write_text(RULES)


def first_page(folder: Path) -> tuple[float, float, float]:
    """CPU and wall seconds until the home page has come, and those of waiting for a core."""
    words = ["serve", "model.psl", "--facts", "facts.tsv", "--port", "0", "--json", "-q"]
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "hornbeam.cli.main", *words], cwd=folder, stdout=subprocess.PIPE,
        text=True, env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
    ) as server:  # fmt: skip
        assert server.stdout is not None
        with urllib.request.urlopen(json.loads(server.stdout.readline())["url"]) as answer:
            answer.read()
        wall, cpu = time.perf_counter() - began, _cpu_of(server.pid)
        waited = _waited(server.pid)
        time.sleep(1)  # what is compiled meanwhile is kept for the next run
        server.terminate()
    return cpu, wall, waited


def _cpu_of(pid: int) -> float:
    """CPU seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _waited(pid: int) -> float:
    """Seconds that the first thread of a process was ready and had no core."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--warm", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_world(folder, options.facts)
        rows = []
        for run in range(1 + options.warm):
            cpu, wall, waited = first_page(folder)
            figures = [f"{value:.2f}" for value in (cpu, wall, wall - waited)]
            rows.append(["warm" if run else "cold", *figures])
    print(markdown(["cache", "CPU s", "wall s", "wall s without waiting for a core"], rows))
    finish()


if __name__ == "__main__":
    main()
