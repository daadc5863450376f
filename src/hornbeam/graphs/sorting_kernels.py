"""Sorting links by small integers, in linear time."""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from hornbeam.compiled import kernels

kernel = kernels("the sorting of links")


@kernel
def sort_by_key(key, order, start, out):
    """Put rows into the order of their keys; rows of one key stay in the given order.

    `start` has one zero per key and a further one.
    """
    for row in order:
        start[key[row] + 1] += 1
    for k in range(1, len(start)):
        start[k] += start[k - 1]
    for row in order:
        k = key[row]
        out[start[k]] = row
        start[k] += 1
