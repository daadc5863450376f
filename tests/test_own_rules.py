"""A user's own rules stay in the model: by every learner, collectively, and over any engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import Columns
from hornbeam.counting.opening import open_engine
from hornbeam.counting.sql.duckdb_engine import duckdb_engine
from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.learning.joint import Joint
from hornbeam.learning.registry import learner_names
from hornbeam.rules.body import Conjunction, Part
from hornbeam.rules.clause import Clause
from hornbeam.rules.weighing import Threshold

Row = tuple[str, str, str]
PLANTED = "p(A, B) & q(B, C) -> t(A, C)"


@dataclass(frozen=True)
class World:
    """Facts, and labels that mostly follow p then q, or q then r."""

    facts: tuple[Row, ...]
    labels: tuple[tuple[str, str, str, float], ...]

    @property
    def candidates(self) -> list[Row]:
        return [(a, "cand", b) for a, _, b, _ in self.labels]


@cache
def world(n: int = 40, seed: int = 3, symmetric: bool = False) -> World:
    rng = np.random.default_rng(seed)
    edges = {name: {(int(a), int(b)) for a, b in rng.integers(0, n, (2 * n, 2))} for name in "pqrs"}

    def walked(first: str, second: str) -> set[tuple[int, int]]:
        return {(a, d) for a, b in edges[first] for c, d in edges[second] if b == c}

    linked = sorted(walked("p", "q") | walked("q", "r"))
    pairs = {linked[i] for i in rng.choice(len(linked), 80)}
    pairs |= {(int(a), int(b)) for a, b in rng.integers(0, n, (120, 2))}
    if symmetric:
        pairs |= {(b, a) for a, b in pairs}
    true = set(linked) | ({(b, a) for a, b in linked} if symmetric else set())
    flip = {tuple(sorted(pair)): bool(rng.random() < 0.1) for pair in sorted(pairs)}
    labels = [
        (f"e{a}", "t", f"e{b}", float(((a, b) in true) != flip[tuple(sorted((a, b)))]))
        for a, b in sorted(pairs)
    ]
    facts = [(f"e{a}", name, f"e{b}") for name in "pqrs" for a, b in sorted(edges[name])]
    return World(tuple(facts), tuple(labels))


SHORT = hb.RuleLimits(max_length=2)


def learned(rules: object = None, symmetric: bool = False, **settings: object) -> hb.Model:
    made, settings = world(symmetric=symmetric), {"language": SHORT, **settings}
    model = hb.learn(list(made.facts), list(made.labels), rules=rules, **settings)  # type: ignore[arg-type]
    assert hb.Model.parse(model.text) == model
    return model


def weights(model: hb.Model) -> dict[str, float]:
    texts = zip(model.rules, model.clause_texts, strict=True)
    return {text: rule.weight for rule, text in texts}


def bodies_said(model: hb.Model, negated: bool = False) -> list[str]:
    return [
        str(Clause(rule.clause.body, negated))
        for rule in model.rules
        if rule.clause.negated == negated and not rule.clause.is_prior
    ]


# --- every learner --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", learner_names())
def test_own_rules_stay_and_nothing_that_says_the_same_is_added(method: str) -> None:
    own = ["p(X, Y) & q(Y, Z) -> t(X, Z)", "s(A, B) -> !t(A, B)"]
    model = learned(own, method=method)
    assert {PLANTED, "s(A, B) -> !t(A, B)"} <= weights(model).keys()
    assert bodies_said(model).count(PLANTED) == 1
    assert bodies_said(model, negated=True).count("s(A, B) -> !t(A, B)") == 1
    assert "q(A, B) & r(B, C) -> t(A, C)" in bodies_said(model)
    assert model.trace is not None
    assert model.trace.own == (PLANTED, "s(A, B) -> !t(A, B)")


@pytest.mark.parametrize(
    ("method", "squared"),
    [(name, "") for name in learner_names()] + [("joint", " ^2"), ("ppll", " ^2")],
)
def test_kept_weights_are_kept_to_the_bit(method: str, squared: str) -> None:
    own = [f"0.1234567891: {PLANTED}{squared}", f"0.25: !t(A, B){squared}", "s(A, B) -> t(A, B)"]
    model = learned(own, method=method, keep=True)
    found = weights(model)
    assert (found[PLANTED], found["!t(A, B)"]) == (0.1234567891, 0.25)
    assert "s(A, B) -> t(A, B)" in found
    expected = Relaxation.SQUARED if squared else None
    assert expected in (None, model.semantics.relaxation)


def test_trees_add_no_conjunction_that_an_own_rule_says() -> None:
    plain = learned(method="boost")
    pairs = [
        (rule.clause, [part.body for part in rule.clause.body.parts])
        for rule in plain.rules
        if len(rule.clause.body.parts) == 2 and all(p.body.is_path for p in rule.clause.body.parts)
    ]
    clause, bodies = pairs[0]
    text = str(Clause(Conjunction(tuple(map(Part, bodies))), clause.negated))
    model = learned([text], method="boost")
    same = [
        rule
        for rule in model.rules
        if rule.clause.negated == clause.negated
        and {part.body for part in rule.clause.body.parts} == set(bodies)
        and all(p.threshold in (None, Threshold(1.0)) for p in rule.clause.body.parts)
    ]
    assert [str(rule.clause) for rule in same] == [text]


def test_a_rule_that_misleads_stays_with_weight_0() -> None:
    model = learned(["1: s(A, B) -> t(A, B)", f"1: {PLANTED.replace('-> ', '-> !')}"])
    assert weights(model)[PLANTED.replace("-> ", "-> !")] == 0.0
    assert any(PLANTED in text for text in weights(model))


def test_own_rules_are_not_penalised() -> None:
    """At the learned weights, the loss has slope 0 in the weight of an own rule, L1 or not."""
    made = world()
    model = learned([PLANTED], method="joint")
    facts, labels = hb.read_facts(list(made.facts)), hb.read_labels(list(made.labels))
    counted = open_engine(facts).count(labels, model.bodies, model.language)
    columns, strength = Columns(counted), np.zeros(len(labels))
    for rule in model.rules:
        sign = -rule.weight if rule.clause.negated else rule.weight
        if rule.clause.is_prior:
            strength += sign
        else:
            rows, x = columns.of(rule.clause.body, model.counts_of(rule.clause))
            strength[rows] += sign * x
    residual = labels.truth - 1.0 / (1.0 + np.exp(-strength))
    variance = hb.learning.joint.Joint().weight_variance
    for rule in model.rules:
        if rule.clause.is_prior:
            continue
        rows, x = columns.of(rule.clause.body, model.counts_of(rule.clause))
        sign = -1.0 if rule.clause.negated else 1.0
        slope = sign * float(x @ residual[rows]) - rule.weight / variance
        if str(rule.clause) == PLANTED:
            assert abs(slope) < 0.01
        else:
            assert slope > 0.5  # what the penalty takes


@settings(deadline=None, max_examples=10)
@given(st.permutations(["a(X, Y)", "b(Y, Z)", "c(Z, W)"]), st.permutations("XYZW"))
def test_a_rule_is_known_in_any_spelling(atoms: list[str], names: list[str]) -> None:
    rename = dict(zip("XYZW", names, strict=True))
    spelt = [
        f"{atom[0]}({', '.join(rename[name] for name in atom[2:-1].split(', '))})" for atom in atoms
    ]
    rule = f"{' & '.join(spelt)} -> t({rename['X']}, {rename['W']})"
    facts = [row for i in range(20) for row in _chain(i, "abc")]
    labels = [(f"x{i}.0", "t", f"x{j}.3", float(i == j)) for i in range(20) for j in (i, 19 - i)]
    model = hb.learn(facts, labels, rules=[rule], language=hb.RuleLimits(min_coverage=1))
    assert bodies_said(model).count("a(A, B) & b(B, C) & c(C, D) -> t(A, D)") == 1


def _chain(i: int, names: str) -> list[Row]:
    return [(f"x{i}.{k}", name, f"x{i}.{k + 1}") for k, name in enumerate(names)]


# --- with other options ---------------------------------------------------------------------------


def test_conjunctions_and_thresholds_are_fitted() -> None:
    own = ["(p(A, C) & q(C, B)) [n >= 2] & s(A, D) -> t(A, B) [exists]", "0.5: r(A, X) -> t(A, B)"]
    texts = weights(learned(own))
    assert "(p(A, C) & q(C, B)) [n >= 2] & s(A, D) -> t(A, B) [exists]" in texts
    assert "r(A, C) -> t(A, B)" in texts


def test_engines_give_the_same_model() -> None:
    own = ["p(X, Y) & q(Y, Z) & s(X, W) -> t(X, Z)", f"{PLANTED} [share / 0.1]"]
    memory, duckdb = (learned(own, engine=engine) for engine in ("memory", "duckdb"))
    assert memory.text == duckdb.text


@pytest.mark.parametrize("collective", [True, "map", "map-heads"])
def test_collective_models_keep_own_rules(collective: bool | str) -> None:
    model = learned([f"0.7: {PLANTED}"], collective=collective, keep=True, method="joint")
    assert weights(model)[PLANTED] == 0.7
    assert bodies_said(model).count(PLANTED) == 1


def test_a_second_step_has_the_own_rules_in_both_steps() -> None:
    model = learned([f"0.7: {PLANTED}"], collective="asked-only", keep=True)
    assert model.semantics.two_steps
    assert weights(model)[PLANTED] == 0.7


def test_cross_evidence_lets_own_rules_walk_over_the_target() -> None:
    own = ["s(A, B) & t(B, C) -> t(A, C)"]
    assert "s(A, B) & t(B, C) -> t(A, C)" in weights(learned(own, cross_evidence=True))
    with pytest.raises(DataError, match=r"no fact has 't', the target.*`cross_evidence`"):
        learned(own)


@pytest.mark.parametrize("method", ["joint", "boost"])
def test_a_rule_of_a_symmetric_target_stands_for_its_mirror_image(method: str) -> None:
    model = learned([PLANTED], symmetric=True, method=method)
    assert model.symmetric
    found = weights(model)
    assert found[PLANTED] == found["q(B, A) & p(C, B) -> t(A, C)"]


def test_a_rule_and_its_mirror_image_may_have_weights_of_their_own() -> None:
    own = [f"0.5: {PLANTED}", "0.75: q(B, A) & p(C, B) -> t(A, C)"]
    found = weights(learned(own, symmetric=True, keep=True))
    assert (found[PLANTED], found["q(B, A) & p(C, B) -> t(A, C)"]) == (0.5, 0.75)


@pytest.mark.parametrize("method", ["ppll", "greedy", "joint"])
def test_soft_facts_and_continuous_targets(method: str) -> None:
    made = world()
    facts = [(*row, 0.5 + 0.5 * (k % 2)) for k, row in enumerate(made.facts)]
    model = hb.learn(
        facts, list(made.labels), rules=[f"0.9: {PLANTED} ^2", "s(A, B) -> t(A, B)"], keep=True,
        method=method, language=SHORT,
    )  # fmt: skip
    assert weights(model)[PLANTED] == 0.9
    assert "s(A, B) -> t(A, B)" in weights(model)


def test_a_model_may_be_the_own_rules() -> None:
    first = learned()
    assert learned(first, keep=True, language=replace(SHORT, top=1)).rules == first.rules


def test_without_candidates_the_own_rules_are_the_model() -> None:
    model = learned([PLANTED], language=replace(SHORT, min_coverage=10_000))
    assert bodies_said(model) == [PLANTED]


def test_ungrounded_rules_keep_their_weight_and_are_named() -> None:
    with pytest.warns(HornbeamWarning, match="no labelled pair grounds the own rule p.A, 'x'."):
        found = weights(learned(["2: p(A, 'x') -> t(A, B)"]))
    assert found["p(A, 'x') -> t(A, B)"] == 2.0


def test_own_rules_compare_numbers() -> None:
    made = world()
    entities = sorted({name for row in made.facts for name in (row[0], row[2])})
    numbers = [(name, "year", 1950 + 3 * k % 40) for k, name in enumerate(entities)]
    facts = hb.read_facts(list(made.facts), numbers=numbers)
    own = ["(year(A) - year(B) >= 7) -> t(A, B)", "0.5: has_year(A) & s(A, B) -> t(A, B)"]
    model = hb.learn(facts, list(made.labels), rules=own, language=SHORT)
    assert "(year(A) - year(B) >= 7) -> t(A, B)" in weights(model)
    assert any("has_year(A)" in text for text in weights(model))
    with pytest.raises(DataError, match=r"line 1, .*no entity has the number 'yeer'.*'year'"):
        hb.learn(facts, list(made.labels), rules=["(yeer(A) >= 7) -> t(A, B)"])
    with pytest.raises(DataError, match="no fact has the predicate 'has_yeer'"):
        hb.learn(facts, list(made.labels), rules=["has_yeer(A) -> t(A, B)"])


def test_an_own_rule_may_standardise_a_number() -> None:
    """It is fitted and kept, and does not say that there is a number."""
    rng = np.random.default_rng(4)
    names = [f"p{k:02}" for k in range(60)]
    year = dict(zip(names[:45], rng.normal(1970, 20, 45).tolist(), strict=True))
    facts = hb.read_facts([(n, "likes", "tea") for n in names], numbers=[
        (name, "year", value) for name, value in year.items()
    ])  # fmt: skip
    labels = [(a, "t", b, float(year.get(a, 0) > 1970)) for a in names for b in names[:9]]
    own = "year(A) -> t(A, B) [z / 1970.0 20.0]"
    found = weights(hb.learn(facts, labels, rules=[own], method=Joint(all_rules=True)))
    assert found[own] > 0.5
    assert "has_year(A) -> t(A, B)" in found
    assert weights(hb.learn(facts, labels, rules=[f"0.5: {own}"], keep=True))[own] == 0.5
    with pytest.raises(InputError, match=r"own rule with .z. is fitted where targets are true or"):
        hb.learn(facts, labels, rules=[own], method="ppll")
    for method in ("ppll", "greedy"):
        kept = hb.learn(facts, labels, rules=[own], method=method, relaxation="boolean")
        assert own in weights(kept)


# --- guards ---------------------------------------------------------------------------------------


def test_a_guard_is_a_condition_of_every_learned_rule() -> None:
    made, own = world(), "1: cand(A, C) & p(A, B) & q(B, C) -> t(A, C)"
    plain = hb.learn(list(made.facts), list(made.labels), counts="log", language=SHORT)
    facts = [*made.facts, *made.candidates]
    limits = replace(SHORT, exclude=("cand",))
    model = hb.learn(facts, list(made.labels), counts="log", guard="cand", language=limits)
    shown = {text.removeprefix("cand(A, B) & ") for text in weights(model) if "->" in text}
    assert len(shown) == len(plain.rules) - 1
    assert [rule.weight for rule in model.rules] == [rule.weight for rule in plain.rules]
    given_too = hb.learn(facts, list(made.labels), rules=[own], guard="cand", language=limits)
    assert sum("p(A, C) & q(C, B) -> t(A, B)" in text for text in weights(given_too)) == 1


def test_pairs_outside_the_guard_have_no_learned_evidence() -> None:
    made = world()
    inside = made.candidates[::2]
    facts = [*made.facts, *inside]
    model = hb.learn(
        facts, list(made.labels), guard="cand", language=replace(SHORT, exclude=("cand",))
    )
    pairs = [(a, "t", b) for a, _, b in made.candidates[1::2]]
    assert len(set(np.asarray(model.predict(facts, pairs)).tolist())) == 1
    assert len(set(np.asarray(model.predict(facts, inside_pairs(inside))).tolist())) > 1


def inside_pairs(rows: list[Row]) -> list[Row]:
    return [(a, "t", b) for a, _, b in rows]


# --- counts that do not fit in memory -------------------------------------------------------------


def test_own_rules_stay_where_candidates_are_screened_by_histograms() -> None:
    made = world()
    engine = replace(duckdb_engine(hb.read_facts(list(made.facts))), max_rows=600)
    labels = hb.read_labels(list(made.labels))
    own = [f"0.5: {PLANTED}", "p(X, Y) & q(Y, Z) & s(X, W) -> t(X, Z)"]
    model = hb.learn(engine, labels, rules=own, keep=True, method="joint")
    assert model.trace is not None
    assert model.trace.fit.screening is not None
    assert weights(model)[PLANTED] == 0.5
    assert bodies_said(model).count(PLANTED) == 1
    with pytest.raises(InputError, match="histograms, which do not tell pairs with own rules"):
        hb.learn(engine, labels, rules=own, method="ppll")


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["p(X, Y) -> u(X, Y)"], "line 1, .*head 'u' is no target; expected 't'"),
        (["s(A, B) -> t(A, B)", "pp(X, Y) -> t(X, Y)"], "line 2, .*no fact has the predicate 'pp'"),
        (["p(X, Y) -> t(X)"], "line 1, .*its head has arity 1; expected 2"),
        (["p(X) -> t(X, Y)"], "line 1, .*p.X. has arity 1; expected 2, as in the facts"),
        ([PLANTED, "q(Y, Z) & p(X, Y) -> t(X, Z)"], "line 2.*says the same as line 1"),
        (["-1: p(A, B) -> t(A, B)"], "the weight is negative"),
        (["p(A, B) <= t(A, B) ."], "arithmetic rule"),
        (["p(A, B) -> t(A, B) | q(A, B)"], "the head has 2 atoms"),
        (["p(A, B -> t(A, B)"], "line 1, column 8: expected"),
        ([""], "holds no rule"),
        ("no such file.psl", "cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(rules: list[str] | str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        learned(rules)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": True}, "`keep` is for own rules: give `rules`"),
        ({"guard": "pp"}, "no fact has the predicate 'pp', which `guard` names"),
        ({"guard": "p", "method": "boost"}, "boost writes conjunctions"),
        ({"guard": "p", "counts": "share"}, "has no shares"),
        ({"guard": "p", "collective": "map"}, "leave out `guard`"),
        ({"rules": ["(A == 'e1') -> t(A, B)"], "collective": "map"}, "takes rules of one path"),
        ({"rules": [f"1: {PLANTED} ^2"], "method": "boost"}, "boost learns with"),
        ({"rules": [f"1: {PLANTED} ^2"], "keep": True, "relaxation": "linear"}, "to `keep` are"),
        (
            {"rules": ["p(A, B) & (A != B) -> t(A, B)"]},
            "own rules have != .*use `distinct_variables`",
        ),
    ],
)
def test_settings_that_no_model_can_have_are_refused(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        learned(**settings)  # type: ignore[arg-type]
