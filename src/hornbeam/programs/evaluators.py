"""PSL's evaluators: figures of how the values of a predicate's atoms fit its truth.

An evaluator has PSL's options as its fields, with PSL's defaults. It compares the targets that have
a truth value; also observed atoms that have one (`include_observed`), and targets without truth,
which then count as false (`close_truth`). One of its figures represents the others: the figure that
a search for weights improves.

Figures that are undefined are None; in PSL they are 0. Values that are equal count as ties, and not
in an accidental order: half for AUC-ROC, in equal shares for categories.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, row_numbers
from hornbeam.errors import DataError
from hornbeam.programs.program_options import (
    ProgramOption,
    choice,
    flag,
    number,
    option_text,
    read_options,
    whole_numbers,
)
from hornbeam.scoring.evaluation import confusion, evaluate, precision_recall_areas

#: Figures by name; None where a figure is undefined.
Figures = dict[str, float | None]

PACKAGE = "org.linqs.psl.evaluation.statistics."
#: How close the values of two categories are that count as tied, as in PSL.
TIED = 1e-5


@dataclass(frozen=True, eq=False)
class EvaluatedAtoms:
    """Targets and observed atoms of a predicate, with their values and their truth."""

    arguments: tuple[Ids, ...]  #: one column of ids per argument
    value: Floats
    truth: Floats  #: NaN where an atom has no truth value
    observed: Bools
    #: Number of atoms of value 1 in the truth that are neither targets nor observed.
    unmatched: int = 0


@dataclass(frozen=True, kw_only=True)
class Evaluator(ABC):
    """The settings of an evaluator."""

    include_observed: bool = False
    close_truth: bool = False
    representative: str = ""

    #: Name of the figure of every representative that PSL knows.
    REPRESENTATIVES: ClassVar[Mapping[str, str]]
    OPTIONS: ClassVar[tuple[ProgramOption, ...]]
    higher_is_better: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """PSL's name of the evaluator."""
        return next(name for name, kind in EVALUATORS.items() if kind is type(self))

    @property
    def option_texts(self) -> dict[str, str]:
        """PSL's options that are not the default, by name."""
        default = type(self)()
        return {
            option.name: option_text(getattr(self, option.field))
            for option in self.OPTIONS
            if getattr(self, option.field) != getattr(default, option.field)
        }

    def compared(self, atoms: EvaluatedAtoms) -> Bools:
        """Which of the atoms are compared with their truth."""
        known: Bools = ~np.isnan(atoms.truth)
        if self.close_truth:
            known |= ~atoms.observed
        return known if self.include_observed else known & ~atoms.observed

    @abstractmethod
    def figures(self, atoms: EvaluatedAtoms) -> Figures:
        """All figures of the evaluator, by name."""

    def score(self, atoms: EvaluatedAtoms) -> float:
        """The representative figure, negated where less is better; -inf where it is undefined."""
        figure = self.figures(atoms)[self.REPRESENTATIVES[self.representative]]
        if figure is None:
            return -np.inf
        return figure if self.higher_is_better else -figure

    def _values(self, atoms: EvaluatedAtoms) -> tuple[Floats, Floats]:
        """Truth and value of the atoms that are compared."""
        chosen = self.compared(atoms)
        return np.nan_to_num(atoms.truth[chosen], nan=0.0), atoms.value[chosen]


def _options(prefix: str, figures: Mapping[str, str]) -> tuple[ProgramOption, ...]:
    """The options that every evaluator has, and its representative."""
    return (
        ProgramOption("eval.includeobs", "include_observed", flag,
                      "observed atoms that have a truth value are compared, too"),
        ProgramOption("eval.closetruth", "close_truth", flag,
                      "targets without a truth value are compared, as false"),
        ProgramOption(f"{prefix}.representative", "representative", choice(figures),
                      f"the figure that a search for weights improves: {', '.join(figures)}"),
    )  # fmt: skip


def _threshold(prefix: str) -> ProgramOption:
    meaning = "values from this on are true"
    return ProgramOption(f"{prefix}.threshold", "threshold", number(0, 1), meaning)


