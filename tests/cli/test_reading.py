"""Tables of any header: `--columns` and `--no-header` on every command that reads facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hornbeam.cli.commands import COMMANDS, load
from hornbeam.counting.sql.spark_reading import SparkInputs
from hornbeam.errors import InputError
from hornbeam.facts.reading.headers import TableLayout
from tests.support.commands import hornbeam_

COLUMNS = ("--columns", "subject=gene,predicate=relation,object=disease")
LINES = ["aspirin,treats,pain", "aspirin,treats,fever", "aspirin,eases,pain"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "facts.csv"
    path.write_text("\n".join(["gene,relation,disease", *LINES]) + "\n")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "hand.psl"
    path.write_text("1: treats(A, B) -> eases(A, B)\n")
    return path


@pytest.mark.parametrize("name", [name for group in COMMANDS.values() for name in group])
def test_every_command_that_reads_facts_takes_them(name: str) -> None:
    options = load(name).params
    flags = {flag for option in options for flag in (*option.opts, *option.secondary_opts)}
    reads_facts = "--facts" in flags or name == "show"  # whose names are read as facts are
    assert reads_facts == ({"--columns", "--header", "--no-header"} <= flags)


def test_columns_are_what_the_user_says(table: Path, model: Path) -> None:
    told = hornbeam_("predict", model, "--facts", table, *COLUMNS)
    assert told.rows == [["aspirin", "eases", "fever", "0.731059"]]
    assert not told.stderr


def test_the_warning_names_both_options(table: Path, model: Path) -> None:
    said = hornbeam_("predict", model, "--facts", table)
    assert said.code == 0
    assert "line 1: 'gene,relation,disease' is read as a fact" in said.stderr
    assert " ".join(COLUMNS) in said.stderr
    assert "--no-header" in said.stderr
    silent = hornbeam_("predict", model, "--facts", table, "--no-header")
    assert (silent.rows, silent.stderr) == (said.rows, "")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_line_that_is_read_as_a_header_is_told_once(
    tmp_path: Path, model: Path, engine: str
) -> None:
    table = tmp_path / "headed.csv"
    table.write_text("\n".join(["subject,predicate,object", *LINES]) + "\n")
    given = ("predict", model, "--facts", table, "--pairs", table, "--engine", engine)
    told = hornbeam_(*given)
    assert (told.code, len(told.rows)) == (0, 3)
    [said] = [line for line in told.stderr.splitlines() if "header" in line]
    assert "headed.csv, line 1: 'subject,predicate,object' is read as a header" in said
    assert "--no-header" in said
    assert "header" not in hornbeam_(*given, "--header").stderr
    assert len(hornbeam_(*given, "--no-header").rows) == 4


@pytest.mark.parametrize(
    ("flags", "said"), [((), None), (("--header",), True), (("--no-header",), False)]
)
def test_spark_reads_files_by_the_same_rule(
    table: Path,
    model: Path,
    flags: tuple[str, ...],
    said: bool | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(_: SparkInputs, __: str, layout: TableLayout, *___: object) -> None:
        raise InputError(f"before Spark starts: {layout.header}")

    monkeypatch.setattr(SparkInputs, "to_parquet", stopped)
    table.write_text("\n".join(["subject,predicate,object", *LINES]) + "\n")
    given = ("predict", model, "--facts", table, "--pairs", table, "--engine", "spark")
    assert f"before Spark starts: {said}" in hornbeam_(*given, *flags).stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("gene", "--columns 'gene': expected PLACE=NAME"),
        ("subject=gene,subject=gene", "each place once"),
        ("subject=gene,object=disease", "no column for the predicate"),
        ("subject=gnee,predicate=relation,object=disease", "Did you mean 'gene'?"),
    ],
)
def test_mistakes_in_columns(table: Path, model: Path, given: str, message: str) -> None:
    ended = hornbeam_("predict", model, "--facts", table, "--columns", given)
    assert ended.code == 2
    assert message in ended.stderr
