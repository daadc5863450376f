"""MAP inference on synthetic hinges: seconds, iterations, memory, and references.

    python benchmarks/bench_admm.py

Hinges of three literals over 0.3 variables per hinge, coefficients +1 and -1, random weights, so
that about half of them pull at a time. Tolerances 1e-3, absolute and relative. Each case runs in a
fresh process after compilation and includes laying out the literals and assessing the answer.
References: ADMM of the textbook in NumPy, with a copy and a dual for every literal, to the same
tolerances; and the exact solver where it ends in reasonable time.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from common import Figures, finish, in_fresh_process, markdown, resident, timed
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.exact import Exact
from hornbeam.hlmrf.potentials import PotentialKind, Potentials

SEED = 20180703
TOLERANCE = 1e-3
SIZES = (100_000, 1_000_000, 3_000_000)
SMALL = 3_000
#: Hinges up to which the NumPy reference is run.
MAX_REFERENCE = 1_000_000
#: CPU seconds allowed for a million squared hinges.
CPU_LIMIT = 3.0


def synthetic(rows: int, kind: PotentialKind) -> Potentials:
    """Random hinges whose forms are -1/2 to 1/2 in the middle of the box."""
    rng = np.random.default_rng(SEED)
    n = max(3 * rows // 10, 9)
    steps = rng.integers(1, n // 3, size=(rows, 3))
    variable = (rng.integers(n, size=(rows, 1)) + np.cumsum(steps, axis=1)) % n
    coefficient = rng.choice([-1.0, 1.0], size=(rows, 3))
    return Potentials(
        n,
        np.arange(0, 3 * rows + 1, 3),
        variable.astype(np.int32).ravel(),
        coefficient.ravel(),
        rng.uniform(-0.5, 0.5, rows) - coefficient.sum(axis=1) / 2,
        rng.uniform(0, 1, rows),
        np.full(rows, kind, dtype=np.uint8),
        np.zeros(rows, dtype=np.int32),
    )


def forget_peak() -> int:
    """Start to measure the peak of memory again; returns the bytes held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident()


