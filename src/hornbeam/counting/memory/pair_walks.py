"""The paths of one pair, counted by walks from both entities that meet.

The search is made for many targets at once: its preparation takes ten times as long as the few
paths of one pair. Where facts are 0/1 and variables may coincide, a number of paths is a product of
sparse vectors: a walk carries one number per node and merges at every step.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, run_of

kernel = kernels("the paths of one pair")


def n_edges(graph, nodes, size, step):
    """Number of the edges of a step that leave the first `size` nodes."""
    edges = 0
    for i in range(size):
        first, last = run_of(graph.offsets, graph.code, nodes[i], step)
        edges += last - first
    return edges


def follow(graph, nodes, size, step, count, further):
    """Move the numbers of the nodes one step, from `count` to `further`; the nodes reached.

    Returns an array and how many of its entries are nodes; `count` is zero afterwards.
    """
    reached, n_reached = np.empty(16, dtype=np.int32), 0
    for i in range(size):
        u = nodes[i]
        first, last = run_of(graph.offsets, graph.code, u, step)
        reached = grown(reached, n_reached, last - first)
        for edge in range(first, last):
            v = graph.neighbour[edge]
            if further[v] == 0:
                reached[n_reached] = v
                n_reached += 1
            further[v] += count[u]
        count[u] = 0
    return reached, n_reached


@kernel
def paths_between(forward, backward, source, sink, steps, bounds, counts, front, back, spare):
    """Count the paths from a node to another along every `steps[bounds[k]:bounds[k + 1]]`.

    The next step is always taken at the end with fewer edges. The numbers go to `counts`; `front`,
    `back` and `spare` are zero by node, and zero again at the end.
    """
    for k in range(len(bounds) - 1):
        low, high = bounds[k], bounds[k + 1]
        ahead, n_ahead = np.empty(1, dtype=np.int32), 1
        behind, n_behind = np.empty(1, dtype=np.int32), 1
        ahead[0], behind[0] = source, sink
        front[source], back[sink] = 1, 1
        while low < high and n_ahead > 0 and n_behind > 0:
            step, towards = steps[low], steps[high - 1] ^ 1
            edges = n_edges(forward, ahead, n_ahead, step)
            if edges <= n_edges(backward, behind, n_behind, towards):
                ahead, n_ahead = follow(forward, ahead, n_ahead, step, front, spare)
                front, spare = spare, front
                low += 1
            else:
                behind, n_behind = follow(backward, behind, n_behind, towards, back, spare)
                back, spare = spare, back
                high -= 1
        total = 0
        for i in range(n_ahead):
            total += front[ahead[i]] * back[ahead[i]]
        counts[k] = total
        for i in range(n_ahead):
            front[ahead[i]] = 0
        for i in range(n_behind):
            back[behind[i]] = 0
