"""What is particular to the engine in memory: orientation, threads, blocks, forecasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.counting.memory import path_search
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.memory.path_search import SearchTargets
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.graph.adjacency import Graph
from hornbeam.rules.body import Body, Step
from hornbeam.rules.candidates import RuleLimits
from tests.support.engine_contract import check, rows_of
from tests.support.kernels import both_ways, compiles, kernels_are
from tests.support.recorded_progress import RecordedProgress
from tests.support.synthetic import random_facts
from tests.support.worlds import CRISP, SOFT, World, languages, rich_languages, worlds


def random_targets(facts: Facts, size: int, seed: int = 0) -> Targets:
    """Pairs of two predicates of which many are facts."""
    rng = np.random.default_rng(seed)
    atoms = facts.binary
    rows = rng.choice(len(atoms), size // 2, replace=False)
    some = rng.integers(len(facts.entities), size=(2, size - len(rows)))
    return Targets(
        facts.entities,
        Names.of(list(facts.predicates)[:2]),
        rng.integers(2, size=size, dtype=np.int32),
        np.concatenate([atoms.arguments[0][rows], some[0]]).astype(np.int32),
        np.concatenate([atoms.arguments[1][rows], some[1]]).astype(np.int32),
        (rng.integers(2, size=size) * ONE).astype(np.int32),
    )


def assert_same(one: Statistics | None, other: Statistics | None) -> None:
    assert one is not None
    assert other is not None
    assert list(one.bodies) == list(other.bodies)
    for name in ("indptr", "target", "count", "body_truth", "share"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def groups_of(world: World, language: RuleLimits) -> list[SearchTargets]:
    """What is searched for every target predicate."""
    engine = MemoryEngine(world.facts)
    search = engine._path_search(language)
    return [search.group_of(pairs) for pairs in engine._located(world.targets).values()]


@contextmanager
def searched_from(flipped: bool) -> Iterator[None]:
    """Make one end of the targets the cheaper one."""

    def cost(group: SearchTargets) -> npt.NDArray[np.int64]:
        return np.full(len(group), 1 if group.flipped == flipped else 2, dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SearchTargets, "cost", property(cost))
        yield


@both_ways
@pytest.mark.parametrize("flipped", [False, True])
@given(worlds(SOFT), languages(), st.integers(1, 3))
@pytest.mark.slow
def test_either_end_gives_the_same(
    flipped: bool, compiled: bool, world: World, language: RuleLimits, threads: int
) -> None:
    with searched_from(flipped), kernels_are(compiled):
        groups = groups_of(world, language)
        assert all(group.flipped == (flipped and len(group) > 0) for group in groups)
        discovery = check(lambda facts: MemoryEngine(facts, threads), world, language)
        engine = MemoryEngine(world.facts, threads)
        paths = [c.body for c in discovery.candidates]
        again = engine.count(world.targets, paths, language)
        assert_same(again, discovery.statistics)


@pytest.mark.slow
@pytest.mark.parametrize("value", [CRISP, SOFT], ids=["crisp", "soft"])
@given(st.data(), rich_languages())
def test_compiled_shares_are_the_same_bytes(
    value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    world, language = data.draw(worlds(value)), replace(language, bodies=None, shares=True)
    tables = []
    for compiled in (False, True):
        with kernels_are(compiled):
            engine = MemoryEngine(world.facts, threads=1)
            tables.append(engine.discover(world.targets, language).statistics)
    assert_same(*tables)


def test_the_search_starts_at_the_cheaper_end() -> None:
    """Each source reaches a hub of many edges in one step; the sinks lie off the road."""
    hub = {("hub", "p", f"x{i}"): ONE for i in range(50)}
    near = {(f"a{i}", "p", "hub"): ONE for i in range(3)}
    world = World(
        hub | near | {("hub", "q", "b"): ONE, ("b", "q", "c"): ONE},
        [((f"a{i}", "t", "c"), ONE) for i in range(3)],
    )
    (group,) = groups_of(world, RuleLimits())
    assert group.flipped
    check(MemoryEngine, world, RuleLimits(4, 1))


@pytest.mark.slow
@compiles
@pytest.mark.parametrize("max_length", [2, 3, 4])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
def test_threads_change_nothing(max_length: int, soft: bool, distinct: bool) -> None:
    facts = random_facts(n_entities=300, n_facts=2000 if max_length < 4 else 1200, n_predicates=9)
    if soft:
        atoms = facts.binary
        values = np.random.default_rng(1).integers(1, ONE, len(atoms)).astype(np.int32)
        facts = replace(facts, atoms={2: replace(atoms, millionths=values)})
    targets = random_targets(facts, 400)
    language = RuleLimits(max_length, min_coverage=2, distinct_variables=distinct)
    with kernels_are(compiled=True):
        one, *others = (
            MemoryEngine(facts, threads).discover(targets, language) for threads in (1, 2, 3, 8)
        )
    assert one.found is not None
    assert one.found > len(one.candidates) > 10
    for other in others:
        for name in ("steps", "target", "coverage", "coverage_true", "paths"):
            mine, theirs = getattr(one.candidates, name), getattr(other.candidates, name)
            np.testing.assert_array_equal(mine, theirs)
        assert_same(one.statistics, other.statistics)
        assert (one.found, one.own_edges) == (other.found, other.own_edges)


@pytest.mark.slow
@compiles
@pytest.mark.parametrize("soft", [False, True])
@given(st.integers(3, 4), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=10)
def test_interpreted_and_compiled_find_the_same_in_the_same_order(
    soft: bool, max_length: int, distinct: bool, seed: int
) -> None:
    facts = random_facts(n_entities=30, n_facts=80, n_predicates=4, seed=seed)
    if soft:
        atoms = facts.binary
        values = np.random.default_rng(1).integers(1, ONE, len(atoms)).astype(np.int32)
        facts = replace(facts, atoms={2: replace(atoms, millionths=values)})
    targets = random_targets(facts, 20)
    language = RuleLimits(max_length, min_coverage=1, distinct_variables=distinct)
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            discovery = MemoryEngine(facts, 2).discover(targets, language)
            paths = [candidate.body for candidate in discovery.candidates][::2]
            counted = MemoryEngine(facts, 2).count(targets, paths, language)
        found.append((discovery, counted))
    (one, one_counted), (other, other_counted) = found
    for name in ("steps", "target", "coverage", "coverage_true", "paths"):
        mine, theirs = getattr(one.candidates, name), getattr(other.candidates, name)
        np.testing.assert_array_equal(mine, theirs)
    assert_same(one.statistics, other.statistics)
    assert_same(one_counted, other_counted)


def test_what_does_not_change_is_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are proposed block by block, with a count each."""
    facts = random_facts(n_entities=20, n_facts=60, n_predicates=2)
    targets, language = random_targets(facts, 10), RuleLimits(2, 1, max_fanout=3)
    engine, asked = MemoryEngine(facts), list[int]()
    limited = Graph.limited

    def told(graph: Graph, limit: int) -> Graph:
        asked.append(limit)
        return limited(graph, limit)

    monkeypatch.setattr(Graph, "limited", told)
    paths = [c.body for c in engine.discover(targets, language).candidates]
    for _ in range(3):
        engine.count(targets, paths, language)
    assert len(asked) == 1
    first = engine.count(targets, paths, replace(language, max_fanout=1))
    assert len(asked) == 2
    assert_same(first, MemoryEngine(facts).count(targets, paths, replace(language, max_fanout=1)))


