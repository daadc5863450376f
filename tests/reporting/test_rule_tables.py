"""What rules are worth on labels: counted by hand and against SciPy's interval."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.facts.reading.readers import Input
from hornbeam.reporting.rule_tables import WORTH, RuleQuality, rule_qualities, wilson
from hornbeam.rules.body import AnyBody, Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.rule_words import said
from hornbeam.rules.weighing import Threshold
from tests.support.rich_worlds import ENTITIES, RichWorld, rich_models, rich_worlds


def judged(
    model: str, facts: list[tuple[str, str, str]], labels: list[tuple[str, str, str, float]]
) -> list[RuleQuality]:
    rules = hb.Model.parse(model)
    labelled = hb.read_labels(labels)
    counted = MemoryEngine(hb.read_facts(facts), 1).count(labelled, rules.bodies, hb.RuleLimits())
    return rule_qualities(rules, counted, labelled)


@pytest.mark.slow
@given(st.integers(0, 300), st.integers(0, 300))
def test_the_interval_is_wilsons(right: int, wrong: int) -> None:
    from scipy.stats import binomtest

    low, high = wilson(right, right + wrong)
    if not right + wrong:
        assert (low, high) == (0.0, 1.0)
        return
    expected = binomtest(right, right + wrong).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= right / (right + wrong) <= high <= 1


def test_coverage_and_precision_count_labelled_pairs() -> None:
    facts = [("a", "p", "m"), ("b", "p", "m"), ("m", "q", "x"), ("m", "q", "y")]
    labels = [
        ("a", "t", "x", 1.0),
        ("a", "t", "y", 0.0),
        ("b", "t", "x", 1.0),
        ("c", "t", "x", 1.0),
    ]
    model = "1: p(A, B) & q(B, C) -> t(A, C)\n2: p(A, B) & q(B, C) -> !t(A, C)\n3: !t(A, B)\n"
    plain, negated, prior = judged(model, facts, labels)
    assert (plain.coverage, plain.right, plain.precision) == (3, 2, 2 / 3)
    assert (negated.coverage, negated.right) == (3, 1)
    assert (prior.coverage, prior.right) == (4, 1)
    assert (plain.low, plain.high) == wilson(2, 3)
    assert said(plain.words) == "If A p B and B q C, then A t C."
    assert [rule.is_prior for rule in (plain, negated, prior)] == [False, False, True]
    assert {rule.target for rule in (plain, negated, prior)} == {"t"}


def test_inverse_steps_are_said_the_way_they_are_stated() -> None:
    [rule] = judged("1: p(B, A) & q(C, B) -> t(A, C)", [("a", "p", "b")], [("a", "t", "b", 1.0)])
    assert said(rule.words) == "If B p A and C q B, then A t C."
    assert (rule.coverage, rule.precision, rule.low, rule.high) == (0, None, 0.0, 1.0)


def test_conditions_cover_the_pairs_for_which_all_of_them_hold() -> None:
    facts = [("a", "p", "m"), ("a", "p", "n"), ("b", "p", "m"), ("x", "q", "c"), ("y", "q", "d")]
    labels = [(s, "t", o, float(s == "a")) for s in "ab" for o in "xy"]
    many = Part(Body((Step("p"),), "t", Kind.OPEN), Threshold(2))
    anchored = Part(Body((Step("q"),), "t", Kind.ANCHORED, 1, "c"))
    bodies: list[AnyBody] = [
        Conjunction((many,)),
        anchored.body,
        Conjunction((many, anchored)),
    ]
    model = RuleModel(tuple(Rule(1.0, Clause(body)) for body in bodies))
    labelled = hb.read_labels(labels)
    counted = MemoryEngine(hb.read_facts(facts), 1).count(labelled, model.bodies, model.language)
    found = rule_qualities(model, counted, labelled)
    assert [(rule.coverage, rule.right) for rule in found] == [(2, 2), (2, 1), (1, 1)]
    assert said(found[2].words) == "If A has 2 or more p and B q 'c', then A t B."


@pytest.mark.parametrize(
    ("model", "facts", "expected"),
    [
        ("1: same(A, B) -> t(A, B)", "same", "almost a copy of the target"),
        ("1: has(B, A) -> t(A, B)", "has", "almost the inverse of the target"),
        ("1: t(B, A) -> t(A, B)", "t", "the target's own inverse"),
        ("1: t(A, B) -> t(A, B)", "t", "has no groundings"),
        ("1: same(A, B) -> !t(A, B)", "same", ""),
        ("1: half(A, B) -> t(A, B)", "half", ""),
        ("1: wide(A, B) -> t(A, B)", "wide", ""),
    ],
)
def test_copies_and_inverses_of_the_target_are_warned_of(
    model: str, facts: str, expected: str
) -> None:
    pairs = [(f"s{k}", f"o{k}") for k in range(20)]
    true, false = pairs[:10], pairs[10:]
    stated = {
        "same": true,
        "has": [(o, s) for s, o in true],
        "t": [(o, s) for s, o in true],
        "half": true[:5],
        "wide": pairs,
    }[facts]
    labels = [(s, "t", o, 1.0) for s, o in true] + [(s, "t", o, 0.0) for s, o in false]
    [rule] = judged(model, [(s, facts, o) for s, o in stated], labels)
    assert expected in rule.warning
    assert bool(rule.warning) == bool(expected)


LABELS = [("x", "t", "y", 1.0), ("y", "t", "z", 0.0), ("z", "t", "x", 1.0), ("x", "t", "z", 0.0)]


def assert_worth(model: hb.Model, facts: Input, labels: list[tuple[str, str, str, float]]) -> None:
    """The figures without each rule are those of a model that lacks it."""
    table = model.to_table(facts, labels, worth=True)
    for k, row in enumerate(table.dicts()):
        fewer = model.with_rules(
            Rule(0.0, rule.clause) if i == k else rule for i, rule in enumerate(model.rules)
        )
        found = fewer.evaluate(facts, labels)
        for name in WORTH:
            assert row[f"{name}_without"] == pytest.approx(getattr(found, name), abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*:hornbeam.errors.HornbeamWarning")
@given(rich_worlds(), rich_models(arities=[2]))
def test_figures_without_a_rule_are_those_of_a_model_that_lacks_it(
    world: RichWorld, model: hb.Model
) -> None:
    if model.rules:
        labels = [(s, "t", o, float(k % 2)) for k, (s, o) in enumerate(pairwise(ENTITIES))]
        assert_worth(model, world.facts, labels)


@pytest.mark.parametrize("method", ["map", "two-step"])
def test_pairs_of_a_collective_model_are_inferred_again_without_a_rule(method: str) -> None:
    head = f'# hornbeam: {{"version": 1, "collective": "{method}"}}\n'
    rules = "1.0: p(A, B) -> t(A, B)\n0.5: !t(A, B)\n"
    rules += (
        "0.7: p(A, B) & believed_t(B, C) -> t(A, C)\n1.0: p(A, B) -> believed_t(A, B)\n"
        if method == "two-step"
        else "0.7: p(A, B) & t(B, C) -> t(A, C)\n"
    )
    facts = [("x", "p", "y"), ("y", "p", "z"), ("z", "p", "x")]
    assert_worth(hb.Model.parse(head + rules), facts, LABELS)


def test_what_rules_are_worth_needs_labels() -> None:
    with pytest.raises(InputError, match="give `facts` and `labels`"):
        hb.Model.parse("1: p(A, B) -> t(A, B)").to_table(worth=True)
