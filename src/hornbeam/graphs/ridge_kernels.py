"""Loops of the ridge class: the Gram matrix of entities and the denominators of properties."""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from hornbeam.base.compiled import kernels

kernel = kernels("the ridge class")


@kernel
def add_shared(run_start, end, gram):
    """Add 1 to the element (x, y), x <= y, for every property that x and y share."""
    for p in range(len(run_start) - 1):
        start, stop = run_start[p], run_start[p + 1]
        for i in range(start, stop):
            row = gram[end[i]]
            for k in range(i, stop):
                row[end[k]] += 1


@kernel
def add_quadratic(run_start, end, inverse, first, last, out):
    """Set `out` to x^T A x of the properties `first` to `last`, x being their 0/1 columns."""
    for p in range(first, last):
        total = 0.0
        start, stop = run_start[p], run_start[p + 1]
        for i in range(start, stop):
            row = inverse[end[i]]
            for k in range(start, i):
                total += 2.0 * float(row[end[k]])  # doubles, compiled or not
            total += float(row[end[i]])
        out[p] = total
