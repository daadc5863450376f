"""Kernel that counts ground clauses in which one target occurs several times.

A ground clause is a closed walk: its body atoms from x0 to xs, and its head back to x0. Where the
target t(u, v) is some of the steps, their nodes are u and v, and the steps between are independent
walks between u and v: the count is a product of counts of short walks.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Ints
from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, run_of, run_to

kernel = kernels("the count of repeated targets")

#: Maximum number of steps of a closed walk: four body atoms and the head.
STEPS = 5


class Patterns(NamedTuple):
    """Closed walks with places for the target.

    Pattern p has the steps `code[p, :length[p]]`, of which those with `taken` are the target
    itself; the others are any edge but the target's, whose code is `own[p]`, or `own_false[p]`
    where it is a false one. The targets meant are `first[p]:last[p]`.
    """

    code: Ints
    taken: Bools
    length: Ints
    own: Ints
    own_false: Ints
    first: Ints
    last: Ints


def is_target(x, y, code, u, v, own, own_false):
    """Whether the step x -> y is the target's edge, true or false, walked either way."""
    forward = code & ~1
    if forward != own and forward != own_false:
        return False
    return (x == v and y == u) if code & 1 else (x == u and y == v)


def one_step(graph, a, code, b, u, v, own, own_false):
    """1 where a -> b is an edge and not the target, else 0."""
    if is_target(a, b, code, u, v, own, own_false):
        return np.int64(0)
    first, last = run_to(graph.offsets, graph.neighbour, graph.code, a, code, b)
    return np.int64(first < last)


def walks_between(graph, codes, a, b, u, v, own, own_false):
    """Count the walks of up to three codes from a to b that do not use the target."""
    if len(codes) == 1:
        return one_step(graph, a, codes[0], b, u, v, own, own_false)
    total = np.int64(0)
    first, last = run_of(graph.offsets, graph.code, a, codes[0])
    for edge in range(first, last):
        x = graph.neighbour[edge]
        if is_target(a, x, codes[0], u, v, own, own_false):
            continue
        if len(codes) == 2:
            total += one_step(graph, x, codes[1], b, u, v, own, own_false)
            continue
        begin, end = run_of(graph.offsets, graph.code, b, codes[2] ^ 1)
        for inner in range(begin, end):
            y = graph.neighbour[inner]
            if not is_target(y, b, codes[2], u, v, own, own_false):
                total += one_step(graph, x, codes[1], y, u, v, own, own_false)
    return total


def fixed_nodes(code, taken, length, u, v, node):
    """Fill in the nodes that the target's places fix, -1 elsewhere; False where they clash."""
    for k in range(length):
        node[k] = -1
    for k in range(length):
        if taken[k]:
            here, there = (v, u) if code[k] & 1 else (u, v)
            after = (k + 1) % length
            if node[k] not in (-1, here):
                return False
            node[k] = here
            if node[after] not in (-1, there):
                return False
            node[after] = there
    return True


def closed_walks(graph, code, taken, length, u, v, own, own_false, node, between):
    """Count the closed walks of one pattern for one target."""
    if not fixed_nodes(code, taken, length, u, v, node):
        return np.int64(0)
    start = 0
    while not taken[start]:
        start += 1
    total, size, begin = np.int64(1), 0, node[start]
    for k in range(start + 1, start + length + 1):
        at = k % length
        if not taken[at]:
            if size == 0:
                begin = node[at]
            between[size] = code[at]
            size += 1
        elif size:
            total *= walks_between(graph, between[:size], begin, node[at], u, v, own, own_false)
            if total == 0:
                return total
            size = 0
    return total


@kernel
def count_cycles(graph, patterns, subject, object_, distinct):
    """Rows (pattern, target, count) of every pattern and each of its targets with a count.

    Where nodes are `distinct`, targets t(u, u) have none.
    """
    rows, targets = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    counts = np.empty(64, dtype=np.int64)
    node, between = np.empty(STEPS, dtype=np.int64), np.empty(STEPS, dtype=np.int64)
    size = 0
    for p in range(len(patterns.length)):
        code, taken, length = patterns.code[p], patterns.taken[p], patterns.length[p]
        # places that clash for u != v can hold a target t(u, u) only
        loops_only = not fixed_nodes(code, taken, length, 0, 1, node)
        for i in range(patterns.first[p], patterns.last[p]):
            u, v = subject[i], object_[i]
            if distinct if u == v else loops_only:
                continue
            found = closed_walks(
                graph, code, taken, length, u, v, patterns.own[p], patterns.own_false[p], node,
                between,
            )  # fmt: skip
            if found:
                rows, targets = grown(rows, size, 1), grown(targets, size, 1)
                counts = grown(counts, size, 1)
                rows[size], targets[size], counts[size] = p, i, found
                size += 1
    return rows[:size], targets[:size], counts[:size]
