"""How the second step of collective models was chosen: validation within training pairs alone.

    python benchmarks/choose_collective.py DATA [--tasks film_rating,...] [--bodies paths]
        [--folds 1] [--parts 3] [--designs "no copies,half of the true,..."]

A third of each fold's *training* pairs is held out, whole groups of them, and no test file is read.
The rest learns a first step and, for every design, a second: which training copies there are, and
on which pairs the strength has the least loss. The table has the gain in AUC-ROC over the plain
model on the held-out pairs as they are, less half of the true ones, and less half of the false
ones; every model is shown, whether it would be kept or not.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

import hornbeam as hb
from common import markdown
from hornbeam import flow, two_step
from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.progress import SILENT
from hornbeam.counting.opening import open_in_memory
from hornbeam.crossval import task_worlds
from hornbeam.errors import HornbeamWarning
from hornbeam.facts.folds import pair_groups
from hornbeam.learning.held_out import log_losses
from hornbeam.learning.learner import Learned
from hornbeam.learning.rule_learning import problem_of
from hornbeam.rules.body import Kind
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.scored_links import pair_scores

TASKS = ("fly", "yeast_pra", "ddi_196", "film_rating", "book_author")
#: Shares of the true and of the false pairs that each training copy leaves out.
DESIGNS: dict[str, tuple[tuple[float, float], ...]] = {
    "no copies": (),
    "half of the true": ((1 / 2, 0),),
    "thirds of the true": ((1 / 3, 0), (2 / 3, 0)),
    "quarters of the true": ((1 / 4, 0), (1 / 2, 0), (3 / 4, 0)),
    "half of both (twice)": ((1 / 2, 1 / 2),) * 2,
    "quarters of both (crossed)": tuple((a, b) for a in (1 / 4, 3 / 4) for b in (1 / 4, 3 / 4)),
}
WAYS = ("as asked", "half of the true left out", "half of the false left out")


@dataclass(frozen=True, eq=False)
class Steps:
    """A first step with its beliefs out of fold."""

    first: two_step.FirstStep
    group: Ints
    fold: Ints
    means: Floats

    @classmethod
    def of(cls, facts: hb.Facts, labels: hb.Targets, language: hb.RuleLimits) -> Steps:
        """Learn the first step as `learn` does, and stop there."""
        found = list[two_step.FirstStep]()

        def stop(first: two_step.FirstStep, **_: object) -> tuple[object, None]:
            found.append(first)
            return first.learned, None

        with mock.patch.object(flow, "learn_second_step", stop):
            hb.learn(facts, labels, language=language, collective=True)
        [first] = found
        group = np.unique(first.group, return_inverse=True)[1]
        fold = np.random.default_rng(3).permutation(int(group.max()) + 1) % two_step.FOLDS
        return cls(first, group, fold[group], first.held_out_means(fold[group]))

    def second(self, shares: tuple[tuple[float, float], ...]) -> Iterator[tuple[str, RuleModel]]:
        """The second step of a design, its strength by the pairs as asked and by all copies."""
        first, labels, rng = self.first, self.first.labels, np.random.default_rng(7)
        copies = [np.arange(len(labels))]
        for pair in shares:
            chance = rng.random(len(labels))
            copies.append(np.flatnonzero(chance >= np.where(labels.positive, *pair)))
        rows = np.concatenate(copies)
        problem = problem_of(
            two_step._stacked(first, copies, self.means, SILENT),
            two_step._with_own_priors(labels, copies),
            first.ways, first.learned.model.semantics.relaxation, first.symmetric,
            first.learner.ties_mirrors,
        ).distinct_columns()  # fmt: skip
        learner = two_step._second_learner(first.learner)
        run, scores = learner.validate(problem, self.fold[rows])
        losses = np.array([log_losses(problem.y, score) for score in scores])
        by_asked, by_all = (
            int(np.argmin(part.sum(axis=1))) for part in (losses[:, : len(labels)], losses)
        )
        strengths = np.array(run.strengths[: max(by_asked, by_all) + 1])
        fits = learner.path(problem, strengths)
        for name, at in (("as asked", by_asked), ("all copies", by_all)):
            found = two_step._both_steps(first, None, Learned(problem, fits[at]), asked_only=False)
            yield name, found.model


def asked_ways(pairs: hb.Targets) -> list[hb.Targets]:
    """The held-out pairs, by the ways of asking."""
    gone = np.random.default_rng(5).random(len(pairs)) < 1 / 2
    kept = (np.ones(len(pairs), np.bool_), ~(gone & pairs.positive), ~(gone & ~pairs.positive))
    return [pairs.select(np.flatnonzero(rows)) for rows in kept]


def validate(
    data: Path, task: str, language: hb.RuleLimits, folds: int, parts: int, designs: list[str]
) -> Iterator[tuple[str, str, list[float]]]:
    """Gains of every design and choice over plain, by the ways of asking."""
    for _, facts, train, _, _ in task_worlds(str(data / task), folds):
        group = np.unique(pair_groups(facts, train, drawn=False), return_inverse=True)[1]
        engine = open_in_memory(facts)
        part = (np.random.default_rng(11).permutation(int(group.max()) + 1) % 3)[group]
        for k in range(parts):
            steps = Steps.of(facts, train.select(np.flatnonzero(part != k)), language)
            ways = asked_ways(train.select(np.flatnonzero(part == k)))
            plain = hb.Model(steps.first.learned.model.rules, steps.first.learned.model.semantics)
            base = [plain.evaluate(facts, pairs).auc_roc or 0.5 for pairs in ways]
            for design in designs:
                for choice, model in steps.second(DESIGNS[design]):
                    yield (
                        design,
                        choice,
                        [
                            auc(pairs, pair_scores(model, engine, pairs)) - alone
                            for pairs, alone in zip(ways, base, strict=True)
                        ],
                    )


def auc(pairs: hb.Targets, scores: Floats) -> float:
    """AUC-ROC of scores."""
    from hornbeam.scoring.evaluation import evaluate

    return evaluate(pairs.truth, scores).auc_roc or 0.5


def main() -> None:
    """Print a table per task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--bodies", choices=["paths", "default"], default="paths")
    parser.add_argument("--designs", default=",".join(DESIGNS))
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--parts", type=int, default=3, choices=[1, 2, 3])
    given = parser.parse_args()
    warnings.simplefilter("ignore", HornbeamWarning)
    language = hb.RuleLimits(bodies=(Kind.PATH,)) if given.bodies == "paths" else hb.RuleLimits()
    for task in given.tasks.split(","):
        found: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
        runs = validate(
            given.data, task, language, given.folds, given.parts, given.designs.split(",")
        )
        for design, choice, gains in runs:
            found[design, choice].append(gains)
        rows = [
            [*key, *(f"{gain:+.3f}" for gain in np.mean(gains, axis=0))]
            for key, gains in found.items()
        ]
        print(
            markdown([f"`{task}`: copies leave out", "least loss over", *WAYS], rows) + "\n",
            flush=True,
        )


if __name__ == "__main__":
    main()
