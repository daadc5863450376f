"""What every engine is held to: brute force, in every figure, and the engines that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest
from hypothesis import strategies as st

from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.sql.duckdb_engine import DuckDB, duckdb_engine
from hornbeam.counting.sql.spark_engine import Spark
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import Facts
from hornbeam.language.rule_texts import identifiers
from hornbeam.rules.body import Body, Step
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.clause import Clause
from tests.support.brute_force import ONE, Figures, Rows, kept, search
from tests.support.worlds import (
    CRISP,
    PREDICATES,
    SOFT,
    World,
    entities_of,
    renamed,
)

Make = Callable[[Facts], Engine]

#: Every database that the SQL engine runs on, with a maker, or the fixture that it needs.
DATABASES: dict[type, Make | str] = {DuckDB: duckdb_engine, Spark: "spark"}
#: Every engine, by the class that implements it. A new engine adds a line here.
ENGINES: dict[type, list[Make]] = {
    MemoryEngine: [
        lambda facts: MemoryEngine(facts, threads=1),
        lambda facts: MemoryEngine(facts, threads=2),
        lambda facts: MemoryEngine(facts, threads=3),
    ],
    SqlEngine: [make for make in DATABASES.values() if not isinstance(make, str)],
}
SPARK = [pytest.mark.java, pytest.mark.xdist_group("spark")]
#: Databases that a session has to be started for: few tests, with much in each.
WITH_FIXTURES = [
    pytest.param(make, id=database.__name__, marks=SPARK)
    for database, make in DATABASES.items()
    if isinstance(make, str)
]


def few_examples(engine: type, number: int) -> list[pytest.MarkDecorator]:
    """One thread in memory sees all examples, what else there is a few.

    Threads run the same kernel on blocks of targets. A database takes as long for one world as
    for a hundred, and sees hundreds of them in `test_many_worlds_at_once`.
    """
    return [pytest.mark.examples(6)] if number > 1 or engine is not MemoryEngine else []


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


def check_shares(
    statistics: Statistics, found: Mapping[Body, Figures], language: RuleLimits
) -> None:
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
    make: Make, world: World, language: RuleLimits, found: dict[Body, Figures] | None = None
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
        counted = [figures for figures in found.values() if figures.most_coverage]
        assert discovery.found == sum(bool(figures.covered) for figures in counted)
    assert discovery.own_edges == sum(target in world.values for target, _ in world.labels)
    seen = {name for s, _, o in world.values for name in (s, o)} | {e for e, _ in world.unary}
    assert discovery.unseen == sum(not {s, o} <= seen for (s, _, o), _ in world.labels)
    return discovery


STEPS = st.builds(Step, st.sampled_from([*PREDICATES, "unknown"]), st.booleans())


#: Worlds that somebody thought of, by what is odd about them.
HAND_MADE = {
    "its own edge alone": World({("a", "t", "b"): ONE}, [(("a", "t", "b"), ONE)]),
    "the edge of others": World(
        {("a", "t", "b"): ONE}, [(("b", "t", "a"), 0), (("a", "s", "b"), 0)]
    ),
    "a target repeated": World({("a", "p", "b"): ONE}, [(("a", "t", "b"), 0)] * 2),
    "no facts": World({}, [(("a", "t", "b"), ONE)]),
    "unseen": World({("a", "p", "b"): ONE}, [(("x", "t", "y"), ONE), (("a", "t", "y"), 0)]),
    "fan-out": World(
        {("hub", "p", f"s{i}"): ONE for i in range(3)} | {("hub", "q", "s0"): ONE},
        [(("hub", "t", "s0"), ONE), (("s0", "t", "s1"), ONE)],
    ),
    "a class alone": World(
        {}, [(("a", "t", "b"), ONE), (("b", "t", "a"), 0)], {("a", "student"): ONE}
    ),
    "its own edge among conditions": World(
        {("a", "t", "b"): ONE, ("a", "t", "c"): ONE, ("d", "t", "d"): ONE},
        [(("a", "t", "b"), ONE), (("d", "t", "d"), ONE), (("c", "t", "a"), 0)],
    ),
    "degrees that a pair sees": World(
        {("a", "t", "hub"): ONE, ("a", "t", "x"): ONE, ("y0", "t", "x"): ONE}
        | {(f"y{i}", "t", "hub"): ONE for i in range(2)},
        [(("a", "t", "hub"), ONE), (("a", "s", "hub"), 0)],
    ),
}


def joined(parts: Iterable[World]) -> World:
    """Worlds side by side, each with entities of its own."""
    whole = World({}, [])
    for number, part in enumerate(parts):
        one = renamed(part, {name: f"{number} {name}" for name in entities_of(part)})
        whole = World(
            {**whole.values, **one.values},
            [*whole.labels, *one.labels],
            {**whole.unary, **one.unary},
        )
    return whole
