"""What can be read, and how each kind becomes one SQL select of (predicate, arguments, value).

A `Source` has two faces: `select`, which DuckDB reads at full speed, and `rows`, a slow and strict
scan in plain Python that is only used to name the line of a mistake after the fast path failed.
"""

from __future__ import annotations

import csv
import glob
import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

import duckdb
import numpy as np

from hornbeam.errors import DataError

Row = tuple[int, Sequence[object]]

#: Longest line the reader accepts, in bytes.
MAX_LINE_BYTES = 1 << 24

#: Header words we understand, by the column they stand for.
HEADER_WORDS = {
    "subject": "a1", "head": "a1", "source": "a1", "from": "a1",
    "predicate": "predicate", "relation": "predicate", "property": "predicate",
    "object": "a2", "tail": "a2", "to": "a2",
    "value": "value", "truth": "value", "label": "value", "truth value": "value",
    "truth_value": "value",
}  # fmt: skip


class Role(StrEnum):
    """What the rows are read for; it decides about the value column."""

    FACTS = "facts"  #: value optional, absent means 1
    LABELS = "labels"  #: value required
    PAIRS = "pairs"  #: value ignored


@dataclass(frozen=True)
class Source:
    """One table of atoms of one arity.

    Parameters
    ----------
    name
        How messages call it.
    select
        SQL that yields `predicate`, `a1` .. `ak` as text and `value` as a double.
    columns
        What each field of a row stands for: "predicate", "a1" .., "value" or "" (ignored).
    rows
        The strict scan: (line or row number, fields).
    unit
        "line" for text files, "row" for tables.
    """

    name: str
    select: str
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    unit: str = "line"

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return sum(column.startswith("a") for column in self.columns)

    @property
    def valued(self) -> bool:
        """Whether rows carry a truth value."""
        return "value" in self.columns

    def error(self, problem: str, at: int | None = None) -> DataError:
        """A `DataError` at a line or row of this source."""
        return DataError(self.name, problem, **{self.unit: at})


def literal(text: str) -> str:
    """Text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """A path as an SQL literal that DuckDB does not expand as a pattern."""
    return literal(glob.escape(str(path)))


def check_file(path: Path) -> None:
    """Refuse what is no readable, non-empty file."""
    if path.is_dir():
        raise DataError(str(path), "is a directory; expected a file of facts")
    try:
        with path.open("rb") as stream:
            if not stream.read(1):
                raise DataError(str(path), "is empty; expected lines of facts")
    except FileNotFoundError:
        raise DataError(str(path), "no such file") from None
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}") from None


def is_gzip(path: Path) -> bool:
    """Whether the file starts with gzip's magic bytes."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def open_text(path: Path) -> TextIO:
    """Open plain or gzipped UTF-8 text without touching its line ends."""
    if is_gzip(path):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield numbered lines without their ends; faults of the encoding name their line."""
    number = 0
    try:
        with open_text(path) as stream:
            # Only LF ends a line here: a CR inside a line is a mistake that must be seen.
            for number, line in enumerate(_split_lf(stream), start=1):
                yield number, line
    except UnicodeDecodeError as error:
        raise _encoding_error(path, error) from None
    except (EOFError, gzip.BadGzipFile, OSError) as error:
        problem = f"broken gzip file after line {number}: {error}"
        raise DataError(str(path), problem) from None


def _split_lf(stream: TextIO) -> Iterator[str]:
    rest = ""
    while block := stream.read(1 << 20):
        *lines, rest = (rest + block).split("\n")
        yield from (line.removesuffix("\r") for line in lines)
    if rest:
        yield rest.removesuffix("\r")


def _encoding_error(path: Path, error: UnicodeDecodeError) -> DataError:
    opener = gzip.open if is_gzip(path) else open
    with opener(path, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as fault:
                problem = f"invalid UTF-8 (byte 0x{line[fault.start]:02x}); expected UTF-8 text"
                return DataError(str(path), problem, line=number)
    return DataError(str(path), f"invalid UTF-8: {error.reason}")


def first_line(path: Path) -> tuple[int, str]:
    """The first line that is not blank."""
    for number, line in text_lines(path):
        if line:
            return number, line
    raise DataError(str(path), "holds no facts, only blank lines")


def split_fields(line: str, delimiter: str) -> list[str]:
    """Fields of a line; quotes mean something in CSV only."""
    if delimiter == "\t":
        return line.split("\t")
    return next(csv.reader([line], delimiter=delimiter))


def text_source(path: Path, role: Role, delimiter: str) -> Source:
    """A TSV or CSV file of `subject, predicate, object[, value]`, with or without a header."""
    check_file(path)
    number, line = first_line(path)
    fields = split_fields(line, delimiter)
    words = [HEADER_WORDS.get(field.strip().casefold(), "?") for field in fields]
    header = {"a1", "predicate", "a2"} <= set(words)
    columns = tuple(words) if header else ("a1", "predicate", "a2", "value")[: len(fields)]
    columns = check_columns(str(path), columns, len(fields), role, number, header)
    return delimited(path, columns, delimiter, skip=number if header else 0)


def check_columns(
    name: str, columns: tuple[str, ...], found: int, role: Role, number: int, header: bool
) -> tuple[str, ...]:
    """Settle what each field means for a role, or refuse the layout at its first line."""
    expected = "subject, predicate, object and a label" if role is Role.LABELS else (
        "subject, predicate, object[, truth value]"
    )
    allowed = {4} if role is Role.LABELS else {3, 4}
    repeated = len(set(columns)) < len(columns)
    if found not in allowed or repeated or "?" in columns:
        what = f"header of {found} columns" if header else f"{found} field{'s' * (found != 1)}"
        raise DataError(name, f"expected {expected}, found {what}", line=number)
    if role is Role.PAIRS:
        return tuple("" if column == "value" else column for column in columns)
    return columns


def delimited(
    path: Path,
    columns: tuple[str, ...],
    delimiter: str,
    skip: int = 0,
    predicate: str | None = None,
) -> Source:
    """A delimited text file with known columns; `predicate` where the file names none."""
    quote = '"' if delimiter != "\t" else ""
    types = ", ".join(
        f"'c{i}': '{'DOUBLE' if column == 'value' else 'VARCHAR'}'"
        for i, column in enumerate(columns)
    )
    scan = (
        f"read_csv({path_literal(path)}, delim={literal(delimiter)}, header=false, skip={skip}, "
        f"quote={literal(quote)}, escape={literal(quote)}, auto_detect=false, "
        f"null_padding=false, max_line_size={MAX_LINE_BYTES}, "
        f"compression='{'gzip' if is_gzip(path) else 'none'}', columns={{{types}}})"
    )
    names = [f"c{i}" for i in range(len(columns))]

    def rows() -> Iterator[Row]:
        for number, line in text_lines(path):
            if line and number > skip:
                yield number, split_fields(line, delimiter)

    return Source(str(path), select_text(scan, columns, names, predicate), columns, rows)


def select_text(
    scan: str, columns: tuple[str, ...], names: Sequence[str], predicate: str | None = None
) -> str:
    """The select that turns a scan's columns into (predicate, a1 .. ak, value)."""
    place = dict(zip(columns, names, strict=True))
    arguments = sorted(column for column in columns if column.startswith("a"))
    wanted = [f"CAST({place[column]} AS VARCHAR) AS {column}" for column in arguments]
    named = literal(predicate) if predicate is not None else f"CAST({place['predicate']} AS VARCHAR)"
    value = f"CAST({place['value']} AS DOUBLE)" if "value" in place else "1.0"
    return f"SELECT {named} AS predicate, {', '.join(wanted)}, {value} AS value FROM {scan}"  # noqa: S608


