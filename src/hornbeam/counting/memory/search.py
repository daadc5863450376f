"""The path search: one pass that finds every relation sequence and counts its paths, exactly.

For one source a and all its targets (a, b) the search meets in the middle:

    prefixes   a -> u, and a -> u -> v     built once per source, kept only at nodes v from which
                                           a suffix of this source starts ("wanted")
    suffixes   v -> b, and v -> w -> b     visited once per target

A path of length s is a prefix and a suffix that share a node: lengths 1, 2, 3, 4 are split 1+0,
1+1, 2+1, 2+2. Nothing that no target reaches is stored, and the middle edges u -> v are found from
whichever side has fewer edges to look at.

Each prefix (a sequence of one or two codes) has a small number within its source, so that counting
is `counts[prefix] += 1` in an array that stays in the fastest cache; only the totals of a (source,
suffix) reach the table of all sequences. A sequence is one 64-bit key of `bits` bits per code.

No array is made in here: all come from `parallel.Worker`. Where an array lacks room, the
search stops, says so in `wanted`, and goes on when it is called again. A variable that is bound to
a new array costs reference counting at run time and accounts for half of the compile time. For the
same reason keys are sorted by hand, and numbers passed to a function are typed (`ZERO`): for a
literal Numba would compile the function again.
"""

# ruff: noqa: ANN001, ANN201, SIM109
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ids, Ints, Keys, Millionths
from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import contains

#: Truth value 1 in millionths (a literal here: kernels do not import).
ONE = 1_000_000
HALF = 500_000
#: Typed constants, instead of literals that are passed to functions (see above), and instead of
#: calls such as `np.uint64(32)`, which take time to compile.
ZERO, FIRST, SECOND = np.int64(0), np.int64(1), np.int64(2)
NO_BITS, LOWEST_BIT, KEY_BITS = np.uint64(0), np.uint64(1), np.uint64(64)
#: The lowest 32 bits of a key to be sorted are the index of its item.
INDEX_BITS, INDEX_MASK = np.uint64(32), np.uint64(0xFFFFFFFF)
#: A body of one target as one key: the prefix's number in the upper bits, the deficit (below 10^6)
#: in the lowest 20.
BODY_BITS, BODY_MASK = np.uint64(20), np.uint64(0xFFFFF)
DIGIT_BITS, DIGIT_MASK = np.uint64(6), np.uint64(63)
HASH_FACTOR, HASH_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
#: Bit of a deficit that marks a value that rounds to false.
NO_DEFICIT, FALSE_MARK = np.int32(0), np.int32(1 << 30)
NO_KEYS = np.empty(0, dtype=np.uint64)

#: How far a search is, by place in its `state`. `AT_ROW` is the row of the sink whose suffixes are
#: counted, -1 for the short suffixes of all sinks, and `NEW_SOURCE` where no prefixes are known;
#: `SEGMENTS` is -1 where no suffixes are. The sizes are those of counters and entries.
AT_SOURCE, AT_ROW, AT_SEGMENT, SEGMENTS, NEAR_SLOTS, FAR_SLOTS, PREFIXES, SIZE, ENTRIES = range(9)
STATES = 9
NEW_SOURCE = -2
#: What a search may lack room for, by place in `wanted`.
(
    ROOM_NEAR, ROOM_CODES, ROOM_FAR_NODES, ROOM_STEPS, ROOM_FAR_ITEMS, ROOM_PAIRS, ROOM_PREFIXES,
    ROOM_SUFFIXES, ROOM_BODIES, ROOM_COUNTERS, ROOM_ENTRIES,
) = (np.int64(i) for i in range(11))  # fmt: skip
ROOMS = 11

kernel = kernels("the path search")


class Counters(NamedTuple):
    """A hash table from sequence keys to dense ids, with the figures of every id.

    `figures` rows: targets connected, true targets connected, paths.
    """

    slot_key: Keys
    slot_id: Ids
    key: Keys
    figures: Ints


class Entries(NamedTuple):
    """Columns of the sparse table: target row, body (sequence id), truth, paths."""

    row: Ids
    body: Ids
    truth: Millionths
    paths: Ints


class Prefixes(NamedTuple):
    """Half-paths by the node they end in: node -> slot -> items [start, stop).

    An item is a prefix, the node `via` which it came, its deficit, and how many `times` it occurs.
    """

    slot: Ids
    node: Ids
    start: Ints
    stop: Ints
    prefix: Ids
    via: Ids
    deficit: Millionths
    times: Ids


