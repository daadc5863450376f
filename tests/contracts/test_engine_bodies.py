"""The contract of engines for bodies of all kinds, and for shares of paths."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.counting.memory import chain_walks
from hornbeam.counting.sql import chain_queries
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.rule_model import Semantics
from tests.support import brute_force
from tests.support.brute_force import ONE, Figures, search
from tests.support.engine_contract import (
    FIRST,
    HAND_MADE,
    STEPS,
    WITH_FIXTURES,
    Make,
    check,
    check_shares,
    every_engine,
    figures_of,
    first_of_every_engine,
    joined,
    rows_of,
    values,
)
from tests.support.kernels import compiles
from tests.support.recorded_progress import RecordedProgress
from tests.support.rich_worlds import SOFT as RICH_SOFT
from tests.support.rich_worlds import (
    Pair,
    RichWorld,
    chains,
    pairs_of,
    rich_pairs,
    rich_worlds,
    steps_of,
)
from tests.support.worlds import (
    CLASSES,
    PREDICATES,
    SOFT,
    TARGETS,
    World,
    many_worlds,
    rich_languages,
    worlds,
)

# the first engine and the last
pytestmark = pytest.mark.quick_cases(2)

ALL = tuple(kind for kind in Kind if kind is not Kind.NUMBERS)


@every_engine
@values
@given(st.data(), rich_languages())
@settings(max_examples=60)
def test_discovery_equals_brute_force(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    check(make, data.draw(worlds(value, classes=CLASSES)), language)


@first_of_every_engine
@values
@given(
    st.data(),
    rich_languages(),
    st.integers(1, 4),
    st.none() | st.integers(1, 6),
    st.sets(st.sampled_from([*PREDICATES, *CLASSES, "unknown"]), max_size=2),
)
def test_pruning_and_order(
    make: Make,
    value: st.SearchStrategy[int],
    data: st.DataObject,
    language: RuleLimits,
    min_coverage: int,
    top: int | None,
    exclude: set[str],
) -> None:
    world = data.draw(worlds(value, classes=CLASSES))
    exact = replace(language, min_coverage=min_coverage, top=top, exclude=tuple(exclude))
    check(make, world, exact)


ENTITIES = st.sampled_from([*(f"e{i}" for i in range(4)), "alone", "unseen", "it's"])
CONDITIONS = st.one_of(
    st.builds(
        lambda step, target, argument: Body((step,), target, Kind.OPEN, argument),
        STEPS,
        st.sampled_from(TARGETS),
        st.integers(0, 1),
    ),
    st.builds(
        lambda name, target, argument: Body((Step(name, arity=1),), target, Kind.UNARY, argument),
        st.sampled_from([*CLASSES, *PREDICATES, "unknown"]),
        st.sampled_from(TARGETS),
        st.integers(0, 1),
    ),
    st.builds(
        lambda steps, target, argument, constant: Body(
            tuple(steps), target, Kind.ANCHORED, argument, constant
        ),
        st.lists(STEPS, max_size=1),
        st.sampled_from([*TARGETS, "unknown"]),
        st.integers(0, 1),
        ENTITIES,
    ),
)


@every_engine
@values
@given(st.data(), rich_languages())
def test_counting_equals_discovery(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    """Bodies that were found, drawn at random, unknown and repeated, in any order."""
    world = data.draw(worlds(value, classes=CLASSES))
    everything = replace(language, max_length=min(language.max_length, 3), bodies=ALL)
    whole = search(world.values, world.labels, everything, world.unary)
    bodies = data.draw(st.lists(CONDITIONS, max_size=6))
    if whole:
        bodies += data.draw(st.lists(st.sampled_from(list(whole)), max_size=12))
    bodies = data.draw(st.permutations([*bodies, *bodies[:2]]))
    statistics = make(world.facts).count(world.targets, bodies, language)
    assert list(statistics.bodies) == bodies
    assert rows_of(statistics) == [whole[body].rows if body in whole else [] for body in bodies]
    check_shares(statistics, whole, language)


#: Searches over many worlds at once.
SEARCHES = [
    (RuleLimits(2, 1, bodies=ALL, shares=True), True),
    (RuleLimits(4, 1, shares=True, max_fanout=2), False),
    (RuleLimits(3, 2, distinct_variables=True, bodies=ALL, shares=True), True),
    (RuleLimits(3, 2, top=300, max_fanout=3, bodies=ALL[1:]), False),
]


@cache
def sixty(language: RuleLimits, soft: bool) -> tuple[World, dict[Body, Figures]]:
    """So many worlds, and what brute force finds."""
    world = many_worlds(60, soft, seed=language.max_length, classes=CLASSES)
    return world, search(world.values, world.labels, language, world.unary)


@pytest.mark.slow
@first_of_every_engine
@pytest.mark.parametrize(("language", "soft"), SEARCHES)
@compiles  # and brute force searches once for all engines
def test_many_worlds_at_once(make: Make, language: RuleLimits, soft: bool) -> None:
    """What is kept is counted again, in another order."""
    world, found = sixty(language, soft)
    discovery = check(make, world, language, found)
    bodies = [candidate.body for candidate in discovery.candidates][::-1]
    counted = make(world.facts).count(world.targets, bodies, language)
    assert discovery.statistics is not None
    assert rows_of(counted) == rows_of(discovery.statistics)[::-1]
    check_shares(counted, found, language)


@first_of_every_engine
@given(worlds(SOFT, classes=CLASSES), rich_languages())
def test_statistics_and_labels_are_optional(make: Make, world: World, language: RuleLimits) -> None:
    engine, targets = make(world.facts), world.targets
    whole = engine.discover(targets, language)
    bare = engine.discover(targets, language, statistics=False)
    assert bare.statistics is None
    assert (figures_of(bare), bare.found) == (figures_of(whole), whole.found)
    unlabelled: Targets = replace(targets, millionths=None)
    assert figures_of(engine.discover(unlabelled, language)) == [
        (body, coverage, 0, paths) for body, coverage, _, paths in figures_of(whole)
    ]


@first_of_every_engine
@given(worlds(SOFT, classes=CLASSES), rich_languages(), st.data())
def test_order_of_targets_only_numbers_the_rows(
    make: Make, world: World, language: RuleLimits, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(world.labels))))
    engine, targets = make(world.facts), world.targets
    one = engine.discover(targets, language).statistics
    two = engine.discover(targets.select(np.array(order)), language).statistics
    assert one is not None
    assert two is not None
    back = [sorted((order[row], body, n) for row, body, n in rows) for rows in rows_of(two)]
    assert back == rows_of(one)


CHAINS = st.tuples(st.sampled_from(["t", "p"]), st.integers(0, 1)).flatmap(
    lambda head: chains(head[0], head[1], steps_of((1, 2, 3)))
)


@first_of_every_engine
@given(
    rich_worlds(RICH_SOFT),
    st.lists(CHAINS, min_size=1, max_size=8),
    st.lists(rich_pairs("t") | rich_pairs("p"), min_size=1, max_size=6, unique=True),
    st.booleans(),
    st.none() | st.integers(1, 2),
)
@settings(max_examples=60)
def test_chains_over_atoms_of_any_arity(
    make: Make,
    world: RichWorld,
    bodies: list[Body],
    pairs: list[Pair],
    distinct: bool,
    max_fanout: int | None,
) -> None:
    """Loops, the pair's own fact, constants that no fact has, and steps between any two places."""
    semantics = Semantics(distinct_variables=distinct, max_fanout=max_fanout)
    language = RuleLimits(distinct_variables=distinct, max_fanout=max_fanout)
    counted = make(world.facts).count(pairs_of(*pairs), bodies, language)
    expected = [
        sorted(
            (row, truth, number)
            for row, pair in enumerate(pairs)
            if pair[1] == body.target and "unseen" not in pair
            for truth, number in Counter(
                grounding.truth for grounding in world.groundings(body, pair, semantics)
            ).items()
        )
        for body in bodies
    ]
    assert rows_of(counted) == expected


