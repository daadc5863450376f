"""Coordinate descent on the quadratic model of the pseudolikelihood, used by all fits.

Clause k has one column of entries per side, `columns[side, k]` (-1 for none). Slopes (sides, n) and
curves (sides, sides, n) are the first and second derivatives of the loss in every target's
strengths. Large problems are solved by the compiled loops of `descent_kernels`, small problems by
NumPy. Both add up entries in the same order, so their results are equal to the last bit.
(`bincount` and `accumulate` keep the order of the loops, `sum` does not.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Ints, sums_by
from hornbeam.base.compiled import Kernel, numba_in_use
from hornbeam.learning import descent_kernels as loops

#: Maximum number of sweeps over one quadratic model. They end earlier after a sweep that gains less
#: than this share of the first sweep's gain.
SWEEPS = 100
MIN_GAIN_SHARE = 1e-4

#: Number of entries, over all calls, above which compiling pays. A problem with more than `LARGE`
#: entries is certain to get there. A call of NumPy takes as long as `CALL` entries.
WORTH_COMPILING = 200_000_000
LARGE = 100_000
CALL = 200
#: Number of entries of Hessians above which compiling pays, and the same if Numba is in use.
WORTH_COMPILING_MODELS, WORTH_READING_MODELS = 500_000, 10_000


class ClauseEntries(NamedTuple):
    """The entries of a clause: positions `at` in the flat strengths and slopes (sides, n), and x.

    `sides` has one item per side with entries: the side's number, the positions (sides, entries)
    of the slopes that its entries move, and their x. Rows of one side are distinct.
    """

    at: Ints
    x: Floats
    sides: list[tuple[int, Ints, Floats]]

    def slope(self, slopes: Floats) -> float:
        """Derivative of the loss by the weight."""
        return _sum_in_order(self.x * slopes[self.at])

    def bends(self, curves: Floats) -> list[Floats]:
        """For every side, the curves by which a step of the weight moves the slopes."""
        return [curves[side].ravel()[moved] for side, moved, _ in self.sides]

    def spread_out(self, bends: Sequence[Floats], step: float, spread: Floats) -> None:
        """Add to `spread` how far a step of the weight moves every slope."""
        for (_, moved, x), bend in zip(self.sides, bends, strict=True):
            spread[moved] += bend * (x * step)

    def curvature(self, bends: Sequence[Floats], spread: Floats) -> float:
        """Second derivative of the loss by the weight; `spread` is 0 before and after."""
        if len(self.sides) == 1:
            return _sum_in_order(self.x * self.x * bends[0][self.sides[0][0]])
        self.spread_out(bends, 1.0, spread)
        total = self.slope(spread)
        for _, moved, _ in self.sides:
            spread[moved] = 0.0
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
        """The first arguments of the compiled loops."""
        return self.indptr, self.row, self.x, self.columns

    def loops_pay(self, loop: Kernel, calls: int) -> bool:
        """Whether compiling pays, given the number of entries and of NumPy calls it would save."""
        entries, clauses = len(self.x), self.columns.shape[1]
        large = entries + 10 * CALL * clauses > LARGE
        return large or loop.pays(entries + CALL * calls, WORTH_COMPILING)

    @cached_property
    def negated(self) -> Bools:
        """Which clauses are followed by their negation: the same single column, on side 1 not 0."""
        own, following = self.columns[:, :-1], self.columns[:, 1:]
        found = np.zeros(self.columns.shape[1], dtype=np.bool_)
        if len(self.columns) == 2:
            alone = (own[0] >= 0) & (own[1] < 0) & (following[0] < 0)
            found[:-1] = alone & (following[1] == own[0])
        return found

    def widest_first(self, clauses: Integers) -> Integers:
        """The order of clauses by their number of entries, largest first."""
        used = self.columns[:, clauses]
        sizes = np.where(used >= 0, self.indptr[used + 1] - self.indptr[used], 0).sum(axis=0)
        return np.argsort(-sizes, kind="stable")

    @cached_property
    def clauses(self) -> list[ClauseEntries]:
        """The entries of every clause."""
        return [self._clause(k) for k in range(self.columns.shape[1])]

    def _clause(self, k: int) -> ClauseEntries:
        others = np.arange(len(self.columns))[:, None] * self.n_targets
        sides, at = [], [np.empty(0, dtype=np.int64)]
        for side in np.flatnonzero(self.columns[:, k] >= 0).tolist():
            j = self.columns[side, k]
            entries = slice(self.indptr[j], self.indptr[j + 1])
            moved = self.row[entries] + others
            sides.append((side, moved, self.x[entries]))
            at.append(moved[side])
        x = np.concatenate([np.empty(0), *(x for _, _, x in sides)])
        return ClauseEntries(np.concatenate(at), x, sides)

    @cached_property
    def entries(self) -> tuple[Ints, Ints, Floats]:
        """Clause, position in the flat strengths (sides, n) and x of the entries of all clauses."""
        return _joined(self.clauses)


def _joined(clauses: Sequence[ClauseEntries]) -> tuple[Ints, Ints, Floats]:
    """Number of the clause, position and x of all entries of the given clauses."""
    clause = np.repeat(np.arange(len(clauses)), [len(part.x) for part in clauses])
    at = np.concatenate([np.empty(0, dtype=np.int64), *(part.at for part in clauses)])
    return clause, at, np.concatenate([np.empty(0), *(part.x for part in clauses)])


def _sum_in_order(values: Floats) -> float:
    """Sum of values, added one after the other; never -0.0."""
    return float(np.add.accumulate(values)[-1]) + 0.0 if len(values) else 0.0


def gradients(layout: ClauseLayout, slopes: Floats) -> Floats:
    """Derivative of the loss by every weight."""
    result = np.empty(layout.columns.shape[1])
    if layout.loops_pay(loops.gradients, 5):
        loops.gradients.compiled(
            *layout.arrays, layout.negated, slopes.ravel(), layout.n_targets, result
        )
        return result
    clause, at, x = layout.entries
    return sums_by(clause, x * slopes.ravel()[at], len(result))


def strengths(layout: ClauseLayout, weights: Floats) -> Floats:
    """Strengths (sides, n) of every target."""
    total = np.zeros((len(layout.columns), layout.n_targets))
    if layout.loops_pay(loops.strengths, 5):
        loops.strengths.compiled(*layout.arrays, weights, total)
        return total
    clause, at, x = layout.entries
    return sums_by(at, weights[clause] * x, total.size).reshape(total.shape)


def descend(
    layout: ClauseLayout,
    active: Integers,
    weights: Floats,
    linear: Floats,
    ridge: Floats,
    slopes: Floats,
    curves: Floats,
    sweeps: int,
) -> tuple[Floats, Floats]:
    """Minimise the quadratic model over non-negative weights, one active weight at a time.

    The model of the loss at shifts d of the strengths is slopes . d + d' curves d / 2, plus
    linear . w + ridge |w|^2 / 2. `linear` has the L1 penalties. Slopes are kept up to date as the
    weights move. Stops when a sweep gains less than `MIN_GAIN_SHARE` of the first sweep's gain: the
    caller builds a new model there anyway. Returns the new weights and the slopes at them.
    """
    weights, slopes, spread = weights.copy(), slopes.copy(), np.zeros(slopes.size)
    if layout.loops_pay(loops.descend, 20 * len(active)):
        loops.descend.compiled(
            *layout.arrays, active, weights, linear, ridge, slopes.ravel(), curves.ravel(),
            layout.n_targets, sweeps, MIN_GAIN_SHARE, np.empty(len(active)), spread,
        )  # fmt: skip
        return weights, slopes
    moving = []
    for k in active.tolist():
        clause = layout.clauses[k]
        bends = clause.bends(curves)
        steepness = clause.curvature(bends, spread) + float(ridge[k])
        if steepness > 0.0:
            moving.append((k, clause, bends, steepness, float(linear[k]), float(ridge[k])))
    flat, first = slopes.ravel(), 0.0
    for sweep in range(sweeps):
        gain = 0.0
        for k, clause, bends, steepness, push, pull in moving:
            weight = float(weights[k])
            descent = push + pull * weight
            descent += clause.slope(flat)
            step = max(-weight, -descent / steepness)
            if step == 0.0:
                continue
            weights[k] = weight + step
            clause.spread_out(bends, step, flat)
            gain += steepness * step * step
        if sweep == 0:
            first = gain
        if gain <= MIN_GAIN_SHARE * first:
            break
    return weights, slopes


def quadratic(
    layout: ClauseLayout, active: Integers, slopes: Floats, curves: Floats
) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the loss in the active weights, from slopes and curves."""
    order = layout.widest_first(active)  # of two clauses, that with more entries is spread out
    m = len(active)
    gradient, hessian = np.empty(m), np.empty((m, m))
    if layout.loops_pay(loops.quadratic, 15 * m):
        loops.quadratic.compiled(
            *layout.arrays, active, order, slopes.ravel(), curves.ravel(), layout.n_targets,
            np.zeros(slopes.size), gradient, hessian,
        )  # fmt: skip
        return gradient, hessian
    chosen = [layout.clauses[k] for k in active[order].tolist()]
    number, at, x = _joined(chosen)
    starts = np.searchsorted(number, np.arange(m)).tolist()
    gradient[order] = sums_by(number, x * slopes.ravel()[at], m)
    for p, clause in enumerate(chosen):
        spread = np.zeros(slopes.size)
        clause.spread_out(clause.bends(curves), 1.0, spread)
        rest = slice(starts[p], None)
        row = sums_by(number[rest] - p, x[rest] * spread[at[rest]], m - p)
        hessian[order[p], order[p:]] = hessian[order[p:], order[p]] = row
    return gradient, hessian


