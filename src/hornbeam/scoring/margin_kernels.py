"""The loop that finds pairs of high margin; `hornbeam.scoring.margins` says what for."""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Floats, Ids, Integers, Ints
from hornbeam.compiled import kernels

kernel = kernels("the search for the best links")

#: What a path gives its term: its groundings, 1 from so many on, 1 above a share, or its share.
GROUNDINGS, FROM_COUNT, ABOVE_SHARE, SHARE = range(4)
#: How that weighs, as `hornbeam.rules.weighing.Counts` says.
RAW, LOG, EXISTS, BY_MEDIAN = range(4)


class Walks(NamedTuple):
    """The graph, the weight of every step in shares, and the facts that are not proposed."""

    offsets: Ints
    neighbour: Ids
    code: Integers
    weight: Floats
    known_offsets: Ints
    known: Ids


class StepTrie(NamedTuple):
    """Sequences of steps by their common beginnings, each behind the one that it goes on from.

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
    """What rules with conditions on one end add: margins, and strengths of either sign.

    `led_to` are the objects that conditions lead to, those of highest margin first.
    """

    near: Floats
    near_strength: Floats
    far: Floats
    far_strength: Floats
    led_to: Ids


def grown(array, needed):
    """The array, or a copy at least twice as long when `needed` does not fit."""
    if needed <= len(array):
        return array
    larger = np.empty(max(2 * len(array), needed), dtype=array.dtype)
    for i in range(len(array)):
        larger[i] = array[i]
    return larger


def follow(walks, wanted, count, share, reached, depth, size):
    """Walk one step further: sums of paths and shares at depth + 1, and how many nodes have one."""
    found = 0
    for i in range(size):
        u = reached[depth, i]
        low, high = walks.offsets[u], walks.offsets[u + 1]
        edge = low + np.searchsorted(walks.code[low:high], wanted)
        while edge < high and walks.code[edge] == wanted:
            v = walks.neighbour[edge]
            if count[depth + 1, v] == 0.0:
                reached[depth + 1, found] = v
                found += 1
            count[depth + 1, v] += count[depth, u]
            share[depth + 1, v] += share[depth, u] * walks.weight[edge]
            edge += 1
    return found


def base(kind, bound, count, share):
    """What a path of so many groundings and such a share gives its term."""
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
def margins_above(walks, trie, terms, ends, slack, subjects, floor):
    """Pairs whose margin is at least `floor`: row of the subject, object, margin.

    Margins come with `slack` times all strengths that went into them added. Facts are left out, and
    pairs that no rule has groundings for but by conditions on the subject.
    """
    n = len(ends.near)
    levels = 1
    for t in range(len(trie.depth)):
        levels = max(levels, trie.depth[t] + 1)
    count, share = np.zeros((levels, n)), np.zeros((levels, n))
    reached, size = np.zeros((levels, n), dtype=np.int32), np.zeros(levels, dtype=np.int64)
    margin, strength = np.zeros(n), np.zeros(n)
    state = np.zeros(n, dtype=np.int8)  # 1 where a term counts, 2 where a fact is
    spoken = np.zeros(n, dtype=np.int32)
    out_row, out_end = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int32)
    out_margin = np.empty(64)
    found = 0
    for row in range(len(subjects)):
        a = subjects[row]
        for i in range(walks.known_offsets[a], walks.known_offsets[a + 1]):
            state[walks.known[i]] = 2
        n_spoken = 0
        count[0, a], share[0, a], reached[0, 0], size[0] = 1.0, 1.0, a, 1
        dead = levels  # a sequence that leads nowhere is not gone on with
        for t in range(len(trie.depth)):
            d = trie.depth[t]
            if d > dead:
                continue
            dead = levels
            if d > 0:
                for i in range(size[d]):
                    count[d, reached[d, i]], share[d, reached[d, i]] = 0.0, 0.0
                size[d] = follow(walks, trie.step[t], count, share, reached, d - 1, size[d - 1])
                if size[d] == 0:
                    dead = d
                    continue
            for k in range(trie.first[t], trie.first[t + 1]):
                near = 1.0 if terms.near[k] < 0 else terms.near_factor[terms.near[k], a]
                if near == 0.0:
                    continue
                for i in range(size[d] if d > 0 else n):
                    b = reached[d, i] if d > 0 else i
                    x = near
                    if d > 0:
                        x *= base(terms.kind[k], terms.bound[k], count[d, b], share[d, b])
                    if terms.far[k] >= 0:
                        x *= terms.far_factor[terms.far[k], b]
                    if x == 0.0 or state[b] == 2:
                        continue
                    if state[b] == 0:
                        state[b] = 1
                        spoken[n_spoken] = b
                        n_spoken += 1
                    more = terms.weight[k] * weighed(terms.way[k], terms.median[k], x)
                    margin[b] += more
                    strength[b] += abs(more)
        out_row = grown(out_row, found + n)
        out_end = grown(out_end, found + n)
        out_margin = grown(out_margin, found + n)
        own, own_strength = ends.near[a], ends.near_strength[a]
        for i in range(n_spoken):
            b = spoken[i]
            most = margin[b] + own + ends.far[b]
            most += slack * (strength[b] + own_strength + ends.far_strength[b])
            if most >= floor:
                out_row[found], out_end[found], out_margin[found] = row, b, most
                found += 1
        for i in range(len(ends.led_to)):
            b = ends.led_to[i]
            most = own + ends.far[b] + slack * (own_strength + ends.far_strength[b])
            if most < floor:
                break
            if state[b] == 0:
                out_row[found], out_end[found], out_margin[found] = row, b, most
                found += 1
        for i in range(n_spoken):
            margin[spoken[i]], strength[spoken[i]], state[spoken[i]] = 0.0, 0.0, 0
        for i in range(walks.known_offsets[a], walks.known_offsets[a + 1]):
            state[walks.known[i]] = 0
        for d in range(levels):
            for i in range(size[d]):
                count[d, reached[d, i]], share[d, reached[d, i]] = 0.0, 0.0
            size[d] = 0
    return out_row[:found], out_end[:found], out_margin[:found]
