"""Metrics agree with scikit-learn, ties and all, and say what cannot be computed."""

from __future__ import annotations

import json
import math
import warnings
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hornbeam.base.arrays import Floats, are_ties
from hornbeam.errors import InputError
from hornbeam.scoring.evaluation import evaluate, paired_significance, pr_points, roc_points

Case = tuple[Floats, Floats]

FEW_SCORES = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.5 + 2**-30, 0.7, 1.0])
ANY_SCORE = st.floats(0.0, 1.0)
HARD = st.sampled_from([0.0, 1.0])
SOFT = HARD | st.sampled_from([0.499999, 0.5]) | st.floats(0.0, 1.0)


def cases(
    truth: st.SearchStrategy[float] = HARD,
    score: st.SearchStrategy[float] = FEW_SCORES | ANY_SCORE,
    both_classes: bool = False,
) -> st.SearchStrategy[Case]:
    found = st.lists(st.tuples(truth, score), min_size=1, max_size=40).map(
        lambda rows: (np.array([y for y, _ in rows]), np.array([s for _, s in rows]))
    )
    return (
        found.filter(lambda case: 0 < sum(case[0] >= 0.5) < len(case[0])) if both_classes else found
    )


@pytest.mark.slow
@given(cases(SOFT, FEW_SCORES, both_classes=True) | cases(SOFT, both_classes=True))
def test_ranking_is_scikit_learns(case: Case) -> None:
    from sklearn import metrics

    truth, score = case
    assume(not are_ties(np.unique(score)).any())  # of which it knows nothing
    found = evaluate(truth, score)
    positive = truth >= 0.5
    assert found.auc_roc == pytest.approx(metrics.roc_auc_score(positive, score), abs=1e-12)
    assert found.auc_pr == pytest.approx(
        metrics.average_precision_score(positive, score), abs=1e-12
    )
    precision, recall, _ = metrics.precision_recall_curve(positive, score)
    best = max(2 * p * r / (p + r) for p, r in zip(precision, recall, strict=True) if p + r)
    assert found.best_f1 == pytest.approx(best)
    assert found.best_f1_threshold is not None
    assert found.best_f1_threshold in score
    predicted = score >= found.best_f1_threshold
    assert metrics.f1_score(positive, predicted) == pytest.approx(found.best_f1)


@pytest.mark.slow
@given(cases(score=st.floats(1e-9, 1 - 1e-9)))
def test_probability_scores_are_scikit_learns(case: Case) -> None:
    from sklearn import metrics

    truth, score = case
    found = evaluate(truth, score)
    assert found.log_loss == pytest.approx(metrics.log_loss(truth, score, labels=[0, 1]))
    brier = metrics.brier_score_loss(truth, score, labels=[0, 1], pos_label=1)
    assert found.brier == pytest.approx(brier)


@given(cases(SOFT))
def test_probability_scores_by_their_formulas(case: Case) -> None:
    truth, score = case
    found = evaluate(truth, score)
    clipped = [min(max(s, 1e-15), 1 - 1e-15) for s in score]
    loss = [
        -y * math.log(s) - (1 - y) * math.log(1 - s) for y, s in zip(truth, clipped, strict=True)
    ]
    assert found.log_loss == pytest.approx(sum(loss) / len(loss))
    assert found.brier == pytest.approx(sum((truth - score) ** 2) / len(truth))


@given(cases(SOFT))
def test_calibration_bins_hold_every_target_once(case: Case) -> None:
    truth, score = case
    found = evaluate(truth, score)
    error = 0.0
    for part in found.calibration:
        last = part.high == 1.0
        inside = (score >= part.low) & ((score < part.high) | (last & (score == 1.0)))
        assert part.count == inside.sum() > 0
        assert part.mean_score == pytest.approx(score[inside].mean())
        assert part.fraction_true == pytest.approx(truth[inside].mean())
        error += part.count * abs(score[inside].mean() - truth[inside].mean())
    assert sum(part.count for part in found.calibration) == found.n == len(truth)
    assert found.calibration_error == pytest.approx(error / len(truth), abs=1e-12)


@given(cases(both_classes=True), st.randoms(use_true_random=False))
def test_order_of_targets_does_not_matter(case: Case, random: Random) -> None:
    truth, score = case
    rows = list(range(len(truth)))
    random.shuffle(rows)
    one, other = evaluate(truth, score), evaluate(truth[rows], score[rows])
    assert (one.auc_roc, one.auc_pr, one.best_f1) == (other.auc_roc, other.auc_pr, other.best_f1)


@given(
    st.lists(st.floats(0.01, 9), min_size=2, max_size=8),
    st.sampled_from([-1, 1]),
    st.randoms(use_true_random=False),
)
def test_sums_of_the_same_weights_in_another_order_tie(
    weights: list[float], sign: int, random: Random
) -> None:
    """Log-odds are equal on paper, so true and false targets are as good as each other."""
    sums = [sum(weights), *(sum(random.sample(weights, len(weights))) for _ in range(5))]
    score = 1 / (1 + np.exp(-sign * np.array(sums)))
    found = evaluate([1, 0, 0, 1, 1, 0], score)
    assert (found.auc_roc, found.auc_pr) == (0.5, 0.5)
    assert found.best_f1_threshold == score.min()


