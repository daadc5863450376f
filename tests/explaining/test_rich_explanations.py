"""Explanations of all kinds of bodies and ways of counting, against brute force."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.explaining import independent_explainer
from hornbeam.explaining.flips import FlipStatus
from hornbeam.explaining.reason import Fact, Grounding
from hornbeam.facts.table import ONE
from hornbeam.rules.weighing import Counts
from tests.support.kernels import both_ways, kernels_are
from tests.support.rich_worlds import (
    CRISP,
    SOFT,
    Atom,
    Pair,
    RichWorld,
    pairs_of,
    rich_models,
    rich_pairs,
    rich_worlds,
)

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")


def atom_of(fact: Fact) -> Atom:
    return (fact.predicate, *fact.arguments)


def score(model: hb.Model, world: RichWorld, pair: Pair) -> float:
    """Score a pair as `predict` does."""
    return float(model.predict(world.facts, pairs_of(pair), threads=1)["score"][0])


def check_reasons(model: hb.Model, world: RichWorld, pair: Pair, paths: int) -> None:
    found = model.explain(world.facts, pair, paths=paths, flip=False)
    assert found.score == pytest.approx(score(model, world, pair), abs=1e-12)
    reasons = {reason.index: reason for reason in found.reasons}
    seen = "unseen" not in pair
    for k, rule in enumerate(model.rules):
        others = hb.Model((*model.rules[:k], *model.rules[k + 1 :]), model.semantics)
        without = score(others, world, pair)
        body = rule.clause.body
        count = world.count(body, pair, model.semantics) if seen or not body.parts else 0
        if not count or not rule.weight:
            assert k not in reasons
            assert without == pytest.approx(found.score, abs=1e-12)
            continue
        reason = reasons[k]
        assert (reason.count, reason.weight) == (count, rule.weight)
        assert reason.pull == pytest.approx(found.score - without, abs=1e-12)
        assert len(reason.conditions) == len(body.parts)
        shares = model.counts_of(rule.clause).counts is Counts.SHARE
        for part, condition in zip(body.parts, reason.conditions, strict=True):
            expected = world.groundings(part.body, pair, model.semantics)
            assert condition.count == len(expected)
            if part.threshold is not None:
                assert str(part.threshold) in condition.text
            if shares or (part.threshold is not None and part.threshold.share):
                share = world.share(part.body, pair, model.semantics)
                assert condition.share == pytest.approx(share, rel=1e-9)
            else:
                assert condition.share is None
            has_value = any(step.predicate.startswith("has_") for step in part.body.steps)
            if part.body.number is not None or has_value:  # grounded by values, not by facts
                assert len(condition.groundings) <= min(paths, len(expected))
                continue
            if not part.body.steps:
                assert condition.groundings == ()
                continue
            named = [
                (one.entities, tuple(map(atom_of, one.facts)), round(one.truth * ONE))
                for one in condition.groundings
            ]
            everything = [(one.entities, one.facts, one.truth) for one in expected]
            assert len(named) == len(set(named)) == min(paths, len(expected))
            assert set(named) <= set(everything)
            assert [one[0] for one in named] == [one[0] for one in everything][:paths]
    assert str(found)
    assert found._repr_html_()
    assert found.as_dict()


@pytest.mark.slow
@both_ways
@pytest.mark.parametrize("value", [CRISP, SOFT], ids=["crisp", "soft"])
@given(data=st.data(), paths=st.sampled_from([0, 1, 2, 1000]))
@settings(max_examples=30)
def test_reasons_are_those_of_the_definition(
    compiled: bool, value: st.SearchStrategy[int], data: st.DataObject, paths: int
) -> None:
    world = data.draw(rich_worlds(value))
    model = data.draw(rich_models())
    with kernels_are(compiled):
        check_reasons(model, world, data.draw(rich_pairs()), paths)


def some_removal_flips(model: hb.Model, world: RichWorld, pair: Pair, below: int) -> bool:
    """Whether some set of fewer facts than that flips the decision, by trying all.

    Facts of predicates that no rule has can be left alone.
    """
    threshold = model.semantics.threshold
    decision = score(model, world, pair) >= threshold
    used = set().union(*(rule.clause.body.predicates for rule in model.rules))
    facts = sorted(atom for atom in world.values if atom[0] in used)
    return any(
        (score(model, world.without(gone), pair) >= threshold) != decision
        for size in range(1, min(below, len(facts) + 1))
        for gone in combinations(facts, size)
    )


def check_flip(model: hb.Model, world: RichWorld, pair: Pair, searched: bool = True) -> None:
    """A flip flips when it is really taken away, and says truly how small it is."""
    found = model.explain(world.facts, pair)
    flip = found.flip
    assert flip is not None
    if flip.facts:
        gone = [atom_of(fact) for fact in flip.facts]
        assert len(set(gone)) == len(gone)
        assert set(gone) <= set(world.values)
        after = score(model, world.without(gone), pair)
        assert flip.score == pytest.approx(after, abs=1e-12)
        assert (after >= model.semantics.threshold) != found.decision
    else:
        assert flip.status in (FlipStatus.IMPOSSIBLE, FlipStatus.NOT_FOUND)
    doubtful = model.shares or model.semantics.max_fanout is not None
    if flip.status is FlipStatus.EXACT:
        assert len(flip.facts) == 1 or not model.shares, "no set is smaller than that of one fact"
        assert not some_removal_flips(model, world, pair, len(flip.facts))
    elif flip.status is FlipStatus.IMPOSSIBLE:
        assert not model.shares
        assert not some_removal_flips(model, world, pair, len(world.values) + 1)
    else:
        assert doubtful or not searched, "so small a world is searched to the end"


@pytest.mark.parametrize("shares", [False, True], ids=["counts", "shares"])
@pytest.mark.parametrize("value", [CRISP, SOFT], ids=["crisp", "soft"])
@given(data=st.data())
@settings(max_examples=30)
def test_flips_are_smallest(
    value: st.SearchStrategy[int], shares: bool, data: st.DataObject
) -> None:
    world = data.draw(rich_worlds(value, max_facts=5))
    model = data.draw(rich_models(shares=shares))
    check_flip(model, world, data.draw(rich_pairs()))


@given(data=st.data())
@settings(max_examples=30)
def test_where_groundings_are_too_many_conditions_are_cut(data: st.DataObject) -> None:
    world = data.draw(rich_worlds(max_facts=6))
    model, pair = data.draw(rich_models()), data.draw(rich_pairs())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(independent_explainer, "EXACT_PATHS", 0)
        check_flip(model, world, pair, searched=False)


FACTS = hb.read_facts(
    [("a", "p", f"x{i}") for i in range(6)] + [("b", "wise"), ("a", "q", "b"), ("b", "q", "a")]
)


@pytest.mark.parametrize(
    ("rule", "fewest"),
    [
        ("3: p(A, X) [n >= 4] & wise(B) -> t(A, B)", 1),  # b is not wise any more
        ("3: p(A, X) [n >= 4] -> t(A, B)", 3),
        ("1: p(A, X) -> t(A, B) [log]", 6),  # log2(1 + n) < 1 needs n = 0
        ("0.5: p(A, X) -> t(A, B)", 5),  # 0.5 n < 1
        ("3: p(A, X) -> t(A, B) [exists]", 6),
        ("3: (A == 'a') & q(A, B) -> t(A, B)", 1),
        ("3: p(A, 'x2') & q(B, 'a') -> t(A, B)", 1),
    ],
)
def test_as_many_facts_as_needed_are_taken(rule: str, fewest: int) -> None:
    model = hb.Model.parse(f"{rule}\n1: !t(A, B)\n")
    flip = model.explain(FACTS, ("a", "b")).flip
    assert flip is not None
    assert (flip.status, len(flip.facts)) == (FlipStatus.EXACT, fewest)


def test_what_needs_no_fact_cannot_be_taken_away() -> None:
    model = hb.Model.parse("3: (A == 'a') -> t(A, B)\n1: !t(A, B)\n")
    flip = model.explain(FACTS, ("a", "b")).flip
    assert flip is not None
    assert (flip.status, flip.facts) == (FlipStatus.IMPOSSIBLE, ())


def test_a_single_fact_is_exact_beside_shares_too() -> None:
    model = hb.Model.parse("0.4: u(A) -> !t(A, B)\n0: p(A, B) -> t(A, B) [share / 0.1]\n")
    assert model.shares
    check_flip(model, RichWorld({("u", "a"): ONE}), ("a", "t", "a"))
    flip = model.explain(RichWorld({("u", "a"): ONE}).facts, ("a", "a")).flip
    assert flip is not None
    assert (flip.status, len(flip.facts)) == (FlipStatus.EXACT, 1)


def test_several_facts_are_never_said_to_be_exact_beside_shares() -> None:
    """Without x1 the other path has more of its ends: one fact less does not flip, two do."""
    edges = [("a", "p", "x1"), ("a", "p", "x2"), ("b", "p", "x1"), ("b", "p", "x2")]
    model = hb.Model.parse("2: p(A, X) & p(B, X) -> t(A, B) [share / 0.5]\n1: !t(A, B)\n")
    found = model.explain(hb.read_facts(edges), ("a", "b"))
    assert found.reasons[0].conditions[0].share == pytest.approx(0.5)
    assert found.flip is not None
    assert (found.flip.status, len(found.flip.facts)) == (FlipStatus.UPPER_BOUND, 2)


def test_facts_read_as_atoms_where_they_are_no_edges() -> None:
    assert [str(fact) for fact in (
        Fact("a", "wise"), Fact("a", "p", "b", 0.5), Fact.of("lent", ("a", "book", "b")),
    )] == ["wise(a)", "a  p  b [0.5]", "lent(a, book, b)"]  # fmt: skip
    walked = Grounding(("b", "a"), (Fact.of("lent", ("a", "book", "b")),))
    assert str(walked) == "b <-lent(a, book, b)- a"
    assert Grounding(("a", "a"), (Fact("a", "p", "a"),)).inverse == (False,)