@first_of_every_engine
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("most", [3, 4])
def test_chains_of_many_walks_are_not_anchored(
    make: Make, monkeypatch: pytest.MonkeyPatch, distinct: bool, most: int
) -> None:
    """Every a leads to four entities through a hub."""
    for module in (chain_walks, chain_queries):
        monkeypatch.setattr(module, "HUB_WALKS", most)
    monkeypatch.setattr(brute_force, "HUB_WALKS", most)
    starts = [f"a{i}" for i in range(3)]
    facts = [("b", "r", "b2"), *((a, "p", "hub") for a in starts)]
    facts += [(hub, "q", f"c{i}") for hub in ("hub", "other") for i in range(4)]
    world = World(dict.fromkeys(facts, ONE), [((a, "t", "b"), ONE) for a in starts])
    language = RuleLimits(2, 3, bodies=(Kind.CHAIN,), distinct_variables=distinct)
    discovery, progress = check(make, world, language), RecordedProgress()
    anchored = [c for c in discovery.candidates if c.body.constant is not None]
    assert len(anchored) == (4 if most == 4 else 0)
    make(world.facts).discover(world.targets, language, progress=progress)
    said = [text for text in progress.messages if "lead through hubs" in text]
    assert len(said) == (most < 4)


@first_of_every_engine
@given(
    worlds(SOFT, classes=CLASSES),
    st.integers(0, 120),
    st.integers(1, 3),
    st.booleans(),
    st.none() | st.integers(1, 2),
)
@settings(max_examples=40)
def test_chains_are_made_longer_by_the_fewest_walks_first(
    make: Make, world: World, most: int, least: int, distinct: bool, max_fanout: int | None
) -> None:
    language, progress = RuleLimits(3, least, None, distinct, max_fanout), RecordedProgress()
    language = replace(language, bodies=(Kind.CHAIN,))
    with pytest.MonkeyPatch.context() as patch:
        for module in (chain_walks, chain_queries, brute_force):
            patch.setattr(module, "MAX_WALKS", most)
        patch.setattr(chain_walks, "BATCH", 5)
        check(make, world, language)
        make(world.facts).discover(world.targets, language, progress=progress)
    walked = [(done, total) for stage, done, total in progress.reports if stage == "Walking chains"]
    assert not walked or walked[-1][0] == walked[-1][1]


