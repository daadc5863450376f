"""Walks count the products of adjacency matrices, and leave their counters as zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hornbeam as hb
from hornbeam.base.arrays import pointers
from hornbeam.counting.memory.shares import ShareCounter
from hornbeam.graph.adjacency import Graph
from hornbeam.scoring.entity_proposals import DEAD_END
from hornbeam.scoring.margin_kernels import WalkedGraph, walk_ends
from tests.support.kernels import both_ways, kernels_are

#: One dense and one sparse predicate, so that rows are sorted as well as looked through.
EDGES = {"dense": 150, "sparse": 12}
ENTITIES = 40


def random_graph(rng: np.random.Generator) -> Graph:
    names = [f"e{i}" for i in range(ENTITIES)]
    return Graph.of(
        hb.read_facts(
            [
                (rng.choice(names), predicate, rng.choice(names))
                for predicate, n in EDGES.items()
                for _ in range(n)
            ]
        )
    )


def products(
    graph: Graph, sequences: list[list[int]], weight: npt.NDArray[Any]
) -> list[npt.NDArray[Any]]:
    """Sums over paths between all nodes, by multiplying the matrices of the steps."""
    n, forward = graph.n_entities, graph.forward
    step = np.zeros((graph.n_codes, n, n), dtype=weight.dtype)
    for node in range(n):
        for e in range(forward.offsets[node], forward.offsets[node + 1]):
            step[forward.code[e], node, forward.neighbour[e]] += weight[e]
    whole = []
    for codes in sequences:
        product = np.eye(n, dtype=weight.dtype)
        for code in codes:
            product = product @ step[code]
        whole.append(product)
    return whole


@both_ways
@pytest.mark.parametrize("seed", range(10))
def test_products_of_matrices(compiled: bool, seed: int) -> None:
    with kernels_are(compiled):
        check_products(seed, shares=seed % 2 == 1)


def check_products(seed: int, shares: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    weight = ShareCounter(graph, graph).weights(graph.forward)
    walked = WalkedGraph(*graph.forward[:3], weight if shares else np.empty(0))
    sequences = [rng.integers(2, 6, rng.integers(1, 4)).tolist() for _ in range(6)] + [DEAD_END]
    expected = products(graph, sequences, np.ones(len(graph.forward.code), dtype=np.int64))
    parts = products(graph, sequences, weight * shares)
    n, steps = graph.n_entities, np.array([code for codes in sequences for code in codes])
    bounds = pointers([len(codes) for codes in sequences])
    sums, share, reached = np.zeros((4, n)), np.zeros((4, n)), np.zeros((4, n), dtype=np.int32)
    if not shares:
        share = np.zeros((1, 0))
    run = graph.walked_by(walk_ends)
    for source in range(n):
        indptr, ends, paths, found = run(
            walked, steps, bounds, np.int32(source), sums, share, reached
        )
        for k, (product, part) in enumerate(zip(expected, parts, strict=True)):
            rows = slice(indptr[k], indptr[k + 1])
            assert ends[rows].tolist() == np.flatnonzero(product[source]).tolist()
            assert paths[rows].tolist() == product[source][ends[rows]].tolist()
            np.testing.assert_allclose(found[rows], part[source][ends[rows]], rtol=1e-12)
        assert not sums.any()
        assert not share.any()
