"""Loops of walks from one entity, or between two; see `hornbeam.serve.walk`."""

# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, run_of

kernel = kernels("the walks of the explorer")


def _cost(offsets, code, frontier, step):
    """Count the edges of a step that leave the frontier."""
    edges = 0
    for node in frontier:
        low, high = run_of(offsets, code, node, step)
        edges += high - low
    return edges


def _step(offsets, neighbour, code, weight, frontier, step, count, next_count, share, next_share):
    """Carry the counts of the frontier one step, into `next_count`; return the new frontier.

    Where edges have weights, `share` is carried into `next_share` likewise.
    """
    reached, size = np.empty(16, dtype=np.int32), 0
    for u in frontier:
        low, high = run_of(offsets, code, u, step)
        reached = grown(reached, size, high - low)
        for e in range(low, high):
            v = neighbour[e]
            if next_count[v] == 0:
                reached[size] = v
                size += 1
            next_count[v] += count[u]
        count[u] = 0
        if len(weight) > 0:
            for e in range(low, high):
                next_share[neighbour[e]] += share[u] * weight[e]
            share[u] = 0.0
    return reached[:size]


@kernel
def ends(
    offsets, neighbour, code, weight, count, next_count, share, next_share, start, steps, bounds
):  # fmt: skip
    """The ends of every walk from one node, sorted; see `hornbeam.serve.walk.ends_of`."""
    shares = len(weight) > 0
    indptr = np.zeros(len(bounds), dtype=np.int64)
    nodes, paths = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int64)
    sums = np.empty(64)
    total = 0
    for k in range(len(bounds) - 1):
        frontier = np.full(1, start, dtype=np.int32)
        count[start] = 1
        if shares:
            share[start] = 1.0
        for i in range(bounds[k], bounds[k + 1]):
            if shares and i + 1 == bounds[k + 1]:
                # the engine adds up the last steps in the order of nodes
                frontier = np.sort(frontier)
            frontier = _step(
                offsets, neighbour, code, weight, frontier, steps[i],
                count, next_count, share, next_share,
            )  # fmt: skip
            count, next_count = next_count, count
            share, next_share = next_share, share
        nodes = grown(nodes, total, len(frontier))
        paths = grown(paths, total, len(frontier))
        sums = grown(sums, total, len(frontier))
        for u in np.sort(frontier):
            nodes[total] = u
            paths[total] = count[u]
            sums[total] = 0.0
            count[u] = 0
            if shares:
                sums[total] = share[u]
                share[u] = 0.0
            total += 1
        indptr[k + 1] = total
    return indptr, nodes[:total], paths[:total], sums[:total]


@kernel
def between(
    offsets, neighbour, code, weight, offsets_back, neighbour_back, code_back, weight_back,
    paths, parts, source, sink, steps, bounds,
):  # fmt: skip
    """For every walk, step from the cheaper end until both meet, and multiply the counts there.

    `paths` and `parts` are three arrays of zeros each, and zeros again at the end.
    """
    shares = len(weight) > 0
    front, back, spare = paths[0], paths[1], paths[2]
    front_part, back_part, spare_part = parts[0], parts[1], parts[2]
    counts, sums = np.zeros(len(bounds) - 1, dtype=np.int64), np.zeros(len(bounds) - 1)
    for k in range(len(counts)):
        low, high = bounds[k], bounds[k + 1]
        ahead, behind = np.full(1, source, dtype=np.int32), np.full(1, sink, dtype=np.int32)
        front[source], back[sink] = 1, 1
        if shares:
            front_part[source], back_part[sink] = 1.0, 1.0
        while low < high and len(ahead) and len(behind):
            forth, towards = steps[low], steps[high - 1] ^ 1
            cost = _cost(offsets, code, ahead, forth)
            if cost <= _cost(offsets_back, code_back, behind, towards):
                ahead = _step(
                    offsets, neighbour, code, weight, ahead, forth, front, spare, front_part,
                    spare_part,
                )  # fmt: skip
                front, spare = spare, front
                front_part, spare_part = spare_part, front_part
                low += 1
            else:
                behind = _step(
                    offsets_back, neighbour_back, code_back, weight_back, behind, towards, back,
                    spare, back_part, spare_part,
                )  # fmt: skip
                back, spare = spare, back
                back_part, spare_part = spare_part, back_part
                high -= 1
        for v in ahead:
            counts[k] += front[v] * back[v]
            front[v] = 0
            if shares:
                sums[k] += front_part[v] * back_part[v]
                front_part[v] = 0.0
        for v in behind:
            back[v] = 0
            if shares:
                back_part[v] = 0.0
    return counts, sums
