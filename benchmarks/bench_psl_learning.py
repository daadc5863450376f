"""Weights for given rules: Hornbeam against PSL's own learners, on the programs of psl/links.

    python benchmarks/bench_psl_learning.py --psl ../shared/psl

PSL 2.3.0 is the last release with `MaxPiecewisePseudoLikelihood`, 2.2.2 the last with
`MaxPseudoLikelihood`; their jars come in the `pslpython` wheels. Both sides learn the same rules
from the same labels with the same Gaussian prior on weights (several rules are never violated and
would have their optimum at infinity). Rules with the target predicate in the body are left out on
both sides: they make inference collective, and with observed bodies a target stands alone. What is
compared is the learning phase (after grounding and counting), in CPU seconds of the same run, and
the exact penalised objective that each side's weights reach.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hornbeam as hb
from common import DATA, finish, markdown
from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.counting.opening import open_engine
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.newton import Newton
from hornbeam.learning.problem import maximise
from hornbeam.rules.body import Body, Step
from hornbeam.rules.weighing import Counts

PROGRAMS = ("n10", "n25", "n50")
PREDICATES = ("Cites", "Mentions", "Coauthor", "Follows", "Works")
PACKAGE = "org.linqs.psl.application.learning.weight.maxlikelihood"
PIECEWISE, PSEUDO = "MaxPiecewisePseudoLikelihood", "MaxPseudoLikelihood"
TICKS = os.sysconf("SC_CLK_TCK")
RIDGE = 0.01  # 1 / variance of the Gaussian prior on weights, Hornbeam's default
REPEATS = 20
WANTED = 100.0


@dataclass(frozen=True)
class Program:
    """Rules without recursion: their PSL texts and the sequences they walk; the prior is last."""

    name: str
    texts: tuple[str, ...]
    paths: tuple[Body, ...]
    left_out: int


@dataclass(frozen=True)
class JavaRun:
    """What PSL learned, and the CPU and wall seconds of its learning phase and in all."""

    weights: Floats
    learning_cpu: float
    learning_wall: float
    total_cpu: float


# --- the programs --------------------------------------------------------------------------


def read_program(folder: Path, name: str) -> Program:
    """The rules of a program whose bodies are observed."""
    rules = json.loads((folder / "links" / f"{name}-infer.json").read_text())["rules"]
    kept = [rule for rule in rules if "->" not in rule or "Target(" not in rule.split("->")[0]]
    paths = tuple(sequence(rule) for rule in kept[:-1])
    if "->" in kept[-1]:
        raise ValueError(f"{name}: expected the prior !Target(A, B) as the last rule")
    return Program(name, tuple(kept), paths, len(rules) - len(kept))


def sequence(rule: str) -> Body:
    """The relations that a rule walks: Cand (A, C) and A != C only say which targets there are."""
    body = rule.split(":", 1)[1].split("->")[0]
    atoms = [a for a in re.findall(r"(\w+)\((\w), (\w)\)", body) if a[0] != "Cand"]
    here, steps = "A", []
    for predicate, first, second in atoms:
        steps.append(Step(predicate, inverse=first != here))
        here = second if first == here else first
    return Body(tuple(steps), "Target")


def counted(folder: Path, program: Program) -> tuple[CountProblem, float]:
    """The learning problem of the program's rules, p = 2, and the CPU seconds of counting."""
    data = folder / "links" / "data"
    rows = [
        (a, predicate, b) for predicate in PREDICATES for a, b in fields(data / f"{predicate}.txt")
    ]
    truth = fields(data / "Target_truth_learn.txt")
    if any(a == b for a, b, _ in truth):
        raise ValueError("a target (a, a) would need the rules' A != C; none was expected")
    facts = hb.read_facts(rows)
    labels = hb.read_labels([(a, "Target", b, float(y)) for a, b, y in truth])
    clock = time.process_time()
    statistics = open_engine(facts).count(labels, program.paths, hb.RuleLimits())
    problem = CountProblem.of(statistics, labels, (Counts.RAW,), Relaxation.SQUARED)
    cpu = time.process_time() - clock
    positive = [
        k for k, clause in enumerate(problem.clauses) if clause.negated == bool(problem.is_prior[k])
    ]  # the rules as written: heads Target, and the prior !Target
    return problem.only(np.array(positive)), cpu


