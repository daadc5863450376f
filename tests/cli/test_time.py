"""`--time` of commands with rule models, and what is wrong with it in one message each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.serve.edits import NO_EDITS
from hornbeam.serve.pair_explorers import open_rule_explorer
from tests.support.commands import hornbeam_, write

DAYS = [f"2024-03-{day:02}" for day in range(1, 31)]
VISITS = [
    (f"u{u}", "visits", f"v{v}", day)
    for k, day in enumerate(DAYS)
    for u in range(6)
    for v in range(2)
    if (k // 5 + u + v) % 3 == 0
]
ASKED = [
    (f"u{u}", "comes", f"v{v}", day, str(int((f"u{u}", "visits", f"v{v}", day) in set(VISITS))))
    for day in DAYS[10::2]
    for u in range(6)
    for v in range(2)
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("time")
    return {
        "facts": write(folder / "facts.tsv", VISITS),
        "labels": write(folder / "labels.tsv", ASKED),
        "pairs": write(folder / "pairs.tsv", [row[:4] for row in ASKED[:3]]),
        "model": folder / "model.psl",
    }


def test_every_command_sees_what_was_before(files: dict[str, Path], tmp_path: Path) -> None:
    model, seen = files["model"], ("--facts", files["facts"], "--time", "4")
    learned = ("learn", *seen, "--labels", files["labels"], "--max-length", "1", "-o", model)
    assert hornbeam_(*learned, "-q").code == 0
    assert '"time": "day"' in model.read_text()
    judged = hornbeam_("evaluate", model, *seen, "--labels", files["labels"], "--json")
    assert json.loads(judged.stdout)["auc_roc"] > 0.7
    scored = hornbeam_("predict", model, *seen, "--pairs", files["pairs"]).stdout.splitlines()
    assert [line.split("\t")[3] for line in scored] == [row[3] for row in ASKED[:3]]
    why = hornbeam_("explain", model, *seen, "--at", "2024-03-21", "u0", "v0")
    assert "times, the last one on 2024-03-20, 1 day before" in why.stdout
    page = tmp_path / "report.html"
    told = hornbeam_("report", model, *seen, "--labels", files["labels"], "-o", page)
    assert told.code == 0
    assert "visits(A, B) [" in page.read_text()
    facts = hb.read_facts(files["facts"], time=4)
    explorer = open_rule_explorer(facts, hb.Model.load(model), "model")
    now = hb.Model.load(model).explain(facts, ("u0", "v0")).score
    assert explorer.explain("u0", "comes", "v0", NO_EDITS).score == pytest.approx(now)


def test_mistakes_are_one_message(files: dict[str, Path], tmp_path: Path) -> None:
    labels, given = files["labels"], ("--facts", files["facts"], "--labels", files["labels"])
    steps = write(
        tmp_path / "steps.tsv", [(*row[:3], str(k), row[4]) for k, row in enumerate(ASKED)]
    )
    plain = write(tmp_path / "plain.tsv", [row[:3] for row in VISITS])
    out = ("-o", tmp_path / "none.psl")
    for arguments, message in (
        ((*given, "--time", "9"), "labels.tsv, line 1: no column 9 for the time"),
        ((*given, "--time", "when"), "line 1: no column 'when' for the time in the header"),
        ((*given, "--time", "3"), "labels.tsv, line 1: expected a time"),
        (("--facts", plain, "--labels", labels, "--time", "4"), "plain.tsv, line 1: no column 4"),
        (("--facts", files["facts"], "--labels", steps, "--time", "4"), "times are days in the"),
        (("--facts", files["facts"], "--target", "visits", "--time", "4"), "need --labels"),
        (
            ("--facts", files["facts"], "--target", "visits"),
            "facts.tsv, line 1: expected a truth value in [0, 1], found '2024-03-01'; --time names",
        ),
    ):
        failed = hornbeam_("learn", *arguments, *out)
        assert failed.code == 2
        assert message in failed.stderr
        assert not (tmp_path / "none.psl").exists()


def test_labels_and_pairs_before_any_fact_are_announced(
    files: dict[str, Path], tmp_path: Path
) -> None:
    seen = ("--facts", files["facts"], "--time", "4")
    rows = [("u0", "comes", "v0", "2024-03-01", "1"), *ASKED]
    labels, model = write(tmp_path / "early.tsv", rows), tmp_path / "early.psl"
    told = hornbeam_("learn", *seen, "--labels", labels, "--max-length", "1", "-o", model, "-q")
    message = "asked before any fact (the first is at 2024-03-01): nothing is known then"
    assert f"warning: 1 label is {message}" in told.stderr
    pairs = write(tmp_path / "pairs.tsv", [row[:4] for row in (*rows[:1], *rows[:1], *ASKED)])
    scored = hornbeam_("predict", model, *seen, "--pairs", pairs)
    assert f"warning: 2 pairs are {message}" in scored.stderr