def parquet_source(connection: duckdb.DuckDBPyConnection, path: Path, role: Role) -> Source:
    """A Parquet file with columns named like a header, or three or four columns in that order."""
    check_file(path)
    scan = f"read_parquet({path_literal(path)})"
    return table_source(connection, str(path), scan, role)


def frame_source(
    connection: duckdb.DuckDBPyConnection, frame: object, role: Role, number: int
) -> Source:
    """A frame that speaks Arrow (pandas, polars, pyarrow, DuckDB), or a sequence of tuples."""
    view = f"frame_{number}"
    if not hasattr(frame, "__arrow_c_stream__"):
        frame = _columns_of(frame)
    connection.register(view, frame)
    return table_source(connection, f"frame {number + 1}", view, role)


def _columns_of(rows: object) -> dict[str, np.ndarray[Any, Any]]:
    """Tuples of (subject, predicate, object[, value]) as columns that DuckDB scans in place."""
    listed = [tuple(row) for row in rows] if isinstance(rows, Sequence) else None
    if not listed:
        raise DataError("frame", "expected a frame or a non-empty list of tuples of facts")
    widths = {len(row) for row in listed}
    if len(widths) > 1 or not widths <= {3, 4}:
        raise DataError("frame", f"expected tuples of 3 or 4 fields, found {sorted(widths)}")
    words = ("subject", "predicate", "object", "value")
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for word, cells in zip(words, zip(*listed, strict=True), strict=False):
        is_value = word == "value"
        columns[word] = np.array(cells, dtype=np.float64) if is_value else np.array(
            [str(cell) for cell in cells], dtype=object
        )
    return columns


def table_source(
    connection: duckdb.DuckDBPyConnection, name: str, scan: str, role: Role
) -> Source:
    """Anything DuckDB can describe: match columns by name, else by position."""
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608
    except duckdb.Error as error:
        raise DataError(name, f"cannot be read: {str(error).splitlines()[0]}") from None
    fields = [row[0] for row in described]
    words = [HEADER_WORDS.get(field.strip().casefold(), "?") for field in fields]
    named = {"a1", "predicate", "a2"} <= set(words)
    positional = ("a1", "predicate", "a2", "value")[: len(fields)]
    columns = tuple("" if word == "?" else word for word in words) if named else positional
    if role is Role.PAIRS:
        columns = tuple("" if column == "value" else column for column in columns)
    if not {"a1", "predicate", "a2"} <= set(columns) or (not named and len(fields) > 4):
        raise DataError(
            name, f"expected columns subject, predicate, object[, value], found {', '.join(fields)}"
        )
    if role is Role.LABELS and "value" not in columns:
        raise DataError(name, "expected a fourth column with labels (named 'value' or 'label')")
    quoted = ['"' + field.replace('"', '""') + '"' for field in fields]
    select = select_text(scan, columns, quoted)

    def rows() -> Iterator[Row]:
        cursor = connection.execute(f"SELECT * FROM {scan}")  # noqa: S608
        number = 0
        while chunk := cursor.fetchmany(10_000):
            for cells in chunk:
                number += 1
                yield number, cells

    return Source(name, select, columns, rows, unit="row")
