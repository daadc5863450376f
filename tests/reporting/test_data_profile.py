"""The profile of small data, counted by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given

import hornbeam as hb
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts
from hornbeam.reporting.data_profile import PredicateProfile, profile
from tests.support.worlds import World, worlds

FACTS = [("a", "p", "b"), ("a", "p", "c"), ("b", "p", "b"), ("c", "q", "a"), ("a", "t", "c")]


def test_predicates_are_counted() -> None:
    labels = hb.read_labels([("a", "t", "c", 1.0), ("a", "t", "zoe", 0.0), ("yan", "t", "a", 0.0)])
    found = profile(hb.read_facts(FACTS), labels, ["p", "gone"])
    assert found.predicates == (
        PredicateProfile("p", 2, 3, 2, 2, 2, True),
        PredicateProfile("q", 2, 1, 1, 1, 1, False),
        PredicateProfile("t", 2, 1, 1, 1, 1, False),
    )
    assert (found.facts, found.entities, found.soft) == (5, 3, 0)
    assert found.missing_predicates == ("gone",)
    assert (found.unseen, found.unseen_names) == (2, ("yan", "zoe"))
    assert found.own_facts == 1
    # a stands in four facts, b in three places, c in three
    assert found.degrees == ((1, 1, 0), (2, 3, 2), (4, 7, 1))


def test_facts_of_any_arity_are_counted() -> None:
    ids = [np.array(row, dtype=np.int32) for row in ([0, 0], [0, 1], [1, 1], [2, 2])]
    tables = {
        1: Atoms(ids[0][:1], (ids[0][:1],)),
        3: Atoms(ids[2], (ids[1], ids[2], ids[3])),
    }
    facts = Facts(Names.of("abc"), Names.of(["student", "ta"]), tables)
    found = profile(facts, hb.read_labels([("a", "t", "b", 1.0)]), ["ta"])
    assert found.predicates == (
        PredicateProfile("ta", 3, 2, None, None, None, True),
        PredicateProfile("student", 1, 1, None, None, None, False),
    )
    assert found.degrees == ((1, 1, 0), (2, 3, 3))


def test_soft_facts_are_counted() -> None:
    facts = hb.read_facts([("a", "p", "b", 0.5), ("b", "p", "a", 1.0)])
    assert profile(facts, hb.read_labels([("a", "t", "b", 1.0)]), []).soft == 1


@given(worlds())
def test_degrees_add_up(world: World) -> None:
    found = profile(world.facts, world.targets, [])
    assert sum(n for _, _, n in found.degrees) == len(world.facts.entities)
    assert sum(row.facts for row in found.predicates) == len(world.values)
    known = {name for s, _, o in world.values for name in (s, o)}
    assert found.unseen == sum(not {s, o} <= known for (s, _, o), _ in world.labels)
    assert found.own_facts == sum(target in world.values for target, _ in world.labels)
