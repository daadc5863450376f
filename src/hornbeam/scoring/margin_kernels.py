"""Walks from one entity along the paths of rules: the pairs of high margin, and all counts.

`margins_above` serves `hornbeam.scoring.margins`, `walk_ends` `hornbeam.scoring.entity_proposals`.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Ints
from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, place_of

kernel = kernels("the search for the best links")

#: What a path gives its term: its count, 1 at or above a count, 1 above a share, or its share.
GROUNDINGS, FROM_COUNT, ABOVE_SHARE, SHARE = range(4)
#: How that weighs; see `hornbeam.rules.weighing.Counts`.
RAW, LOG, EXISTS, BY_MEDIAN = range(4)


class WalkedGraph(NamedTuple):
    """The graph, and the weight of every step in shares; no weights where shares are not wanted."""

    offsets: Ints
    neighbour: Ids
    code: Integers
    weight: Floats


class StepTrie(NamedTuple):
    """Sequences of steps by their common beginnings, each after the one that it extends.

    Its terms are `first[i]` to below `first[i + 1]`. The empty sequence comes first.
    """

    depth: Ints
    step: Ints
    first: Ints


class TermColumns(NamedTuple):
    """Terms in the order of the trie; `near` and `far` are rows of their factors, or -1."""

    weight: Floats
    kind: Ints
    bound: Floats
    way: Ints
    median: Floats
    near: Ints
    far: Ints
    near_factor: Floats
    far_factor: Floats


class EndMargins(NamedTuple):
    """Contributions of rules with conditions on one end: margins, and strengths of either sign.

    Conditions lead start a to the ends of list k = `list_of[a]`, from `first_led_to[k]` to
    below `first_led_to[k + 1]` in `led_to`, those of highest margin first. Its facts, which are not
    proposed, lead to the ends `known[known_offsets[a]:known_offsets[a + 1]]`.
    """

    near: Floats
    near_strength: Floats
    far: Floats
    far_strength: Floats
    list_of: Ints
    first_led_to: Ints
    led_to: Ids
    known_offsets: Ints
    known: Ids


class MarginScratch(NamedTuple):
    """Sums of one start, by steps taken and node, all zero between starts.

    `reached` lists the nodes after every number of steps, `size` their number; `touched`
    lists the ends that some term counts for. Made by NumPy: every array that a kernel makes by
    itself takes a fifth of a second to compile.
    """

    paths: Floats
    share: Floats
    reached: Ids
    size: Ints
    margin: Floats
    strength: Floats
    state: Integers
    touched: Ids

    @classmethod
    def of(cls, levels: int, n_entities: int) -> MarginScratch:
        """Allocate arrays for `levels` numbers of steps, from 0, and `n_entities` nodes."""
        by_level, n = (levels, n_entities), n_entities
        return cls(
            np.zeros(by_level),
            np.zeros(by_level),
            np.zeros(by_level, dtype=np.int32),
            np.zeros(levels, dtype=np.int64),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n, dtype=np.int8),
            np.zeros(n, dtype=np.int32),
        )


class PairBounds(NamedTuple):
    """Pairs from starts to ends, and upper bounds on their margins, grouped by start.

    Where a pair is not `connected`, no rule about both of its arguments has a grounding.
    """

    start: Ids
    end: Ids
    margin: Floats
    connected: Bools

    @classmethod
    def of(cls, size: int) -> PairBounds:
        """Allocate arrays for `size` pairs."""
        start, end = np.empty(size, np.int32), np.empty(size, np.int32)
        return cls(start, end, np.empty(size), np.empty(size, np.bool_))

    def take(self, rows: Bools) -> PairBounds:
        """The pairs at some rows."""
        return PairBounds(self.start[rows], self.end[rows], self.margin[rows], self.connected[rows])


def follow(walks, wanted, count, share, reached, depth, size):
    """Walk one step further: sums of paths and shares at depth + 1, and how many nodes have one.

    Shares are left out where steps have no weights.
    """
    offsets, neighbour, code, weight = walks.offsets, walks.neighbour, walks.code, walks.weight
    n_reached = 0
    for i in range(size):
        u = reached[depth, i]
        high = offsets[u + 1]
        edge = place_of(code, offsets[u], high, wanted)
        while edge < high and code[edge] == wanted:
            v = neighbour[edge]
            if count[depth + 1, v] == 0.0:
                reached[depth + 1, n_reached] = v
                n_reached += 1
            count[depth + 1, v] += count[depth, u]
            if len(weight) > 0:
                share[depth + 1, v] += share[depth, u] * weight[edge]
            edge += 1
    return n_reached


def clear(count, share, reached, depth, size):
    """Set the sums after `depth` steps to zero."""
    for i in range(size):
        count[depth, reached[depth, i]] = 0.0
        if share.shape[1] > 0:
            share[depth, reached[depth, i]] = 0.0


def base(kind, bound, count, share):
    """Factor of a path in its term, given its count and share."""
    if kind == FROM_COUNT:
        return 1.0 if count >= bound else 0.0
    if kind == ABOVE_SHARE:
        return 1.0 if share > bound else 0.0
    return share if kind == SHARE else count


def weighed(way, median, x):
    """How much a number above 0 weighs."""
    if way == LOG:
        return np.log2(1.0 + x)
    if way == BY_MEDIAN:
        return np.log2(1.0 + x / median)
    return 1.0 if way == EXISTS else x


@kernel
def margins_above(walks, trie, terms, ends, slack, starts, first, floor, scratch, pairs):
    """Fill `pairs` with those of margin `floor` or more, start by start from row `first`.

    Margins come with `slack` times all strengths that went into them added. Facts are left out.
    Returns the row of the first start whose pairs may not fit, and the number of pairs.
    """
    count, share, reached, size, margin, strength, state, touched = scratch
    depth, steps, first_term = trie
    weight, kind, bound, way, median, near, far, near_factor, far_factor = terms
    own, own_strength, others, others_strength, list_of, first_led_to, led_to = ends[:7]
    known_offsets, known = ends.known_offsets, ends.known
    found_starts, found_ends, margins, connected = pairs
    n, levels = len(own), len(size)
    n_pairs = 0
    row = first
    while row < len(starts) and n_pairs + n <= len(found_starts):
        a = starts[row]
        for i in range(known_offsets[a], known_offsets[a + 1]):
            state[known[i]] = 2  # a fact; 1 is a pair that a term counts for
        n_touched = 0
        count[0, a], share[0, a], reached[0, 0], size[0] = 1.0, 1.0, a, 1
        dead = levels  # stop extending a sequence that reaches no node
        for t in range(len(depth)):
            d = depth[t]
            if d > dead:
                continue
            dead = levels
            if d > 0:
                clear(count, share, reached, d, size[d])
                size[d] = follow(walks, steps[t], count, share, reached, d - 1, size[d - 1])
                if size[d] == 0:
                    dead = d
                    continue
            for k in range(first_term[t], first_term[t + 1]):
                factor = 1.0 if near[k] < 0 else near_factor[near[k], a]
                if factor == 0.0:
                    continue
                for i in range(size[d] if d > 0 else n):
                    b = reached[d, i] if d > 0 else i
                    x = factor
                    if d > 0:
                        x *= base(kind[k], bound[k], count[d, b], share[d, b])
                    if far[k] >= 0:
                        x *= far_factor[far[k], b]
                    if x == 0.0 or state[b] == 2:
                        continue
                    if state[b] == 0:
                        state[b] = 1
                        touched[n_touched] = b
                        n_touched += 1
                    more = weight[k] * weighed(way[k], median[k], x)
                    margin[b] += more
                    strength[b] += abs(more)
        for i in range(n_touched):
            b = touched[i]
            most = margin[b] + own[a] + others[b]
            most += slack * (strength[b] + own_strength[a] + others_strength[b])
            if most >= floor:
                found_starts[n_pairs], found_ends[n_pairs], margins[n_pairs] = a, b, most
                connected[n_pairs] = True
                n_pairs += 1
        for i in range(first_led_to[list_of[a]], first_led_to[list_of[a] + 1]):
            b = led_to[i]
            most = own[a] + others[b] + slack * (own_strength[a] + others_strength[b])
            if most < floor:
                break
            if state[b] == 0:
                found_starts[n_pairs], found_ends[n_pairs], margins[n_pairs] = a, b, most
                connected[n_pairs] = False
                n_pairs += 1
        for i in range(n_touched):
            margin[touched[i]], strength[touched[i]], state[touched[i]] = 0.0, 0.0, 0
        for i in range(known_offsets[a], known_offsets[a + 1]):
            state[known[i]] = 0
        for d in range(levels):
            clear(count, share, reached, d, size[d])
            size[d] = 0
        row += 1
    return row, n_pairs


@kernel
def walk_ends(walks, steps, bounds, start, count, share, reached):
    """Ends of all paths from one node along every sequence `steps[bounds[k]:bounds[k + 1]]`.

    Returns row pointers by sequence, and the end, the number of paths and the share of every row,
    sorted by end. `count`, `share` and `reached` are those of `MarginScratch`, of zeros.
    """
    with_shares = len(walks.weight) > 0
    indptr = np.zeros(len(bounds), dtype=np.int64)
    nodes, paths, shares = np.empty(64, dtype=np.int32), np.empty(64), np.empty(64)
    n_rows = 0
    for k in range(len(bounds) - 1):
        count[0, start], reached[0, 0], size = 1.0, start, 1
        if with_shares:
            share[0, start] = 1.0
        length = bounds[k + 1] - bounds[k]
        for d in range(length):
            if with_shares and d == length - 1:
                # the engine adds up the last steps in the order of nodes
                reached[d, :size] = np.sort(reached[d, :size])
            further = follow(walks, steps[bounds[k] + d], count, share, reached, d, size)
            clear(count, share, reached, d, size)
            size = further
        nodes = grown(nodes, n_rows, size)
        paths, shares = grown(paths, n_rows, size), grown(shares, n_rows, size)
        for node in np.sort(reached[length, :size]):
            nodes[n_rows], paths[n_rows] = node, count[length, node]
            shares[n_rows] = share[length, node] if with_shares else 0.0
            n_rows += 1
        clear(count, share, reached, length, size)
        indptr[k + 1] = n_rows
    return indptr, nodes[:n_rows], paths[:n_rows], shares[:n_rows]
