"""What a first run and a later one cost: CPU seconds and memory of commands in fresh processes.

    python benchmarks/bench_start.py --before ../before/src

* `hornbeam --help`, `learn`, `learn --all-relations`, `evaluate` and `demo` on the bundled
  countries, cold (an empty cache of compiled code) and warm (the cache that the run before has
  left);
* all kernels compiled as for large work: the whole flow on the bundled data with nothing left to
  the interpreter. Code from before this choice existed compiles all it needs in any case.

With `--before` the same is measured for another source tree, turn by turn with this one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from common import finish, markdown

ROOT = Path(__file__).parents[1]
EVIDENCE = ("--facts", "observed.tsv", "--facts", "fold0/obs.tsv")
COMMANDS = {
    "--help": ("--help",),
    "learn": ("learn", *EVIDENCE, "--labels", "fold0/train.tsv", "-o", "model.psl"),
    "learn --all-relations": ("learn", *EVIDENCE, "--all-relations", "-o", "graph.hornbeam"),
    "evaluate": ("evaluate", "model.psl", *EVIDENCE, "--labels", "fold0/test.tsv"),
    "demo": ("demo",),
}
#: CPU seconds and megabytes that are wanted at most, cold and warm.
WANTED = {
    ("--help", "warm"): "0.35 s",
    ("learn", "cold"): "8 s",
    ("learn", "warm"): "2.5 s, 200 MB",
    ("evaluate", "warm"): "1.5 s, 200 MB",
    ("demo", "cold"): "12 s",
    ("all kernels compiled", "cold"): "35 s",
}
#: Runs a command with every kernel compiled that has a choice.
LARGE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from hornbeam.cli.main import run
try:
    from tests.support.kernels import kernels_are
except ImportError:
    run()
with kernels_are(compiled=True):
    run()
"""
RUN = "from hornbeam.cli.main import run; run()"
#: How a command ends that does not know an option.
USAGE = 2


@dataclass(frozen=True)
class Cost:
    """Of one process."""

    cpu: float
    megabytes: float


#: Of runs, by command and state of the cache.
Costs = dict[tuple[str, str], list[Cost]]


class UnknownOptionError(Exception):
    """Older code does not have it."""


def cost_of(source: Path, words: tuple[str, ...], folder: Path, large: bool = False) -> Cost:
    """Run a command of a source tree, with the cache of compiled code in `folder`."""
    script = [LARGE, str(source.parent)] if large else [RUN]
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", *script, *words], env=environment, cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == USAGE:
        raise UnknownOptionError
    if process.returncode:
        raise SystemExit(f"{source}: hornbeam {' '.join(words)} ended {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def measure(source: Path, base: Path, warm_runs: int) -> Costs:
    """Costs by command and state of the cache, each command from a fresh copy of `base`."""
    found: Costs = {}
    for name, words in COMMANDS.items():
        with tempfile.TemporaryDirectory() as scratch, suppress(UnknownOptionError):
            folder = Path(shutil.copytree(base, scratch, dirs_exist_ok=True))
            found[name, "cold"] = [cost_of(source, words, folder)]
            found[name, "warm"] = [cost_of(source, words, folder) for _ in range(warm_runs)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(base, scratch, dirs_exist_ok=True))
        found["all kernels compiled", "cold"] = [cost_of(source, ("demo",), folder, large=True)]
    return found


def table(found: list[Costs], names: list[str]) -> str:
    """Medians, one pair of columns per source tree."""
    header = [
        "command",
        "cache",
        *(f"{name}, {unit}" for name in names for unit in ("CPU s", "MB")),
    ]
    rows = []
    for key in found[0]:
        command = f"`hornbeam {key[0]}`" if key[0] in COMMANDS else key[0]
        cells: list[object] = [command, key[1]]
        for costs in found:
            runs = costs.get(key)
            cells.append(f"{statistics.median(run.cpu for run in runs):.2f}" if runs else "")
            cells.append(f"{statistics.median(run.megabytes for run in runs):.0f}" if runs else "")
        rows.append([*cells, WANTED.get(key, "")])
    return markdown([*header, "at most"], rows)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="`src` folder of the code to compare with")
    parser.add_argument("--cold", type=int, default=3, help="cold runs, of which the median counts")
    parser.add_argument("--warm", type=int, default=2, help="warm runs behind each cold one")
    options = parser.parse_args()
    sources = [ROOT / "src", *([options.before.resolve()] if options.before else [])]
    runs: list[Costs] = [{} for _ in sources]
    with tempfile.TemporaryDirectory() as scratch:
        bundled = sources[0] / "hornbeam" / "examples" / "countries"
        base = Path(shutil.copytree(bundled, scratch, dirs_exist_ok=True))
        cost_of(sources[0], COMMANDS["learn"], base)  # evaluate needs a model
        for _ in range(options.cold):
            for source, known in zip(sources, runs, strict=True):
                for key, costs in measure(source, base, options.warm).items():
                    known.setdefault(key, []).extend(costs)
    print(table(runs, ["now", "before"][: len(sources)]))
    finish()


if __name__ == "__main__":
    main()
