"""Removals of facts against trying every set: bounds, smallest sets, and what greedy sets need."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import Ints
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.flips import FlipStatus, Removals, greedy_flip, smallest_flip
from hornbeam.explaining.scored_pair import ScoredPair, one_pair
from tests.support.brute_force import ONE

#: Facts of every path, and whether the path is one of p, for the pair, or of q, against it.
Paths = list[tuple[frozenset[int], bool]]
MOST_FACTS = 6
paths = st.lists(
    st.tuples(st.frozensets(st.integers(0, MOST_FACTS - 1), min_size=1, max_size=3), st.booleans()),
    min_size=1,
    max_size=12,
)


@cache
def model_of(doubt: float) -> hb.Model:
    """Rules for and against a pair, and a prior of weight `doubt` against it."""
    return hb.Model.parse(f"1: p(A, B) -> t(A, B)\n0.25: q(A, B) -> !t(A, B)\n{doubt}: !t(A, B)\n")


def removals_of(listed: Paths, doubt: float = 0.5) -> Removals:
    """The paths of a pair."""
    model = model_of(doubt)
    names = [body.steps[0].predicate for body in model.bodies]
    body = np.array([names.index("p" if supports else "q") for _, supports in listed])
    some, count = np.unique(body, return_counts=True)
    truth, pair = np.full(len(some), ONE, dtype=np.int32), np.zeros(len(some), dtype=np.int32)
    counted = Statistics.of(model.bodies, 1, some, pair, truth, count)
    scored = ScoredPair(model, one_pair("a", "t", "b"), counted)
    grounded = [scored.grounded_bodies.index(model.bodies[k]) for k in body.tolist()]
    uses = np.array(sorted((k, path) for path, (facts, _) in enumerate(listed) for k in facts))
    truths = np.full(len(listed), ONE)
    return Removals(scored, np.array(grounded), truths, uses[:, 0], uses[:, 1], MOST_FACTS)


def left_without(removals: Removals, some: tuple[int, ...]) -> Ints:
    return removals.left(some)[0]


def flips_without(removals: Removals, some: tuple[int, ...]) -> bool:
    return bool(removals.flips(removals.scores(left_without(removals, some)[np.newaxis]))[0])


@given(listed=paths, size=st.integers(1, 4))
def test_no_set_loses_more_paths_than_its_bound(listed: Paths, size: int) -> None:
    removals = removals_of(listed)
    total, carries = removals.left(())
    bounds, helps = removals.best_outcomes(total, carries, size), removals.helps
    for fact in range(MOST_FACTS):
        for later in combinations(range(fact + 1, MOST_FACTS), size - 1):
            left = left_without(removals, (fact, *later))
            assert (bounds[fact, helps] <= left[helps]).all()
            assert (bounds[fact, ~helps] >= left[~helps]).all()


@given(listed=paths, doubt=st.sampled_from([0.1, 1.5, 2.5]))
@settings(max_examples=40)
def test_an_exact_set_is_a_smallest_of_all(listed: Paths, doubt: float) -> None:
    removals = removals_of(listed, doubt)
    facts = range(MOST_FACTS)
    sets = [some for size in range(1, MOST_FACTS + 1) for some in combinations(facts, size)]
    outcomes = np.stack([left_without(removals, some) for some in sets])
    flipping = np.flatnonzero(removals.flips(removals.scores(outcomes))).tolist()
    status, found = smallest_flip(removals)
    if flipping:
        assert (status, len(found)) == (FlipStatus.EXACT, len(sets[flipping[0]]))
        assert sets.index(tuple(sorted(found))) in flipping
    else:
        assert (status, found) == (FlipStatus.IMPOSSIBLE, ())


@given(listed=paths, doubt=st.sampled_from([0.1, 1.5, 2.5]))
def test_a_greedy_set_needs_each_of_its_facts(listed: Paths, doubt: float) -> None:
    removals = removals_of(listed, doubt)
    found = greedy_flip(removals)
    for fact in found:
        fewer = tuple(other for other in found if other != fact)
        assert not flips_without(removals, fewer)
    assert flips_without(removals, found) == bool(found)


def test_a_fact_that_later_ones_make_needless_is_restored() -> None:
    """Fact 0 is in most paths and is removed first; 1 and 2 together are in all of them."""
    of_fact = ({1, 2, 3, 4}, {0, 1, 2}, {3, 4, 5})
    listed = [
        (frozenset(fact for fact in range(3) if path in of_fact[fact]), True) for path in range(6)
    ]
    assert sorted(greedy_flip(removals_of(listed))) == [1, 2]
