"""Targets on one entity through every command, as a user calls it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.commands import hornbeam_, write
from tests.support.one_entity import MODEL, customers

FACTS = ("--facts", "facts.tsv")
MODEL_AND_FACTS = ("model.psl", *FACTS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Customers: facts, labels of training and of a test, and a model."""
    facts, labels = customers()
    write(tmp_path / "facts.tsv", facts)
    write(tmp_path / "train.tsv", labels[:60])
    write(tmp_path / "test.tsv", labels[60:])
    (tmp_path / "model.psl").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words: object) -> str:
    """What a command says that exits 2 without output."""
    ended = hornbeam_(*words)
    assert (ended.code, ended.stdout) == (2, "")
    [told] = ended.told
    return told.removeprefix("hornbeam: ")


@pytest.mark.parametrize("method", ["joint", "boost"])
def test_learn_evaluate_predict_and_propose(folder: Path, method: str) -> None:
    learned = hornbeam_("learn", *FACTS, "--labels", "train.tsv", "--method", method,
                        "--min-coverage", 3, "-o", "new.psl", "--json").json  # fmt: skip
    heads = {rule["rule"].split("-> ")[-1].split(" [")[0] for rule in learned["rules"]}
    assert heads <= {"churn(A)", "!churn(A)"}
    figures = hornbeam_("evaluate", "new.psl", *FACTS, "--labels", "test.tsv", "--json").json
    assert (figures["n"], figures["auc_roc"] > 0.8) == (20, True)
    # the label of a pair is ignored, whether it is there or not
    write(folder / "bare.tsv", [(f"c{i}", "churn") for i in range(60, 80)])
    rows = hornbeam_("predict", "new.psl", *FACTS, "--pairs", "test.tsv").rows
    assert rows == hornbeam_("predict", "new.psl", *FACTS, "--pairs", "bare.tsv").rows
    assert [row[:2] for row in rows] == [[f"c{i}", "churn"] for i in range(60, 80)]
    best = hornbeam_("predict", "new.psl", *FACTS, "--top", 5).rows
    scores = [float(score) for _, _, score in best]
    assert len(best) == 5
    assert scores == sorted(scores, reverse=True)
    assert scores[0] >= max(float(score) for _, _, score in rows)


def test_engines_agree_on_scores_and_candidates(folder: Path) -> None:
    words = ("candidates", *FACTS, "--labels", "train.tsv", "--min-coverage", 3, "--json")
    found = hornbeam_(*words).json["candidates"]
    assert found == hornbeam_(*words, "--engine", "duckdb").json["candidates"]
    clauses = [candidate["clause"] for candidate in found]
    assert "vip(A) -> churn(A)" in clauses
    assert "plan(A, 'basic') -> churn(A)" in clauses
    assert len(set(clauses)) == len(clauses)
    rows = hornbeam_("predict", *MODEL_AND_FACTS, "--pairs", "test.tsv").rows
    assert rows == hornbeam_(
        "predict", *MODEL_AND_FACTS, "--pairs", "test.tsv", "--engine", "duckdb"
    ).rows  # fmt: skip
    hornbeam_("predict", *MODEL_AND_FACTS, "--pairs", "test.tsv", "--engine", "duckdb",
              "-o", "scores.parquet")  # fmt: skip
    written = pq.read_table("scores.parquet")
    assert written.column_names == ["subject", "predicate", "score"]
    assert written["subject"].to_pylist() == [name for name, *_ in rows]


def test_facts_alone_are_labels_and_never_evidence_for_themselves(folder: Path) -> None:
    _, labels = customers()
    true = [(name, "churn") for name, _, label in labels if label == "1"]
    write(folder / "known.tsv", true)
    words = ("learn", *FACTS, "--facts", "known.tsv", "--target", "churn", "--min-coverage", 3)
    rules = hornbeam_(*words, "-o", "new.psl", "--json").json["rules"]
    assert rules
    assert not any(rule["rule"].startswith("churn(A) ->") for rule in rules)
    best = hornbeam_("predict", "new.psl", *FACTS, "--facts", "known.tsv").rows
    assert not {name for name, *_ in best} & {name for name, _ in true}
    assert all(name.startswith("c") for name, *_ in best)
    told = refused(*words, "--negative-sampling", "frequency", "-o", "x.psl")
    assert told.startswith("--negative-sampling 'frequency' draws ends of pairs, and 'churn' is on")


def test_explain_shows_one_entity(folder: Path) -> None:
    explained = hornbeam_("explain", *MODEL_AND_FACTS, "c0")
    assert explained.stdout.startswith("c0  churn\nscore ")
    assert "churn holds for A" in explained.stdout
    told = hornbeam_("explain", *MODEL_AND_FACTS, "c0", "churn", "--json").json
    assert (told["subject"], told["predicate"], told["object"]) == ("c0", "churn", None)
    [(_, _, score)] = [
        row for row in hornbeam_("predict", *MODEL_AND_FACTS, "--pairs", "train.tsv").rows
        if row[0] == "c0"
    ]  # fmt: skip
    assert told["score"] == pytest.approx(float(score), rel=1e-5)
    assert refused("explain", *MODEL_AND_FACTS, "c0", "c1") == (
        "found 'c0 c1'; expected ENTITY [RELATION]"
    )


