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
#: Size below which a dual counts as 0.
FAINT = 1e-100

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
    """Where ADMM stands, w = e - s a, and the anchor; the kernels move them."""

    s: Floats  #: a row's part of w
    e: Floats  #: a variable's part of w
    pull: Floats  #: sum of s a over a variable's literals
    z: Floats  #: the consensus at w
    q: Floats  #: 2 z - e, what the local steps read
    state: Floats  #: the consensus after a plain step from w: what is answered
    anchor_s: Floats
    anchor_e: Floats
    anchor_pull: Floats


class Sums(NamedTuple):
    """What every block adds up for the residuals."""

    row: Floats  #: |a|^2 (s - t)^2 and |a|^2 t^2
    variable: Floats  #: the rest of |x - z|^2, |x|^2, |z|^2, |z - z_old|^2, |u|^2 and |T(w) - w|^2


class Residuals(NamedTuple):
    """How far from agreement and from rest, and how far is near enough."""

    primal: float
    dual: float
    primal_limit: float
    dual_limit: float
    movement: float  #: |T(w) - w|


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
def local_steps(rows, point, mixture, first, last, sums):
    """Solve the rows of blocks `first` to `last`: moves s."""
    indptr, variable, coefficient, q = rows.indptr, rows.variable, rows.coefficient, point.q
    go, stay, home = mixture
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
                # without literals nothing moves but the multiplier, as far as it may go
                t = form / norm if norm > 0.0 else old + form
                if rows.kind[k] != EQUAL:
                    t = min(max(t, 0.0), rows.strength[k])
            new = go * t + stay * old
            if home != 0.0:
                new += home * point.anchor_s[k]
            # what fades away stops at 0: numbers below the normal ones are ten times slower
            point.s[k] = new if abs(new) > FAINT else 0.0
            moved += norm * (old - t) * (old - t)
            total += norm * t * t
        sums[block, 0] = moved
        sums[block, 1] = total


@jit
def consensus(columns, point, mixture, first, last, sums):
    """Move e of the variables of blocks `first` to `last`, and find the consensus there."""
    s, e, z, q = point.s, point.e, point.z, point.q
    go, stay, home = mixture
    for block in range(first, last):
        gap, copies, agreed, moved, dual, movement = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, len(z))):
            low, high = columns.indptr[i], columns.indptr[i + 1]
            if low == high:
                continue
            degree = np.float64(high - low)
            pull = 0.0
            for literal in range(low, high):
                pull += columns.coefficient[literal] * s[columns.row[literal]]
            # sum of t a: what the pull would be after a plain step
            plain = (pull - stay * point.pull[i] - home * point.anchor_pull[i]) / go
            back = point.pull[i] - plain
            new = min(max(z[i] - plain / degree, 0.0), 1.0)
            apart, step, change = q[i] - new, new - z[i], z[i] - e[i]
            gap += degree * apart * apart + 2.0 * apart * back
            copies += degree * q[i] * q[i] + 2.0 * q[i] * back
            agreed += degree * new * new
            moved += degree * step * step
            dual += degree * step * step + 2.0 * step * plain
            movement += degree * change * change + 2.0 * change * back
            e[i] = go * z[i] + stay * e[i] + home * point.anchor_e[i]
            z[i] = min(max(e[i] - pull / degree, 0.0), 1.0)
            q[i] = 2.0 * z[i] - e[i]
            point.pull[i], point.state[i] = pull, new
        sums[block, 0] = gap
        sums[block, 1] = copies
        sums[block, 2] = agreed
        sums[block, 3] = moved
        sums[block, 4] = dual
        sums[block, 5] = movement


@jit
def residuals(sums, literals, step, absolute, relative):
    """Add up the blocks' sums: residuals and their limits."""
    row, variable = np.zeros(2), np.zeros(6)
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
        math.sqrt(max(variable[5] + row[0], 0.0)),
    )


@jit
def within_limits(found):
    """Whether the stopping rule is met."""
    return found.primal <= found.primal_limit and found.dual <= found.dual_limit


# --- anchors -------------------------------------------------------------------------------

# what `control` holds: over-relaxation (0: anchored), iterations since the anchor was set (-1: set
# it after the next), the movement then and last, iterations in all, the anchor's share in s
RELAXATION, AGE, FIRST, LATEST, TOTAL, HOME = 0, 1, 2, 3, 4, 5


@jit
def mixture(control):
    """Shares of the plain step, of where it started and of the anchor in the next iterate."""
    if control[RELAXATION] > 0.0:
        return control[RELAXATION], 1.0 - control[RELAXATION], 0.0
    if control[AGE] < 0.0:
        return 1.0, 0.0, 0.0
    home = 1.0 / (control[AGE] + 2.0)
    return 2.0 * (1.0 - home), home - 1.0, home


@jit
def steer(control, point, mixed, movement):
    """After an iteration, see to the anchor.

    It moves once the movement has shrunk much, or has shrunk and grows again, or after a share
    of all iterations: the rules, and the numbers, of restarted first-order methods for LPs.
    """
    control[TOTAL] += 1.0
    control[HOME] = mixed[2]
    if control[RELAXATION] > 0.0:
        return
    age = control[AGE]
    if age < 0.0:
        point.anchor_s[:] = point.s
        point.anchor_e[:] = point.e
        point.anchor_pull[:] = point.pull
        control[AGE] = 0.0
        return
    if age == 0.0:
        control[FIRST] = movement
    shrunk = movement / control[FIRST] if control[FIRST] > 0.0 else 0.0
    grows = movement > control[LATEST]
    old = shrunk <= 0.2 or (shrunk <= 0.8 and grows) or age >= 0.36 * control[TOTAL]
    control[LATEST] = movement
    control[AGE] = -1.0 if age > 0.0 and old else age + 1.0


@jit
def iterate(rows, columns, point, control, sums, step, absolute, relative, least, most):
    """Iterate until the residuals are within their limits, `least` to `most` times."""
    found = Residuals(math.inf, math.inf, 0.0, 0.0, math.inf)
    for iteration in range(most):
        mixed = mixture(control)
        local_steps(rows, point, mixed, 0, len(sums.row), sums.row)
        consensus(columns, point, mixed, 0, len(sums.variable), sums.variable)
        found = residuals(sums, len(rows.variable), step, absolute, relative)
        steer(control, point, mixed, found.movement)
        if iteration + 1 >= least and within_limits(found):
            return iteration + 1, found
    return most, found
