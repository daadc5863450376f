"""Densities of targets from their strengths: what each side's potentials add up to.

A target y in [0, 1] has the density exp(-sum_s a_s S_s(y)) / Z, with one strength a_s per side s:

    side 0, "up"        S = (1 - y)^p                    ground clauses with the target as head
    side 1, "down"      S = y^p                          negated heads, and body atoms
    side 2, 3, ...      S = max(0, m y - (m-1))^p        the target occurs m >= 2 times

Most targets have the first two sides only, whose moments are closed forms of two numbers; moments
of others are those of hinges. BOOLEAN targets never need more than two: there all S but the first
are y.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.choices import Relaxation
from hornbeam.densities.hinges import Hinges, group_hinges, hinge_covariance, hinge_moments
from hornbeam.densities.integrals import score_mean, two_sided

UP, DOWN = 0, 1


class Moments(NamedTuple):
    """log Z of every target, and means (sides, n) and covariances (sides, sides, n) of its S.

    Means are minus the gradient of log Z in the strengths, covariances its Hessian.
    """

    log_z: Floats
    mean: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Densities:
    """Densities of targets as functions of their strengths.

    `times` holds the m of the sides from 2 on, `repeated` the targets that have any of them.
    """

    relaxation: Relaxation
    times: tuple[int, ...]
    repeated: Ints

    @property
    def power(self) -> int:
        """The p of the hinges."""
        return 2 if self.relaxation is Relaxation.SQUARED else 1

    @property
    def sides(self) -> int:
        """Number of sides."""
        return 2 + len(self.times)

    def statistics(self, y: Floats) -> Floats:
        """S of every target (sides, n) at its label."""
        forms = [1.0 - y, y, *(m * y - (m - 1) for m in self.times)]
        return np.asarray(np.maximum(np.stack(forms), 0.0) ** self.power)

    def moments(self, strengths: Floats) -> Moments:
        """Moments of every target at its strengths (sides, n)."""
        plain = two_sided(strengths[UP], strengths[DOWN], self.relaxation)
        sides, n = strengths.shape
        mean, covariance = np.zeros((sides, n)), np.zeros((sides, sides, n))
        mean[UP], mean[DOWN] = plain.e_up, plain.e_down
        covariance[UP, UP], covariance[DOWN, DOWN] = plain.var_up, plain.var_down
        covariance[UP, DOWN] = covariance[DOWN, UP] = plain.cov
        log_z = plain.log_z
        if len(self.repeated):
            weights = self._weights(strengths)
            exact = hinge_moments(self._hinges, weights, self.relaxation)
            log_z[self.repeated] = exact.log_z
            mean[:, self.repeated] = exact.expected.reshape(-1, sides).T
            spread = hinge_covariance(self._hinges, weights, self.relaxation)
            by_target = spread.values.reshape(-1, sides, sides)
            covariance[:, :, self.repeated] = by_target.transpose(1, 2, 0)
        return Moments(log_z, mean, covariance)

    def score(self, strengths: Floats) -> Floats:
        """E[y] of every target."""
        mean = score_mean(strengths[UP], strengths[DOWN], self.relaxation)
        if len(self.repeated):
            weights = self._weights(strengths)
            mean[self.repeated] = hinge_moments(self._hinges, weights, self.relaxation).mean
        return mean

    def _weights(self, strengths: Floats) -> Floats:
        """Strengths of the repeated targets as weights of their hinges."""
        return strengths[:, self.repeated].T.ravel()

    @cached_property
    def _hinges(self) -> Hinges:
        """One hinge per side of every repeated target, each with a weight of its own."""
        n = len(self.repeated)
        height = np.array([1.0, 1.0, *(1.0 / m for m in self.times)])
        count = np.array([1.0, 1.0, *(float(m**self.power) for m in self.times)])
        down = np.arange(self.sides) >= DOWN
        return group_hinges(
            np.repeat(np.arange(n), self.sides),
            np.arange(n * self.sides),
            np.tile(height, n),
            np.tile(down, n),
            np.tile(count, n),
            n,
        )
