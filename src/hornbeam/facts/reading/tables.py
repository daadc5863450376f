"""Tables: Parquet files and databases, frames and columns in memory, rows as tuples, facts.

DuckDB can describe all of them but rows, which are checked here and put into columns first.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, cast

import duckdb
import numpy as np

from hornbeam.base.arrays import Array
from hornbeam.base.dates import TimeUnit
from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import WHOLE, quote
from hornbeam.errors import DataError
from hornbeam.facts.growth import united_atoms
from hornbeam.facts.names import NamedIds
from hornbeam.facts.reading.headers import BY_ITSELF, Header, TableLayout, columns_without_predicate
from hornbeam.facts.reading.sources import (
    NUMBER_POSITIONS,
    Role,
    Row,
    RowShape,
    Source,
    ValueKind,
    first_mistake,
    literal,
    quoted_name,
    time_text,
)
from hornbeam.facts.reading.times import (
    MOMENT_TYPES,
    STEP_TYPES,
    TimeColumn,
    time_place,
    unit_of,
)
from hornbeam.facts.reading.workspace import File, Workspace, workspace
from hornbeam.facts.table import Facts, Targets

#: Types of columns that can hold names without loss; numbers with fractions cannot.
NAME_TYPES = ("VARCHAR", "ENUM", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UUID",
              "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "DATE",
              "TIMESTAMP")  # fmt: skip
#: Types of columns that can hold truth values.
VALUE_TYPES = ("BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", *NAME_TYPES[:-2])
#: Types of columns that hold dates.
DATE_TYPES = ("DATE", *MOMENT_TYPES)
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


def database_source(space: Workspace, file: File, layout: TableLayout = BY_ITSELF) -> Source:
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
    return table_source(space.connection, file.name, f"{schema}.{quoted_name(chosen)}", layout)


def table_source(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    scan: str,
    layout: TableLayout = BY_ITSELF,
    *,
    is_frame: bool = False,
) -> Source:
    """Anything DuckDB can describe: columns are matched by name, else by position.

    Where no column is the predicate, the layout may name that of all rows.
    """
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608
        for field, kind, *_ in described:
            if kind == '"NULL"':  # a column of Arrow without any type; DuckDB cannot scan it
                raise DataError(name, f"column {field!r} holds nothing; expected names")
        # fetch all: DuckDB registers no further input while a result is unfinished
        first = connection.execute(f"SELECT 1 FROM {scan} LIMIT 1").fetchall()  # noqa: S608
    except duckdb.Error as error:
        raise DataError(name, f"cannot be read: {reason(error)}") from None
    if not first:
        raise DataError(name, "has no rows; expected at least one fact")
    fields, timed, others = [row[0] for row in described], None, described
    if layout.time is not None:
        timed = TimeColumn(time_place(name, layout.time, fields))
        others = timed.without(described)
    header = Header(name, [row[0] for row in others], layout)
    columns = header.table_columns(is_frame=is_frame)
    of_all = layout.target if is_frame else layout.arguments_of
    kind = layout.role.value_kind
    kinds = {column: row[1] for column, row in zip(columns, others, strict=True)}
    if kind is ValueKind.NUMBER and kinds.get("value") in DATE_TYPES:
        kind = ValueKind.DATE
    shape = RowShape(columns, None if "predicate" in columns else of_all, value_kind=kind)
    if timed is not None:
        unit = _time_unit(connection, name, scan, *described[timed.at][:2])
        shape = timed.added_to(shape, len(columns), unit)
    cells = list(map(quoted_name, fields))
    texts = {cell for cell, row in zip(cells, described, strict=True) if row[1] == "VARCHAR"}
    select, rows = shape.select_text(scan, cells, texts), table_rows(connection, name, scan)
    source = shape.source(name, select, rows)
    _check_types(source, [(row[0], row[1]) for row in described])
    return source


def _time_unit(
    connection: duckdb.DuckDBPyConnection, name: str, scan: str, field: str, kind: str
) -> TimeUnit:
    """The unit of a column of times, by its type; of texts, by the first of them.

    Timestamps that all are midnights are days: pandas has no other dates.
    """
    cell = quoted_name(field)
    if kind == "VARCHAR":
        first = connection.execute(f"SELECT {cell} FROM {scan} LIMIT 1").fetchall()  # noqa: S608
        return unit_of(name, first[0][0], row=1)
    if kind in MOMENT_TYPES:
        others = connection.execute(
            f"SELECT 1 FROM {scan} WHERE epoch_us({cell}) % 86400000000 <> 0 LIMIT 1"  # noqa: S608
        ).fetchall()
        return TimeUnit.SECOND if others else TimeUnit.DAY
    if kind == "DATE" or kind in STEP_TYPES:
        return TimeUnit.DAY if kind == "DATE" else TimeUnit.STEP
    expected = "dates, timestamps or whole numbers"
    raise DataError(name, f"the time {field!r} is of type {kind}; expected {expected}")


def table_rows(
    connection: duckdb.DuckDBPyConnection, name: str, scan: str
) -> Callable[[], Iterator[Row]]:
    """The strict scan of a table: its numbered rows, in their order."""

    def rows() -> Iterator[Row]:
        number = 0
        try:
            connection.execute("SET preserve_insertion_order = true")
            described = connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608
            # an infinite date would come as the last one of Python
            dated = [i for i, row in enumerate(described) if row[1] in DATE_TYPES]
            infinite = "".join(
                f", CASE WHEN NOT isfinite({field}) THEN CAST({field} AS VARCHAR) END"
                for field in (quoted_name(described[i][0]) for i in dated)
            )
            cursor = connection.execute(f"SELECT *{infinite} FROM {scan}")  # noqa: S608
            while chunk := cursor.fetchmany(10_000):
                for cells in chunk:
                    number += 1
                    row = list(cells[: len(described)])
                    for i, text in zip(dated, cells[len(described) :], strict=True):
                        row[i] = row[i] if text is None else text
                    yield number, row
        except duckdb.Error as error:
            problem = f"broken after row {number}: {reason(error)}"
            raise DataError(name, problem) from None

    return rows


def _check_types(source: Source, described: Sequence[tuple[str, str]]) -> None:
    for column, (field, kind) in zip(source.columns, described, strict=True):
        allowed: tuple[str, ...] = NAME_TYPES
        if column == "value":
            by_date = source.value_kind is ValueKind.DATE
            allowed = (*DATE_TYPES, "VARCHAR") if by_date else VALUE_TYPES
        if column in ("", "time") or (kind.split("(")[0] in allowed and not kind.endswith("]")):
            continue
        # a missing integer makes floats of a column of pandas
        if kind in ("DOUBLE", "FLOAT") and column != "value":
            place = source.columns.index(column)
            for at, cells in source.rows():
                if cells[place] is None or cells[place] != cells[place]:
                    raise source.error("a name is missing; expected text or an integer", at)
        values = "dates" if source.value_kind is ValueKind.DATE else "numbers"
        expected = values if column == "value" else "text or integers"
        raise source.error(f"column {field!r} is of type {kind}; expected {expected}")


def reason(error: duckdb.Error) -> str:
    """DuckDB's message without its class and its advice."""
    first = str(error).splitlines()[0]
    return first.split("Error: ", 1)[-1].rstrip(": ")


