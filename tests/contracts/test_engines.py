"""One contract for every engine: the integers that brute force finds, in the right order."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam.counting
from hornbeam import read_facts, read_labels
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.sql.database import Database
from hornbeam.counting.sql.duckdb_engine import DuckDB, duckdb_engine
from hornbeam.counting.sql.spark_engine import Spark
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import Facts, Targets
from hornbeam.language.naming import identifiers
from hornbeam.rules.body import Body, Step
from hornbeam.rules.candidates import Language
from hornbeam.rules.clause import Clause
from tests.support.brute_force import ONE, Figures, Rows, kept, search
from tests.support.kernels import compiles
from tests.support.worlds import (
    CRISP,
    PREDICATES,
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

Make = Callable[[Facts], Engine]

#: Every engine, by the class that implements it. A new engine adds a line here.
ENGINES: dict[type, list[Make]] = {
    MemoryEngine: [
        lambda facts: MemoryEngine(facts, threads=1),
        lambda facts: MemoryEngine(facts, threads=2),
        lambda facts: MemoryEngine(facts, threads=3),
    ],
    SqlEngine: [duckdb_engine],
}


def few_examples(engine: type, number: int) -> list[pytest.MarkDecorator]:
    """One thread in memory sees all examples, what else there is a few.

    Threads run the same kernel on blocks of targets. A database takes as long for one world as
    for a hundred, and sees hundreds of them in `test_many_worlds_at_once`.
    """
    return [pytest.mark.examples(15)] if number > 1 or engine is not MemoryEngine else []


FIRST, OTHERS = (
    [
        pytest.param(make, id=f"{engine.__name__}-{number}", marks=few_examples(engine, number))
        for engine, makers in ENGINES.items()
        for number, make in enumerate(makers, start=1)
        if (number == 1) is first
    ]
    for first in (True, False)
)
every_engine = pytest.mark.parametrize("make", FIRST + OTHERS)
first_of_every_engine = pytest.mark.parametrize("make", FIRST)
values = pytest.mark.parametrize("value", [CRISP, SOFT], ids=["crisp", "soft"])


def implementations(protocol: type, methods: set[str]) -> set[type]:
    """Every class that has the methods of a protocol of engines."""
    asked = {name for name, _ in inspect.getmembers(protocol, inspect.isfunction) if name[0] != "_"}
    assert asked == methods
    found = set()
    for module in pkgutil.walk_packages(hornbeam.counting.__path__, "hornbeam.counting."):
        classes = inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        found |= {kind for _, kind in classes if kind is not protocol and asked <= set(vars(kind))}
    return found


def test_every_engine_is_held_to_the_contract() -> None:
    found = implementations(Engine, {"discover", "count", "locate"})
    assert found == set(ENGINES), "add the engine to ENGINES: it must pass this suite"


def test_every_database_is_held_to_the_contract() -> None:
    """One engine runs on several databases: DuckDB in ENGINES, Spark as a parameter of its own."""
    found = implementations(
        Database, {"create", "view", "upload", "fetch", "drop", "write_parquet"}
    )
    assert found == {DuckDB, Spark}, "add an engine on it to ENGINES: it must pass this suite"


def rows_of(statistics: Statistics) -> list[Rows]:
    """Rows of every sequence as plain tuples."""
    truth = statistics.body_truth
    body = np.full_like(statistics.target, ONE) if truth is None else truth
    columns = (statistics.target, body, statistics.count)
    return [
        list(zip(*(column[statistics.column(i)].tolist() for column in columns), strict=True))
        for i in range(len(statistics.bodies))
    ]


def figures_of(discovery: Discovery) -> list[tuple[Body, int, int, int]]:
    """Candidates as plain tuples; the figures of true and false targets add up."""
    listed = list(discovery.candidates)
    assert all(c.coverage == c.coverage_true + c.coverage_false for c in listed)
    return [(c.body, c.coverage, c.coverage_true, c.paths) for c in listed]


def texts_of(world: World, bodies: list[Body], distinct: bool) -> dict[Body, str]:
    """Texts of the clauses, under the identifiers of all names in play."""
    names = [p for _, p, _ in world.values] + [t for (_, t, _), _ in world.labels]
    spelt = identifiers(names + [p for _, p in world.unary])
    return {body: Clause(body).text(spelt, distinct=distinct) for body in bodies}


def check_shares(statistics: Statistics, found: Mapping[Body, Figures], language: Language) -> None:
    """Compare shares, added up over the rows of each target, with those of brute force."""
    if not language.shares:
        assert statistics.share is None
        return
    assert statistics.share is not None
    column = np.repeat(np.arange(len(statistics.bodies)), np.diff(statistics.indptr))
    sums = np.zeros((len(statistics.bodies), statistics.n_targets))
    np.add.at(sums, (column, statistics.target), statistics.share)
    expected = np.zeros_like(sums)
    for row, body in enumerate(statistics.bodies):
        for target, share in found[body].shares.items() if body in found else ():
            expected[row, target] = share
    np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=0)


def check(
    make: Make, world: World, language: Language, found: dict[Body, Figures] | None = None
) -> Discovery:
    """Compare a discovery with what brute force finds, in every figure."""
    discovery = make(world.facts).discover(world.targets, language)
    if found is None:
        found = search(world.values, world.labels, language, world.unary)
    texts = texts_of(world, list(found), language.distinct_variables)
    expected = kept(found, world.labels, language, texts)
    assert figures_of(discovery) == expected
    assert [c.text for c in discovery.candidates] == [texts[path] for path, *_ in expected]
    assert discovery.statistics is not None
    assert list(discovery.statistics.bodies) == [path for path, *_ in expected]
    assert rows_of(discovery.statistics) == [found[path].rows for path, *_ in expected]
    check_shares(discovery.statistics, found, language)
    if discovery.found is None:
        assert language.min_coverage > 1, "only what is pruned may go uncounted"
    else:
        assert discovery.found == sum(bool(figures.covered) for figures in found.values())
    assert discovery.own_edges == sum(target in world.values for target, _ in world.labels)
    seen = {name for s, _, o in world.values for name in (s, o)} | {e for e, _ in world.unary}
    assert discovery.unseen == sum(not {s, o} <= seen for (s, _, o), _ in world.labels)
    return discovery


@every_engine
@values
@given(st.data(), languages())
@settings(max_examples=150)
def test_discovery_equals_brute_force(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: Language
) -> None:
    check(make, data.draw(worlds(value)), language)


@pytest.mark.quick_cases(1)
@first_of_every_engine
@values
@given(st.data(), languages(), st.integers(1, 4), st.none() | st.integers(1, 6))
def test_pruning_and_order(
    make: Make,
    value: st.SearchStrategy[int],
    data: st.DataObject,
    language: Language,
    min_coverage: int,
    top: int | None,
) -> None:
    world = data.draw(worlds(value))
    check(make, world, replace(language, min_coverage=min_coverage, top=top))


@cache
def handful(soft: bool, language: Language) -> tuple[World, dict[Body, Figures]]:
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
    language = Language(max_length, 1, None, distinct, max_fanout)
    world, found = handful(soft, language)
    check(make, world, language, found)


#: Searches over many worlds at once. Spark runs DuckDB's SQL, and is held to the widest.
SEARCHES = [
    (Language(4, 1, distinct_variables=True), True),
    (Language(4, 1, max_fanout=2), False),
    (Language(3, 1), False),
    (Language(3, 3, top=20), True),
]
SPARK = [pytest.mark.java, pytest.mark.xdist_group("spark")]


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("make", "language", "soft"),
    [
        *(pytest.param(*first.values, *search) for first in FIRST for search in SEARCHES),
        *(pytest.param("spark", *search, marks=SPARK) for search in SEARCHES[:1]),
    ],
    indirect=["make"],
)
def test_many_worlds_at_once(make: Make, language: Language, soft: bool) -> None:
    """Every kind of search at least once; what is kept is counted again, found or not."""
    world = many_worlds(100, soft, seed=language.max_length)
    discovery = check(make, world, language)
    paths = [candidate.body for candidate in discovery.candidates][::-1]
    unknown = Body((Step("unknown"),), "t")
    counted = make(world.facts).count(world.targets, [*paths, unknown], language)
    assert discovery.statistics is not None
    assert rows_of(counted) == [*rows_of(discovery.statistics)[::-1], []]


@pytest.mark.quick_cases(1)
@first_of_every_engine
@given(worlds(SOFT), languages())
def test_statistics_are_optional(make: Make, world: World, language: Language) -> None:
    engine, targets = make(world.facts), world.targets
    bare = engine.discover(targets, language, statistics=False)
    whole = engine.discover(targets, language)
    assert bare.statistics is None
    assert figures_of(bare) == figures_of(whole)
    assert (bare.found, bare.own_edges, bare.unseen) == (
        whole.found,
        whole.own_edges,
        whole.unseen,
    )


@pytest.mark.quick_cases(1)
@first_of_every_engine
@given(worlds(), languages())
def test_labels_are_optional(make: Make, world: World, language: Language) -> None:
    labelled = world.targets
    pairs = replace(labelled, millionths=None)
    engine = make(world.facts)
    expected = [
        (path, coverage, 0, paths)
        for path, coverage, _, paths in figures_of(engine.discover(labelled, language))
    ]
    assert figures_of(engine.discover(pairs, language)) == expected


STEPS = st.builds(Step, st.sampled_from([*PREDICATES, "unknown"]), st.booleans())
PATHS = st.builds(
    Body,
    st.lists(STEPS, min_size=1, max_size=4).map(tuple),
    st.sampled_from([*TARGETS, "unknown"]),
)


@every_engine
@values
@given(st.data(), languages())
def test_counting_equals_discovery(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: Language
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


@pytest.mark.quick_cases(1)
@first_of_every_engine
@given(worlds(SOFT), languages())
def test_counting_what_was_kept_gives_the_same_table(
    make: Make, world: World, language: Language
) -> None:
    engine, targets = make(world.facts), world.targets
    discovery = engine.discover(targets, language)
    again = engine.count(targets, [c.body for c in discovery.candidates], language)
    assert discovery.statistics is not None
    assert rows_of(again) == rows_of(discovery.statistics)


@first_of_every_engine
def test_counting_nothing(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    statistics = make(world.facts).count(world.targets, [], Language())
    assert statistics.indptr.tolist() == [0]
    assert len(statistics.target) == len(statistics.count) == 0


@pytest.mark.quick_cases(1)
@first_of_every_engine
@given(worlds(SOFT), languages(), st.data())
def test_names_of_entities_do_not_matter(
    make: Make, world: World, language: Language, data: st.DataObject
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


@pytest.mark.quick_cases(1)
@first_of_every_engine
@given(worlds(SOFT), languages(), st.data())
def test_order_of_targets_only_numbers_the_rows(
    make: Make, world: World, language: Language, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(world.labels))))
    engine, targets = make(world.facts), world.targets
    one = engine.discover(targets, language).statistics
    two = engine.discover(targets.select(np.array(order)), language).statistics
    assert one is not None
    assert two is not None
    back = [sorted((order[row], body, n) for row, body, n in rows) for rows in rows_of(two)]
    assert back == rows_of(one)


@pytest.mark.slow
@first_of_every_engine
@given(worlds(SOFT), languages())
def test_swapping_all_arguments_mirrors_the_paths(
    make: Make, world: World, language: Language
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
        make(read_facts(rows)).discover(labels, Language(min_coverage=1))
        for rows in (listed, mixed)
    )
    assert figures_of(one) == figures_of(two)
    assert one.statistics is not None
    assert two.statistics is not None
    assert rows_of(one.statistics) == rows_of(two.statistics)


@first_of_every_engine
def test_a_target_repeated_is_a_target_each_time(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), 0), (("a", "t", "b"), 0)])
    discovery = check(make, world, Language(1, 1))
    assert [c.coverage for c in discovery.candidates] == [2]


@first_of_every_engine
def test_own_edge_is_no_evidence_anywhere(make: Make) -> None:
    """With t(a, b) alone there is one edge, and every walk from a to b takes it."""
    alone = World({("a", "t", "b"): ONE}, [(("a", "t", "b"), ONE)])
    assert len(check(make, alone, Language(4, 1)).candidates) == 0
    # the same edge is evidence for other targets, t(b, a) and s(a, b) among them
    others = World(alone.values, [(("b", "t", "a"), 0), (("a", "s", "b"), 0)])
    paths = {str(c.text) for c in check(make, others, Language(1, 1)).candidates}
    assert paths == {"t(B, A) -> t(A, B)", "t(A, B) -> s(A, B)"}


@first_of_every_engine
@pytest.mark.parametrize("stated", [False, True], ids=["unknown", "among the facts"])
def test_the_papers_citations(make: Make, stated: bool) -> None:
    """Paper 1 cites paper 2, which mentions the gene: so paper 1 mentions it."""
    values = {("paper1", "cites", "paper2"): ONE, ("paper2", "mentions", "gene"): ONE}
    target = ("paper1", "mentions", "gene")
    world = World(values | {target: ONE} if stated else values, [(target, ONE)])
    discovery = check(make, world, Language(3, 1))
    assert [c.text for c in discovery.candidates] == [
        "cites(A, B) & mentions(B, C) -> mentions(A, C)"
    ]
    assert discovery.candidates[0].paths == 1
    assert discovery.own_edges == stated


@first_of_every_engine
def test_fanout_counts_edges_of_one_relation_in_one_direction(make: Make) -> None:
    """The hub's p-edges are not walked from the hub, but are walked to it."""
    spokes = {("hub", "p", f"s{i}"): ONE for i in range(3)} | {("hub", "q", "s0"): ONE}
    world = World(spokes, [(("hub", "t", "s0"), ONE), (("s0", "t", "s1"), ONE)])
    texts = {c.text for c in check(make, world, Language(2, 1, max_fanout=2)).candidates}
    assert texts == {"q(A, B) -> t(A, B)"}
    backwards = World(spokes, [(("s0", "t", "hub"), ONE)])
    texts = {c.text for c in check(make, backwards, Language(1, 1, max_fanout=2)).candidates}
    assert texts == {"p(B, A) -> t(A, B)", "q(B, A) -> t(A, B)"}


@first_of_every_engine
def test_facts_without_binary_atoms(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    facts = replace(world.facts, atoms={})
    discovery = make(facts).discover(world.targets, Language(3, 1))
    assert len(discovery.candidates) == 0
    assert discovery.unseen == 0


@first_of_every_engine
def test_no_target_is_seen(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("x", "t", "y"), ONE), (("a", "t", "y"), 0)])
    discovery = check(make, world, Language(3, 1))
    assert discovery.unseen == 2


@first_of_every_engine
def test_targets_of_no_predicate_of_the_paths(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    targets: Targets = world.targets
    path = Body((Step("p"),), "other")
    assert rows_of(make(world.facts).count(targets, [path], Language())) == [[]]
