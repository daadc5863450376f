from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.graph.adjacency import Adjacency, Graph
from tests.support.brute_force import ONE, steps_by_node
from tests.support.kernels import both_ways, compiles, kernels_are
from tests.support.worlds import SOFT, World, worlds

Edges = dict[int, list[tuple[int, int, int]]]


def edges_of(adjacency: Adjacency) -> Edges:
    """(code, neighbour, value) of every node that has edges."""
    listed: Edges = {}
    for v in range(len(adjacency.offsets) - 1):
        span = range(adjacency.offsets[v], adjacency.offsets[v + 1])
        if len(span):
            listed[v] = [
                (
                    int(adjacency.code[e]),
                    int(adjacency.neighbour[e]),
                    int(adjacency.value[e]) if len(adjacency.value) else ONE,
                )
                for e in span
            ]
    return listed


@both_ways
@given(world=worlds(SOFT) | worlds(), limit=st.none() | st.integers(1, 3))
def test_both_sides_list_the_steps_that_may_be_walked(
    compiled: bool, world: World, limit: int | None
) -> None:
    facts = world.facts
    with kernels_are(compiled):
        graph = Graph.of(facts).limited(limit)
    forward: Edges = defaultdict(list)
    backward: Edges = defaultdict(list)
    for node, steps in steps_by_node(world.values, limit).items():
        for step, fact, other in steps:
            code = 2 * (facts.predicates.index(step.predicate) + 1) + step.inverse
            here, there = facts.entities.index(node), facts.entities.index(other)
            forward[here].append((code, there, world.values[fact]))
            backward[there].append((code ^ 1, here, world.values[fact]))
    for expected, found in ((forward, graph.forward), (backward, graph.backward)):
        wanted = {node: sorted(edges) for node, edges in expected.items() if edges}
        assert edges_of(found) == wanted
    assert graph.n_entities == len(facts.entities)
    assert graph.n_codes == 2 * len(facts.predicates) + 2


@pytest.mark.slow
@compiles
@given(worlds(SOFT) | worlds())
def test_arrays_are_the_same_whoever_lays_them_out(world: World) -> None:
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            found.append(Graph.of(world.facts).forward)
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@given(worlds())
def test_turning_round_swaps_the_sides(world: World) -> None:
    graph = Graph.of(world.facts).limited(1)
    inverse_code = graph.reversed
    assert inverse_code.forward is graph.backward
    assert inverse_code.backward is graph.forward


def test_six_bytes_an_edge_end() -> None:
    world = World({(f"e{i}", "p", f"e{i + 1}"): ONE for i in range(10)}, [])
    whole = Graph.of(world.facts).forward
    assert whole.neighbour.dtype == np.int32
    assert whole.code.dtype == np.uint16
    assert len(whole.neighbour) == 20
    assert len(whole.value) == 0
