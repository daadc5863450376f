"""The column of times of a table: where it is, in which unit it counts, and how it is read.

A time is never taken for a truth value: the user says which column has it (`TableLayout.time`), and
what the other columns mean is decided as if it were not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from hornbeam.base.dates import TimeUnit
from hornbeam.base.texts import WHOLE, did_you_mean, quote
from hornbeam.errors import DataError
from hornbeam.facts.reading.sources import RowShape, Source, fields_found, time_text

T = TypeVar("T")

#: Marks a field that is no time.
NO_TIME = int(np.iinfo(np.int64).min)
#: Types of columns that hold times which are numbers of steps, and times of day.
STEP_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
MOMENT_TYPES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
                "TIMESTAMP WITH TIME ZONE")  # fmt: skip


@dataclass(frozen=True)
class TimeColumn:
    """The place of the times among the fields of a table, counted from 0."""

    at: int
    header: bool | None = None  #: whether the first line is a header; None where its fields decide

    def without(self, fields: Sequence[T]) -> list[T]:
        """The other fields."""
        return [*fields[: self.at], *fields[self.at + 1 :]]

    def added_to(self, shape: RowShape, width: int, unit: TimeUnit) -> RowShape:
        """The shape of rows of `width` other fields, with the time; all have the same width."""
        columns = list(shape.columns[:width])
        columns.insert(self.at, "time")
        whole = replace(shape, columns=tuple(columns), time_unit=unit)
        return replace(whole, optional_last=False, unary=False)


class NoTimeColumnError(DataError):
    """A table lacks the column of times that a user names."""


def time_place(name: str, wanted: str, fields: Sequence[str], line: int | None = None) -> int:
    """The place of the column that a user names, or numbers from 1 on, among some fields."""
    if WHOLE.fullmatch(wanted):
        place = int(wanted)
        if not 1 <= place <= len(fields):
            problem = f"no column {wanted} for the time: {fields_found(fields)}"
            raise NoTimeColumnError(name, f"{problem}; expected a time in every row", line=line)
        return place - 1
    if wanted not in fields:
        shown = ", ".join(map(quote, fields[:8]))
        hint = did_you_mean(wanted, fields)
        problem = f"no column {wanted!r} for the time in the header; found {shown}.{hint}"
        raise NoTimeColumnError(name, problem, line=line)
    return list(fields).index(wanted)


def unit_of(name: str, field: object, **place: int) -> TimeUnit:
    """The unit of a time by its text, or by its type."""
    unit = TimeUnit.of_text(time_text(field)) if field is not None else None
    if unit is None:
        found = "nothing" if field in (None, "") else quote(str(field))
        problem = "expected a time (a date such as 2014-11-30, a timestamp or a whole number), "
        raise DataError(name, f"{problem}found {found}", **place)
    return unit


def one_unit(sources: Sequence[Source]) -> TimeUnit | None:
    """The unit of the times of all sources, None where none has times; all others are refused."""
    first = sources[0] if sources else None
    for source in sources:
        if first is not None and source.time_unit is not first.time_unit:
            if source.time_unit is None or first.time_unit is None:
                lacking, other = (source, first) if first.time_unit else (first, source)
                problem = f"facts without a time, and those of {other.name} have one; "
                raise DataError(lacking.name, f"{problem}expected a time for all")
            units = f"times are {source.time_unit}s here, and {first.time_unit}s in {first.name}"
            raise DataError(source.name, f"{units}; expected one unit")
    return first.time_unit if first is not None else None


def check_has_times(name: str, time: str | None) -> None:
    """Refuse a time of an input that has no column for it."""
    if time is not None:
        problem = "has no column for the time; expected TSV, CSV, Parquet, DuckDB, a frame or rows"
        raise DataError(name, problem)
