"""The experiments of Embar et al. (2018), repeated: Table 1, the runtime figure, the claims.

    python benchmarks/paper.py --data ../shared/data -o docs/paper.md

Five tasks of five folds each: the paper's settings (at least 10 targets connected, the 50 widest
sequences with their negations, a negative prior, 150 gradient steps for PPLL and 15 for each fit of
GLS; collective, and without), then all candidates with each learner as it comes, then boosted trees
on the same counts, then what more than paths and more evidence bring (`bench_rules`), then what
collective models gain (`bench_collective`, which can also make its tables again in the page alone).
Nothing is chosen by looking at test labels. `paper_claims` holds claims against exact arithmetic,
`paper_page` writes it all down.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

import hornbeam as hb
from common import DATA, finish
from hornbeam.base.choices import Relaxation
from hornbeam.counting.opening import open_engine
from hornbeam.crossval import World, task_worlds
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.ppll import Ppll
from hornbeam.rules.body import Kind
from hornbeam.rules.weighing import Counts
from tests.support.dense_counts import dense

Floats = npt.NDArray[np.float64]

#: Tasks in the order of the paper's Table 1.
TASKS = ("fly", "yeast_pra", "ddi_196", "film_rating", "book_author")
TOP = 50
SIZES = (25, 50, 100, 150, 200)
#: Steps that the projected gradient may take; the paper does not say what its own was.
STEPS = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5)
#: A Gaussian prior this wide is none: the paper's objective for PSL has no prior on weights.
NO_PRIOR = 1e6


@dataclass(frozen=True)
class Row:
    """One line of the table: a model and the way it scores."""

    name: str
    model: str
    score: str = "mean"


PAPER_ROWS = (
    Row("GLS, p = 2, collective, ADMM MAP", "gls2_collective", "map"),
    Row("PPLL, p = 2, collective, ADMM MAP", "ppll2_collective", "map"),
    Row("GLS, p = 2, collective, E[y]", "gls2_collective"),
    Row("PPLL, p = 2, collective, E[y]", "ppll2_collective"),
    Row("GLS, p = 2, MAP", "gls2", "map"),
    Row("PPLL, p = 2, MAP", "ppll2", "map"),
    Row("GLS, p = 2, E[y]", "gls2"),
    Row("PPLL, p = 2, E[y]", "ppll2"),
    Row("GLS, p = 1, E[y]", "gls1"),
    Row("PPLL, p = 1, E[y]", "ppll1"),
)
OUR_ROWS = (Row("`greedy`", "greedy"), Row("`ppll`", "ppll"), Row("`joint`", "joint"))
COLLECTIVE_ROWS = (
    Row("`greedy --collective-method map`", "greedy_collective"),
    Row("`ppll --collective-method map`", "ppll_collective"),
    Row("`joint --collective-method map`", "joint_collective"),
)
TREE_ROWS = (
    Row("boosted trees, exact splits", "trees"),
    Row("boosted trees, histograms", "histogram_trees"),
)
#: For the account of ties only: the same weights, scored by MAP.
MAP_ROWS = (Row("PPLL, p = 1, MAP", "ppll1", "map"), Row("`joint`, MAP", "joint", "map"))


@dataclass
class Outcome:
    """What came out of a task: per row (or model) one figure a fold."""

    auc: dict[str, list[float]] = field(default_factory=dict)
    ties: dict[str, list[float]] = field(default_factory=dict)
    rules: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    candidates: list[int] = field(default_factory=list)

    def add(self, what: str, name: str, value: float) -> None:
        """Append one fold's figure."""
        getattr(self, what).setdefault(name, []).append(value)


def worlds(data: str, task: str, folds: int) -> Iterator[World]:
    """Folds of a task."""
    return task_worlds(str(Path(data) / task), folds)


def timed(work: Callable[[], hb.Model]) -> tuple[hb.Model, float]:
    """A model and the CPU seconds it took."""
    clock = time.process_time()
    return work(), time.process_time() - clock


# --- the models ----------------------------------------------------------------------------


def paper_ppll(step: float, iterations: int = 150) -> Ppll:
    """Algorithm 2: projected gradient, no prior in the pieces, none on the weights."""
    return Ppll("gradient", iterations, step, prior_inside=False, weight_variance=NO_PRIOR)


