"""Cross-validation of learners on a task folder or on one set of labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import facts_of, open_engine
from hornbeam.errors import HornbeamError, InputError, warn
from hornbeam.facts.folds import make_folds, task_folds
from hornbeam.facts.known import with_known, without_targets
from hornbeam.facts.reading.readers import Input, as_labels, read_facts, read_labels
from hornbeam.facts.table import Facts, Targets
from hornbeam.flow import learn
from hornbeam.labelled_search import labels_of_facts
from hornbeam.model import Model
from hornbeam.scoring.evaluation import Evaluation, paired_significance
from hornbeam.two_step import ASKED_ONLY

#: Baselines of a collective method: with independent pairs, and with every pair taken to be true.
PLAIN, ASKED = "plain", "asked"
#: Figures of an `Evaluation` that are compared.
METRICS = ("auc_roc", "auc_pr", "log_loss")
Learn = Callable[..., Model]


class World(NamedTuple):
    """One fold: the facts and labels to learn from, and the facts and labels to evaluate on."""

    fold: str
    train_facts: Facts
    train: Targets
    test_facts: Facts
    test: Targets


@dataclass(frozen=True)
class FoldResult:
    """The result of one method on one fold."""

    fold: str
    evaluation: Evaluation
    rules: int
    seconds: float


@dataclass(frozen=True)
class FoldFailure:
    """The failure of one method on one fold."""

    fold: str
    error: Exception

    @property
    def reason(self) -> str:
        """The error's message, with its type if it is not an error of Hornbeam's own."""
        if isinstance(self.error, HornbeamError):
            return str(self.error)
        return f"{type(self.error).__name__}: {self.error}"


@dataclass(frozen=True)
class MethodResult:
    """The results of one method over all folds."""

    name: str
    outcomes: tuple[FoldResult | FoldFailure, ...]  #: one per fold, the same folds for all methods

    @property
    def folds(self) -> tuple[FoldResult, ...]:
        """The folds on which the method did not fail."""
        return tuple(fold for fold in self.outcomes if isinstance(fold, FoldResult))

    @property
    def failures(self) -> tuple[FoldFailure, ...]:
        """The folds on which the method failed."""
        return tuple(fold for fold in self.outcomes if isinstance(fold, FoldFailure))

    def figures(self, metric: str) -> list[float | None]:
        """A metric per fold; None for a fold of one class, or on which the method failed."""
        return [
            getattr(fold.evaluation, metric) if isinstance(fold, FoldResult) else None
            for fold in self.outcomes
        ]

    def as_dict(self) -> dict[str, Any]:
        """Means, standard deviations and figures per fold, for JSON."""
        summary: dict[str, Any] = {metric: _summary(self.figures(metric)) for metric in METRICS}
        summary["seconds"] = _mean([fold.seconds for fold in self.folds])
        summary["rules"] = _mean([fold.rules for fold in self.folds])
        summary["failures"] = {failure.fold: failure.reason for failure in self.failures}
        return summary


def failures_text(results: Sequence[MethodResult]) -> str:
    """A sentence that names the methods that failed, each with its folds and reasons, or ''."""
    texts = []
    for result in results:
        folds: dict[str, list[str]] = {}
        for failure in result.failures:
            folds.setdefault(failure.reason, []).append(failure.fold)
        texts += [
            f"{result.name} failed on {', '.join(names)}: {reason}"
            for reason, names in folds.items()
        ]
    return "; ".join(texts)


def fold_table(results: Sequence[MethodResult]) -> ResultTable:
    """A table with one row per method and fold; folds on which the method failed are left out."""
    rows = [(result.name, fold) for result in results for fold in result.folds]
    return ResultTable(
        {
            "method": [name for name, _ in rows],
            "fold": [fold.fold for _, fold in rows],
            **{name: [getattr(fold.evaluation, name) for _, fold in rows] for name in METRICS},
            "rules": [fold.rules for _, fold in rows],
            "seconds": [fold.seconds for _, fold in rows],
        }
    )


def _summary(values: Sequence[float | None]) -> dict[str, Any]:
    """Mean and standard deviation over the folds that have a figure."""
    known = [value for value in values if value is not None]
    spread = float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
    return {"mean": _mean(known), "sd": spread, "folds": list(values)}


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def cross_validate(
    facts: Input,
    labels: Input | None = None,
    methods: Sequence[str] | Mapping[str, Learn] = ("joint",),
    *,
    target: str | None = None,
    folds: int = 5,
    seed: int = 0,
    cross_evidence: bool = False,
    progress: Progress | bool = SILENT,
) -> list[MethodResult]:
    """Split labels into folds; per fold, learn from the other folds and evaluate on this fold.

    Facts that state a held-out pair are hidden with it. A method that fails on some folds has
    `failures` in its result, and a warning names the method. If every method fails on every fold,
    the first error is raised.

    Parameters
    ----------
    facts, labels
        Files, frames, tuples, or the results of `read_facts` and `read_labels`. Without labels,
        the facts of `target` are the true pairs (see `hornbeam.learn`), with `cross_evidence`.
    methods
        Names of learners to compare, or functions by name, each from facts and labels to a model.
    target
        The predicate of labels without a predicate, `subject, object, label`; or, without labels,
        the predicate of the facts to learn.
    folds, seed
        Number of folds, and the seed by which pairs are assigned to them.
    cross_evidence
        Let the true training pairs be facts when test pairs are scored; see `hornbeam.learn`.
    progress
        Callback that is given how many folds are done, or True for a bar on stderr.

    Examples
    --------
    >>> import hornbeam as hb
    >>> facts = [(f"s{i}", "p", f"o{i}") for i in range(0, 40, 2)]
    >>> labels = [(f"s{i}", "t", f"o{i}", float(i % 2 == 0)) for i in range(40)]
    >>> [joint] = hb.cross_validate(facts, labels, ["joint"], folds=4)
    >>> joint.figures("auc_roc")
    [1.0, 1.0, 1.0, 1.0]
    """
    if isinstance(methods, str):
        raise InputError(f"`methods` is {methods!r}; expected a list: [{methods!r}]")
    if isinstance(methods, Mapping):
        methods = {name: _from_facts(method) for name, method in methods.items()}
    else:
        known = cross_evidence or labels is None
        methods = {
            name: partial(learn, method=name, cross_evidence=known, seed=seed) for name in methods
        }
    evidence = facts_of(facts)
    labels = own_labels(evidence, target, seed) if labels is None else as_labels(labels, target)
    worlds = label_worlds(evidence, labels, folds, seed)
    with as_progress(progress) as shown:
        begun = count()
        results = cross_validate_worlds(
            worlds,
            methods,
            lambda fold: shown.advance("Cross-validation", next(begun), folds),
            cross_evidence,
        )
        shown.advance("Cross-validation", folds, folds)
    if failed := failures_text(results):
        warn(failed)
    return results


def cross_validate_worlds(
    worlds: Iterable[World],
    methods: Mapping[str, Learn],
    on_fold: Callable[[str], None] = lambda fold: None,
    cross_evidence: bool = False,
    threads: int | None = None,
) -> list[MethodResult]:
    """Learn with every method from the training labels of every world; evaluate on its test labels.

    A method is called with an engine over the facts, and with the labels. `on_fold` is called with
    the name of each world before learning. A method that fails does not stop the other methods,
    unless all methods fail on every world.
    """
    results: dict[str, list[FoldResult | FoldFailure]] = {name: [] for name in methods}
    for fold, train_facts, train, test_facts, test in worlds:
        on_fold(fold)
        if cross_evidence and test_facts is train_facts:
            test_facts = with_known(test_facts, train)
        engine = open_engine(train_facts, threads=threads)
        test_engine = engine.over(test_facts)
        if isinstance(engine, MemoryEngine):
            _ = engine.graph  # built now, so that its time does not count for the first method
        for name, method in methods.items():
            clock = time.perf_counter()
            try:
                model = method(engine, train)
                seconds = time.perf_counter() - clock
                evaluation = model.evaluate(test_engine, test)
            except Exception as error:  # any error: the other methods may have run for hours
                results[name].append(FoldFailure(fold, error))
            else:
                results[name].append(FoldResult(fold, evaluation, len(model.rules), seconds))
    found = [MethodResult(name, tuple(outcomes)) for name, outcomes in results.items()]
    failures = [failure for result in found for failure in result.failures]
    if failures and not any(result.folds for result in found):
        raise failures[0].error
    return found


def _from_facts(method: Learn) -> Learn:
    """Wrap a user's method, which expects facts, as a method that is called with an engine."""
    return lambda engine, labels: method(engine.facts, labels)


