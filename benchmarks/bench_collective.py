"""What collective models gain, what of it is how pairs were drawn, and what joint MAP loses.

    python benchmarks/bench_collective.py DATA [--bodies default] [--folds 5] [--tasks fly,...]
    python benchmarks/bench_collective.py DATA --pushes [--folds 2]

Every figure is a mean of AUC-ROC over folds. The first table has the plain `joint`, *asked-only* (a
pair that is asked counts as present, and nothing is believed of it) and `--collective` side by
side, on the test file, on `test_hard.tsv` where there is one, and on the test file less half of
its true pairs; and CPU seconds of learning and scoring a fold. With `--pushes` the very same
weights, learned with `--collective-method map`, are scored with and without what rules push their
body atoms by.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import hornbeam as hb
from hornbeam.choices import CollectiveMethod
from hornbeam.crossval import task_worlds
from hornbeam.errors import HornbeamWarning
from hornbeam.rules.body import Kind
from hornbeam.two_step import ASKED_ONLY

TASKS = ("fly", "yeast_pra", "ddi_196", "film_rating", "book_author")
METHODS: dict[str, bool | str] = {"plain": False, "asked": ASKED_ONLY, "collective": True}
#: Draws which true pairs are left out.
SEED = 5


def tests(task: Path, fold: str, labels: hb.Targets) -> Iterator[tuple[str, hb.Targets]]:
    """The test pairs of a fold, and those that are drawn otherwise."""
    yield "test", labels
    hard = task / fold / "test_hard.tsv"
    if hard.is_file():
        yield "hard", hb.read_labels(str(hard))
    true = np.flatnonzero(labels.positive)
    gone = np.random.default_rng(SEED).choice(true, len(true) // 2, replace=False)
    yield "half", labels.select(np.setdiff1d(np.arange(len(labels)), gone))


def compared(task: Path, folds: int, language: hb.Language) -> str:
    """Lines of a task: a test set each."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    spent = list[float]()
    for fold, facts, train, test_facts, test in task_worlds(str(task), folds):
        for method, collective in METHODS.items():
            clock = time.process_time()
            model = hb.learn(facts, train, language=language, collective=collective)
            model.evaluate(test_facts, test)
            if method == "collective":
                spent.append(time.process_time() - clock)
            for name, pairs in tests(task, fold, test):
                found[name, method].append(model.evaluate(test_facts, pairs).auc_roc or 0.5)
    lines = []
    for name in dict.fromkeys(name for name, _ in found):
        figures = " | ".join(f"{np.mean(found[name, method]):.3f}" for method in METHODS)
        lines.append(f"| {task.name} | {name} | {figures} | {max(spent):.1f} |")
    return "\n".join(lines)


def without_pushes(task: Path, folds: int) -> str:
    """One line: AUC of the same weights, with what pushes body atoms and without."""
    found: dict[CollectiveMethod, list[float]] = defaultdict(list)
    for _, facts, train, test_facts, test in task_worlds(str(task), folds):
        learned = hb.learn(facts, train, collective=CollectiveMethod.MAP)
        for method in (CollectiveMethod.MAP, CollectiveMethod.MAP_HEADS):
            semantics = replace(learned.semantics, collective=method)
            model = replace(learned, semantics=semantics)
            found[method].append(model.evaluate(test_facts, test).auc_roc or 0.5)
    return f"| {task.name} | " + " | ".join(f"{np.mean(v):.3f}" for v in found.values()) + " |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--bodies", choices=["paths", "default"], default="paths")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--pushes", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", HornbeamWarning)
    language = hb.Language(bodies=(Kind.PATH,)) if given.bodies == "paths" else hb.Language()
    head = ["same weights", "map", "pushes left out"]
    if not given.pushes:
        head = ["task", "pairs", *METHODS, "CPU s per fold, at most"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in given.tasks.split(","):
        task = given.data / name
        line = (
            without_pushes(task, given.folds)
            if given.pushes
            else compared(task, given.folds, language)
        )
        print(line, flush=True)


if __name__ == "__main__":
    main()
