"""Run as a script: a search on a cluster of two executors, of which one is killed half way."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from hornbeam.counting.sql.spark_engine import open_spark
from hornbeam.rules.candidates import RuleLimits
from tests.support.sparks import SMALL
from tests.support.worlds import many_worlds


def executors() -> list[int]:
    """Processes of the executors that this process started, by way of Spark's workers."""
    parent, found = {}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
                if b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue

    def mine(pid: int) -> bool:
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parent.get(pid, 0)
        return False

    return [pid for pid in found if mine(pid)]


class Killer:
    """A progress that kills one executor after the second level."""

    killed = 0

    def message(self, text: str) -> None:
        """Say nothing."""

    def advance(self, stage: str, done: int, total: int) -> None:
        """Kill, once."""
        if stage == "Joining facts" and done == 2 and not self.killed:
            os.kill(executors()[0], signal.SIGKILL)
            self.killed = 1


def main() -> None:
    """Search, and print what was found."""
    killer = Killer()
    with open_spark(sys.argv[1], master="local-cluster[2,1,1024]", conf=SMALL) as engine:
        targets = many_worlds(5, soft=False, seed=5).targets
        found = engine.discover(targets, RuleLimits(2, 1), statistics=False, progress=killer)
    rows = [[c.text, c.coverage, c.coverage_true, c.paths] for c in found.candidates]
    print(json.dumps({"killed": killer.killed, "found": rows}))


if __name__ == "__main__":
    main()
