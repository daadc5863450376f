"""Counts of conditions on numbers, against brute force, in every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.counting import discover
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.number_search import cuts_of
from hornbeam.counting.opening import discover_bodies
from hornbeam.counting.sql.duckdb_engine import duckdb_engine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.rule_model import Semantics
from tests.support.engine_contract import Make, first_of_every_engine
from tests.support.rich_worlds import (
    ENTITIES,
    NUMBERS,
    Pair,
    RichWorld,
    conditions,
    pairs_of,
    rich_pairs,
    rich_worlds,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LANGUAGE = RuleLimits(min_coverage=1, bodies=(Kind.PATH, Kind.OPEN, Kind.NUMBERS), shares=True)


def number_bodies() -> st.SearchStrategy[list[Body]]:
    """Comparisons and values of one argument or both."""
    one = st.builds(
        lambda number, argument, is_value: Body(
            (),
            "t",
            Kind.NUMBERS,
            0 if number.absolute else argument,
            number=number.value if is_value else number,
        ),
        NUMBERS,
        st.integers(0, 1),
        st.booleans(),
    )
    return st.lists(one, min_size=1, max_size=5)


def check(counted: Statistics, world: RichWorld, bodies: Sequence[Body], pairs: list[Pair]) -> None:
    """Whether counts and sums of values are those that brute force finds."""
    assert counted.share is not None
    for k, body in enumerate(bodies):
        rows = counted.column(k)
        found = {
            int(row): (int(n), float(total))
            for row, n, total in zip(
                counted.target[rows], counted.count[rows], counted.share[rows], strict=True
            )
        }
        expected = {}
        for row, pair in enumerate(pairs):
            values = world.numbers_of(body, pair)
            if values:
                expected[row] = len(values), sum(values) if body.is_value else 0.0
        assert found == expected, body


@first_of_every_engine
@settings(max_examples=40)
@given(rich_worlds(), number_bodies(), st.lists(rich_pairs(), min_size=1, max_size=6))
def test_counts_equal_brute_force(
    make: Make, world: RichWorld, bodies: list[Body], pairs: list[Pair]
) -> None:
    engine = make(world.facts)
    path = Body((), "t", Kind.ANCHORED, 0, "a")
    counted = engine.count(pairs_of(*pairs), [path, *bodies], LANGUAGE)
    check(counted.only(np.arange(1, len(bodies) + 1)), world, bodies, pairs)
    by_name = [len(world.groundings(path, pair, Semantics())) for pair in pairs]
    assert int(counted.count[counted.column(0)].sum()) == sum(
        n for n, pair in zip(by_name, pairs, strict=True) if {pair[0], pair[2]} <= {*ENTITIES}
    )


@pytest.mark.java
@pytest.mark.xdist_group("spark")
@settings(max_examples=4, phases=[Phase.explicit, Phase.generate])
@given(
    world=rich_worlds(),
    bodies=number_bodies(),
    others=st.lists(conditions("t").filter(lambda body: body.number is None), max_size=1),
    pairs=st.lists(rich_pairs(), min_size=1, max_size=6),
)
def test_spark_counts_equal_brute_force(
    spark: SparkSession,
    world: RichWorld,
    bodies: list[Body],
    others: list[Body],
    pairs: list[Pair],
) -> None:
    """Random worlds with missing and several values, all in one session."""
    from tests.support.sparks import spark_engine  # needs pyspark

    language = replace(LANGUAGE, bodies=tuple(Kind))
    engine = spark_engine(spark, world.facts)
    counted = engine.count(pairs_of(*pairs), [*bodies, *others], language)
    check(counted.only(np.arange(len(bodies))), world, bodies, pairs)
    for k, body in enumerate(others, start=len(bodies)):
        rows = counted.column(k)
        found = dict(zip(counted.target[rows].tolist(), counted.count[rows].tolist(), strict=True))
        expected = {
            row: len(world.groundings(body, pair, Semantics()))
            for row, pair in enumerate(pairs)
            if {pair[0], pair[2]} <= {*ENTITIES}
        }
        assert found == {row: n for row, n in expected.items() if n}, body


def people() -> tuple[hb.Facts, hb.Targets]:
    """Forty people with a height, half of them with a year, and labels that say who is younger."""
    rng = np.random.default_rng(1)
    names = [f"p{k:02}" for k in range(40)]
    rows = [(name, "height", float(rng.integers(150, 200))) for name in names]
    rows += [(name, "year", float(1950 + k)) for k, name in enumerate(names[::2])]
    facts = hb.read_facts(
        [(name, "likes", names[k - 1]) for k, name in enumerate(names)], rows_of(rows)
    )
    pairs = [(a, "after", b, float(a > b)) for a in names[::3] for b in names[::4] if a != b]
    return facts, hb.read_labels(pairs)


def rows_of(rows: list[tuple[str, str, float]]) -> hb.Facts:
    return hb.read_numbers(rows)


def test_both_engines_find_the_same_candidates() -> None:
    facts, labels = people()
    first, second = (
        discover_bodies(make(facts), labels, LANGUAGE)
        for make in (lambda one: MemoryEngine(one, 1), duckdb_engine)
    )
    assert list(first.candidates) == list(second.candidates)
    assert first.statistics is not None
    assert second.statistics is not None
    assert first.statistics.count.tolist() == second.statistics.count.tolist()
    shares = first.statistics.share, second.statistics.share
    assert shares[0] is not None
    assert shares[1] is not None
    assert np.allclose(shares[0], shares[1])


def test_cuts_are_observed_values_of_the_labelled_pairs() -> None:
    facts, labels = people()
    found = discover(facts, labels, LANGUAGE)
    bodies = [body for body in found.candidates.bodies if body.number and body.number.bound]
    years = {1950.0 + k for k in range(20)}
    seen = {
        body.number.bound.value
        for body in bodies
        if body.number
        and body.number.bound
        and body.number.minus is None
        and body.number.attribute == "year"
    }
    assert seen
    assert seen <= years
    differences = [body for body in bodies if body.only_argument is None]
    assert {(body.number.attribute, body.number.minus) for body in differences if body.number} == {
        (one, other) for one in ("year", "height") for other in ("year", "height")
    }
    texts = [candidate.text for candidate in found.candidates]
    assert any(text.startswith("(abs(year(A) - year(B)) < ") for text in texts)
    assert "has_year(A) -> after(A, B)" in texts


@given(st.lists(st.floats(-1e6, 1e6), max_size=60))
def test_cuts_split_the_values(values: list[float]) -> None:
    cuts = cuts_of(np.array(values, dtype=np.float64))
    assert len(cuts) <= 8
    assert set(cuts.tolist()) <= set(values)
    assert all(min(values) < cut <= max(values) for cut in cuts.tolist())


def test_numbers_that_are_asked_for_must_be_there() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    labels = hb.read_labels([("a", "t", "b", 1.0), ("b", "t", "a", 0.0)])
    with pytest.raises(InputError, match="no numbers to compare: give them by `numbers`"):
        discover(facts, labels, LANGUAGE)


def test_dates_and_numbers_are_not_subtracted_from_each_other() -> None:
    rows = [(f"p{k}", "size", k) for k in range(20)]
    days = [(f"p{k}", "born", f"19{50 + k}-01-01") for k in range(20)]
    facts = hb.read_facts([("p0", "likes", "p1")], numbers=rows, dates=days)
    pairs = [(f"p{a}", "after", f"p{b}", float(a > b)) for a in range(20) for b in (3, 9, 15)]
    found = discover(facts, hb.read_labels(pairs), LANGUAGE)
    numbers = (body.number for body in found.candidates.bodies if body.number is not None)
    compared = {(number.attribute, number.minus) for number in numbers if number.minus}
    assert compared == {("size", "size"), ("born", "born")}