# --- tables in memory -----------------------------------------------------------------------------


class ArrowStream:
    """Shows DuckDB the Arrow interface of a frame only: polars then needs no pyarrow."""

    def __init__(self, frame: object) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]


def frame_sources(
    space: Workspace,
    frame: Any,  # noqa: ANN401
    name: str,
    layout: TableLayout = BY_ITSELF,
) -> list[Source]:
    """Read whatever holds a table in memory.

    That is a frame with an Arrow interface (pandas, polars, pyarrow, DuckDB), a result table or a
    mapping of columns, rows in any collection or an array of two axes, facts or targets.
    """
    role = layout.role
    if isinstance(frame, Facts):
        arities = sorted({*frame.atoms, *frame.denied}) if not role.is_numeric else ()
        sources = [_atoms_source(space, frame, arity, name) for arity in arities]
        with_numbers = role is Role.FACTS or role.is_numeric
        if with_numbers:
            sources += _number_sources(space, frame, name)
        return sources + (_type_sources(space, frame, name) if role is Role.FACTS else [])
    view = registered(space, frame.to_table() if isinstance(frame, Targets) else frame, name)
    if view is None:
        return [_rows_source(space, name, _rows(frame, name), layout)]
    return [table_source(space.connection, name, view, layout, is_frame=True)]


