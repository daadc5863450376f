"""PSL programs: Hornbeam against PSL's own runtime, in CPU seconds, in the same run.

    HORNBEAM_DATA=../shared/data python benchmarks/bench_programs.py

The programs `n10`, `n25` and `n50` of the shared folder, and `n50` scaled up to a million and to
four million ground rules (as many copies of its entities as it takes, with shuffled names);
`--copies` chooses other sizes. Every figure is CPU time of all threads; PSL's phases are told apart
by the lines of its log, at which its CPU time is read. Hornbeam has run before: its bytecode and
its kernels are compiled, and the phases, other than the total, find the kernels loaded. PSL's
runtime is the jar of the `pslpython` wheel. `--repeat` runs everything again and shows the least
and the greatest figure.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from common import DATA, Figures, finish, in_fresh_process, markdown, timed
from hornbeam.base.choices import Solver
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.map_inference import solve
from hornbeam.programs.grounding.ground import ground
from hornbeam.programs.inference import TOLERANCE
from hornbeam.programs.program import read_program

LINKS = DATA.parent / "psl" / "links"
#: Lines of PSL's log at which a phase ends.
PHASES = (
    ("start and load", "Grounding out model."),
    ("ground", "Grounding complete."),
    ("(between)", "Beginning inference."),
    ("ADMM", "Inference complete."),
)
#: Copies of n50 with a million and with four million ground rules.
COPIES = (47, 188)
#: Left out of the scaled program, on both sides: PSL looks every target up in a list for its AUC,
#: which took 334 CPU seconds for 141,000 of them, five times the rest.
SLOW_EVALUATOR = "AUCEvaluator"


def jar() -> Path:
    """PSL's runtime."""
    package = importlib.util.find_spec("pslpython")
    if package is None or not package.submodule_search_locations:
        sys.exit("no PSL runtime: pip install pslpython==2.4.1")
    return Path(package.submodule_search_locations[0]) / "psl-runtime.jar"


def cpu_of(pid: int) -> float:
    """CPU seconds of a running process, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def run_psl(program: Path) -> dict[str, float]:
    """CPU seconds of PSL's phases and of all of it, its memory and its objective."""
    process = subprocess.Popen(
        ["java", "-Xmx16g", "-jar", str(jar()), program.name],
        cwd=program.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    found: dict[str, float] = {}
    before, phases = 0.0, list(PHASES)
    for line in process.stdout:
        if phases and phases[0][1] in line:
            now = cpu_of(process.pid)
            found[phases.pop(0)[0]] = now - before
            before = now
        if "Final Objective:" in line:
            found["objective"] = float(line.split("Final Objective:")[1].split(",")[0])
    return {**found, **_ended(process)}


def run_hornbeam(program: Path) -> Figures:
    """CPU seconds of the phases in a process of their own, then those and GB of the command."""
    phases = in_fresh_process(__file__, "--phases", str(program))
    command = ["infer", str(program), "--solver", "admm", "--json", "-q"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hornbeam.cli.main", *command], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    answer = json.loads(process.stdout.read())
    return {**answer, **phases, **_ended(process)}


def _ended(process: subprocess.Popen[str]) -> dict[str, float]:
    """CPU seconds and GB of a process that has said all it has to say."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"a program ended with {process.returncode}")
    return {"total": used.ru_utime + used.ru_stime, "GB": used.ru_maxrss * 1024 / 1e9}


def phases(program: Path) -> Figures:
    """CPU seconds of loading, grounding and ADMM, kernels loaded."""
    figures = {}
    clock = time.process_time()
    read = read_program(program)
    data = read.load()
    figures["load"] = time.process_time() - clock
    grounded, spent = timed(lambda: ground(read.rules, data, read.closed))
    figures["ground"] = spent.cpu
    Admm(max_iterations=1).solve(grounded.potentials)  # loads the kernels where they are worth it
    tight = Admm(epsilon_abs=TOLERANCE, epsilon_rel=TOLERANCE)
    for name, admm in (("ADMM", tight), ("ADMM loose", Admm())):
        _, spent = timed(partial(solve, grounded.potentials, Solver.ADMM, admm=admm))
        figures[name] = spent.cpu
    return figures


def scaled(folder: Path, copies: int) -> Path:
    """Write n50 with so many copies of its data; names are shuffled so that copies mix."""
    program = json.loads((LINKS / "n50-infer.json").read_text())
    for predicate in program["predicates"].values():
        if "evaluations" in predicate:
            predicate["evaluations"].remove(SLOW_EVALUATOR)
    rng = np.random.default_rng(50)
    files = sorted({f for p in program["predicates"].values() for k in p for f in _files(p[k])})
    tables = {f: np.loadtxt(LINKS / f, ndmin=2) for f in files}
    n = 1 + int(max(table[:, :2].max() for table in tables.values()))
    renamed = rng.permutation(n * copies)
    (folder / "data").mkdir(parents=True)
    for name, table in tables.items():
        with (folder / name).open("w") as stream:
            for copy in range(copies):
                pairs = renamed[table[:, :2].astype(np.int64) + n * copy]
                columns = np.column_stack([pairs, table[:, 2:].astype(np.int64)])
                np.savetxt(stream, columns, fmt="%d", delimiter="\t")
    path = folder / "scaled.json"
    path.write_text(json.dumps(program))
    return path


def span(values: list[float], digits: int) -> str:
    """The least and the greatest figure, or the one there is."""
    ends = [f"{end:.{digits}f}" for end in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _files(part: object) -> list[str]:
    listed = part if isinstance(part, list) else []
    return [one for one in listed if one.endswith(".txt")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phases", type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--copies", type=int, nargs="*", default=COPIES, help="of n50 in the large programs"
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs of everything")
    chosen = parser.parse_args()
    if chosen.phases is not None:
        print(json.dumps(phases(chosen.phases)))
        return
    # as in an installed package, bytecode is kept
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    header = ["program", "ground rules"]
    for what in ("total", "grounding", "ADMM"):
        header += [f"{what}: PSL", "Hornbeam", "times fewer"]
    header += ["ADMM at PSL's tolerance", "GB: PSL", "Hornbeam", "objective: PSL", "Hornbeam"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: LINKS / f"{name}-infer.json" for name in ("n10", "n25", "n50")}
        for copies in chosen.copies:
            programs[f"n50, {copies} copies"] = scaled(Path(folder) / str(copies), copies)
        for name, program in programs.items():
            runs = [(run_psl(program), run_hornbeam(program)) for _ in range(chosen.repeat)]
            row = [name, f"{runs[0][1]['ground_rules']:,}"]
            for what in ("total", "ground", "ADMM"):
                row.append(span([theirs[what] for theirs, _ in runs], 2))
                row.append(span([ours[what] for _, ours in runs], 2))
                row.append(span([theirs[what] / ours[what] for theirs, ours in runs], 1))
            row.append(span([ours["ADMM loose"] for _, ours in runs], 2))
            for what, digits in (("GB", 2), ("objective", 3)):
                row += [span([run[side][what] for run in runs], digits) for side in (0, 1)]
            rows.append(row)
    print("## PSL programs, CPU seconds\n")
    print(markdown(header, rows))
    finish()


if __name__ == "__main__":
    main()
