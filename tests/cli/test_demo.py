"""`hornbeam demo`: the whole flow on the bundled data, leaving behind what was asked for."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from hornbeam.cli.demo import STEPS
from tests.support.commands import COUNTRIES, hornbeam_, listing, process

pytestmark = pytest.mark.slow


def test_the_demo_runs_and_leaves_nothing_behind(tmp_path: Path, scratch: Path) -> None:
    ended = process("demo", cwd=tmp_path)
    assert ended.code == 0, ended.stderr
    commands = [line for line in ended.stdout.splitlines() if line.startswith("$ hornbeam ")]
    assert [line.split()[2] for line in commands] == [step.words[0] for step in STEPS]
    assert {"candidates", "learn", "evaluate", "predict"} <= {step.words[0] for step in STEPS}
    assert "neighbour(A, B) & located_in(B, C) -> located_in(A, C)" in ended.stdout
    assert "AUC-ROC    0.9" in ended.stdout
    assert "\tlocated_in\t" in ended.stdout
    assert re.search(r"^ *[\d.]+  !located_in\(A, B\) *$", ended.stdout, flags=re.MULTILINE)
    assert "condition, !located_in(A, B), is the prior" in " ".join(ended.stdout.split())
    assert "What to try next" in ended.stdout
    assert "Traceback" not in ended.stderr
    assert listing(tmp_path) == []
    assert listing(scratch) == []


def test_kept_files_let_a_user_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that the end of the tour proposes works as it stands."""
    folder = tmp_path / "a new folder"
    ended = hornbeam_("demo", "--keep", folder, "--quiet")
    assert ended.code == 0, ended.stderr
    assert ended.told == []
    assert set(listing(COUNTRIES)) | {"model.psl", "model.trace.json"} <= set(listing(folder))
    advice = ended.stdout.split("What to try next\n")[1]
    assert f"cd {shlex.quote(str(folder))}" in advice
    proposed = re.findall(r"^    hornbeam (.*)", advice, flags=re.MULTILINE)
    assert len(proposed) > 3
    monkeypatch.chdir(folder)
    for words in map(shlex.split, proposed):
        # `serve` would not end, and its help is enough to see that the words are right
        ended = hornbeam_(*words, *(["--help"] if words[0] == "serve" else []))
        assert ended.code == 0, ended.stderr


def test_kept_files_never_overwrite(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("mine")
    ended = hornbeam_("demo", "--keep", tmp_path)
    assert ended.code == 2
    assert ended.stdout == ""
    assert ended.stderr == f"hornbeam: {tmp_path}: is there already; name a new folder\n"
    assert listing(tmp_path) == ["mine.tsv"]


def test_json_has_the_result_of_every_step() -> None:
    steps = hornbeam_("demo", "--json").json["steps"]
    assert len(steps) == len(STEPS)
    results = {step["command"].split()[1]: step["result"] for step in steps}
    assert results["evaluate"]["auc_roc"] > 0.9
    assert [link["object"] for link in results["predict"]["predictions"]] == [
        "africa",
        "europe",
        "asia",
    ]