class PrefixNumbers(NamedTuple):
    """The codes of every prefix of a source, and the numbers of pairs of codes.

    `pair[h * n_codes + code]` is the number of prefix h and one more code, -1 unseen, -2 not
    permitted.
    """

    code: Keys
    pair: Ids


class SearchPlan(NamedTuple):
    """What to search for.

    `own_code` is the code of a step from source to target along the target predicate. In a
    `frozen` search only known sequences count; `first`, `pair` and `last` are their sorted
    first codes, first two codes and last codes.
    """

    max_length: int
    distinct: bool
    bits: int
    keep_entries: bool
    own_code: int = 0
    frozen: bool = False
    first: Keys = NO_KEYS
    pair: Keys = NO_KEYS
    last: Keys = NO_KEYS


def lacks(wanted, room, needed, size):
    """Whether an array is too small for what is needed; if so, notes that size in `wanted`."""
    if needed > size:
        wanted[room] = needed
        return True
    return False


def slot_of(slot_key, key):
    """Slot of a key, or the empty slot where it belongs (Fibonacci hashing, linear probing)."""
    mask = np.uint64(len(slot_key) - 1)
    mixed = key * HASH_FACTOR
    place = (mixed ^ (mixed >> HASH_SHIFT)) & mask
    while slot_key[place] != 0 and slot_key[place] != key:
        place = (place + LOWEST_BIT) & mask
    return place


def sort_keys(keys, n, shift, places):
    """Sort the first n keys by their bits from `shift` on, stably and in linear time.

    The n places behind them are overwritten. Keys are moved once per group of six bits in which
    some of them differ; `places` has 64 numbers.
    """
    differing = NO_BITS
    for i in range(n):
        differing |= keys[i] ^ keys[0]
    here, there = ZERO, n
    while shift < KEY_BITS and differing >> shift:
        if (differing >> shift) & DIGIT_MASK:
            for digit in range(len(places)):
                places[digit] = 0
            for i in range(here, here + n):
                places[(keys[i] >> shift) & DIGIT_MASK] += 1
            place = there
            for digit in range(len(places)):
                size = places[digit]
                places[digit] = place
                place += size
            for i in range(here, here + n):
                digit = (keys[i] >> shift) & DIGIT_MASK
                keys[places[digit]] = keys[i]
                places[digit] += 1
            here, there = there, here
        shift += DIGIT_BITS
    if here > 0:
        for i in range(n):
            keys[i] = keys[n + i]


def is_own(x, y, code, a, b, own_code):
    """Whether the step x -> y is the target's own edge, walked either way."""
    forth = x == a and y == b and code == own_code
    back = x == b and y == a and code == (own_code ^ 1)
    return forth or back


class MiddleSteps(NamedTuple):
    """Edges u -> v in the middle of paths."""

    u: Ids
    v: Ids
    code: Ids
    deficit: Millionths


def deficit_of(value):
    """1 - x of an edge in millionths; bit 30 marks a value that rounds to false."""
    return np.int32((ONE - value) | (1 << 30 if value < HALF else 0))


def joined(one, other):
    """Sum of two deficits (below 4 x 10^6) that keeps the mark of rounding to false."""
    return ((one & ~FALSE_MARK) + (other & ~FALSE_MARK)) | ((one | other) & FALSE_MARK)


def first_steps(adjacency, a, plan, near, codes):
    """Fill `near` with the prefixes of one step; `codes[h]` is the code of prefix h."""
    low, high = adjacency.offsets[a], adjacency.offsets[a + 1]
    neighbour, code, value = adjacency.neighbour, adjacency.code, adjacency.value
    slot, node, start, stop = near.slot, near.node, near.start, near.stop
    prefix, via, deficit, times = near.prefix, near.via, near.deficit, near.times
    frozen, soft, first = plan.frozen, len(value) > 0, plan.first
    slots = 0
    for edge in range(low, high):
        if frozen and not contains(first, np.uint64(code[edge])):
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
    prefixes = 0
    for edge in range(low, high):
        if frozen and not contains(first, np.uint64(code[edge])):
            continue
        if prefixes == 0 or codes[prefixes - 1] != code[edge]:
            codes[prefixes] = code[edge]
            prefixes += 1
        s = slot[neighbour[edge]]
        place = stop[s]
        prefix[place] = prefixes - 1
        via[place] = neighbour[edge]
        deficit[place] = deficit_of(value[edge]) if soft else 0
        times[place] = 1
        stop[s] = place + 1
    return slots, prefixes


