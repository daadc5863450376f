"""Held-out targets: their folds, their losses, and which gains are more than chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.learning.problem import Problem
from hornbeam.rules.body import AnyBody, Kind
from hornbeam.rules.number_conditions import HAS

#: Standard errors by which numbers must lower the held-out loss of a model without them. A cut of a
#: noise attribute fits what is left once a real relation is said: of 20 problems with one, `boost`
#: had rules about it in 6 without this condition, and in none with it; `joint` in 11 of 20 on one
#: entity, now in 3.
NUMBERS_ERRORS = 1.0


def held_out_folds(problem: Problem, folds: int, seed: int) -> Ints:
    """The fold of every target, with true and false targets spread evenly over the folds.

    Targets are assigned in an order that depends only on labels and a random projection of counts.
    So neither the order nor the names of the targets change the learned model. A pair of a
    symmetric relation shares the fold of its mirror image: one direction tells the other.
    """
    rng = np.random.default_rng(seed)
    y = problem.y
    signature = problem.signature(rng)
    order = np.lexsort((signature, y))
    pair = np.arange(len(y)) if problem.pair is None else problem.pair
    _, first, number = np.unique(pair[order], return_index=True, return_inverse=True)
    is_true = y[order][first] >= 0.5
    by_order = np.argsort(first)
    fold_of_pair = np.empty(len(first), dtype=np.int64)
    for part in (by_order[is_true[by_order]], by_order[~is_true[by_order]]):
        fold_of_pair[rng.permutation(part)] = np.arange(len(part)) % folds
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = fold_of_pair[number]
    return fold


def log_losses(y: Floats, score: Floats) -> Floats:
    """Cross-entropy of every target."""
    clipped = np.clip(score, 1e-15, 1.0 - 1e-15)
    return -(y * np.log(clipped) + (1.0 - y) * np.log1p(-clipped))


def clustered_error(gain: Floats, group: Ints) -> float:
    """Standard error of the mean gain over pairs, where pairs of one group are not independent."""
    sums = np.bincount(group, gain - gain.mean())
    return float(np.sqrt(len(sums) / max(len(sums) - 1, 1) * np.sum(sums**2)) / len(gain))


def is_gain(gain: Floats, pair: Ints | None, errors: float) -> bool:
    """Whether the mean gain of held-out targets exceeds so many of its standard errors.

    Targets of one `pair`, a pair and its mirror image, are not independent.
    """
    group = np.arange(len(gain)) if pair is None else pair
    return bool(gain.mean() > errors * clustered_error(gain, group))


def without_numbers(problem: Problem) -> Problem:
    """The problem that there would be without numbers; itself if no candidate is about one."""
    clauses, is_base = problem.clauses, problem.is_base.tolist()
    candidates = [clause.body for clause, base in zip(clauses, is_base, strict=True) if not base]
    added = bodies_beside_numbers(candidates)
    if not added:
        return problem
    kept = [base or clause.body not in added for clause, base in zip(clauses, is_base, strict=True)]
    return problem.only(np.flatnonzero(kept))


def bodies_beside_numbers(bodies: Sequence[AnyBody]) -> set[AnyBody]:
    """Comparisons, and what the search for them adds: `has_year(A)`, and `(B == 'PG')`.

    Where anchored bodies were asked for, the latter are of these.
    """
    has = {HAS + name for body in bodies for name in body.attributes}
    conditions = [(body, part.body) for body in bodies for part in body.parts]
    anchored = any(one.kind is Kind.ANCHORED and one.steps for _, one in conditions)
    return {
        body
        for body, one in conditions
        if has and (one.number or one.predicates & has or (one.is_equality and not anchored))
    }
