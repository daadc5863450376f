"""Walks count what products of adjacency matrices count, and leave their counters as zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hornbeam as hb
from hornbeam.counting.memory.shares import ShareCounter
from hornbeam.graph.adjacency import Graph
from hornbeam.serve.walk import (
    DEAD_END,
    NO_WEIGHTS,
    StepSequences,
    StepWeights,
    WalkArrays,
    ends_of,
    paths_between,
)
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
    counter = ShareCounter(graph, graph)
    weights = StepWeights(counter.step_weights, counter.steps_back) if shares else NO_WEIGHTS
    sequences = [rng.integers(2, 6, rng.integers(1, 4)).tolist() for _ in range(6)] + [DEAD_END]
    expected = products(graph, sequences, np.ones(len(graph.forward.code), dtype=np.int64))
    parts = products(graph, sequences, counter.step_weights * shares)
    n, walks = graph.n_entities, StepSequences.of(sequences)
    counters = WalkArrays(n, shares)
    wanted = rng.random(len(sequences)) < 0.5
    left_out = np.flatnonzero(rng.random(n) < 0.2).astype(np.int32)
    for source in range(n):
        ends = ends_of(graph, weights, source, walks, wanted, left_out, counters)
        reached = sum(
            product[source] * want for product, want in zip(expected, wanted, strict=True)
        )
        assert ends.nodes.tolist() == [v for v in np.flatnonzero(reached) if v not in left_out]
        for k, (product, part) in enumerate(zip(expected, parts, strict=True)):
            rows = slice(ends.indptr[k], ends.indptr[k + 1])
            paths = product[source][ends.nodes]
            assert ends.place[rows].tolist() == np.flatnonzero(paths).tolist()
            assert ends.paths[rows].tolist() == paths[paths > 0].tolist()
            share = part[source][ends.nodes[ends.place[rows]]]
            np.testing.assert_allclose(ends.share[rows], share, rtol=1e-12)
        sink = int(rng.integers(n))
        found, sums = paths_between(graph, weights, source, sink, walks, counters)
        assert found.tolist() == [product[source, sink] for product in expected]
        np.testing.assert_allclose(sums, [part[source, sink] for part in parts], rtol=1e-12)
    with counters.borrowed() as zeros, counters.borrowed() as others:
        assert not zeros.paths.any()
        assert not zeros.shares.any()
        assert others is not zeros


def test_a_walk_that_fails_keeps_its_counters() -> None:
    counters = WalkArrays(3)

    def fails() -> None:
        with counters.borrowed() as dirty:
            dirty.paths[0, 0] = 1
            raise MemoryError

    with pytest.raises(MemoryError):
        fails()
    with counters.borrowed() as zeros:
        assert not zeros.paths.any()
