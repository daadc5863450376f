"""Weights of a program's logical rules by exact pseudolikelihood.

Given the truth of all other atoms, a ground rule is a hinge in the one atom that is left. With l
its linear form, a the atom's coefficient there (m times +1 or -1 where it occurs m times) and b the
rest at the truth, max(0, a y + b)^p is

    m^p max(0, b/m - y)^p            for a = -m: it pulls y up,
    m^p max(0, (1 + b/m) + y - 1)^p  for a = +m: it pushes y down,

and `hornbeam.densities.hinges` integrates sums of such hinges in closed form, whatever their
powers.

* joint: maximise sum_i log p(y_i | the others) over all weights at once;
* ppll: the same for each rule alone, as if there were no other (piecewise).

Both are concave, with a Gaussian prior on the weights, and fitted by Newton's method. Hard rules
have no weight and are left out: conditioned on the truth they allow a single value or say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from hornbeam.hlmrf.potentials import Floats, Kind, Potentials
from hornbeam.language.syntax import LogicalRule, PslRule
from hornbeam.learning.hinge_problem import HingeProblem
from hornbeam.learning.newton import Fit, Newton

Method = Literal["joint", "ppll"]


def ground_problem(
    rules: Sequence[PslRule], potentials: Potentials, y: Floats
) -> HingeProblem[PslRule]:
    """Condition ground rules on the truth y; every weighted rule was grounded with weight 1."""
    row = potentials.row
    size, is_down = np.abs(potentials.coefficient), potentials.coefficient > 0.0
    own = potentials.coefficient * y[potentials.variable]
    rest = potentials.forms(y)[row] - own
    height = np.where(is_down, 1.0 + rest / size, rest / size)
    power = np.where(potentials.kind[row] == Kind.SQUARED, 2.0, 1.0)
    keep = (height > 0.0) & ~potentials.is_constraint[row]
    lengths = [len(rule.body) if isinstance(rule, LogicalRule) else 0 for rule in rules]
    return HingeProblem(
        rules,
        np.array(lengths, dtype=np.int64),
        np.array([rule.squared for rule in rules], dtype=np.bool_),
        y,
        potentials.variable[keep].astype(np.int64),
        potentials.rule[row][keep].astype(np.int64),
        np.minimum(height[keep], 1.0),  # rounding may overshoot
        is_down[keep],
        (potentials.weight[row] * size**power)[keep],
    )


def fit_weights(
    problem: HingeProblem[PslRule], method: Method, weight_variance: float = 100.0
) -> Floats:
    """Weights of all rules; those without ground rules get 0."""
    if method == "joint":
        return _fit(problem, weight_variance).weights
    pieces = (piece(problem, k) for k in range(len(problem.clauses)))
    return np.array([_fit(one, weight_variance).weights[0] for one in pieces])


def piece(problem: HingeProblem[PslRule], k: int) -> HingeProblem[PslRule]:
    """Rule k alone, over the targets that its ground rules contain."""
    return problem.only(np.array([k])).subset(problem.targets_of(k))


def _fit(problem: HingeProblem[PslRule], weight_variance: float) -> Fit:
    n = len(problem.clauses)
    return Newton(tolerance=1e-9).fit(problem, np.zeros(n), np.full(n, 1.0 / weight_variance))
