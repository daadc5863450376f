"""Tables that DuckDB can describe: Parquet files, tables of a database, other scans."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence

import duckdb

from hornbeam.errors import DataError
from hornbeam.facts.reading.headers import (
    BY_ITSELF,
    TableLayout,
    header_columns,
    header_word,
    warn_of_order,
)
from hornbeam.facts.reading.sources import (
    POSITIONS,
    Role,
    Row,
    Source,
    argument_columns,
    for_role,
    literal,
    number_text,
    select_text,
)
from hornbeam.facts.reading.workspace import File, Workspace

#: Types of columns that can hold names without loss; numbers with fractions cannot.
NAME_TYPES = ("VARCHAR", "ENUM", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UUID",
              "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "DATE",
              "TIMESTAMP")  # fmt: skip
#: Types of columns that can hold truth values.
VALUE_TYPES = ("BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", *NAME_TYPES[:-2])


#: Four bytes at both ends of every Parquet file.
PARQUET_MAGIC = b"PAR1"


def parquet_scan(file: File) -> str:
    """Scan a Parquet file, or refuse another file."""
    with file.opened() as stream:
        head = stream.read(4)
        stream.seek(-len(head), os.SEEK_END)
        if not head == stream.read(4) == PARQUET_MAGIC:
            problem = "no Parquet file, or cut short; expected a whole Parquet file"
            raise DataError(file.name, problem)
    return (
        f"read_parquet({literal(glob.escape(str(file.path)))}, hive_partitioning=false, "
        "binary_as_string=true)"
    )


def database_source(
    space: Workspace, file: File, role: Role, layout: TableLayout = BY_ITSELF
) -> Source:
    """Read a table of a DuckDB file: the one called facts, or the only one."""
    schema = space.fresh("attached")
    try:
        space.connection.execute(f"ATTACH {literal(str(file.path))} AS {schema} (READ_ONLY)")
        tables = space.connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY table_name",
            [schema],
        ).fetchall()
    except duckdb.Error as error:
        raise DataError(file.name, f"no DuckDB file that can be read: {reason(error)}") from None
    names = [name for (name,) in tables]
    if len(names) != 1 and "facts" not in names:
        found = ", ".join(names[:8]) or "none"
        problem = f"expected one table, or one called facts; found {found}"
        raise DataError(file.name, problem)
    chosen = "facts" if "facts" in names else names[0]
    quoted = chosen.replace('"', '""')
    return table_source(space.connection, file.name, f'{schema}."{quoted}"', role, layout)


def table_source(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    scan: str,
    role: Role,
    layout: TableLayout = BY_ITSELF,
) -> Source:
    """Anything DuckDB can describe: columns are matched by name, else by position."""
    return described_source(
        connection,
        name,
        scan,
        lambda fields: columns_by_name(name, fields, role, layout),
        layout.arguments_of,
    )


def described_source(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    scan: str,
    meaning: Callable[[Sequence[str]], tuple[str, ...]],
    predicate: str | None = None,
) -> Source:
    """The source of anything DuckDB can describe; `meaning` gives what its columns are.

    `predicate` is that of all rows where no column is.
    """
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608
        for field, kind, *_ in described:
            if kind == '"NULL"':  # a column of Arrow without any type; DuckDB cannot scan it
                raise DataError(name, f"column {field!r} holds nothing; expected names")
        # fetch all: DuckDB registers no further input while a result is unfinished
        some = connection.execute(f"SELECT 1 FROM {scan} LIMIT 1").fetchall()  # noqa: S608
    except duckdb.Error as error:
        raise DataError(name, f"cannot be read: {reason(error)}") from None
    if not some:
        raise DataError(name, "has no rows; expected at least one fact")
    fields = [row[0] for row in described]
    columns = meaning(fields)
    if "predicate" in columns:
        predicate = None

    def rows() -> Iterator[Row]:
        number = 0
        try:
            connection.execute("SET preserve_insertion_order = true")
            cursor = connection.execute(f"SELECT * FROM {scan}")  # noqa: S608
            while chunk := cursor.fetchmany(10_000):
                for cells in chunk:
                    number += 1
                    yield number, cells
        except duckdb.Error as error:
            problem = f"broken after row {number}: {reason(error)}"
            raise DataError(name, problem) from None

    cells = ['"' + field.replace('"', '""') + '"' for field in fields]
    for at, (column, row) in enumerate(zip(columns, described, strict=True)):
        if column == "value" and row[1] == "VARCHAR":
            cells[at] = number_text(cells[at])
    select = select_text(scan, columns, cells, predicate)
    source = Source(name, select, columns, rows, unit="row", predicate=predicate)
    _check_types(source, [(row[0], row[1]) for row in described])
    return source


def columns_by_name(
    name: str, fields: Sequence[str], role: Role, layout: TableLayout = BY_ITSELF
) -> tuple[str, ...]:
    """Meanings of the columns of a table: by their names, else by their positions."""
    if layout.arguments_of is not None:
        return argument_columns(name, len(fields))
    return header_columns(name, fields, role, layout=layout) or _by_position(name, fields, role)


def _by_position(name: str, fields: Sequence[str], role: Role) -> tuple[str, ...]:
    """Columns with other names: three or four in the usual order, or two of unary facts."""
    words = [header_word(field) for field in fields]
    positions = POSITIONS[: len(fields)]
    # A known name in an unexpected place means that the order is not the usual one.
    agree = all(word in ("", at) for word, at in zip(words, positions, strict=False))
    enough = (2, 3, 4) if role is Role.FACTS else (3, 4)
    if len(fields) not in enough or not agree:
        found = ", ".join(fields[:8]) + (", ..." if len(fields) > 8 else "")
        raise DataError(name, f"expected columns {role.expected}, found {found}")
    warn_of_order(name, fields)
    return for_role(name, positions, role)


def _check_types(source: Source, described: Sequence[tuple[str, str]]) -> None:
    for column, (field, kind) in zip(source.columns, described, strict=True):
        allowed = VALUE_TYPES if column == "value" else NAME_TYPES
        if column == "" or (kind.split("(")[0] in allowed and not kind.endswith("]")):
            continue
        if kind in ("DOUBLE", "FLOAT"):  # a missing integer makes floats of a column of pandas
            place = source.columns.index(column)
            for at, cells in source.rows():
                if cells[place] is None or cells[place] != cells[place]:
                    raise source.error("a name is missing; expected text or an integer", at)
        expected = "numbers" if column == "value" else "text or integers"
        raise source.error(f"column {field!r} is of type {kind}; expected {expected}")


def reason(error: duckdb.Error) -> str:
    """DuckDB's message without its class and its advice."""
    first = str(error).splitlines()[0]
    return first.split("Error: ", 1)[-1].rstrip(": ")
