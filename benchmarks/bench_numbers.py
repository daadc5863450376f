"""What numbers of entities add to rules, and what counting them costs.

    HORNBEAM_DATA=../shared/data python benchmarks/bench_numbers.py

* mean AUC-ROC of `joint` (with and without `--all-rules`) and `boost` over the folds of four
  tasks: without numbers, with them, and with two controls. *Values shuffled*: the values of an
  attribute are dealt anew to the entities that have one. *Entities shuffled*: every entity gets the
  numbers of another, so that having a value tells nothing either. Nothing is chosen on test folds.
* CPU seconds of a search and its counts over a million facts, without numbers and with ten numeric
  attributes of every entity.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench_scale import PREDICATES, SKEW, draw_targets
from common import DATA, finish, markdown, timed
from hornbeam import Facts, Model, Targets
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import discover_bodies
from hornbeam.crossval import cross_validate_worlds, task_worlds
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.flow import learn
from hornbeam.learning.boost import Boost
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import Learner
from hornbeam.rules.body import Kind
from hornbeam.rules.candidates import RuleLimits
from tests.support.synthetic import random_facts

LEARNERS: Mapping[str, Learner] = {
    "joint": Joint(),
    "joint --all-rules": Joint(all_rules=True),
    "boost": Boost(),
}


class NumericTask(NamedTuple):
    """A task, its file of numbers, the length of paths, and the AUC-ROC wanted of two learners."""

    name: str
    numbers: str
    max_length: int
    wanted: Mapping[str, float]
    folds: int = 5


TASKS = (
    NumericTask("mutagenesis", "mutagenesis", 3, {"joint": 0.93, "boost": 0.95}, folds=10),
    NumericTask("film_rating", "film_rating", 3, {"joint": 0.820, "boost": 0.829}),
    NumericTask("fb_actor_film", "fb15k237", 2, {"joint": 0.695, "boost": 0.715}),
    NumericTask("fb_influenced_by", "fb15k237", 2, {"joint": 0.820, "boost": 0.830}),
)
#: By how much a control may be above the row without numbers.
ALLOWED = 0.004
#: By how much counting may take longer with numbers.
SLOWER = 1.5


def values_shuffled(numbers: Numbers, rng: np.random.Generator) -> Numbers:
    """The values of every attribute, dealt anew to the entities that have one."""
    value = numbers.value.copy()
    for attribute in range(len(numbers.attributes)):
        rows = np.flatnonzero(numbers.attribute == attribute)
        value[rows] = value[rng.permutation(rows)]
    columns = (numbers.attribute, numbers.entity, value, numbers.dates)
    return Numbers.from_columns(numbers.attributes, *columns)


def entities_shuffled(numbers: Numbers, rng: np.random.Generator) -> Numbers:
    """Every entity that has numbers gets those of another one."""
    known = np.unique(numbers.entity)
    other = rng.permutation(known)[np.searchsorted(known, numbers.entity)]
    columns = (numbers.attribute, other, numbers.value, numbers.dates)
    return Numbers.from_columns(numbers.attributes, *columns)


CONTROLS: Mapping[str, Callable[[Numbers, np.random.Generator], Numbers]] = {
    "with numbers": lambda numbers, _: numbers,
    "values shuffled": values_shuffled,
    "entities shuffled": entities_shuffled,
}


def aucs(task: NumericTask, folder: Path, control: str | None) -> dict[str, float]:
    """Mean AUC-ROC of every learner over the folds."""

    def shuffled(facts: Facts) -> Facts:
        if control is None:
            return facts
        rng = np.random.default_rng(0)
        return replace(facts, numbers=CONTROLS[control](facts.numbers, rng))

    numbers = None if control is None else str(folder / task.numbers / "numbers.tsv")
    worlds = (
        world._replace(train_facts=(facts := shuffled(world.train_facts)), test_facts=facts)
        for world in task_worlds(str(folder / task.name), task.folds, numbers=numbers)
    )
    language = RuleLimits(max_length=task.max_length)
    methods = {
        name: partial(_learned, learner=learner, language=language)
        for name, learner in LEARNERS.items()
    }
    results = cross_validate_worlds(worlds, methods)
    return {
        result.name: float(np.mean([auc for auc in result.figures("auc_roc") if auc is not None]))
        for result in results
    }


def _learned(engine: Engine, labels: Targets, learner: Learner, language: RuleLimits) -> Model:
    return learn(engine, labels, method=learner, language=language)


def figures(folder: Path, tasks: Sequence[NumericTask]) -> tuple[str, list[str]]:
    """The table of AUC-ROC, and what falls short of what is wanted."""
    rows, short = list[list[object]](), list[str]()
    for task in tasks:
        found = {
            control or "no numbers": aucs(task, folder, control) for control in (None, *CONTROLS)
        }
        for control, scores in found.items():
            rows.append([task.name, control, *(f"{scores[name]:.4f}" for name in LEARNERS)])
        for name, wanted in task.wanted.items():
            if found["with numbers"][name] < wanted:
                short.append(f"{task.name}, {name}: below {wanted}")
        for control in ("values shuffled", "entities shuffled"):
            for name in LEARNERS:
                if found[control][name] > found["no numbers"][name] + ALLOWED:
                    short.append(f"{task.name}, {name}, {control}: above the row without numbers")
    return markdown(["task", "numbers", *LEARNERS], rows), short


def numbered(n_facts: int, attributes: int) -> Facts:
    """The skewed random facts of `bench_scale`, with numbers of every entity."""
    facts = random_facts(n_facts // 10, n_facts, PREDICATES, skew=SKEW)
    rng, n = np.random.default_rng(0), len(facts.entities)
    numbers = Numbers.from_columns(
        Names.of([f"n{k}" for k in range(attributes)]),
        np.repeat(np.arange(attributes), n).astype(np.int32),
        np.tile(np.arange(n), attributes).astype(np.int32),
        rng.normal(size=attributes * n),
        frozenset(),
    )
    return replace(facts, numbers=numbers)


def seconds(n_facts: int) -> tuple[str, list[str]]:
    """CPU seconds of a search with its counts, without numbers and with ten attributes."""
    facts = numbered(n_facts, 10)
    labels = draw_targets(facts)
    kinds = (Kind.PATH, Kind.OPEN, Kind.UNARY)
    engine = MemoryEngine(facts)
    _ = engine.graph
    languages = {
        "without numbers": RuleLimits(bodies=kinds, shares=True),
        "with ten attributes": RuleLimits(bodies=(*kinds, Kind.NUMBERS), shares=True),
    }
    rows, taken = list[list[object]](), list[float]()
    for name, language in languages.items():
        discover_bodies(engine, labels, language)  # compiles
        found, clock = timed(partial(discover_bodies, engine, labels, language), 3)
        rows.append([name, f"{len(found.candidates):,}", f"{clock.cpu:.2f}"])
        taken.append(clock.cpu)
    ratio = taken[1] / taken[0]
    rows.append(["ratio", "", f"{ratio:.2f}"])
    table = markdown([f"{n_facts:,} facts", "candidates", "CPU s"], rows)
    return table, [f"counting takes {ratio:.2f} times as long"] if ratio > SLOWER else []


def main() -> None:
    """Print both tables, and which figures fall short."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=[task.name for task in TASKS], help="one task alone")
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["figures", "seconds"])
    given = parser.parse_args()
    short = list[str]()
    tasks = [task for task in TASKS if given.task in (None, task.name)]
    for name, work in (
        ("seconds", partial(seconds, given.facts)),
        ("figures", partial(figures, DATA, tasks)),
    ):
        if given.only in (None, name):
            table, missed = work()
            short += missed
            print(table, end="\n\n")
    print(*(f"* falls short: {one}" for one in short), sep="\n")
    finish()


if __name__ == "__main__":
    main()
