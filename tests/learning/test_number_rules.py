"""Rules about numbers: found where numbers decide, not in noise, with the scores of training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.counting.opening import open_engine
from hornbeam.errors import InputError
from hornbeam.learning.body_clauses import standardised_values
from hornbeam.learning.boost import Boost
from hornbeam.learning.held_out import log_losses
from hornbeam.rules.body import Kind
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.rules.weighing import Counts, Weighing

Numbers = list[tuple[str, str, float]]


def world(
    seed: int, *, signal: bool, several: bool = False, n: int = 60
) -> tuple[hb.Facts, hb.Targets]:
    """People with a year of birth or none; friends are true by a shared club and, or, by age."""
    rng = np.random.default_rng(seed)
    names = [f"p{k:03}" for k in range(n)]
    clubs = rng.integers(0, 6, n)
    years = rng.integers(1950, 2000, n).astype(float)
    has = rng.random(n) < 0.8
    numbers: Numbers = [
        (a, "born", y) for a, y, known in zip(names, years, has, strict=True) if known
    ]
    if several:
        numbers += [(a, "born", y + 7.0) for a, y in zip(names[::4], years[::4], strict=True)]
    facts = [(a, "club", f"c{c}") for a, c in zip(names, clubs, strict=True)]
    rows = []
    for _ in range(400):
        a, b = rng.choice(n, 2, replace=False).tolist()
        odds = 1.5 * (clubs[a] == clubs[b]) - 0.5
        if signal and has[a] and has[b]:
            odds += 2.0 if abs(years[a] - years[b]) < 12 else -2.0
        rows.append((names[a], "friend", names[b], float(rng.random() < 1 / (1 + np.exp(-odds)))))
    labels = {row[:3]: row for row in rows}
    return hb.read_facts(facts, hb.read_numbers(numbers)), hb.read_labels(list(labels.values()))


def attributes(model: hb.Model) -> set[str]:
    """The attributes that rules with weight compare."""
    return {name for r in model.rules if r.weight > 0 for name in r.clause.body.attributes}


@pytest.mark.parametrize("method", ["joint", "boost"])
def test_differences_are_found(method: str) -> None:
    facts, labels = world(1, signal=True)
    model = hb.learn(facts, labels, method=method)
    plain = hb.learn(
        facts, labels, method=method, language=hb.RuleLimits(bodies=(Kind.PATH, Kind.OPEN))
    )
    texts = " ".join(model.clause_texts)
    assert "abs(born(A) - born(B))" in texts
    judged, without = (one.evaluate(facts, labels).auc_roc or 0.0 for one in (model, plain))
    assert judged > without + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("method", [hb.Joint(), Boost(trees=60, patience=10)], ids=type)
def test_noise_gets_no_rule(method: hb.Joint | Boost) -> None:
    """Clubs decide: trees that have said so go on to fit residuals, be it by noise."""
    found = [attributes(hb.learn(*world(seed, signal=False), method=method)) for seed in range(20)]
    assert sum(map(bool, found)) <= 1


def customers(seed: int, n: int = 200) -> tuple[hb.Facts, hb.Targets]:
    """Customers who leave by their plan, calls and television; ages are noise."""
    rng = np.random.default_rng(seed)
    facts, labels, ages = list[tuple[str, ...]](), list[tuple[str, str, int]](), Numbers()
    for name in (f"c{k:03}" for k in range(n)):
        basic, owns, calls = rng.random() < 0.5, rng.random() < 0.5, int(rng.integers(0, 4))
        facts += [(name, "plan", "basic" if basic else "gold")]
        facts += [(name, "owns", f"{name} tv"), (f"{name} tv", "kind", "tv")] * owns
        facts += [(name, "called", f"{name} {k}") for k in range(calls)]
        ages.append((name, "age", float(rng.integers(18, 80))))
        labels.append((name, "churn", int(basic + 0.5 * calls - owns + rng.normal(0, 0.4) > 0.5)))
    return hb.read_facts(facts, hb.read_numbers(ages)), hb.read_labels(labels)


@pytest.mark.slow
def test_noise_beside_strong_rules_of_one_entity_is_mostly_left_out() -> None:
    """Strong rules are best fitted with a weak penalty, which alone would let noise in."""
    found = [attributes(hb.learn(*customers(seed))) for seed in range(20)]
    assert sum(map(bool, found)) <= 4


def held_out_auc(facts: hb.Facts, labels: hb.Targets, method: hb.Joint | Boost) -> float:
    """The AUC-ROC on every third label, learned from the others."""
    held_out = np.arange(len(labels)) % 3 == 0
    model = hb.learn(facts, labels[~held_out], method=method)
    auc = model.evaluate(facts, labels[held_out]).auc_roc
    assert auc is not None
    return auc


@pytest.mark.slow
@pytest.mark.parametrize("method", [hb.Joint(), Boost(trees=60, patience=10)], ids=type)
def test_shuffled_numbers_are_worth_nothing(method: hb.Joint | Boost) -> None:
    """The control: numbers help where they decide, and not if each person has another's."""
    gains = []
    for seed in range(3):
        facts, labels = world(seed, signal=True)
        numbers, rng = facts.numbers, np.random.default_rng(seed)
        known = np.unique(numbers.entity)
        others = rng.permutation(known)[np.searchsorted(known, numbers.entity)]
        columns = (numbers.attribute, others, numbers.value, numbers.dates)
        shuffled = type(numbers).from_columns(numbers.attributes, *columns)
        without = hb.read_facts([row[:3] for row in facts])
        given = (facts, replace(facts, numbers=shuffled), without)
        true, dealt_anew, none = (held_out_auc(each, labels, method) for each in given)
        gains.append((true - none, dealt_anew - none))
    helped, control = np.mean(gains, axis=0)
    assert helped > 0.1
    assert control <= 0.02


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("method", ["joint", "boost"])
def test_rules_score_as_learned(method: str, several: bool) -> None:
    facts, labels = world(3, signal=True, several=several)
    model = hb.learn(facts, labels, method=method)
    assert attributes(model) == {"born"}
    score = np.array(model.predict(facts, labels)["score"])
    read = hb.Model.parse(model.text)
    assert np.array_equal(np.array(read.predict(facts, labels)["score"]), score)
    assert model.trace is not None
    assert model.trace.fit is not None
    if method == "boost":
        truth = np.array([row[3] for row in labels])
        assert model.trace.fit.loss == pytest.approx(float(log_losses(truth, score).sum()))