def degree_sum(adjacency, nodes):
    """Number of edges at some nodes."""
    total = 0
    for v in nodes:
        total += adjacency.offsets[v + 1] - adjacency.offsets[v]
    return total


def mark_wanted(adjacency, nodes, far):
    """Mark the neighbours of some nodes as wanted: give each a slot in `far`; their number."""
    offsets, neighbour = adjacency.offsets, adjacency.neighbour
    slot, node, slots = far.slot, far.node, 0
    for x in nodes:
        for edge in range(offsets[x], offsets[x + 1]):
            y = neighbour[edge]
            if slot[y] < 0:
                slot[y] = slots
                node[slots] = y
                slots += 1
    return slots


def middle_steps(forward, backward, near, near_slots, far, far_slots, steps, wanted):
    """Edges u -> v between the first steps and the wanted nodes; their number, -1 without room."""
    outer, inner = near.node[:near_slots], far.node[:far_slots]
    from_near, from_far = degree_sum(forward, outer), degree_sum(backward, inner)
    if lacks(wanted, ROOM_STEPS, min(from_near, from_far), len(steps.u)):
        return -1
    if from_near <= from_far:
        return walk_middle(forward, outer, far.slot, steps.u, steps.v, ZERO, steps)
    return walk_middle(backward, inner, near.slot, steps.v, steps.u, FIRST, steps)


def walk_middle(adjacency, nodes, wanted, here, there, turn, steps):
    """Collect the edges from some nodes to wanted ones; `turn` is 1 where they are walked back."""
    offsets, neighbour, codes, value = adjacency
    code, deficit = steps.code, steps.deficit
    soft = len(value) > 0
    size = 0
    for x in nodes:
        for edge in range(offsets[x], offsets[x + 1]):
            y = neighbour[edge]
            if wanted[y] >= 0:
                here[size] = x
                there[size] = y
                code[size] = codes[edge] ^ turn
                deficit[size] = deficit_of(value[edge]) if soft else 0
                size += 1
    return size


def second_steps(
    steps, n_steps, near, far, far_slots, plan, n_codes, prefixes, codes, pairs, wanted,
):  # fmt: skip
    """Fill `far` with the prefixes of two steps, numbered after those of one step.

    Returns the number of all prefixes, or -1 without room.
    """
    steps_u, steps_v, steps_code, steps_deficit = steps
    near_slot, near_start, near_stop = near.slot, near.start, near.stop
    near_prefix, near_deficit = near.prefix, near.deficit
    far_slot, far_start, far_stop = far.slot, far.start, far.stop
    frozen, bits, known = plan.frozen, np.uint64(plan.bits), plan.pair
    for t in range(far_slots):
        far_stop[t] = 0
    for i in range(n_steps):
        s = near_slot[steps_u[i]]
        far_stop[far_slot[steps_v[i]]] += near_stop[s] - near_start[s]
    total = ZERO
    for t in range(far_slots):
        far_start[t] = total
        total += far_stop[t]
        far_stop[t] = far_start[t]
    if (
        lacks(wanted, ROOM_PAIRS, prefixes * n_codes, len(pairs))
        or lacks(wanted, ROOM_FAR_ITEMS, total, len(far.prefix))
        or lacks(wanted, ROOM_CODES, prefixes + min(total, prefixes * n_codes), len(codes))
    ):
        return -1
    far_prefix, far_via, far_deficit, far_times = far.prefix, far.via, far.deficit, far.times
    for i in range(n_steps):
        s = near_slot[steps_u[i]]
        t = far_slot[steps_v[i]]
        place = far_stop[t]
        for item in range(near_start[s], near_stop[s]):
            at = near_prefix[item] * n_codes + steps_code[i]
            if pairs[at] == -1:
                key = (codes[near_prefix[item]] << bits) | np.uint64(steps_code[i])
                pairs[at] = -2
                if not frozen or contains(known, key):
                    codes[prefixes] = key
                    pairs[at] = prefixes
                    prefixes += 1
            if pairs[at] >= 0:
                far_prefix[place] = pairs[at]
                far_via[place] = steps_u[i]
                far_deficit[place] = joined(near_deficit[item], steps_deficit[i])
                far_times[place] = 1
                place += 1
        far_stop[t] = place
    # the next source numbers its pairs from the start
    for i in range(n_steps):
        s = near_slot[steps_u[i]]
        for item in range(near_start[s], near_stop[s]):
            pairs[near_prefix[item] * n_codes + steps_code[i]] = -1
    return prefixes


