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
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.choices import WeightMethod
from hornbeam.densities.hinges import (
    Hinges,
    group_hinges,
    hinge_moments,
    hinge_values,
    rule_covariance,
)
from hornbeam.hlmrf.potentials import Floats, Kind, Potentials
from hornbeam.language.syntax import PslRule
from hornbeam.learning.descent import minimise_model
from hornbeam.learning.newton import Fit, Newton

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroundProblem:
    """Pseudolikelihood of the weights of ground rules.

    Hinge h of rule `rule[h]` bends in target `target[h]`; `squared` goes by rule.
    """

    clauses: Sequence[PslRule]
    y: Floats
    squared: npt.NDArray[np.bool_]
    target: Ints
    rule: Ints
    height: Floats
    down: npt.NDArray[np.bool_]
    count: Floats

    @classmethod
    def of(cls, rules: Sequence[PslRule], potentials: Potentials, y: Floats) -> GroundProblem:
        """Condition ground rules on the truth y; every weighted rule was grounded with weight 1."""
        row = potentials.row
        size, is_down = np.abs(potentials.coefficient), potentials.coefficient > 0.0
        own = potentials.coefficient * y[potentials.variable]
        rest = potentials.forms(y)[row] - own
        height = np.where(is_down, 1.0 + rest / size, rest / size)
        power = np.where(potentials.kind[row] == Kind.SQUARED, 2.0, 1.0)
        keep = (height > 0.0) & ~potentials.is_constraint[row]
        return cls(
            rules,
            y,
            np.array([rule.squared for rule in rules]),
            potentials.variable[keep].astype(np.int64),
            potentials.rule[row][keep].astype(np.int64),
            np.minimum(height[keep], 1.0),  # rounding may overshoot
            is_down[keep],
            (potentials.weight[row] * size**power)[keep],
        )

    @cached_property
    def hinges(self) -> Hinges:
        """The hinges, sorted once for any weights."""
        return group_hinges(self.target, self.rule, self.height, self.down, self.count, len(self.y))

    @cached_property
    def observed(self) -> Floats:
        """Potential of every (target, rule) at the truth."""
        return hinge_values(self.hinges, self.y, self.squared)

    def log_likelihood(self, weights: Floats) -> float:
        """Log pseudolikelihood of the truth."""
        log_z = hinge_moments(self.hinges, weights, self.squared).log_z
        return -float(log_z.sum() + weights[self.hinges.rule] @ self.observed)

    def gradient(self, weights: Floats) -> Floats:
        """Derivative of -l by every weight: observed minus expected."""
        expected = hinge_moments(self.hinges, weights, self.squared).expected
        slope = np.bincount(self.hinges.rule, self.observed - expected, len(self.clauses))
        return slope.astype(np.float64)

    def propose(
        self, weights: Floats, active: npt.NDArray[np.integer], linear: Floats, ridge: Floats
    ) -> Floats:
        """Minimise the quadratic model of the penalised loss over w >= 0."""
        curve = rule_covariance(self.hinges, weights, self.squared, len(self.clauses))
        slope = self.gradient(weights) + linear + ridge * weights
        block = curve[np.ix_(active, active)] + np.diag(ridge[active])
        proposed = weights.copy()
        proposed[active] = minimise_model(slope[active], block, weights[active])
        return proposed

    def only(self, rule: int) -> GroundProblem:
        """One rule alone, as its piece sees it: targets that it does not speak of drop out."""
        mine = self.rule == rule
        targets, place = np.unique(self.target[mine], return_inverse=True)
        return replace(
            self,
            clauses=[self.clauses[rule]],
            y=self.y[targets],
            squared=self.squared[[rule]],
            target=place,
            rule=np.zeros(len(place), dtype=np.int64),
            height=self.height[mine],
            down=self.down[mine],
            count=self.count[mine],
        )


def fit_weights(
    problem: GroundProblem, method: WeightMethod, weight_variance: float = 100.0
) -> Floats:
    """Weights of all rules; those that no ground rule speaks for are 0."""
    newton = Newton(tolerance=1e-9)
    if method == "joint":
        return _fitted(newton, problem, weight_variance).weights
    pieces = (problem.only(k) for k in range(len(problem.clauses)))
    return np.array([_fitted(newton, piece, weight_variance).weights[0] for piece in pieces])


def _fitted(newton: Newton, problem: GroundProblem, weight_variance: float) -> Fit:
    n = len(problem.clauses)
    return newton.fit(problem, np.zeros(n), np.full(n, 1.0 / weight_variance))
