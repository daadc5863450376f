"""`hornbeam evaluate`: from files to metrics, held to scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import EVIDENCE, TEST, hornbeam_, write


def test_the_json_has_the_keys_of_the_design(countries_model: Path) -> None:
    ended = hornbeam_("evaluate", countries_model, *EVIDENCE, *TEST, "--json")
    assert {"auc_roc", "auc_pr", "n", "positives"} <= set(ended.json)
    assert ended.stdout.count("\n") == 1
    assert ended.told == []


@pytest.mark.slow
@pytest.mark.parametrize("score", ["mean", "map"])
def test_metrics_are_those_of_scikit_learn(countries_model: Path, score: str) -> None:
    from sklearn import metrics

    words = (countries_model, *EVIDENCE, "--score", score, "--json")
    found = hornbeam_("evaluate", *words, *TEST).json
    predicted = hornbeam_("predict", *words, "--pairs", TEST[1]).json["predictions"]
    scores = [row["score"] for row in predicted]
    truth = [int(line.split("\t")[3]) for line in TEST[1].read_text().splitlines()]
    assert found["auc_roc"] == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert found["auc_pr"] == pytest.approx(metrics.average_precision_score(truth, scores))
    assert found["brier"] == pytest.approx(metrics.brier_score_loss(truth, scores))
    if score == "mean":
        assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, scores))
    assert (found["n"], found["positives"]) == (len(truth), sum(truth))


def test_the_screen_shows_the_figures(countries_model: Path) -> None:
    ended = hornbeam_("evaluate", countries_model, *EVIDENCE, *TEST)
    assert ended.code == 0
    assert ended.stdout.startswith("AUC-ROC    0.99")
    assert "120 pairs, 40 true" in ended.stdout


def test_labels_of_one_class_have_no_auc(tmp_path: Path, countries_model: Path) -> None:
    labels = write(tmp_path / "labels.tsv", [("peru", "located_in", "americas", 1)])
    words = ("evaluate", countries_model, *EVIDENCE, "--labels", labels)
    found = hornbeam_(*words, "--json").json
    assert found["auc_roc"] is None
    assert found["auc_pr"] is None
    assert found["log_loss"] > 0
    assert "AUC-ROC    undefined (one class only)" in hornbeam_(*words).stdout
