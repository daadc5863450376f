"""A ground program whose rules get other weights, without being grounded again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.choices import Solver
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.map_inference import solve
from hornbeam.hlmrf.map_state import MapState
from hornbeam.hlmrf.potentials import Potentials

#: Inference inside of learning. Tighter tolerances hardly change which weights are best.
INNER = Admm(epsilon_abs=1e-5, epsilon_rel=1e-4)


@dataclass(frozen=True, eq=False)
class ReweightedRules:
    """Potentials of rules that were grounded with weight 1."""

    unit: Potentials
    n_rules: int
    threads: int | None = None  #: threads of inference, all cores by default

    def potentials(self, weights: Floats) -> Potentials:
        """The program with one weight per rule; weights of hard rules have no effect."""
        return replace(self.unit, weight=self.unit.weight * weights[self.unit.rule])

    def map_state(
        self, weights: Floats, start: Floats, further: Potentials | None = None
    ) -> MapState:
        """A MAP state with these weights, and with `further` potentials of fixed weights."""
        potentials = self.potentials(weights)
        if further is not None:
            potentials = Potentials.joined(potentials.n_variables, [potentials, further])
        return solve(potentials, Solver.AUTO, start, replace(INNER, threads=self.threads))

    def dissatisfaction(self, state: Floats) -> Floats:
        """Sum of every rule's potentials at a state, at weight 1: the energy's slope."""
        total = np.bincount(self.unit.rule, self.unit.values(state), self.n_rules)
        return total.astype(np.float64)

    def given(self, state: Floats, known: Bools) -> ReweightedRules:
        """The program of the other variables where `known` variables keep their `state`."""
        unit = self.unit.given(state, known)
        # the truth may violate constraints among known variables alone
        return replace(self, unit=unit.select((unit.sizes > 0) | ~unit.is_constraint))


def pulls_from(truth: Floats, size: Floats) -> Potentials:
    """Potentials that pull every variable away from its truth, by `size` per unit of distance.

    For a truth t the potential is size (1 - 2t) (t - y) plus a constant: linear also between 0 and
    1, where a distance from the truth would not be convex when it is subtracted.
    """
    n, slope = len(truth), size * (2.0 * truth - 1.0)
    every = np.arange(n)
    sign = np.sign(slope)
    # |slope| max(0, y) for true, |slope| max(0, 1 - y) for false variables
    return Potentials.of(n, every, every, sign, np.where(sign < 0.0, 1.0, 0.0), np.abs(slope))
