"""What collective models gain, what of it is how pairs were drawn, and what joint MAP loses.

    python benchmarks/bench_collective.py DATA [--tables paths,default,known,pushes]
        [--tasks fly,...] [--folds 5] [--figures FILE] [--page docs/paper.md]

Every figure is a mean of AUC-ROC over folds. The first three tables have the plain `joint`,
*asked-only* (a pair that is asked counts as present, and nothing is believed of it) and
`--collective` side by side, on the test file, on `test_hard.tsv` where there is one, and on the
test file less half of its true pairs; with `--bodies paths`, with all kinds of bodies, and with
`--cross-evidence` besides. For `pushes` the very same weights, learned with
`--collective-method map`, are scored with and without what rules push their body atoms by. With
`--page` the tables replace those between marks in a page; nothing is chosen on test labels. With
`--figures` what was measured is kept in a file, task by task, and read instead of measured again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

import hornbeam as hb
from common import markdown
from hornbeam.base.choices import CollectiveMethod
from hornbeam.crossval import task_worlds
from hornbeam.errors import HornbeamWarning
from hornbeam.facts.known import with_known
from hornbeam.rules.body import Kind
from hornbeam.two_step import ASKED_ONLY

TASKS = ("fly", "yeast_pra", "ddi_196", "film_rating", "book_author")
METHODS: dict[str, bool | str] = {"plain": False, "asked only": ASKED_ONLY, "collective": True}
#: Tasks and most folds of the account of pushes.
PUSHED, PUSHED_FOLDS = ("fly", "yeast_pra"), 2
HALF = "half of the true test pairs left out"
#: Draws which true pairs are left out.
SEED = 5


@dataclass
class Measured:
    """Figures of a task, one per fold: AUC by pairs, by method, and of the collective model."""

    auc: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    kept: list[bool] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Kept:
    """A file of what was measured, by table and task."""

    file: Path | None

    def measured(self, table: str, task: str, make: Callable[[], Measured]) -> Measured:
        """What the file has; else what is made, which is added to it."""
        known = json.loads(self.file.read_text()) if self.file and self.file.is_file() else {}
        if task in known.get(table, {}):
            return Measured(**known[table][task])
        made = make()
        if self.file:
            known.setdefault(table, {})[task] = asdict(made)
            self.file.write_text(json.dumps(known, indent=1))
        return made


def tests(task: Path, fold: str, labels: hb.Targets) -> Iterator[tuple[str, hb.Targets]]:
    """The test pairs of a fold, and those that are drawn otherwise."""
    yield "", labels
    hard = task / fold / "test_hard.tsv"
    if hard.is_file():
        yield "`test_hard.tsv`", hb.read_labels(str(hard))
    true = np.flatnonzero(labels.positive)
    gone = np.random.default_rng(SEED).choice(true, len(true) // 2, replace=False)
    yield HALF, labels.select(np.setdiff1d(np.arange(len(labels)), gone))


def measure(task: Path, folds: int, language: hb.RuleLimits, cross_evidence: bool) -> Measured:
    """All methods on all folds of a task."""
    found = Measured()
    for fold, facts, train, test_facts, test in task_worlds(str(task), folds):
        known = with_known(facts, train) if cross_evidence and test_facts is facts else test_facts
        for method, collective in METHODS.items():
            clock = time.process_time()
            model = hb.learn(
                facts, train, language=language, collective=collective,
                cross_evidence=cross_evidence,
            )  # fmt: skip
            for name, pairs in tests(task, fold, test):
                figures = found.auc.setdefault(name, {}).setdefault(method, [])
                figures.append(model.evaluate(known, pairs).auc_roc or 0.5)
                if not name and method == "collective":
                    found.cpu.append(time.process_time() - clock)
        found.kept.append(bool(model.beliefs))
        last = " ".join(f"{method} {auc[-1]:.4f}" for method, auc in found.auc[""].items())
        print(f"{task.name} {fold}: {last}, {found.cpu[-1]:.1f} s", file=sys.stderr, flush=True)
    return found


def comparison(
    data: Path,
    tasks: Sequence[str],
    folds: int,
    kept: Kept,
    table: str,
    language: hb.RuleLimits,
    cross_evidence: bool = False,
) -> str:
    """Table of plain, asked-only and collective models."""
    found = {
        task: kept.measured(
            table, task, partial(measure, data / task, folds, language, cross_evidence)
        )
        for task in tasks
    }
    every = dict.fromkeys(pairs for m in found.values() for pairs in m.auc)
    rows = [
        [f"{method}, {pairs}".removesuffix(", "), *(mean(m, pairs, method) for m in found.values())]
        for pairs in every
        for method in METHODS
    ]
    rows.append(
        ["folds that keep beliefs", *(f"{sum(m.kept)} of {len(m.kept)}" for m in found.values())]
    )
    rows.append(
        ["collective, CPU s per fold, at most", *(f"{max(m.cpu):.1f}" for m in found.values())]
    )
    return markdown(["AUC-ROC", *(f"`{task}`" for task in found)], rows)


def mean(measured: Measured, pairs: str, method: str) -> str:
    """Mean over the folds; nothing where a task has no such pairs."""
    figures = measured.auc.get(pairs, {})
    return f"{np.mean(figures[method]):.4f}" if figures else ""


def pushes(data: Path, folds: int) -> str:
    """Table of the same weights, with what pushes body atoms and without."""
    rows = []
    for name in PUSHED:
        found: dict[CollectiveMethod, list[float]] = defaultdict(list)
        for _, facts, train, test_facts, test in task_worlds(str(data / name), folds):
            learned = hb.learn(facts, train, collective=CollectiveMethod.MAP)
            for method in (CollectiveMethod.MAP, CollectiveMethod.MAP_HEADS):
                semantics = replace(learned.semantics, collective=method)
                model = replace(learned, semantics=semantics)
                found[method].append(model.evaluate(test_facts, test).auc_roc or 0.5)
        rows.append([f"`{name}`", *(f"{np.mean(figures):.4f}" for figures in found.values())])
    return markdown(["same weights", "map", "pushes left out"], rows)


def tables(
    data: Path, tasks: Sequence[str], folds: int, kept: Kept
) -> dict[str, Callable[[], str]]:
    """What can be measured, by name."""
    compare = partial(comparison, data, tasks, folds, kept)
    return {
        "paths": partial(compare, "paths", hb.RuleLimits(bodies=(Kind.PATH,))),
        "default": partial(compare, "default", hb.RuleLimits()),
        "known": partial(compare, "known", hb.RuleLimits(), cross_evidence=True),
        "pushes": partial(pushes, data, min(folds, PUSHED_FOLDS)),
    }


def replaced(page: str, name: str, table: str) -> str:
    """The page with a table between the marks of its name."""
    begin, end = f"<!-- collective: {name} -->", f"<!-- end of {name} -->"
    found, times = re.subn(
        f"{begin}.*?{end}", lambda _: f"{begin}\n\n{table}\n\n{end}", page, flags=re.DOTALL
    )
    if times != 1:
        sys.exit(f"the page has no place for the table {name!r}")
    return found


def fill(page: Path, measured: Mapping[str, Callable[[], str]]) -> None:
    """Measure tables, and put each in its place in a page."""
    warnings.simplefilter("ignore", HornbeamWarning)
    for name, make in measured.items():
        table = make()
        text = page.read_text(encoding="utf-8")
        page.write_text(replaced(text, name, table), encoding="utf-8")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--tables", default="paths,default,known,pushes")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--figures", type=Path, help="file that keeps what was measured")
    parser.add_argument("--page", type=Path, help="page whose marked tables are replaced")
    given = parser.parse_args()
    known = tables(given.data, given.tasks.split(","), given.folds, Kept(given.figures))
    chosen = {name: known[name] for name in given.tables.split(",")}
    if given.page:
        fill(given.page, chosen)
        return
    warnings.simplefilter("ignore", HornbeamWarning)
    for name, make in chosen.items():
        print(f"{name}\n\n{make()}\n", flush=True)


if __name__ == "__main__":
    main()