def find_prefixes(
    forward, backward, n_codes, plan, a, sinks, near, far, steps, numbers, scratch, state, wanted,
):  # fmt: skip
    """Fill `near` and `far` with the prefixes of a source; returns whether there was room."""
    codes, pairs = numbers
    degree = forward.offsets[a + 1] - forward.offsets[a]
    if lacks(wanted, ROOM_NEAR, degree, len(near.node)) or lacks(
        wanted, ROOM_CODES, degree + 1, len(codes)
    ):
        return False
    slots, prefixes = first_steps(forward, a, plan, near, codes)
    state[NEAR_SLOTS] = slots
    if plan.max_length > 2:
        # the last two of four steps are not known yet: all nodes within two steps are wanted
        ahead = plan.max_length > 3
        nodes, adjacency = near.node[:slots] if ahead else sinks, forward if ahead else backward
        most = min(degree_sum(adjacency, nodes), len(far.slot))
        if lacks(wanted, ROOM_FAR_NODES, most, len(far.node)):
            return False
        far_slots = mark_wanted(adjacency, nodes, far)
        state[FAR_SLOTS] = far_slots
        n_steps = middle_steps(forward, backward, near, slots, far, far_slots, steps, wanted)
        if n_steps < 0:
            return False
        prefixes = second_steps(
            steps, n_steps, near, far, far_slots, plan, n_codes, prefixes, codes, pairs, wanted
        )
        if prefixes < 0:
            return False
    state[PREFIXES] = prefixes
    return not lacks(wanted, ROOM_PREFIXES, prefixes, len(scratch.counts))


def count_merged(slot, start, stop, prefix, times, nodes, low, high, counts, touched, n_touched):
    """Count every prefix that ends in one of the nodes [low, high): one addition per item."""
    for i in range(low, high):
        s = slot[nodes[i]]
        if s >= 0:
            for item in range(start[s], stop[s]):
                h = prefix[item]
                if counts[h] == 0:
                    touched[n_touched] = h
                    n_touched += 1
                counts[h] += times[item]
    return n_touched


def merge_equal(prefixes, slots, counts):
    """Merge the items of one node that have the same prefix into one with the sum of `times`."""
    start, stop, prefix, times = prefixes.start, prefixes.stop, prefixes.prefix, prefixes.times
    for s in range(slots):
        place = start[s]
        for item in range(start[s], stop[s]):
            h = prefix[item]
            if counts[h] == 0:
                prefix[place] = h
                place += 1
            counts[h] += 1
        for item in range(start[s], place):
            times[item] = counts[prefix[item]]
            counts[prefix[item]] = 0
        stop[s] = place


class Suffixes(NamedTuple):
    """Half-paths into the sinks of one source, in segments of one (suffix, target) each.

    `order` sorts the segments by suffix. `v` is where a suffix starts, `w` its inner node or -1.
    `order`, `v`, `w`, `deficit` and `key` have twice the room, for sorting.
    """

    key: Keys
    order: Keys
    row: Ids
    start: Ints
    stop: Ints
    v: Ids
    w: Ids
    deficit: Millionths


class Scratch(NamedTuple):
    """Arrays for counting one (source, suffix), by prefix number; zero between uses.

    `counts` are those of one target and `folded` those of all targets so far (connected, true
    ones connected, paths); `touched` and `met` list the prefixes in either, and `seen` marks those
    that are met without a count. `bodies` collects (prefix, deficit) of one target's paths, with
    twice the room, for sorting; `places` are those of digits.
    """

    counts: Ints
    touched: Ids
    seen: Ids
    met: Ids
    folded: Ints
    bodies: Keys
    places: Ints


