"""From tables with one row per entity to facts: every column but the key becomes a relation.

A column of names is a relation to other entities, one of numbers or dates an attribute, and one of
Booleans a unary predicate, all called like the column. Every column is one source
(`hornbeam.facts.reading.sources`), so that all engines read tables as they read facts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import duckdb

from hornbeam.base.texts import did_you_mean, quote
from hornbeam.errors import DataError, InputError, warn
from hornbeam.facts.reading.scanned_tables import (
    ColumnKind,
    ScannedTable,
    database_tables,
    scanned_table,
)
from hornbeam.facts.reading.sources import (
    Row,
    RowShape,
    Source,
    ValueKind,
    literal,
    name_problem,
)
from hornbeam.facts.reading.table_notes import (
    FALSE_WORDS,
    TRUE_WORDS,
    note_looks,
    note_prefixes,
    note_shared_keys,
)
from hornbeam.facts.reading.tables import reason
from hornbeam.facts.reading.workspace import Workspace, resource_error

T = TypeVar("T")

#: How a column begins that pandas writes for an index without a name.
PANDAS_INDEX = "__index_level_"
#: Kinds of columns that are attributes.
VALUE_KINDS = {ColumnKind.NUMBER: ValueKind.NUMBER, ColumnKind.DATE: ValueKind.DATE}


@dataclass(frozen=True)
class TableFile:
    """A file or a frame with one row per entity, which the column `key` names.

    A table without that column is a relation, if it has two columns, both links.
    """

    data: object
    key: str | None
    name: str

    @classmethod
    def of(cls, data: object, key: str | None, name: str | None = None) -> TableFile:
        """A table that is called `name`, or like its file: films of films.csv.gz."""
        if isinstance(data, str | os.PathLike):
            data = os.fspath(data)
            name = name or Path(str(data)).name.split(".")[0]
        return cls(data, key, name or "table")


@dataclass(frozen=True)
class EntityTables:
    """Tables that are read together, and what a user says of their columns.

    `links` has the table that a column leads to, `types` the kind of a column; both name columns as
    `director` or `film.director`. With `prefix` entities are called after their table, `film:7`;
    by default where the key is a whole number in a database, since these repeat from table to
    table. Where `whole` is set, links lead to these tables only.
    """

    tables: tuple[TableFile, ...] = ()
    databases: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    prefix: bool | None = None
    whole: bool = True

    def __post_init__(self) -> None:
        kinds = [kind.value for kind in ColumnKind]
        for column, kind in self.types.items():
            if kind not in kinds:
                expected = f"expected {', '.join(kinds[:-1])} or {kinds[-1]}"
                raise InputError(f"`types`: {quote(column)} is {quote(kind)}; {expected}")


def table_sources(space: Workspace, given: EntityTables) -> list[Source]:
    """The sources of all columns of tables."""
    tables = [scanned_table(space, file.data, file.key, file.name) for file in given.tables]
    for database in given.databases:
        tables += database_tables(space, database)
    named = {table.name: table for table in tables}
    if len(named) < len(tables):
        twice = next(table.name for table in tables if named[table.name] is not table)
        raise InputError(f"two tables are called {quote(twice)}; expected names of their own")
    _check_columns(given, tables)
    named = {
        name: replace(table, links={**table.links, **_said(given.links, table)})
        for name, table in named.items()
    }
    if given.prefix is None:
        note_prefixes(tables)
        note_shared_keys(space, list(named.values()))
    sources = []
    for table in named.values():
        sources += _Reading(space, given, named, table).sources()
    if tables and not sources:
        problem = "no table with a key has rows; expected at least one"
        raise DataError(", ".join(given.databases), problem)
    return sources


def _said(columns: Mapping[str, T], table: ScannedTable) -> dict[str, T]:
    """What is said of the columns of a table."""
    return {
        column: said
        for column in table.columns
        if (said := columns.get(f"{table.name}.{column}", columns.get(column))) is not None
    }


def _check_columns(given: EntityTables, tables: Sequence[ScannedTable]) -> None:
    """Refuse columns that no table has, and links to tables that are not given."""
    known = {
        name for t in tables for column in t.columns for name in (column, f"{t.name}.{column}")
    }
    for option, columns in (("links", given.links), ("types", given.types)):
        for column in columns:
            if column not in known:
                hint = did_you_mean(column, sorted(known))
                raise InputError(f"`{option}`: no table has a column {quote(column)}.{hint}")
    names = [table.name for table in tables]
    for column, table in given.links.items():
        if given.whole and table not in names:
            found = f"found {', '.join(map(quote, names))}"
            problem = (
                f"{quote(column)} leads to the table {quote(table)}, which is not given; {found}"
            )
            raise InputError(f"`links`: {problem}.{did_you_mean(table, names)}")


def _is_present(cell: object) -> bool:
    """Whether a cell, or an item of a list, has a value; in frames a missing number is NaN."""
    return cell is not None and cell != "" and cell == cell


@dataclass(frozen=True)
class _Reading:
    """One of several tables, and what is known of the others."""

    space: Workspace
    given: EntityTables
    tables: Mapping[str, ScannedTable]
    table: ScannedTable

    def sources(self) -> list[Source]:
        """A source per column."""
        table = self.table
        linked = [column for column in table.columns if column in table.links]
        if len(linked) == len(table.columns) == 2 and len(set(table.key) & set(linked)) != 1:
            for column in linked:
                table.check_bytes(column)
            relation = self._relation(*linked)
            if self._is_empty(relation) and not table.in_database:
                raise table.error("has no rows; expected at least one")
            return [] if self._is_empty(relation) else [relation]
        table.check_key()
        if not table.key and not table.in_database:
            raise table.error("no `key` given, and it is not a relation of two columns, both links")
        if not table.key:
            warn(
                f"{table.place} has no key, and is not a relation of two foreign keys: it is left "
                "out. Declare its primary key"
            )
            return []
        if not self._has_rows():
            return []
        kinds = _said(self.given.types, table)
        note_looks(self.space, table, kinds)
        sources = []
        for column, scanned in table.columns.items():
            if column in table.key and (len(table.key) == 1 or column not in table.links):
                continue
            if not column or column.startswith(PANDAS_INDEX):
                if column != next(iter(table.columns)) and not column:
                    warn(f"{table.place}: a column without a name is left out")
                continue
            kind = ColumnKind(kinds[column]) if column in kinds else scanned.kind
            if column in table.links and column not in kinds:
                kind = ColumnKind.NAME
            if kind is None:
                said = f"column {quote(column)} of type {scanned.type} is left out"
                warn(f"{table.place}: {said}; expected text, numbers, dates or Booleans")
            elif kind is not ColumnKind.IGNORE:
                table.check_bytes(column)
                sources.append(self._column(column, kind))
        filled = [source for source in sources if not self._is_empty(source)]
        if not filled and not table.in_database:
            raise table.error("has no column that says anything of its entities; expected one")
        return [*filled, self._types()]

    def _types(self) -> Source:
        """The name of a table is the type of its entities."""
        table = self.table
        name = self.of_same_entities(table.name)
        named = self._named(table.key, self.prefix_of(name))
        select = (
            f"SELECT {literal(name)} AS predicate, {named} AS a1, 1.0 AS value FROM {table.scan}"  # noqa: S608
        )
        shape = RowShape(("a1",), name, value_kind=ValueKind.NONE)
        return shape.source(table.place, select, table.rows, table.unit)

    def _is_empty(self, source: Source) -> bool:
        """Whether a column says nothing of any entity."""
        try:
            first = self.space.connection.execute(f"{source.select} LIMIT 1")
            return not first.fetchall()
        except duckdb.Error:  # a mistake in a row, which is named where all rows are read
            return False

    def of_same_entities(self, name: str) -> str:
        """The table that the key of a table links, and so on: the table that made its entities."""
        seen = {name}
        while (table := self.tables.get(name)) is not None and len(table.key) == 1:
            further = table.links.get(table.key[0], name)
            if further in seen:
                break
            seen.add(name := further)
        return name

    def prefix_of(self, name: str) -> str:
        """What stands before the keys of a table in the names of its entities."""
        name = self.of_same_entities(name)
        table, prefix = self.tables.get(name), self.given.prefix
        if prefix is None and table is not None:
            prefix = table.in_database and (table.whole_number_key or len(table.key) > 1)
        return f"{name}:" if prefix else ""

    def _named(self, columns: Sequence[str], prefix: str) -> str:
        """The name of an entity by its key, in SQL."""
        scanned = (self.table.columns[column] for column in columns)
        cells = [column.name_in_sql(column.sql) for column in scanned]
        return " || ':' || ".join([f"{literal(prefix)} || {cells[0]}", *cells[1:]])

    def _has_rows(self) -> bool:
        """Whether there are rows; refuses a key without a value, and two rows of one key."""
        table = self.table
        cells = [table.columns[column].sql for column in table.key]
        empty = " OR ".join(f"{cell} IS NULL OR CAST({cell} AS VARCHAR) = ''" for cell in cells)
        named = self._named(table.key, "")
        try:
            [(rows, lacking, twice)] = self.space.connection.execute(
                f"SELECT (SELECT count(*) FROM {table.scan}), "  # noqa: S608
                f"(SELECT count(*) FROM {table.scan} WHERE {empty}), "
                f"(SELECT min(k) FROM (SELECT {named} AS k FROM {table.scan} GROUP BY 1 "
                "HAVING count(*) > 1))"
            ).fetchall()
        except duckdb.Error as error:
            raise resource_error(error) or table.error(f"cannot be read: {reason(error)}") from None
        if not rows and not table.in_database:
            raise table.error("has no rows; expected at least one")
        if not lacking and twice is None:
            return bool(rows)
        shown, first = ", ".join(map(quote, table.key)), None
        for at, fields in table.rows():
            key = self._key(fields)
            if key is None:
                raise table.error(f"the key {shown} is empty; expected a name", at)
            if key == twice and first is not None:
                also = f"the key {shown} is {quote(key)} here and in {table.unit} {first}"
                raise table.error(f"{also}; expected one row per entity", at)
            first = at if key == twice else first
        return True

    def _key(self, cells: Sequence[object]) -> str | None:
        """The key of a row; None where a part of it is missing."""
        parts = dict(zip(self.table.columns, cells, strict=True))
        key = [parts[column] for column in self.table.key]
        return None if any(part in (None, "") for part in key) else ":".join(map(str, key))

    def _relation(self, subject: str, object_: str) -> Source:
        """A table of two foreign keys is a relation between their entities, called like it."""
        table = self.table
        first, second = (
            self._named([column], self.prefix_of(table.links[column]))
            for column in (subject, object_)
        )
        cells = (table.columns[column] for column in (subject, object_))
        present = " AND ".join(cell.present_in_sql(cell.sql) for cell in cells)
        select = (
            f"SELECT {literal(table.name)} AS predicate, {first} AS a1, {second} AS a2, "  # noqa: S608
            f"1.0 AS value FROM {table.scan} WHERE {present}"
        )

        def rows() -> Iterator[Row]:
            return (row for row in table.rows() if all(map(_is_present, row[1])))

        shape = RowShape(("a1", "a2"), table.name)
        return shape.source(table.place, select, rows, table.unit)

    def _column(self, column: str, kind: ColumnKind) -> Source:
        """The source of one column."""
        table, scanned = self.table, self.table.columns[column]
        prefix = self.prefix_of(table.name)
        linked = table.links.get(column)
        before = "" if linked is None else self.prefix_of(linked)
        item = f"unnest({scanned.sql})" if scanned.is_list else scanned.sql
        word, valid = f"lower({scanned.name_in_sql('c')})", "true"
        present = scanned.present_in_sql("c")
        shape = RowShape(("a1",), column)
        match kind:
            case ColumnKind.NAME:
                shape = RowShape(("a1", "a2"), column)
                wanted = f"{literal(before)} || {scanned.name_in_sql('c')} AS a2, 1.0"
            case ColumnKind.NUMBER | ColumnKind.DATE:
                shape = RowShape(("a1", "value"), column, value_kind=VALUE_KINDS[kind])
                wanted = shape.value_kind.in_sql("c", scanned.is_text)
            case _:
                shape = RowShape(("a1", "value"), column)
                # of a list, an item that is false says nothing
                present += f" AND {word} NOT IN {FALSE_WORDS}" * scanned.is_list
                valid = f"{word} IN {(*TRUE_WORDS, *FALSE_WORDS)}"
                wanted = f"CASE WHEN {word} IN {TRUE_WORDS} THEN 1.0 ELSE 0.0 END"
        select = (
            f"SELECT CASE WHEN {valid} THEN {literal(column)} END AS predicate, k AS a1, "  # noqa: S608
            f"{wanted} AS value FROM (SELECT {self._named(table.key, prefix)} AS k, {item} AS c "
            f"FROM {table.scan}) WHERE {present}"
        )
        place = f"{table.place}, column {quote(column)}"
        at_column = list(table.columns).index(column)

        def rows() -> Iterator[Row]:
            for at, cells in table.rows():
                entity, cell = f"{prefix}{self._key(cells)}", cells[at_column]
                if problem := name_problem(f"key {', '.join(map(quote, table.key))}", entity):
                    raise table.error(problem, at)
                for value in cell if isinstance(cell, list) else [cell]:
                    if not _is_present(value):
                        continue
                    if kind is ColumnKind.NAME:
                        if problem := name_problem("value", value):
                            advice = "leave the column out as `types` 'ignore'"
                            raise DataError(place, f"{problem}; or {advice}", **{table.unit: at})
                        yield at, [entity, f"{before}{value}"]
                    elif kind is not ColumnKind.BOOLEAN:
                        yield at, [entity, value]
                    elif (text := str(value).lower().removesuffix(".0")) in TRUE_WORDS:
                        yield at, [entity, 1.0]
                    elif text not in FALSE_WORDS:
                        problem = f"expected true or false, found {quote(str(value))}"
                        raise DataError(place, problem, **{table.unit: at})
                    elif not isinstance(cell, list):
                        yield at, [entity, 0.0]

        return shape.source(place, select, rows, table.unit)
