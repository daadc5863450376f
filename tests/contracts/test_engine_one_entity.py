"""The contract of engines for targets on one entity: t(A) is the pair (A, A), each body once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.explaining.grounding_finder import GroundingFinder
from hornbeam.facts.table import Targets
from hornbeam.language.rule_texts import parse_logical_rules
from hornbeam.rules.body import Body, Kind, cycle, reversed_steps
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.clause import Clause
from hornbeam.rules.parsed_clauses import parsed_clause
from tests.support.brute_force import ONE, Figures, kept, search
from tests.support.engine_contract import (
    FIRST,
    WITH_FIXTURES,
    Make,
    check_shares,
    figures_of,
    first_of_every_engine,
    rows_of,
    texts_of,
    values,
)
from tests.support.worlds import (
    CLASSES,
    LABELS,
    PREDICATES,
    World,
    entities_of,
    many_worlds,
    rich_languages,
)

pytestmark = pytest.mark.quick_cases(2)

ALL = tuple(kind for kind in Kind if kind is not Kind.NUMBERS)


@st.composite
def one_entity_worlds(draw: st.DrawFn, value: st.SearchStrategy[int]) -> World:
    """Worlds whose targets are unary: "o", of which there are facts, or "t" without any."""
    names = [f"e{i}" for i in range(draw(st.integers(1, 5)))]
    entity = st.sampled_from(names)
    triple = st.tuples(entity, st.sampled_from(PREDICATES), entity)
    facts = draw(st.dictionaries(triple, value, min_size=1, max_size=12))
    classes = draw(st.dictionaries(st.tuples(entity, st.sampled_from(CLASSES)), value, max_size=6))
    wanted = st.tuples(st.sampled_from([*names, "unseen"]), st.sampled_from(["o", "t"]))
    labels = draw(st.dictionaries(wanted, LABELS, min_size=1, max_size=6))
    return World(facts, [((e, t, e), label) for (e, t), label in labels.items()], classes)


def unary_targets(world: World) -> Targets:
    """The targets of a world, all on one entity."""
    targets = world.targets
    return replace(targets, unary=frozenset(targets.predicates))


def brute_force(world: World, language: RuleLimits) -> dict[Body, Figures]:
    """Bodies for the pairs (A, A), those with the same meaning once, without the own fact."""
    found = {}
    for body, figures in search(world.values, world.labels, language, world.unary).items():
        steps = body.steps
        if body.argument or (body.kind is Kind.UNARY and steps[0].predicate == body.target):
            continue  # B is A, and the fact of A itself is never evidence
        if body.is_path and (steps != cycle(steps) or steps == reversed_steps(steps)[:2]):
            continue  # the other direction, or there and back
        found[replace(body, head_arity=1)] = figures
    return found


@first_of_every_engine
@values
@given(st.data(), rich_languages())
@settings(max_examples=60)
def test_discovery_and_counts_equal_brute_force(
    make: Make, value: st.SearchStrategy[int], data: st.DataObject, language: RuleLimits
) -> None:
    world = data.draw(one_entity_worlds(value))
    language = replace(language, distinct_variables=False)
    targets, engine = unary_targets(world), make(world.facts)
    discovery = engine.discover(targets, language)
    found = brute_force(world, language)
    texts = texts_of(world, list(found), distinct=False)
    expected = kept(found, world.labels, language, texts)
    assert figures_of(discovery) == expected
    assert discovery.statistics is not None
    assert rows_of(discovery.statistics) == [found[body].rows for body, *_ in expected]
    check_shares(discovery.statistics, found, language)
    assert discovery.own_edges == sum((e, t) in world.unary for (e, t, _), _ in world.labels)
    bodies = list(found)
    counted = engine.count(targets, bodies, language)
    assert rows_of(counted) == [found[body].rows for body in bodies]


@given(one_entity_worlds(st.just(1_000_000)))
@settings(max_examples=6)  # each has hundreds of bodies
def test_print_then_parse_is_the_identity(world: World) -> None:
    language = RuleLimits(max_length=3, min_coverage=1, bodies=tuple(Kind))
    for body in brute_force(world, language):
        text = str(Clause(body))
        assert text.endswith(f"-> {body.target}(A)")
        [rule] = parse_logical_rules(f"1: {text}", "model")
        assert parsed_clause(rule, {}, "model").clause.body == body


@values
@given(st.data())
@settings(max_examples=30)
def test_groundings_of_chains_are_listed_as_counted(
    value: st.SearchStrategy[int], data: st.DataObject
) -> None:
    """Also where a chain leads back to the entity, whose own unary fact is never evidence."""
    world = data.draw(one_entity_worlds(value))
    language = RuleLimits(max_length=4, min_coverage=1, bodies=(Kind.CHAIN,))
    finder = GroundingFinder(MemoryEngine(world.facts, threads=1), None, distinct=False)
    found = brute_force(world, language)
    for body in data.draw(st.lists(st.sampled_from([*found, None]), max_size=8)):
        if body is None:
            continue
        figures = found[body]
        for row, ((entity, target, _), _) in enumerate(world.labels):
            if target == body.target and world.facts.entities.index(entity) >= 0:
                listed = finder.first(body, entity, entity, limit=10_000)
                truths = Counter(listed.truth.tolist())
                assert sorted(truths.items()) == [
                    (truth, number) for at, truth, number in figures.rows if at == row
                ]
                assert len(finder.first(body, entity, entity, limit=1)) == bool(truths)


@pytest.mark.parametrize("make", FIRST + WITH_FIXTURES, indirect=True)
def test_all_worlds_at_once(make: Make) -> None:
    """Databases find what is found in memory, which brute force is compared with above."""
    many = many_worlds(40, soft=True, seed=3, classes=CLASSES)
    names = sorted(entities_of(many))
    labels = [((e, t, e), k % 2 * ONE) for k, e in enumerate(names) for t in ("o", "t")]
    world = World(many.values, labels, many.unary)
    language = RuleLimits(2, 2, bodies=ALL)
    targets, engine = unary_targets(world), make(world.facts)
    found, expected = (
        one.discover(targets, language) for one in (engine, MemoryEngine(world.facts, threads=1))
    )
    assert figures_of(found) == figures_of(expected)
    assert found.statistics is not None
    assert expected.statistics is not None
    assert rows_of(found.statistics) == rows_of(expected.statistics)
    assert found.own_edges == expected.own_edges > 0
