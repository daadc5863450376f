"""Inferred values of a PSL program against the truth it gives: what PSL's evaluators report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.programs.program_data import PredicateTables, atom_places
from hornbeam.reporting.evaluation import evaluate

#: Minimum value that counts as true, as in PSL's discrete evaluator.
TRUE = 0.5


@dataclass(frozen=True)
class TruthEvaluation:
    """How the inferred values of a predicate fit its truth.

    AUC (ties count half), accuracy and F1 take values from 0.5 on for true; MAE and MSE are the
    mean absolute and squared differences. Only targets with a truth value count; `unknown` is the
    number of targets without one.
    """

    auc_roc: float | None
    auc_pr: float | None
    f1: float | None
    accuracy: float
    mae: float
    mse: float
    n: int
    unknown: int

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and None, ready for JSON."""
        return asdict(self)


def evaluate_truth(
    tables: PredicateTables, values: Floats, close_truth: bool = False
) -> TruthEvaluation | None:
    """Compare inferred values of a predicate's targets with its truth; None without any.

    Targets without truth are left out, or false where `close_truth`.
    """
    place = atom_places(tables.targets, tables.truth)
    known = place >= 0
    if not known.any():
        return None
    expected = np.where(known, tables.truth.values[place], 0.0)
    known |= close_truth
    expected, found = expected[known], values[known]
    ranked = evaluate(expected, np.clip(found, 0.0, 1.0))
    is_true, found_true = expected >= TRUE, found >= TRUE
    hits = int(np.count_nonzero(is_true & found_true))
    relevant = int(is_true.sum()) + int(found_true.sum())
    return TruthEvaluation(
        auc_roc=ranked.auc_roc,
        auc_pr=ranked.auc_pr,
        f1=2 * hits / relevant if relevant else None,
        accuracy=float(np.mean(is_true == found_true)),
        mae=float(np.mean(np.abs(expected - found))),
        mse=float(np.mean((expected - found) ** 2)),
        n=int(known.sum()),
        unknown=int(np.count_nonzero(~known)),
    )
