"""The path search: one pass that finds every relation sequence and counts its paths, exactly.

For one source a and all its targets (a, b) the search meets in the middle:

    heads   a -> u, and a -> u -> v        built once a source, kept only at nodes v that some b
                                           of this source can be left from ("wanted")
    tails   v -> b, and v -> w -> b        run over once a target

A path of length s is a head and a tail that share a node: lengths 1, 2, 3, 4 are split 1+0, 1+1,
2+1, 2+2. Nothing that no target reaches is stored, and the middle edges u -> v are found from
whichever side has fewer edges to look at.

Each head (a sequence of one or two codes) has a small number within its source, so that counting is
`counts[head] += 1` in an array that stays in the fastest cache; only the totals of a (source, tail)
reach the table of all sequences. A sequence is one 64-bit key of `bits` bits a code.

Every jitted helper lives in this file: the on-disk cache does not notice changes elsewhere.
"""

# ruff: noqa: ANN001, ANN202
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

#: Truth value 1 in millionths (a literal here: kernels do not import).
ONE = 1_000_000
HALF = 500_000


class Counters(NamedTuple):
    """A hash table from sequence keys to dense ids, with the figures of every id.

    `figures` rows: targets connected, true targets connected, paths.
    """

    slot_key: npt.NDArray[np.uint64]
    slot_id: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]
    figures: npt.NDArray[np.int64]


class Entries(NamedTuple):
    """Growing columns of the sparse table: target row, sequence id, body truth, paths."""

    row: npt.NDArray[np.int32]
    path: npt.NDArray[np.int32]
    body: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]


class Heads(NamedTuple):
    """Half-paths by the node they end in: node -> slot -> items [start, stop).

    An item is a head, the node `via` which it came, its deficit, and how many `times` it occurs.
    """

    slot: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    head: npt.NDArray[np.int32]
    via: npt.NDArray[np.int32]
    deficit: npt.NDArray[np.int32]
    times: npt.NDArray[np.int32]


class Plan(NamedTuple):
    """What to search for.

    `own_code` is the code of a step from source to target along the target predicate. In a
    `frozen` search only known sequences count; `first`, `pair` and `last` are their sorted
    first codes, first two codes and last codes.
    """

    max_length: int
    distinct: bool
    bits: int
    own_code: int
    keep_entries: bool
    frozen: bool
    first: npt.NDArray[np.uint64]
    pair: npt.NDArray[np.uint64]
    last: npt.NDArray[np.uint64]


