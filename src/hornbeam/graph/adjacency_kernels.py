"""Loops that fill adjacency lists and limit their fan-out, for `hornbeam.graph.adjacency`."""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import place_of, run_to

kernel = kernels("the layout of the graph")


@kernel
def scatter(
    subject, predicate, object_, value, code_of, offsets, ends, rows, neighbour, code, edge_value
):
    """Scatter each fact to both its nodes in an order that leaves every node's edges sorted.

    Facts come sorted by subject, predicate, object. Taken predicate by predicate, first along it
    and then against it, they reach every node in the order of codes and then of neighbours;
    parallel edges keep their order. The last six arrays are filled, `offsets` and `ends` from 0:
    `rows` lists the facts predicate by predicate, those of predicate p up to `ends[p]`, and the
    edges of node v are afterwards those from `offsets[v]` to below `offsets[v + 1]`.
    """
    for i in range(len(subject)):
        offsets[subject[i] + 2] += 1
        offsets[object_[i] + 2] += 1
        ends[predicate[i] + 1] += 1
    for v in range(2, len(offsets)):
        offsets[v] += offsets[v - 1]
    for p in range(1, len(ends)):
        ends[p] += ends[p - 1]
    for i in range(len(subject)):
        rows[ends[predicate[i]]] = i
        ends[predicate[i]] += 1
    start = 0
    for p in range(len(code_of)):
        for inverse in range(2):
            for k in range(start, ends[p]):
                i = rows[k]
                here = object_[i] if inverse else subject[i]
                at = offsets[here + 1]
                offsets[here + 1] += 1
                neighbour[at] = subject[i] if inverse else object_[i]
                code[at] = code_of[p] ^ inverse
                if len(value) > 0:
                    edge_value[at] = value[i]
        start = ends[p]


@kernel
def narrow(offsets, neighbour, code, limit):
    """For every edge: may it be walked from its node, and may its reversal be walked to it?"""
    leaving = np.ones(len(neighbour), dtype=np.bool_)
    arriving = np.ones(len(neighbour), dtype=np.bool_)
    for u in range(len(offsets) - 1):
        start = offsets[u]
        while start < offsets[u + 1]:
            stop = place_of(code, start, offsets[u + 1], code[start] + 1)
            if stop - start > limit:
                leaving[start:stop] = False
            start = stop
    for u in range(len(offsets) - 1):
        for e in range(offsets[u], offsets[u + 1]):
            if not leaving[e]:
                # the twin edge at the neighbour is this step seen from the neighbour; of
                # parallel edges, which are left out together, the first marks all
                if e > offsets[u] and code[e] == code[e - 1] and neighbour[e] == neighbour[e - 1]:
                    continue
                first, last = run_to(offsets, neighbour, code, neighbour[e], code[e] ^ 1, u)
                for twin in range(first, last):
                    arriving[twin] = False
    return leaving, arriving


@kernel
def list_properties(first_run, run_step, neighbour, code, found):
    """Fill `found` with the number of the run that contains the reversal of each edge.

    Node v has the runs `first_run[v]` to `first_run[v + 1]`, each of the edges of one code.
    """
    for e in range(len(neighbour)):
        v = neighbour[e]
        found[e] = place_of(run_step, first_run[v], first_run[v + 1], code[e] ^ 1)