def test_a_symmetric_target_has_mirrored_rules() -> None:
    facts, labels = world(4, signal=True)
    both = [(o, p, s, label) for s, p, o, label in labels]
    labels = hb.read_labels(list({row[:3]: row for row in [*labels, *both]}.values()))
    known = [row[:3] for row in labels if row[3]]
    model = hb.learn(facts, labels)
    assert len(known) > 20
    assert attributes(model)
    rules = set(model.rules)
    assert all(Rule(rule.weight, rule.clause.mirror) in rules for rule in rules)


def test_values_are_standardised_by_the_training_pairs() -> None:
    facts, labels = world(5, signal=True)
    [clause] = hb.Model.parse("1: born(A) -> friend(A, B) [z / 1975 10]").rules
    assert str(clause.clause) == "born(A) -> friend(A, B) [z / 1975.0 10.0]"
    model = hb.Model((clause,), Semantics())
    values = dict(zip(*_values(facts, "born"), strict=True))
    scores = model.predict(facts, labels)["score"]
    for (subject, *_), score in zip(labels, scores, strict=True):
        z = (values[subject] - 1975.0) / 10.0 if subject in values else 0.0
        assert score == pytest.approx(1 / (1 + np.exp(-z)))
    assert clause.clause.weighing is not None
    assert clause.clause.weighing.counts is Counts.Z


def test_mean_and_deviation_are_those_of_the_values_of_the_training_pairs() -> None:
    facts, labels = world(5, signal=True)
    [rule] = hb.Model.parse("1: born(A) -> friend(A, B) [z / 1975 10]").rules
    [part] = rule.clause.body.parts
    body = part.body
    table = open_engine(facts).count(labels, [body], hb.RuleLimits(shares=True))
    _, weighings = standardised_values([body], table, np.zeros(1, dtype=np.int64))
    known = dict(zip(*_values(facts, "born"), strict=True))
    values = [known[subject] for subject, *_ in labels if subject in known]
    [weighing] = weighings.values()
    assert weighing.mean == pytest.approx(np.mean(values), abs=1e-3)
    assert weighing.deviation == pytest.approx(np.std(values), rel=1e-4)


def _values(facts: hb.Facts, attribute: str) -> tuple[list[str], list[float]]:
    ids, values = facts.numbers.values_of(attribute)
    return facts.entities.take(ids), values.tolist()


RULES = """
0.7: (born(A) >= 1975) -> friend(A, B)
0.9: (born(A) - born(B) < 4) & club(A, C) -> !friend(A, B)
0.4: (abs(born(A) - born(B)) < 8) -> friend(A, B)
0.6: has_born(B) -> !friend(A, B)
0.5: born(B) & (A == 'p003') -> friend(A, B) [z / 1975 10]
0.8: born(A) -> !friend(A, B) [z / 1970 12]
0.2: !friend(A, B)
"""