@njit(cache=True, nogil=True)
def grown(array, needed):
    """The array, or a copy at least twice as long when `needed` does not fit."""
    if needed <= len(array):
        return array
    larger = np.empty(max(2 * len(array), needed), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def grown_filled(array, needed, fill):
    """Like `grown`, new places filled."""
    if needed <= len(array):
        return array
    larger = np.full(max(2 * len(array), needed), fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def slot_of(slot_key, key):
    """Place of a key, or the empty place where it belongs (Fibonacci hashing, linear probing)."""
    mask = np.uint64(len(slot_key) - 1)
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    place = (mixed ^ (mixed >> np.uint64(29))) & mask
    while slot_key[place] != 0 and slot_key[place] != key:
        place = (place + np.uint64(1)) & mask
    return place


@njit(cache=True, nogil=True)
def reserved(counters, size, more):
    """Counters with room for `more` new keys; the table stays at most half full."""
    needed = size + more
    if needed <= len(counters.key):
        return counters
    capacity = len(counters.slot_key)
    while capacity // 2 < needed:
        capacity *= 2
    slot_key = np.zeros(capacity, dtype=np.uint64)
    slot_id = np.zeros(capacity, dtype=np.int32)
    key = np.zeros(capacity // 2, dtype=np.uint64)
    figures = np.zeros((3, capacity // 2), dtype=np.int64)
    key[:size] = counters.key[:size]
    figures[:, :size] = counters.figures[:, :size]
    for i in range(size):
        place = slot_of(slot_key, key[i])
        slot_key[place] = key[i]
        slot_id[place] = i
    return Counters(slot_key, slot_id, key, figures)


@njit(cache=True, nogil=True)
def identify(slot_key, slot_id, keys, size, key, frozen):
    """Id of a key, given the next free one where it is new; -1 where it is new and frozen."""
    place = slot_of(slot_key, key)
    if slot_key[place] == key:
        return slot_id[place]
    if frozen:
        return np.int32(-1)
    slot_key[place] = key
    slot_id[place] = size
    keys[size] = key
    return np.int32(size)


@njit(cache=True, nogil=True)
def contains(known, key):
    """Whether a sorted array holds the code (or codes) that a frozen search wants to go on with."""
    at = np.searchsorted(known, np.uint64(key))
    return at < len(known) and known[at] == np.uint64(key)


@njit(cache=True, nogil=True)
def is_own(x, y, code, a, b, own_code):
    """Whether the step x -> y is the target's own edge, walked either way."""
    forth = x == a and y == b and code == own_code
    back = x == b and y == a and code == (own_code ^ 1)
    return forth or back


@njit(cache=True, nogil=True)
def with_items(heads, items):
    """Heads with room for that many items."""
    return Heads(
        heads.slot,
        heads.node,
        heads.start,
        heads.stop,
        grown(heads.head, items),
        grown(heads.via, items),
        grown(heads.deficit, items),
        grown(heads.times, items),
    )


@njit(cache=True, nogil=True)
def with_slots(heads, slots):
    """Heads with room for that many nodes."""
    return Heads(
        heads.slot,
        grown(heads.node, slots),
        grown(heads.start, slots),
        grown(heads.stop, slots),
        heads.head,
        heads.via,
        heads.deficit,
        heads.times,
    )


@njit(cache=True, nogil=True)
def deficit_of(value):
    """1 - x of an edge in millionths; bit 30 marks a value that rounds to false."""
    return np.int32((ONE - value) | (1 << 30 if value < HALF else 0))


@njit(cache=True, nogil=True)
def joined(one, other):
    """Sum of two deficits (below 4 x 10^6) that keeps the mark of rounding to false."""
    mark = np.int32(1 << 30)
    return ((one & ~mark) + (other & ~mark)) | ((one | other) & mark)


@njit(cache=True, nogil=True)
def first_steps(adjacency, a, plan, near, codes):
    """Fill `near` with the heads of one step; `codes[h]` is the code of head h."""
    low, high = adjacency.offsets[a], adjacency.offsets[a + 1]
    near = with_items(with_slots(near, high - low), high - low)
    codes = grown(codes, high - low + 1)
    neighbour, code, value = adjacency.neighbour, adjacency.code, adjacency.value
    slot, node, start, stop = near.slot, near.node, near.start, near.stop
    head, via, deficit, times = near.head, near.via, near.deficit, near.times
    frozen, soft, first = plan.frozen, len(value) > 0, plan.first
    slots = 0
    for edge in range(low, high):
        if frozen and not contains(first, code[edge]):
            continue
        u = neighbour[edge]
        if slot[u] < 0:
            slot[u] = slots
            node[slots] = u
            stop[slots] = 0
            slots += 1
        stop[slot[u]] += 1
    total = 0
    for s in range(slots):
        start[s] = total
        total += stop[s]
        stop[s] = start[s]
    heads = 0
    for edge in range(low, high):
        if frozen and not contains(first, code[edge]):
            continue
        if heads == 0 or codes[heads - 1] != code[edge]:
            codes[heads] = code[edge]
            heads += 1
        s = slot[neighbour[edge]]
        place = stop[s]
        head[place] = heads - 1
        via[place] = neighbour[edge]
        deficit[place] = deficit_of(value[edge]) if soft else 0
        times[place] = 1
        stop[s] = place + 1
    return near, codes, slots, heads


@njit(cache=True, nogil=True)
def want(adjacency, sinks, far):
    """Give a slot in `far` to every node from which one step leads to a sink."""
    slots = 0
    for b in sinks:
        low, high = adjacency.offsets[b], adjacency.offsets[b + 1]
        far = with_slots(far, slots + high - low)
        slot, node = far.slot, far.node
        for v in adjacency.neighbour[low:high]:
            if slot[v] < 0:
                slot[v] = slots
                node[slots] = v
                slots += 1
    return far, slots


@njit(cache=True, nogil=True)
def degree_sum(adjacency, nodes):
    """Number of edges at some nodes."""
    total = 0
    for v in nodes:
        total += adjacency.offsets[v + 1] - adjacency.offsets[v]
    return total


@njit(cache=True, nogil=True)
def middle_steps(forward, backward, near, near_slots, far, far_slots, everywhere):
    """Edges u -> v between the first steps and the wanted nodes: (edge's u, v, code, deficit).

    With `everywhere` all nodes are wanted and get their slot here.
    """
    size = 0
    steps_u = np.empty(64, dtype=np.int32)
    steps_v = np.empty(64, dtype=np.int32)
    steps_code = np.empty(64, dtype=np.int32)
    steps_deficit = np.empty(64, dtype=np.int32)
    from_near = everywhere or (
        degree_sum(forward, near.node[:near_slots]) <= degree_sum(backward, far.node[:far_slots])
    )
    adjacency = forward if from_near else backward
    outer = near.node[:near_slots] if from_near else far.node[:far_slots]
    inner = far.slot if from_near else near.slot
    neighbour, codes, value = adjacency.neighbour, adjacency.code, adjacency.value
    soft = len(value) > 0
    turn = 0 if from_near else 1
    for x in outer:
        low, high = adjacency.offsets[x], adjacency.offsets[x + 1]
        if size + high - low > len(steps_u):
            steps_u = grown(steps_u, size + high - low)
            steps_v = grown(steps_v, size + high - low)
            steps_code = grown(steps_code, size + high - low)
            steps_deficit = grown(steps_deficit, size + high - low)
        if everywhere:
            far = with_slots(far, far_slots + high - low)
            for y in neighbour[low:high]:
                if inner[y] < 0:
                    inner[y] = far_slots
                    far.node[far_slots] = y
                    far_slots += 1
        for edge in range(low, high):
            y = neighbour[edge]
            if inner[y] >= 0:
                steps_u[size] = x if from_near else y
                steps_v[size] = y if from_near else x
                steps_code[size] = codes[edge] ^ turn
                steps_deficit[size] = deficit_of(value[edge]) if soft else 0
                size += 1
    return far, far_slots, steps_u[:size], steps_v[:size], steps_code[:size], steps_deficit[:size]


@njit(cache=True, nogil=True)
def second_steps(steps, near, far, far_slots, plan, n_codes, heads, codes, pairs):
    """Fill `far` with the heads of two steps, numbered on from `heads`.

    `pairs[h1 * n_codes + code]` is the number of a pair, -1 unseen, -2 not permitted.
    """
    steps_u, steps_v, steps_code, steps_deficit = steps
    near_slot, near_start, near_stop = near.slot, near.start, near.stop
    near_head, near_deficit = near.head, near.deficit
    far_slot, far_start, far_stop = far.slot, far.start, far.stop
    frozen, bits, known = plan.frozen, np.uint64(plan.bits), plan.pair
    pairs = grown_filled(pairs, heads * n_codes, np.int32(-1))
    singles = heads
    far_stop[:far_slots] = 0
    for i in range(len(steps_u)):
        s = near_slot[steps_u[i]]
        far_stop[far_slot[steps_v[i]]] += near_stop[s] - near_start[s]
    total = 0
    for t in range(far_slots):
        far_start[t] = total
        total += far_stop[t]
        far_stop[t] = far_start[t]
    far = with_items(far, total)
    far_head, far_via, far_deficit, far_times = far.head, far.via, far.deficit, far.times
    for i in range(len(steps_u)):
        s = near_slot[steps_u[i]]
        t = far_slot[steps_v[i]]
        place = far_stop[t]
        for item in range(near_start[s], near_stop[s]):
            at = near_head[item] * n_codes + steps_code[i]
            if pairs[at] == -1:
                key = (codes[near_head[item]] << bits) | np.uint64(steps_code[i])
                pairs[at] = -2
                if not frozen or contains(known, key):
                    if heads == len(codes):
                        codes = grown(codes, heads + 1)
                    codes[heads] = key
                    pairs[at] = heads
                    heads += 1
            if pairs[at] >= 0:
                far_head[place] = pairs[at]
                far_via[place] = steps_u[i]
                far_deficit[place] = joined(near_deficit[item], steps_deficit[i])
                far_times[place] = 1
                place += 1
        far_stop[t] = place
    # the next source numbers its pairs afresh
    for i in range(len(steps_u)):
        s = near_slot[steps_u[i]]
        for item in range(near_start[s], near_stop[s]):
            pairs[near_head[item] * n_codes + steps_code[i]] = -1
    return far, heads, codes, pairs


@njit(cache=True, nogil=True)
def count_fast(slot, start, stop, head, times, nodes, low, high, counts, touched, n_touched):
    """Count every head that ends in one of the nodes [low, high): one addition an item."""
    for i in range(low, high):
        s = slot[nodes[i]]
        if s >= 0:
            for item in range(start[s], stop[s]):
                h = head[item]
                if counts[h] == 0:
                    touched[n_touched] = h
                    n_touched += 1
                counts[h] += times[item]
    return n_touched


@njit(cache=True, nogil=True)
def merge_equal(heads, slots, counts):
    """Merge the items of one node that have the same head: how often is all that counts."""
    start, stop, head, times = heads.start, heads.stop, heads.head, heads.times
    for s in range(slots):
        place = start[s]
        for item in range(start[s], stop[s]):
            h = head[item]
            if counts[h] == 0:
                head[place] = h
                place += 1
            counts[h] += 1
        for item in range(start[s], place):
            times[item] = counts[head[item]]
            counts[head[item]] = 0
        stop[s] = place


@njit(cache=True, nogil=True)
def count_careful(
    heads, codes, level, v, w, a, b, own, plan, tail, counts, touched, n_touched, bodies, n_bodies
):
    """Count heads that end in v where paths must be looked at one by one.

    `w` is the node between v and b in a tail of two steps, else -1; for heads of one step
    (`level` 1) u = v, and v = b where the tail is empty. `bodies` collects
    (head, deficit) of the paths with a positive body truth.
    """
    s = heads.slot[v]
    if s < 0:
        return n_touched, bodies, n_bodies
    mark = np.int32(1 << 30)
    mask = (np.uint64(1) << np.uint64(plan.bits)) - np.uint64(1)
    for item in range(heads.start[s], heads.stop[s]):
        h = heads.head[item]
        u = heads.via[item]
        if plan.distinct:
            if a == b or u == a or v == a or w == a or w == b or w == v or w == u:
                continue
            if level == 2 and (u == b or u == v or v == b):
                continue
        if own:
            if level == 1 and is_own(a, u, codes[h], a, b, plan.own_code):
                continue
            if level == 2 and (
                is_own(a, u, codes[h] >> np.uint64(plan.bits), a, b, plan.own_code)
                or is_own(u, v, codes[h] & mask, a, b, plan.own_code)
            ):
                continue
        deficit = joined(heads.deficit[item], tail)
        if not deficit & mark:
            if counts[h] == 0:
                touched[n_touched] = h
                n_touched += 1
            counts[h] += 1
        if (deficit & ~mark) < ONE:
            if n_bodies == len(bodies):
                bodies = grown(bodies, n_bodies + 1)
            bodies[n_bodies] = (np.uint64(h) << np.uint64(20)) | np.uint64(deficit & ~mark)
            n_bodies += 1
    return n_touched, bodies, n_bodies


class Tails(NamedTuple):
    """Half-paths into the sinks of one source, in segments of one (tail, target) each.

    `order` sorts the segments by tail. `v` is where a tail starts, `w` its inner node or -1.
    """

    order: npt.NDArray[np.uint64]
    row: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    v: npt.NDArray[np.int32]
    w: npt.NDArray[np.int32]
    deficit: npt.NDArray[np.int32]


class Scratch(NamedTuple):
    """What counting one (source, tail) needs, by head number; zero between uses."""

    counts: npt.NDArray[np.int64]
    touched: npt.NDArray[np.int32]
    seen: npt.NDArray[np.int32]
    met: npt.NDArray[np.int32]
    folded: npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def with_tails(tails, segments, items):
    """Tails with room for that many segments and items."""
    return Tails(
        grown(tails.order, segments),
        grown(tails.row, segments),
        grown(tails.start, segments),
        grown(tails.stop, segments),
        grown(tails.v, items),
        grown(tails.w, items),
        grown(tails.deficit, items),
    )


@njit(cache=True, nogil=True)
def one_step_tails(backward, sinks, near, far, plan, tails):
    """The empty tail and the tails of one step of every sink that meet some head."""
    segments = items = 0
    neighbour, codes, value = backward.neighbour, backward.code, backward.value
    near_slot, far_slot, soft = near.slot, far.slot, len(value) > 0
    for row in range(len(sinks)):
        b = sinks[row]
        low, high = backward.offsets[b], backward.offsets[b + 1]
        tails = with_tails(tails, segments + high - low + 1, items + high - low + 1)
        order, rows, start, stop, tail_v, tail_w, deficit = tails
        if near_slot[b] >= 0:
            order[segments] = np.uint64(segments)
            rows[segments] = row
            start[segments] = items
            tail_v[items] = b
            tail_w[items] = -1
            deficit[items] = 0
            items += 1
            stop[segments] = items
            segments += 1
        if plan.max_length < 2:
            continue
        edge = low
        while edge < high:
            code = codes[edge]
            begin = items
            while edge < high and codes[edge] == code:
                v = neighbour[edge]
                if near_slot[v] >= 0 or far_slot[v] >= 0:
                    tail_v[items] = v
                    tail_w[items] = -1
                    deficit[items] = deficit_of(value[edge]) if soft else 0
                    items += 1
                edge += 1
            if items > begin and (not plan.frozen or contains(plan.last, code ^ 1)):
                order[segments] = (np.uint64(code ^ 1) << np.uint64(32)) | np.uint64(segments)
                rows[segments] = row
                start[segments] = begin
                stop[segments] = items
                segments += 1
    tails.order[:segments].sort()
    return tails, segments


@njit(cache=True, nogil=True)
def two_step_tails(backward, b, row, far, plan, tails, keys):
    """The tails of two steps of one sink, sorted into segments."""
    items = 0
    neighbour, codes, value = backward.neighbour, backward.code, backward.value
    far_slot, soft, bits = far.slot, len(value) > 0, np.uint64(plan.bits)
    for edge in range(backward.offsets[b], backward.offsets[b + 1]):
        last = codes[edge] ^ 1
        if plan.frozen and not contains(plan.last, last):
            continue
        w = neighbour[edge]
        low, high = backward.offsets[w], backward.offsets[w + 1]
        tails = with_tails(tails, items + high - low + 1, items + high - low + 1)
        keys = grown(keys, items + high - low)
        tail_v, tail_w, deficit = tails.v, tails.w, tails.deficit
        first_deficit = deficit_of(value[edge]) if soft else np.int32(0)
        for inner in range(low, high):
            v = neighbour[inner]
            if far_slot[v] >= 0:
                pair = (np.uint64(codes[inner] ^ 1) << bits) | np.uint64(last)
                keys[items] = (pair << np.uint64(32)) | np.uint64(items)
                tail_v[items] = v
                tail_w[items] = w
                deficit[items] = joined(first_deficit, deficit_of(value[inner])) if soft else 0
                items += 1
    keys[:items].sort()
    order, rows, start, stop, tail_v, tail_w, deficit = tails
    by_tail = (keys[:items] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    tail_v[:items] = tail_v[by_tail]
    tail_w[:items] = tail_w[by_tail]
    deficit[:items] = deficit[by_tail]
    segments = 0
    for i in range(items):
        tail = keys[i] >> np.uint64(32)
        if segments == 0 or order[segments - 1] >> np.uint64(32) != tail:
            order[segments] = (tail << np.uint64(32)) | np.uint64(segments)
            rows[segments] = row
            start[segments] = i
            segments += 1
        stop[segments - 1] = i + 1
    return tails, segments, keys


@njit(cache=True, nogil=True)
def count_one_by_one(tails, segment, length, near, far, codes, a, b, own, plan, scratch, bodies):
    """Count the paths of one (tail, target) by head where each must be looked at."""
    n_touched = n_bodies = 0
    tail_codes = tails.order[segment] >> np.uint64(32)
    mask = (np.uint64(1) << np.uint64(plan.bits)) - np.uint64(1)
    index = tails.order[segment] & np.uint64(0xFFFFFFFF)
    use_near = length < 2
    use_far = (length == 1 and plan.max_length > 2) or length == 2
    for i in range(tails.start[index], tails.stop[index]):
        v, w = tails.v[i], tails.w[i]
        if plan.distinct and length > 0 and v == b:
            continue
        if (
            own
            and length > 0
            and is_own(v if length == 1 else w, b, tail_codes & mask, a, b, plan.own_code)
        ):
            continue
        if (
            own
            and length == 2
            and is_own(v, w, tail_codes >> np.uint64(plan.bits), a, b, plan.own_code)
        ):
            continue
        if use_near:
            n_touched, bodies, n_bodies = count_careful(
                near, codes, 1, v, w, a, b, own, plan, tails.deficit[i],
                scratch.counts, scratch.touched, n_touched, bodies, n_bodies,
            )  # fmt: skip
        if use_far:
            n_touched, bodies, n_bodies = count_careful(
                far, codes, 2, v, w, a, b, own, plan, tails.deficit[i],
                scratch.counts, scratch.touched, n_touched, bodies, n_bodies,
            )  # fmt: skip
    return n_touched, bodies, n_bodies


@njit(cache=True, nogil=True)
def with_entries(entries, size):
    """Entries with room for that many."""
    if size <= len(entries.row):
        return entries
    return Entries(
        grown(entries.row, size),
        grown(entries.path, size),
        grown(entries.body, size),
        grown(entries.count, size),
    )


@njit(cache=True, nogil=True)
def fold_counts(counts, touched, n_touched, folded, seen, met, is_true, n_heads):
    """Add one target's counts to those of its (source, tail)."""
    for i in range(n_touched):
        h = touched[i]
        if folded[h, 0] == 0 and seen[h] == 0:
            met[n_heads] = h
            n_heads += 1
        folded[h, 0] += 1
        folded[h, 1] += is_true
        folded[h, 2] += counts[h]
    return n_heads


@njit(cache=True, nogil=True)
def store_counts(scratch, n_touched, row, entries, size):
    """Append one target's path counts to the sparse table."""
    entries = with_entries(entries, size + n_touched)
    heads = scratch.touched[:n_touched]
    entries.row[size : size + n_touched] = row
    entries.path[size : size + n_touched] = heads
    entries.body[size : size + n_touched] = ONE
    entries.count[size : size + n_touched] = scratch.counts[heads]
    return entries, size + n_touched


@njit(cache=True, nogil=True)
def store_bodies(bodies, scratch, row, entries, size, n_heads):
    """Append one target's body truths, equal ones grouped, to the sparse table."""
    bodies.sort()
    entries = with_entries(entries, size + len(bodies))
    i = 0
    while i < len(bodies):
        run = i
        while run < len(bodies) and bodies[run] == bodies[i]:
            run += 1
        h = np.int64(bodies[i] >> np.uint64(20))
        if scratch.folded[h, 0] == 0 and scratch.seen[h] == 0:
            # no path of this head rounds to true, yet some have a positive body
            scratch.met[n_heads] = h
            n_heads += 1
        scratch.seen[h] = 1
        entries.row[size] = row
        entries.path[size] = h
        entries.body[size] = ONE - np.int64(bodies[i] & np.uint64(0xFFFFF))
        entries.count[size] = run - i
        size += 1
        i = run
    return entries, size, n_heads


@njit(cache=True, nogil=True)
def flush(scratch, n_heads, codes, shift, tail, frozen, counters, size):
    """Move the figures of one (source, tail) to the counters; `touched[h]` becomes h's id."""
    if not frozen:
        counters = reserved(counters, size, n_heads)
    slot_key, slot_id, keys, figures = counters
    folded, heads, ids, seen = scratch.folded, scratch.met, scratch.touched, scratch.seen
    for i in range(n_heads):
        h = heads[i]
        path = identify(slot_key, slot_id, keys, size, (codes[h] << shift) | tail, frozen)
        size += path == size
        if path >= 0:
            figures[0, path] += folded[h, 0]
            figures[1, path] += folded[h, 1]
            figures[2, path] += folded[h, 2]
        folded[h, 0] = folded[h, 1] = folded[h, 2] = 0
        seen[h] = 0
        ids[h] = path
    return counters, size


@njit(cache=True, nogil=True)
def resolve(entries, mark, size, ids):
    """Replace head numbers by sequence ids in the entries from `mark` on; drop unknown ones."""
    rows, paths, bodies, counts = entries
    kept = mark
    for i in range(mark, size):
        path = ids[paths[i]]
        if path >= 0:
            rows[kept], bodies[kept], counts[kept], paths[kept] = (
                rows[i],
                bodies[i],
                counts[i],
                path,
            )
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def count_tails(
    tails, segments, length, near, far, codes, a, sinks, positive, own, first_row, plan, soft,
    scratch, bodies, counters, size, entries, n_entries,
):  # fmt: skip
    """Count all segments of one source, tail by tail, and move the totals to the table."""
    # Arrays are taken out of their tuples once a source: a tuple handed to a function in the
    # inner loop would cost an atomic reference count for every array in it.
    order, rows, start, stop, tail_v, _, _ = tails
    near_slot, _, near_start, near_stop, near_head, _, _, near_times = near
    far_slot, _, far_start, far_stop, far_head, _, _, far_times = far
    counts, touched, seen, met, folded = scratch
    always_careful = soft or plan.distinct
    bits, keep, deep = plan.bits, plan.keep_entries, plan.max_length > 2
    segment = 0
    while segment < segments:
        tail = order[segment] >> np.uint64(32)
        steps = 0 if tail == 0 else length
        mark, n_heads = n_entries, 0
        while segment < segments and order[segment] >> np.uint64(32) == tail:
            index = order[segment] & np.uint64(0xFFFFFFFF)
            row = rows[index]
            n_touched = n_bodies = 0
            if always_careful or own[row]:
                n_touched, bodies, n_bodies = count_one_by_one(
                    tails, segment, steps, near, far, codes, a, sinks[row], own[row], plan,
                    scratch, bodies,
                )  # fmt: skip
            else:
                if steps < 2:
                    n_touched = count_fast(
                        near_slot, near_start, near_stop, near_head, near_times,
                        tail_v, start[index], stop[index], counts, touched, 0,
                    )  # fmt: skip
                if steps == 2 or (steps == 1 and deep):
                    n_touched = count_fast(
                        far_slot, far_start, far_stop, far_head, far_times,
                        tail_v, start[index], stop[index], counts, touched, n_touched,
                    )  # fmt: skip
            n_heads = fold_counts(
                counts, touched, n_touched, folded, seen, met, positive[row], n_heads
            )
            if keep and soft:
                entries, n_entries, n_heads = store_bodies(
                    bodies[:n_bodies], scratch, first_row + row, entries, n_entries, n_heads
                )
            elif keep:
                entries, n_entries = store_counts(
                    scratch, n_touched, first_row + row, entries, n_entries
                )
            for i in range(n_touched):
                counts[touched[i]] = 0
            segment += 1
        shift = np.uint64(bits * steps)
        counters, size = flush(scratch, n_heads, codes, shift, tail, plan.frozen, counters, size)
        n_entries = resolve(entries, mark, n_entries, scratch.touched)
    return bodies, counters, size, entries, n_entries


@njit(cache=True, nogil=True)
def fresh_heads(slot):
    """Empty heads over a prepared slot array (all -1)."""
    return Heads(
        slot,
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int64),
        np.empty(64, dtype=np.int64),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def fresh_scratch(heads):
    """Zeroed scratch for that many heads."""
    return Scratch(
        np.zeros(heads, dtype=np.int64),
        np.zeros(heads, dtype=np.int32),
        np.zeros(heads, dtype=np.int32),
        np.zeros(heads, dtype=np.int32),
        np.zeros((heads, 3), dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def search_block(
    forward, backward, n_codes, plan, source, sink, positive, own, first_row,
    near_slot, far_slot, counters, size,
):  # fmt: skip
    """Search all targets of a block, which is sorted by source.

    `near_slot` and `far_slot` are the worker's arrays of -1, one place a node, and are left so.
    Returns the counters, how many sequences they hold, and the entries of the sparse table.
    """
    near, far = fresh_heads(near_slot), fresh_heads(far_slot)
    codes = np.empty(64, dtype=np.uint64)
    pairs = np.full(64, -1, dtype=np.int32)
    bodies = np.empty(64, dtype=np.uint64)
    keys = np.empty(64, dtype=np.uint64)
    scratch = fresh_scratch(64)
    tails = Tails(
        np.empty(64, dtype=np.uint64),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int64),
        np.empty(64, dtype=np.int64),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int32),
    )
    entries = Entries(
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int32),
        np.empty(64, dtype=np.int64),
    )
    n_entries = 0
    soft = len(forward.value) > 0
    begin = 0
    while begin < len(source):
        a = source[begin]
        end = begin
        while end < len(source) and source[end] == a:
            end += 1
        sinks = sink[begin:end]
        near, codes, near_slots, heads = first_steps(forward, a, plan, near, codes)
        far_slots = 0
        if plan.max_length > 2:
            everywhere = plan.max_length > 3
            if not everywhere:
                far, far_slots = want(backward, sinks, far)
            far, far_slots, steps_u, steps_v, steps_code, steps_deficit = middle_steps(
                forward, backward, near, near_slots, far, far_slots, everywhere
            )
            far, heads, codes, pairs = second_steps(
                (steps_u, steps_v, steps_code, steps_deficit), near, far, far_slots, plan,
                n_codes, heads, codes, pairs,
            )  # fmt: skip
        if heads > len(scratch.counts):
            scratch = fresh_scratch(2 * heads)
        if not (plan.distinct or soft or own[begin:end].any()):
            merge_equal(far, far_slots, scratch.counts)
        tails, segments = one_step_tails(backward, sinks, near, far, plan, tails)
        bodies, counters, size, entries, n_entries = count_tails(
            tails, segments, 1, near, far, codes, a, sinks, positive[begin:end], own[begin:end],
            first_row + begin, plan, soft, scratch, bodies, counters, size, entries, n_entries,
        )  # fmt: skip
        if plan.max_length > 3:
            for row in range(len(sinks)):
                tails, segments, keys = two_step_tails(
                    backward, sinks[row], row, far, plan, tails, keys
                )
                bodies, counters, size, entries, n_entries = count_tails(
                    tails, segments, 2, near, far, codes, a, sinks, positive[begin:end],
                    own[begin:end], first_row + begin, plan, soft, scratch, bodies, counters, size,
                    entries, n_entries,
                )  # fmt: skip
        near_slot[near.node[:near_slots]] = -1
        far_slot[far.node[:far_slots]] = -1
        begin = end
    return (
        counters,
        size,
        entries.row[:n_entries],
        entries.path[:n_entries],
        entries.body[:n_entries],
        entries.count[:n_entries],
    )


@njit(cache=True, nogil=True)
def filled(counters, keys):
    """Counters that know the given distinct keys, numbered in their order."""
    counters = reserved(counters, 0, len(keys))
    for i in range(len(keys)):
        identify(counters.slot_key, counters.slot_id, counters.key, i, keys[i], False)
    return counters


@njit(cache=True, nogil=True)
def two_step_cost(adjacency, nodes):
    """Edges within two steps of each node."""
    cost = np.zeros(len(nodes), dtype=np.int64)
    for i in range(len(nodes)):
        low, high = adjacency.offsets[nodes[i]], adjacency.offsets[nodes[i] + 1]
        cost[i] = high - low + degree_sum(adjacency, adjacency.neighbour[low:high])
    return cost