@dataclass(frozen=True, kw_only=True)
class ContinuousEvaluator(Evaluator):
    """Mean absolute and squared differences of values and truth."""

    representative: str = "MSE"
    REPRESENTATIVES: ClassVar[Mapping[str, str]] = {"MAE": "mae", "MSE": "mse"}
    OPTIONS = _options("continuousevaluator", REPRESENTATIVES)
    higher_is_better = False

    def figures(self, atoms: EvaluatedAtoms) -> Figures:
        """MAE, MSE and RMSE."""
        truth, value = self._values(atoms)
        if not len(truth):
            return {"mae": None, "mse": None, "rmse": None}
        squared = float(np.mean((truth - value) ** 2))
        return {"mae": float(np.mean(np.abs(truth - value))), "mse": squared, "rmse": squared**0.5}


@dataclass(frozen=True, kw_only=True)
class DiscreteEvaluator(Evaluator):
    """Decisions at a threshold: precision and recall of both classes, F1, accuracy."""

    threshold: float = 0.5
    representative: str = "F1"
    REPRESENTATIVES: ClassVar[Mapping[str, str]] = {
        "F1": "f1",
        "POSITIVE_PRECISION": "precision",
        "NEGATIVE_PRECISION": "negative_precision",
        "POSITIVE_RECALL": "recall",
        "NEGATIVE_RECALL": "negative_recall",
        "ACCURACY": "accuracy",
    }
    OPTIONS = (
        *_options("discreteevaluator", REPRESENTATIVES),
        _threshold("discreteevaluator"),
    )

    def figures(self, atoms: EvaluatedAtoms) -> Figures:
        """F1, accuracy, and precision and recall of both classes."""
        truth, value = self._values(atoms)
        true, called = truth >= self.threshold, value >= self.threshold
        counts, negative = confusion(true, called), confusion(~true, ~called)
        relevant = int(true.sum()) + int(called.sum())
        return {
            "f1": 2 * counts.true_positive / relevant if relevant else None,
            "accuracy": counts.accuracy if len(true) else None,
            "precision": counts.precision,
            "recall": counts.recall,
            "negative_precision": negative.precision,
            "negative_recall": negative.recall,
        }


@dataclass(frozen=True, kw_only=True)
class AucEvaluator(Evaluator):
    """Areas under curves of atoms ranked by value; an atom is true from a threshold on.

    PSL's area under precision-recall is the trapezoid. For the negative class, atoms are ranked by
    rising value; PSL ranks them by falling value, as if high values spoke for false atoms.
    """

    threshold: float = 0.5
    representative: str = "AUROC"
    REPRESENTATIVES: ClassVar[Mapping[str, str]] = {
        "AUROC": "auc_roc",
        "POSITIVE_AUPRC": "auc_pr_trapezoid",
        "NEGATIVE_AUPRC": "auc_pr_negative_trapezoid",
    }
    OPTIONS = (*_options("aucevaluator", REPRESENTATIVES), _threshold("aucevaluator"))

    def figures(self, atoms: EvaluatedAtoms) -> Figures:
        """AUC-ROC; average precision and PSL's trapezoid, of both classes."""
        truth, value = self._values(atoms)
        true, score = (truth >= self.threshold).astype(np.float64), np.clip(value, 0.0, 1.0)
        if true.all() or not true.any():  # also where there are no atoms
            return dict.fromkeys(("auc_roc", "auc_pr", *_AREAS))
        positive = precision_recall_areas(true, score)
        negative = precision_recall_areas(true, score, negative=True)
        areas = (positive.trapezoid, negative.average, negative.trapezoid)
        return {
            "auc_roc": evaluate(true, score).auc_roc,
            "auc_pr": positive.average,
            **dict(zip(_AREAS, areas, strict=True)),
        }


_AREAS = ("auc_pr_trapezoid", "auc_pr_negative", "auc_pr_negative_trapezoid")