def one_step_suffixes(backward, sinks, near, far, plan, suffixes, places, wanted):
    """The empty suffix and the suffixes of one step of every sink that meet some prefix.

    Returns the number of segments, -1 without room.
    """
    _, order, rows, start, stop, suffix_v, suffix_w, deficit = suffixes
    if lacks(wanted, ROOM_SUFFIXES, degree_sum(backward, sinks) + len(sinks), len(rows)):
        return -1
    offsets, neighbour, codes, value = backward
    near_slot, far_slot, soft = near.slot, far.slot, len(value) > 0
    max_length, frozen, last = plan.max_length, plan.frozen, plan.last
    segments = items = 0
    for row in range(len(sinks)):
        b = sinks[row]
        low, high = offsets[b], offsets[b + 1]
        if near_slot[b] >= 0:
            order[segments] = np.uint64(segments)
            rows[segments] = row
            start[segments] = items
            suffix_v[items] = b
            suffix_w[items] = -1
            deficit[items] = 0
            items += 1
            stop[segments] = items
            segments += 1
        if max_length < 2:
            continue
        edge = low
        while edge < high:
            code = codes[edge]
            begin = items
            while edge < high and codes[edge] == code:
                v = neighbour[edge]
                if near_slot[v] >= 0 or far_slot[v] >= 0:
                    suffix_v[items] = v
                    suffix_w[items] = -1
                    deficit[items] = deficit_of(value[edge]) if soft else 0
                    items += 1
                edge += 1
            if items > begin and (not frozen or contains(last, np.uint64(code ^ 1))):
                order[segments] = (np.uint64(code ^ 1) << INDEX_BITS) | np.uint64(segments)
                rows[segments] = row
                start[segments] = begin
                stop[segments] = items
                segments += 1
    sort_keys(order, segments, INDEX_BITS, places)
    return segments


def two_step_suffixes(backward, b, row, far, plan, suffixes, places, wanted):
    """The suffixes of two steps of one sink in segments; their number, -1 without room."""
    offsets, neighbour, codes, value = backward
    low, high = offsets[b], offsets[b + 1]
    most = degree_sum(backward, neighbour[low:high])
    keys, order, rows, start, stop, suffix_v, suffix_w, deficit = suffixes
    if lacks(wanted, ROOM_SUFFIXES, most, len(rows)):
        return -1
    # items are found in the second half of their arrays and sorted into the first
    far_slot, soft, bits = far.slot, len(value) > 0, np.uint64(plan.bits)
    frozen, known, items = plan.frozen, plan.last, 0
    for edge in range(low, high):
        last = np.uint64(codes[edge] ^ 1)
        if frozen and not contains(known, last):
            continue
        w = neighbour[edge]
        first_deficit = deficit_of(value[edge]) if soft else NO_DEFICIT
        for inner in range(offsets[w], offsets[w + 1]):
            v = neighbour[inner]
            if far_slot[v] >= 0:
                pair = (np.uint64(codes[inner] ^ 1) << bits) | last
                keys[items] = (pair << INDEX_BITS) | np.uint64(items)
                suffix_v[most + items] = v
                suffix_w[most + items] = w
                deficit[most + items] = (
                    joined(first_deficit, deficit_of(value[inner])) if soft else 0
                )
                items += 1
    sort_keys(keys, items, INDEX_BITS, places)
    segments = 0
    for i in range(items):
        suffix, item = keys[i] >> INDEX_BITS, most + np.int64(keys[i] & INDEX_MASK)
        suffix_v[i], suffix_w[i], deficit[i] = suffix_v[item], suffix_w[item], deficit[item]
        if segments == 0 or order[segments - 1] >> INDEX_BITS != suffix:
            order[segments] = (suffix << INDEX_BITS) | np.uint64(segments)
            rows[segments] = row
            start[segments] = i
            segments += 1
        stop[segments - 1] = i + 1
    return segments


def repeats(level, length, a, u, v, w, b):
    """Whether two nodes of a path are the same; absent nodes equal their neighbour or are -1."""
    if a == b or u == a or v == a or w == a or w == b or w == v or w == u:
        return True
    return (level == 2 and (u == b or u == v)) or (length > 0 and v == b)


def takes_own(steps, key, bits, x, y, z, a, b, own_code):
    """Whether a half-path, x -> z or x -> y -> z by its steps, takes the target's own edge."""
    last = key & ((LOWEST_BIT << bits) - LOWEST_BIT)
    if steps == 1:
        return is_own(x, z, last, a, b, own_code)
    return steps == 2 and (
        is_own(x, y, key >> bits, a, b, own_code) or is_own(y, z, last, a, b, own_code)
    )


