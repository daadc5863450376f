"""The functions of `hornbeam.learning.descent_kernels` by NumPy, for small problems.

Sums are added up entry by entry in the order of the loops (`bincount` and `accumulate` do, `sum`
does not), so that results are equal to the last bit. Rows of one column are distinct.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Ints


class ClauseEntries(NamedTuple):
    """The entries of one clause, and the slopes that a step of its weight moves.

    `at` are the positions of entries in the flattened strengths and slopes (sides, n), `curve_at`
    those in the curves (sides, sides, n) of their own side. The slopes `moved` move by the
    curves at `bend_at` times `moved_x` times the step; they are distinct where the clause has
    entries `on_one_side` only.
    """

    at: Ints
    x: Floats
    curve_at: Ints
    moved: Ints
    bend_at: Ints
    moved_x: Floats
    on_one_side: bool

    def slope(self, slopes: Floats) -> float:
        """Derivative of the loss by the weight."""
        if not len(self.x):
            return 0.0
        return float(np.add.accumulate(self.x * slopes[self.at])[-1]) + 0.0

    def spread_out(self, bend: Floats, step: float, spread: Floats) -> None:
        """Add to `spread` how far a step of the weight moves every slope."""
        by = bend * (self.moved_x * step)
        if self.on_one_side:
            spread[self.moved] += by
        else:
            np.add.at(spread, self.moved, by)

    def curvature(self, bend: Floats, curves: Floats, spread: Floats) -> float:
        """Second derivative of the loss by the weight; `spread` is 0 before and after."""
        if not len(self.x):
            return 0.0
        if self.on_one_side:
            return float(np.add.accumulate(self.x * self.x * curves[self.curve_at])[-1]) + 0.0
        self.spread_out(bend, 1.0, spread)
        total = self.slope(spread)
        spread[self.moved] = 0.0
        return total


@dataclass(frozen=True, eq=False)
class ClauseLayout:
    """Columns of entries, and the column of each clause per side; see `CountProblem`."""

    indptr: Ints
    row: Ids
    x: Floats
    columns: Ints
    n_targets: int

    @property
    def arrays(self) -> tuple[Ints, Ids, Floats, Ints]:
        """The arguments of the loops."""
        return self.indptr, self.row, self.x, self.columns

    @cached_property
    def negated(self) -> Bools:
        """Which clauses are followed by their negation: the same column alone, on side 1 not 0."""
        own, following = self.columns[:, :-1], self.columns[:, 1:]
        found = np.zeros(self.columns.shape[1], dtype=np.bool_)
        if len(self.columns) == 2:
            alone = (own[0] >= 0) & (own[1] < 0) & (following[0] < 0)
            found[:-1] = alone & (following[1] == own[0])
        return found

    def widest_first(self, clauses: Integers) -> Integers:
        """Order clauses by their number of entries."""
        used = self.columns[:, clauses]
        sizes = np.where(used >= 0, self.indptr[used + 1] - self.indptr[used], 0).sum(axis=0)
        return np.argsort(-sizes, kind="stable")

    @cached_property
    def entries(self) -> tuple[Ints, Ints, Floats]:
        """Clause, position in the strengths (sides, n) and x of all clauses' entries."""
        clauses = self.clauses
        sizes = [len(one.x) for one in clauses]
        at = np.concatenate([np.empty(0, dtype=np.int64), *(one.at for one in clauses)])
        x = np.concatenate([np.empty(0), *(one.x for one in clauses)])
        return np.repeat(np.arange(len(clauses)), sizes), at, x

    @cached_property
    def clauses(self) -> list[ClauseEntries]:
        """The entries clause by clause."""
        return [self._clause(k) for k in range(self.columns.shape[1])]

    def _clause(self, k: int) -> ClauseEntries:
        sides, n = len(self.columns), self.n_targets
        used = [(s, int(j)) for s, j in enumerate(self.columns[:, k].tolist()) if j >= 0]
        parts = [slice(self.indptr[j], self.indptr[j + 1]) for _, j in used]
        sizes = [part.stop - part.start for part in parts]
        side = np.repeat(np.array([s for s, _ in used], dtype=np.int64), sizes)
        row = np.concatenate([np.empty(0, dtype=np.int64), *(self.row[part] for part in parts)])
        x = np.concatenate([np.empty(0), *(self.x[part] for part in parts)])
        others = np.arange(sides)[:, None] * n
        return ClauseEntries(
            at=side * n + row,
            x=x,
            curve_at=side * (sides + 1) * n + row,
            moved=(row + others).ravel(),
            bend_at=(row + side * sides * n + others).ravel(),
            moved_x=np.tile(x, sides),
            on_one_side=len(used) <= 1,
        )