def frame_rows(frame: object, name: str, fields: Sequence[str]) -> Iterator[Row]:
    """Numbered rows of a frame or of tuples: the columns of those names, or all where some lack."""
    with workspace() as space:
        view = registered(space, frame, name)
        if view is None:
            for at, row in enumerate(_rows(frame, name), start=1):
                yield at, cast("Sequence[object]", row)
        else:
            table = space.connection.table(view)
            present = [field for field in fields if field in table.columns]
            if len(present) > 1:
                table = table.select(*present)
            yield from enumerate(table.fetchall(), start=1)


def registered(space: Workspace, frame: Any, name: str) -> str | None:  # noqa: ANN401
    """The view of a frame that has columns; None where it has rows alone."""
    connection, view = space.connection, space.fresh("frame")
    if _library_of(frame) == "polars" and hasattr(frame, "collect"):
        frame = frame.collect()
    if isinstance(frame, ResultTable | Mapping):
        connection.register(view, _arrays(frame, name))
    elif _library_of(frame) == "pandas":
        connection.register(view, frame)
    elif hasattr(frame, "__arrow_c_stream__"):
        # DuckDB before 2.0 has pyarrow filter what joins exclude, which fails on polars' texts;
        # and no join here excludes anything: every name has its id
        connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")
        connection.register(view, ArrowStream(frame))
        if not hasattr(frame, "__len__"):  # a stream: it can be read once only
            connection.execute(f"CREATE TEMP TABLE stored_{view} AS FROM {view}")
            view = f"stored_{view}"
    else:
        return None
    return view


def _library_of(frame: object) -> str:
    return type(frame).__module__.split(".")[0]


