"""Collective models through the commands: learn, evaluate, predict, crossval, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hornbeam as hb
from tests.support.commands import COUNTRIES, EVIDENCE, TEST, TRAIN, hornbeam_, write

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("collective")]  # one model for all

TWO_STEPS = """# hornbeam: {"collective": "two-step"}
2: believed_located_in(A, C) -> !located_in(A, B)
1.5: neighbour(A, B) & located_in(B, C) -> located_in(A, C) [log]
0.2: located_in(A, B)
1: neighbour(A, B) & located_in(B, C) -> believed_located_in(A, C)
"""
MAP = ("--collective", "--collective-method", "map")
LEARN = ("learn", *EVIDENCE, *TRAIN, *MAP)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collective model of the countries."""
    path = tmp_path_factory.mktemp("collective") / "model.psl"
    found = hornbeam_(*LEARN, "-o", path, "--json").json
    assert found["collective"] == "map"
    assert found["counts"] == "raw"
    return path


def test_the_file_says_that_it_is_collective_and_reads_back(model: Path) -> None:
    header = json.loads(model.read_text().splitlines()[0].split("hornbeam:")[1])
    assert header["collective"] == "map"
    loaded = hb.Model.load(model)
    assert loaded.semantics.collective
    assert hb.Model.parse(loaded.text).text == loaded.text


def test_evaluate_and_predict_need_no_further_option(model: Path, tmp_path: Path) -> None:
    found = hornbeam_("evaluate", model, *EVIDENCE, *TEST, "--json").json
    assert found["auc_roc"] > 0.9
    assert (found["n"], found["positives"]) == (120, 40)
    test = COUNTRIES / "fold0" / "test.tsv"
    rows = hornbeam_("predict", model, *EVIDENCE, "--pairs", test).rows
    assert len(rows) == 120
    assert all(0.0 <= float(row[3]) <= 1.0 for row in rows)
    best = hornbeam_("predict", model, *EVIDENCE, "--pairs", test, "--score", "map").rows
    assert [row[:3] for row in best] == [row[:3] for row in rows]
    # the labels that the pairs come with are not looked at
    bare = write(tmp_path / "bare.tsv", [row[:3] for row in rows])
    assert hornbeam_("predict", model, *EVIDENCE, "--pairs", bare).rows == rows


def test_a_pair_of_nobody_is_left_to_the_prior_and_the_other_pairs(
    model: Path, tmp_path: Path
) -> None:
    target = hb.Model.load(model).targets[0]
    pairs = write(tmp_path / "pairs.tsv", [["atlantis", target, "europe"]])
    ended = hornbeam_("predict", model, *EVIDENCE, "--pairs", pairs)
    assert len(ended.rows) == 1
    assert "1 pair names an entity that no fact has; it scores by the prior and by the" in (
        ended.stderr
    )