def count_each_path(
    prefixes, level, codes, suffixes, index, suffix, length, a, b, own, plan, soft,
    scratch, n_touched, n_bodies,
):  # fmt: skip
    """Count the paths of one segment by prefix where each must be checked.

    A path is a, u, v, w, b: for prefixes of one step (`level` 1) u = v, for suffixes of one step
    w is -1, and v = b where the suffix is empty.
    """
    slot, _, start, stop, prefix, via, prefix_deficit, _ = prefixes
    suffix_v, suffix_w, suffix_deficit = suffixes.v, suffixes.w, suffixes.deficit
    counts, touched, bodies = scratch.counts, scratch.touched, scratch.bodies
    own_code, distinct, bits = plan.own_code, plan.distinct, np.uint64(plan.bits)
    collect = soft and plan.keep_entries
    for i in range(suffixes.start[index], suffixes.stop[index]):
        v, w = suffix_v[i], suffix_w[i]
        s = slot[v]
        if s < 0 or (own and takes_own(length, suffix, bits, v, w, b, a, b, own_code)):
            continue
        for item in range(start[s], stop[s]):
            h, u = prefix[item], via[item]
            if distinct and repeats(level, length, a, u, v, w, b):
                continue
            if (
                own
                and (u == a or u == b)
                and takes_own(level, codes[h], bits, a, u, v, a, b, own_code)
            ):
                continue
            deficit = joined(prefix_deficit[item], suffix_deficit[i])
            if not deficit & FALSE_MARK:
                if counts[h] == 0:
                    touched[n_touched] = h
                    n_touched += 1
                counts[h] += 1
            if collect and (deficit & ~FALSE_MARK) < ONE:
                bodies[n_bodies] = (np.uint64(h) << BODY_BITS) | np.uint64(deficit & ~FALSE_MARK)
                n_bodies += 1
    return n_touched, n_bodies


def fold_counts(counts, touched, n_touched, folded, seen, met, is_true, n_prefixes):
    """Add one target's counts to those of its (source, suffix)."""
    for i in range(n_touched):
        h = touched[i]
        if folded[h, 0] == 0 and seen[h] == 0:
            met[n_prefixes] = h
            n_prefixes += 1
        folded[h, 0] += 1
        folded[h, 1] += is_true
        folded[h, 2] += counts[h]
    return n_prefixes


def store_counts(scratch, n_touched, target, entries, size):
    """Append one target's path counts to the sparse table."""
    row, body, truth, count = entries
    counts, touched = scratch.counts, scratch.touched
    for i in range(n_touched):
        h = touched[i]
        row[size + i] = target
        body[size + i] = h
        truth[size + i] = ONE
        count[size + i] = counts[h]
    return size + n_touched


def store_bodies(scratch, n_bodies, target, entries, size, n_prefixes):
    """Append one target's truths of bodies, equal ones grouped, to the sparse table."""
    row, body, truth, count = entries
    bodies, seen, met, folded = scratch.bodies, scratch.seen, scratch.met, scratch.folded
    sort_keys(bodies, n_bodies, NO_BITS, scratch.places)
    i = 0
    while i < n_bodies:
        run = i
        while run < n_bodies and bodies[run] == bodies[i]:
            run += 1
        h = np.int64(bodies[i] >> BODY_BITS)
        if folded[h, 0] == 0 and seen[h] == 0:
            # no path of this prefix rounds to true, yet some have a positive body
            met[n_prefixes] = h
            n_prefixes += 1
            seen[h] = 1
        row[size] = target
        body[size] = h
        truth[size] = ONE - np.int64(bodies[i] & BODY_MASK)
        count[size] = run - i
        size += 1
        i = run
    return size, n_prefixes


