"""The table in which results are returned: columns by name, for any frame library."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from hornbeam.base.arrays import Array
from hornbeam.base.choices import TableFormat
from hornbeam.base.files import replaced_file, save_text
from hornbeam.base.texts import elided
from hornbeam.errors import DataError, InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Maximum number of rows that a notebook or a terminal shows.
SHOWN = 20
#: Columns of at most this width are never narrowed.
NARROWEST = 9
#: Digits of a number in text, and in a notebook.
DIGITS, HTML_DIGITS = 6, 4


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
    >>> table["score"]
    array([0.9 , 0.25])
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

    @overload
    def __getitem__(self, wanted: str) -> Array: ...
    @overload
    def __getitem__(self, wanted: slice) -> ResultTable: ...
    def __getitem__(self, wanted: str | slice) -> Array | ResultTable:
        """A column as an array, or a slice of the rows."""
        if isinstance(wanted, slice):
            return ResultTable({name: column[wanted] for name, column in self.columns.items()})
        if wanted not in self.columns:
            raise KeyError(f"no column {wanted!r}; expected one of: {', '.join(self.names)}")
        column = self.columns[wanted]
        if isinstance(column, np.ndarray):
            return column
        return np.fromiter(column, dtype=object, count=len(column))  # a cell may be a list

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: ANN401
        """The scores alone, for NumPy."""
        scores = self["score"]
        if dtype is not None and scores.dtype != dtype:
            return scores.astype(dtype)
        return scores.copy() if copy else scores

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples of plain Python values."""
        return zip(*self._plain.values(), strict=True)

    @cached_property
    def _plain(self) -> dict[str, list[Any]]:
        """Columns as lists of plain Python values."""
        return {
            name: column.tolist() if isinstance(column, np.ndarray) else list(column)
            for name, column in self.columns.items()
        }

    def dicts(self) -> list[dict[str, Any]]:
        """Rows as dictionaries for JSON, with None in place of NaN."""
        return [
            {
                name: None if cell != cell else cell
                for name, cell in zip(self.names, row, strict=True)
            }
            for row in self
        ]

    def with_columns(self, further: Mapping[str, Sequence[Any] | Array]) -> ResultTable:
        """The table with further columns after its own."""
        return ResultTable({**self.columns, **further})

    def head(self, rows: int) -> ResultTable:
        """The first rows."""
        return self[:rows]

    def to_pandas(self) -> Any:  # noqa: ANN401
        """The table as a pandas frame."""
        return _library("pandas").DataFrame(self._frame)

    def to_polars(self) -> Any:  # noqa: ANN401
        """The table as a polars frame."""
        return _library("polars").DataFrame(self._frame)

    def to_arrow(self) -> Any:  # noqa: ANN401
        """The table as an Arrow table."""
        return _library("pyarrow").table(self._frame)

    @property
    def _frame(self) -> dict[str, list[Any] | Array]:
        """Columns in a form that every frame library accepts."""
        return {
            name: column if isinstance(column, np.ndarray) else list(column)
            for name, column in self.columns.items()
        }

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream, which DuckDB makes: no further library is needed."""
        import duckdb

        connection = duckdb.connect()
        connection.register("result", self.arrays)
        return connection.table("result").__arrow_c_stream__(requested_schema)

    @property
    def arrays(self) -> dict[str, Array]:
        """Columns as arrays, texts as objects."""
        return {name: self[name] for name in self.columns}

    def save(
        self,
        path: str | os.PathLike[str],
        form: TableFormat | str | None = None,
        *,
        header: bool = True,
    ) -> None:
        """Write the table to a file, all of it or nothing: TSV, CSV, JSON, JSON lines or Parquet.

        Parameters
        ----------
        path
            The file; its ending selects the form: .tsv, .csv, .json, .jsonl or .parquet.
        form
            The form, if it is not to be selected by the ending.
        header
            Whether TSV begins with the names of the columns.

        Raises
        ------
        hornbeam.errors.InputError
            If the ending selects no form, or the file cannot be written.
        """
        form = table_format(path, form)
        if form is TableFormat.PARQUET:
            import duckdb

            with duckdb.connect() as connection:
                connection.register("result", self.arrays)
                save_query(connection, "FROM result", path, form)
        else:
            save_text(path, self.text(form, header=header))

    def text(self, form: TableFormat, *, header: bool = True) -> str:
        """The table in a text form; only TSV can leave out its `header`."""
        match form:
            case TableFormat.TSV:
                return self.tsv(header=header)
            case TableFormat.CSV:
                return self.csv()
            case TableFormat.JSON:
                return json.dumps(self.dicts(), ensure_ascii=False, allow_nan=False) + "\n"
            case TableFormat.JSONL:
                return self.json_lines()
        raise InputError(f"{form} is not a text format; save the table to a file")

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

    def html(self, title: str = "") -> str:
        """The first rows as an escaped HTML table."""
        more = f"<p>{len(self):,} rows</p>" if len(self) > SHOWN else ""
        rows = [tuple(_text(cell, HTML_DIGITS) for cell in row) for row in self[:SHOWN]]
        numbers = [not isinstance(self.columns[name], Sequence) for name in self.names]
        return html_table(title, self.names, rows, numbers) + more

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        rows = [self.names, *([*map(_text, row)] for row in self[:SHOWN])]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        if sys.stdout.isatty():
            widths = fitted_widths(widths, shutil.get_terminal_size().columns)
            rows = [list(map(elided, row, widths)) for row in rows]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        if len(self) > SHOWN:
            lines.append(f"... {len(self):,} rows")
        return "\n".join(lines)


def table_format(
    path: str | os.PathLike[str], form: TableFormat | str | None = None
) -> TableFormat:
    """The form of a table's file: the given one, or else that of its ending."""
    ending = Path(path).suffix.lower().removeprefix(".") if form is None else str(form)
    if ending not in list(TableFormat):
        known = ", ".join(f".{form}" for form in TableFormat)
        raise InputError(f"{os.fspath(path)}: unknown kind of file; expected one of: {known}")
    return TableFormat(ending)


