"""Tables with one row per entity, from wherever they come: columns, types, key, foreign keys.

Text is put into a table of DuckDB, whose columns are all text; so is SQLite, whose values may be of
any type: there the declared types say what columns hold. Everything else has types of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb

from hornbeam.base.texts import did_you_mean, quote
from hornbeam.errors import DataError, warn
from hornbeam.facts.reading.sources import Row, literal, quoted_name
from hornbeam.facts.reading.tables import (
    DATE_TYPES,
    NAME_TYPES,
    VALUE_TYPES,
    parquet_scan,
    reason,
    registered,
    table_rows,
)
from hornbeam.facts.reading.text import field_lines, text_scan
from hornbeam.facts.reading.workspace import File, Workspace, find_file, suffix_of

if TYPE_CHECKING:
    import sqlite3

#: The first bytes of every SQLite file, and the bytes of a DuckDB file after a checksum.
SQLITE_MAGIC, DUCKDB_MAGIC = b"SQLite format 3\0", b"DUCK"
#: Types of columns that hold whole numbers.
INTEGER_TYPES = tuple(kind for kind in NAME_TYPES if kind.endswith("INT") or kind == "INTEGER")


class ColumnKind(StrEnum):
    """What a column of a table is read as."""

    NAME = "name"  #: a relation to entities
    NUMBER = "number"  #: an attribute
    DATE = "date"  #: an attribute in days
    BOOLEAN = "boolean"  #: a unary predicate
    IGNORE = "ignore"


@dataclass(frozen=True)
class ScannedColumn:
    """A column in SQL, its type in DuckDB, and what it is read as unless the user says more.

    `kind` is None where the type is none that can be read.
    """

    sql: str
    type: str
    kind: ColumnKind | None
    bytes_at: int | None = None  #: the first row with bytes (a BLOB of SQLite), which are NULL here

    @property
    def is_text(self) -> bool:
        """Whether values, or the items of lists, are text."""
        return self.type.removesuffix("[]") == "VARCHAR"

    @property
    def is_float(self) -> bool:
        """Whether values, or the items of lists, may be NaN."""
        return self.type.removesuffix("[]") in ("DOUBLE", "FLOAT")

    def name_in_sql(self, cell: str) -> str:
        """A value, or the item of a list, as a name."""
        text = f"CAST({cell} AS VARCHAR)"
        # a missing integer makes floats of a column of pandas
        return f"regexp_replace({text}, '[.]0$', '')" if self.is_float else text

    def present_in_sql(self, cell: str) -> str:
        """Whether there is a value: not NULL, no empty text, and no NaN."""
        some = f"NOT isnan({cell})" if self.is_float else f"CAST({cell} AS VARCHAR) <> ''"
        return f"{cell} IS NOT NULL AND {some}"

    @property
    def is_list(self) -> bool:
        """Whether a row has several values."""
        return self.type.endswith("[]")


@dataclass(frozen=True)
class ScannedTable:
    """A table of entities, and both ways of reading its rows; see `Source`."""

    name: str
    place: str  #: name in messages
    scan: str  #: what SQL selects from
    columns: Mapping[str, ScannedColumn]
    rows: Callable[[], Iterator[Row]]  #: the strict scan: cells in the order of the columns
    unit: str = "row"
    key: tuple[str, ...] = ()  #: columns that name the entity; none in a table of a relation
    links: Mapping[str, str] = field(default_factory=dict)  #: tables by foreign keys
    whole_number_key: bool = False  #: whether keys are whole numbers by their type
    in_database: bool = False

    def error(self, problem: str, at: int | None = None) -> DataError:
        """Make a `DataError` at a row or line."""
        return DataError(self.place, problem, **{self.unit: at})

    def check_key(self) -> None:
        """Refuse a key that is no column, or a column of numbers with fractions."""
        for column in self.key:
            if column not in self.columns:
                listed = f"found {', '.join(map(quote, self.columns))}"
                hint = did_you_mean(column, self.columns)
                raise self.error(f"`key`: no column {quote(column)}; {listed}.{hint}")
            self.check_bytes(column)
            kind = self.columns[column].type
            if kind.split("(")[0] not in NAME_TYPES:
                problem = f"the key {quote(column)} is of type {kind}; expected text or integers"
                raise self.error(problem)

    def check_bytes(self, column: str) -> None:
        """Refuse a column in which a row has bytes."""
        at = self.columns[column].bytes_at
        if at is not None:
            raise self.error(
                f"column {quote(column)} has bytes (a BLOB) here; expected text, a number or a "
                "date, or leave the column out as `types` 'ignore'",
                at,
            )


# --- files and frames -----------------------------------------------------------------------------


def scanned_table(space: Workspace, data: object, key: str | None, name: str) -> ScannedTable:
    """A table from a path (TSV, CSV, Parquet) or from a frame."""
    keys = () if key is None else (key,)
    if isinstance(data, str):
        file = find_file(data, space.folder)
        suffix = suffix_of(data)
        if _is_database(file):
            raise DataError(file.name, "is a database, which has its own keys: leave out `key`")
        if suffix not in (".parquet", ".pq"):
            return _text_table(space, file, "," if suffix == ".csv" else "\t", keys, name)
        place, scan = file.name, parquet_scan(file)
    else:
        index = getattr(data, "index", None)
        if key is not None and getattr(index, "name", None) == key:  # of pandas
            data = cast("Any", data).reset_index()
        try:
            place, view = name, registered(space, data, name)
        except duckdb.Error as error:
            raise DataError(name, f"cannot be read: {reason(error)}") from None
        if view is None:
            kind = type(data).__name__
            expected = "expected a file, a frame of pandas, polars or Arrow, or columns by name"
            raise DataError(name, f"{expected}, found {kind}")
        scan = view
    return _typed_table(space, name, place, scan, keys)


def _typed_table(
    space: Workspace,
    name: str,
    place: str,
    scan: str,
    key: tuple[str, ...],
    links: Mapping[str, str] | None = None,
) -> ScannedTable:
    """A table whose columns have types; with `links`, those of its schema, it is in a database."""
    try:
        described = space.connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608
    except duckdb.Error as error:
        raise DataError(place, f"cannot be read: {reason(error)}") from None
    columns = {
        row[0]: ScannedColumn(quoted_name(row[0]), row[1], _kind_of(row[1])) for row in described
    }
    if links is not None:
        key = tuple(_spelt(column, columns) for column in key)
        links = {_spelt(column, columns): table for column, table in links.items()}
    whole = len(key) == 1 and key[0] in columns and columns[key[0]].type in INTEGER_TYPES
    rows, known = table_rows(space.connection, place, scan), links is not None
    return ScannedTable(
        name, place, scan, columns, rows,
        key=key, links=links or {}, whole_number_key=whole, in_database=known,
    )  # fmt: skip


def _spelt(name: str, known: Iterable[str]) -> str:
    """A name as it was declared, which a key may spell in another case."""
    return next((one for one in known if one.casefold() == name.casefold()), name)


def _kind_of(type_: str) -> ColumnKind | None:
    """What a column of a type of DuckDB is read as; a list as its items are."""
    plain = type_.removesuffix("[]").split("(")[0]
    if plain == '"NULL"':  # a column of a frame without any value
        return ColumnKind.IGNORE
    if plain == "BOOLEAN":
        return ColumnKind.BOOLEAN
    if plain in DATE_TYPES:
        return ColumnKind.DATE
    if plain in ("VARCHAR", "ENUM", "UUID"):
        return ColumnKind.NAME
    return ColumnKind.NUMBER if plain in VALUE_TYPES else None


def _text_table(
    space: Workspace, file: File, delimiter: str, keys: tuple[str, ...], name: str
) -> ScannedTable:
    """A table of text with a header, put into a table of DuckDB."""
    lines = field_lines(file, delimiter)
    skip, fields = next(lines, (0, []))
    if not fields:
        raise DataError(file.name, "holds nothing; expected a header with the names of columns")
    for i, column in enumerate(fields):
        if column in fields[:i]:
            problem = f"two columns are called {quote(column)}; expected one"
            raise DataError(file.name, problem, line=skip)
    stored, n = space.fresh("text"), len(fields)
    cells = [f"c{i}" for i in range(n)]

    def rows() -> Iterator[Row]:
        for at, found in field_lines(file, delimiter):
            if at > skip and len(found) != n:
                problem = f"expected {n} fields, as in the header, found {len(found)}"
                raise DataError(file.name, problem, line=at)
            if at > skip:
                yield at, found

    try:
        scan = text_scan(file, cells, delimiter, skip)
        space.connection.execute(f"CREATE TEMP TABLE {stored} AS SELECT * FROM {scan}")  # noqa: S608
        wrong = space.connection.execute(
            f"SELECT 1 FROM {stored} WHERE rest IS NOT NULL OR {cells[-1]} IS NULL LIMIT 1"  # noqa: S608
        ).fetchall()
    except duckdb.Error as error:
        for _ in rows():  # raises at the line that is wrong
            pass
        raise DataError(file.name, f"cannot be read: {reason(error)}") from None
    if wrong:
        for _ in rows():
            pass
    columns = {
        column: ScannedColumn(cell, "VARCHAR", ColumnKind.NAME)
        for column, cell in zip(fields, cells, strict=True)
    }
    return ScannedTable(name, file.name, stored, columns, rows, "line", keys)


# --- databases ------------------------------------------------------------------------------------


def database_tables(space: Workspace, item: str) -> list[ScannedTable]:
    """The tables of a DuckDB or SQLite file, with the keys and foreign keys of its schema."""
    file = find_file(item, space.folder)
    if not _is_database(file):
        raise DataError(file.name, "no database; expected a DuckDB or SQLite file")
    read = _sqlite_tables if _head(file) == SQLITE_MAGIC else _duckdb_tables
    tables = read(space, file)
    if not tables:
        raise DataError(file.name, "has no tables; expected at least one")
    return tables


def _head(file: File) -> bytes:
    with file.opened() as stream:
        return stream.read(len(SQLITE_MAGIC))


def _is_database(file: File) -> bool:
    """Whether a file is one of DuckDB or SQLite."""
    return _head(file) == SQLITE_MAGIC or _head(file)[8:12] == DUCKDB_MAGIC


def _duckdb_tables(space: Workspace, file: File) -> list[ScannedTable]:
    schema = space.fresh("attached")
    try:
        space.connection.execute(f"ATTACH {literal(str(file.path))} AS {schema} (READ_ONLY)")
        tables = space.connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? "
            "ORDER BY ALL",
            [schema],
        ).fetchall()
        constraints = space.connection.execute(
            "SELECT schema_name, table_name, constraint_type, constraint_column_names, "
            "referenced_table, referenced_column_names FROM duckdb_constraints() "
            "WHERE database_name = ? ORDER BY ALL",
            [schema],
        ).fetchall()
    except duckdb.Error as error:
        raise DataError(file.name, f"no database that can be read: {reason(error)}") from None
    keys = {row[:2]: tuple(row[3]) for row in constraints if row[2] == "PRIMARY KEY"}
    names, found = [name for _, name in tables], []
    for place in tables:
        links = {
            row[3][0]: _spelt(row[4], names)
            for row in constraints
            if row[:2] == place
            and row[2] == "FOREIGN KEY"
            # a foreign key of several columns, or to another column than the key, is a plain value
            and len(row[3]) == 1
            and _folded(keys.get((place[0], _spelt(row[4], names)), ())) == _folded(row[5])
        }
        scan = f"{schema}.{quoted_name(place[0])}.{quoted_name(place[1])}"
        called = f"{file.name}, table {quote(place[1])}"
        for row in constraints:
            if row[:2] == place and row[2] == "FOREIGN KEY" and len(row[3]) > 1:
                _warn_of_values(called, row[3])
        found.append(_typed_table(space, place[1], called, scan, keys.get(place, ()), links))
    return found


def _warn_of_values(place: str, columns: Sequence[str]) -> None:
    """Say that a foreign key of several columns is no link."""
    shown = ", ".join(map(quote, columns))
    warn(f"{place}: the foreign key of several columns {shown} is no link; they are plain values")


def _folded(names: Iterable[str]) -> list[str]:
    return [name.casefold() for name in names]


def _sqlite_tables(space: Workspace, file: File) -> list[ScannedTable]:
    import sqlite3  # as large as the rest of reading

    try:
        connection = sqlite3.connect(f"{Path(file.path).as_uri()}?mode=ro", uri=True)
        try:
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' "
                "AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND sql NOT LIKE 'CREATE VIRTUAL%' "
                "ORDER BY name"
            ).fetchall()
            known = [name for (name,) in names]
            return [_sqlite_table(space, connection, file, name, known) for name in known]
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise DataError(file.name, f"no SQLite file that can be read: {error}") from None


def _sqlite_table(
    space: Workspace, connection: sqlite3.Connection, file: File, name: str, known: Sequence[str]
) -> ScannedTable:
    """Put a table of SQLite, one of those that are `known`, into a table of DuckDB, as text."""
    info = connection.execute(f"PRAGMA table_info({quoted_name(name)})").fetchall()
    key = tuple(row[1] for row in sorted(info, key=lambda row: row[5]) if row[5])
    keys = connection.execute(f"PRAGMA foreign_key_list({quoted_name(name)})").fetchall()
    several = {row[0] for row in keys if row[1] > 0}
    links = {
        row[3]: _spelt(row[2], known)
        for row in keys
        if row[0] not in several and _is_sqlite_key(connection, row[2], row[4])
    }
    kinds = {row[1]: _sqlite_kind(row[2]) for row in info}
    fields = [quoted_name(column) for column in kinds]
    stored, cells = space.fresh("sqlite"), [f"c{i}" for i in range(len(kinds))]
    texts = [
        f"substr({text}, 1, 10)" if kind is ColumnKind.DATE else text
        for text, kind in zip(fields, kinds.values(), strict=True)
    ]
    cursor = connection.execute(f"SELECT {', '.join(texts)} FROM {quoted_name(name)}")  # noqa: S608
    first_bytes: dict[int, int] = {}

    def rows() -> Iterator[tuple[str | None, ...]]:
        for at, row in enumerate(cursor, start=1):
            for i, cell in enumerate(row):
                if isinstance(cell, bytes):
                    first_bytes.setdefault(i, at)
            yield tuple(
                None if cell is None or isinstance(cell, bytes) else str(cell) for cell in row
            )

    space.insert(stored, cells, rows())
    columns = {
        column: ScannedColumn(cells[i], "VARCHAR" if kind else "BLOB", kind, first_bytes.get(i))
        for i, (column, kind) in enumerate(kinds.items())
    }
    place = f"{file.name}, table {quote(name)}"
    for number in sorted(several):
        _warn_of_values(place, [row[3] for row in keys if row[0] == number])
    whole = len(key) == 1 and kinds[key[0]] is ColumnKind.NUMBER
    return ScannedTable(
        name, place, stored, columns, table_rows(space.connection, place, stored),
        key=key, links=links, whole_number_key=whole, in_database=True,
    )  # fmt: skip


def _is_sqlite_key(connection: sqlite3.Connection, table: str, column: str | None) -> bool:
    """Whether a column (None: whatever is the key) is the key of a table."""
    info = connection.execute(f"PRAGMA table_info({quoted_name(table)})").fetchall()
    key = [row[1] for row in info if row[5]]
    return len(key) == 1 and (column is None or column.casefold() == key[0].casefold())


def _sqlite_kind(declared: str) -> ColumnKind | None:
    """What a column is read as by its declared type, which SQLite does not enforce."""
    declared = declared.upper()
    if "BOOL" in declared:
        return ColumnKind.BOOLEAN
    if declared.startswith(("DATE", "TIMESTAMP")):
        return ColumnKind.DATE
    if "BLOB" in declared:
        return None
    numeric = ("INT", "REAL", "FLOA", "DOUB", "DEC", "NUM")
    text = not declared or any(word in declared for word in ("CHAR", "TEXT", "CLOB"))
    return (
        ColumnKind.NUMBER if not text and any(w in declared for w in numeric) else ColumnKind.NAME
    )
