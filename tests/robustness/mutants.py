"""`make mutants`: a sample of the code's mutants, and those that no test notices.

The tests run once on a copy of the tree to see which functions each of them calls. Then each
mutant of the sample replaces its module in a copy, and the tests that call its function run until
the first one fails, nearest and cheapest first. A process per copy has imported the libraries and
is forked for each mutant. Machine code is kept with the copy, and that of mutants is deleted.

`equivalent_mutants.txt` has mutants that no test can notice: the line that is printed for a
surviving mutant, and the reason in the indented lines below it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.support.code_mutants import Mutant, mutants_of
from tests.support.reached_functions import COMPILED

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src", "hornbeam")
#: Folders of the package where arithmetic and logic live.
FOLDERS = ("counting", "densities", "learning", "scoring", "graphs", "hlmrf", "explaining")
#: Modules that only tests with Java reach, which are not among those that are run here.
OF_SPARK = "spark_"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
PYTEST = (
    *("-q", "-p", "tests.support.reached_functions"),
    *("-p", "no:cacheprovider", "--hypothesis-profile", "mutants"),
)
#: Tests that may notice a mutant: those of the folders, and those of what they do together.
TESTS = (
    *(f"tests/{folder}" for folder in FOLDERS),
    *(
        "tests/contracts",
        "tests/programs",
        "tests/ranking",
        "tests/rules",
        "tests/test_two_step.py",
    ),
    *("tests/test_one_entity.py", "tests/test_own_rules.py", "tests/reporting/test_plots.py"),
    *("tests/facts/test_growth.py", "tests/cli/test_report.py"),
    *("-m", "not java and not browser and not shared"),
)
#: CPU seconds of a test, and of all tests of a mutant, as they were seen without mutants.
MAX_OF_ONE, MAX_OF_ALL = 5.0, 20.0


@dataclass(frozen=True)
class SeenTest:
    """A test that passes without mutants: its CPU seconds, and the functions that it calls."""

    name: str
    seconds: float
    reached: frozenset[str]

    @property
    def file(self) -> str:
        """The file that pytest has to collect."""
        return self.name.partition("::")[0]


def copy_of_tree(source: Path, place: Path) -> Path:
    """Copy a tree with its machine code."""
    left_out = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "build", "dist")
    return Path(shutil.copytree(source, place, ignore=left_out))


@dataclass(frozen=True)
class Copy:
    """A copy of the tree, with a process that runs pytest there."""

    tree: Path
    process: subprocess.Popen[str]

    @classmethod
    def of(cls, tree: Path) -> Copy:
        """Start the process of a copy."""
        command = [sys.executable, "-m", "tests.support.forked_pytest"]
        pipe = subprocess.PIPE
        variables = environment(tree)
        return cls(
            tree,
            subprocess.Popen(command, cwd=tree, env=variables, stdin=pipe, stdout=pipe, text=True),
        )

    def run(self, arguments: Iterable[str], **variables: str) -> int:
        """Run tests, and return pytest's exit code; negative if the process was ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps([[*PYTEST, *arguments], variables])}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def environment(tree: Path) -> dict[str, str]:
    """Variables with which a copy's package is imported and its bytecode kept."""
    variables = os.environ | {"PYTHONPATH": str(tree / "src")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def seen_tests(tree: Path, jobs: int, kept: Path) -> list[SeenTest]:
    """Which functions every quick test calls; `kept` is a file with that, or is written."""
    if not kept.exists():
        folder = tree.parent / "reached"
        folder.mkdir()
        command = [sys.executable, "-m", "pytest", *PYTEST, "-n", str(jobs), *TESTS]
        variables = environment(tree) | {"HORNBEAM_REACHED": str(folder)}
        code = subprocess.run(command, cwd=tree, env=variables, check=False).returncode
        if code not in (0, 1):
            sys.exit(f"pytest ended with exit code {code}")
        lines = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))]
        kept.write_text("".join(lines), encoding="utf-8")
    rows = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
    return [
        SeenTest(name, seconds, frozenset(reached))
        for name, seconds, reached in rows
        if seconds < MAX_OF_ONE
    ]


def nearest(mutant: Mutant, tests: list[SeenTest]) -> list[SeenTest]:
    """Tests that call the mutant's function: the quick ones, those of its folder first.

    Tests that would compile the mutant are last: the same loops, interpreted, notice the same.
    """
    compiled = f"{mutant.module} {COMPILED}"
    called = {f"{mutant.module} {mutant.function}", compiled}
    reaching = [
        test
        for test in tests
        if called & test.reached
        or (not mutant.function and any(one.startswith(mutant.module) for one in test.reached))
    ]
    mirror = f"tests/{mutant.module.partition('/')[0]}/"
    costs = Counter[str]()
    for test in reaching:
        costs[test.file] += test.seconds  # type: ignore[assignment]
    reaching.sort(
        key=lambda test: (
            compiled in test.reached, test.seconds > 0.5, not test.file.startswith(mirror),
            costs[test.file], test.file, test.seconds, test.name,
        )
    )  # fmt: skip
    total, chosen = 0.0, []
    for test in reaching:
        if total + test.seconds < MAX_OF_ALL:
            total += test.seconds
            chosen.append(test)
    return chosen