def flush(scratch, n_prefixes, codes, shift, suffix, frozen, counters, size):
    """Move the figures of one (source, suffix) to the counters; `touched[h]` becomes h's id.

    A new sequence gets the next id, or -1 where the search is frozen.
    """
    slot_key, slot_id, keys, figures = counters
    folded, prefixes, ids, seen = scratch.folded, scratch.met, scratch.touched, scratch.seen
    for i in range(n_prefixes):
        h = prefixes[i]
        key = (codes[h] << shift) | suffix
        place = slot_of(slot_key, key)
        if slot_key[place] == 0 and not frozen:
            slot_key[place] = key
            slot_id[place] = size
            keys[size] = key
            size += 1
        body = slot_id[place] if slot_key[place] == key else -1
        for k in range(3):
            if body >= 0:
                figures[k, body] += folded[h, k]
            folded[h, k] = 0
        seen[h] = 0
        ids[h] = body
    return size


def resolve(entries, mark, size, ids):
    """Replace prefix numbers from `mark` on by sequence ids, drop unknown ones; the new size."""
    row, body, truth, count = entries
    kept = mark
    for i in range(mark, size):
        known = ids[body[i]]
        if known >= 0:
            row[kept], truth[kept], count[kept] = row[i], truth[i], count[i]
            body[kept] = known
            kept += 1
    return kept


def rows_at_most(suffixes, segment, end, use_near, use_far, near, far, prefixes, soft):
    """Upper bound on the rows of the sparse table from the segments [segment, end)."""
    order, start, stop, suffix_v = suffixes.order, suffixes.start, suffixes.stop, suffixes.v
    near_slot, _, near_start, near_stop, _, _, _, _ = near
    far_slot, _, far_start, far_stop, _, _, _, _ = far
    total = 0
    for k in range(segment, end):
        index = order[k] & INDEX_MASK
        paths = 0
        for i in range(start[index], stop[index]):
            s, t = near_slot[suffix_v[i]], far_slot[suffix_v[i]]
            if use_near and s >= 0:
                paths += near_stop[s] - near_start[s]
            if use_far and t >= 0:
                paths += far_stop[t] - far_start[t]
        total += paths if soft else min(paths, prefixes)
    return total


def count_suffixes(
    suffixes, length, near, far, codes, a, sinks, positive, own, first_row, plan, soft, scratch,
    counters, entries, state, wanted,
):  # fmt: skip
    """Count the segments of one source, suffix by suffix; add totals to counters.

    Returns whether there was room for all; the state says where to go on.
    """
    _, order, rows, start, stop, suffix_v, _, _ = suffixes
    near_slot, _, near_start, near_stop, near_prefix, _, _, near_times = near
    far_slot, _, far_start, far_stop, far_prefix, _, _, far_times = far
    counts, touched, seen, met, folded, bodies, _ = scratch
    segment, segments, prefixes = state[AT_SEGMENT], state[SEGMENTS], state[PREFIXES]
    size, n_entries = state[SIZE], state[ENTRIES]
    always_careful = soft or plan.distinct
    keep, frozen = plan.keep_entries, plan.frozen
    while segment < segments:
        state[AT_SEGMENT], state[SIZE], state[ENTRIES] = segment, size, n_entries
        suffix, end = order[segment] >> INDEX_BITS, segment + 1
        while end < segments and order[end] >> INDEX_BITS == suffix:
            end += 1
        steps = 0 if suffix == 0 else length
        use_near, use_far = steps < 2, steps == 2 or (steps == 1 and plan.max_length > 2)
        if keep:
            needed = rows_at_most(
                suffixes, segment, end, use_near, use_far, near, far, prefixes, soft
            )
            if lacks(wanted, ROOM_ENTRIES, n_entries + needed, len(entries.row)) or (
                soft and lacks(wanted, ROOM_BODIES, 2 * needed, len(bodies))
            ):
                return False
        if not frozen and lacks(wanted, ROOM_COUNTERS, size + prefixes, len(counters.key)):
            return False
        mark, n_prefixes = n_entries, ZERO
        for k in range(segment, end):
            index = order[k] & INDEX_MASK
            row = rows[index]
            n_touched = n_bodies = ZERO
            if always_careful or own[row]:
                if use_near:
                    n_touched, n_bodies = count_each_path(
                        near, FIRST, codes, suffixes, index, suffix, steps, a, sinks[row], own[row],
                        plan, soft, scratch, n_touched, n_bodies,
                    )  # fmt: skip
                if use_far:
                    n_touched, n_bodies = count_each_path(
                        far, SECOND, codes, suffixes, index, suffix, steps, a, sinks[row], own[row],
                        plan, soft, scratch, n_touched, n_bodies,
                    )  # fmt: skip
            else:
                if use_near:
                    n_touched = count_merged(
                        near_slot, near_start, near_stop, near_prefix, near_times,
                        suffix_v, start[index], stop[index], counts, touched, n_touched,
                    )  # fmt: skip
                if use_far:
                    n_touched = count_merged(
                        far_slot, far_start, far_stop, far_prefix, far_times,
                        suffix_v, start[index], stop[index], counts, touched, n_touched,
                    )  # fmt: skip
            n_prefixes = fold_counts(
                counts, touched, n_touched, folded, seen, met, positive[row], n_prefixes
            )
            if keep and soft:
                n_entries, n_prefixes = store_bodies(
                    scratch, n_bodies, first_row + row, entries, n_entries, n_prefixes
                )
            elif keep:
                n_entries = store_counts(scratch, n_touched, first_row + row, entries, n_entries)
            for i in range(n_touched):
                counts[touched[i]] = 0
        size = flush(
            scratch, n_prefixes, codes, np.uint64(plan.bits * steps), suffix, frozen, counters, size
        )
        n_entries = resolve(entries, mark, n_entries, touched)
        segment = end
    state[AT_SEGMENT], state[SIZE], state[ENTRIES] = segment, size, n_entries
    return True


