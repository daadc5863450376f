"""The search for paths between the two ends a and c of a link: walks from both meet in the middle.

From c all walks of up to `suffix` steps are listed by the entity they reach. From a all walks of up
to `prefix` steps are enumerated, and walks of exactly `prefix` steps are joined with the list. A
path of `n` steps is found once: as a prefix alone if n <= prefix, otherwise as a prefix of `prefix`
steps and a suffix of n - prefix. No entity in between is a or c, so the link is never part of its
own path.

A path is one integer, `bits` bits per step, the last step in the lowest bits (`sequence_key`).
"""

# ruff: noqa: ANN001, ANN201, SIM109
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown

kernel = kernels("the discovery of paths")

#: The hash function of paths. The prime is far from powers of 2, which keys are made of. The
#: product of prime and factor has less than 63 bits.
PRIME, FACTOR = 1_500_450_271, 1_103_515_245


def open_links(links, entity, path, level):
    """Set a stack level to an entity's links: first and end, the first link's run, and the path."""
    level[0] = links.run_start[links.first_run[entity]]
    level[1] = links.run_start[links.first_run[entity + 1]]
    level[2] = links.first_run[entity]
    level[3] = path


def next_link(links, level):
    """The next link of a stack level, -1 after its last; its run becomes the run of the level."""
    at = level[0]
    if at == level[1]:
        return -1
    level[0] = at + 1
    while links.run_start[level[2] + 1] <= at:
        level[2] += 1
    return at


def list_suffixes(links, a, c, suffix, bits, node, key, size, stack):
    """List walks from c by the entity reached, as paths from there to c; returns how many."""
    found = 0
    depth = 0
    open_links(links, c, 0, stack[0])
    while depth >= 0 and found < len(node):
        at = next_link(links, stack[depth])
        if at < 0:
            depth -= 1
            continue
        v = links.end[at]
        if v == a or v == c:
            continue
        step = np.int64(links.run_step[stack[depth, 2]]) ^ 1
        path = (step << (bits * depth)) | stack[depth, 3]
        node[found], key[found], size[found] = v, path, depth + 1
        found += 1
        if depth + 1 < suffix:
            depth += 1
            open_links(links, v, path, stack[depth])
    return found


def walk_prefixes(links, a, c, own, prefix, bits, first, last, key, size, stack, out, most):
    """Enumerate walks from a and write the paths from a to c to `out`; returns how many."""
    found = 0
    visited = 0
    depth = 0
    open_links(links, a, 0, stack[0])
    while depth >= 0 and visited < most:
        at = next_link(links, stack[depth])
        if at < 0:
            depth -= 1
            continue
        visited += 1
        v = links.end[at]
        if v == a:
            continue
        path = (stack[depth, 3] << bits) | np.int64(links.run_step[stack[depth, 2]])
        if v == c:
            if path != own and found < len(out):
                out[found] = path
                found += 1
            continue
        if depth + 1 < prefix:
            depth += 1
            open_links(links, v, path, stack[depth])
        else:
            for i in range(first[v], last[v]):
                if found < len(out):
                    out[found] = (path << (bits * size[i])) | key[i]
                    found += 1
    return found


def list_distinct(keys, table, out):
    """Write every distinct key to `out`, and return how many there are; keys are positive.

    `table` becomes a hash table, faster than sorting: 2^m slots, at least twice as many as keys.
    """
    table[:] = 0
    found = 0
    for key in keys:
        at = (key % PRIME * FACTOR >> 15) & (len(table) - 1)
        while table[at] != 0 and table[at] != key:
            at = (at + 1) & (len(table) - 1)
        if table[at] == 0:
            table[at] = key
            out[found] = key
            found += 1
    return found


@kernel
def paths_between(links, starts, ends, step, prefix, suffix, bits, most, n_entities):
    """The distinct paths of each link from `starts` to `ends` along `step`, link after link."""
    node = np.empty(most, dtype=np.int64)
    key = np.empty(most, dtype=np.int64)
    size = np.empty(most, dtype=np.int64)
    first = np.zeros(n_entities, dtype=np.int64)
    last = np.zeros(n_entities, dtype=np.int64)
    out = np.empty(most, dtype=np.int64)
    stack = np.zeros((8, 4), dtype=np.int64)
    total = np.empty(1024, dtype=np.int64)
    table = np.empty(0, dtype=np.int64)
    filled = 0
    for i in range(len(starts)):
        a, c = starts[i], ends[i]
        if a == c:
            continue
        count = 0
        if suffix > 0:
            count = list_suffixes(links, a, c, suffix, bits, node, key, size, stack)
            order = np.argsort(node[:count], kind="mergesort")
            by_node, by_key, by_size = node[order], key[order], size[order]
            for k in range(count):
                if k == 0 or by_node[k] != by_node[k - 1]:
                    first[by_node[k]] = k
                last[by_node[k]] = k + 1
        else:
            by_node, by_key, by_size = node[:0], key[:0], size[:0]
        found = walk_prefixes(
            links, a, c, step, prefix, bits, first, last, by_key, by_size, stack, out, most
        )
        for k in range(count):
            first[by_node[k]] = 0
            last[by_node[k]] = 0
        total = grown(total, filled, found)
        slots = 16
        while slots < 2 * found:
            slots *= 2
        if slots > len(table):
            table = np.empty(slots, dtype=np.int64)
        filled += list_distinct(out[:found], table[:slots], total[filled:])
    return total[:filled]