def gradients(layout: ClauseLayout, slopes: Floats) -> Floats:
    """Derivative of the loss by every weight."""
    clause, at, x = layout.entries
    return _sums(clause, x * slopes.ravel()[at], layout.columns.shape[1])


def strengths(layout: ClauseLayout, weights: Floats) -> Floats:
    """Strengths (sides, n) of every target."""
    clause, at, x = layout.entries
    shape = len(layout.columns), layout.n_targets
    return _sums(at, weights[clause] * x, shape[0] * shape[1]).reshape(shape)


def descend(
    layout: ClauseLayout, active: Integers, weights: Floats, linear: Floats, ridge: Floats,
    slopes: Floats, curves: Floats, sweeps: int, share: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Minimise the quadratic model over non-negative weights, one active weight at a time."""
    weights, slopes = weights.copy(), slopes.copy()
    flat, flat_curves, spread = slopes.ravel(), curves.ravel(), np.zeros(slopes.size)
    moving = []
    for k in active.tolist():
        one = layout.clauses[k]
        bend = flat_curves[one.bend_at]
        steepness = one.curvature(bend, flat_curves, spread) + float(ridge[k])
        if steepness > 0.0:
            moving.append((k, one, bend, steepness, float(linear[k]), float(ridge[k])))
    first = 0.0
    for sweep in range(sweeps):
        gain = 0.0
        for k, one, bend, steepness, push, pull in moving:
            weight = float(weights[k])
            descent = push + pull * weight
            descent += one.slope(flat)
            step = max(-weight, -descent / steepness)
            if step == 0.0:
                continue
            weights[k] = weight + step
            one.spread_out(bend, step, flat)
            gain += steepness * step * step
        if sweep == 0:
            first = gain
        if gain <= share * first:
            break
    return weights, slopes


def quadratic(
    layout: ClauseLayout, active: Integers, order: Integers, slopes: Floats, curves: Floats
) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the loss in the active weights, given those in the strengths."""
    m, flat_curves = len(active), curves.ravel()
    chosen = [layout.clauses[k] for k in active[order].tolist()]
    sizes = [len(one.x) for one in chosen]
    at = np.concatenate([np.empty(0, dtype=np.int64), *(one.at for one in chosen)])
    x = np.concatenate([np.empty(0), *(one.x for one in chosen)])
    clause, starts = np.repeat(np.arange(m), sizes), np.cumsum([0, *sizes]).tolist()
    gradient, hessian = np.empty(m), np.empty((m, m))
    gradient[order] = _sums(clause, x * slopes.ravel()[at], m)
    for p, one in enumerate(chosen):
        spread = np.zeros(slopes.size)
        one.spread_out(flat_curves[one.bend_at], 1.0, spread)
        rest = slice(starts[p], None)
        found = _sums(clause[rest] - p, x[rest] * spread[at[rest]], m - p)
        hessian[order[p], order[p:]] = hessian[order[p:], order[p]] = found
    return gradient, hessian


def _sums(ids: Ints, values: Floats, n: int) -> Floats:
    """Add up the values of each id, in their order."""
    return np.bincount(ids, values, n).astype(np.float64, copy=False)
