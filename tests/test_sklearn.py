"""The classifier of scikit-learn: its manners, and that it is `hornbeam.learn` inside."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hornbeam as hb
from hornbeam.errors import InputError

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from hornbeam.sklearn import RuleClassifier

#: One model for all.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sklearn")]

COUNTRIES = hb.datasets.countries()
TRAIN = COUNTRIES.train.to_table().to_pandas()
X, Y = TRAIN[["subject", "object"]], TRAIN["label"].astype(int)
CLASSIFIER = RuleClassifier(COUNTRIES.facts, "located_in", n_jobs=1)


@cache
def learned() -> hb.Model:
    """What `hornbeam.learn` makes of the same."""
    return hb.learn(COUNTRIES.facts, COUNTRIES.train)


@cache
def fitted_classifier() -> RuleClassifier:
    return RuleClassifier(COUNTRIES.facts, "located_in", n_jobs=1).fit(X, Y)


#: What the data of scikit-learn's own checks cannot be for a classifier of pairs.
REASONS = (
    "expected 2, subject and object",  # they have any number of columns
    "no body of up to",  # numbers that no fact is about
    "expected one value",  # rounded, one pair has both labels
)
#: Checks that say something about this classifier, whatever their data is.
MUST_PASS = {
    "check_estimator_cloneable", "check_estimator_repr", "check_no_attributes_set_in_init",
    "check_estimators_unfitted", "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order", "check_complex_data", "check_estimators_empty_data_messages",
    "check_estimator_sparse_array", "check_classifiers_one_label", "check_supervised_y_no_nan",
    "check_classifiers_regression_target", "check_classifier_not_supporting_multiclass",
    "check_parameters_default_constructible", "check_fit2d_1sample",
    "check_get_params_invariance", "check_set_params", "check_fit1d", "check_requires_y_none",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn() -> None:
    results = check_estimator(RuleClassifier([("a", "p", "b")], "t"), on_fail=None)
    passed = {one["check_name"] for one in results if one["status"] == "passed"}
    assert passed >= MUST_PASS, MUST_PASS - passed
    for one in results:
        if one["status"] == "failed":
            said = [str(error) for error in chain(one["exception"])]
            assert any(reason in text for reason in REASONS for text in said), (
                one["check_name"], said,
            )  # fmt: skip


def chain(error: BaseException | None) -> list[BaseException]:
    """An error and what led to it."""
    return [] if error is None else [error, *chain(error.__cause__ or error.__context__)]


@pytest.mark.parametrize(
    "form",
    [lambda x: x, pl.from_pandas, lambda x: x.to_numpy(), lambda x: x.to_numpy().tolist()],
    ids=["pandas", "polars", "array", "lists"],
)
def test_it_is_learn_and_predict(form: Any) -> None:  # noqa: ANN401
    fitted = clone(CLASSIFIER).fit(form(X), Y)
    model = learned()
    assert fitted.model_ == model
    proba = fitted.predict_proba(form(X))
    np.testing.assert_array_equal(proba[:, 1], model.predict(COUNTRIES.facts, COUNTRIES.train))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(form(X)), proba[:, 1] >= 0.5)
    assert fitted.n_features_in_ == 2


def test_own_rules_stay_in_its_model() -> None:
    text = "neighbour(A, B) & located_in(B, C) -> located_in(A, C)"
    own = RuleClassifier(COUNTRIES.facts, "located_in", rules=[f"0.5: {text}"], keep=True, n_jobs=1)
    model = clone(own).fit(X, Y).model_
    assert (0.5, text) in [
        (rule.weight, name) for rule, name in zip(model.rules, model.clause_texts, strict=True)
    ]


def test_classes_of_any_kind() -> None:
    words = np.where(Y == 1, "yes", "no")
    fitted = clone(CLASSIFIER).fit(X, words)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.score(X, words) > 0.9
    with pytest.raises(ValueError, match="Only binary classification"):
        clone(CLASSIFIER).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="y has one class"):
        clone(CLASSIFIER).fit(X, np.ones(len(X), dtype=int))


def test_in_the_tools_of_scikit_learn() -> None:
    found = cross_val_score(CLASSIFIER, X, Y, cv=3, scoring="roc_auc")
    assert found.min() > 0.9
    search = GridSearchCV(
        CLASSIFIER,
        {"method": ["ppll", "joint"], "language": [hb.RuleLimits(max_length=2), None]},
        cv=2,
        scoring="neg_log_loss",
    ).fit(X, Y)
    assert search.best_params_["method"] == "joint"
    pipeline = make_pipeline(
        FunctionTransformer(lambda frame: frame[["subject", "object"]]), CLASSIFIER
    )
    assert pipeline.fit(TRAIN, Y).predict_proba(TRAIN).shape == (len(TRAIN), 2)
    calibrated = CalibratedClassifierCV(CLASSIFIER, cv=2).fit(X, Y)
    assert calibrated.predict_proba(X).shape == (len(X), 2)


def test_copies() -> None:
    fitted = fitted_classifier()
    assert clone(fitted).facts is COUNTRIES.facts
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)


def test_what_it_needs() -> None:
    with pytest.raises(InputError, match="`facts` is None"):
        RuleClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="y has one class, 0; expected two"):
        clone(CLASSIFIER).fit(X, [0] * len(X))
    fitted = fitted_classifier()
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X.assign(more="x"))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame({"a": ["x"], "b": ["y"]}))


def test_scikit_learn_is_optional() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
import hornbeam
try:
    import hornbeam.sklearn
except hornbeam.errors.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'hornbeam[sklearn]'" in done.stdout


def test_rules_and_their_importances_are_those_of_the_model() -> None:
    classifier = fitted_classifier()
    weights = {
        text: rule.weight
        for rule, text in zip(classifier.model_.rules, classifier.model_.clause_texts, strict=True)
        if not rule.clause.is_prior
    }
    assert set(classifier.rules_) == set(weights)
    importances = classifier.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert list(importances) == sorted(importances, reverse=True)
    total = sum(weights.values())
    assert [weights[text] / total for text in classifier.rules_] == pytest.approx(list(importances))
    with pytest.raises(NotFittedError):
        _ = RuleClassifier(COUNTRIES.facts).feature_importances_
