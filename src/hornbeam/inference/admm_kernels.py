"""The jitted loops of consensus ADMM; `hornbeam.inference.admm` derives them.

Rows and variables are walked in blocks of fixed size. Every block writes its own sums, which are
added up in the order of the blocks, so the result does not depend on who walked which block.
Indices are unsigned: Numba then leaves out its test for negative ones, which took a third of the
time.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]

jit = njit(cache=True, nogil=True, error_model="numpy")

#: Rows, and variables, in a block.
BLOCK = 1 << 13
#: Step of the multiplier of a row without literals, in place of 1 / |a|^2.
FAR = 1e6

# `Kind` as plain numbers, which kernels can compare with
LINEAR, SQUARED, AT_MOST, EQUAL = 0, 1, 2, 3


class Rows(NamedTuple):
    """The literals by row, and what the local step of a row needs."""

    indptr: Indices
    variable: Indices
    coefficient: Floats
    constant: Floats
    kind: npt.NDArray[np.uint8]
    norm: Floats  #: |a|^2
    strength: Floats  #: largest t of a linear hinge; t / l of a squared one


class Columns(NamedTuple):
    """The literals by variable."""

    indptr: Indices
    row: Indices
    coefficient: Floats


class Point(NamedTuple):
    """Where ADMM stands; the kernels move it."""

    s: Floats  #: a row's part of the duals
    z: Floats  #: the consensus
    q: Floats  #: z - p, p being a variable's part of the duals
    pull: Floats  #: sum of a s over a variable's literals


class Sums(NamedTuple):
    """What every block adds up for the residuals."""

    row: Floats  #: |a|^2 (s - t)^2 and |a|^2 s^2
    variable: Floats  #: the rest of |x - z|^2, |x|^2, |z|^2, |z - z_old|^2 and |u|^2


class Residuals(NamedTuple):
    """How far from agreement and from rest, and how far is near enough."""

    primal: float
    dual: float
    primal_limit: float
    dual_limit: float


@jit
def by_variable(indptr, variable, coefficient, n_variables):
    """Sort the literals by variable, keeping the order of rows: a counting sort."""
    offsets = np.zeros(n_variables + 1, dtype=np.uint32)
    for e in range(len(variable)):
        offsets[variable[e] + 1] += 1
    for i in range(n_variables):
        offsets[i + 1] += offsets[i]
    place = offsets[:-1].copy()
    row = np.empty(len(variable), dtype=np.uint32)
    sorted_coefficient = np.empty(len(variable))
    for k in range(len(indptr) - 1):
        for e in range(indptr[k], indptr[k + 1]):
            at = place[variable[e]]
            row[at] = k
            sorted_coefficient[at] = coefficient[e]
            place[variable[e]] = at + 1
    return Columns(offsets, row, sorted_coefficient)


@jit
def squared_norms(indptr, coefficient):
    """Sum of the squared coefficients of every row."""
    norms = np.empty(len(indptr) - 1)
    for k in range(len(norms)):
        total = 0.0
        for e in range(indptr[k], indptr[k + 1]):
            total += coefficient[e] * coefficient[e]
        norms[k] = total
    return norms


@jit
def strengths(kind, weight, norm, step):
    """Largest t of every linear hinge, t / l of every squared one, no limit for constraints."""
    result = np.empty(len(kind))
    for k in range(len(kind)):
        if kind[k] == LINEAR:
            result[k] = weight[k] / step
        elif kind[k] == SQUARED:
            result[k] = 2.0 * weight[k] / (step + 2.0 * weight[k] * norm[k])
        else:
            result[k] = math.inf
    return result


@jit
def local_steps(rows, point, relaxation, first, last, sums):
    """Solve the rows of blocks `first` to `last`: moves s."""
    indptr, variable, coefficient, q = rows.indptr, rows.variable, rows.coefficient, point.q
    for block in range(first, last):
        moved, total = 0.0, 0.0
        for k in range(block * BLOCK, min((block + 1) * BLOCK, len(rows.constant))):
            norm, old = rows.norm[k], point.s[k]
            form = rows.constant[k] + norm * old
            for e in range(indptr[k], indptr[k + 1]):
                form += coefficient[e] * q[variable[e]]
            if rows.kind[k] == SQUARED:
                t = max(form, 0.0) * rows.strength[k]
            else:
                # without literals the limit of ever smaller ones: as far as the multiplier may go
                t = form / norm if norm > 0.0 else old + FAR * form
                if rows.kind[k] != EQUAL:
                    t = min(max(t, 0.0), rows.strength[k])
            new = old + relaxation * (t - old)
            point.s[k] = new
            moved += norm * (old - t) * (old - t)
            total += norm * new * new
        sums[block, 0] = moved
        sums[block, 1] = total


@jit
def consensus(columns, point, relaxation, first, last, sums):
    """Average the copies of the variables of blocks `first` to `last`, and clip to [0, 1]."""
    s, z, q = point.s, point.z, point.q
    for block in range(first, last):
        gap, copies, agreed, moved, dual = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, len(z))):
            low, high = columns.indptr[i], columns.indptr[i + 1]
            if low == high:
                continue
            degree = np.float64(high - low)
            pull = 0.0
            for e in range(low, high):
                pull += columns.coefficient[e] * s[columns.row[e]]
            # sum of a (s - t) over the literals, with s as it was before the local steps
            back = (point.pull[i] - pull) / relaxation
            p = (1.0 - relaxation) * (z[i] - q[i])
            new = min(max(z[i] + p - pull / degree, 0.0), 1.0)
            p += z[i] - new
            apart, step = q[i] - new, new - z[i]
            gap += degree * apart * apart + 2.0 * apart * back
            copies += degree * q[i] * q[i] + 2.0 * q[i] * back
            agreed += degree * new * new
            moved += degree * step * step
            dual += degree * p * p - 2.0 * p * pull
            z[i], q[i], point.pull[i] = new, new - p, pull
        sums[block, 0] = gap
        sums[block, 1] = copies
        sums[block, 2] = agreed
        sums[block, 3] = moved
        sums[block, 4] = dual


@jit
def residuals(sums, literals, step, absolute, relative):
    """Add up the blocks' sums: residuals and their limits."""
    row, variable = np.zeros(2), np.zeros(5)
    for block in range(len(sums.row)):
        row += sums.row[block]
    for block in range(len(sums.variable)):
        variable += sums.variable[block]
    primal = math.sqrt(max(variable[0] + row[0], 0.0))
    copies = math.sqrt(max(variable[1] + row[0], 0.0))
    duals = step * math.sqrt(max(variable[4] + row[1], 0.0))
    least = math.sqrt(literals) * absolute
    return Residuals(
        primal,
        step * math.sqrt(variable[3]),
        least + relative * max(copies, math.sqrt(variable[2])),
        least + relative * duals,
    )


@jit
def within_limits(found):
    """Whether the stopping rule is met."""
    return found.primal <= found.primal_limit and found.dual <= found.dual_limit


@jit
def iterate(rows, columns, point, relaxation, sums, step, absolute, relative, least, most):
    """Iterate until the residuals are within their limits, `least` to `most` times."""
    found = Residuals(math.inf, math.inf, 0.0, 0.0)
    for iteration in range(most):
        local_steps(rows, point, relaxation, 0, len(sums.row), sums.row)
        consensus(columns, point, relaxation, 0, len(sums.variable), sums.variable)
        found = residuals(sums, len(rows.variable), step, absolute, relative)
        if iteration + 1 >= least and within_limits(found):
            return iteration + 1, found
    return most, found
