"""PSL's evaluators: by hand, by brute force, and PSL's own on the same values."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import hornbeam as hb
from hornbeam.errors import DataError
from hornbeam.programs.evaluators import (
    EVALUATORS,
    AucEvaluator,
    CategoricalEvaluator,
    ContinuousEvaluator,
    DiscreteEvaluator,
    EvaluatedAtoms,
    Evaluator,
)
from hornbeam.programs.program import read_program
from tests.conftest import JAVA_OPTIONS

#: How PSL calls the figures in its output.
PSL_NAMES = {
    "MAE": "mae", "MSE": "mse", "RMSE": "rmse", "Accuracy": "accuracy", "F1": "f1",
    "Positive Class Precision": "precision", "Positive Class Recall": "recall",
    "Negative Class Precision": "negative_precision", "Negative Class Recall": "negative_recall",
    "AUROC": "auc_roc", "Positive Class AUPRC": "auc_pr_trapezoid",
    "Categorical Accuracy": "categorical_accuracy",
}  # fmt: skip


def evaluated(
    folder: Path, evaluations: list[Any], rows: dict[str, list[list[Any]]], **options: object
) -> list[dict[str, Any]]:
    """Figures of the evaluators of a predicate whose targets are in no rule."""
    path = write(folder, evaluations, rows, options)
    found = hb.infer(path).evaluations["T"]
    json.dumps(found.as_dict())
    return [one.figures for one in found.evaluators]


def write(
    folder: Path, evaluations: list[Any], rows: dict[str, list[list[Any]]], options: object = None
) -> Path:
    arity = len(rows["targets"][0]) - 1
    program = {
        "rules": ["1: P(A) -> Q(A)"],
        "predicates": {
            "P/1": {"observations": [["x"]]},
            "Q/1": {"targets": [["x"]]},
            f"T/{arity}": {**rows, "evaluations": evaluations},
        },
        "options": options or {},
    }
    path = folder / "program.json"
    path.write_text(json.dumps(program))
    return path


ROWS = {
    "targets": [["a", 0.45], ["b", 0.3], ["c", 0.6], ["d", 0.2], ["e", 0.9]],
    "observations": [["f", 0.1], ["g", 1.0]],
    "truth": [["a", 1], ["b", 0], ["c", 0.4], ["d", 0], ["f", 1]],
}


def test_figures_by_hand(tmp_path: Path) -> None:
    at_40 = {"evaluator": "DiscreteEvaluator", "options": {"discreteevaluator.threshold": 0.4}}
    continuous, half, lower = evaluated(
        tmp_path, ["ContinuousEvaluator", "DiscreteEvaluator", at_40], ROWS
    )
    assert continuous["mae"] == pytest.approx((0.55 + 0.3 + 0.2 + 0.2) / 4)
    assert continuous["mse"] == pytest.approx((0.55**2 + 0.3**2 + 0.2**2 + 0.2**2) / 4)
    assert continuous["rmse"] == pytest.approx(continuous["mse"] ** 0.5)
    # true: a; called true: c
    assert [half[key] for key in ("precision", "recall", "f1", "accuracy")] == [0, 0, 0, 0.5]
    assert (half["negative_precision"], half["negative_recall"]) == pytest.approx((2 / 3, 2 / 3))
    # true: a and c, and both are called so
    assert set(lower.values()) == {1.0}


def test_observed_atoms_and_targets_without_truth(tmp_path: Path) -> None:
    def mae(**options: object) -> float:
        names = {"include": "eval.includeobs", "close": "eval.closetruth"}
        own = {names[key]: value for key, value in options.items()}
        [found] = evaluated(tmp_path, [{"evaluator": "ContinuousEvaluator", "options": own}], ROWS)
        [again] = evaluated(tmp_path, ["ContinuousEvaluator"], ROWS, **own)
        assert found == again
        return float(found["mae"])

    known = [0.55, 0.3, 0.2, 0.2]
    assert mae() == pytest.approx(np.mean(known))
    assert mae(include=True) == pytest.approx(np.mean([*known, 0.9]))
    assert mae(close="true") == pytest.approx(np.mean([*known, 0.9]))
    assert mae(include=True, close=True) == pytest.approx(np.mean([*known, 0.9, 0.9]))


def test_a_listed_evaluator_decides_about_the_figures_of_its_kind(tmp_path: Path) -> None:
    listed = [
        {"evaluator": "DiscreteEvaluator", "options": {"discreteevaluator.threshold": 0.4}},
        {"evaluator": "org.linqs.psl.evaluation.statistics.DiscreteEvaluator", "primary": True},
    ]
    path = write(tmp_path, listed, ROWS, {"aucevaluator.threshold": 0.3})
    found = hb.infer(path).evaluations["T"]
    assert (found.f1, found.n, found.unknown) == (1.0, 4, 1)
    assert found.auc_roc == 1.0  # a and c are true, b and d are false
    assert [one.figures["f1"] for one in found.evaluators] == [1.0, 0.0]
    own = [{"discreteevaluator.threshold": "0.4"}, {}]
    assert [one.options for one in found.evaluators] == own
    assert [one.primary for one in found.evaluators] == [False, True]
    assert read_program(path).primary_evaluator == ("T", DiscreteEvaluator())
    assert read_program(write(tmp_path, [], ROWS)).primary_evaluator is None


@pytest.mark.parametrize(
    ("evaluations", "options", "said"),
    [
        (["DiscreteEvaluatr"], {}, "unknown evaluator 'DiscreteEvaluatr'; expected one of Cont"),
        (
            [{"evaluator": "AUCEvaluator", "options": {"aucevaluator.treshold": 1}}],
            {},
            r"unknown option of AUCEvaluator 'aucevaluator.treshold'; expected one of eval.incl",
        ),
        (
            [{"evaluator": "AUCEvaluator", "options": {"discreteevaluator.threshold": 0.3}}],
            {},
            "unknown option of AUCEvaluator 'discreteevaluator.threshold'",
        ),
        ([], {"discreteevaluator.treshold": 1}, "unknown option 'discreteevaluator.treshold'; ex"),
        ([], {"eval.includeobserved": 1}, "unknown option 'eval.includeobserved'; expected"),
        ([], {"discreteevaluator.threshold": 2}, "is '2'; expected a number of at least 0, and at"),
        ([], {"aucevaluator.representative": "F1"}, "expected one of AUROC, POSITIVE_AUPRC, NEG"),
        (
            [{"evaluator": "CategoricalEvaluator",
              "options": {"categoricalevaluator.categoryindexes": "0:1"}}],
            {},
            "'categoricalevaluator.categoryindexes' has 1; expected -1 to 0 for 1 arguments",
        ),
        (
            [{"evaluator": "CategoricalEvaluator",
              "options": {"categoricalevaluator.categoryindexes": "x"}}],
            {},
            "expected whole numbers with ':' between them",
        ),
        ([{"evaluator": "AUCEvaluator", "option": {}}], {}, "unknown key 'option'; expected eval"),
        (
            [{"evaluator": "AUCEvaluator", "primary": True}] * 2,
            {},
            "primary evaluators of T and T; expected at most one in all",
        ),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, evaluations: list[Any], options: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_program(write(tmp_path, evaluations, ROWS, options))


def random_atoms(random: Random, arity: int = 1) -> EvaluatedAtoms:
    names = list(product(range(4), repeat=arity))
    atoms = random.sample(names, random.randrange(1, len(names) + 1))
    n = len(atoms)
    value = np.array([random.choice([0, 0.2, 0.5, 0.7, random.random()]) for _ in atoms])
    truth = np.array([random.choice([0, 1, 1, 0.5, np.nan]) for _ in atoms])
    observed = np.array([random.random() < 0.3 for _ in atoms])
    arguments = tuple(np.array(column, dtype=np.int32) for column in zip(*atoms, strict=True))
    assert all(len(column) == n for column in arguments)
    return EvaluatedAtoms(arguments, value, truth, observed, random.randrange(2))


@given(st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_rankings_are_scikit_learns(random: Random, include: bool, close: bool) -> None:
    atoms = random_atoms(random, 2)
    evaluator = AucEvaluator(threshold=0.5, include_observed=include, close_truth=close)
    found = evaluator.figures(atoms)
    keep = (include | ~atoms.observed) & (~np.isnan(atoms.truth) | (close & ~atoms.observed))
    y, s = np.nan_to_num(atoms.truth[keep], nan=0.0) >= 0.5, atoms.value[keep]
    assert evaluator.compared(atoms).tolist() == keep.tolist()
    if not y.any() or y.all():
        assert set(found.values()) == {None}
        return
    assert found["auc_roc"] == pytest.approx(metrics.roc_auc_score(y, s))
    for key, truth, score in (("auc_pr", y, s), ("auc_pr_negative", ~y, -s)):
        assert found[key] == pytest.approx(metrics.average_precision_score(truth, score))
        precision, recall, _ = metrics.precision_recall_curve(truth, score)
        assert found[f"{key}_trapezoid"] == pytest.approx(metrics.auc(recall, precision))


@given(st.randoms(use_true_random=False), st.sampled_from([0.2, 0.5, 1.0]))
def test_decisions_are_scikit_learns(random: Random, threshold: float) -> None:
    atoms = random_atoms(random, 2)
    found = DiscreteEvaluator(threshold=threshold).figures(atoms)
    keep = ~atoms.observed & ~np.isnan(atoms.truth)
    y, called = atoms.truth[keep] >= threshold, atoms.value[keep] >= threshold
    if not len(y):
        assert set(found.values()) == {None}
        return
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, called))
    for truth, decided, prefix in ((y, called, ""), (~y, ~called, "negative_")):
        for name in ("precision", "recall"):
            figure = found[f"{prefix}{name}"]
            theirs = getattr(metrics, f"{name}_score")(truth, decided, zero_division=np.nan)
            assert (np.nan if figure is None else figure) == pytest.approx(theirs, nan_ok=True)
    f1 = metrics.f1_score(y, called, zero_division=np.nan)
    assert (np.nan if found["f1"] is None else found["f1"]) == pytest.approx(f1, nan_ok=True)


@given(st.randoms(use_true_random=False), st.booleans())
def test_categories_by_brute_force(random: Random, include: bool) -> None:
    atoms = random_atoms(random, 3)
    for categories in ((-1,), (0,), (1, 2), (0, 1, 2), (-3, -1)):
        of_category = {position % 3 for position in categories}
        evaluator = CategoricalEvaluator(categories=categories, include_observed=include)
        rows = list(zip(*atoms.arguments, strict=True))
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, row in enumerate(rows):
            if include or not atoms.observed[i]:
                base = tuple(int(a) for k, a in enumerate(row) if k not in of_category)
                groups.setdefault(base, []).append(i)
        hits = 0.0
        for members in groups.values():
            best = max(atoms.value[i] for i in members)
            tied = [i for i in members if best - atoms.value[i] <= 1e-5]
            hits += sum(atoms.truth[i] >= 1 for i in tied) / len(tied)
        total = int(np.sum(atoms.truth >= 1)) + atoms.unmatched
        expected = hits / total if total else None
        assert evaluator.figures(atoms)["categorical_accuracy"] == pytest.approx(expected)


@pytest.mark.parametrize("kind", EVALUATORS.values())
def test_every_representative_is_a_figure_that_a_search_can_improve(kind: type[Evaluator]) -> None:
    truth, none = np.array([1.0, 0.0, 1.0, 0.0]), np.zeros(4, dtype=np.bool_)
    names = (np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 1, 0, 1], dtype=np.int32))
    good, poor = (
        EvaluatedAtoms(names, value, truth, none)
        for value in (np.array([0.9, 0.1, 0.8, 0.2]), np.array([0.2, 0.6, 0.7, 0.55]))
    )
    assert kind().name in EVALUATORS
    for representative, figure in kind.REPRESENTATIVES.items():
        evaluator = kind(representative=representative)
        assert abs(evaluator.score(good)) == evaluator.figures(good)[figure]
        assert evaluator.score(good) > evaluator.score(poor)
    empty = EvaluatedAtoms(tuple(ids[:0] for ids in names), truth[:0], truth[:0], none[:0])
    assert kind().score(empty) == -np.inf


def test_truth_that_no_target_has(tmp_path: Path) -> None:
    rows = {"targets": [["a", "x", 0.4], ["a", "y", 0.6]], "truth": [["b", "x", 1], ["a", "y", 1]]}
    [found] = evaluated(tmp_path, ["CategoricalEvaluator"], rows)
    assert found == {"categorical_accuracy": 0.5}
    path = write(tmp_path, [], {"targets": rows["targets"], "truth": []})
    assert hb.infer(path).evaluations == {}


@pytest.mark.java
def test_figures_are_psls_on_the_same_values(psl_runtime: Path, tmp_path: Path) -> None:
    """No two values are equal: PSL leaves ties to the order of its atoms, or to a coin."""
    random = Random(3)
    pairs = [(f"e{i}", f"c{j}") for i in range(12) for j in range(4)]
    values = random.sample(range(1, 1000), len(pairs))
    rows: dict[str, list[list[Any]]] = {"targets": [], "observations": [], "truth": []}
    for pair, value in zip(pairs, values, strict=True):
        role = "observations" if random.random() < 0.2 else "targets"
        rows[role].append([*pair, value / 1000])
        if random.random() < 0.8:
            rows["truth"].append([*pair, random.choice([0, 0.3, 0.45, 1])])
    both: dict[str, Any] = {"eval.includeobs": True, "eval.closetruth": True}
    settings: list[tuple[str, dict[str, Any]]] = [
        ("ContinuousEvaluator", {}),
        ("DiscreteEvaluator", {}),
        ("DiscreteEvaluator", {"discreteevaluator.threshold": 0.4}),
        ("AUCEvaluator", {"aucevaluator.threshold": 0.4}),
        ("CategoricalEvaluator", {"categoricalevaluator.categoryindexes": 1}),
        ("CategoricalEvaluator", {"categoricalevaluator.categoryindexes": -2}),
    ]
    listed = [
        {"evaluator": name, "options": {**common, **own}}
        for name, own in settings
        for common in ({}, both)
    ]
    path = write(tmp_path, listed, rows)
    ours = [one.figures for one in hb.infer(path).evaluations["T"].evaluators]
    done = subprocess.run(
        ["java", *JAVA_OPTIONS, "-jar", str(psl_runtime), str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    answer = json.loads(done.stdout[done.stdout.index("\n{") :])
    assert len(answer["evaluations"]) == len(ours)
    for line, figures in zip(answer["evaluations"], ours, strict=True):
        theirs = dict(re.findall(r"([A-Z][A-Za-z1 ]+): ([\d.]+)", line.split("-- ")[1]))
        compared = {PSL_NAMES[key]: float(text) for key, text in theirs.items() if key in PSL_NAMES}
        assert compared == pytest.approx({key: figures[key] for key in compared}, abs=1e-6)
        assert len(compared) >= min(len(figures), 2)
    assert ContinuousEvaluator().name in answer["evaluations"][0]