def test_the_same_seed_and_any_threads_write_the_same_bytes(model: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.psl"
    assert hornbeam_(*LEARN, "--threads", 1, "-o", again).code == 0
    assert again.read_bytes() == model.read_bytes()


@pytest.mark.parametrize("method", ["ppll", "greedy"])
def test_other_learners_and_the_papers_relaxation(method: str, tmp_path: Path) -> None:
    path = tmp_path / "model.psl"
    ended = hornbeam_(*LEARN, "--method", method, "--relaxation", "squared", "-o", path)
    assert ended.code == 0, ended.stderr
    assert "^2" in path.read_text()
    found = hornbeam_("evaluate", path, *EVIDENCE, *TEST, "--score", "map", "--json").json
    assert found["auc_roc"] > 0.9


def test_crossval_compares_collective_models() -> None:
    command = ("crossval", COUNTRIES, "--methods", "ppll", "--folds", 2, "--json")
    alone, together = hornbeam_(*command).json, hornbeam_(*command, *MAP).json
    methods = together["methods"]
    assert list(methods) == ["ppll", "ppll-plain", "ppll-asked"]
    figures = [methods[name]["auc_roc"]["folds"] for name in methods]
    assert all(len(folds) == 2 for folds in figures)
    assert figures[0] != figures[1] == alone["methods"]["ppll"]["auc_roc"]["folds"]


def test_a_method_without_the_flag_is_refused(tmp_path: Path) -> None:
    words = ("learn", *EVIDENCE, *TRAIN, "--collective-method", "map", "-o", tmp_path / "m.psl")
    ended = hornbeam_(*words)
    assert ended.code == 2
    assert "give --collective too" in ended.stderr


def test_two_steps_from_learning_to_reasons(tmp_path: Path) -> None:
    path = tmp_path / "model.psl"
    words = ("learn", *EVIDENCE, *TRAIN, "--collective", "--bodies", "paths", "-o", path)
    found = hornbeam_(*words, "--json").json
    assert found["second_step"]["kept"] == (found["collective"] == "two-step")
    assert hornbeam_("evaluate", path, *EVIDENCE, *TEST, "--json").json["auc_roc"] > 0.5


def test_both_steps_are_scored_explained_and_exported(tmp_path: Path) -> None:
    path, pairs = tmp_path / "model.psl", tmp_path / "pairs.tsv"
    path.write_text(TWO_STEPS)
    pairs.write_text("albania\tlocated_in\teurope\nalbania\tlocated_in\tasia\n")
    given = (path, *EVIDENCE, "--pairs", pairs)
    found = hornbeam_("explain", *given, "albania", "asia", "--json").json
    assert found["alone"] is not None
    believed = [fact for reason in found["reasons"] for one in reason["groundings"]
                for fact in one["facts"] if fact["predicate"] == "believed_located_in"]  # fmt: skip
    assert [(fact["subject"], fact["object"]) for fact in believed] == [("albania", "europe")]
    folder = tmp_path / "program"
    assert hornbeam_("export", *given, "-o", folder).code == 0
    refused = hornbeam_("export", *given, "-o", tmp_path / "other", "--plain")
    assert refused.code == 2
    assert "what a first step believes" in refused.stderr
    inferred = {}
    hornbeam_("infer", folder / "program.json", "-o", tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        for line in file.read_text().splitlines():
            *ends, value = line.split("\t")
            inferred[tuple(ends)] = float(value)
    scores = hornbeam_("predict", *given, "--score", "map").stdout.splitlines()
    for line in scores:
        subject, _, object_, score = line.split("\t")
        assert inferred[subject, object_] == pytest.approx(float(score), abs=0.01)


def test_without_labels_the_facts_are_the_true_targets(tmp_path: Path) -> None:
    path = tmp_path / "model.psl"
    words = ("learn", *EVIDENCE, "--target", "located_in", *MAP, "-o", path)
    assert hornbeam_(*words).code == 0
    assert hb.Model.load(path).semantics.collective


def test_labels_among_the_facts_are_told_once(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", [("a", "t", "b"), ("b", "t", "c"), ("c", "p", "a")])
    rows = [("a", "t", "b", 1), ("a", "t", "c", 0), ("b", "t", "a", 1), ("c", "t", "b", 0)]
    labels = write(tmp_path / "labels.tsv", rows)
    ended = hornbeam_(
        "learn", "--facts", facts, "--labels", labels, "--min-coverage", 1, "--method", "ppll",
        *MAP, "-o", tmp_path / "model.psl",
    )  # fmt: skip
    assert ended.code == 0, ended.stderr
    assert ended.stderr.count("are also among the facts") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--counts", "log"), "--counts raw"),
        (("--max-fanout", 5), "--max-fanout"),
        (("--engine", "duckdb"), "--engine memory"),
    ],
)
def test_what_collective_learning_refuses(
    words: tuple[object, ...], told: str, tmp_path: Path
) -> None:
    ended = hornbeam_(*LEARN, *words, "-o", tmp_path / "model.psl")
    assert ended.code == 2
    assert told in ended.stderr
    assert not list(tmp_path.iterdir())


def test_soft_facts_are_refused(model: Path, tmp_path: Path) -> None:
    soft = write(tmp_path / "soft.tsv", [("a", "neighbour", "b", 0.4), ("b", "located_in", "c", 1)])
    for words in (
        ("learn", "--facts", soft, *TRAIN, *MAP, "-o", tmp_path / "m.psl"),
        ("evaluate", model, "--facts", soft, *TEST),
    ):
        ended = hornbeam_(*words)
        assert ended.code == 2
        assert "round the facts" in ended.stderr


def test_new_links_are_not_proposed(model: Path) -> None:
    ended = hornbeam_("predict", model, *EVIDENCE, "--top", 5)
    assert ended.code == 2
    assert "--pairs" in ended.stderr