def peak_since() -> int:
    """Most bytes held since `forget_peak`."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def measure(rows: int, kind: PotentialKind, threads: int, repeat: int) -> Figures:
    """Compile, then solve."""
    solver = Admm(epsilon_abs=TOLERANCE, epsilon_rel=TOLERANCE, threads=threads)
    for size in (10, 150_000):  # one thread, several threads
        solver.solve(synthetic(size, kind))
    potentials = synthetic(rows, kind)
    before = forget_peak()
    found, seconds = timed(lambda: solver.solve(potentials), repeat)
    return {
        "cpu": seconds.cpu,
        "wall": seconds.wall,
        "iterations": found.iterations,
        "objective": found.objective,
        "bound": found.bound,
        "bytes": (peak_since() - before) / len(potentials.variable),
    }


# --- references ----------------------------------------------------------------------------


def textbook(potentials: Potentials) -> tuple[npt.NDArray[np.float64], int]:
    """ADMM as the textbook has it, a NumPy operation a line."""
    row, variable, a = potentials.row, potentials.variable, potentials.coefficient
    weight = potentials.weight / potentials.weight.max()
    rows, n = len(potentials), potentials.n_variables
    norm = np.bincount(row, a * a, rows)
    degree = np.maximum(np.bincount(variable, minlength=n), 1)
    squared = potentials.kind == PotentialKind.SQUARED
    z, u = np.ones(n), np.zeros(len(a))
    floor = np.sqrt(len(a)) * TOLERANCE
    for iteration in range(1, 25_001):
        v = z[variable] - u
        form = np.maximum(np.bincount(row, a * v, rows) + potentials.constant, 0.0)
        t = np.where(squared, form * 2 * weight / (1 + 2 * weight * norm),
                     np.minimum(form / norm, weight))  # fmt: skip
        x = v - t[row] * a
        old, z = z, np.clip(np.bincount(variable, x + u, n) / degree, 0.0, 1.0)
        copies = z[variable]
        u += x - copies
        primal, dual = np.linalg.norm(x - copies), np.linalg.norm(copies - old[variable])
        largest = max(np.linalg.norm(x), np.linalg.norm(copies))
        near, at_rest = floor + TOLERANCE * largest, floor + TOLERANCE * np.linalg.norm(u)
        if primal <= near and dual <= at_rest:
            return z, iteration
    raise RuntimeError("the reference does not converge")


def measure_textbook(rows: int, kind: PotentialKind) -> Figures:
    """Time the NumPy reference."""
    potentials = synthetic(rows, kind)
    before = forget_peak()
    (state, iterations), seconds = timed(lambda: textbook(potentials))
    return {
        "cpu": seconds.cpu,
        "wall": seconds.wall,
        "iterations": iterations,
        "objective": potentials.objective(state),
        "bytes": (peak_since() - before) / len(potentials.variable),
    }


def measure_exact(rows: int, kind: PotentialKind, repeat: int) -> Figures:
    """Time the exact solver and ADMM at three tolerances on a small program."""
    potentials = synthetic(rows, kind)
    Admm().solve(potentials)
    best, exact = timed(lambda: Exact().solve(potentials))
    figures: Figures = {"exact": exact.cpu, "objective": best.objective, "admm": []}
    for tolerance in (1e-3, 1e-5, 1e-8):
        solver = Admm(epsilon_abs=tolerance, epsilon_rel=tolerance, max_iterations=200_000)
        found, seconds = timed(lambda: solver.solve(potentials), repeat)  # noqa: B023
        figures["admm"].append({
            "tolerance": tolerance,
            "cpu": seconds.cpu,
            "iterations": found.iterations,
            "off": found.objective / best.objective - 1,
            "status": found.status.split(":")[0],
        })  # fmt: skip
    return figures


# --- report --------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--case", choices=["admm", "textbook", "exact"], help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=["LINEAR", "SQUARED"], help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is None:
        report(options.repeat)
        return
    kind = PotentialKind[options.kind]
    if options.case == "admm":
        figures = measure(options.rows, kind, options.threads, options.repeat)
    elif options.case == "textbook":
        figures = measure_textbook(options.rows, kind)
    else:
        figures = measure_exact(options.rows, kind, options.repeat)
    print(json.dumps(figures))


def report(repeat: int) -> None:
    print("## ADMM, tolerances 1e-3, after compilation\n")
    header = ["hinges", "threads", "iterations", "CPU s", "at most", "wall s", "bytes per literal",
              "objective", "NumPy, CPU s", "its iterations", "its objective",
              "its bytes per literal", "times ours"]  # fmt: skip
    print(markdown(header, large_programs(repeat)))
    print("\n## ADMM and the exact solver\n")
    header = ["hinges", "exact, CPU s", "tolerances", "ADMM, CPU s", "iterations",
              "objective above the optimum, relative", "status"]  # fmt: skip
    print(markdown(header, small_programs(repeat)))
    finish()


def large_programs(repeat: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for kind in (PotentialKind.SQUARED, PotentialKind.LINEAR):
        for size in SIZES:
            case = ["--rows", str(size), "--kind", kind.name, "--repeat", str(repeat)]
            one, two = (
                in_fresh_process(__file__, "--case", "admm", *case, "--threads", threads)
                for threads in ("1", "2")
            )
            reference: list[object] = [""] * 5
            if size <= MAX_REFERENCE:
                numpy = in_fresh_process(__file__, "--case", "textbook", *case)
                reference = [
                    f"{numpy['cpu']:.1f}", numpy["iterations"], f"{numpy['objective']:,.1f}",
                    f"{numpy['bytes']:.0f}", f"{numpy['cpu'] / one['cpu']:.0f}",
                ]  # fmt: skip
            limit = f"{CPU_LIMIT:g}" if kind is PotentialKind.SQUARED and size == 10**6 else ""
            rows += [
                [f"{size:,} {kind.name.lower()}", threads, ours["iterations"],
                 f"{ours['cpu']:.2f}", limit, f"{ours['wall']:.2f}", f"{ours['bytes']:.0f}",
                 f"{ours['objective']:,.1f}", *(reference if threads == 1 else [""] * 5)]
                for threads, ours in ((1, one), (2, two))
            ]  # fmt: skip
    return rows


def small_programs(repeat: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for kind in (PotentialKind.SQUARED, PotentialKind.LINEAR):
        case = ["--rows", str(SMALL), "--kind", kind.name, "--repeat", str(repeat)]
        figures = in_fresh_process(__file__, "--case", "exact", *case)
        rows += [
            [f"{SMALL:,} {kind.name.lower()}", f"{figures['exact']:.2f}", f"{run['tolerance']:g}",
             f"{run['cpu']:.4f}", run["iterations"], f"{run['off']:.1e}", run["status"]]
            for run in figures["admm"]
        ]  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
