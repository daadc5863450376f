"""What a rule may say, and what evidence it may see: AUC, rules and CPU seconds of each alone.

    python benchmarks/bench_rules.py --data ../shared/data

Five tasks of five folds. Every setting is chosen by validation within the training labels; test
labels are looked at once, for the figures. `test_hard.tsv` of fly and yeast has negatives drawn by
frequency instead of uniformly. UW-CSE has five worlds of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import hornbeam as hb
from common import DATA, finish
from hornbeam.crossval import task_worlds
from hornbeam.learning.learner import Learner
from hornbeam.rules.body import Kind

TASKS = ("ddi_196", "film_rating", "book_author", "yeast_pra", "fly")
HARD = ("yeast_pra", "fly")
PATHS, OPEN, UNARY = Kind.PATH, Kind.OPEN, Kind.UNARY
Maker = Callable[[], Learner]


@dataclass(frozen=True)
class Line:
    """One line of the tables: a learner, what its rules may say, and what they may see."""

    name: str
    learner: Maker
    bodies: tuple[Kind, ...] | None = None
    counts: str = "auto"
    cross: bool = False
    floors: tuple[float, ...] = ()

    def learn(self, facts: hb.Facts, labels: hb.Targets, max_length: int = 3) -> hb.Model:
        """Learn as the line says."""
        return hb.learn(
            facts,
            labels,
            method=self.learner(),
            language=hb.RuleLimits(max_length=max_length, bodies=self.bodies),
            counts=self.counts,
            cross_evidence=self.cross,
        )


ALL_RULES = partial(hb.Joint, all_rules=True)
SHORT = partial(hb.Boost, max_rules=100)
LINES = (
    Line("degrees alone (`--bodies open`)", hb.Joint, (OPEN,)),
    Line("`joint --bodies paths --counts log`", hb.Joint, (PATHS,), "log"),
    Line("`joint --bodies paths`: with shares", hb.Joint, (PATHS,)),
    Line("`joint --bodies paths,open --counts log`", hb.Joint, (PATHS, OPEN), "log"),
    Line("`joint`", hb.Joint),
    Line("`joint --all-rules`", ALL_RULES, floors=(0.862, 0.808, 0.962, 0.818, 0.758)),
    Line("`boost`", hb.Boost, floors=(0.880, 0.813, 0.966, 0.823, 0.762)),
    Line("`boost --max-rules 100`", SHORT, floors=(0.870, 0.808, 0.961, 0.818, 0.757)),
    Line("`joint --bodies paths --cross-evidence`", hb.Joint, (PATHS,), cross=True),
    Line("`joint --cross-evidence`", hb.Joint, cross=True),
    Line(
        "`joint --cross-evidence --all-rules`", ALL_RULES, cross=True,
        floors=(0.898, 0.816, 0.967, 0.836, 0.772),
    ),
    Line(
        "`boost --cross-evidence`", hb.Boost, cross=True,
        floors=(0.904, 0.818, 0.970, 0.838, 0.775),
    ),
    Line(
        "`boost --cross-evidence --max-rules 100`", SHORT, cross=True,
        floors=(0.894, 0.813, 0.965, 0.833, 0.770),
    ),
)  # fmt: skip


@dataclass
class Figures:
    """What came out of one line on one task, a figure per fold."""

    auc: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)
    hard: list[float] = field(default_factory=list)
    rules: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def measured(data: Path, task: str, line: Line, folds: int, max_length: int = 3) -> Figures:
    """Learn and evaluate on every fold."""
    found = Figures()
    for k, (_, train_facts, train, test_facts, test) in enumerate(
        task_worlds(str(data / task), folds)
    ):
        clock = time.process_time()
        model = line.learn(train_facts, train, max_length)
        if line.cross and test_facts is train_facts:
            test_facts = hb.with_known(test_facts, train)
        evaluation = model.evaluate(test_facts, test)
        found.cpu.append(time.process_time() - clock)
        found.auc.append(evaluation.auc_roc or 0.0)
        found.precision.append(evaluation.auc_pr or 0.0)
        found.rules.append(sum(not rule.clause.is_prior for rule in model.rules))
        if task in HARD:
            hard = hb.read_labels(str(data / task / f"fold{k}" / "test_hard.tsv"))
            found.hard.append(model.evaluate(test_facts, hard).auc_roc or 0.0)
    return found


def cell(found: Figures, floor: float | None) -> str:
    """Mean AUC, and by how much a floor is missed."""
    mean = float(np.mean(found.auc))
    missed = "" if floor is None or mean >= floor else f" (floor {floor:.3f})"
    return f"{mean:.4f}{missed}"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def tables(data: Path, folds: int, tasks: tuple[str, ...], lines: tuple[Line, ...]) -> str:
    """Run everything and write it down."""
    found: dict[tuple[str, str], Figures] = {}
    for line in lines:
        for task in tasks:
            found[line.name, task] = measured(data, task, line, folds)
            shown = found[line.name, task]
            print(line.name, task, f"{np.mean(shown.auc):.4f}", file=sys.stderr, flush=True)
    auc, size, hard = [], [], []
    for line in lines:
        mine = [found[line.name, task] for task in tasks]
        floors = dict(zip(TASKS, line.floors, strict=False))
        auc.append([line.name, *(cell(f, floors.get(t)) for f, t in zip(mine, tasks, strict=True))])
        size.append([line.name, *(f"{np.mean(f.rules):.0f}, {np.median(f.cpu):.1f}" for f in mine)])
        both = [found[line.name, task] for task in tasks if task in HARD]
        hard.append([line.name, *(f"{np.mean(v):.4f}" for f in both for v in (f.auc, f.hard))])
    parts = [
        f"Mean AUC-ROC over {folds} folds:",
        table(["", *tasks], auc),
        "Rules (mean; both of a rule and its mirror image) and CPU seconds per fold (median):",
        table(["", *tasks], size),
    ]
    if any(task in HARD for task in tasks):
        names = [f"{task}, {which}" for task in tasks if task in HARD for which in ("test", "hard")]
        parts += [
            "`test.tsv`, whose negatives are drawn uniformly, compared with `test_hard.tsv`, whose "
            "negatives are drawn by frequency:",
            table(["", *names], hard),
        ]
    return "\n\n".join(parts)


def uwcse(data: Path, folds: int) -> str:
    """UW-CSE's advisedby with all kinds of bodies."""
    rows = []
    for line in (
        Line("`joint`", hb.Joint, tuple(Kind)),
        Line("`joint --all-rules`", ALL_RULES, tuple(Kind)),
        Line("`boost`", hb.Boost, tuple(Kind)),
        Line("`boost --max-rules 100`", SHORT, tuple(Kind)),
    ):
        found = measured(data, "srl_uwcse", line, folds, max_length=2)
        figures = (np.mean(found.auc), np.mean(found.precision), np.mean(found.rules))
        rows.append(
            [line.name, *(f"{v:.3f}" for v in figures[:2]), f"{figures[2]:.0f}",
             f"{np.median(found.cpu):.1f}"]
        )  # fmt: skip
        print("uwcse", *rows[-1], file=sys.stderr, flush=True)
    head = [
        "`--bodies paths,open,unary,anchored --max-length 2`",
        "AUC-ROC",
        "AP",
        "rules",
        "CPU s",
    ]
    return table(head, rows)


def richer_rules(data: Path, folds: int, lines: tuple[Line, ...] = LINES) -> str:
    """All tables, as they stand in docs/paper.md."""
    warnings.simplefilter("ignore", hb.errors.HornbeamWarning)
    return (
        f"{tables(data, folds, TASKS, lines)}\n\n`srl_uwcse`, advisedby, {folds} worlds of their "
        f"own:\n\n{uwcse(data, folds)}"
    )


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--lines", default="", help="only lines whose name has this text")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    lines = tuple(line for line in LINES if given.lines in line.name)
    text = richer_rules(given.data, given.folds, lines)
    if given.output is None:
        print(text)
    else:
        given.output.write_text(text + "\n", encoding="utf-8")
    finish()


if __name__ == "__main__":
    main()
