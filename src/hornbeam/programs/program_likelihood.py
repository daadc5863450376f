"""The pseudolikelihood of a program's truth as a learning problem, and its best weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.choices import WeightMethod
from hornbeam.hlmrf.potentials import PotentialKind, Potentials, conditional_hinges
from hornbeam.language.arithmetic_rules import PslRule
from hornbeam.language.syntax import LogicalRule
from hornbeam.learning.hinge_problem import HingeProblem
from hornbeam.learning.newton import Newton


def ground_problem(
    rules: Sequence[PslRule], potentials: Potentials, y: Floats
) -> HingeProblem[PslRule]:
    """The learning problem of rules that were grounded with weight 1, given the truth y."""
    row, is_squared = potentials.row, potentials.kind == PotentialKind.SQUARED
    hinges = conditional_hinges(potentials, y, is_squared)
    keep = (hinges.height > 0.0) & ~potentials.is_constraint[row]
    lengths = [len(rule.body) if isinstance(rule, LogicalRule) else 0 for rule in rules]
    return HingeProblem(
        rules,
        np.array(lengths, dtype=np.int64),
        np.array([rule.squared for rule in rules], dtype=np.bool_),
        y,
        hinges.variable[keep].astype(np.int64),
        potentials.rule[row][keep].astype(np.int64),
        hinges.height[keep],
        hinges.down[keep],
        hinges.strength[keep],
    )


def fit_weights(
    problem: HingeProblem[PslRule],
    method: WeightMethod,
    weight_variance: float = 100.0,
    given: Floats | None = None,
    free: Bools | None = None,
) -> Floats:
    """Fit the weights of the `free` rules (all by default); other rules keep their `given` weight.

    A free rule without ground rules gets weight 0.
    """
    n = len(problem.clauses)
    free = np.ones(n, dtype=np.bool_) if free is None else free
    start = np.zeros(n) if given is None else np.where(free, 0.0, given)
    newton, ridge = Newton(tolerance=1e-9), 1.0 / weight_variance
    if method is WeightMethod.JOINT:
        return newton.fit(problem, 0.0, ridge, start, free).weights
    for k in np.flatnonzero(free).tolist():
        start[k] = newton.fit(piece(problem, k), 0.0, ridge).weights[0]
    return start


def piece(problem: HingeProblem[PslRule], k: int) -> HingeProblem[PslRule]:
    """The problem of rule k alone, over the targets that its ground rules contain."""
    return problem.only(np.array([k])).subset(problem.targets_of(k))
