"""The result of MAP inference: the state, how it was found, and a proved bound of the optimum."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hornbeam.base.arrays import Floats, Positions
from hornbeam.hlmrf.potentials import PotentialKind, Potentials


class MapStatus(StrEnum):
    """How inference ended."""

    OPTIMAL = "optimal"
    CONVERGED = "converged: residuals and constraints are within their tolerances"
    ITERATIONS = "stopped at the iteration limit; allow more iterations or use the exact solver"
    INFEASIBLE = "infeasible: the hard constraints contradict each other"
    SKIPPED = "skipped, as the program wants it: the targets keep their initial values"


@dataclass(frozen=True, eq=False)
class MapState:
    """A MAP state with its figures."""

    state: Floats  #: value of every variable, in [0, 1]
    objective: float  #: sum of the potentials at the state, with the weights as given
    #: Lower bound of the optimum, proved by the multipliers of the rows (see `dual_value`),
    #: whatever the solver's tolerances.
    bound: float
    status: MapStatus
    solver: str
    #: Rows of the constraints that are violated by more than the tolerance, and their violations.
    violated: Positions
    violation: Floats
    iterations: int = 0  #: iterations of ADMM, or of the exact solver's own method
    #: Residuals of ADMM's stopping rule; 0 if another solver was used.
    primal_residual: float = 0.0
    dual_residual: float = 0.0

    @property
    def gap(self) -> float:
        """Upper bound of the objective's distance from the optimum; about 0 at the optimum.

        Slightly violated constraints can make the gap negative.
        """
        return self.objective - self.bound


def dual_value(potentials: Potentials, multiplier: Floats) -> float:
    """Lower bound of the MAP objective by Lagrange multipliers, one per row.

    With the convex conjugates of the hinges, for admissible multipliers m,

        sum_k (m_k constant_k - m_k^2 / (4 weight_k) [squared]) + sum_i min(0, (A' m)_i) + offset

    is at most the objective of any feasible state, since 0 <= y <= 1. Admissible multipliers are
    0 <= m <= weight (linear), m >= 0 (squared and at most), any m (equal); others are clipped.
    For constraints alone, a positive value proves that they contradict each other: a state that
    meets them all would have the objective 0.
    """
    kind, weight = potentials.kind, potentials.weight
    squared = kind == PotentialKind.SQUARED
    lower = np.where(kind == PotentialKind.EQUAL, -np.inf, 0.0)
    upper = np.where((kind == PotentialKind.LINEAR) | (squared & (weight == 0.0)), weight, np.inf)
    m = np.clip(multiplier, lower, upper)
    # a potential without literals is constant: its derivative is the best multiplier
    known = (potentials.sizes == 0) & ~potentials.is_constraint
    hinge = np.maximum(potentials.constant[known], 0.0)
    m[known] = weight[known] * np.where(squared[known], 2.0 * hinge, hinge > 0.0)
    squared &= m > 0.0
    conjugate = m[squared] ** 2 / (4.0 * weight[squared])
    pull = np.bincount(
        potentials.variable, potentials.coefficient * m[potentials.row], potentials.n_variables
    )
    # no product of vectors: BLAS would use threads, and their order of summation varies
    value = (m * potentials.constant).sum() - conjugate.sum() + np.minimum(pull, 0.0).sum()
    return float(value) + potentials.offset


def start_at(potentials: Potentials, start: Floats | None) -> Floats:
    """A copy of the state to start from, clipped to [0, 1].

    By default the state is all ones, the value in PSL 2.4.1 of a target that is in no ground rule.
    """
    if start is None:
        return np.ones(potentials.n_variables)
    return np.clip(start, 0.0, 1.0).astype(np.float64)


def assess(
    potentials: Potentials,
    state: Floats,
    multiplier: Floats,
    status: MapStatus,
    solver: str,
    max_violation: float,
) -> MapState:
    """Compute the figures of a state: objective, bound, violated constraints."""
    far = potentials.violations(state)
    violated = np.flatnonzero(far > max_violation)
    objective, bound = potentials.objective(state), dual_value(potentials, multiplier)
    # + 0.0 makes 0.0 of -0.0, which users would see
    return MapState(state + 0.0, objective, bound, status, solver, violated, far[violated])