def fields(path: Path) -> list[list[str]]:
    """Rows of a tab-separated file."""
    return [line.split("\t") for line in path.read_text().splitlines()]


# --- our side ------------------------------------------------------------------------------


def piecewise(problem: CountProblem) -> Floats:
    """Each rule alone, the prior too: PSL's piecewise objective."""
    rules = range(len(problem.clauses))
    return np.array([maximise(problem.pieces(None)(k), RIDGE) for k in rules])


def pseudolikelihood(problem: CountProblem) -> Floats:
    """All rules together."""
    n = len(problem.clauses)
    return Newton(tolerance=1e-9).fit(problem, np.zeros(n), np.full(n, RIDGE)).weights


def log_ppll(problem: CountProblem, weights: Floats) -> float:
    """The exact log piecewise pseudolikelihood of given weights."""
    pieces = map(problem.pieces(None), range(len(weights)))
    values = [piece.derivatives(float(w))[0] for piece, w in zip(pieces, weights, strict=True)]
    return sum(values) - penalty(weights)


def log_pll(problem: CountProblem, weights: Floats) -> float:
    """The exact log pseudolikelihood of given weights."""
    return problem.log_likelihood(weights) - penalty(weights)


def penalty(weights: Floats) -> float:
    """Minus the log of the Gaussian prior, up to a constant."""
    return 0.5 * RIDGE * float(weights @ weights)


def cpu_of(learn: Callable[[CountProblem], Floats], problem: CountProblem) -> tuple[Floats, float]:
    """Weights, and mean CPU seconds of a fit once compiled code is loaded."""
    weights = learn(problem)
    clock = time.process_time()
    for _ in range(REPEATS):
        learn(problem)
    return weights, (time.process_time() - clock) / REPEATS


# --- PSL's side ----------------------------------------------------------------------------