@pytest.mark.parametrize("logit", [-30.0, -3.0, 0.0, 3.0, 12.0, 20.0])
def test_other_scores_do_not_tie(logit: float) -> None:
    """Nor do those near 0 and 1, though the latter differ in their last digits only."""
    low, high = 1 / (1 + np.exp(-np.array([logit, logit + 1e-5])))
    assert evaluate([1, 0], [high, low]).auc_roc == 1.0
    assert evaluate([0, 1], [high, low]).auc_roc == 0.0


@given(cases(both_classes=True))
def test_curves_enclose_the_areas(case: Case) -> None:
    found = evaluate(*case)
    x, y = roc_points(*case).T
    assert (x[0], y[0], x[-1], y[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert np.trapezoid(y, x) == pytest.approx(found.auc_roc)
    recall, precision = pr_points(*case).T
    assert np.sum(np.diff(recall, prepend=0.0) * precision) == pytest.approx(found.auc_pr)


def test_perfect_and_reversed_rankings() -> None:
    assert evaluate([0, 0, 1], [0.1, 0.2, 0.3]).auc_roc == 1.0
    assert evaluate([1, 1, 0], [0.1, 0.2, 0.3]).auc_roc == 0.0
    assert evaluate([0, 1, 0, 1], [0.5] * 4).auc_roc == 0.5
    assert evaluate([0, 1, 0, 1], [0.5] * 4).auc_pr == 0.5


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_leaves_the_rest(label: int) -> None:
    found = evaluate([label] * 3, [0.2, 0.6, 0.6])
    assert found.auc_roc is None
    assert found.auc_pr is None
    assert found.best_f1 == (1.0 if label else None)
    assert found.positives == 3 * label
    assert found.brier > 0
    shown = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert shown["auc_roc"] is None
    assert "undefined" in repr(found)
    with pytest.raises(InputError, match="one class"):
        roc_points([label] * 3, [0.2, 0.6, 0.6])


def test_as_dict_is_json() -> None:
    found = evaluate([1, 0, 0.7], [1.0, 0.0, 0.5])
    shown = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert {"auc_roc", "auc_pr", "n", "positives", "log_loss", "brier", "best_f1"} <= set(shown)
    assert shown["n"] == 3
    assert shown["positives"] == 2
    assert shown["calibration"][0] == {
        "low": 0.0,
        "high": 0.1,
        "mean_score": 0.0,
        "fraction_true": 0.0,
        "count": 1,
    }


def test_shows_itself() -> None:
    found = evaluate([1, 1, 0, 0], [0.9, 0.4, 0.4, 0.1])
    assert repr(found).startswith("Evaluation(4 targets, 2 true: AUC-ROC 0.875, AUC-PR 0.8333,")
    assert ">AUC-ROC</td>" in found._repr_html_()
    assert ">0.875</td>" in found._repr_html_()
    assert "0.4 to 0.5" in found._repr_html_()


@pytest.mark.parametrize(
    ("truth", "score", "message"),
    [
        ([], [], "nothing to evaluate"),
        ([1, 0], [0.5, math.nan], "score 2 is nan"),
        ([1, 0], [0.5, math.inf], "score 2 is inf"),
        ([1, 0], [1.5, 0.0], "score 1 is 1.5"),
        ([1, math.nan], [0.5, 0.5], "label 2 is nan"),
        ([1, -1], [0.5, 0.5], "label 2 is -1"),
        ([1, 0], [0.5], "1 scores and 2 labels"),
        ([[1, 0]], [[0.5, 0.5]], "one score for every label"),
    ],
)
def test_refuses(truth: list[float], score: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(truth, score)


# Exact differences: where they differ by rounding alone, a t-test is at the mercy of the summation.
FIGURE = st.integers(0, 1024).map(lambda n: n / 1024)
FIGURES = st.lists(st.tuples(FIGURE, FIGURE), min_size=2, max_size=10)


@pytest.mark.slow
@given(FIGURES)
def test_significance_is_scipys(rows: list[tuple[float, float]]) -> None:
    from scipy.stats import ttest_rel

    a, b = np.array(rows).T
    p = paired_significance(a, b)
    assert 0.0 <= p <= 1.0
    assert p == paired_significance(b, a)
    if len(set(a - b)) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert p == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-9)


def test_significance_at_the_edges() -> None:
    assert paired_significance([0.7, 0.8], [0.7, 0.8]) == 1.0
    assert paired_significance([0.7], [0.2]) == 1.0
    assert paired_significance([0.75, 0.5], [0.5, 0.25]) == 0.0
    with pytest.raises(InputError, match="one figure per fold"):
        paired_significance([0.7, 0.8], [0.7])
    with pytest.raises(InputError, match="missing"):
        paired_significance([0.7, math.nan], [0.7, 0.5])