def paper_gls() -> Greedy:
    """Algorithm 1 with at most 15 steps in each fit."""
    return Greedy(weight_variance=NO_PRIOR)


def best_step(
    facts: hb.Facts, train: hb.Targets, relaxation: str, collective: bool = False
) -> hb.Model:
    """PPLL with the step that brings the *training* objective highest."""
    models = [
        learn_as_paper(facts, train, paper_ppll(step), relaxation, collective) for step in STEPS
    ]
    return min(models, key=lambda model: model.trace.fit.loss)  # type: ignore[union-attr, arg-type, return-value]


def learn_as_paper(
    facts: hb.Facts,
    train: hb.Targets,
    learner: Ppll | Greedy,
    relaxation: str,
    collective: bool = False,
) -> hb.Model:
    """The paper's language and raw counts."""
    return hb.learn(
        facts, train, method=learner, language=hb.RuleLimits(3, 10, TOP), counts="raw",
        relaxation=relaxation, collective="map" if collective else False,
    )  # fmt: skip


def paper_models(facts: hb.Facts, train: hb.Targets) -> dict[str, Callable[[], hb.Model]]:
    """What to learn with the paper's settings."""
    return {
        "gls2": lambda: learn_as_paper(facts, train, paper_gls(), "squared"),
        "gls1": lambda: learn_as_paper(facts, train, paper_gls(), "linear"),
        "ppll2": lambda: best_step(facts, train, "squared"),
        "ppll1": lambda: best_step(facts, train, "linear"),
        "gls2_collective": lambda: learn_as_paper(facts, train, paper_gls(), "squared", True),
        "ppll2_collective": lambda: best_step(facts, train, "squared", True),
    }


def our_models(
    facts: hb.Facts, train: hb.Targets, methods: tuple[str, ...] = ("greedy", "ppll", "joint")
) -> dict[str, Callable[[], hb.Model]]:
    """All paths, every learner as it comes otherwise; then the same by joint MAP."""
    paths = hb.RuleLimits(bodies=(Kind.PATH,))
    alone: dict[str, Callable[[], hb.Model]] = {
        m: partial(hb.learn, facts, train, method=m, language=paths) for m in methods
    }
    together: dict[str, Callable[[], hb.Model]] = {
        f"{m}_collective": partial(hb.learn, facts, train, method=m, collective="map")
        for m in methods
    }
    return alone | together


