"""The loops behind `hornbeam.learning.descent`.

Slopes and curves are flat arrays, `n` numbers per side: slices in inner loops are not free. All
arrays come from `descent`: every array that a kernel makes adds a fifth of a second to compiling.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from hornbeam.base.compiled import kernels

kernel = kernels("the learners")


def slope_of(indptr, row, x, columns, k, slopes, n):
    """Derivative of the loss by one weight."""
    total = 0.0
    for side in range(len(columns)):
        column = columns[side, k]
        if column >= 0:
            at = side * n
            for e in range(indptr[column], indptr[column + 1]):
                total += x[e] * slopes[at + row[e]]
    return total


@kernel
def gradients(indptr, row, x, columns, negated, slopes, n, result):
    """Write the derivative of the loss by every weight to `result`; see `ClauseLayout.negated`."""
    k = 0
    while k < columns.shape[1]:
        if negated[k]:  # one pass for the clause and its negation: columns are larger than caches
            column, up, down = columns[0, k], 0.0, 0.0
            for e in range(indptr[column], indptr[column + 1]):
                up += x[e] * slopes[row[e]]
                down += x[e] * slopes[n + row[e]]
            result[k], result[k + 1] = up, down
            k += 2
        else:
            result[k] = slope_of(indptr, row, x, columns, k, slopes, n)
            k += 1


@kernel
def strengths(indptr, row, x, columns, weights, total):
    """Add the strengths (sides, n) of every target to `total`."""
    for k in range(columns.shape[1]):
        if weights[k] != 0.0:
            for side in range(len(columns)):
                column = columns[side, k]
                if column >= 0:
                    for e in range(indptr[column], indptr[column + 1]):
                        total[side, row[e]] += weights[k] * x[e]


def spread_out(indptr, row, x, columns, k, curves, step, spread, n):
    """Add to `spread` how far a step of one weight moves every slope."""
    sides = len(columns)
    for side in range(sides):
        column = columns[side, k]
        if column >= 0:
            for other in range(sides):
                at, curve_at = other * n, (side * sides + other) * n
                for e in range(indptr[column], indptr[column + 1]):
                    spread[at + row[e]] += curves[curve_at + row[e]] * (x[e] * step)


def clear(indptr, row, columns, k, spread, n):
    """Set `spread` back to 0 at the rows of one clause."""
    for side in range(len(columns)):
        column = columns[side, k]
        if column >= 0:
            for at in range(0, len(spread), n):
                for e in range(indptr[column], indptr[column + 1]):
                    spread[at + row[e]] = 0.0


def curvature_of(indptr, row, x, columns, k, curves, spread, n):
    """Second derivative of the loss by one weight; `spread` is 0 before and after."""
    used = 0
    total = 0.0
    for side in range(len(columns)):
        column = columns[side, k]
        if column >= 0:
            used += 1
            at = side * (len(columns) + 1) * n
            for e in range(indptr[column], indptr[column + 1]):
                total += x[e] * x[e] * curves[at + row[e]]
    if used > 1:  # a target may have entries on several sides, which covary
        spread_out(indptr, row, x, columns, k, curves, 1.0, spread, n)
        total = slope_of(indptr, row, x, columns, k, spread, n)
        clear(indptr, row, columns, k, spread, n)
    return total


@kernel
def descend(
    indptr, row, x, columns, active, weights, linear, ridge, slopes, curves, n, sweeps, share,
    curvature, spread,
):  # fmt: skip
    """Minimise the quadratic model over non-negative weights, one active weight at a time.

    Weights and slopes are updated in place. `spread` has one 0 per slope, before and after.
    """
    for i in range(len(active)):
        curvature[i] = curvature_of(indptr, row, x, columns, active[i], curves, spread, n)
    first = 0.0
    for sweep in range(sweeps):
        gain = 0.0
        for i in range(len(active)):
            k = active[i]
            steepness = curvature[i] + ridge[k]
            if steepness <= 0.0:
                continue
            descent = linear[k] + ridge[k] * weights[k]
            descent += slope_of(indptr, row, x, columns, k, slopes, n)
            step = max(-weights[k], -descent / steepness)
            if step == 0.0:
                continue
            weights[k] += step
            spread_out(indptr, row, x, columns, k, curves, step, slopes, n)
            gain += steepness * step * step
        if sweep == 0:
            first = gain
        if gain <= share * first:
            break


@kernel
def quadratic(
    indptr, row, x, columns, active, order, slopes, curves, n, spread, gradient, hessian,
):  # fmt: skip
    """Gradient and Hessian of the loss in the active weights, from slopes and curves.

    Of every two clauses, the first in `order` is spread out over the targets, and the entries of
    the other are walked. `spread` has one 0 per slope, before and after.
    """
    m = len(active)
    for p in range(m):
        k = active[order[p]]
        gradient[order[p]] = slope_of(indptr, row, x, columns, k, slopes, n)
        spread_out(indptr, row, x, columns, k, curves, 1.0, spread, n)
        for q in range(p, m):
            total = slope_of(indptr, row, x, columns, active[order[q]], spread, n)
            hessian[order[p], order[q]] = total
            hessian[order[q], order[p]] = total
        clear(indptr, row, columns, k, spread, n)


@kernel
def descend_model(gradient, hessian, weights, sweeps, share):
    """Minimise gradient . d + d' hessian d / 2 over weights + d >= 0; stops as `descend` does.

    Returns the weights, the gradient at them, and whether the sweeps converged.
    """
    weights, gradient = weights.copy(), gradient.copy()
    first = 0.0
    for sweep in range(sweeps):
        gain = 0.0
        for k in range(len(weights)):
            row = hessian[k]
            steepness = row[k]
            if steepness <= 0.0:
                continue
            step = max(-weights[k], -gradient[k] / steepness)
            if step == 0.0:
                continue
            weights[k] += step
            for j in range(len(weights)):
                gradient[j] += row[j] * step
            gain += steepness * step * step
        if sweep == 0:
            first = gain
        if gain <= share * first:
            return weights, gradient, True
    return weights, gradient, False


@kernel
def conjugate_gradients(matrix, right, iterations):
    """Solve a positive semidefinite system approximately.

    Stops at a direction without curvature, up to rounding: equal columns have a direction without
    curvature, along which their weights would diverge together.
    """
    m = len(right)
    found, residual, direction, image = right.copy(), right.copy(), right.copy(), right.copy()
    size, flat = 0.0, 0.0
    for i in range(m):
        found[i] = 0.0
        size += right[i] * right[i]
        flat += 1e-10 * matrix[i][i]
    enough = 1e-24 * size
    for _ in range(iterations):
        for i in range(m):
            image[i] = 0.0
        for j in range(m):  # by rows, the matrix being symmetric: the sums are independent
            row, by = matrix[j], direction[j]
            for i in range(m):
                image[i] += row[i] * by
        bend, span = 0.0, 0.0
        for i in range(m):
            bend += direction[i] * image[i]
            span += direction[i] * direction[i]
        if size <= enough or bend <= flat * span:
            break
        along, before, size = size / bend, size, 0.0
        for i in range(m):
            found[i] += along * direction[i]
            residual[i] -= along * image[i]
            size += residual[i] * residual[i]
        again = size / before
        for i in range(m):
            direction[i] = residual[i] + again * direction[i]
    return found