@dataclass(frozen=True, kw_only=True)
class CategoricalEvaluator(Evaluator):
    """Whether the likeliest category is the true one.

    Some arguments name a category, the others what is categorised. Of the atoms that differ in
    their category only, the one of the highest value is chosen. The accuracy is the share of the
    atoms of value 1 in the truth that are chosen. Where n values tie, each counts 1/n; PSL tosses a
    coin.
    """

    #: Positions of the category's arguments, from 0, or negative from the end.
    categories: tuple[int, ...] = (-1,)
    representative: str = "ACCURACY"
    REPRESENTATIVES: ClassVar[Mapping[str, str]] = {"ACCURACY": "categorical_accuracy"}
    OPTIONS = (
        *_options("categoricalevaluator", REPRESENTATIVES),
        ProgramOption("categoricalevaluator.categoryindexes", "categories", whole_numbers,
                      "arguments that name the category, from 0 or, negative, from the end; "
                      "several with `:` between them"),
    )  # fmt: skip

    def figures(self, atoms: EvaluatedAtoms) -> Figures:
        """The share of true atoms whose category is chosen."""
        candidates = self.include_observed | ~atoms.observed
        true = atoms.truth >= 1.0
        total = int(true.sum()) + atoms.unmatched
        if not total:
            return {"categorical_accuracy": None}
        of_category = {position % len(atoms.arguments) for position in self.categories}
        base = [ids for k, ids in enumerate(atoms.arguments) if k not in of_category]
        group = row_numbers(len(true), *base)
        value = np.where(candidates, atoms.value, -np.inf)
        best = np.full(int(group.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(best, group, value)
        chosen = candidates & (value >= best[group] - TIED)
        tied = np.bincount(group[chosen], minlength=len(best))
        hits = np.sum(1.0 / tied[group[chosen & true]])
        return {"categorical_accuracy": float(hits) / total}


EVALUATORS: Mapping[str, type[Evaluator]] = {
    "ContinuousEvaluator": ContinuousEvaluator,
    "DiscreteEvaluator": DiscreteEvaluator,
    "AUCEvaluator": AucEvaluator,
    "CategoricalEvaluator": CategoricalEvaluator,
}
#: Options that all predicates may have in common, by name.
EVALUATION_OPTIONS = {
    option.name: option for kind in EVALUATORS.values() for option in kind.OPTIONS
}


#: The one option of an evaluator without effect: every evaluator here is one of a predicate.
DEFAULT_PREDICATE = "categoricalevaluator.defaultpredicate"


@dataclass(frozen=True)
class PredicateEvaluator:
    """An evaluator of a predicate: listed by the program, perhaps as the primary one, or not."""

    evaluator: Evaluator
    listed: bool = False
    primary: bool = False


#: Evaluators of a predicate for which the program lists none.
STANDARD = tuple(
    PredicateEvaluator(kind()) for kind in (AucEvaluator, DiscreteEvaluator, ContinuousEvaluator)
)


def predicate_evaluators(
    program: str, options: Mapping[str, str], listed: Sequence[PredicateEvaluator]
) -> tuple[PredicateEvaluator, ...]:
    """Evaluators of a predicate: the listed ones, then the standard ones of other kinds.

    Options of the program that begin like options of evaluators, and are none, are refused.
    """
    prefixes = tuple({f"{name.split('.')[0]}." for name in EVALUATION_OPTIONS})
    for name in options:
        if name.startswith(prefixes) and name not in (*EVALUATION_OPTIONS, DEFAULT_PREDICATE):
            raise _unknown(program, "unknown option", name, EVALUATION_OPTIONS)
    kinds = {type(one.evaluator) for one in listed}
    further = [type(one.evaluator) for one in STANDARD if type(one.evaluator) not in kinds]
    values = [kind(**read_options(program, options, kind.OPTIONS)) for kind in further]
    return (*listed, *map(PredicateEvaluator, values))


def evaluator_named(
    program: str, name: str, arity: int, options: Mapping[str, str], own: Mapping[str, str]
) -> Evaluator:
    """The evaluator of a name, with or without its package.

    `options` are those of the program, of which the evaluator's apply; `own` are the evaluator's
    alone, of which every one must be known.
    """
    kind = EVALUATORS.get(name.removeprefix(PACKAGE))
    if kind is None:
        raise _unknown(program, "unknown evaluator", name, EVALUATORS)
    known = {option.name: option for option in kind.OPTIONS}
    for option in own:
        if option not in (*known, DEFAULT_PREDICATE):
            raise _unknown(program, f"unknown option of {name}", option, known)
    fields: dict[str, Any] = read_options(program, {**options, **own}, kind.OPTIONS)
    for position in fields.get("categories", ()):
        if not -arity <= position < arity:
            problem = f"the option 'categoricalevaluator.categoryindexes' has {position}"
            expected = f"expected {-arity} to {arity - 1} for {arity} arguments"
            raise DataError(program, f"{problem}; {expected}")
    return kind(**fields)


def _unknown(program: str, problem: str, name: str, known: Mapping[str, object]) -> DataError:
    return DataError(program, f"{problem} {name!r}; expected one of {', '.join(known)}")
