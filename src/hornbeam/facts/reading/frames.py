"""Tables in memory: frames through Arrow, columns by name, rows as tuples, facts read before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import quote
from hornbeam.errors import DataError
from hornbeam.facts.reading.headers import BY_ITSELF, TableLayout, header_columns, header_word
from hornbeam.facts.reading.sources import (
    POSITIONS,
    Role,
    Row,
    Source,
    first_mistake,
    for_role,
    select_text,
)
from hornbeam.facts.reading.tables import columns_by_name, described_source
from hornbeam.facts.reading.workspace import Workspace, workspace
from hornbeam.facts.table import Facts, Targets

#: Columns of tables without a column of predicates, where the predicate is known.
WITHOUT_PREDICATE = {Role.PAIRS: ("a1", "a2"), Role.LABELS: ("a1", "a2", "value")}


class ArrowStream:
    """Shows DuckDB the Arrow interface of a frame only: polars then needs no pyarrow."""

    def __init__(self, frame: object) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]


def frame_sources(
    space: Workspace, frame: object, role: Role, name: str, layout: TableLayout = BY_ITSELF
) -> list[Source]:
    """Read whatever holds a table in memory.

    That is a frame with an Arrow interface (pandas, polars, pyarrow, DuckDB), a result table or a
    mapping of columns, rows in any collection or an array of two axes, facts or targets.
    """
    if isinstance(frame, Facts):
        return [_atoms_source(space, frame, arity, name) for arity in sorted(frame.atoms)]
    return [_frame_source(space, frame, role, name, layout)]


def _frame_source(
    space: Workspace,
    frame: Any,  # noqa: ANN401
    role: Role,
    name: str,
    layout: TableLayout,
) -> Source:
    target = layout.target
    view = _registered(space, frame.to_table() if isinstance(frame, Targets) else frame, name)
    if view is None:
        return _rows_source(space, name, _rows(frame, name), role, target)

    def meaning(fields: Sequence[str]) -> tuple[str, ...]:
        said = layout.meaning(name, fields, role)
        said = said or _without_predicate(name, fields, role, target)
        return said or columns_by_name(name, fields, role)

    return described_source(space.connection, name, view, meaning, target)


def frame_rows(frame: object, name: str, fields: Sequence[str]) -> Iterator[Row]:
    """Numbered rows of a frame or of tuples: the columns of those names, or all where some lack."""
    with workspace() as space:
        view = _registered(space, frame, name)
        if view is None:
            for at, row in enumerate(_rows(frame, name), start=1):
                yield at, cast("Sequence[object]", row)
        else:
            table = space.connection.table(view)
            present = [field for field in fields if field in table.columns]
            if len(present) > 1:
                table = table.select(*present)
            yield from enumerate(table.fetchall(), start=1)


def _registered(space: Workspace, frame: Any, name: str) -> str | None:  # noqa: ANN401
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
        return table.arrays
    except (TypeError, ValueError) as error:
        raise DataError(name, f"expected columns of one length by name: {error}") from None


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


def _without_predicate(
    name: str, fields: Sequence[str], role: Role, target: str | None
) -> tuple[str, ...] | None:
    """Meanings of columns without a predicate, where none is needed."""
    if role not in WITHOUT_PREDICATE:
        return None
    words = [header_word(field) for field in fields]
    usual = WITHOUT_PREDICATE[role]
    columns: tuple[str, ...] | None = None
    if "predicate" not in words:
        columns = header_columns(name, fields, role, required=("a1", "a2"))
    if columns is None:
        by_place = target is not None and len(fields) == len(usual) and not any(words[:2])
        return usual if by_place else None
    if target is None:
        problem = f"expected columns {role.expected}, found {', '.join(fields)}"
        raise DataError(name, f"{problem} (or name the predicate of all: `target`)")
    return columns


def _rows_source(
    space: Workspace, name: str, rows: Sequence[object], role: Role, target: str | None
) -> Source:
    """Rows of (subject, predicate, object[, value]); the first one decides about the value.

    Facts may be rows of (subject, predicate) too: unary. Where the predicate is known, pairs may
    be (subject, object), and labels (subject, object, label).
    """
    widths = [len(row) if isinstance(row, list | tuple) else 0 for row in rows]
    lacking = WITHOUT_PREDICATE.get(role)
    if target is not None and lacking is not None and widths[0] == len(lacking):
        return tuple_source(space, name, rows, lacking, target)
    if role is Role.PAIRS:
        return tuple_source(space, name, rows, ("a1", "predicate", "a2", ""), optional_last=True)
    unary = role is Role.FACTS
    width = next((width for width in widths if width != 2 or not unary), 2)
    if width == 2 and unary:
        return tuple_source(space, name, rows, POSITIONS[:2])
    columns = for_role(name, POSITIONS[: 3 if width < 4 else 4], role)
    return tuple_source(space, name, rows, columns, unary=unary)


def _atoms_source(space: Workspace, facts: Facts, arity: int, name: str) -> Source:
    """The atoms of one arity of facts that were read before."""
    columns = ("a1", "predicate", *(f"a{k}" for k in range(2, arity + 1)), "value")
    table, view = facts.to_table(arity, values=True), space.fresh("atoms")
    space.connection.register(view, dict(zip(columns, table.arrays.values(), strict=True)))
    select = select_text(view, columns, columns)
    return Source(name, select, columns, lambda: enumerate(table, start=1), unit="row")


def tuple_source(
    space: Workspace,
    name: str,
    tuples: Sequence[object],
    columns: tuple[str, ...],
    predicate: str | None = None,
    optional_last: bool = False,
    unary: bool = False,
) -> Source:
    """Check rows in memory at once and put them into columns that DuckDB scans in place."""

    def rows() -> Iterator[Row]:
        for at, row in enumerate(tuples, start=1):
            if not isinstance(row, list | tuple):
                raise DataError(name, f"expected a tuple, found {quote(str(row))}", row=at)
            yield at, [None if isinstance(cell, float) and cell != cell else cell for cell in row]

    view = space.fresh("tuples")
    fields = [f"c{i}" for i in range(len(columns))]
    select = select_text(view, columns, fields, predicate)
    source = Source(name, select, columns, rows, "row", predicate, optional_last, unary)
    mistake = first_mistake([source])
    if mistake is not None:
        raise mistake
    arrays = {}
    for i, (field, column) in enumerate(zip(fields, columns, strict=True)):
        # a field may be missing where it is a value, is ignored, or a unary fact has no object
        cells = [row[i] if i < len(row) else None for _, row in rows()]
        if column == "value":
            numbers = (1.0 if cell is None else cast("float", cell) for cell in cells)
            arrays[field] = np.array([float(number) for number in numbers])
        else:
            texts = [None if cell is None else str(cell) for cell in cells]
            arrays[field] = np.array(texts, dtype=object)
    space.connection.register(view, arrays)
    return source