def clear_slots(prefixes, slots):
    """Set the slots of all nodes back to -1."""
    slot, node = prefixes.slot, prefixes.node
    for s in range(slots):
        slot[node[s]] = -1


@kernel
def search_block(
    forward, backward, n_codes, plan, source, sink, positive, own, first_row,
    near, far, steps, numbers, suffixes, scratch, entries, counters, state, wanted,
):  # fmt: skip
    """Search all targets of a block, which is sorted by source; returns whether that is done.

    Where an array lacks room, the search stops; called again with the same state, it goes on with
    the same source, and with the same segment where that source has been counted in part.
    """
    soft = len(forward.value) > 0
    while state[AT_SOURCE] < len(source):
        begin = state[AT_SOURCE]
        a, end, any_own = source[begin], begin, False
        while end < len(source) and source[end] == a:
            any_own |= own[end]
            end += 1
        sinks, labels, owned = sink[begin:end], positive[begin:end], own[begin:end]
        if state[AT_ROW] == NEW_SOURCE:
            state[NEAR_SLOTS] = state[FAR_SLOTS] = 0
            if not find_prefixes(
                forward, backward, n_codes, plan, a, sinks, near, far, steps, numbers, scratch,
                state, wanted,
            ):  # fmt: skip
                clear_slots(near, state[NEAR_SLOTS])
                clear_slots(far, state[FAR_SLOTS])
                return False
            if not (plan.distinct or soft or any_own):
                merge_equal(far, state[FAR_SLOTS], scratch.counts)
            state[AT_ROW], state[SEGMENTS] = -1, -1
        # suffixes of up to one step of all sinks together, then those of two steps, sink by sink
        while state[AT_ROW] < (len(sinks) if plan.max_length > 3 else 0):
            row = state[AT_ROW]
            if state[SEGMENTS] < 0:
                if row < 0:
                    segments = one_step_suffixes(
                        backward, sinks, near, far, plan, suffixes, scratch.places, wanted
                    )
                else:
                    segments = two_step_suffixes(
                        backward, sinks[row], row, far, plan, suffixes, scratch.places, wanted
                    )
                state[AT_SEGMENT], state[SEGMENTS] = 0, segments
                if segments < 0:
                    return False
            if not count_suffixes(
                suffixes, FIRST if row < 0 else SECOND, near, far, numbers.code, a, sinks, labels,
                owned, first_row + begin, plan, soft, scratch, counters, entries, state, wanted,
            ):  # fmt: skip
                return False
            state[AT_ROW], state[SEGMENTS] = row + 1, -1
        clear_slots(near, state[NEAR_SLOTS])
        clear_slots(far, state[FAR_SLOTS])
        state[AT_SOURCE], state[AT_ROW] = end, NEW_SOURCE
    return True


@kernel
def enter_keys(slot_key, slot_id, keys):
    """Enter distinct keys into an empty hash table, numbered in their order."""
    for i in range(len(keys)):
        place = slot_of(slot_key, keys[i])
        slot_key[place] = keys[i]
        slot_id[place] = i
