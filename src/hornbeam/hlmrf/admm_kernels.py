"""The loops of consensus ADMM; `hornbeam.hlmrf.admm` derives them.

Rows and variables are processed in blocks of fixed size; every block writes its own sums. Indices
are unsigned: Numba then omits its check for negative indices, which took a third of the time.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Unsigned
from hornbeam.base.compiled import kernels
from hornbeam.hlmrf.potentials import PotentialKind

kernel = kernels("the solver")

#: Number of rows, or of variables, per block.
BLOCK = 1 << 13

#: Kinds of rows as plain numbers, which kernels can compare with.
SQUARED, EQUAL = int(PotentialKind.SQUARED), int(PotentialKind.EQUAL)
#: Size below which a dual counts as 0: subnormal numbers are ten times slower.
SMALLEST_DUAL = 1e-100


class AdmmColumns(NamedTuple):
    """The literals by variable."""

    indptr: Unsigned
    row: Unsigned
    coefficient: Floats


@kernel
def by_variable(indptr, variable, coefficient, n_variables):
    """Sort the literals by variable, keeping the order of rows, by a counting sort."""
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
    return AdmmColumns(offsets, row, sorted_coefficient)


@kernel
def local_steps(rows, point, mixture, first, last, sums):
    """Solve every row of the blocks from `first` to before `last` alone, and update s."""
    indptr, variable, coefficient, q = rows.indptr, rows.variable, rows.coefficient, point.q
    of_step, of_old, of_anchor = mixture
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
                # in a row without literals only the multiplier moves, up to its limit
                t = form / norm if norm > 0.0 else old + form
                if rows.kind[k] != EQUAL:
                    t = min(max(t, 0.0), rows.strength[k])
            new = of_step * t + of_old * old
            if of_anchor != 0.0:
                new += of_anchor * point.anchor_s[k]
            point.s[k] = new if abs(new) > SMALLEST_DUAL else 0.0
            moved += norm * (old - t) * (old - t)
            total += norm * t * t
        sums[block, 0] = moved
        sums[block, 1] = total


@kernel
def consensus(columns, point, mixture, first, last, sums):
    """Update e and the consensus z of the variables of the blocks from `first` to before `last`."""
    s, e, z, q = point.s, point.e, point.z, point.q
    of_step, of_old, of_anchor = mixture
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
            # sum of t a: the pull after a plain step
            plain = (pull - of_old * point.pull[i] - of_anchor * point.anchor_pull[i]) / of_step
            back = point.pull[i] - plain
            new = min(max(z[i] - plain / degree, 0.0), 1.0)
            apart, step, change = q[i] - new, new - z[i], z[i] - e[i]
            gap += degree * apart * apart + 2.0 * apart * back
            copies += degree * q[i] * q[i] + 2.0 * q[i] * back
            agreed += degree * new * new
            moved += degree * step * step
            dual += degree * step * step + 2.0 * step * plain
            movement += degree * change * change + 2.0 * change * back
            e[i] = of_step * z[i] + of_old * e[i] + of_anchor * point.anchor_e[i]
            z[i] = min(max(e[i] - pull / degree, 0.0), 1.0)
            q[i] = 2.0 * z[i] - e[i]
            point.pull[i], point.state[i] = pull, new
        sums[block, 0] = gap
        sums[block, 1] = copies
        sums[block, 2] = agreed
        sums[block, 3] = moved
        sums[block, 4] = dual
        sums[block, 5] = movement
