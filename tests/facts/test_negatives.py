"""Sampled negatives are new, distinct, as many as asked for, and drawn as documented."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam import read_facts
from hornbeam.base.choices import Sampling
from hornbeam.errors import HornbeamWarning, InputError, UnknownTargetError
from hornbeam.facts import negatives
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.names import Names
from hornbeam.facts.negatives import with_negatives
from hornbeam.facts.table import HALF, ONE, Atoms, Facts, Targets
from tests.support.worlds import SOFT, World, facts_of, worlds

Pair = tuple[str, str]
SAMPLINGS: tuple[Sampling, ...] = ("uniform", "frequency", "typed")
SAMPLING = st.sampled_from(SAMPLINGS)


def pairs(targets: Targets) -> list[Pair]:
    columns = zip(targets.subject, targets.object, strict=True)
    return [(targets.entities[int(s)], targets.entities[int(o)]) for s, o in columns]


def positives_of(facts: Facts, predicate: str) -> Targets:
    return with_negatives(facts, [predicate], 0.0, rng=np.random.default_rng(0))


def sampled(facts: Facts, ratio: float, sampling: Sampling, seed: int = 0) -> list[Pair]:
    """The negatives alone."""
    targets = with_negatives(facts, ["p"], ratio, sampling, rng=np.random.default_rng(seed))
    return [pair for pair, true in zip(pairs(targets), targets.positive, strict=True) if not true]


def possible(world: World, sampling: Sampling) -> dict[Pair, float]:
    """Every negative that can be drawn, with its chance in proportion, by brute force."""
    known = {(s, o) for s, p, o in world.values if p == "p"}
    true = [(s, o) for (s, p, o), value in world.values.items() if p == "p" and value >= HALF]
    everyone = sorted({name for s, _, o in world.values for name in (s, o)})
    subjects, objects = [s for s, _ in true], [o for _, o in true]
    if sampling == "typed":
        subjects, objects = sorted(set(subjects)), sorted(set(objects))
    elif sampling == "uniform":
        subjects = objects = everyone
    chance: dict[Pair, float] = defaultdict(float)
    for s, o in true:
        for other in objects:
            chance[s, other] += 1 / len(objects)
        for other in subjects:
            chance[other, o] += 1 / len(subjects)
    return {pair: weight for pair, weight in chance.items() if pair not in known}


def has_positives(world: World) -> bool:
    return any(p == "p" and value >= HALF for (_, p, _), value in world.values.items())


WORLDS = (worlds(max_facts=30) | worlds(SOFT, max_facts=30)).filter(has_positives)


@given(WORLDS, SAMPLING, st.floats(0.0, 4.0), st.integers(0, 99), st.booleans())
def test_invariants(
    world: World, sampling: Sampling, ratio: float, seed: int, rejecting: bool
) -> None:
    facts = world.facts
    positives = pairs(positives_of(facts, "p"))
    room = possible(world, sampling)
    wanted = round(ratio * len(positives))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", HornbeamWarning)
        if rejecting:  # until patience ends
            patch.setattr(negatives._Region, "available", 10**9)
        if wanted and not room:
            with pytest.raises(InputError, match="no negatives"):
                sampled(facts, ratio, sampling, seed)
            return
        rng = np.random.default_rng(seed)
        targets = with_negatives(facts, ["p"], ratio, sampling, rng=rng)
        again = sampled(facts, ratio, sampling, seed)
    found = pairs(targets)[len(positives) :]
    assert targets.entities is facts.entities
    assert list(targets.predicates) == ["p"]
    assert pairs(targets)[: len(positives)] == positives
    assert targets.positive.tolist() == [True] * len(positives) + [False] * len(found)
    assert len(found) == len(set(found)) == min(wanted, len(room))
    assert set(found) <= set(room)
    assert found == again


@given(WORLDS, SAMPLING)
def test_chances_are_those_of_the_formula(world: World, sampling: Sampling) -> None:
    facts = world.facts
    subject, object_, true = negatives._edges(facts, "p")
    known = pair_keys(subject, object_, len(facts.entities))
    region = negatives._Region.of(
        subject[true], object_[true], known, len(facts.entities), sampling
    )
    keys, chance = region.listed()
    names = [facts.entities.take(divmod(int(key), len(facts.entities))) for key in keys]
    room = possible(world, sampling)
    assert len(names) == len(room) == region.available
    total, expected = chance.sum(), sum(room.values())
    for (s, o), weight in zip(names, chance, strict=True):
        assert weight / total == pytest.approx(room[s, o] / expected)


#: One popular object; "x" and "y" are of another type.
POPULAR = World(
    {
        **{(f"s{i}", "p", "big"): ONE for i in range(6)},
        ("s6", "p", "small"): ONE,
        ("s7", "p", "tiny"): ONE,
        ("x", "q", "y"): ONE,
    },
    [],
)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("listing", [False, True])
def test_draws_follow_the_chances(
    sampling: Sampling, listing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways of drawing, one negative at a time, against the chances by brute force."""
    if not listing:
        monkeypatch.setattr(negatives._Region, "available", 10**9)
    else:
        monkeypatch.setattr(negatives._Region, "available", 0)
    facts, room, draws = POPULAR.facts, possible(POPULAR, sampling), 1500
    found = Counter(sampled(facts, 1 / 8, sampling, seed)[0] for seed in range(draws))
    assert set(found) <= set(room)
    total = sum(room.values())
    expected = {pair: draws * weight / total for pair, weight in room.items()}
    misfit = sum((found[pair] - n) ** 2 / n for pair, n in expected.items())
    freedom = len(room) - 1
    assert misfit < freedom + 4 * (2 * freedom) ** 0.5


