"""The one table that results come in: columns by name, for whichever frame library the user has."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from hornbeam.arrays import Array
from hornbeam.errors import DataError, InputError
from hornbeam.files import replaced_file, save_text

#: Rows that a notebook or a terminal shows.
SHOWN = 20
#: Digits of a number in text.
DIGITS = 6


@dataclass(frozen=True, eq=False)
class ResultTable:
    """Columns of one length, by name: arrays of numbers, or sequences of texts.

    Examples
    --------
    >>> table = ResultTable({"object": ["peru", "chile"], "score": np.array([0.9, 0.25])})
    >>> list(table)
    [('peru', 0.9), ('chile', 0.25)]
    >>> table
    object  score
    peru    0.9
    chile   0.25
    """

    columns: Mapping[str, Sequence[Any] | Array]

    def __post_init__(self) -> None:
        sizes = {name: len(column) for name, column in self.columns.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"columns of different lengths: {sizes}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.columns)

    def __getitem__(self, name: str) -> Sequence[Any] | Array:
        return self.columns[name]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Rows, one after the other, as tuples of plain values."""
        return zip(*self._plain.values(), strict=True)

    @cached_property
    def _plain(self) -> dict[str, list[Any]]:
        """Columns of Python's own values."""
        return {
            name: column.tolist() if isinstance(column, np.ndarray) else list(column)
            for name, column in self.columns.items()
        }

    def dicts(self) -> list[dict[str, Any]]:
        """Rows as dictionaries, as they go to JSON."""
        return [dict(zip(self.names, row, strict=True)) for row in self]

    def with_columns(self, further: Mapping[str, Sequence[Any] | Array]) -> ResultTable:
        """The table with further columns behind its own."""
        return ResultTable({**self.columns, **further})

    def head(self, rows: int) -> ResultTable:
        """The first rows."""
        return ResultTable({name: column[:rows] for name, column in self.columns.items()})

    def to_pandas(self) -> Any:  # noqa: ANN401
        """As a frame of pandas."""
        return _library("pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:  # noqa: ANN401
        """As a frame of polars."""
        return _library("polars").DataFrame(dict(self.columns))

    def to_arrow(self) -> Any:  # noqa: ANN401
        """As a table of Arrow."""
        return _library("pyarrow").table(dict(self.columns))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream, for whatever reads one: `read_pairs`, DuckDB, frames."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, all of it or nothing: .tsv with a header, .csv, .json, .jsonl or .parquet.

        Raises
        ------
        hornbeam.errors.InputError
            Where the name ends otherwise, or the file cannot be written.
        """
        writers: dict[str, Callable[[], str]] = {
            ".tsv": self.tsv,
            ".csv": self.csv,
            ".json": lambda: json.dumps(self.dicts(), ensure_ascii=False, allow_nan=False) + "\n",
            ".jsonl": self.json_lines,
        }
        suffix = Path(path).suffix.lower()
        if suffix == ".parquet":
            self._save_parquet(path)
        elif suffix in writers:
            save_text(path, writers[suffix]())
        else:
            known = ", ".join([*writers, ".parquet"])
            raise InputError(f"{os.fspath(path)}: unknown kind of file; expected one of: {known}")

    def tsv(self, *, header: bool = True) -> str:
        """TAB-separated text, numbers with six digits."""
        lines = ["\t".join(self.names)] if header else []
        lines += ["\t".join(map(_text, row)) for row in self]
        return "".join(line + "\n" for line in lines)

    def csv(self) -> str:
        """Comma-separated text with a header."""
        import csv
        import io

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows([map(_text, row) for row in self])
        return text.getvalue()

    def json_lines(self) -> str:
        """One JSON object per line."""
        rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in self.dicts())
        return "".join(row + "\n" for row in rows)

    def _save_parquet(self, path: str | os.PathLike[str]) -> None:
        """Let DuckDB write, which needs no further library."""
        import duckdb

        arrays = {
            name: column if isinstance(column, np.ndarray) else np.array(column, dtype=object)
            for name, column in self.columns.items()
        }
        with replaced_file(path) as file, duckdb.connect() as connection:
            connection.register("result", arrays)
            place = os.fspath(file).replace("'", "''")
            options = "FORMAT parquet, USE_TMP_FILE false"
            try:
                connection.execute(f"COPY result TO '{place}' ({options})")
            except duckdb.IOException as error:
                raise DataError(os.fspath(path), f"cannot be written: {error}") from None

    def html(self, title: str = "") -> str:
        """The first rows as an escaped HTML table."""
        more = f"<p>{len(self):,} rows</p>" if len(self) > SHOWN else ""
        rows = [tuple(map(_text, row)) for row in self.head(SHOWN)]
        return html_table(title, self.names, rows) + more

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        rows = [self.names, *([*map(_text, row)] for row in self.head(SHOWN))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        if len(self) > SHOWN:
            lines.append(f"... {len(self):,} rows")
        return "\n".join(lines)


def html_table(title: str, header: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    """Small escaped HTML table for notebooks."""
    from html import escape

    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}<tr>{head}</tr>{body}</table>"


def _text(cell: object) -> str:
    return f"{cell:.{DIGITS}g}" if isinstance(cell, float) else str(cell)


def _library(name: str) -> ModuleType:
    """Import a frame library that the user may not have."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise InputError(f"{name} is not installed: pip install {name}") from None
