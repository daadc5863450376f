"""Explanations against brute force: every pull, path and flip on small random worlds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod, Relaxation
from hornbeam.errors import HornbeamWarning, InputError, UnknownTargetError
from hornbeam.explaining import flips
from hornbeam.explaining import independent_explainer as explainer
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.flips import FlipStatus
from hornbeam.explaining.reason import Fact, Grounding
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.rules.weighing import Counts
from tests.support.brute_force import ONE, Triple, steps_by_node
from tests.support.brute_force import World as Values
from tests.support.kernels import both_ways, kernels_are
from tests.support.random_rules import ReferenceModel, rule_models
from tests.support.worlds import CRISP, SOFT, World, entities_of, facts_of, targets_of, worlds

MAP = CollectiveMethod.MAP

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")

THRESHOLDS = st.sampled_from([0.5, 0.5, 0.2, 0.8])
CHAIN = Clause(Body((Step("p"), Step("q")), "t"))


@st.composite
def cases(
    draw: st.DrawFn, values: st.SearchStrategy[int] = CRISP, max_facts: int = 14
) -> tuple[World, ReferenceModel, Triple]:
    """A world, a model, and a pair of its target whose names may be unseen or the same."""
    world = draw(worlds(values, max_facts))
    target = draw(st.sampled_from(["t", "p"]))
    drawn = draw(rule_models(target))
    # a prior without weight says nothing, and lets every model have its target
    drawn = replace(drawn, rules=(*drawn.rules, Rule(0.0, prior(target))))
    names = st.sampled_from([*entities_of(world), "unseen"])
    return world, drawn, (draw(names), target, draw(names))


def model_of(drawn: ReferenceModel, threshold: float = 0.5) -> hb.Model:
    return hb.Model(drawn.rules, replace(drawn.semantics, threshold=threshold))


def score(model: hb.Model, values: Values, pair: Triple) -> float:
    """Score a pair as `predict` does."""
    return float(model.predict(facts_of(values), targets_of([(pair, 0)]), threads=1)["score"][0])


def every_path(
    values: Values, pair: Triple, steps: tuple[Step, ...], drawn: ReferenceModel
) -> Iterator[tuple[tuple[str, ...], tuple[Triple, ...], int]]:
    """Entities, facts and truth of every path, found by trying all edges."""
    leaving = steps_by_node(values, drawn.language.max_fanout)

    def walk(nodes: tuple[str, ...], facts: tuple[Triple, ...]) -> Iterator[
        tuple[tuple[str, ...], tuple[Triple, ...]]
    ]:  # fmt: skip
        if len(facts) == len(steps):
            if nodes[-1] == pair[2]:
                yield nodes, facts
            return
        for step, fact, there in leaving[nodes[-1]]:
            if step != steps[len(facts)] or fact == pair:
                continue
            if drawn.language.distinct_variables and there in nodes:
                continue
            yield from walk((*nodes, there), (*facts, fact))

    for nodes, facts in walk((pair[0],), ()):
        body = sum(values[fact] - ONE for fact in facts) + ONE
        if body > 0:
            yield nodes, facts, body


def check_reasons(world: World, drawn: ReferenceModel, pair: Triple, paths: int) -> None:
    model = model_of(drawn)
    found = model.explain(world.facts, pair, paths=paths, flip=False)
    assert found.flip is None
    assert found.score == pytest.approx(score(model, world.values, pair), abs=1e-12)
    assert found.map == model.predict(world.facts, targets_of([(pair, 0)]), score="map")["score"][0]
    reasons = {reason.index: reason for reason in found.reasons}
    for k, rule in enumerate(model.rules):
        others = hb.Model((*model.rules[:k], *model.rules[k + 1 :]), model.semantics)
        without = score(others, world.values, pair)
        prior = rule.clause.is_prior
        steps = [step for part in rule.clause.body.parts for step in part.body.steps]
        expected = [] if prior else sorted(every_path(world.values, pair, tuple(steps), drawn))
        count = 1 if prior else len(expected)
        if not count or not rule.weight:
            assert k not in reasons
            assert without == pytest.approx(found.score, abs=1e-12)
            continue
        reason = reasons[k]
        assert (reason.count, reason.weight) == (count, rule.weight)
        assert reason.pull == pytest.approx(found.score - without, abs=1e-12)
        assert [
            (
                path.entities,
                tuple((fact.subject, fact.predicate, fact.object) for fact in path.facts),
                round(path.truth * ONE),
            )
            for path in reason.groundings
        ] == expected[:paths]
        for path in reason.groundings:
            for fact in path.facts:
                assert fact.object is not None
                stated = world.values[fact.subject, fact.predicate, fact.object]
                assert round(fact.truth * ONE) == stated
    strengths = [abs(reason.strength) for reason in found.reasons]
    assert strengths == sorted(strengths, reverse=True)


@both_ways
@given(case=cases(), paths=st.sampled_from([0, 1, 2, 1000]))
def test_reasons_are_those_of_the_definition(
    compiled: bool, case: tuple[World, ReferenceModel, Triple], paths: int
) -> None:
    with kernels_are(compiled):
        check_reasons(*case, paths)


@pytest.mark.slow
@both_ways
@given(case=cases(SOFT), paths=st.sampled_from([1, 2, 1000]))
def test_reasons_with_soft_facts(
    compiled: bool, case: tuple[World, ReferenceModel, Triple], paths: int
) -> None:
    with kernels_are(compiled):
        check_reasons(*case, paths)


def least_removal(model: hb.Model, values: Values, pair: Triple) -> int | None:
    """Size of the smallest set of facts whose removal flips the decision, by trying all."""
    decision = score(model, values, pair) >= model.semantics.threshold
    for size in range(1, len(values) + 1):
        for gone in combinations(sorted(values), size):
            left = {fact: value for fact, value in values.items() if fact not in gone}
            if (score(model, left, pair) >= model.semantics.threshold) != decision:
                return size
    return None


def check_flip(world: World, model: hb.Model, pair: Triple, *, exact: bool = True) -> Explanation:
    """Check a flip: it flips when really taken away, and says truly how small it is."""
    found = model.explain(world.facts, pair)
    assert found.flip is not None
    status, facts = found.flip.status, found.flip.facts
    least = least_removal(model, world.values, pair)
    if facts:
        gone = {(fact.subject, fact.predicate, fact.object) for fact in facts}
        assert len(gone) == len(facts)
        assert gone <= set(world.values)
        left = {fact: value for fact, value in world.values.items() if fact not in gone}
        after = score(model, left, pair)
        assert found.flip.score == pytest.approx(after, abs=1e-12)
        assert (after >= model.semantics.threshold) != found.decision
        assert least is not None
        assert len(facts) >= least
        assert len(facts) > 1 or status is FlipStatus.EXACT
    else:
        assert status in (FlipStatus.IMPOSSIBLE, FlipStatus.NOT_FOUND)
        assert found.flip.score == found.score
    if status is FlipStatus.EXACT:
        assert len(facts) == least
    elif status is FlipStatus.IMPOSSIBLE:
        assert least is None
    elif exact:
        # only shares, and a hub that a removal might open, leave a doubt in so small a world
        assert model.shares or model.semantics.max_fanout is not None
    return found


@given(cases(max_facts=6), THRESHOLDS)
@settings(max_examples=40)
def test_flips_are_smallest(case: tuple[World, ReferenceModel, Triple], threshold: float) -> None:
    world, drawn, pair = case
    check_flip(world, model_of(drawn, threshold), pair)


@given(cases(SOFT, max_facts=5), THRESHOLDS)
@settings(max_examples=30)
def test_flips_with_soft_facts(
    case: tuple[World, ReferenceModel, Triple], threshold: float
) -> None:
    world, drawn, pair = case
    check_flip(world, model_of(drawn, threshold), pair)


def fan(n: int, weight: float, counts: Counts = Counts.RAW) -> tuple[World, hb.Model]:
    """n paths of two facts each for a pair, and a prior against it."""
    values: dict[Triple, int] = {}
    for k in range(n):
        values["a", "p", f"m{k:02}"] = ONE
        values[f"m{k:02}", "q", "b"] = ONE
    rules = (Rule(weight, CHAIN), Rule(2.0, prior("t")))
    return World(values, [(("a", "t", "b"), ONE)]), hb.Model(rules, Semantics(counts=counts))


@pytest.mark.parametrize(("weight", "needed"), [(0.5, 2), (1.0, 4), (3.0, 5)])
def test_as_many_paths_as_needed_are_cut(weight: float, needed: int) -> None:
    world, model = fan(5, weight)
    found = model.explain(world.facts, ("a", "b"))
    assert found.flip is not None
    assert (found.flip.status, len(found.flip.facts)) == (FlipStatus.EXACT, needed)


@pytest.mark.slow
@pytest.mark.parametrize("counts", list(Counts))
def test_beyond_the_limit_a_greedy_set_is_labelled(
    monkeypatch: pytest.MonkeyPatch, counts: Counts
) -> None:
    monkeypatch.setattr(flips, "EXACT_WORK", 1)
    world, model = fan(4, 3.0, counts)
    found = check_flip(world, model, ("a", "t", "b"), exact=False)
    assert found.flip is not None
    assert found.flip.status is FlipStatus.UPPER_BOUND
    assert "upper bound" in str(found)


@given(cases(max_facts=6))
@settings(max_examples=30)
def test_rules_of_many_paths_are_cut_at_an_end(case: tuple[World, ReferenceModel, Triple]) -> None:
    world, drawn, pair = case
    model = model_of(drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explainer, "EXACT_PATHS", 0)
        found = check_flip(world, model, pair, exact=False)
    assert found.flip is not None
    has_groundings = any(reason.groundings for reason in found.reasons)
    exact = found.flip.status is FlipStatus.EXACT
    assert not (has_groundings and exact and len(found.flip.facts) != 1)


def test_a_cut_takes_the_end_with_fewer_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainer, "EXACT_PATHS", 0)
    values = {("a", "p", "hub"): ONE} | {("hub", "q", f"m{k}"): ONE for k in range(5)}
    values |= {(f"m{k}", "p", "b"): ONE for k in range(5)}
    clause = Clause(Body((Step("p"), Step("q"), Step("p")), "t"))
    model = hb.Model((Rule(1.0, clause), Rule(1.0, prior("t"))))
    found = model.explain(facts_of(values), ("a", "b"))
    assert found.flip is not None
    assert found.flip.facts == (Fact("a", "p", "hub"),)
    assert found.flip.status is FlipStatus.EXACT, "no set is smaller than one fact"


@pytest.mark.slow
def test_millions_of_paths_are_not_listed() -> None:
    """Two million paths: the first few come at once, and the flip is a cut."""
    middle = [f"m{k:03}" for k in range(150)]
    rows = [("a", "p", m) for m in middle] + [(m, "q", "b") for m in middle]
    rows += [(one, "r", other) for one in middle for other in middle[:120]]
    facts = hb.read_facts(rows)
    long = Clause(Body((Step("p"), Step("r"), Step("r"), Step("q")), "t"))
    model = hb.Model((Rule(1.0, long), Rule(0.5, prior("t"))), Semantics(counts=Counts.LOG))
    found = model.explain(facts, ("a", "b"), paths=3)
    [reason] = found.supporting
    assert reason.count == 150 * 120 * 120
    assert [path.entities for path in reason.groundings] == [
        ("a", "m000", "m000", f"m{k:03}", "b") for k in range(3)
    ]
    assert found.flip is not None
    assert found.flip.status is FlipStatus.UPPER_BOUND
    assert len(found.flip.facts) == 120


def test_several_targets_and_pairs_of_two_or_three_names() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    model = hb.Model.parse("1: p(A, B) -> t(A, B)\n2: p(A, B) -> !u(A, B)\n1: !u(A, B)\n")
    with pytest.raises(InputError, match="several targets; name one by `target`: "):
        model.explain(facts, ("a", "b"))
    with pytest.raises(UnknownTargetError, match="unknown target predicate 'w'"):
        model.explain(facts, ("a", "b"), target="w")
    by_target = model.explain(facts, ("a", "b"), target="u")
    assert by_target == model.explain(facts, ("a", "u", "b"))
    assert [reason.index for reason in by_target.reasons] == [1, 2]
    assert model.explain(facts, ("a", "b"), target="t").reasons[0].index == 0
    for wrong in ("ab", ("a",), ("a", "t", "b", "c")):
        with pytest.raises(InputError, match="is not a pair; expected"):
            model.explain(facts, wrong)


def test_a_pair_of_no_rule_says_so() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    model = hb.Model.parse("1: p(A, B) -> t(A, B)\n0: !t(A, B)\n")
    found = model.explain(facts, ("b", "a"))
    assert (found.score, found.map, found.reasons) == (0.5, 0.5, ())
    assert "no rule has groundings for this pair" in str(found)
    assert found.flip is not None
    assert found.flip.status is FlipStatus.IMPOSSIBLE


def test_unseen_names_are_told() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    model = hb.Model.parse("1: p(A, B) -> t(A, B)\n1: !t(A, B)\n")
    found = model.explain(facts, ("a", "nobody"))
    assert found.unseen == ("nobody",)
    assert [reason.rule for reason in found.reasons] == ["!t(A, B)"]
    assert "no fact has 'nobody': only the prior counts" in str(found)
    assert model.explain(facts, ("x", "x")).unseen == ("x",)


def test_own_facts_are_no_evidence_for_themselves() -> None:
    facts = hb.read_facts([("a", "t", "b"), ("b", "t", "a")])
    model = hb.Model.parse("1: t(A, B) -> t(A, B)\n2: t(B, A) -> t(A, B)\n")
    found = model.explain(facts, ("a", "b"))
    assert [(reason.index, reason.count) for reason in found.reasons] == [(1, 1)]
    assert str(found.reasons[0].groundings[0]) == "a <-t- b"


def test_a_collective_model_needs_its_pairs() -> None:
    model = hb.Model((Rule(1.0, prior("t")),), Semantics(collective=MAP))
    with pytest.raises(InputError, match="collective"):
        model.explain(hb.read_facts([("a", "p", "b")]), ("a", "b"))


def test_missing_predicates_warn_once() -> None:
    model = hb.Model.parse("1: gone(A, B) -> t(A, B)\n1: p(A, B) -> t(A, B)\n")
    with pytest.warns(HornbeamWarning, match="no predicate 'gone'") as caught:
        found = model.explain(hb.read_facts([("a", "p", "b")]), ("a", "b"))
    assert len(caught) == 1
    assert [reason.index for reason in found.reasons] == [1]


def test_text_and_html_show_names_safely() -> None:
    nasty = "<script>alert(1)</script>\x1b[31m\u202e[bold]"
    facts = hb.read_facts([("a", "p", nasty), (nasty, "q", "b")])
    model = hb.Model((Rule(1.0, CHAIN), Rule(0.3, prior("t"))))
    found = model.explain(facts, ("a", "b"))
    text = str(found)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[31m\\u202e[bold]" in text
    html = found._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert found.as_dict()["reasons"][0]["groundings"][0]["entities"] == ("a", nasty, "b")


def test_text_and_html_say_that_a_pair_is_a_fact() -> None:
    facts = hb.read_facts([("a", "p", "m"), ("m", "q", "b"), ("a", "t", "b")])
    model = hb.Model((Rule(1.0, CHAIN), Rule(0.3, prior("t"))))
    for pair, known in ((("a", "b"), True), (("m", "b"), False)):
        found = model.explain(facts, pair)
        for shown in (str(found), found._repr_html_()):
            assert ("is among the facts" in shown) == known


@pytest.mark.parametrize(
    ("year", "expected"),
    [(2010, "2 deviations above the mean 1970"), (1960, "0.5 deviations below the mean 1970")],
)
def test_standardised_values_stand_above_or_below_the_mean(year: int, expected: str) -> None:
    facts = hb.read_facts([("a", "p", "b")], numbers=[("a", "year", year)])
    model = hb.Model.parse("1: year(A) -> t(A, B) [z / 1970 20]\n0.5: !t(A, B)\n")
    assert expected in str(model.explain(facts, ("a", "b")))


def test_a_standardised_distance_is_that_of_the_difference_without_its_sign() -> None:
    facts = hb.read_facts([("a", "p", "b")], numbers=[("a", "year", 1990), ("b", "year", 2008)])
    model = hb.Model.parse("1: abs(year(A) - year(B)) -> t(A, B) [z / 10 4]\n0.5: !t(A, B)\n")
    assert "2 deviations above the mean 10" in str(model.explain(facts, ("a", "b")))


def test_a_walk_goes_on_beyond_the_own_fact_read_backwards() -> None:
    """From s by p to k, and back along the pair's own fact: not a grounding, but others follow."""
    facts = [("s", "p", "k"), ("s", "t", "k"), ("z", "t", "k"), ("z", "q", "k")]
    model = hb.Model.parse("1: p(A, X) & t(Y, X) & q(Y, B) -> t(A, B)")
    [reason] = model.explain(facts, ("s", "k")).reasons
    assert [one.entities for one in reason.groundings] == [("s", "k", "z", "k")]


def test_a_soft_path_shows_its_truth_values() -> None:
    facts = hb.read_facts([("a", "p", "m", 0.75), ("m", "q", "b", 0.5)])
    model = hb.Model((Rule(1.0, CHAIN),), Semantics(relaxation=Relaxation.SQUARED))
    [reason] = model.explain(facts, ("a", "b")).reasons
    assert reason.groundings == (
        Grounding(
            ("a", "m", "b"), (Fact("a", "p", "m", 0.75), Fact("m", "q", "b", 0.5)), truth=0.25
        ),
    )
    assert str(reason.groundings[0]) == "a -p [0.75]-> m -q [0.5]-> b"


def test_tiny_pulls_keep_their_sign() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    model = hb.Model.parse("9: p(A, B) -> t(A, B)\n0.1: !t(A, B)\n")
    found = model.explain(facts, ("a", "b"))
    assert -5e-5 < (found.reasons[1].pull or 0.0) < 0
    assert "-1e-05" in str(found)