@pytest.mark.slow
def test_types_and_popularity() -> None:
    uniform = sampled(POPULAR.facts, 6, "uniform")
    assert {"x", "y"} & {name for pair in uniform for name in pair}
    typed = sampled(POPULAR.facts, 1, "typed")
    assert all(s.startswith("s") and o in {"big", "small", "tiny"} for s, o in typed)
    popular = {
        sampling: sum(sampled(POPULAR.facts, 1 / 8, sampling, i)[0][1] == "big" for i in range(200))
        for sampling in SAMPLINGS
    }
    assert popular["frequency"] > popular["typed"]


def test_popular_pairs_that_are_all_known_do_not_stall() -> None:
    """Nearly every draw is known; what is left is listed and found."""
    world = {(f"s{i}", "p", "hub"): ONE for i in range(20_000)}
    world["s0", "p", "other"] = ONE
    found = sampled(facts_of(world), 0.4, "frequency")
    assert len(found) == len(set(found)) == 8000
    assert {o for _, o in found} == {"other"}


@pytest.mark.slow
def test_many_at_once() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(1000, size=(20_000, 2))
    facts = facts_of({(f"e{s}", "p", f"e{o}"): ONE for s, o in rows.tolist()})
    for sampling in SAMPLINGS:
        found = sampled(facts, 2.0, sampling)
        assert len(found) == len(set(found)) == round(2.0 * len(facts))
        assert not set(found) & set(pairs(positives_of(facts, "p")))


COMPLETE = facts_of({**{(s, "p", o): ONE for s in "ab" for o in "cd"}, ("e", "q", "f"): ONE})


@pytest.mark.parametrize("sampling", ["typed", "frequency"])
def test_complete_relation_has_no_typed_negatives(sampling: Sampling) -> None:
    with pytest.raises(InputError, match=r'for .p.: .*; `negative_sampling="uniform"` has more'):
        sampled(COMPLETE, 1.0, sampling)
    assert sampled(COMPLETE, 0.0, sampling) == []


def test_fewer_with_a_warning() -> None:
    with pytest.warns(HornbeamWarning, match=r"only 16 of 400 negatives for 'p'") as caught:
        found = sampled(COMPLETE, 100.0, "uniform")
    assert caught[0].filename == __file__
    assert len(set(found)) == 16


def test_nothing_left_at_all() -> None:
    facts = read_facts([(s, "p", o) for s in "ab" for o in "ab"])
    with pytest.raises(InputError, match="known fact, or give `labels`"):
        sampled(facts, 1.0, "uniform")


def test_soft_facts() -> None:
    """From 0.5 on a fact is positive; below it is known all the same."""
    facts = read_facts(
        [("a", "p", "b", 0.5), ("a", "p", "c", 0.499), ("a", "p", "d", 1.0), ("b", "p", "d", 0.1)]
    )
    targets = positives_of(facts, "p")
    assert pairs(targets) == [("a", "b"), ("a", "d")]
    assert targets.truth.tolist() == [1.0, 1.0]
    with pytest.warns(HornbeamWarning):
        found = sampled(facts, 20.0, "uniform")
    assert not {("a", "c"), ("b", "d")} & set(found)


def test_refuses() -> None:
    rng = np.random.default_rng()
    facts = read_facts([("a", "p", "b", 1.0), ("a", "dim", "b", 0.2)])
    with pytest.raises(UnknownTargetError, match=r"'nope'.*'dim', 'p'"):
        positives_of(facts, "nope")
    with pytest.raises(InputError, match=r"no fact of 'dim' has a value of 0\.5"):
        positives_of(facts, "dim")
    for ratio in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match=r"`negatives` is .*; expected a number of at least 0"):
            with_negatives(facts, ["p"], ratio, rng=rng)
    with pytest.raises(
        InputError, match=r"unknown `negative_sampling` .*: uniform, frequency, typed"
    ):
        with_negatives(facts, ["p"], 1.0, "random", rng=rng)  # type: ignore[arg-type]


def test_refuses_other_arities() -> None:
    zero = np.zeros(1, dtype=np.int32)
    facts = Facts(Names.of("a"), Names.of("pq"), {3: Atoms(zero + 1, (zero,) * 3)})
    with pytest.raises(InputError, match="'q' has 3 arguments among the facts; targets of three"):
        positives_of(facts, "q")
    with pytest.raises(UnknownTargetError):
        positives_of(facts, "p")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_each_of_several_predicates_has_its_negatives(sampling: Sampling) -> None:
    rows = [(f"a{i}", p, f"b{i % 5}") for i in range(20) for p in ("p", "q")]
    facts = read_facts([*rows, ("b0", "other", "b1")])
    targets = with_negatives(facts, ["q", "p"], 2.0, sampling, rng=np.random.default_rng(0))
    assert list(targets.predicates) == ["p", "q"]
    for name in ("p", "q"):
        own = targets.only([name])
        assert list(own.predicates) == [name]
        assert (len(own), int(own.positive.sum())) == (60, 20)
        assert len(set(pairs(own))) == 60
    alone = with_negatives(facts, ["p"], 2.0, sampling, rng=np.random.default_rng(0))
    assert pairs(targets.only(["p"])) == pairs(alone)
