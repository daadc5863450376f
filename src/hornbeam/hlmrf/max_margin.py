"""Weights by MAP states: the truth must have less energy than any other state, by a margin.

A rule's dissatisfaction f_k(y) is the sum of its potentials at weight 1, and the energy of a state
is E_w(y) = sum_k w_k f_k(y). The learner minimises over w >= 0

    sum_k w_k^2 / (2 variance) + max(0, max over y of  E_w(t) - E_w(y) + d(y, t)),

where d, the margin, is the distance of y from the truth t; true and false targets count the same
in it, however many there are. The inner maximum is a MAP state with the distance subtracted from
the energy, by our solvers. Every such state gives a plane below the objective; the weights of the
next state minimise the highest of the planes (cutting planes; Joachims, Finley and Yu,
*Cutting-Plane Training of Structural SVMs*, 2009). The objective is convex, and the lowest of its
values less the minimum of the planes bounds the distance from the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.progress import SILENT, Progress
from hornbeam.hlmrf.reweighted import ReweightedRules, pulls_from

#: Weight relative to the largest weight that counts as 0, as rounding of the QP's solver.
NO_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class MarginFit:
    """Learned weights, the loss at its best, the proved lower bound, and the MAP states made."""

    weights: Floats
    loss: float
    bound: float
    rounds: int


@dataclass(frozen=True)
class MaxMargin:
    """The learner by MAP states."""

    weight_variance: float = 100.0  #: variance of the Gaussian prior on weights
    rounds: int = 100  #: maximum number of MAP states
    tolerance: float = 0.002  #: relative distance from the optimum at which learning ends

    def fit(
        self,
        rules: ReweightedRules,
        truth: Floats,
        known: Bools,
        given: Floats,
        free: Bools,
        progress: Progress = SILENT,
    ) -> MarginFit:
        """Learn the weights of the `free` rules; all others keep their `given` weight.

        Only `known` targets count in the margin.
        """
        size = np.where(known, _balanced(truth), 0.0)
        margin = pulls_from(truth, size)
        ridge, at_truth = 1.0 / self.weight_variance, rules.dissatisfaction(truth)
        weights, state = np.where(free, 0.0, given), truth
        best, lowest, bound = weights, np.inf, 0.0
        planes = _Planes(free, given, ridge)
        for done in range(1, self.rounds + 1):
            state = rules.map_state(weights, state, margin).state
            slope = at_truth - rules.dissatisfaction(state)
            distance = float((size * (1.0 - 2.0 * truth) * (state - truth)).sum())
            hinge = max(0.0, float((weights * slope).sum()) + distance)
            loss = 0.5 * ridge * float((weights[free] ** 2).sum()) + hinge
            if loss < lowest:
                lowest, best = loss, weights
            progress.advance("learning", done, self.rounds)
            if lowest - bound <= self.tolerance * lowest:
                break
            weights, bound = planes.add(slope, distance)
        return MarginFit(best, lowest, bound, done)


def _balanced(truth: Floats) -> Floats:
    """Weight of every target in the margin: true and false targets weigh the same in all."""
    n, true = len(truth), float(truth.sum())
    if true <= 0.0 or true >= n:
        return np.ones(n)
    return np.asarray(truth * (n / (2.0 * true)) + (1.0 - truth) * (n / (2.0 * (n - true))))


class _Planes:
    """Planes below the loss, and the weights that minimise their maximum plus the prior."""

    def __init__(self, free: Bools, given: Floats, ridge: float) -> None:
        self.free, self.given, self.ridge = free, given, ridge
        self.slopes: list[Floats] = []
        self.offsets: list[float] = []

    def add(self, slope: Floats, offset: float) -> tuple[Floats, float]:
        """Add a plane; returns the weights at the minimum, and the minimum."""
        fixed = float((slope * self.given)[~self.free].sum())
        self.slopes.append(slope[self.free])
        self.offsets.append(offset + fixed)
        found, height = self._minimum()
        weights = self.given.copy()
        weights[self.free] = found
        return weights, height

    def _minimum(self) -> tuple[Floats, float]:
        """Minimise ridge |w|^2 / 2 + h over w >= 0 and h >= 0, h above every plane: a small QP."""
        import clarabel
        from scipy import sparse

        n, planes = int(self.free.sum()), len(self.offsets)
        above = np.column_stack([np.stack(self.slopes), -np.ones(planes)])
        scale = 1.0 / max(float(np.abs(above).max()), 1.0)
        left = sparse.csc_matrix(np.vstack([scale * above, -np.eye(n + 1)]))
        right = np.concatenate([-scale * np.array(self.offsets), np.zeros(n + 1)])
        curvature = sparse.csc_matrix(np.diag(np.append(np.full(n, self.ridge), 0.0)))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.direct_solve_method = "qdldl"
        cost = np.append(np.zeros(n), 1.0)
        cones = [clarabel.NonnegativeConeT(len(right))]
        solution = clarabel.DefaultSolver(curvature, cost, left, right, cones, settings).solve()
        weights = np.array(solution.x[:n])
        weights[weights <= NO_WEIGHT * weights.max(initial=0.0)] = 0.0
        planes_at = np.stack(self.slopes) @ weights + np.array(self.offsets)
        value = 0.5 * self.ridge * float((weights**2).sum()) + max(0.0, float(planes_at.max()))
        return weights, min(value, float(solution.obj_val_dual))
