"""Tables are written in the form that `--out-format` or the file's ending says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from hornbeam.base.choices import TableFormat
from tests.support.commands import hornbeam_, write

RULES = "2: knows(A, B) & knows(B, C) -> trusts(A, C)\n1: !trusts(A, B)\n"
FACTS = [("ann", "knows", "bob"), ("bob", "knows", "cid"), ("bob", "knows", "dot")]
LABELS = [("ann", "trusts", "cid", "1"), ("ann", "trusts", "dot", "1")]
LABELS += [("ann", "trusts", "bob", "0"), ("cid", "trusts", "dot", "0")]

#: A command for every table, and the names of its first columns.
COMMANDS = {
    "predict": (["predict", "hand.psl", "--pairs", "labels.tsv"], ["subject", "predicate"]),
    "candidates": (["candidates", "--labels", "labels.tsv", "--min-coverage", "1"], ["clause"]),
    "evaluate": (["evaluate", "hand.psl", "--labels", "labels.tsv"], ["auc_roc", "auc_pr"]),
    "ranks": (["evaluate", "hand.psl", "--test", "true.tsv"], ["relation", "direction"]),
    "explain": (["explain", "hand.psl", "ann", "cid"], ["rule", "words", "weight"]),
    "crossval": (
        ["crossval", "--labels", "labels.tsv", "--folds", "2", "--methods", "ppll",
         "--min-coverage", "1"],
        ["method", "fold"],
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hand.psl").write_text(RULES)
    write(tmp_path / "facts.tsv", FACTS)
    write(tmp_path / "labels.tsv", LABELS)
    write(tmp_path / "true.tsv", [LABELS[0][:3]])
    return tmp_path


def rows_of(form: str, text: str) -> list[dict[str, Any]]:
    match form:
        case "csv":
            return list(csv.DictReader(io.StringIO(text)))
        case "json":
            found: list[dict[str, Any]] = json.loads(text)
            return found
        case "jsonl":
            return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


@pytest.mark.parametrize("form", [form for form in TableFormat if form != "parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_table_has_every_form(folder: Path, command: str, form: str) -> None:
    words, columns = COMMANDS[command]
    words = [*words, "--facts", "facts.tsv"]
    shown = hornbeam_(*words, "--out-format", form)
    assert shown.code == 0, shown.stderr
    written = folder / f"out.{form}"
    assert hornbeam_(*words, "-o", written).stdout == ""
    if command != "predict" or form != "tsv":  # whose pairs keep the columns of their file
        rows = rows_of(form, shown.stdout)
        assert list(rows[0])[: len(columns)] == columns
        assert [list(row) for row in rows_of(form, written.read_text())] == [*map(list, rows)]


@pytest.mark.parametrize("command", COMMANDS)
def test_parquet_has_the_same_rows(folder: Path, command: str) -> None:
    import duckdb

    words, columns = COMMANDS[command]
    words = [*words, "--facts", "facts.tsv"]
    ended = hornbeam_(*words, "-o", "table", "--out-format", "parquet")
    assert ended.code == 0, ended.stderr
    found = duckdb.connect().read_parquet("table")
    assert found.columns[: len(columns)] == columns
    lines = hornbeam_(*words, "--out-format", "jsonl").stdout.splitlines()
    assert len(found.fetchall()) == len(lines)


def test_what_cannot_be_written_is_refused_first(folder: Path) -> None:
    words = [*COMMANDS["predict"][0], "--facts", "facts.tsv"]
    for further, message in (
        (["--out-format", "parquet"], "needs a file"),
        (["--out-format", "csv", "--json"], "give one of them"),
        (["--out-format", "xml"], "'xml'"),
        (["-o", "nowhere/table.csv"], "does not exist"),
        (["-o", "table.xlsx"], "table.xlsx: .xlsx is not written; expected .tsv, .csv"),
        (["-o", "table.tsv.gz"], ".gz is not written"),
        (["-o", "-"], "-: is not a file name"),
    ):
        ended = hornbeam_(*words, *further)
        assert (ended.code, ended.stdout) == (2, "")
        assert message in ended.stderr
        assert not {path.name for path in folder.iterdir()} & {"-", "table.xlsx", "table.tsv.gz"}
