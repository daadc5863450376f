"""Loops that add up shares of paths; see `hornbeam.counting.memory.shares` for the definition."""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import is_among, run_of, run_to

kernel = kernels("the shares of paths")


def edges_on(offsets, neighbour, code, node, wanted, last, end):
    """Range of the edges of a path's next step; those to its end if it is the last step."""
    if last:
        return run_to(offsets, neighbour, code, node, wanted, end)
    return run_of(offsets, code, node, wanted)


def seen_weight(u, v, c, a, b, own_code, out, into):
    """Weight of a step u -> v for a target a -> b; `own_code` is that of its own edge, or 0.

    The own edge is not walked (weight 0) and not counted in the degrees `out` and `into`.
    """
    if (u == a and v == b and c == own_code) or (u == b and v == a and c == own_code ^ 1):
        return 0.0
    out -= (u == a and c == own_code) or (u == b and c == own_code ^ 1)
    into -= (v == b and c == own_code) or (v == a and c == own_code ^ 1)
    return 1.0 / np.sqrt(np.float64(out) * np.float64(into))


@kernel
def propagate(
    offsets, neighbour, code, out, into, weight, back_offsets, back_neighbour, back_code,
    back_out, back_into, back_weight, codes, source, sink, own, pass_id, rank, level, touched,
    sizes, found,
):  # fmt: skip
    """Sums over paths for rows (source, sink, sequence), sorted by source, `pass_id`, sequence.

    Rows share their passes where `pass_id` is the same; a target that is a fact has its own value,
    and the code of its edge in `own`, which is 0 elsewhere. `level[k]` has the sums of k steps from
    the present source, `touched[k]` the `sizes[k]` nodes that have one. Sums go to `found`.
    """
    reached = 0  # levels that are still valid from the previous sequence
    last_rank = -1
    for row in range(len(rank)):
        r, a, b, own_code = rank[row], source[row], sink[row], own[row]
        if row == 0 or a != source[row - 1] or pass_id[row] != pass_id[row - 1]:
            for k in range(level.shape[0]):
                for i in range(sizes[k]):
                    level[k, touched[k, i]] = 0.0
                sizes[k] = 0
            level[0, a] = 1.0
            touched[0, 0] = a
            sizes[0] = 1
            reached = 0
            last_rank = -1
        length = 0
        while length < codes.shape[1] and codes[r, length] > 0:
            length += 1
        if r != last_rank:
            common = 0
            if last_rank >= 0:
                while (
                    common < reached
                    and common < length - 1
                    and codes[r, common] == codes[last_rank, common]
                ):
                    common += 1
            for k in range(common, length - 1):
                for i in range(sizes[k + 1]):
                    level[k + 1, touched[k + 1, i]] = 0.0
                size = 0
                c = codes[r, k]
                may_be_own_edge = own_code > 0 and (c == own_code or c == own_code ^ 1)
                for i in range(sizes[k]):
                    u = touched[k, i]
                    start, stop = run_of(offsets, code, u, c)
                    for edge in range(start, stop):
                        v, step = neighbour[edge], weight[edge]
                        if may_be_own_edge:
                            step = seen_weight(u, v, c, a, b, own_code, out[edge], into[edge])
                            if step == 0.0:
                                continue
                        if level[k + 1, v] == 0.0:
                            touched[k + 1, size] = v
                            size += 1
                        level[k + 1, v] += level[k, u] * step
                sizes[k + 1] = size
            reached = length - 1
            last_rank = r
        c = codes[r, length - 1]
        may_be_own_edge = own_code > 0 and (c == own_code or c == own_code ^ 1)
        start, stop = run_of(back_offsets, back_code, b, c ^ 1)
        total = 0.0
        for edge in range(start, stop):
            u, step = back_neighbour[edge], back_weight[edge]
            if may_be_own_edge:
                step = seen_weight(u, b, c, a, b, own_code, back_into[edge], back_out[edge])
            total += level[length - 1, u] * step
        found[row] = total


@kernel
def walk(offsets, neighbour, code, value, out, into, codes, source, sink, own, rank, distinct, one):
    """Sums over paths for rows (source, sink, sequence), walked one by one.

    `own` is the code of the step from source to sink that no path may take and no degree counts,
    0 where it is not a fact; with `distinct` no path meets a node twice.
    """
    found = np.zeros(len(rank))
    longest = codes.shape[1]
    node = np.zeros(longest + 1, dtype=np.int64)
    at = np.zeros(longest + 1, dtype=np.int64)
    stop = np.zeros(longest + 1, dtype=np.int64)
    product = np.ones(longest + 1)
    deficit = np.zeros(longest + 1, dtype=np.int64)
    for row in range(len(rank)):
        r, a, b, own_code = rank[row], source[row], sink[row], own[row]
        length = 0
        while length < longest and codes[r, length] > 0:
            length += 1
        node[0] = a
        at[0], stop[0] = edges_on(offsets, neighbour, code, a, codes[r, 0], length == 1, b)
        depth = 0
        total = 0.0
        while depth >= 0:
            if at[depth] >= stop[depth]:
                depth -= 1
                continue
            edge = at[depth]
            at[depth] += 1
            u, v, c = node[depth], neighbour[edge], codes[r, depth]
            step = seen_weight(u, v, c, a, b, own_code, out[edge], into[edge])
            if step == 0.0:
                continue
            if distinct:
                ends_early = v == b and depth + 1 < length
                if ends_early or is_among(node, depth + 1, v):
                    continue
            lost = deficit[depth]
            if len(value) > 0:
                lost += one - value[edge]
                if lost >= one:
                    continue
            weight = product[depth] * step
            if depth + 1 == length:
                total += weight
                continue
            depth += 1
            node[depth], product[depth], deficit[depth] = v, weight, lost
            at[depth], stop[depth] = edges_on(
                offsets, neighbour, code, v, codes[r, depth], depth + 1 == length, b
            )
        found[row] = total
    return found
