"""Kernels that walk the ground clauses of recursive models.

A ground clause is a closed walk: its body atoms from x0 to xs, and its head back to x0.

* `count_cycles` counts those in which one target t(u, v) occurs several times. Where the target is
  some of the steps, their nodes are u and v, and the steps between are independent walks between u
  and v: the count is a product of counts of short walks.
* `ground_walks` lists those over edges of which some are variables, like ones merged. A ground
  clause is stored as one row of variables: its head, where that is a variable that it pulls up (-1
  for none), then the variables it pushes down, ascending, each as often as it occurs. Rows with the
  same variables are one row, their weights added up.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints
from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, is_among, run_of, run_to

kernel = kernels("the walks of ground clauses")

#: Maximum number of body atoms. A closed walk has one step more, for the head.
STEPS = 4
CLOSED = STEPS + 1
#: Columns of a row of variables: a head, and as many atoms as a clause has.
WIDTH = STEPS + 2
NONE = -1


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
    node, between = np.empty(CLOSED, dtype=np.int64), np.empty(CLOSED, dtype=np.int64)
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


class ClauseWalks(NamedTuple):
    """Walks between the ends of a variable that close ground clauses.

    Walk w has the steps `code[w, :length[w]]`, those with `observed` along facts only. It starts
    from the variables of predicate `predicate[w]`, which are heads of clauses where `head[w]`
    (pulled up unless `negated[w]`), else body atoms of clauses with an observed head.
    """

    code: Ints
    observed: Bools
    length: Ints
    predicate: Ints
    head: Bools
    negated: Bools
    weight: Floats
    rule: Ints


class ClauseRows(NamedTuple):
    """A hash table of rows: `slot` holds row + 1 or 0, `key` the rule and variables of a row."""

    slot: Ints
    key: Ids
    weight: Floats


def slot_of(rows, key):
    """Slot of a key, or the empty one where it belongs."""
    mixed = np.uint64(0)
    for k in range(WIDTH + 1):
        mixed = (mixed ^ np.uint64(key[k] + 2)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    mask = np.uint64(len(rows.slot) - 1)
    place = mixed & mask
    while rows.slot[place] != 0:
        row = rows.slot[place] - 1
        same = True
        for k in range(WIDTH + 1):
            if rows.key[row, k] != key[k]:
                same = False
                break
        if same:
            break
        place = (place + np.uint64(1)) & mask
    return place


def doubled(rows):
    """A table of twice the size with the same rows."""
    n = len(rows.weight)
    slot = np.zeros(2 * len(rows.slot), dtype=np.int64)
    key = np.empty((2 * n, WIDTH + 1), dtype=np.int32)
    weight = np.zeros(2 * n)
    larger = ClauseRows(slot, key, weight)
    for i in range(n):
        for k in range(WIDTH + 1):
            key[i, k] = rows.key[i, k]
        weight[i] = rows.weight[i]
        slot[slot_of(larger, key[i])] = i + 1
    return larger


def add(rows, size, key, weight):
    """Add the weight to the row of a key; returns the rows and how many there are."""
    if size == len(rows.weight):
        rows = doubled(rows)
    place = slot_of(rows, key)
    if rows.slot[place] == 0:
        for k in range(WIDTH + 1):
            rows.key[size, k] = key[k]
        rows.weight[size] = 0.0
        size += 1
        rows.slot[place] = size
    rows.weight[rows.slot[place] - 1] += weight
    return rows, size


def next_edges(graph, x, code, last, end):
    """Range of the edges of a walk's next step; only the first edge to `end` if it is the last.

    Without that limit `ground_walks` takes half as long again.
    """
    if not last:
        return run_of(graph.offsets, graph.code, x, code)
    first, stop = run_to(graph.offsets, graph.neighbour, graph.code, x, code, end)
    return first, min(stop, first + 1)


def fill_key(key, rule, start, is_head, negated, met, length):
    """Write a ground clause's key; False for tautologies and where only the head is a variable."""
    for k in range(WIDTH + 1):
        key[k] = NONE
    key[0] = rule
    first, size = 2, 2
    others = 0
    for k in range(length):
        if met[k] != NONE:
            others += 1
            key[size] = met[k]
            size += 1
    if is_head and others == 0:
        return False
    if is_head and not negated:
        for k in range(first, size):
            if key[k] == start:
                return False
        key[1] = start
    else:
        key[size] = start
        size += 1
    for k in range(first + 1, size):  # insertion sort of at most five
        value, at = key[k], k
        while at > first and key[at - 1] > value:
            key[at] = key[at - 1]
            at -= 1
        key[at] = value
    return True


@kernel
def ground_walks(graph, walks, by_rule, distinct, start, predicate, source, sink, limit):
    """Rows of all ground clauses that the walks close for some variables.

    `graph.value` is the variable of an edge, 0 for a fact, so variables count from 1 there. Stops
    beyond `limit` rows. Returns keys (rule, head, variables) and weights.
    """
    rows = ClauseRows(
        np.zeros(128, dtype=np.int64), np.empty((64, WIDTH + 1), dtype=np.int32), np.zeros(64)
    )
    size = 0
    key = np.empty(WIDTH + 1, dtype=np.int32)
    met, node = np.empty(STEPS, dtype=np.int32), np.empty(STEPS + 1, dtype=np.int64)
    cursor, stop = np.empty(STEPS, dtype=np.int64), np.empty(STEPS, dtype=np.int64)
    for w in range(len(walks.length)):
        code, observed, length = walks.code[w], walks.observed[w], walks.length[w]
        rule = walks.rule[w] if by_rule else NONE
        for i in range(len(start)):
            if predicate[i] != walks.predicate[w]:
                continue
            if size > limit:
                return rows.key[:size], rows.weight[:size]
            end = sink[i]
            if distinct and source[i] == end:
                continue
            node[0], level = source[i], 0
            cursor[0], stop[0] = next_edges(graph, source[i], code[0], length == 1, end)
            while level >= 0:
                if cursor[level] == stop[level]:
                    level -= 1
                    continue
                edge = cursor[level]
                cursor[level] += 1
                x, last = graph.neighbour[edge], level == length - 1
                if observed[level] and graph.value[edge]:
                    continue
                if distinct and ((x == end and not last) or is_among(node, level + 1, x)):
                    continue
                met[level] = graph.value[edge] - 1
                if last:
                    if fill_key(key, rule, start[i], walks.head[w], walks.negated[w], met, length):
                        rows, size = add(rows, size, key, walks.weight[w])
                    continue
                level += 1
                node[level] = x
                last = level == length - 1
                cursor[level], stop[level] = next_edges(graph, x, code[level], last, end)
    return rows.key[:size], rows.weight[:size]


@kernel
def literals(key):
    """Row pointers, variables, coefficients and constants of the rows' linear forms."""
    n = len(key)
    indptr = np.zeros(n + 1, dtype=np.int64)
    variable = np.empty(n * (WIDTH - 1), dtype=np.int32)
    coefficient, constant = np.empty(n * (WIDTH - 1)), np.empty(n)
    size = 0
    for i in range(n):
        atoms = 0
        for k in range(2, WIDTH + 1):
            if key[i, k] == NONE:
                continue
            atoms += 1
            if k > 2 and key[i, k] == key[i, k - 1]:
                coefficient[size - 1] += 1.0
            else:
                variable[size], coefficient[size] = key[i, k], 1.0
                size += 1
        if key[i, 1] != NONE:
            variable[size], coefficient[size] = key[i, 1], -1.0
            size += 1
        constant[i] = 1.0 - atoms
        indptr[i + 1] = size
    return indptr, variable[:size], coefficient[:size], constant