def fetch_jar(version: str, folder: Path) -> Path:
    """The command line's jar out of a `pslpython` wheel."""
    jar = folder / f"psl-cli-{version}.jar"
    if jar.exists():
        return jar
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               f"pslpython=={version}", "--dest", str(folder)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    wheel = next(folder.glob(f"pslpython-{version}-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith("psl-cli.jar"))
        with archive.open(name) as source, jar.open("wb") as target:
            shutil.copyfileobj(source, target)
    return jar


def write_program(folder: Path, program: Program, work: Path) -> tuple[Path, Path]:
    """Rules and data in PSL 2.2's own formats."""
    data = (folder / "links" / "data").resolve()
    model, listing = work / f"{program.name}.psl", work / f"{program.name}.data"
    model.write_text("\n".join(program.texts) + "\n")
    closed = (*PREDICATES, "Cand")
    lines = ["predicates:", *(f"  {p}/2: closed" for p in closed), "  Target/2: open"]
    lines += ["observations:", *(f"  {p}: {data}/{p}.txt" for p in PREDICATES)]
    lines += [f"  Cand: {data}/Cand_learn.txt"]
    lines += ["targets:", f"  Target: {data}/Target_learn.txt"]
    lines += ["truth:", f"  Target: {data}/Target_truth_learn.txt"]
    listing.write_text("\n".join(lines) + "\n")
    return model, listing


def run_psl(jar: Path, learner: str, model: Path, listing: Path, steps: int) -> JavaRun:
    """Learn with PSL; its log says when grounding ended and when learning did."""
    command = [
        "java", "-Xmx2g", "-jar", str(jar), "--model", str(model), "--data", str(listing),
        "--learn", f"{PACKAGE}.{learner}", "--h2path", str(model.with_suffix(".h2")),
        "-D", "random.seed=42", "-D", f"votedperceptron.numsteps={steps}",
        "-D", f"votedperceptron.l2regularization={RIDGE}",
        "-D", "log4j.logger.org.linqs.psl.grounding.Grounding=DEBUG",
    ]  # fmt: skip
    grounded, learned = (0.0, 0.0), (0.0, 0.0)
    total = 0.0
    log = []
    with subprocess.Popen(
        command, cwd=model.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as java:
        assert java.stdout is not None
        for line in java.stdout:
            log.append(line)
            now = (cpu_seconds(java.pid), time.perf_counter())
            if "Generated" in line or "Grounding complete" in line:
                grounded = now
            if "Weight learning complete" in line or "Writing results to Database" in line:
                learned = now
            total = max(total, now[0])
    if java.returncode or not learned[1] or not grounded[1]:
        raise RuntimeError(f"PSL failed: {''.join(log[-5:])}")
    weights = written_weights(model.with_name(f"{model.stem}-learned.psl"))
    cpu, wall = learned[0] - grounded[0], learned[1] - grounded[1]
    return JavaRun(weights, cpu, wall, total)


def cpu_seconds(pid: int) -> float:
    """User and system seconds that a running process has taken, all its threads together."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(stat[11]) + int(stat[12])) / TICKS


def written_weights(path: Path) -> Floats:
    """Weights of a learned program, in the order of its rules."""
    return np.array([float(line.split(":")[0]) for line in path.read_text().splitlines() if line])


# --- both ----------------------------------------------------------------------------------


def compare(folder: Path, jars: Path, work: Path, more_steps: int) -> list[list[str]]:
    """One row a program and learner."""
    rows = []
    runs = [("2.3.0", PIECEWISE, 25), ("2.2.2", PSEUDO, 25)]
    if more_steps:
        runs.insert(1, ("2.3.0", PIECEWISE, more_steps))
    for name in PROGRAMS:
        program = read_program(folder, name)
        problem, counting = counted(folder, program)
        for version, learner, steps in runs:
            print(f"{name} {version} {learner} {steps} steps", file=sys.stderr, flush=True)
            ours, objective = (
                (piecewise, log_ppll) if learner == PIECEWISE else (pseudolikelihood, log_pll)
            )
            weights, cpu = cpu_of(ours, problem)
            model, listing = write_program(folder, program, work)
            psl = run_psl(fetch_jar(version, jars), learner, model, listing, steps)
            if len(psl.weights) != len(weights):
                raise RuntimeError(f"{name}: PSL wrote {len(psl.weights)} rules")
            here, there = objective(problem, weights), objective(problem, psl.weights)
            ratio = psl.learning_cpu / cpu
            rows.append([
                f"{name}: {len(program.texts)} rules", f"{version} `{learner}`, {steps} steps",
                f"{psl.learning_cpu:.2f} ({psl.learning_wall:.2f})", f"{psl.total_cpu:.1f}",
                f"{cpu:.4f}", f"{counting:.3f}",
                f"{ratio:,.0f}{'' if ratio >= WANTED else ' (missed)'}",
                f"{there:,.2f}", f"{here:,.2f}{'' if here > there else ' (missed)'}",
                f"{np.max(np.abs(weights - psl.weights)):.2f}",
            ])  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--psl", type=Path, default=DATA.parent / "psl", help="folder with links/")
    parser.add_argument("--jars", type=Path, help="keep the downloaded jars here")
    parser.add_argument("--more-steps", type=int, default=500, help="of a second piecewise run")
    options = parser.parse_args()
    if shutil.which("java") is None:
        print("Not measured: no Java runtime on the path.")
        return
    if not (options.psl / "links").is_dir():
        sys.exit(f"{options.psl}: no folder links; give --psl DIR")
    with tempfile.TemporaryDirectory() as temporary:
        jars = options.jars or Path(temporary)
        jars.mkdir(parents=True, exist_ok=True)
        try:
            rows = compare(options.psl, jars, Path(temporary), options.more_steps)
        except subprocess.CalledProcessError:
            print("Not measured: pip cannot download the pslpython wheels.")
            return
    head = ["program", "PSL", "PSL learning, CPU s (wall)", "PSL in all, CPU s",
            "Hornbeam learning, CPU s", "Hornbeam counting, CPU s", "ratio of learning",
            "exact objective, PSL's weights", "ours", "largest difference of weights"]  # fmt: skip
    print(markdown(head, rows))
    finish()


if __name__ == "__main__":
    main()
