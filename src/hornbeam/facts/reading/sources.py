"""Sources: every input as one SQL select of (predicate, arguments, value), and its rows.

A `Source` can be read in two ways: by `select`, which DuckDB runs at full speed, and by `rows`, a
slow and strict scan in plain Python that only names the line of a mistake once `select` failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hornbeam.errors import DataError

Row = tuple[int, Sequence[object]]

#: What the fields mean where nothing names them. A unary fact has the first two.
POSITIONS = ("a1", "predicate", "a2", "value")


class Role(StrEnum):
    """What the rows are read as, which decides about the value column."""

    FACTS = "facts"  #: value optional, absent means 1
    LABELS = "labels"  #: value required
    PAIRS = "pairs"  #: value ignored

    @property
    def expected(self) -> str:
        """The columns a table needs in this role, for messages."""
        last = {
            "facts": "[, value] (of a unary fact: subject, predicate)",
            "labels": ", label",
            "pairs": "",
        }[self.value]
        return f"subject, predicate, object{last}"


@dataclass(frozen=True)
class Source:
    """One table of atoms of one arity; unary facts may be among triples."""

    name: str
    #: SQL that yields `predicate`, `a1` .. `ak` as text and `value` as a double; the predicate is
    #: NULL where a row is malformed, and `a2` of a unary fact among triples.
    select: str
    #: What each field of a row stands for: "predicate", "a1" .., "value" or "" (ignored).
    columns: tuple[str, ...]
    #: The strict scan: (line or row number, fields). It raises `DataError` at a place that cannot
    #: be split into fields.
    rows: Callable[[], Iterator[Row]]
    unit: str = "line"  #: "line" for text files, "row" for tables
    #: The one predicate of all rows, where they do not name it themselves.
    predicate: str | None = None
    optional_last: bool = False  #: whether rows may lack the last field
    #: Whether rows of triples may be unary facts: these have the first two fields, and no value.
    unary: bool = False
    #: Whether messages about malformed rows hide the text: a program may name any readable file,
    #: also one that is private.
    private: bool = False

    @property
    def arity(self) -> int:
        """Number of arguments; that of triples where unary facts are among them."""
        return arity_of(self.columns)

    @property
    def arities(self) -> set[int]:
        """Every number of arguments that rows may have."""
        return {self.arity, 1} if self.unary else {self.arity}

    @property
    def valued(self) -> bool:
        """Whether rows carry a truth value."""
        return "value" in self.columns

    def place(self, at: int) -> str:
        """Name of one of the rows in messages."""
        return f"{self.name}, {self.unit} {at}"

    def error(self, problem: str, at: int | None = None) -> DataError:
        """Make a `DataError` at a line or row of this source."""
        return DataError(self.name, problem, **{self.unit: at})


def arity_of(columns: Sequence[str]) -> int:
    """How many of the columns are arguments."""
    return sum(column.startswith("a") for column in columns)


def literal(text: str) -> str:
    """Text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def number_text(cell: str) -> str:
    """SQL of a text that is to be a number: DuckDB would take 1_0 for 10."""
    return f"replace({cell}, '_', '?')"


def select_text(
    scan: str,
    columns: tuple[str, ...],
    fields: Sequence[str],
    predicate: str | None = None,
    valued: str = "",
    valid: str = "",
) -> str:
    """Write the select that turns a scan's fields into (predicate, a1 .. ak, value).

    Where the condition `valued` fails, the value is 1. Where `valid`
    fails, the predicate is NULL, which marks the row as malformed.
    """
    place = dict(zip(columns, fields, strict=True))
    wanted = [f"CAST({place[f'a{k}']} AS VARCHAR) AS a{k}" for k in range(1, arity_of(columns) + 1)]
    named = literal(predicate) if predicate is not None else place["predicate"]
    named = f"CASE WHEN {valid} THEN {named} END" if valid else named
    value = f"CAST({place['value']} AS DOUBLE)" if "value" in place else "1.0"
    value = f"CASE WHEN {valued} THEN {value} ELSE 1.0 END" if valued else value
    return (
        f"SELECT CAST({named} AS VARCHAR) AS predicate, {', '.join(wanted)}, {value} AS value "  # noqa: S608
        f"FROM {scan}"
    )


def for_role(
    name: str, columns: tuple[str, ...], role: Role, line: int | None = None
) -> tuple[str, ...]:
    """Adapt the columns to a role: labels need values, pairs ignore them."""
    if role is Role.LABELS and "value" not in columns:
        raise DataError(name, f"no labels found; expected {role.expected}", line=line)
    if role is Role.PAIRS:
        return tuple("" if column == "value" else column for column in columns)
    return columns