@pytest.mark.parametrize("several", [False, True])
def test_an_export_has_the_same_map(tmp_path: Path, several: bool) -> None:
    facts, labels = world(6, signal=True, several=several, n=12)
    model = hb.Model.parse(RULES)
    program = model.export(facts, labels, tmp_path / "program")
    found = hb.infer(program, solver="exact")
    state = dict(zip(found.atoms("friend"), found.values("friend").tolist(), strict=True))
    mean = model.predict(facts, labels)["score"]
    for (subject, _, object_, _), score in zip(labels, mean, strict=True):
        if abs(score - 0.5) > 1e-6:
            assert state[subject, object_] == pytest.approx(float(score > 0.5), abs=1e-4)
    rules = (tmp_path / "program" / "rules.psl").read_text()
    if not several:  # one observed predicate per comparison
        assert "born_A_1975(A) -> friend(A, B)" in rules
        assert (tmp_path / "program" / "data" / "born_A_1975_observations.txt").exists()


def test_rules_need_their_numbers() -> None:
    facts, labels = world(7, signal=True)
    model = hb.Model.parse("1: (born(A) >= 1975) -> friend(A, B)")
    without = hb.read_facts([("p001", "club", "c1"), ("p002", "club", "c1")])
    with pytest.raises(
        InputError, match="compare 'born', and the facts have no numbers: give them"
    ):
        model.predict(without, labels)
    other = hb.Model.parse("1: (club(A) >= 3) -> friend(A, B)")
    with pytest.raises(InputError, match="'club' is a relation of the facts"):
        other.predict(facts, labels)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("(born(A) >= 1990)", "'born' is a date; expected a date such as 1931-05-04, found 1990"),
        ("(born(A) - born(B) < 3)", "expected a difference of dates in days, found 3"),
        ("(size(A) < 1990-01-01)", "'size' is a number; expected a number, found 1990-01-01"),
        ("(size(A) - size(B) < 3 days)", "'size' is a number; expected a number, found 3 days"),
        ("(born(A) - size(B) < 3)", "'size' is a number and 'born' a date; expected two of a kind"),
        ("(club(A) >= 3)", "'club' is a relation of the facts"),
    ],
)
def test_dates_are_not_compared_with_numbers(rule: str, problem: str) -> None:
    facts = hb.read_facts(
        [("a", "club", "b")], numbers=[("a", "size", 3)], dates=[("a", "born", "1990-01-01")]
    )
    labels = [("a", "t", "b", 1.0), ("b", "t", "a", 0.0)]
    with pytest.raises(InputError, match=problem):
        hb.Model.parse(f"1: {rule} -> t(A, B)").predict(facts, labels)
    with pytest.raises(InputError, match=f"rules, line 2, column 1: .*{problem}"):
        hb.learn(facts, labels, rules=["club(A, B) -> t(A, B)", f"{rule} -> t(A, B)"])


def test_numbers_of_none_of_the_labelled_pairs_are_refused() -> None:
    facts = hb.read_facts([("a", "club", "b")], numbers=[("z", "size", 3), ("y", "size", 4)])
    labels = [("a", "t", "b", 1.0), ("b", "t", "a", 0.0)]
    with pytest.raises(InputError, match="no labelled pair has a value of an attribute such as 's"):
        hb.learn(facts, labels)
    # tables have numbers of all their entities, also of those that no pair has
    film = hb.read_table({"film": ["z", "y"], "size": [3, 4]}, key="film")
    tables = hb.read_facts(film, [(f"a{k}", "club", f"b{k % 4}") for k in range(40)])
    pairs = [
        (f"a{k}", "t", f"b{j}", float(j == k % 4 or k < 5)) for k in range(40) for j in range(3)
    ]
    assert not attributes(hb.learn(tables, pairs))


def test_values_far_from_zero_are_standardised_to_digits_of_their_deviation() -> None:
    facts, labels = world(8, signal=False)
    ids, values = facts.numbers.values_of("born")
    names = facts.entities.take(ids)
    far = [(name, "born", 1e9 + value) for name, value in zip(names, values.tolist(), strict=True)]
    shifted = hb.read_facts([(s, p, o) for s, p, o in facts], numbers=far)
    year = dict(zip(names, values.tolist(), strict=True))
    rng = np.random.default_rng(8)
    odds = [(year.get(row[0], 1975) - 1975) / 5 for row in labels]
    older = [(*row[:3], float(rng.random() < 1 / (1 + np.exp(-x))))
             for row, x in zip(labels, odds, strict=True)]  # fmt: skip
    near, away = (standardised(hb.learn(given, older)) for given in (facts, shifted))
    assert away.deviation == pytest.approx(near.deviation, rel=1e-5)
    assert away.mean - 1e9 == pytest.approx(near.mean, abs=1e-3)


def standardised(model: hb.Model) -> Weighing:
    """How the one rule with a standardised value weighs it."""
    [found] = {r.clause.weighing for r in model.rules if r.clause.body.is_value and r.weight > 0}
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(2))
def test_boost_learns_nothing_from_noise_alone(seed: int) -> None:
    facts, labels = world(seed, signal=False)
    rng = np.random.default_rng(seed)
    noise = [(*row[:3], float(rng.random() < 0.5)) for row in labels]
    assert not attributes(hb.learn(facts, hb.read_labels(noise), method="boost"))
