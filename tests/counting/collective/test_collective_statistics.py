"""Collective statistics against the enumeration of every ground clause."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam import read_facts, read_labels
from hornbeam.counting.collective.collective_statistics import (
    CollectiveStatistics,
    discover_collective,
)
from hornbeam.counting.opening import open_in_memory
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.facts.known import among_facts, with_targets
from hornbeam.rules.candidates import RuleLimits
from tests.support.ground_clauses import Conditioned
from tests.support.worlds import World, entities_of, worlds


def cells(table: Statistics, c: int) -> dict[int, int]:
    """Counts of one sequence by target."""
    part = table.column(c)
    pairs = zip(table.target[part].tolist(), table.count[part].tolist(), strict=True)
    return dict(pairs)


def terms(counted: CollectiveStatistics, c: int, negated: bool) -> Counter[tuple[str, int, int]]:
    """The same terms as `Conditioned.terms`, from the statistics."""
    found: Counter[tuple[str, int, int]] = Counter()
    for row, count in cells(counted.heads, c).items():
        found["down" if negated else "up", row, 1] += count
    bodies = counted.negated_bodies if negated else counted.bodies
    for row, count in cells(bodies, c).items():
        found["down", row, 1] += count
    repeats = counted.repeats
    for k in np.flatnonzero(repeats.clause == 2 * c + negated).tolist():
        found["down", int(repeats.target[k]), int(repeats.times[k])] += int(repeats.count[k])
    return found


def check(world: World, language: RuleLimits) -> int:
    """Compare all terms of all candidates; returns how many there were."""
    _, counted = discover_collective(
        open_in_memory(world.facts, 1), world.targets, language, own_facts_expected=True
    )
    reference = Conditioned(world.values, world.labels)
    total = 0
    for c, path in enumerate(counted.sequences):
        for negated in (False, True):
            expected = reference.terms(path, negated, language.distinct_variables)
            assert terms(counted, c, negated) == expected, (path, negated)
            total += len(expected)
    return total


@settings(max_examples=50, deadline=None)
@given(worlds(max_facts=8), st.integers(1, 3), st.booleans())
def test_every_term_is_counted_once(world: World, length: int, distinct: bool) -> None:
    assume(len(entities_of(world)) <= 5)
    check(world, RuleLimits(length, 1, 12, distinct_variables=distinct))


@settings(max_examples=10, deadline=None)
@given(worlds(max_facts=5), st.booleans())
def test_bodies_of_four_atoms(world: World, distinct: bool) -> None:
    assume(len(entities_of(world)) <= 4)
    check(world, RuleLimits(4, 1, 30, distinct_variables=distinct))


def dense_world(names: int) -> World:
    """Every atom of t is a target, half of them true; p links all entities both ways."""
    entities = [f"e{i}" for i in range(names)]
    values = {(s, "p", o): 1_000_000 for s in entities for o in entities if s <= o}
    labels = [
        ((s, "t", o), 1_000_000 * ((i + j) % 2))
        for i, s in enumerate(entities)
        for j, o in enumerate(entities)
    ]
    return World(values, labels)


def test_repeated_targets_and_loops_are_met() -> None:
    world = dense_world(3)
    assert check(world, RuleLimits(3, 1)) > 1000
    _, counted = discover_collective(open_in_memory(world.facts), world.targets, RuleLimits(3, 1))
    assert set(counted.repeats.times.tolist()) == {2, 3, 4}


def test_recursive_sequences_are_candidates_though_no_fact_has_the_target() -> None:
    facts = read_facts([("a", "p", "b")])
    labels = read_labels([("a", "t", "b", 1.0), ("b", "t", "c", 1.0), ("a", "t", "c", 1.0)])
    found, _ = discover_collective(open_in_memory(facts), labels, RuleLimits(2, 1))
    texts = [candidate.text for candidate in found.candidates]
    assert "t(A, B) & t(B, C) -> t(A, C)" in texts
    assert "t(A, B) -> t(A, B)" not in texts


def test_targets_among_the_facts_are_counted_for_the_warning() -> None:
    facts = read_facts([("a", "t", "b"), ("b", "t", "c")])
    labels = read_labels([("a", "t", "b", 1.0), ("a", "t", "c", 0.0), ("c", "t", "d", 1.0)])
    with pytest.warns(HornbeamWarning, match="^1 labelled targets are also among the facts"):
        discover_collective(open_in_memory(facts), labels, RuleLimits(2, 1))
    assert among_facts(facts, labels).tolist() == [True, False, False]


def test_targets_become_edges_once() -> None:
    facts = read_facts([("a", "t", "b"), ("b", "p", "c")])
    labels = read_labels([("a", "t", "b", 1.0), ("a", "t", "new", 1.0)])
    united = with_targets(facts, labels)
    assert len(united) == 3
    assert set(united.entities) == {"a", "b", "c", "new"}


def test_soft_facts_and_fanout_are_refused() -> None:
    labels = read_labels([("a", "t", "b", 1.0), ("b", "t", "c", 0.0)])
    soft = read_facts([("a", "p", "b", 0.5), ("b", "p", "c", 1.0)])
    with pytest.raises(InputError, match="round the facts"):
        discover_collective(open_in_memory(soft), labels, RuleLimits())
    with pytest.raises(InputError, match="`max_fanout`"):
        discover_collective(open_in_memory([("a", "p", "b")]), labels, RuleLimits(max_fanout=3))
