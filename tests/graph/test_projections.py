"""Atoms of one, three and more arguments in the engines, against brute force."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.counting.engine import Discovery
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.graph.adjacency import Graph, with_projections
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import RuleLimits
from tests.support.brute_force import ONE, WideWorld, wide_conditions, wide_search
from tests.support.engine_contract import Make, first_of_every_engine, values
from tests.support.kernels import both_ways, kernels_are
from tests.support.worlds import (
    SOFT,
    World,
    entities_of,
    languages,
    wide_atoms,
    wide_facts,
    worlds,
)

# the first engine and the last
pytestmark = pytest.mark.quick_cases(2)

Cells = dict[Body, dict[tuple[int, int], int]]


def drawn(data: st.DataObject, value: st.SearchStrategy[int]) -> tuple[World, WideWorld]:
    world = data.draw(worlds(value, max_facts=5))
    return world, data.draw(wide_atoms(entities_of(world), value))


def cells_of(statistics: Statistics) -> Cells:
    found: Cells = defaultdict(dict)
    for number, body in enumerate(statistics.bodies):
        for row in range(*statistics.indptr[number : number + 2].tolist()):
            truth = ONE if statistics.body_truth is None else int(statistics.body_truth[row])
            found[body][int(statistics.target[row]), truth] = int(statistics.count[row])
    return found


def figures_of(discovery: Discovery) -> dict[Body, tuple[int, int]]:
    found = {c.body: (c.coverage, c.paths) for c in discovery.candidates}
    assert len(found) == len(discovery.candidates), "no body twice"
    texts = [c.text for c in discovery.candidates]
    assert len(set(texts)) == len(texts), "no text twice"
    return found


@first_of_every_engine
@values
@given(st.data(), languages(3))
def test_paths_walk_atoms_between_any_two_places(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    world, atoms = drawn(data, value)
    expected, _ = wide_search(world.values, atoms, world.labels, language)
    engine = make(wide_facts(world.values, atoms))
    discovery = engine.discover(world.targets, language)
    covered = {body: one for body, one in expected.items() if one.covered}
    assert figures_of(discovery) == {
        body: (len(one.covered), one.paths) for body, one in covered.items()
    }
    assert discovery.statistics is not None
    counted = engine.count(world.targets, list(expected), language)
    wanted = {body: dict(one.bodies) for body, one in expected.items() if one.bodies}
    assert cells_of(counted) == wanted
    assert cells_of(discovery.statistics) == {
        body: cells for body, cells in wanted.items() if body in covered
    }


@pytest.mark.slow
@first_of_every_engine
@values
@given(st.data(), languages(3))
def test_shares_count_parallel_edges(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    world, atoms = drawn(data, value)
    expected, shares = wide_search(world.values, atoms, world.labels, language)
    engine = make(wide_facts(world.values, atoms))
    counted = engine.count(world.targets, list(expected), replace(language, shares=True))
    assert counted.share is not None
    found: dict[tuple[Body, int], float] = defaultdict(float)
    for number, body in enumerate(counted.bodies):
        for row in range(*counted.indptr[number : number + 2].tolist()):
            found[body, int(counted.target[row])] += float(counted.share[row])
    assert found.keys() == shares.keys()
    for key, share in shares.items():
        assert found[key] == pytest.approx(share, rel=1e-12)


@first_of_every_engine
@values
@given(st.data(), languages(1))
def test_conditions_see_atoms_of_any_arity(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    """An open condition on a place is found once, whichever of the other places it leads to."""
    world, atoms = drawn(data, value)
    expected = wide_conditions(world.values, atoms, world.labels, language)
    kinds = (Kind.OPEN, Kind.UNARY, Kind.ANCHORED)
    engine = make(wide_facts(world.values, atoms))
    discovery = engine.discover(world.targets, replace(language, bodies=kinds))
    assert discovery.statistics is not None
    wide = {predicate for predicate, _ in atoms}
    found = {b: c for b, c in cells_of(discovery.statistics).items() if b.predicates & wide}
    true = {
        body: dict(cells)
        for body, cells in expected.items()
        if any(2 * truth >= ONE for _, truth in cells)
    }
    assert found == true
    figures_of(discovery)
    assert cells_of(engine.count(world.targets, list(expected), language)) == expected


@both_ways
@given(data=st.data(), limit=st.none() | st.integers(1, 3))
def test_the_graph_has_parallel_edges_on_both_sides(
    compiled: bool, data: st.DataObject, limit: int | None
) -> None:
    world, atoms = drawn(data, SOFT)
    facts = with_projections(wide_facts(world.values, atoms))
    binary = facts.binary
    with kernels_are(compiled):
        graph = Graph.of(facts).limited(limit)
    steps = []
    full = np.full(len(binary), ONE) if binary.millionths is None else binary.millionths
    for p, s, o, value in zip(binary.predicate, *binary.arguments, full, strict=True):
        code = 2 * (int(p) + 1)
        steps += [(int(s), code, int(o), int(value)), (int(o), code + 1, int(s), int(value))]
    wide = {
        (s, code) for s, code, _, _ in steps
        if limit is not None and sum(x[:2] == (s, code) for x in steps) > limit
    }  # fmt: skip
    allowed = sorted(x for x in steps if x[:2] not in wide)
    arriving = sorted((o, code ^ 1, s, value) for s, code, o, value in allowed)
    for expected, side in ((allowed, graph.forward), (arriving, graph.backward)):
        nodes = np.repeat(np.arange(graph.n_entities), np.diff(side.offsets))
        values = side.value if len(side.value) else np.full(len(nodes), ONE)
        columns = (nodes, side.code, side.neighbour, values)
        assert [tuple(map(int, row)) for row in zip(*columns, strict=True)] == expected


@both_ways
@pytest.mark.parametrize("limit", [1, 2])
def test_a_fan_out_limit_drops_parallel_edges_together(compiled: bool, limit: int) -> None:
    """x -> a -> b, the second step twice: seen from b, both of its edges go or stay."""
    world = World({("x", "p", "a"): ONE}, [(("x", "t", "b"), ONE)])
    atoms: WideWorld = {("ta", ("a", "b", name)): ONE for name in "cd"}
    steps = Step("p"), Step("ta", places=(0, 1), arity=3)
    with kernels_are(compiled):
        engine = MemoryEngine(wide_facts(world.values, atoms), threads=1)
        found = engine.discover(world.targets, RuleLimits(2, 1, max_fanout=limit))
    assert figures_of(found) == ({} if limit == 1 else {Body(steps, "t"): (1, 2)})


@given(st.data())
def test_projections_keep_every_atom_and_its_value(data: st.DataObject) -> None:
    world, atoms = drawn(data, SOFT)
    facts = wide_facts(world.values, atoms)
    edges = with_projections(facts)
    n_wide = [len(x) for _, x in atoms if len(x) > 2]
    assert len(edges.binary) == len(world.values) + sum(n * (n - 1) // 2 for n in n_wide)
    assert set(edges.atoms) <= {1, 2}
    assert with_projections(edges) is edges
    for name, arity in facts.arity.items():
        assert edges.predicates.index(name) >= 0
        assert facts.not_binary.get(name, 2) == arity
    listed = sorted(
        (Step.along(edges.predicates[int(p)]), edges.entities[int(s)], edges.entities[int(o)])
        for p, s, o in zip(edges.binary.predicate, *edges.binary.arguments, strict=True)
    )
    wide = [
        (Step(predicate, places=(i, j), arity=len(x)), x[i], x[j])
        for predicate, x in atoms
        for j in range(1, len(x))
        for i in range(j)
        if len(x) > 2
    ]
    assert listed == sorted([*wide, *((Step(p), s, o) for s, p, o in world.values)])


@given(worlds())
def test_binary_facts_are_walked_as_they_are(world: World) -> None:
    facts = world.facts
    assert with_projections(facts) is facts
    assert not facts.not_binary
