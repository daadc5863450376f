"""Numbers and dates on the command line: an option of every command that reads facts."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from hornbeam.cli.commands import COMMANDS, function_of
from tests.support.commands import hornbeam_

READING = (
    "learn", "predict", "evaluate", "explain", "crossval", "report", "serve", "candidates", "diff",
    "export",
)  # fmt: skip


def test_every_command_that_reads_facts_takes_them() -> None:
    names = [name for group in COMMANDS.values() for name in group]
    options = {name: set(signature(function_of(name)).parameters) for name in names}
    assert {name for name in names if "facts" in options[name]} == set(READING)
    for name in READING:
        assert {"numbers", "dates"} <= options[name]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "facts": "heat\tby\tmann\n",
        "labels": "heat\tlikes\tmann\t1\nmann\tlikes\theat\t0\n",
        "numbers": "heat\tyear\t1995\n",
        "wrong": "heat\tyear\t1995\nmann\tyear\tlate\n",
        "dates": "mann\tborn\t1943-02-05\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    return {name: tmp_path / f"{name}.tsv" for name in texts}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_engines_read_them(files: dict[str, Path], engine: str) -> None:
    given = (
        "candidates", "--facts", files["facts"], "--labels", files["labels"],
        "--engine", engine, "--min-coverage", "1", "--quiet",
    )  # fmt: skip
    read = hornbeam_(*given, "--numbers", files["numbers"], "--dates", files["dates"])
    assert read.code == 0
    assert any(rule.startswith("has_year(") for rule, *_ in read.rows), read.stdout
    wrong = hornbeam_(*given, "--numbers", files["wrong"])
    assert wrong.code == 2
    assert "wrong.tsv, line 2: expected a finite number, found 'late'" in wrong.stderr
    assert hornbeam_(*given, "--dates", files["numbers"]).code == 2


def test_crossval_passes_them_to_every_fold(files: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "task"
    (folder / "fold0").mkdir(parents=True)
    (folder / "observed.tsv").write_text(files["facts"].read_text())
    for name in ("train", "test"):
        (folder / "fold0" / f"{name}.tsv").write_text(files["labels"].read_text())
    given = ("crossval", folder, "--methods", "joint", "--min-coverage", "1")
    assert hornbeam_(*given, "--numbers", files["numbers"]).code == 0
    wrong = hornbeam_(*given, "--numbers", files["wrong"])
    assert (wrong.code, "line 2: expected a finite number" in wrong.stderr) == (2, True)


def test_no_facts_at_all(files: dict[str, Path]) -> None:
    told = hornbeam_("candidates", "--labels", files["labels"])
    assert (told.code, "no facts given: give --facts FILE" in told.stderr) == (2, True)


def test_whole_graphs_take_no_numbers(files: dict[str, Path], tmp_path: Path) -> None:
    given = ("learn", "--facts", files["facts"], "--all-relations", "-o", tmp_path / "g")
    told = hornbeam_(*given, "--numbers", files["numbers"])
    assert (told.code, "--numbers is for single targets" in told.stderr) == (2, True)