def with_comparisons(name: str, method: Learn) -> dict[str, Learn]:
    """A collective method and the two baselines it is compared with.

    `NAME-plain` is the same method with independent pairs. `NAME-asked` is the collective method
    with every pair counted as true: it shows what the choice of pairs reveals by itself.
    """

    def by(collective: bool | str) -> Learn:
        return lambda facts, labels: method(facts, labels, collective=collective)

    return {name: method, f"{name}-{PLAIN}": by(False), f"{name}-{ASKED}": by(ASKED_ONLY)}


def significance(results: Sequence[MethodResult]) -> dict[tuple[str, str], float]:
    """p-value per pair of methods: whether their AUC-ROC differ, over folds where both have it."""
    chances = {}
    for method, other in combinations(results, 2):
        pairs = zip(method.figures("auc_roc"), other.figures("auc_roc"), strict=True)
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if len(known) > 1:
            chances[method.name, other.name] = paired_significance(*zip(*known, strict=True))
    return chances


def task_worlds(
    task_dir: str,
    folds: int | None = None,
    *,
    tables: Sequence[Input] = (),
    numbers: Input | None = None,
    dates: Input | None = None,
) -> Iterator[World]:
    """Read a task folder's folds one after the other, each with the same tables and numbers."""
    read = partial(read_facts, *tables, numbers=numbers, dates=dates)
    for fold in task_folds(Path(task_dir))[:folds]:
        train_facts = read(*fold.train_facts)
        same = fold.test_facts == fold.train_facts
        test_facts = train_facts if same else read(*fold.test_facts)
        train, test = read_labels(fold.train_labels), read_labels(fold.test_labels)
        yield World(fold.name, train_facts, train, test_facts, test)


def own_labels(facts: Facts, target: str | None, seed: int) -> Targets:
    """Labels without any given ones: the facts of a predicate, and false pairs (stated or drawn).

    Scores are then to be learned with `cross_evidence`, since the facts have the true pairs.
    """
    return labels_of_facts(open_engine(facts), target, 1.0, "typed", seed)[0]


def label_worlds(facts: Facts, labels: Targets, folds: int = 5, seed: int = 0) -> Iterator[World]:
    """Split labels into folds over one set of facts; facts that state test pairs are hidden."""
    split = make_folds(labels, folds, np.random.default_rng(seed))
    for k, (train, test) in enumerate(split):
        held_out = labels.select(test)
        known = without_targets(facts, held_out)
        yield World(f"fold{k}", known, labels.select(train), known, held_out)
