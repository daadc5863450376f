"""One contract for every engine: the integers that brute force finds, in the right order."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam.counting
from hornbeam import read_facts, read_labels
from hornbeam.counting.engine import Engine
from hornbeam.counting.snapshot_engine import SnapshotEngine
from hornbeam.counting.sql.database import Database
from hornbeam.counting.timed_engine import TimedEngine
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body, Step
from hornbeam.rules.candidates import RuleLimits
from tests.support.brute_force import ONE, Figures, Rows, search
from tests.support.engine_contract import (
    DATABASES,
    ENGINES,
    FIRST,
    HAND_MADE,
    STEPS,
    WITH_FIXTURES,
    Make,
    check,
    figures_of,
    first_of_every_engine,
    rows_of,
    values,
)
from tests.support.kernels import compiles
from tests.support.worlds import (
    SOFT,
    TARGETS,
    World,
    entities_of,
    languages,
    many_worlds,
    mirrored,
    renamed,
    worlds,
)

# the first engine and the last
pytestmark = pytest.mark.quick_cases(2)


def implementations(protocol: type, methods: set[str]) -> set[type]:
    """Every class that has the methods of a protocol of engines, its own or inherited."""
    asked = {name for name, _ in inspect.getmembers(protocol, inspect.isfunction) if name[0] != "_"}
    assert asked == methods
    found = set()
    for module in pkgutil.walk_packages(hornbeam.counting.__path__, "hornbeam.counting."):
        classes = inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        found |= {kind for _, kind in classes if kind is not protocol and asked <= set(dir(kind))}
    return found


def test_every_engine_is_held_to_the_contract() -> None:
    found = implementations(Engine, {"discover", "count", "locate", "over"})
    # engines over events ask these at every time: `tests/counting/test_timed_engine.py`
    found -= {SnapshotEngine, TimedEngine}
    assert found == set(ENGINES), "add the engine to ENGINES: it must pass this suite"


@first_of_every_engine
def test_an_engine_opens_another_over_other_facts(make: Make) -> None:
    """Of the same kind, and itself where the facts are its own."""
    facts = read_facts([("a", "p", "b"), ("b", "q", "c"), ("x", "r", "c")])
    fewer = read_facts([("a", "p", "b"), ("b", "r", "c")])
    pairs, body = read_labels([("a", "t", "c", 1.0)]), Body((Step("p"), Step("q")), "t")
    engine = make(facts)
    assert engine.facts is facts
    assert engine.over(facts) is engine
    other = engine.over(fewer)
    assert type(other) is type(engine)
    assert other.facts is fewer
    assert list(other.predicates) == ["p", "r"]
    assert [one.count(pairs, [body], RuleLimits()).count.sum() for one in (engine, other)] == [1, 0]


def test_every_database_is_held_to_the_contract() -> None:
    """One engine runs on several databases."""
    found = implementations(
        Database, {"create", "view", "upload", "fetch", "drop", "write_parquet"}
    )
    assert found == set(DATABASES), "add the database to DATABASES: it must pass this suite"


@cache
def handful(soft: bool, language: RuleLimits) -> tuple[World, dict[Body, Figures]]:
    """Enough relations and paths for every growing array to grow, and what brute force finds."""
    rng = np.random.default_rng([language.max_length, soft])
    n_facts = {1: 220, 2: 220, 3: 120, 4: 60}[language.max_length]

    def draw(predicates: int) -> tuple[str, str, str]:
        s, o = (25 * rng.random(2) ** 2).astype(int)
        return f"e{s}", f"r{rng.integers(predicates)}", f"e{o}"

    world = World(
        {draw(12): int(rng.integers(1, ONE + 1)) if soft else ONE for _ in range(n_facts)},
        [(draw(14), int(rng.integers(2)) * ONE) for _ in range(25)],
    )
    return world, search(world.values, world.labels, language)


#: Soft, distinct and largest fan-out: every two of them in all ways, which is half of all cases.
PAIRWISE = [(False, False, None), (False, True, 4), (True, False, 4), (True, True, None)]


@first_of_every_engine
@pytest.mark.parametrize(
    "max_length", [1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))]
)
@pytest.mark.parametrize(("soft", "distinct", "max_fanout"), PAIRWISE)
@compiles  # and brute force searches once for all engines
def test_more_than_a_handful(
    make: Make, soft: bool, max_length: int, distinct: bool, max_fanout: int | None
) -> None:
    language = RuleLimits(max_length, 1, None, distinct, max_fanout)
    world, found = handful(soft, language)
    check(make, world, language, found)


#: Searches over many worlds at once. Spark runs DuckDB's SQL, and is held to the widest.
SEARCHES = [
    (RuleLimits(4, 1, distinct_variables=True), True),
    (RuleLimits(4, 1, max_fanout=2), False),
    (RuleLimits(3, 1), False),
    (RuleLimits(3, 3, top=20), True),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "language", "soft"),
    [
        *(pytest.param(*first.values, *search) for first in FIRST for search in SEARCHES),
        *(pytest.param(*make.values, *SEARCHES[0], marks=make.marks) for make in WITH_FIXTURES),
    ],
    indirect=["make"],
)
def test_many_worlds_at_once(make: Make, language: RuleLimits, soft: bool) -> None:
    """Every kind of search at least once; what is kept is counted again, found or not."""
    world = many_worlds(100, soft, seed=language.max_length)
    discovery = check(make, world, language)
    paths = [candidate.body for candidate in discovery.candidates][::-1]
    unknown = Body((Step("unknown"),), "t")
    counted = make(world.facts).count(world.targets, [*paths, unknown], language)
    assert discovery.statistics is not None
    assert rows_of(counted) == [*rows_of(discovery.statistics)[::-1], []]


PATHS = st.builds(
    Body,
    st.lists(STEPS, min_size=1, max_size=4).map(tuple),
    st.sampled_from([*TARGETS, "unknown"]),
)


@first_of_every_engine
@values
@given(st.data(), languages())
def test_paths_are_counted_as_they_are_found(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    """Paths that were found, drawn at random, unknown and repeated, in any order."""
    world = data.draw(worlds(value))
    whole = search(world.values, world.labels, replace(language, max_length=4))
    paths = data.draw(st.lists(PATHS, max_size=6))
    if whole:
        paths += data.draw(st.lists(st.sampled_from(list(whole)), max_size=8))
    paths = data.draw(st.permutations([*paths, *paths[:2]]))
    statistics = make(world.facts).count(world.targets, paths, language)
    assert list(statistics.bodies) == paths
    assert statistics.n_targets == len(world.labels)
    assert rows_of(statistics) == [whole[path].rows if path in whole else [] for path in paths]


@first_of_every_engine
@given(worlds(SOFT), languages())
def test_counting_what_was_kept_gives_the_same_table(
    make: Make, world: World, language: RuleLimits
) -> None:
    engine, targets = make(world.facts), world.targets
    discovery = engine.discover(targets, language)
    again = engine.count(targets, [c.body for c in discovery.candidates], language)
    assert discovery.statistics is not None
    assert rows_of(again) == rows_of(discovery.statistics)


@first_of_every_engine
def test_counting_nothing(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    statistics = make(world.facts).count(world.targets, [], RuleLimits())
    assert statistics.indptr.tolist() == [0]
    assert len(statistics.target) == len(statistics.count) == 0


@first_of_every_engine
@given(worlds(SOFT), languages(), st.data())
def test_names_of_entities_do_not_matter(
    make: Make, world: World, language: RuleLimits, data: st.DataObject
) -> None:
    names = entities_of(world)
    other = data.draw(st.permutations([f"x{i}" for i in range(len(names))]))
    again = renamed(world, dict(zip(names, other, strict=True)))
    one = make(world.facts).discover(world.targets, language)
    two = make(again.facts).discover(again.targets, language)
    assert figures_of(one) == figures_of(two)
    assert one.statistics is not None
    assert two.statistics is not None
    assert rows_of(one.statistics) == rows_of(two.statistics)


@pytest.mark.slow
@first_of_every_engine
@given(worlds(SOFT), languages())
def test_swapping_all_arguments_mirrors_the_paths(
    make: Make, world: World, language: RuleLimits
) -> None:
    # with a fan-out limit a path and its mirror image are walked from different ends
    language = replace(language, max_fanout=None)
    other = mirrored(world)

    def rows(one: World, turn: bool) -> dict[Body, Rows]:
        statistics = make(one.facts).discover(one.targets, language).statistics
        assert statistics is not None
        # swapping a fact's arguments makes p its inverse
        return {
            Body(tuple(Step(s.predicate, s.inverse ^ turn) for s in path.steps), path.target): found
            for path, found in zip(statistics.bodies, rows_of(statistics), strict=True)
        }

    def turned(found: dict[Body, Rows]) -> dict[Body, Rows]:
        return {
            Body(tuple(s.reversed() for s in reversed(path.steps)), path.target): listed
            for path, listed in found.items()
        }

    assert turned(rows(other, turn=True)) == rows(world, turn=False)


@pytest.mark.slow
@first_of_every_engine
@given(worlds(SOFT, max_facts=6), st.data())
@settings(max_examples=10)
def test_order_of_facts_does_not_matter(make: Make, world: World, data: st.DataObject) -> None:
    """Through the reader, with every fact given twice."""
    listed = [(*fact, value / ONE) for fact, value in world.values.items()]
    mixed = data.draw(st.permutations(listed + listed))
    labels = read_labels([(*target, label / ONE) for target, label in world.labels])
    one, two = (
        make(read_facts(rows)).discover(labels, RuleLimits(min_coverage=1))
        for rows in (listed, mixed)
    )
    assert figures_of(one) == figures_of(two)
    assert one.statistics is not None
    assert two.statistics is not None
    assert rows_of(one.statistics) == rows_of(two.statistics)


@first_of_every_engine
def test_a_target_repeated_is_a_target_each_time(make: Make) -> None:
    discovery = check(make, HAND_MADE["a target repeated"], RuleLimits(1, 1))
    assert [c.coverage for c in discovery.candidates] == [2]


@first_of_every_engine
def test_own_edge_is_no_evidence_anywhere(make: Make) -> None:
    """With t(a, b) alone there is one edge, and every walk from a to b takes it."""
    alone, others = HAND_MADE["its own edge alone"], HAND_MADE["the edge of others"]
    assert len(check(make, alone, RuleLimits(4, 1)).candidates) == 0
    # the same edge is evidence for other targets, t(b, a) and s(a, b) among them
    paths = {str(c.text) for c in check(make, others, RuleLimits(1, 1)).candidates}
    assert paths == {"t(B, A) -> t(A, B)", "t(A, B) -> s(A, B)"}


@first_of_every_engine
@pytest.mark.parametrize("stated", [False, True], ids=["unknown", "among the facts"])
def test_the_papers_citations(make: Make, stated: bool) -> None:
    """Paper 1 cites paper 2, which mentions the gene: so paper 1 mentions it."""
    values = {("paper1", "cites", "paper2"): ONE, ("paper2", "mentions", "gene"): ONE}
    target = ("paper1", "mentions", "gene")
    world = World(values | {target: ONE} if stated else values, [(target, ONE)])
    discovery = check(make, world, RuleLimits(3, 1))
    assert [c.text for c in discovery.candidates] == [
        "cites(A, B) & mentions(B, C) -> mentions(A, C)"
    ]
    assert discovery.candidates[0].paths == 1
    assert discovery.own_edges == stated


@first_of_every_engine
def test_fanout_counts_edges_of_one_relation_in_one_direction(make: Make) -> None:
    """The hub's p-edges are not walked from the hub, but are walked to it."""
    world = HAND_MADE["fan-out"]
    texts = {c.text for c in check(make, world, RuleLimits(2, 1, max_fanout=2)).candidates}
    assert texts == {"q(A, B) -> t(A, B)"}
    backwards = World(world.values, [(("s0", "t", "hub"), ONE)])
    texts = {c.text for c in check(make, backwards, RuleLimits(1, 1, max_fanout=2)).candidates}
    assert texts == {"p(B, A) -> t(A, B)", "q(B, A) -> t(A, B)"}


@first_of_every_engine
def test_facts_without_binary_atoms(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    facts = replace(world.facts, atoms={})
    discovery = make(facts).discover(world.targets, RuleLimits(3, 1))
    assert len(discovery.candidates) == 0
    assert discovery.unseen == 0


@first_of_every_engine
def test_no_target_is_seen(make: Make) -> None:
    discovery = check(make, HAND_MADE["unseen"], RuleLimits(3, 1))
    assert discovery.unseen == 2


@first_of_every_engine
def test_targets_of_no_predicate_of_the_paths(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    targets: Targets = world.targets
    path = Body((Step("p"),), "other")
    assert rows_of(make(world.facts).count(targets, [path], RuleLimits())) == [[]]