def minimise_model(gradient: Floats, hessian: Floats, weights: Floats) -> Floats:
    """Minimise gradient . d + d' hessian d / 2 over weights + d >= 0.

    Coordinate descent soon finds which weights are positive, but is slow if their columns are
    nearly equal. If it has not converged, conjugate gradients solve for the positive weights. Their
    step ends where the first weight reaches 0. (A factorisation would need less work but more CPU
    time: BLAS keeps all cores busy waiting for it.)
    """
    m = len(weights)
    limit = WORTH_READING_MODELS if numba_in_use() else WORTH_COMPILING_MODELS
    compiled = loops.descend_model.pays(m * m, limit)
    found, slope, converged = _run(
        loops.descend_model, compiled, gradient, hessian, weights, SWEEPS, MIN_GAIN_SHARE
    )
    found = np.asarray(found)
    if converged:
        return found
    free = np.flatnonzero(found > 0.0)
    part, right = hessian[np.ix_(free, free)], -np.asarray(slope)[free]
    step = np.asarray(_run(loops.conjugate_gradients, compiled, part, right, SWEEPS))
    held = found[free]
    # divide only for weights that would fall below 0, so that no divisor is tiny
    below = -step > held
    reach = np.min(held[below] / -step[below], initial=1.0)
    found[free] = np.maximum(held + reach * step, 0.0)
    return found


def _run(loop: Kernel, compiled: bool, *arguments: Any) -> Any:  # noqa: ANN401
    """Run a loop on small arrays; interpreted, it gets lists, which are twenty times as fast."""
    if compiled:
        return loop.compiled(*arguments)
    lists = (
        argument.tolist() if isinstance(argument, np.ndarray) else argument
        for argument in arguments
    )
    return loop.interpreted(*lists)