#: DuckDB's options of every form; texts in a TSV file hold neither TABs nor line ends.
WRITTEN = {
    TableFormat.TSV: "FORMAT csv, HEADER, DELIMITER '\t', QUOTE '', ESCAPE ''",
    TableFormat.CSV: "FORMAT csv, HEADER",
    TableFormat.JSON: "FORMAT json, ARRAY true",
    TableFormat.JSONL: "FORMAT json",
    TableFormat.PARQUET: "FORMAT parquet",
}


def save_query(
    connection: DuckDBPyConnection,
    query: str,
    path: str | os.PathLike[str],
    form: TableFormat,
) -> None:
    """Let DuckDB write the answer of a query to a file, all of it or nothing, and never at once.

    No further library is needed, not even for Parquet.
    """
    import duckdb

    with replaced_file(path) as file:
        place = os.fspath(file).replace("'", "''")
        try:
            connection.execute(f"COPY ({query}) TO '{place}' ({WRITTEN[form]}, USE_TMP_FILE false)")
        except duckdb.IOException as error:
            raise DataError(os.fspath(path), f"cannot be written: {error}") from None


def fitted_widths(widths: Sequence[int], room: int) -> list[int]:
    """Column widths, the widest reduced until all columns fit into `room` (two spaces apart).

    Examples
    --------
    >>> fitted_widths([10, 40, 30], 60), fitted_widths([10, 40], 60)
    ([10, 23, 23], [10, 40])
    """
    fitted = list(widths)
    while sum(fitted) + 2 * (len(fitted) - 1) > room and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def html_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    numbers: Sequence[bool] = (),
) -> str:
    """Small escaped HTML table for notebooks; columns of `numbers` are right-aligned."""
    from markupsafe import escape  # marked-up cells stay as they are

    sides = [*numbers, *[False] * (len(header) - len(numbers))]

    def line(cells: Sequence[str], tag: str) -> str:
        # notebooks right-align cells by default
        return "".join(
            f'<{tag} style="text-align:{"right" if side else "left"}">{escape(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    lines = [line(header, "th"), *(line(row, "td") for row in rows)]
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}{''.join(f'<tr>{row}</tr>' for row in lines)}</table>"


def _text(cell: object, digits: int = DIGITS) -> str:
    return f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell)


def _library(name: str) -> ModuleType:
    """Import a frame library that the user may not have."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise InputError(f"{name} is not installed: pip install {name}") from None