@first_of_every_engine
def test_chains_of_too_many_walks_are_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """By p three entities are reached, which 9 + 3 facts leave; by q one, which 3 leave."""
    for module in (chain_walks, chain_queries, brute_force):
        monkeypatch.setattr(module, "MAX_WALKS", 11)
    starts = [f"a{i}" for i in range(3)]
    facts = [(a, "p", f"b{i}") for i, a in enumerate(starts)] + [(a, "q", "c") for a in starts]
    facts += [(f"b{i}", "r", f"d{j}") for i in range(3) for j in range(3)]
    world = World(dict.fromkeys(facts, ONE), [((a, "t", a), ONE) for a in starts])
    language, progress = RuleLimits(2, 1, bodies=(Kind.CHAIN,)), RecordedProgress()
    check(make, world, language)
    found = make(world.facts).discover(world.targets, language, progress=progress)
    first = {c.body.steps[0].predicate for c in found.candidates}
    assert first == {"q"}
    assert [text[:40] for text in progress.messages if "longer" in text] == [
        "2 chains were counted, but not made long"
    ]


@first_of_every_engine
def test_own_edge_is_no_evidence_for_conditions(make: Make) -> None:
    """Of the two facts t(a, b) and t(a, c), the pair (a, b) sees one; a loop is two edges."""
    world = HAND_MADE["its own edge among conditions"]
    discovery = check(make, world, RuleLimits(1, 1, bodies=(Kind.OPEN, Kind.ANCHORED)))
    counts = {c.text: (c.coverage, c.paths) for c in discovery.candidates}
    assert counts["t(A, C) -> t(A, B)"] == (1, 1)
    assert counts["t(A, 'c') -> t(A, B)"] == (1, 1)
    assert counts["t(B, C) -> t(A, B)"] == (1, 2)
    assert "t(A, 'b') -> t(A, B)" not in counts
    assert "t(A, 'd') -> t(A, B)" not in counts


@first_of_every_engine
def test_shares_are_of_the_degrees_that_a_pair_sees(make: Make) -> None:
    """Without its own fact, a has one t-edge and b, the hub, two: not two and three."""
    world = HAND_MADE["degrees that a pair sees"]
    body = Body((Step("t"), Step("t", inverse=True), Step("t")), "t")
    language = RuleLimits(3, 1, shares=True)
    counted = make(world.facts).count(world.targets, [body, replace(body, target="s")], language)
    # a -> x (degrees 1, 2), x <- y0 (2, 2), y0 -> hub (2, 2)
    own = 1 / (np.sqrt(1 * 2) * np.sqrt(2 * 2) * np.sqrt(2 * 2))
    assert counted.share is not None
    assert counted.share[counted.column(0)] == pytest.approx([own], rel=1e-12)
    check(make, world, language)


@first_of_every_engine
def test_nothing_to_count_has_no_shares(make: Make) -> None:
    world = World({("a", "p", "b"): ONE}, [(("x", "t", "y"), ONE)])
    engine, language = make(world.facts), RuleLimits(1, 1, bodies=ALL, shares=True)
    found = engine.discover(world.targets, language).statistics
    assert found is not None
    bodies = [Body((Step("p"),), "t"), Body((Step("p"),), "t", Kind.OPEN)]
    for table in (found, engine.count(world.targets, bodies, language)):
        assert table.share is not None
        assert len(table.share) == 0


@first_of_every_engine
def test_facts_of_classes_alone(make: Make) -> None:
    """Entities that no edge has are known, and have conditions."""
    world = HAND_MADE["a class alone"]
    discovery = check(make, world, RuleLimits(3, 1, bodies=ALL, shares=True))
    assert discovery.unseen == 2
    both = replace(world, unary={("a", "student"): ONE, ("b", "student"): ONE})
    discovery = check(make, both, RuleLimits(3, 1, bodies=ALL, shares=True))
    assert "student(A) -> t(A, B)" in {c.text for c in discovery.candidates}


@pytest.mark.parametrize("make", FIRST + WITH_FIXTURES, indirect=True)
def test_all_worlds_at_once(make: Make) -> None:
    """For databases in which every query takes long: many worlds, and what is odd, in one search.

    What is found is counted again, with a body that nothing is known of.
    """
    world = joined([*HAND_MADE.values(), many_worlds(60, soft=True, seed=2, classes=CLASSES)])
    language = RuleLimits(2, 1, max_fanout=2, bodies=ALL, shares=True)
    discovery = check(make, world, language)
    bodies = [candidate.body for candidate in discovery.candidates]
    unknown = Body((Step("unknown"),), "t")
    counted = make(world.facts).count(world.targets, [*bodies, unknown], language)
    assert discovery.statistics is not None
    assert rows_of(counted) == [*rows_of(discovery.statistics), []]
