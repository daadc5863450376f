"""`hornbeam crossval`: every fold learned and evaluated, and nothing of a test in its training."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.progress import SILENT, Progress
from hornbeam.cli.main import run
from hornbeam.counting import opening
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.crossval import label_worlds, significance
from hornbeam.errors import HornbeamWarning
from hornbeam.learning.boost import Boost
from tests.support.commands import COUNTRIES, hornbeam_, write


@pytest.mark.slow
def test_the_json_has_the_keys_of_the_design() -> None:
    ended = hornbeam_("crossval", COUNTRIES, "--methods", "ppll,joint", "--folds", "2", "--json")
    methods = ended.json["methods"]
    assert list(methods) == ["ppll", "joint"]
    for figures in methods.values():
        assert {"auc_roc", "seconds", "rules"} <= set(figures)
        roc = figures["auc_roc"]
        assert set(roc) == {"mean", "sd", "folds"}
        assert len(roc["folds"]) == 2
        assert roc["mean"] == pytest.approx(np.mean(roc["folds"]))
        assert roc["sd"] == pytest.approx(np.std(roc["folds"], ddof=1))
        assert figures["seconds"] > 0
        assert figures["rules"] >= 1
    assert ended.stdout.count("\n") == 1
    assert ended.told == ["fold0 ...", "fold1 ..."]


@pytest.mark.slow
def test_a_fold_is_learn_then_evaluate(tmp_path: Path) -> None:
    found = hornbeam_("crossval", COUNTRIES, "--methods", "joint", "--folds", "2", "--json").json
    fold = COUNTRIES / "fold1"
    evidence = ("--facts", COUNTRIES / "observed.tsv", "--facts", fold / "obs.tsv")
    model = tmp_path / "model.psl"
    hornbeam_("learn", *evidence, "--labels", fold / "train.tsv", "-o", model, "--quiet")
    direct = hornbeam_("evaluate", model, *evidence, "--labels", fold / "test.tsv", "--json").json
    assert found["methods"]["joint"]["auc_roc"]["folds"][1] == direct["auc_roc"]
    assert found["methods"]["joint"]["log_loss"]["folds"][1] == direct["log_loss"]


@pytest.mark.slow
def test_the_table_says_whether_methods_differ() -> None:
    ended = hornbeam_("crossval", COUNTRIES, "--methods", "ppll, greedy", "--folds", "3")
    assert ended.code == 0
    head, first, second, verdict = ended.stdout.splitlines()
    assert head.split()[:2] == ["method", "AUC-ROC"]
    assert first.split()[0] == "ppll"
    assert second.split()[0] == "greedy"
    assert "differ" in verdict
    assert "p = " in verdict


def test_a_folder_and_files_are_one_too_many() -> None:
    ended = hornbeam_("crossval", COUNTRIES, "--facts", COUNTRIES / "observed.tsv")
    assert ended.code == 2
    assert "give a TASK_DIR, or --facts and --labels, not both" in ended.stderr


@pytest.mark.slow
def test_labels_are_dealt_into_folds(tmp_path: Path) -> None:
    words = ("crossval", "--facts", COUNTRIES / "observed.tsv", "--facts",
             COUNTRIES / "fold0" / "obs.tsv", "--labels", COUNTRIES / "fold0" / "train.tsv",
             "--folds", "3", "--methods", "ppll", "--json", "--quiet")  # fmt: skip
    one, again, other = (hornbeam_(*words, "--seed", seed).json for seed in (1, 1, 2))
    roc = [found["methods"]["ppll"]["auc_roc"] for found in (one, again, other)]
    assert len(roc[0]["folds"]) == 3
    assert roc[0] == roc[1] != roc[2]
    assert roc[0]["mean"] > 0.9


@pytest.mark.slow
def test_the_facts_of_a_relation_are_dealt_into_folds(tmp_path: Path) -> None:
    """Without labels: the same as labels of the same pairs with cross-evidence."""
    people = [f"p{k}" for k in range(40)]
    rows = [(name, "true" if k % 3 else "false", "ab"[k % 3 == 1]) for k, name in enumerate(people)]
    table, facts, labels = (tmp_path / name for name in ("people.csv", "facts.tsv", "labels.tsv"))
    table.write_text("name,left,plan\n" + "".join(",".join(row) + "\n" for row in rows))
    facts.write_text("".join(f"{name}\tplan\t{plan}\n" for name, _, plan in rows))
    lines = (f"{name}\tleft\t{int(left == 'true')}\n" for name, left, _ in rows)
    labels.write_text("".join(lines))
    words = ("crossval", "--folds", "4", "--methods", "joint", "--json", "--quiet")
    stated = hornbeam_(*words, "--table", table, "--key", "name", "--type", "left=boolean",
                       "--target", "left").json  # fmt: skip
    given = hornbeam_(*words, "--facts", facts, "--labels", labels, "--cross-evidence").json
    figures = [found["methods"]["joint"] for found in (stated, given)]
    assert [{**found, "seconds": 0} for found in figures[:1]] == [{**figures[1], "seconds": 0}]
    assert 0.6 < figures[0]["auc_roc"]["mean"] < 1.0


def test_a_test_target_is_no_evidence_while_its_fold_is_tested() -> None:
    """Labels that are also among the facts leave the facts of the fold that tests them."""
    rows = [(f"a{i}", "t", f"b{i}") for i in range(10)]
    facts = hb.read_facts([*rows, ("a0", "p", "b0")])
    labels = hb.read_labels([(*row, i % 2) for i, row in enumerate(rows)])
    for name, train_facts, train, test_facts, test in label_worlds(facts, labels, 5, 0):
        assert name.startswith("fold")
        assert len(train) + len(test) == 10
        assert len(train_facts) == len(test_facts) == 11 - len(test)
        engine_pairs = set(zip(train_facts.entities.take(train_facts.binary.arguments[0]),
                               train_facts.predicates.take(train_facts.binary.predicate),
                               strict=True))  # fmt: skip
        tested = set(test.entities.take(test.subject))
        assert not {subject for subject, p in engine_pairs if p == "t"} & tested


def test_a_method_of_ones_own_is_given_facts() -> None:
    def learned(facts: hb.Facts, labels: hb.Targets) -> hb.Model:
        assert isinstance(facts, hb.Facts)
        return hb.learn(facts, labels, method="ppll")

    rows = [(f"a{i}", "p", f"b{i}") for i in range(0, 60, 2)]
    labels = [(f"a{i}", "t", f"b{i}", (i + 1) % 2) for i in range(60)]
    [own] = hb.cross_validate(rows, labels, {"own": learned}, folds=2)
    [named] = hb.cross_validate(rows, labels, ["ppll"], folds=2)
    assert own.figures("log_loss") == named.figures("log_loss")


def test_learning_and_scoring_have_the_given_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, count = set[int](), MemoryEngine.count

    def told(engine: MemoryEngine, *given: object, progress: Progress = SILENT) -> Statistics:
        threads.add(engine.threads)
        return count(engine, *given, progress=progress)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryEngine, "count", told)
    monkeypatch.setattr(opening, "worker_threads", lambda threads: threads or 7)
    hornbeam_("crossval", COUNTRIES, "--methods", "ppll", "--folds", "1", "--threads", "1")
    assert threads == {1}


@pytest.mark.slow
def test_separate_worlds_are_tested_on_their_own_facts(tmp_path: Path) -> None:
    """Training and test share no entity: a rule has to carry over."""
    for fold in range(2):
        folder = tmp_path / f"fold{fold}"
        folder.mkdir()
        for part in ("train", "test"):
            people = [f"{part}{fold}_{i}" for i in range(12)]
            works = [(p, "works_at", f"{part}{i % 4}") for i, p in enumerate(people)]
            pairs = [(p, "colleague", q, int((i - j) % 4 == 0)) for i, p in enumerate(people)
                     for j, q in enumerate(people) if i != j]  # fmt: skip
            write(folder / f"{part}_observed.tsv", works)
            write(folder / f"{part}.tsv", pairs)
    found = hornbeam_("crossval", tmp_path, "--methods", "ppll,greedy,joint", "--json").json
    for figures in found["methods"].values():
        assert figures["auc_roc"]["folds"] == [1.0, 1.0]
    assert {tuple(pair["methods"]) for pair in found["significance"]} == {
        ("ppll", "greedy"), ("ppll", "joint"), ("greedy", "joint"),
    }  # fmt: skip
    assert all(pair["p_value"] == 1.0 for pair in found["significance"])


@pytest.mark.slow
def test_a_test_of_one_class_has_no_auc_and_the_rest_counts(tmp_path: Path) -> None:
    task = tmp_path / "task"
    shutil.copytree(COUNTRIES, task)
    for fold in (3, 4):
        shutil.rmtree(task / f"fold{fold}")
    write(task / "fold0" / "test.tsv", [("peru", "located_in", "americas", 1)])
    words = ("crossval", task, "--methods", "ppll,greedy")
    found = hornbeam_(*words, "--json").json["methods"]["ppll"]["auc_roc"]
    assert found["folds"][0] is None
    assert found["mean"] == pytest.approx(np.mean(found["folds"][1:]))
    shown = hornbeam_(*words)
    assert shown.code == 0
    assert "nan" not in shown.stdout
    alone = hornbeam_(*words, "--folds", "1")
    assert alone.code == 0
    assert "undefined" in alone.stdout


def two_fold_task(folder: Path) -> Path:
    """A task whose first fold has two targets, of which boost learns none."""
    write(folder / "observed.tsv", [(f"a{i}", "p", f"b{i}") for i in range(0, 40, 2)])
    for fold, targets in enumerate([("t", "u"), ("t",)]):
        (folder / f"fold{fold}").mkdir()
        for part, rows in (("train", range(24)), ("test", range(24, 40))):
            pairs = [(f"a{i}", name, f"b{i}", (i + 1) % 2) for i in rows for name in targets]
            write(folder / f"fold{fold}" / f"{part}.tsv", pairs)
    return folder


FAILED = "boost learns one target at a time: name it by "


def test_a_method_that_fails_on_a_fold_is_named_and_loses_nothing(tmp_path: Path) -> None:
    task = two_fold_task(tmp_path)
    ended = hornbeam_("crossval", task, "--methods", "boost,ppll", "--json", "--quiet")
    assert ended.code == 2
    assert ended.told == [f"hornbeam: boost failed on fold0: {FAILED}--target"]
    methods = json.loads(ended.stdout)["methods"]
    assert methods["boost"]["failures"] == {"fold0": f"{FAILED}`target`"}
    assert methods["boost"]["auc_roc"]["folds"] == [None, 1.0]
    assert methods["ppll"]["failures"] == {}
    alone = hornbeam_("crossval", task, "--methods", "ppll", "--json").json["methods"]["ppll"]
    for metric in ("auc_roc", "auc_pr", "log_loss", "rules"):
        assert methods["ppll"][metric] == alone[metric]


def test_a_method_that_fails_on_all_folds_has_no_figures(tmp_path: Path) -> None:
    task = two_fold_task(tmp_path)
    words = ("crossval", task, "--folds", "1", "--methods")
    ended = hornbeam_(*words, "boost,ppll", "--quiet")
    assert ended.code == 2
    _, boost, ppll = ended.stdout.splitlines()
    assert boost.split() == ["boost", "failed"]
    assert ppll.split()[:2] == ["ppll", "1.0000"]
    assert hornbeam_(*words, "boost,ppll", "--out-format", "csv").stdout.count("fold0") == 1
    alone = hornbeam_(*words, "boost", "--quiet")
    assert (alone.code, alone.stdout) == (2, "")
    assert alone.told == [f"hornbeam: {FAILED}--target"]


def test_a_bug_of_one_method_shows_after_the_figures_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of no use")

    monkeypatch.setattr(Boost, "learn", broken)
    words = ["crossval", str(two_fold_task(tmp_path)), "--methods", "boost,ppll", "--quiet"]
    monkeypatch.setattr("sys.argv", ["hornbeam", *words])
    with pytest.raises(ZeroDivisionError):  # Python then ends with exit code 1
        run()
    shown = capsys.readouterr()
    assert "ppll     1.0000" in shown.out
    assert shown.err == "hornbeam: boost failed on fold0, fold1: ZeroDivisionError: of no use\n"


def test_in_python_a_warning_names_the_method_that_failed() -> None:
    def broken(facts: hb.Facts, labels: hb.Targets) -> hb.Model:
        raise RuntimeError("out of order")

    def learned(facts: hb.Facts, labels: hb.Targets) -> hb.Model:
        return hb.learn(facts, labels, method="ppll")

    rows = [(f"a{i}", "p", f"b{i}") for i in range(0, 60, 2)]
    labels = [(f"a{i}", "t", f"b{i}", (i + 1) % 2) for i in range(60)]
    text = "broken failed on fold0, fold1: RuntimeError: out of order"
    with pytest.warns(HornbeamWarning, match=f"^{text}$"):
        failed, other = hb.cross_validate(
            rows, labels, {"broken": broken, "ppll": learned}, folds=2
        )
    assert failed.folds == () == other.failures
    assert [type(failure.error) for failure in failed.failures] == [RuntimeError] * 2
    assert other.figures("auc_roc") == [1.0, 1.0]
    assert significance([failed, other]) == {}
    with pytest.raises(RuntimeError, match="out of order"):
        hb.cross_validate(rows, labels, {"broken": broken}, folds=2)
