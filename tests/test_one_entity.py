"""Targets on one entity in Python: inputs, sampled negatives, folds, beliefs, numbers."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.errors import DataError, HornbeamNote, InputError
from hornbeam.facts.folds import assign_evidence_folds
from hornbeam.facts.known import with_known
from hornbeam.facts.negatives import origins, with_negatives
from hornbeam.rules.body import Kind
from tests.support.one_entity import MODEL, customers

FACTS, LABELS = customers()


def test_every_form_of_labels_and_entities_is_the_same() -> None:
    rows = [(name, "churn", int(label)) for name, _, label in LABELS]
    expected = list(hb.read_labels(rows))
    frame = pd.DataFrame(rows, columns=["customer", "predicate", "label"])
    frame = frame.rename(columns={"customer": "entity"})
    for given in (
        hb.read_labels(frame),
        hb.read_labels([(name, label) for name, _, label in rows], target="churn"),
        hb.read_labels(frame[["entity", "label"]], target="churn"),
        hb.read_labels(rows, target="churn"),
        hb.read_labels(hb.read_labels(rows)),
        hb.read_labels(frame.set_axis(range(3), axis=1)),
    ):
        assert list(given) == expected
        assert given.unary == {"churn"}
    model, names = hb.Model.parse(MODEL), [row[:1] for row in rows]
    scores = model.predict(FACTS, names)
    assert scores.names == ["subject", "predicate", "score", "probability"]
    for pairs in (
        [row[:2] for row in rows],
        rows,
        frame[["entity"]],
        frame[["entity", "predicate"]],
        hb.read_pairs(names, target="churn"),
    ):
        np.testing.assert_array_equal(model.predict(FACTS, pairs)["score"], scores["score"])
    explained = model.explain(FACTS, "c0")
    assert explained.score == pytest.approx(scores["score"][0])
    for pair in (("c0",), ("c0", "churn"), ("c0", "churn", "c0")):
        assert model.explain(FACTS, pair) == explained


def test_pairs_where_one_entity_is_expected_are_refused() -> None:
    model = hb.Model.parse(MODEL)
    with pytest.raises(InputError, match="was given, and 'churn' is about one entity; expected"):
        model.explain(FACTS, ("c0", "c1"))
    with pytest.raises(InputError, match="'churn' is about one entity in the model, and about"):
        model.predict(FACTS, [("c0", "c1")])
    pairs = hb.Model.parse("1: friend(A, B) -> trusts(A, B)\n")
    with pytest.raises(InputError, match="'trusts' is about pairs in the model, and about one"):
        pairs.predict(FACTS, [("c0", "trusts")])
    with pytest.raises(DataError, match="'churn' has 2 arguments here and 1 in frame 1, row 1"):
        hb.read_labels([("c0", "churn", 1)], [("c0", "churn", "c1", 0)])
    with pytest.raises(InputError, match="'vip' has 1 argument among the facts, and as a target"):
        with_known(FACTS, [("c0", "vip", "c1", 1)])
    with pytest.raises(InputError, match="queries ask for one end of a pair: `propose` finds"):
        model.rank(FACTS, [("?", "churn", "c0")])


def test_typed_negatives_stand_where_most_true_entities_do() -> None:
    true = [(name, "churn") for name, _, label in LABELS if label == "1"]
    facts, rng = hb.read_facts([*FACTS, *true]), np.random.default_rng(0)
    drawn = with_negatives(facts, ["churn"], 0.4, rng=rng)
    false = [name for name, _, label in drawn if label == 0.0]
    assert len(set(false)) == len(false) > 0
    assert all(name.startswith("c") for name in false)
    assert not {name for name, _ in true} & set(false)
    anything = with_negatives(facts, ["churn"], 0.4, "uniform", rng=rng)
    assert not all(name.startswith("c") for name, _, label in anything if label == 0.0)
    others = {name for name, _ in true}
    typed = [(name, "rdf:type", "customer") for name, *_ in LABELS if name in others or name < "c4"]
    known = hb.read_facts([*FACTS, *true, *typed])
    drawn = with_negatives(known, ["churn"], 0.2, rng=rng)
    customers_of_type = {name for name, *_ in typed}
    assert {name for name, _, label in drawn if label == 0.0} <= customers_of_type


def test_facts_that_state_who_is_false_teach_as_labels_do() -> None:
    """A Boolean column says all: no false entity is drawn, also not one without a value."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(60):
        plan, left = rng.choice(["gold", "free"]), None
        if k % 10:
            left = bool(rng.random() < (0.8 if plan == "free" else 0.2))
        rows.append((f"c{k}", str(plan), f"c{rng.integers(60)}", left))
    table = pd.DataFrame(rows, columns=["name", "plan", "friend", "left"]).astype(
        {"left": "boolean"}
    )
    with pytest.warns(HornbeamNote, match=r"left: the facts state \d+ false ones"):
        stated = hb.learn(hb.read_table(table, key="name"), target="left")
    labels = [(name, "left", float(left)) for name, _, _, left in rows if left is not None]
    others = hb.read_table(table.drop(columns="left"), key="name")
    given = hb.learn(others, labels, cross_evidence=True)
    assert stated.rules == given.rules
    assert len(stated.rules) > 1
    assert stated.semantics.sampled_negatives is None
    assert stated.trace is not None
    assert (stated.trace.targets, stated.trace.sampled_negatives) == (54, None)


