"""The state of ADMM and how the next iterate is computed; `hornbeam.hlmrf.admm` derives it.

The steps themselves, by row and by variable, are those of `admm_steps`; whole arrays and compiled
loops move the same `AdmmPoint`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from hornbeam.base.arrays import Floats, Kinds, Unsigned
from hornbeam.hlmrf.potentials import PotentialKind, Potentials

#: Shares of the plain step, of the old iterate and of the anchor in the next iterate.
Mixture = tuple[float, float, float]

#: The plain step alone.
PLAIN: Mixture = (1.0, 0.0, 0.0)
#: Size below which a dual counts as 0: subnormal numbers are ten times slower.
SMALLEST_DUAL = 1e-100


class AdmmRows(NamedTuple):
    """The literals by row, and the constants of every row's local step."""

    indptr: Unsigned
    variable: Unsigned
    coefficient: Floats
    constant: Floats
    kind: Kinds
    norm: Floats  #: |a|^2
    strength: Floats  #: largest t of a linear hinge; t / l of a squared one

    @classmethod
    def of(cls, potentials: Potentials, unit: float, step: float) -> AdmmRows:
        """Work out norms and strengths, weights in units of `unit`; constraints have no limit."""
        coefficient, weight = potentials.coefficient, potentials.weight / unit
        norm = np.bincount(potentials.row, coefficient * coefficient, len(potentials))
        return cls(
            potentials.indptr.astype(np.uint32),
            potentials.variable.view(np.uint32),
            coefficient,
            potentials.constant,
            potentials.kind,
            norm.astype(np.float64, copy=False),  # integers where there are no literals
            np.select(
                [potentials.kind == PotentialKind.LINEAR, potentials.kind == PotentialKind.SQUARED],
                [weight / step, 2.0 * weight / (step + 2.0 * weight * norm)],
                np.inf,
            ),
        )


class AdmmPoint(NamedTuple):
    """The state of ADMM, w = e - s a, and the anchor; the steps update them in place."""

    s: Floats  #: a row's part of w
    e: Floats  #: a variable's part of w
    pull: Floats  #: sum of s a over a variable's literals
    z: Floats  #: the consensus at w
    q: Floats  #: 2 z - e, what the local steps read
    state: Floats  #: the consensus after a plain step from w: the result
    anchor_s: Floats
    anchor_e: Floats
    anchor_pull: Floats

    @classmethod
    def at(cls, state: Floats, n_rows: int) -> AdmmPoint:
        """Start with duals of 0: w is the state itself."""
        nothing = np.zeros_like(state)
        return cls(
            s=np.zeros(n_rows),
            e=state.copy(),
            pull=nothing,
            z=state.copy(),
            q=state.copy(),
            state=state.copy(),
            anchor_s=np.zeros(n_rows),
            anchor_e=state.copy(),
            anchor_pull=nothing.copy(),
        )

    def set_anchor(self) -> None:
        """Set the anchor to the present point."""
        self.anchor_s[:], self.anchor_e[:], self.anchor_pull[:] = self.s, self.e, self.pull


class AdmmSteps(Protocol):
    """The two halves of an iteration; each returns sums for the residuals."""

    def local_steps(self, point: AdmmPoint, mixture: Mixture) -> Floats:
        """Solve every row alone, which moves s; sums of |a|^2 (s - t)^2 and |a|^2 t^2."""

    def consensus(self, point: AdmmPoint, mixture: Mixture) -> Floats:
        """Move e, and find the consensus there.

        Returns the rest of |x - z|^2, |x|^2, |z|^2, |z - z_old|^2, |u|^2 and |T(w) - w|^2.
        """


class Residuals(NamedTuple):
    """Residuals of an iteration, and the limits of the stopping rule."""

    primal: float = math.inf
    dual: float = math.inf
    primal_limit: float = 0.0
    dual_limit: float = 0.0
    movement: float = math.inf  #: |T(w) - w|

    @property
    def within_limits(self) -> bool:
        """Whether the stopping rule is met."""
        return self.primal <= self.primal_limit and self.dual <= self.dual_limit


@dataclass(frozen=True)
class StoppingRule:
    """Tolerances of a program with `literals` literals."""

    literals: int
    step: float
    absolute: float
    relative: float

    def residuals(self, rows: Floats, variables: Floats) -> Residuals:
        """Residuals from the sums of both halves of an iteration."""
        moved, duals = rows.tolist()
        gap, copies, agreed, changed, rest, movement = variables.tolist()
        absolute = math.sqrt(self.literals) * self.absolute
        largest = math.sqrt(max(copies + moved, agreed, 0.0))
        return Residuals(
            math.sqrt(max(gap + moved, 0.0)),
            self.step * math.sqrt(changed),
            absolute + self.relative * largest,
            absolute + self.relative * self.step * math.sqrt(max(rest + duals, 0.0)),
            math.sqrt(max(movement + moved, 0.0)),
        )


@dataclass
class AnchorSchedule:
    """How the next iterate is mixed; `relaxation` is 0 where the iteration is anchored."""

    relaxation: float
    age: int = 0  #: iterations since the anchor was set; -1: set it after the next
    first: float = 0.0  #: movement when the anchor was set
    latest: float = 0.0  #: movement in the last iteration
    total: int = 0  #: iterations in all
    anchor_share: float = 0.0  #: the anchor's share in the point

    def mixture(self) -> Mixture:
        """The mixture of the next iterate."""
        if self.relaxation > 0.0:
            return self.relaxation, 1.0 - self.relaxation, 0.0
        if self.age < 0:
            return PLAIN
        of_anchor = 1.0 / (self.age + 2.0)
        return 2.0 * (1.0 - of_anchor), of_anchor - 1.0, of_anchor

    def steer(self, point: AdmmPoint, mixture: Mixture, movement: float) -> None:
        """After an iteration, decide whether the anchor moves.

        It moves once the movement has shrunk much, or has shrunk and grows again, or after a part
        of all iterations: the rules and constants of restarted first-order methods for LPs.
        """
        self.total += 1
        self.anchor_share = mixture[2]
        if self.relaxation > 0.0:
            return
        if self.age < 0:
            point.set_anchor()
            self.age = 0
            return
        if self.age == 0:
            self.first = movement
        shrunk = movement / self.first if self.first > 0.0 else 0.0
        grows = movement > self.latest
        old = shrunk <= 0.2 or (shrunk <= 0.8 and grows) or self.age >= 0.36 * self.total
        self.latest = movement
        self.age = -1 if self.age > 0 and old else self.age + 1