def test_an_exported_program_infers_the_same_states(folder: Path) -> None:
    hornbeam_("export", *MODEL_AND_FACTS, "--pairs", "test.tsv", "-o", "program")
    program = json.loads((folder / "program" / "program.json").read_text())
    assert "churn/1" in program["predicates"]
    hornbeam_("infer", "program/program.json", "-o", "inferred")
    states = dict(
        line.split("\t") for line in (folder / "inferred" / "CHURN.txt").read_text().splitlines()
    )
    rows = hornbeam_("predict", *MODEL_AND_FACTS, "--pairs", "test.tsv", "--score", "map").rows
    assert {name: float(state) for name, state in states.items()} == pytest.approx(
        {name: float(state) for name, _, state in rows}, abs=1e-4
    )


def test_report_and_crossval(folder: Path) -> None:
    assert hornbeam_("report", *MODEL_AND_FACTS, "--labels", "test.tsv", "-o", "r.html").code == 0
    page = (folder / "r.html").read_text()
    assert "-&gt; churn(A)" in page
    assert " labelled entities" in page
    assert re.findall("[a-z]+ pairs?\\b|known links", page) == []
    facts, labels = customers()
    for k in range(2):
        (folder / "task" / f"fold{k}").mkdir(parents=True)
        write(folder / "task" / "observed.tsv", facts)
        write(folder / "task" / f"fold{k}" / "train.tsv", labels[k::2])
        write(folder / "task" / f"fold{k}" / "test.tsv", labels[1 - k :: 2])
    found = hornbeam_("crossval", "task", "--methods", "joint", "--json").json
    assert found["methods"]["joint"]["auc_roc"]["mean"] > 0.8
    made = hornbeam_("crossval", *FACTS, "--labels", "train.tsv", "--folds", 2, "--json").json
    assert made["methods"]["joint"]["failures"] == {}


def test_bad_input(folder: Path) -> None:
    write(folder / "mixed.tsv", [("c0", "churn", 1), ("c1", "churn", "c2", 0)])
    learn = ("learn", *FACTS, "-o", "x.psl", "--labels")
    assert refused(*learn, "mixed.tsv") == (
        "mixed.tsv, line 2: expected 3 fields (subject, predicate, truth value), found 4 fields"
    )
    write(folder / "pairs.tsv", [("c1", "churn", "c2", 0)])
    assert refused(*learn, "train.tsv", "--labels", "pairs.tsv") == (
        "pairs.tsv, line 1: 'churn' has 2 arguments here and 1 in train.tsv, line 1; expected the "
        "same number"
    )
    write(folder / "twice.tsv", [("c0", "churn", 1), ("c0", "churn", 0)])
    assert refused(*learn, "twice.tsv") == (
        "twice.tsv, line 2: churn(c0) has value 0 here and 1 in twice.tsv, line 1; expected one "
        "value"
    )
    write(folder / "vip.tsv", [("c1", "vip", "c2", 0), ("c2", "vip", "c1", 1)])
    assert refused(*learn, "vip.tsv") == (
        "predicate 'vip' has 1 argument among the facts, and as a target it is a pair; expected "
        "the same number"
    )
    write(folder / "friend.tsv", [("c1", "friend", 0), ("c2", "friend", 1)])
    assert refused(*learn, "friend.tsv") == (
        "predicate 'friend' has 2 arguments among the facts, and as a target it is on one entity; "
        "expected the same number"
    )
    assert refused("evaluate", *MODEL_AND_FACTS, "--labels", "pairs.tsv") == (
        "'churn' is about one entity in the model, and about pairs here; expected entity, predicate"
    )
    assert refused(*learn, "train.tsv", "--distinct-variables").startswith(
        "--distinct-variables is for targets that are pairs: leave it out for churn"
    )
    assert refused(*learn, "train.tsv", "--collective", "--collective-method", "map").startswith(
        "--collective --collective-method map is for targets that are pairs, and churn is on one"
    )
    assert refused("predict", *MODEL_AND_FACTS, "--per-subject") == (
        "--per-subject is for links, and 'churn' is about one entity"
    )
    write(folder / "queries.tsv", [("?", "churn", "c1")])
    assert refused("predict", *MODEL_AND_FACTS, "--queries", "queries.tsv").startswith(
        "'churn' is about one entity, and queries ask for one end of a pair"
    )
    (folder / "mixed.psl").write_text("1: vip(A) -> churn(A)\n1: friend(A, B) -> churn(A, B)\n")
    assert "expected one arity per predicate" in refused("predict", "mixed.psl", *FACTS)