def test_pairs_of_truth_value_0_are_the_false_ones() -> None:
    people = [f"p{k}" for k in range(12)]
    facts = [(a, "likes", b) for a in people[::2] for b in people[::3]]
    values = {
        (a, b): float((i + j) % 3 == 0) for i, a in enumerate(people) for j, b in enumerate(people)
    }
    pairs = [(a, "trusts", b, value) for (a, b), value in values.items()]
    read = hb.read_facts(facts, pairs)
    assert len(read) == len(facts) + sum(values.values())
    grown = hb.read_facts(facts) + hb.read_facts(pairs)
    for known in (read, grown, hb.read_facts(read)):
        labels = with_negatives(known, ["trusts"], rng=np.random.default_rng(0))
        names = known.entities
        ends = zip(labels.subject, labels.object, labels.positive, strict=True)
        assert {(names[int(a)], names[int(b)]): float(true) for a, b, true in ends} == values


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_column_of_false_alone_is_unary(engine: str) -> None:
    """Tables to be scored may have such columns: rules about them have no groundings there."""
    table = {"name": ["a", "b"], "plan": ["gold", "free"], "vip": [False, False]}
    facts = hb.read_table(pd.DataFrame(table), key="name")
    model = hb.Model.parse("1: vip(A) -> churn(A)\n0.5: plan(A, 'gold') -> churn(A)\n")
    scores = model.predict(facts, [("a",), ("b",)], engine=engine)["score"]
    assert np.asarray(scores).tolist() == pytest.approx([1 / (1 + np.exp(-0.5)), 0.5])
    with pytest.raises(InputError, match="no fact of 'vip' has a value"):
        hb.learn(facts, target="vip")


def test_a_fold_hides_its_true_entities_from_the_false_ones_too() -> None:
    true = [(name, "churn") for name, _, label in LABELS if label == "1"]
    facts, rng = hb.read_facts([*FACTS, *true]), np.random.default_rng(0)
    pairs = with_negatives(facts, ["churn"], 0.4, rng=rng)
    folds = assign_evidence_folds(facts, pairs, rng, origins(pairs, "typed", rng))
    for rows, seen in folds.views():
        some = pairs.select(rows)
        assert (~some.positive).sum() <= some.positive.sum()  # each shares the fold of a true one
        hidden = {name for name, _, label in some if label == 1.0}
        left = {row[0] for row in seen if row[1:] == ("churn",)}
        assert left == {name for name, _ in true} - hidden