def verdict(mutant: Mutant, tests: list[SeenTest], copy: Copy) -> str:
    """What becomes of a mutant: "killed", "timed out" or "survived"."""
    module = copy.tree / PACKAGE / mutant.module
    original = module.read_bytes()
    machine_code = {path: path.read_bytes() for path in (copy.tree / PACKAGE).rglob("*.nb[ci]")}
    names = copy.tree.parent / f"{copy.tree.name}.chosen"
    compiled = f"{mutant.module} {COMPILED}"
    limits = [20 + 10 * test.seconds + 60 * (compiled in test.reached) for test in tests]
    lines = [f"{limit:g} {test.name}" for limit, test in zip(limits, tests, strict=True)]
    names.write_text("\n".join(lines), encoding="utf-8")
    bytecode = Path(importlib.util.cache_from_source(str(module)))
    bytecode.unlink(missing_ok=True)
    module.write_bytes(mutant.source)
    files = dict.fromkeys(test.file for test in tests)
    try:
        code = copy.run(["-x", "-n", "0", *files], HORNBEAM_CHOSEN=str(names))
    finally:
        module.write_bytes(original)
        bytecode.unlink(missing_ok=True)
        for path, kept in machine_code.items():
            path.write_bytes(kept)
    return "timed out" if code < 0 else "killed" if code else "survived"


def reasons() -> dict[str, str]:
    """Reasons by the mutants that are known to be equivalent."""
    found: dict[str, str] = {}
    key = ""
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found[key] = f"{found[key]} {line.strip()}".strip()
        elif line and not line.startswith("#"):
            key = line
            found[key] = ""
    return found


def sample(folders: Iterable[str], number: int, seed: int) -> list[Mutant]:
    """So many of all mutants of the folders."""
    package = ROOT / PACKAGE
    paths = sorted(path for folder in folders for path in (package / folder).rglob("*.py"))
    paths = [path for path in paths if not path.name.startswith(OF_SPARK)]
    mutants = [mutant for path in paths for mutant in mutants_of(path, package)]
    return random.Random(seed).sample(mutants, min(number, len(mutants)))


def main() -> None:
    """Try a sample, and print what survives."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=200, help="how many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", choices=FOLDERS, action="append", help="these alone")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--reached", type=Path, help="file that keeps what tests call")
    parser.add_argument("--judged", type=Path, help="file that keeps what was noticed")
    given = parser.parse_args()
    mutants, known = sample(given.folder or FOLDERS, given.mutants, given.seed), reasons()
    noticed: dict[str, str] = {}
    if given.judged and given.judged.exists():
        lines = given.judged.read_text(encoding="utf-8").splitlines()
        noticed = dict(map(json.loads, lines))
    with (
        tempfile.TemporaryDirectory() as name,
        ThreadPoolExecutor(given.jobs) as threads,
    ):
        place = Path(name)
        copies = SimpleQueue[Copy]()
        tree = copy_of_tree(ROOT, place / "tree0")
        tests = seen_tests(tree, given.jobs, given.reached or place / "reached.jsonl")
        trees = [tree, *(copy_of_tree(tree, place / f"tree{i}") for i in range(1, given.jobs))]
        for tree in trees:
            copies.put(Copy.of(tree))
        print(f"{len(tests):,} tests, {sum(test.seconds for test in tests):,.0f} CPU s", flush=True)

        def judged(mutant: Mutant) -> str:
            if mutant.key in known:
                return "equivalent"
            if mutant.key in noticed:
                return noticed[mutant.key]
            chosen, copy = nearest(mutant, tests), copies.get()
            try:
                found = verdict(mutant, chosen, copy) if chosen else "survived"
            finally:
                copies.put(copy)
            if found == "survived":
                files = ", ".join(dict.fromkeys(test.file for test in chosen)) or "none"
                line = f"{mutant.key}\n    line {mutant.line}; {len(chosen)} tests of: {files}"
                print(line, flush=True)
            elif given.judged:
                with given.judged.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([mutant.key, found]) + "\n")
            return found

        counts = Counter[str]()
        for found in threads.map(judged, mutants):
            counts[found] += 1
            if counts.total() % 20 == 0:
                print(f"{counts.total()} of {len(mutants)}: {dict(counts)}", flush=True)
        while not copies.empty():
            copies.get().close()
    equivalent, survived = counts["equivalent"], counts["survived"]
    killed, total = counts["killed"] + counts["timed out"], counts.total()
    print(
        f"{total} mutants: {killed} killed ({counts['timed out']} by time), {equivalent} "
        f"equivalent, {survived} survived ({(total - survived) / total:.0%} noticed or equivalent)"
    )
    for mutant in mutants:
        if mutant.key in known:
            print(f"equivalent: {mutant.key}\n    {known[mutant.key]}")


if __name__ == "__main__":
    main()
