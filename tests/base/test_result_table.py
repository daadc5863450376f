"""The table of results: rows, frames of every library, files, notebooks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hornbeam import read_pairs
from hornbeam.base.result_table import ResultTable
from hornbeam.errors import DataError, InputError
from tests.support.commands import HOSTILE

TABLE = ResultTable(
    {
        "name": ["a", "b", "<c>"],
        "count": np.array([1, 2, 3]),
        "score": np.array([0.25, 1 / 3, 1.0]),
    }
)
ROWS = [("a", 1, 0.25), ("b", 2, 1 / 3), ("<c>", 3, 1.0)]


def test_rows_are_plain_values() -> None:
    assert list(TABLE) == ROWS
    assert len(TABLE) == 3
    assert all(type(cell) in (str, int, float) for row in TABLE for cell in row)
    assert TABLE.dicts()[0] == {"name": "a", "count": 1, "score": 0.25}
    assert list(TABLE["count"]) == [1, 2, 3]
    assert list(TABLE.head(1)) == list(TABLE[:1]) == ROWS[:1]
    assert list(TABLE[::-1]) == ROWS[::-1]
    with pytest.raises(KeyError, match="no column 'rank'; expected one of: name, count, score"):
        TABLE["rank"]


def test_numbers_are_the_scores() -> None:
    np.testing.assert_array_equal(np.asarray(TABLE), [0.25, 1 / 3, 1.0])
    assert np.asarray(TABLE, dtype=np.float32).dtype == np.float32
    copied = np.array(TABLE)
    copied[0] = 7
    assert TABLE["score"][0] == 0.25
    frame = TABLE.to_pandas()[["name"]]
    frame["again"] = TABLE
    assert frame["again"].tolist() == [0.25, 1 / 3, 1.0]


def test_columns_are_of_one_length() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        ResultTable({"a": [1], "b": [1, 2]})
    assert list(ResultTable({"a": [], "b": []})) == []


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_frames_have_the_same_rows(library: str) -> None:
    pytest.importorskip({"arrow": "pyarrow"}.get(library, library))
    frame = getattr(TABLE, f"to_{library}")()
    columns = {
        "pandas": lambda: frame.to_dict("list"),
        "polars": lambda: frame.to_dict(as_series=False),
        "arrow": lambda: frame.to_pydict(),
    }[library]()
    assert columns == {"name": ["a", "b", "<c>"], "count": [1, 2, 3], "score": [0.25, 1 / 3, 1.0]}


def test_a_table_can_be_read_as_pairs() -> None:
    rows: dict[str, list[object]] = {
        "subject": ["a"], "relation": ["p"], "object": ["b"], "score": [0.5],
    }  # fmt: skip
    assert read_pairs(ResultTable(rows)).names_at(0) == ("a", "p", "b")


def test_an_arrow_stream_needs_no_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert polars.DataFrame(TABLE).rows() == ROWS


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_missing_library_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"arrow": "pyarrow"}.get(library, library)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"{package} is not installed: pip install {package}"):
        getattr(TABLE, f"to_{library}")()


def test_files_by_their_suffix(tmp_path: Path) -> None:
    import duckdb

    for suffix in ("tsv", "csv", "json", "jsonl", "parquet"):
        TABLE.save(tmp_path / f"table.{suffix}")
    assert (tmp_path / "table.tsv").read_text() == (
        "name\tcount\tscore\na\t1\t0.25\nb\t2\t0.333333\n<c>\t3\t1\n"
    )
    assert (tmp_path / "table.csv").read_text().splitlines()[1] == "a,1,0.25"
    assert json.loads((tmp_path / "table.json").read_text()) == TABLE.dicts()
    lines = (tmp_path / "table.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == TABLE.dicts()
    assert duckdb.read_parquet(str(tmp_path / "table.parquet")).fetchall() == ROWS
    with pytest.raises(InputError, match=r"table.xls: unknown kind of file; expected one of: .tsv"):
        TABLE.save(tmp_path / "table.xls")
    for suffix in ("tsv", "parquet"):
        with pytest.raises(DataError, match="its folder does not exist"):
            TABLE.save(tmp_path / "no" / f"table.{suffix}")


def test_an_empty_table_can_be_written(tmp_path: Path) -> None:
    empty = ResultTable({"name": [], "score": np.empty(0)})
    for suffix in ("tsv", "csv", "json", "jsonl", "parquet"):
        empty.save(tmp_path / f"table.{suffix}")
    assert (tmp_path / "table.tsv").read_text() == "name\tscore\n"
    assert repr(empty) == "name  score"


def test_notebooks_show_escaped_text() -> None:
    page = TABLE._repr_html_()
    assert '<td style="text-align:left">&lt;c&gt;</td>' in page
    assert '<td style="text-align:right">0.3333</td>' in page
    hostile = ResultTable({"name": list(HOSTILE)})
    assert "<script>" not in hostile._repr_html_()


def test_long_tables_are_cut() -> None:
    long = ResultTable({"n": np.arange(1000)})
    assert repr(long).splitlines()[-1] == "... 1,000 rows"
    assert "<p>1,000 rows</p>" in long._repr_html_()
    assert long._repr_html_().count("<tr>") == 21


def test_on_a_terminal_rows_fit_and_elsewhere_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = "If A binds B and B causes C, then A treats C."
    table = ResultTable({"rule": [rule, "short"], "words": [2 * rule, "x"], "weight": [1.5, 2.0]})
    whole = repr(table)
    assert 2 * rule in whole
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    lines = repr(table).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith("If A binds B")
    assert lines[1].endswith("1.5")
    monkeypatch.setenv("COLUMNS", "400")
    assert repr(table) == whole
