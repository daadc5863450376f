"""Helpers that kernels share: look-ups in sorted arrays, runs of edges, arrays that grow.

A *run* is the range of a node's edges with one code; `Adjacency` sorts each node's edges by code
and neighbour. Loops are written by hand: `searchsorted`, slices and `argsort` take a second each to
compile.
"""

# ruff: noqa: ANN001, ANN201, SIM110
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np


def place_of(values, low, high, wanted):
    """First position in the sorted values[low:high] that is not below `wanted`."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def contains(values, wanted):
    """Whether the sorted array `values` contains `wanted`."""
    at = place_of(values, 0, len(values), wanted)
    return at < len(values) and values[at] == wanted


def run_of(offsets, code, node, step):
    """Range [first, last) of the edges of one step at a node."""
    high = offsets[node + 1]
    first = place_of(code, offsets[node], high, step)
    return first, place_of(code, first, high, step + 1)


def run_to(offsets, neighbour, code, node, step, end):
    """Range [first, last) of the edges of one step from a node to another: parallel edges."""
    low, high = run_of(offsets, code, node, step)
    first = place_of(neighbour, low, high, end)
    return first, place_of(neighbour, first, high, end + 1)


def edges_on(offsets, neighbour, code, node, step, is_last, end):
    """Range of the edges of a path's next step; if it is the last step, only the edges to `end`."""
    if is_last:
        return run_to(offsets, neighbour, code, node, step, end)
    return run_of(offsets, code, node, step)


def is_among(values, size, wanted):
    """Whether `wanted` is among the first `size` values, which need not be sorted."""
    for i in range(size):
        if values[i] == wanted:
            return True
    return False


def grown(array, size, more):
    """The array if it has room for `more` entries after its first `size`, else a longer copy."""
    if size + more <= len(array):
        return array
    longer = np.empty(2 * (size + more), dtype=array.dtype)
    for i in range(size):
        longer[i] = array[i]
    return longer
