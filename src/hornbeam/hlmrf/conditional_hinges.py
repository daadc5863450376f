"""Ground rules as hinges in one atom, given the truth of all other atoms.

With l the linear form of a row, a the atom's coefficient there (m times +1 or -1 where it occurs m
times) and b the rest at the truth of the others, max(0, a y + b)^p is

    m^p max(0, b/m - y)^p            for a = -m: it pulls y up,
    m^p max(0, (1 + b/m) + y - 1)^p  for a = +m: it pushes y down,

and `hornbeam.densities.hinges` integrates sums of such hinges in closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids
from hornbeam.densities.hinges import Hinges, group_hinges
from hornbeam.hlmrf.potentials import Potentials

#: All hinges of a variable together: their strengths carry the weights.
ONE_RULE = np.ones(1)


class ConditionalHinges(NamedTuple):
    """Hinges of the variables, one per literal of the potentials."""

    variable: Ids
    height: Floats
    down: Bools
    strength: Floats

    def strengths(self, n: int) -> tuple[Floats, Floats]:
        """A and B of each variable in {0, 1}: what it costs to be 0, and to be 1."""
        cost = self.strength * self.height
        up = np.bincount(self.variable, np.where(self.down, 0.0, cost), n)
        down = np.bincount(self.variable, np.where(self.down, cost, 0.0), n)
        return up.astype(np.float64), down.astype(np.float64)

    def grouped(self, n: int) -> Hinges:
        """Hinges for the closed forms: full ones added up, empty ones left out."""
        full = self.height == 1.0
        part = full | (self.height == 0.0)
        up = np.bincount(self.variable, np.where(full & ~self.down, self.strength, 0.0), n)
        down = np.bincount(self.variable, np.where(full & self.down, self.strength, 0.0), n)
        every = np.arange(n)
        return group_hinges(
            np.concatenate([every, every, self.variable[~part]]),
            0,
            np.concatenate([np.ones(2 * n), self.height[~part]]),
            np.concatenate([np.zeros(n, np.bool_), np.ones(n, np.bool_), self.down[~part]]),
            np.concatenate([up, down, self.strength[~part]]),
            n,
        )


def conditional_hinges(
    potentials: Potentials, state: Floats, squared: Bools | bool
) -> ConditionalHinges:
    """What each row is to each of its variables, given the others' values in a state.

    `squared` tells whether p = 2, of all rows or of each. A hinge without effect has height 0.
    """
    row, size = potentials.row, np.abs(potentials.coefficient)
    down = potentials.coefficient > 0.0
    rest = potentials.forms(state)[row] - potentials.coefficient * state[potentials.variable]
    height = np.clip(np.where(down, 1.0 + rest / size, rest / size), 0.0, 1.0)
    power = np.broadcast_to(np.where(squared, 2.0, 1.0), len(potentials))[row]
    strength = potentials.weight[row] * size**power
    return ConditionalHinges(potentials.variable, height, down, strength)
