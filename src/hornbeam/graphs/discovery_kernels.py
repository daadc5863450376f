"""The search for paths between the two ends of a link, in the middle.

From c all walks of up to `tail` steps are listed by the entity they reach; from a all walks of up
to `head` steps are run over, and the last of them are joined with the list. A path of `n` steps is
found once: by its head alone where n <= head, otherwise as `head` steps and n - head of a tail. No
entity in between is a or c, so that the link itself is never part of its own path.

A path is one number, `bits` bits per step, its last step in the lowest (`sequence_key`).
"""

# ruff: noqa: ANN001, ANN201, SIM109
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.compiled import kernels

kernel = kernels("the discovery of paths")

#: Where a path is looked for in a table of them. The prime is far from powers of 2, which keys are
#: made of, and the product of both has less than 63 bits.
PRIME, FACTOR = 1_500_450_271, 1_103_515_245


def open_links(links, entity, path, level):
    """Begin with the links of an entity that a path leads to: from, to, their run, the path."""
    level[0] = links.run_start[links.first_run[entity]]
    level[1] = links.run_start[links.first_run[entity + 1]]
    level[2] = links.first_run[entity]
    level[3] = path


def list_tails(links, a, c, tail, bits, node, key, size, stack):
    """List walks from c by their end, as paths from there to c; the number of them."""
    found = 0
    depth = 0
    open_links(links, c, 0, stack[0])
    while depth >= 0 and found < len(node):
        at = stack[depth, 0]
        if at == stack[depth, 1]:
            depth -= 1
            continue
        stack[depth, 0] = at + 1
        run = stack[depth, 2]
        while links.run_start[run + 1] <= at:
            run += 1
        stack[depth, 2] = run
        v = links.end[at]
        if v == a or v == c:
            continue
        step = np.int64(links.run_step[run]) ^ 1
        path = (step << (bits * depth)) | stack[depth, 3]
        node[found], key[found], size[found] = v, path, depth + 1
        found += 1
        if depth + 1 < tail:
            depth += 1
            open_links(links, v, path, stack[depth])
    return found


def run_heads(links, a, c, own, head, bits, first, last, key, size, stack, out, most):
    """Run over walks from a; paths to c into `out`, the number of them."""
    found = 0
    looked = 0
    depth = 0
    open_links(links, a, 0, stack[0])
    while depth >= 0 and looked < most:
        at = stack[depth, 0]
        if at == stack[depth, 1]:
            depth -= 1
            continue
        looked += 1
        stack[depth, 0] = at + 1
        run = stack[depth, 2]
        while links.run_start[run + 1] <= at:
            run += 1
        stack[depth, 2] = run
        v = links.end[at]
        if v == a:
            continue
        path = (stack[depth, 3] << bits) | np.int64(links.run_step[run])
        if v == c:
            if path != own and found < len(out):
                out[found] = path
                found += 1
            continue
        if depth + 1 < head:
            depth += 1
            open_links(links, v, path, stack[depth])
        else:
            for i in range(first[v], last[v]):
                if found < len(out):
                    out[found] = (path << (bits * size[i])) | key[i]
                    found += 1
    return found


def list_distinct(keys, table, out):
    """List keys, which are positive, once each; the number of them.

    `table` has 2^m places, twice as many as there are keys: faster than to sort them.
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
def paths_between(links, starts, ends, step, head, tail, bits, most, n_entities):
    """Find the distinct paths of every link from `starts` to `ends` along `step`, all in one."""
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
        tails = 0
        if tail > 0:
            tails = list_tails(links, a, c, tail, bits, node, key, size, stack)
            order = np.argsort(node[:tails], kind="mergesort")
            by_node, by_key, by_size = node[:tails][order], key[:tails][order], size[:tails][order]
            for k in range(tails):
                if k == 0 or by_node[k] != by_node[k - 1]:
                    first[by_node[k]] = k
                last[by_node[k]] = k + 1
        else:
            by_node, by_key, by_size = node[:0], key[:0], size[:0]
        found = run_heads(
            links, a, c, step, head, bits, first, last, by_key, by_size, stack, out, most
        )
        for k in range(tails):
            first[by_node[k]] = 0
            last[by_node[k]] = 0
        if filled + found > len(total):
            larger = np.empty(2 * (filled + found), dtype=np.int64)
            for k in range(filled):
                larger[k] = total[k]
            total = larger
        slots = 16
        while slots < 2 * found:
            slots *= 2
        if slots > len(table):
            table = np.empty(slots, dtype=np.int64)
        filled += list_distinct(out[:found], table[:slots], total[filled:])
    return total[:filled]