def tree_scores(
    facts: hb.Facts, train: hb.Targets, test_facts: hb.Facts, test: hb.Targets
) -> dict[str, Floats]:
    """Boosted trees with scikit-learn's settings on log(1 + count) of all candidate sequences."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    statistics = hb.counting.discover(facts, train).statistics
    assert statistics is not None
    counted = open_engine(test_facts).count(test, statistics.bodies, hb.RuleLimits())
    table, unseen = np.log1p(dense(statistics)), np.log1p(dense(counted))
    trees = {
        "trees": GradientBoostingClassifier(random_state=0),
        "histogram_trees": HistGradientBoostingClassifier(random_state=0),
    }
    with threadpool_limits(1):  # on a busy machine its threads wait for each other
        return {
            name: tree.fit(table, train.positive).predict_proba(unseen)[:, 1]
            for name, tree in trees.items()
        }


# --- the table -----------------------------------------------------------------------------


def auc_and_ties(truth: npt.NDArray[np.bool_], score: Floats) -> tuple[float, float]:
    """AUC-ROC, and the share of (true, false) pairs that the score cannot tell apart."""
    from hornbeam.scoring.evaluation import evaluate

    auc = evaluate(truth.astype(float), score).auc_roc
    _, place = np.unique(score, return_inverse=True)
    true = np.bincount(place, weights=truth)
    false = np.bincount(place, weights=~truth)
    return float(auc or 0.5), float(np.sum(true * false) / (true.sum() * false.sum()))


def run_task(data: str, task: str, folds: int, *, paper: bool = True) -> Outcome:
    """All rows on all folds of a task; without `paper` only joint, ppll and the trees."""
    outcome = Outcome()
    rows = (*PAPER_ROWS, *OUR_ROWS, *COLLECTIVE_ROWS, *MAP_ROWS)
    for fold, facts, train, test_facts, test in worlds(data, task, folds):
        print(f"{task} {fold}", file=sys.stderr, flush=True)
        work = paper_models(facts, train) | our_models(facts, train)
        for name, make in work.items():
            if not paper and name not in ("joint", "ppll"):
                continue
            model, cpu = timed(make)
            outcome.add("cpu", name, cpu)
            outcome.add("rules", name, len(model.rules))
            for row in rows:
                if row.model == name:
                    score = model.predict(test_facts, test, score=row.score)["score"]
                    record(outcome, row.name, test.positive, score)
        outcome.candidates.append(len(hb.counting.discover(facts, train).candidates))
        found = tree_scores(facts, train, test_facts, test)
        for row in TREE_ROWS:
            record(outcome, row.name, test.positive, found[row.model])
    return outcome


def record(outcome: Outcome, name: str, truth: npt.NDArray[np.bool_], score: Floats) -> None:
    """One fold of one row."""
    auc, ties = auc_and_ties(truth, score)
    outcome.add("auc", name, auc)
    outcome.add("ties", name, ties)


# --- the runtime figure --------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """CPU seconds of learning with the first `sequences` candidates, and their negations."""

    task: str
    sequences: int
    ppll_gradient: float
    ppll_newton: float
    gls: float


def runtime(data: str, task: str, max_length: int, sizes: tuple[int, ...]) -> list[Timing]:
    """Learning alone, from counted statistics, on fold 0."""
    _, facts, train, _, _ = next(worlds(data, task, 1))
    found = hb.counting.discover(facts, train, hb.RuleLimits(max_length, 10)).statistics
    assert found is not None
    available = len(found.bodies)
    chosen = sorted({min(size, available) for size in sizes if size <= available} | {
        min(available, max(sizes))
    })  # fmt: skip
    problem = CountProblem.of(found, train, (Counts.RAW,), Relaxation.LINEAR)
    timings = []
    for size in chosen:
        first = np.arange(len(problem.clauses)) < 2 * size
        small = problem.only(np.flatnonzero(problem.is_prior | first))
        print(f"runtime {task} {size}", file=sys.stderr, flush=True)
        exact = Ppll(prior_inside=False, weight_variance=NO_PRIOR)
        exact.fit(small)  # loads the compiled kernels
        seconds = [cpu_of(learner, small) for learner in (paper_ppll(1e-3), exact, paper_gls())]
        timings.append(Timing(task, size, *seconds))
    return timings


def cpu_of(learner: Ppll | Greedy, problem: CountProblem) -> float:
    """CPU seconds of one fit."""
    clock = time.process_time()
    learner.fit(problem)
    return time.process_time() - clock


# --- all of it -----------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", default=str(DATA), help="folder of the five tasks")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two folds, small runtime figure")
    parser.add_argument("--richer", type=Path, help="what bench_rules.py -o wrote, not made again")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/paper.md"))
    options = parser.parse_args()
    missing = [task for task in TASKS if not (Path(options.data) / task).is_dir()]
    if missing:
        sys.exit(f"{options.data}: no folder for {', '.join(missing)}; give --data DIR")
    from bench_collective import Kept, fill, tables
    from bench_rules import richer_rules
    from paper_claims import ascent, runaway
    from paper_page import write_page

    folds, sizes = (min(2, options.folds), SIZES[:2]) if options.quick else (options.folds, SIZES)
    lengths = {task: 4 if task == "book_author" else 3 for task in TASKS}
    write_page(
        options.output,
        {task: run_task(options.data, task, folds) for task in TASKS},
        [t for task in TASKS for t in runtime(options.data, task, lengths[task], sizes)],
        [ascent(options.data, task) for task in TASKS],
        [r for task in TASKS if (r := runaway(options.data, task))],
        options.richer.read_text(encoding="utf-8").strip()
        if options.richer
        else richer_rules(Path(options.data), folds),
    )
    fill(options.output, tables(Path(options.data), TASKS, folds, Kept(None)))
    print(f"Wrote {options.output}.")
    finish()


if __name__ == "__main__":
    main()
