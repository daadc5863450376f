"""Beliefs as evidence: counts equal brute force, and no pair is evidence for itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.counting.collective import believed_pairs
from hornbeam.counting.collective.believed_pairs import BelievedPairs, is_linked, pair_density
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.rule_model import PairDensity, believed
from tests.support.worlds import TARGETS, World, worlds

Triple = tuple[str, str, str]
#: Steps that a body may have: along facts and along beliefs.
STEPS = st.builds(Step, st.sampled_from([*TARGETS, *map(believed, TARGETS)]), st.booleans())


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    target = draw(st.sampled_from(TARGETS))
    if draw(st.booleans()):
        return Body((draw(STEPS),), target, Kind.OPEN, draw(st.integers(0, 1)))
    return Body(tuple(draw(st.lists(STEPS, min_size=1, max_size=3))), target)


def brute_force(body: Body, pair: Triple, truth: dict[Triple, int]) -> list[int]:
    """Truths of all groundings of a body for a pair, in millionths, own atoms left out."""
    own = {pair, (pair[0], believed(pair[1]), pair[2])}
    seen = {atom: value for atom, value in truth.items() if atom not in own}
    start = pair[0] if body.kind is Kind.PATH or body.argument == 0 else pair[2]
    found = [(start, ONE)]
    for step in body.steps:
        reached = []
        for node, value in found:
            for (s, p, o), more in seen.items():
                here, there = (o, s) if step.inverse else (s, o)
                if p == step.predicate and here == node:
                    reached.append((there, value + more - ONE))
        found = reached
    ends = found if body.kind is Kind.OPEN else [one for one in found if one[0] == pair[2]]
    return sorted(value for _, value in ends if value > 0)


@given(worlds(), st.lists(bodies(), min_size=1, max_size=4, unique=True), st.data())
def test_counts_equal_brute_force(world: World, some: list[Body], data: st.DataObject) -> None:
    pairs = world.targets
    size = len(pairs)
    belief = np.array(data.draw(st.lists(st.floats(0.01, 0.99), min_size=size, max_size=size)))
    counted = BelievedPairs(MemoryEngine(world.facts, 1), pairs, belief).count(
        pairs, some, RuleLimits()
    )
    truth, known = dict(world.values), set(world.facts.entities)
    for row in range(size):
        subject, target, object_ = pairs.names_at(row)
        if (subject, target, object_) not in world.values:
            truth[subject, believed(target), object_] = round(belief[row] * ONE)
    assert list(counted.bodies) == some
    for k, body in enumerate(some):
        rows = counted.column(k)
        values = np.full(len(counted.count), ONE)
        values = values if counted.body_truth is None else counted.body_truth
        for row in range(size):
            mine = counted.target[rows] == row
            found = np.repeat(values[rows][mine], counted.count[rows][mine]).tolist()
            pair = pairs.names_at(row)
            # facts say nothing of a pair with an entity that none of them has
            speaks = is_linked(body, pairs.predicates) or {pair[0], pair[2]} <= known
            meant = speaks and pair[1] == body.target
            assert found == (brute_force(body, pair, truth) if meant else [])


@given(worlds(), st.lists(bodies(), min_size=1, max_size=4, unique=True), st.data())
def test_of_a_symmetric_target_a_mirror_image_is_the_pair_itself(
    world: World, some: list[Body], data: st.DataObject
) -> None:
    some = [body.with_target("t") for body in some]
    ends = sorted({(min(s, o), max(s, o)) for (s, _, o), _ in world.labels})
    belief = data.draw(st.lists(st.floats(0.01, 0.99), min_size=len(ends), max_size=len(ends)))
    forth = hb.read_pairs([(s, "t", o) for s, o in ends])
    back = hb.read_pairs([(o, "t", s) for s, o in ends])
    both = hb.read_pairs([(s, "t", o) for pair in ends for s, o in (pair, pair[::-1])])
    engine = MemoryEngine(world.facts, 1)
    once = BelievedPairs(engine, forth, np.array(belief), symmetric=True)
    twice = BelievedPairs(engine, both, np.repeat(belief, 2), symmetric=True)

    def counts(beliefs: BelievedPairs, pairs: hb.Targets) -> list[list[int]]:
        counted = beliefs.count(pairs, some, RuleLimits())
        truth = counted.body_truth if counted.body_truth is not None else counted.count * ONE
        return [column.tolist() for column in (counted.indptr, counted.target, truth)]

    assert counts(once, forth) == counts(twice, forth) == counts(twice, back) == counts(once, back)


def test_certain_beliefs_are_no_facts_and_hopeless_ones_not_absent() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("b", "t", "c"), ("b", "t", "d"), ("a", "t", "c")])
    body = Body((Step("p"), Step("believed_t")), "t")
    counted = BelievedPairs(MemoryEngine(facts, 1), pairs, np.array([1.0, 0.0, 0.5])).count(
        hb.read_pairs([("a", "t", "c"), ("a", "t", "d")]), [body], RuleLimits()
    )
    assert counted.body_truth is not None
    assert counted.body_truth.tolist() == [ONE - 1, 1]


def test_a_predicate_of_that_name_among_the_facts_is_refused() -> None:
    facts, pairs = hb.read_facts([("a", "believed_t", "b")]), hb.read_pairs([("a", "t", "b")])
    with pytest.raises(InputError, match="rename it, or use"):
        _ = BelievedPairs(MemoryEngine(facts), pairs, np.ones(1)).with_beliefs


def test_too_many_groundings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(believed_pairs, "MAX_GROUNDINGS", 2)
    pairs = hb.read_pairs([("a", "t", x) for x in "bcd"])
    beliefs = BelievedPairs(MemoryEngine(hb.read_facts([("a", "p", "b")])), pairs, np.full(3, 0.5))
    with pytest.raises(InputError, match="fewer pairs at a time"):
        beliefs.count(pairs, [Body((Step("believed_t"),), "t", Kind.OPEN)], RuleLimits())


def test_how_pairs_are_spread() -> None:
    pairs = hb.read_pairs([("a", "t", "x"), ("a", "t", "y"), ("b", "t", "z"), ("c", "t", "y")])
    assert pair_density(pairs) == PairDensity(1.333, 1.333, 0.25)
    apart = pair_density(pairs, np.array([0, 1, 0, 0], dtype=np.int32))
    assert apart == PairDensity(1.0, 1.0, 1.0)