@pytest.mark.parametrize("seed", range(3))
def test_noise_teaches_no_rule_about_how_many_others_are_known(seed: int) -> None:
    """Leaving out only its own fact would tell: a true entity sees one other fact less."""
    rng = random.Random(seed)
    facts: list[tuple[str, ...]] = [(f"e{i}", "in", f"group {i % 4}") for i in range(120)]
    facts += [(f"e{i}", "noise") for i in rng.sample(range(120), 60)]
    chains = hb.RuleLimits(bodies=(Kind.OPEN, Kind.CHAIN), max_length=3)
    model = hb.learn(facts, target="noise", language=chains, seed=seed)
    scores = model.predict(facts, [(f"e{i}",) for i in range(120)])["score"]
    assert scores.std() < 0.1


def test_friends_beliefs_help_where_own_facts_say_little() -> None:
    rng, facts, labels = random.Random(1), list[tuple[str, ...]](), list[tuple[str, str, int]]()
    for group in range(40):
        state, members = rng.random() < 0.5, [f"p{group}_{i}" for i in range(6)]
        for name in members:
            true = state if rng.random() < 0.9 else not state
            labels.append((name, "smokes", int(true)))
            job = int(true) if rng.random() < 0.7 else rng.randrange(2)
            facts.append((name, "job", f"j{job}"))
            facts += [(name, "friend", other) for other in members if other != name]
    train, test = labels[:120], labels[120:]
    language = hb.RuleLimits(bodies=(Kind.ANCHORED,))
    plain = hb.learn(facts, train, language=language)
    together = hb.learn(facts, train, language=language, collective=True)
    texts = together.text
    assert "friend(A, B) & believed_smokes(B) -> smokes(A)" in texts
    assert hb.Model.parse(texts).text == texts
    auc = [model.evaluate(facts, test).auc_roc or 0.0 for model in (plain, together)]
    assert auc[1] > auc[0] + 0.03
    explained = together.explain(facts, test[0][:2], pairs=[row[:2] for row in test])
    assert "other pairs account for the rest" in str(explained)


def test_numbers_and_own_rules_of_one_entity() -> None:
    rng = random.Random(0)
    ages = [(f"c{i}", "age", rng.randrange(18, 80)) for i in range(80)]
    labels = [(name, "senior", int(age >= 50)) for name, _, age in ages]
    facts = hb.read_facts(FACTS, numbers=ages)
    model = hb.learn(facts, labels, rules=["vip(A) -> senior(A)"])
    assert "vip(A) -> senior(A)" in model.text
    assert "(age(A) >= " in model.text
    assert "B)" not in model.text.replace("(A, B)", "").replace("(B, A)", "")
    assert (model.evaluate(facts, labels).auc_roc or 0.0) > 0.99
    with pytest.raises(DataError, match="its head has arity 2; expected 1, as the labels"):
        hb.learn(facts, labels, rules=["friend(A, B) -> senior(A, B)"])


def test_a_classifier_of_entities() -> None:
    pytest.importorskip("sklearn")
    from hornbeam.sklearn import RuleClassifier

    names = np.array([[name] for name, *_ in LABELS], dtype=object)
    y = np.array([label for *_, label in LABELS])
    classifier = RuleClassifier(FACTS, target="churn").fit(names[:60], y[:60])
    assert classifier.model_.target_arities == {"churn": 1}
    assert classifier.n_features_in_ == 1
    assert classifier.score(names[60:], y[60:]) > 0.7
    with pytest.raises(ValueError, match="expected 2, subject and object, or 1, an entity"):
        RuleClassifier(FACTS, target="churn").fit(np.tile(names, 3), y)


@pytest.mark.slow
def test_figures_of_mutagenesis(shared_data: Path) -> None:
    """The first four of ten folds, without the numbers and with them."""
    task = shared_data / "mutagenesis"
    numbered = hb.read_facts(task / "observed.tsv", numbers=task / "numbers.tsv")
    for facts, least in ((hb.read_facts(task / "observed.tsv"), 0.9), (numbered, 0.92)):
        for method in ("joint", "boost"):
            found = []
            for fold in range(4):
                model = hb.learn(facts, task / f"fold{fold}" / "train.tsv", method=method)
                found.append(model.evaluate(facts, task / f"fold{fold}" / "test.tsv").auc_roc)
            assert np.mean([value for value in found if value is not None]) > least