def test_heads_that_are_soft_for_one_target_and_true_for_the_next() -> None:
    """More heads than fit twice into the smallest scratch: each must be listed once."""
    values = {("a", f"r{i:02}", "u"): ONE for i in range(60)}
    values |= {("u", "q", "b1"): 400_000, ("u", "q", "b2"): ONE}
    world = World(values, [(("a", "t", "b1"), 0), (("a", "t", "b2"), ONE)])
    with searched_from(flipped=False):
        discovery = check(lambda facts: MemoryEngine(facts, 1), world, RuleLimits(2, 1))
    assert len(discovery.candidates) == 60


def test_progress_reaches_the_end() -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE), (("b", "t", "a"), ONE)])
    told = RecordedProgress()
    MemoryEngine(world.facts, 2).discover(world.targets, RuleLimits(), progress=told)
    assert told.reports[-1] == ("Counting paths", 2, 2)
    assert told.reports == sorted(told.reports)


def test_a_long_search_says_what_to_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = random_facts(n_entities=100, n_facts=1000, n_predicates=3)
    targets = random_targets(facts, 200)
    engine, language, told = MemoryEngine(facts), RuleLimits(2, 1), RecordedProgress()
    with kernels_are(compiled=False):  # or a cold cache would have its say, too
        discovery = engine.discover(targets, language, progress=told)
        assert told.messages == []
        monkeypatch.setattr(path_search, "LONG_SEARCH", 0)
        engine.discover(targets, language, progress=told)
    total = int(discovery.candidates.paths.sum())
    # every target is in the sample, so the forecast is exact
    assert told.messages[1:] == [f"About {total:,} paths to count for 200 targets."]
    assert told.messages[0].startswith("Sampling targets")


def test_a_table_that_does_not_fit_is_refused_before_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = random_facts(n_entities=100, n_facts=1000, n_predicates=3)
    targets = random_targets(facts, 200)
    monkeypatch.setattr(path_search, "LONG_SEARCH", 0)
    monkeypatch.setattr(path_search, "ROW_BYTES", 10**12)
    with pytest.raises(InputError, match="use fewer targets, a smaller `max_length`"):
        MemoryEngine(facts).discover(targets, RuleLimits(2, 1))
    # coverage alone needs no table
    assert MemoryEngine(facts).discover(targets, RuleLimits(2, 1), statistics=False).found


def test_bodies_of_four_atoms_take_fewer_predicates() -> None:
    values = {("a", f"p{i}", "b"): ONE for i in range(32_767)}
    world = World(values, [(("a", "t", "b"), ONE)])
    facts, targets = world.facts, world.targets
    message = "at most 32,766 predicates; the facts have 32,767: try `max_length=3`"
    with pytest.raises(InputError, match=message):
        MemoryEngine(facts).discover(targets, RuleLimits(4, 1))


@pytest.mark.slow
def test_codes_of_more_than_sixteen_bits() -> None:
    """As it is: to compile everything for wider codes takes long, and is the same arithmetic."""
    values = {("a", f"p{i}", "b"): ONE for i in range(33_000)} | {("b", "q", "c"): ONE}
    world = World(values, [(("a", "t", "c"), ONE)])
    path = Body((Step("p32999"), Step("q")), "t")
    with kernels_are(compiled=False):
        discovery = MemoryEngine(world.facts).discover(world.targets, RuleLimits(3, 1))
        statistics = MemoryEngine(world.facts).count(world.targets, [path], RuleLimits())
    # 33,000 ways to b, and back and forth to b once more only by q
    assert discovery.candidates.paths.sum() == 33_000
    assert rows_of(statistics) == [[(0, ONE, 1)]]
