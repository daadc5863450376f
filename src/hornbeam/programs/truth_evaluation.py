"""The values of a predicate's targets against its truth: the figures of all its evaluators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.programs.evaluators import (
    CategoricalEvaluator,
    EvaluatedAtoms,
    Figures,
    PredicateEvaluator,
)
from hornbeam.programs.program_data import PredicateTables


@dataclass(frozen=True)
class EvaluatorFigures:
    """The figures of one evaluator that a program lists, and its options."""

    evaluator: str  #: PSL's name
    options: dict[str, str]  #: PSL's options that are not the default
    primary: bool
    figures: Figures


@dataclass(frozen=True)
class TruthEvaluation:
    """How the inferred values of a predicate fit its truth: the figures of PSL's evaluators.

    A figure comes from the first evaluator of its kind that the program lists, else from one with
    the program's options. AUC counts ties half; `auc_pr` is average precision, `auc_pr_trapezoid`
    PSL's area, and both exist for false atoms ranked by rising value. Precision, recall, accuracy
    and F1 take values from a threshold on for true, 0.5 by default. MAE, MSE and RMSE are the mean
    absolute, mean squared and root mean squared differences. `categorical_accuracy` is only
    computed where a program lists the evaluator. `n` is the number of atoms that are compared,
    `unknown` the number of targets that are left out for want of a truth value. `evaluators` has
    the figures of every listed evaluator on its own.
    """

    auc_roc: float | None
    auc_pr: float | None
    f1: float | None
    accuracy: float | None
    mae: float | None
    mse: float | None
    n: int
    unknown: int
    rmse: float | None
    precision: float | None
    recall: float | None
    negative_precision: float | None
    negative_recall: float | None
    auc_pr_trapezoid: float | None
    auc_pr_negative: float | None
    auc_pr_negative_trapezoid: float | None
    categorical_accuracy: float | None = None
    evaluators: tuple[EvaluatorFigures, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and None, ready for JSON."""
        return {**asdict(self), "evaluators": [asdict(one) for one in self.evaluators]}


def evaluate_truth(
    tables: PredicateTables, values: Floats, ways: Sequence[PredicateEvaluator]
) -> TruthEvaluation | None:
    """Compare values of a predicate's targets with its truth; None if there is nothing to compare.

    Without a truth value of any target, only the evaluators that the program lists compare.
    """
    observed = any(way.evaluator.include_observed for way in ways)
    atoms = evaluated_atoms(tables, values, observed)
    asked = [way.evaluator.compared(atoms).any() for way in ways if way.listed]
    if np.isnan(atoms.truth).all() and not any(asked):
        return None
    figures: Figures = {}
    listed = []
    for way in ways:
        found = way.evaluator.figures(atoms)
        figures = {**found, **figures}
        if way.listed:
            own = way.evaluator
            listed.append(EvaluatorFigures(own.name, own.option_texts, way.primary, found))
    # an evaluator of categories looks for the best of several atoms and compares none of them
    single = [one.evaluator for one in ways if not isinstance(one.evaluator, CategoricalEvaluator)]
    compared = np.any([evaluator.compared(atoms) for evaluator in single], axis=0)
    left_out = np.isnan(atoms.truth) & ~compared & ~atoms.observed
    counts = {"n": int(compared.sum()), "unknown": int(left_out.sum())}
    return TruthEvaluation(**figures, **counts, evaluators=tuple(listed))  # type: ignore[arg-type]


def evaluated_atoms(tables: PredicateTables, values: Floats, observed: bool) -> EvaluatedAtoms:
    """The targets of a predicate with their values, and its observed atoms if wanted."""
    parts = [(tables.targets, values)]
    if observed:
        parts.append((tables.observed, tables.observed.values))
    truth = np.concatenate([tables.truth_of(table) for table, _ in parts])
    true = int(np.count_nonzero(tables.truth.values >= 1.0))
    return EvaluatedAtoms(
        tuple(np.concatenate(ids) for ids in zip(*(t.arguments for t, _ in parts), strict=True)),
        np.concatenate([found for _, found in parts]),
        truth,
        np.repeat([False, True][: len(parts)], [len(table) for table, _ in parts]),
        true - int(np.count_nonzero(truth >= 1.0)),
    )
