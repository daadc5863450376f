"""`--rules`, `--keep` and `--guard`: a user's own rules at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hornbeam as hb
from tests.support.commands import EVIDENCE, TEST, TRAIN, hornbeam_, listing

LEARN = ("learn", *EVIDENCE, *TRAIN)
NEIGHBOURS = "neighbour(A, B) & located_in(B, C) -> located_in(A, C)"


def rules_file(folder: Path, *rules: str) -> Path:
    path = folder / "mine.psl"
    path.write_text("# our own\n" + "\n".join(rules) + "\n")
    return path


def test_own_rules_are_in_the_model_its_json_and_its_trace(tmp_path: Path) -> None:
    mine = rules_file(tmp_path, "located_in(Y, Z) & neighbour(X, Y) -> located_in(X, Z)")
    output = tmp_path / "model.psl"
    found = hornbeam_(*LEARN, "--rules", mine, "-o", output, "--json").json
    assert [rule["rule"] for rule in found["rules"] if rule["own"]] == [NEIGHBOURS]
    assert len(found["rules"]) > 2
    trace = json.loads((tmp_path / "model.trace.json").read_text())
    assert trace["own"] == [NEIGHBOURS]
    assert hb.Model.load(output).text == output.read_text()
    judged = hornbeam_("evaluate", output, *EVIDENCE, *TEST, "--json").json
    assert judged["auc_roc"] > 0.97
    shown = hornbeam_(*LEARN, "--rules", mine, "-o", output)
    assert "1 of the rules is your own." in shown.stdout


def test_keep_keeps_weights(tmp_path: Path) -> None:
    mine = rules_file(tmp_path, f"0.375: {NEIGHBOURS}")
    found = hornbeam_(*LEARN, "--rules", mine, "--keep", "-o", tmp_path / "m.psl", "--json").json
    assert {"rule": NEIGHBOURS, "weight": 0.375, "own": True} in found["rules"]


def test_crossval_takes_own_rules(tmp_path: Path) -> None:
    mine = rules_file(tmp_path, f"0.5: {NEIGHBOURS}")
    words = ("crossval", *EVIDENCE, *TRAIN, "--folds", "2", "--methods", "ppll", "--json")
    plain, own = (hornbeam_(*words, *more).json["methods"]["ppll"]
                  for more in ((), ("--rules", mine, "--keep")))  # fmt: skip
    assert plain["auc_roc"]["folds"] != own["auc_roc"]["folds"]
    assert hornbeam_(*words, "--keep").code == 2


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("neighbor(A, B) -> located_in(A, B)", "line 2, column 1: no fact has the predicate "
         "'neighbor'. Did you mean 'neighbour'?"),
        ("neighbour(A, B) -> located_in(A)", "line 2"),
        ("neighbour(A, B) -> inside(A, B)", "its head 'inside' is no target"),
        ("neighbour(A, B, C) -> located_in(A, B)", "has arity 3; expected 2, as in the facts"),
        ("neighbour(A, B) -> located_in(A, B", "line 2, column"),
        ("neighbour(A, B) >= located_in(A, B) .", "arithmetic rule"),
    ],
)  # fmt: skip
def test_mistakes_exit_2_with_file_and_line(tmp_path: Path, rule: str, message: str) -> None:
    mine = rules_file(tmp_path, rule)
    ended = hornbeam_(*LEARN, "--rules", mine, "-o", tmp_path / "model.psl")
    assert ended.code == 2
    assert str(mine) in ended.stderr
    assert message in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert listing(tmp_path) == ["mine.psl"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--keep",), "--keep is for own rules: give --rules too"),
        (("--guard", "nothing"), "no fact has the predicate 'nothing', which --guard names"),
        (("--guard", "neighbour", "--method", "boost"), "use --method joint, or leave out --guard"),
        (("--rules", "nowhere.psl"), "nowhere.psl: cannot be read"),
        (("--rules", "."), ".: cannot be read: Is a directory"),
    ],
)
def test_wrong_options_exit_2(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    ended = hornbeam_(*LEARN, *words, "-o", tmp_path / "model.psl")
    assert ended.code == 2
    assert message in ended.stderr
    assert listing(tmp_path) == []


def test_the_own_rules_are_not_overwritten(tmp_path: Path) -> None:
    mine = rules_file(tmp_path, NEIGHBOURS)
    ended = hornbeam_(*LEARN, "--rules", mine, "-o", mine)
    assert ended.code == 2
    assert mine.read_text() == f"# our own\n{NEIGHBOURS}\n"
