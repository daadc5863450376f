"""Sources: every input as one SQL select of (predicate, arguments, value), and its rows.

A `Source` can be read in two ways: by `select`, which DuckDB runs at full speed, and by `rows`, a
slow and strict scan in plain Python. Once `select` failed, the scan finds the first wrong row, and
says what was expected there (`first_mistake`, `contradiction`, `change_of_arity`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from hornbeam.base.dates import DATED, TimeUnit, day_number
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.texts import number_in, quote
from hornbeam.errors import DataError
from hornbeam.facts.table import ONE

Row = tuple[int, Sequence[object]]

#: What the fields mean where nothing names them. A unary fact has the first two.
POSITIONS = ("a1", "predicate", "a2", "value")
#: Names of columns in messages.
WORDS = {"a1": "subject", "a2": "object", "predicate": "predicate", "value": "truth value",
         "time": "time"}  # fmt: skip
#: What the fields mean of a labelled target on one entity.
ONE_ENTITY = ("a1", "predicate", "value")
#: What the fields mean of a number: an entity, its attribute and the value.
NUMBER_POSITIONS = ONE_ENTITY
#: Names of the columns of numbers in messages.
NUMBER_WORDS = {"a1": "entity", "predicate": "attribute", "value": "value"}
#: Maximum number of arguments of a predicate: an atom is walked between any two of them.
MAX_ARITY = 8
#: Characters that no name has, and what messages call them.
FORBIDDEN = {"\t": "a TAB", "\r": "a carriage return", "\n": "a line feed", "\0": "a NUL"}
#: What others write where a value is missing.
MISSING = {"na", "n/a", "nan", "null", "none", "nil", "-", "?", "."}
#: Shown instead of text from files outside the program's folder.
NOT_SHOWN = "something else (not shown: the file is outside the program's folder)"


class ValueKind(StrEnum):
    """What the values of a table are; dates are read as numbers of days."""

    TRUTH = "truth value in [0, 1]"
    NUMBER = "finite number"
    DATE = "date, such as 1931-05-04"
    NONE = "type"  #: rows have no value, and say of which type (`predicate`) an entity is

    def in_sql(self, field: str, is_text: bool) -> str:
        """A field as a double; a text that is none of this kind is an error of SQL or NULL."""
        if self is not ValueKind.DATE:
            # DuckDB would take 1_0 for 10
            number = f"replace({field}, '_', '?')" if is_text else field
            return f"CAST({number} AS DOUBLE)"
        cell = f"substr({field}, 1, 10)" if is_text else field
        day = f"CAST(CAST({cell} AS DATE) - DATE '1970-01-01' AS DOUBLE)"
        written = f"regexp_full_match({field}, {literal(DATED.pattern)})"
        return f"CASE WHEN {written} THEN {day} END" if is_text else day

    def problem(self, field: object, private: bool = False) -> str | None:
        """What is wrong with a value, or None."""
        if self is ValueKind.TRUTH and isinstance(field, bool):
            return None
        if field is None or field == "":
            word = "truth value" if self is ValueKind.TRUTH else "value"
            return f"the {word} is missing; expected a {self.expected}"
        try:
            number = self.number(field)
        except ValueError:
            number = math.nan
        least, most = (0.0, 1.0) if self is ValueKind.TRUTH else (-MAX_NUMBER, MAX_NUMBER)
        if least <= number <= most:
            return None
        limit = f" of at most {most:g}" * (self is ValueKind.NUMBER and math.isfinite(number))
        is_time = TimeUnit.of_text(time_text(field)) in (TimeUnit.DAY, TimeUnit.SECOND)
        hint = "; `time` names a column of times" * (self is ValueKind.TRUTH and is_time)
        if self is not ValueKind.TRUTH and str(field).strip().casefold() in MISSING:
            hint = "; a missing value is an empty cell of a table, or no line"
        found = NOT_SHOWN if private else quote(str(field))
        return f"expected a {self}{limit}, found {found}{hint}"

    @property
    def expected(self) -> str:
        """The value in messages about one that is missing."""
        return "number in [0, 1]" if self is ValueKind.TRUTH else self.value

    def number(self, field: object) -> float:
        """The number of a value; a ValueError where it is of another kind."""
        if self is not ValueKind.DATE:
            return number_in(str(field))
        if isinstance(field, datetime) and field.tzinfo is not None:
            field = field.astimezone(UTC)  # as instants in tables
        text = str(field)
        return day_number(text[:10] if DATED.fullmatch(text) or isinstance(field, date) else text)


class Role(StrEnum):
    """What the rows are read as, which decides about the value column."""

    FACTS = "facts"  #: value optional, absent means 1
    LABELS = "labels"  #: value required
    PAIRS = "pairs"  #: value ignored
    NUMBERS = "numbers"  #: attributes of entities, value required
    DATES = "dates"  #: the same, values are days

    @property
    def value_kind(self) -> ValueKind:
        """What the values are."""
        kinds = {Role.NUMBERS: ValueKind.NUMBER, Role.DATES: ValueKind.DATE}
        return kinds.get(self, ValueKind.TRUTH)

    @property
    def is_numeric(self) -> bool:
        """Whether the rows are attributes of entities instead of atoms."""
        return self.value_kind is not ValueKind.TRUTH

    @property
    def positions(self) -> tuple[str, ...]:
        """What the columns stand for where nothing names them."""
        return NUMBER_POSITIONS if self.is_numeric else POSITIONS

    @property
    def expected(self) -> str:
        """The columns a table needs in this role, for messages."""
        if self.is_numeric:
            return "entity, attribute, value"
        last = {
            "facts": "[, value] (of a unary fact: subject, predicate)",
            "labels": ", label (of a target on one entity: entity, predicate, label)",
            "pairs": " (of a target on one entity: entity, predicate)",
        }[self.value]
        return f"subject, predicate, object{last}"

    @property
    def widths(self) -> tuple[int, ...]:
        """How many columns a table may have that are read by their order."""
        if self.is_numeric:
            return (3,)
        return (3, 4) if self is Role.LABELS else (2, 3, 4)

    def positions_of(self, width: int) -> tuple[str, ...]:
        """What the fields of a row of that width mean; labels of three are on one entity."""
        return ONE_ENTITY if self is Role.LABELS and width == 3 else self.positions[:width]


@dataclass(frozen=True)
class RowShape:
    """What the rows of a table are: atoms of one arity; unary facts may be among triples."""

    #: What each field of a row stands for: "predicate", "a1" .., "value", "time" or "" (ignored).
    columns: tuple[str, ...]
    #: The one predicate of all rows, where they do not name it themselves.
    predicate: str | None = None
    optional_last: bool = False  #: whether rows may lack the last field
    #: Whether rows of triples may be unary facts: these have the first two fields, and no value.
    unary: bool = False
    value_kind: ValueKind = ValueKind.TRUTH  #: numbers and dates are attributes, not atoms
    time_unit: TimeUnit | None = None  #: what times count, where rows have them

    @classmethod
    def of_row(
        cls, name: str, fields: Sequence[object], role: Role, line: int | None = None
    ) -> RowShape:
        """Rows of (subject, predicate, object[, value]) like one of them, of 2 to 4 fields.

        A row without an object is a unary fact, or a target on one entity.
        """
        if role is Role.PAIRS:
            usual = ONE_ENTITY if len(fields) == 2 else POSITIONS
            return cls(for_role(name, usual, role), optional_last=True)
        columns = role.positions[: len(fields)]
        if len(fields) == 3 and role.value_kind.problem(fields[2]) is None:
            columns = role.positions_of(3)
        columns = for_role(name, columns, role, line)
        unary = role is Role.FACTS and len(fields) > 2
        return cls(columns, unary=unary, value_kind=role.value_kind)

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

    def select_text(
        self,
        scan: str,
        fields: Sequence[str],
        texts: Collection[str] = (),
        valued: str = "",
        valid: str = "",
    ) -> str:
        """Write the select that turns a scan's fields into (predicate, a1 .. ak, value[, time]).

        `texts` are the fields whose numbers are text. Where the condition `valued` fails, the value
        is 1. Where `valid` fails, the predicate is NULL, which marks the row as malformed.
        """
        place = dict(zip(self.columns, fields, strict=True))
        wanted = [f"CAST({place[f'a{k}']} AS VARCHAR) AS a{k}" for k in range(1, self.arity + 1)]
        named = place["predicate"] if self.predicate is None else literal(self.predicate)
        named = f"CASE WHEN {valid} THEN {named} END" if valid else named
        value = "1.0"
        if self.valued:
            value = self.value_kind.in_sql(place["value"], place["value"] in texts)
            value = f"CASE WHEN {valued} THEN {value} ELSE 1.0 END" if valued else value
        if self.time_unit is not None:
            time = time_in_sql(self.time_unit, place["time"], place["time"] in texts)
            value = f"{value} AS value, {time} AS time"
        return (
            f"SELECT CAST({named} AS VARCHAR) AS predicate, {', '.join(wanted)}, {value}"  # noqa: S608
            f"{' AS value' if self.time_unit is None else ''} FROM {scan}"
        )

    def source(
        self, name: str, select: str, rows: Callable[[], Iterator[Row]], unit: str = "row"
    ) -> Source:
        """The source of rows of this shape."""
        shape = self.columns, self.predicate, self.optional_last, self.unary, self.value_kind
        return Source(*shape, self.time_unit, name=name, select=select, rows=rows, unit=unit)


@dataclass(frozen=True, kw_only=True)
class Source(RowShape):
    """One table of atoms, and both ways of reading its rows."""

    name: str
    #: SQL that yields `predicate`, `a1` .. `ak` as text and `value` as a double; the predicate is
    #: NULL where a row is malformed, and `a2` of a unary fact among triples.
    select: str
    #: The strict scan: (line or row number, fields). It raises `DataError` at a place that cannot
    #: be split into fields.
    rows: Callable[[], Iterator[Row]]
    unit: str  #: "line" for text files, "row" for tables
    #: Whether messages about malformed rows hide the text: a program may name any readable file,
    #: also one that is private.
    private: bool = False

    def place(self, at: int) -> str:
        """Name of one of the rows in messages."""
        return f"{self.name}, {self.unit} {at}"

    def error(self, problem: str, at: int | None = None) -> DataError:
        """Make a `DataError` at a line or row of this source."""
        return DataError(self.name, problem, **{self.unit: at})


def arity_of(columns: Sequence[str]) -> int:
    """How many of the columns are arguments."""
    return sum(column.startswith("a") for column in columns)


def argument_columns(name: str, number: int, line: int | None = None) -> tuple[str, ...]:
    """Meanings of the columns of a table with `number` arguments."""
    if number > MAX_ARITY:
        problem = f"expected at most {MAX_ARITY} arguments, found {number}"
        raise DataError(name, problem, line=line)
    return tuple(f"a{k}" for k in range(1, number + 1))


def time_in_sql(unit: TimeUnit, field: str, is_text: bool) -> str:
    """A field as a whole number of the unit; NULL where it is no such time."""
    number = f"TRY_CAST({field} AS BIGINT)"
    if unit is TimeUnit.DAY:
        number = f"CAST(TRY_CAST({field} AS DATE) - DATE '1970-01-01' AS BIGINT)"
    elif unit is TimeUnit.SECOND:
        zoned = f"regexp_matches({field}, '(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$')"
        # DuckDB 1 asks for seconds
        whole = f"regexp_replace({field}, '([T ][0-9]{{2}}:[0-9]{{2}})(Z|[+-]|$)', '\\1:00\\2')"
        utc = f"{whole} || CASE WHEN {zoned} THEN '' ELSE 'Z' END"
        moment = f"TRY_CAST({utc} AS TIMESTAMP WITH TIME ZONE)" if is_text else field
        # rounded down, also before 1970
        number = f"epoch_us({moment})"
        number = (
            f"CAST(({number} - (({number} % 1000000) + 1000000) % 1000000) // 1000000 AS BIGINT)"
        )
    if not is_text:
        return number
    written = f"regexp_full_match({field}, {literal(unit.pattern.pattern)})"
    return f"CASE WHEN {written} THEN {number} END"


def time_text(field: object, unit: TimeUnit | None = None) -> str:
    """A time as text; columns of dates may be those of a library that has only timestamps."""
    if isinstance(field, datetime) and unit is TimeUnit.DAY:
        field = field.date()
    return field.isoformat() if isinstance(field, date) else str(field)


def time_problem(unit: TimeUnit, field: object, private: bool = False) -> str | None:
    """What is wrong with a time, or None."""
    if field is None or field == "":
        return f"the time is missing; expected a {unit.expected}"
    try:
        unit.number(time_text(field, unit))
    except ValueError:
        found = NOT_SHOWN if private else quote(str(field))
        return f"expected a time, which is a {unit.expected} in the first row, found {found}"
    return None


def literal(text: str) -> str:
    """Text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Name of a column, table or schema in SQL."""
    return '"' + name.replace('"', '""') + '"'


def fields_found(fields: Sequence[object]) -> str:
    """How many fields a row has, for messages."""
    return f"found {len(fields)} field{'s' * (len(fields) != 1)}"


def for_role(
    name: str, columns: tuple[str, ...], role: Role, line: int | None = None
) -> tuple[str, ...]:
    """Adapt the columns to a role: labels need values, pairs ignore them."""
    if role is Role.LABELS and "value" not in columns:
        raise DataError(name, f"no labels found; expected {role.expected}", line=line)
    if role is Role.PAIRS:
        return tuple("" if column == "value" else column for column in columns)
    return columns


def first_mistake(sources: Sequence[Source]) -> DataError | None:
    """Find the first mistake of form in any of the sources, or None."""
    for source in sources:
        try:
            for at, fields in source.rows():
                problem = _problem(source, fields)
                if problem is not None:
                    return source.error(problem, at)
        except DataError as error:
            return error
    return None


def _problem(source: Source, fields: Sequence[object]) -> str | None:
    most = len(source.columns)
    is_unary = source.unary and len(fields) == 2
    if len(fields) not in (most, most - source.optional_last) and not is_unary:
        named = [_word(source, column) for column in source.columns]
        if source.optional_last:
            named[-1] = f"[{named[-1]}]"
        least = f"{most - 1} or " * source.optional_last
        unary = " or 2 of a unary fact," * source.unary
        expected = f"{least}{most} field{'s' * (most != 1)}"
        return f"expected {expected} ({', '.join(named)}),{unary} {fields_found(fields)}"
    for column, field in zip(source.columns, fields, strict=False):
        problem = None
        if column == "value":
            problem = source.value_kind.problem(field, source.private)
        elif column == "time" and source.time_unit is not None:
            problem = time_problem(source.time_unit, field, source.private)
        elif column:
            problem = name_problem(_word(source, column), field)
        if problem is not None:
            return problem
    return None


def _word(source: Source, column: str) -> str:
    """Name of a column in messages; only triples have a subject and an object."""
    if column.startswith("a") and source.predicate is not None:
        return f"argument {column[1:]}"
    words = WORDS if source.value_kind is ValueKind.TRUTH else NUMBER_WORDS
    return words.get(column, "ignored")


def name_problem(word: str, field: object) -> str | None:
    """What is wrong with a name, or None; `word` is what it should name."""
    if field is None or field == "":
        return f"the {word} is empty; expected a name"
    text = str(field)
    for character, called in FORBIDDEN.items():
        if character in text:
            return f"the {word} holds {called}; names may hold anything but TAB, CR, LF and NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"the {word} {quote(text)} is not Unicode text; expected whole characters"
    return None


def contradiction(
    sources: Sequence[Source], atom: Mapping[str, str], time: int | None = None
) -> DataError:
    """Name the two places that give one atom (column -> name), at a time, two different values."""
    first: tuple[str, float] | None = None
    sources = [s for s in sources if s.predicate in (None, atom["predicate"])]
    for source in sources:
        for at, fields in source.rows():
            row = dict(zip(source.columns, fields, strict=False))
            if any(str(row[column]) != name for column, name in atom.items() if column in row):
                continue
            unit = source.time_unit if time is not None else None
            if unit is not None and unit.number(time_text(row["time"], unit)) != time:
                continue
            value = float(str(row.get("value", 1)))
            if first is None:
                first = (source.place(at), value)
            elif round(value * ONE) != round(first[1] * ONE):
                stated = {
                    column: name for column, name in atom.items() if column != "a2" or "a2" in row
                }
                return source.error(
                    f"{atom_text(stated)} has value {value:g} here and {first[1]:g} in {first[0]}; "
                    "expected one value",
                    at,
                )
    return DataError(sources[0].name, f"{atom_text(atom)} has two values; expected one")


def change_of_arity(sources: Sequence[Source], predicate: str) -> DataError:
    """Name the first two places where a predicate has different numbers of arguments."""
    first: tuple[str, int] | None = None
    sources = [s for s in sources if s.predicate in (None, predicate)]
    for source in sources:
        for at, fields in source.rows():
            row = dict(zip(source.columns, fields, strict=False))
            if source.predicate is None and str(row["predicate"]) != predicate:
                continue
            arity = arity_of(list(row))
            first = first or (source.place(at), arity)
            if arity != first[1]:
                here = f"{arity} argument{'s' * (arity != 1)} here"
                return source.error(
                    f"{quote(predicate)} has {here} and {first[1]} in {first[0]}; "
                    "expected the same number",
                    at,
                )
    return DataError(
        sources[0].name, f"{quote(predicate)} has different numbers of arguments; expected one"
    )


def atom_text(atom: Mapping[str, str]) -> str:
    """Write the atom as text, long names cut."""
    arguments = [quote(name, "") for column, name in atom.items() if column != "predicate"]
    return f"{quote(atom['predicate'], '')}({', '.join(arguments)})"