def _arrays(columns: ResultTable | Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        table = columns if isinstance(columns, ResultTable) else ResultTable(columns)
        arrays = table.arrays
    except (TypeError, ValueError) as error:
        raise DataError(name, f"expected columns of one length by name: {error}") from None
    return {column: _known_to_duckdb(cells, name, column) for column, cells in arrays.items()}


def _known_to_duckdb(cells: Array, name: str, column: str) -> Array:
    """An array of a type that DuckDB reads: NumPy's dates are days as objects, hours seconds."""
    if cells.dtype.kind == "M":
        unit = np.datetime_data(cells.dtype)[0]
        if unit in ("Y", "M", "W", "D"):
            return cells.astype("datetime64[D]").astype(object)
        return cells.astype("datetime64[s]") if unit in ("h", "m") else cells
    if cells.dtype.kind in "SVc":
        expected = "expected texts, numbers, truth values or dates"
        raise DataError(name, f"column {column!r} has the type {cells.dtype}; {expected}")
    return cells


def _rows(frame: Any, name: str) -> Sequence[object]:  # noqa: ANN401
    """Rows of a collection, of an iterator, or of an array."""
    if isinstance(frame, np.ndarray) and frame.ndim == 2:
        return cast("list[object]", frame.tolist())
    if isinstance(frame, str | bytes | np.ndarray) or not isinstance(frame, Iterable):
        kind = type(frame).__name__
        problem = f"expected a path, a frame of pandas, polars or Arrow, or tuples, found {kind}"
        raise DataError(name, problem)
    rows = frame if isinstance(frame, Sequence) else list(frame)
    if not len(rows):
        raise DataError(name, "has no rows; expected at least one tuple")
    if isinstance(rows, tuple) and all(isinstance(cell, str) for cell in rows):
        raise DataError(name, f"found one tuple, {rows!r}; expected a list of tuples: [{rows!r}]")
    return rows


def _rows_source(
    space: Workspace, name: str, rows: Sequence[object], layout: TableLayout
) -> Source:
    """Rows of (subject, predicate, object[, value]); the first one decides about the value.

    Facts may be rows of (subject, predicate) too: unary. So may targets on one entity. Where the
    predicate is known, pairs may be (subject, object), and labels (subject, object, label), unless
    the second field is the predicate in every row; or (entity,) and (entity, label).
    """
    role, target = layout.role, layout.target
    if layout.time is not None:
        return _timed_rows_source(space, name, rows, layout)
    widths = [len(row) if isinstance(row, list | tuple) else 0 for row in rows]
    lacking = None if target is None else columns_without_predicate(role, widths[0])
    if lacking is not None and not _name_predicate(rows, target):
        return tuple_source(space, name, rows, RowShape(lacking, target))
    deciding = [k for k, width in enumerate(widths) if width != 2 or role is not Role.FACTS]
    width, first = 2, cast("object", ())
    if deciding:
        first = rows[deciding[0]]
        width = min(max(widths[deciding[0]], 2 if role is Role.PAIRS else 3), 4)
    if role is Role.NUMBERS and widths[0] == 3 and isinstance(cast("Any", rows[0])[2], date):
        role = Role.DATES
    fields = [*(first if isinstance(first, list | tuple) else ()), *[None] * 4][:width]
    return tuple_source(space, name, rows, RowShape.of_row(name, fields, role))


def _timed_rows_source(
    space: Workspace, name: str, rows: Sequence[object], layout: TableLayout
) -> Source:
    """Rows with a time at the place of the layout; all have as many fields as the first one."""
    first = list(rows[0]) if isinstance(rows[0], list | tuple) else []
    if WHOLE.fullmatch(layout.time or "") is None:
        problem = f"rows have no column {layout.time!r}; expected the number of the time's column"
        raise DataError(name, problem)
    timed = TimeColumn(time_place(name, layout.time or "", first))
    fields = timed.without(first)
    without = [timed.without(row) for row in rows if isinstance(row, list | tuple)]
    shape = RowShape.of_row(name, fields, layout.role)
    if layout.target is not None and not _name_predicate(without, layout.target):
        columns = columns_without_predicate(layout.role, len(fields))
        shape = shape if columns is None else RowShape(columns, layout.target)
    unit = unit_of(name, first[timed.at], row=1)
    return tuple_source(space, name, rows, timed.added_to(shape, len(fields), unit))


def _name_predicate(rows: Sequence[object], target: str | None) -> bool:
    """Whether the second field of every row is the predicate."""
    return all(isinstance(row, list | tuple) and row[1:2] in ((target,), [target]) for row in rows)


def _atoms_source(space: Workspace, facts: Facts, arity: int, name: str) -> Source:
    """The atoms of one arity of facts that were read before."""
    shape = RowShape(("a1", "predicate", *(f"a{k}" for k in range(2, arity + 1)), "value"))
    table, view = facts.to_table(arity, values=True), space.fresh("atoms")
    if facts.events is None and arity in facts.denied:
        both = {arity: united_atoms([facts.of_arity(arity), facts.denied[arity]])}
        table = replace(facts, atoms=both).to_table(arity, values=True)
    columns = dict(zip(shape.columns, table.arrays.values(), strict=True))
    if facts.events is not None:
        # one row per event, with its time
        below = sum(len(some) for other, some in facts.atoms.items() if other < arity)
        rows = facts.event_rows - below
        of_arity = (rows >= 0) & (rows < len(facts.atoms[arity]))
        shape = replace(shape, columns=(*shape.columns, "time"), time_unit=facts.events.unit)
        columns = {column: cells[rows[of_arity]] for column, cells in columns.items()}
        times = facts.events.time[of_arity]
        texts = [facts.events.unit.text(time) for time in times.tolist()]
        table = ResultTable({**columns, "time": texts})
        columns["time"] = times
    space.connection.register(view, columns)
    # times are numbers in the view already
    steps = None if shape.time_unit is None else TimeUnit.STEP
    select = replace(shape, time_unit=steps).select_text(view, shape.columns)
    return shape.source(name, select, lambda: enumerate(table, start=1))


def _number_sources(space: Workspace, facts: Facts, name: str) -> list[Source]:
    """The numbers and the dates of facts that were read before, each if there are some."""
    numbers = facts.numbers
    date_ids = numbers.attributes.find(sorted(numbers.dates))
    is_date = np.isin(numbers.attribute, date_ids)
    sources = []
    for kind, rows in ((ValueKind.NUMBER, ~is_date), (ValueKind.DATE, is_date)):
        if rows.any():
            table = ResultTable(
                {
                    "a1": NamedIds(facts.entities, numbers.entity[rows]),
                    "predicate": NamedIds(numbers.attributes, numbers.attribute[rows]),
                    "value": numbers.value[rows],
                }
            )
            view = space.fresh("numbers")
            space.connection.register(view, table.arrays)
            shape = RowShape(NUMBER_POSITIONS, value_kind=kind)
            # days are numbers already
            select = replace(shape, value_kind=ValueKind.NUMBER).select_text(view, shape.columns)
            sources.append(shape.source(name, select, partial(enumerate, table, start=1)))
    return sources


def _type_sources(space: Workspace, facts: Facts, name: str) -> list[Source]:
    """The types of entities of facts that were read before, if there are some."""
    types, shape = facts.types, RowShape(("a1", "predicate"), value_kind=ValueKind.NONE)
    if not len(types.entity):
        return []
    columns = (NamedIds(facts.entities, types.entity), NamedIds(types.kinds, types.kind))
    table = ResultTable(dict(zip(shape.columns, columns, strict=True)))
    view = space.fresh("types")
    space.connection.register(view, table.arrays)
    select = shape.select_text(view, shape.columns)
    return [shape.source(name, select, partial(enumerate, table, start=1))]


def tuple_source(space: Workspace, name: str, tuples: Sequence[object], shape: RowShape) -> Source:
    """Check rows in memory at once and put them into columns that DuckDB scans in place."""

    def rows() -> Iterator[Row]:
        for at, row in enumerate(tuples, start=1):
            if not isinstance(row, list | tuple):
                raise DataError(name, f"expected a tuple, found {quote(str(row))}", row=at)
            yield at, [None if isinstance(cell, float) and cell != cell else cell for cell in row]

    view = space.fresh("tuples")
    fields = [f"c{i}" for i in range(len(shape.columns))]
    # values and times are numbers in the view already
    steps = None if shape.time_unit is None else TimeUnit.STEP
    ready = replace(shape, value_kind=ValueKind.TRUTH, time_unit=steps)
    select = ready.select_text(view, fields)
    source = shape.source(name, select, rows)
    mistake = first_mistake([source])
    if mistake is not None:
        raise mistake
    arrays = {}
    for i, (field, column) in enumerate(zip(fields, shape.columns, strict=True)):
        # a field may be missing where it is a value, is ignored, or a unary fact has no object
        cells = [row[i] if i < len(row) else None for _, row in rows()]
        if column == "value":
            numbers = (1.0 if cell is None else cast("float", cell) for cell in cells)
            read = float if shape.value_kind is ValueKind.TRUTH else shape.value_kind.number
            arrays[field] = np.array([read(number) for number in numbers])
        elif column == "time" and shape.time_unit is not None:
            read_time = shape.time_unit.number
            times = [read_time(time_text(cell, shape.time_unit)) for cell in cells]
            arrays[field] = np.array(times, dtype=np.int64)
        else:
            texts = [None if cell is None else str(cell) for cell in cells]
            arrays[field] = np.array(texts, dtype=object)
    space.connection.register(view, arrays)
    return source
