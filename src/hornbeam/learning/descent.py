"""Coordinate descent on the quadratic model of the pseudolikelihood, used by all fits.

Clause k has one column of entries per side, `columns[side, k]` (-1 for none). Slopes (sides, n) and
curves (sides, sides, n) are the derivatives of the loss in every target's strengths. Small problems
are solved by NumPy (`descent_arrays`), large ones by compiled loops (`descent_kernels`): the same
sums in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.base.arrays import Floats, Integers
from hornbeam.base.compiled import Kernel, numba_in_use
from hornbeam.learning import descent_arrays as arrays
from hornbeam.learning import descent_kernels as loops
from hornbeam.learning.descent_arrays import ClauseLayout

#: Maximum number of sweeps over one quadratic model, and the part of the first gain that ends them.
SWEEPS = 100
MIN_GAIN_SHARE = 1e-4

#: Entries to add up above which compiling pays, all calls together, and those of one problem that
#: are certain to get there. A call of NumPy takes as long as `CALL` entries.
WORTH_COMPILING = 200_000_000
LARGE = 100_000
CALL = 200
#: The same for entries of Hessians, which are walked one by one; where Numba is in use, fewer.
WORTH_COMPILING_MODELS, WORTH_READING_MODELS = 500_000, 10_000


def _pays(loop: Kernel, layout: ClauseLayout, calls: int) -> bool:
    """Whether compiling pays, by the entries and the calls of NumPy that arrays would take."""
    entries, clauses = len(layout.x), layout.columns.shape[1]
    large = entries + 10 * CALL * clauses > LARGE
    return large or loop.pays(entries + CALL * calls, WORTH_COMPILING)


def gradients(layout: ClauseLayout, slopes: Floats) -> Floats:
    """Derivative of the loss by every weight."""
    if _pays(loops.gradients, layout, 5):
        result = np.empty(layout.columns.shape[1])
        loops.gradients.compiled(
            *layout.arrays, layout.negated, slopes.ravel(), layout.n_targets, result
        )
        return result
    return arrays.gradients(layout, slopes)


def strengths(layout: ClauseLayout, weights: Floats) -> Floats:
    """Strengths (sides, n) of every target."""
    if _pays(loops.strengths, layout, 5):
        total = np.zeros((len(layout.columns), layout.n_targets))
        loops.strengths.compiled(*layout.arrays, weights, total)
        return total
    return arrays.strengths(layout, weights)


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
    linear . w + ridge |w|^2 / 2. `linear` carries the L1 strengths. Slopes are kept up to date as
    the weights move. Stops when a sweep gains less than `MIN_GAIN_SHARE` of the first one's gain:
    the model is rebuilt from there anyway. Returns the new weights and the slopes there.
    """
    if not _pays(loops.descend, layout, 20 * len(active)):
        return arrays.descend(
            layout, active, weights, linear, ridge, slopes, curves, sweeps, MIN_GAIN_SHARE
        )
    weights, slopes = weights.copy(), slopes.copy()
    loops.descend.compiled(
        *layout.arrays, active, weights, linear, ridge, slopes.ravel(), curves.ravel(),
        layout.n_targets, sweeps, MIN_GAIN_SHARE, np.empty(len(active)), np.zeros(slopes.size),
    )  # fmt: skip
    return weights, slopes


def quadratic(
    layout: ClauseLayout, active: Integers, slopes: Floats, curves: Floats
) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the loss in the active weights, given those in the strengths."""
    order = layout.widest_first(active)  # of two clauses the one with more entries is spread out
    if not _pays(loops.quadratic, layout, 15 * len(active)):
        return arrays.quadratic(layout, active, order, slopes, curves)
    gradient, hessian = np.empty(len(active)), np.empty((len(active), len(active)))
    loops.quadratic.compiled(
        *layout.arrays, active, order, slopes.ravel(), curves.ravel(), layout.n_targets,
        np.zeros(slopes.size), gradient, hessian,
    )  # fmt: skip
    return gradient, hessian


def minimise_model(gradient: Floats, hessian: Floats, weights: Floats) -> Floats:
    """Minimise gradient . d + d' hessian d / 2 over weights + d >= 0.

    Coordinate descent soon finds which weights are positive, and is slow where their columns are
    nearly equal. Where it has not converged, conjugate gradients solve for these weights, as far as
    all of them stay positive. (A factorisation would need less work, but more CPU time: BLAS keeps
    all cores busy waiting for it.)
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
    # only for weights that would fall below 0: tiny steps are not used as divisors
    below = -step > held
    reach = np.min(held[below] / -step[below], initial=1.0)
    found[free] = np.maximum(held + reach * step, 0.0)
    return found


def _run(loop: Kernel, compiled: bool, *arguments: Any) -> Any:  # noqa: ANN401
    """Run a loop over small arrays, as lists where it is interpreted (twenty times as fast)."""
    if compiled:
        return loop.compiled(*arguments)
    lists = (one.tolist() if isinstance(one, np.ndarray) else one for one in arguments)
    return loop.interpreted(*lists)
