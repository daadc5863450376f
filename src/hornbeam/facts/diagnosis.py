"""After the fast reader failed: find the first wrong line and say what was expected there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hornbeam.errors import DataError
from hornbeam.facts.sources import Source

FORBIDDEN = {"\t": "a TAB", "\r": "a carriage return", "\n": "a line feed", "\0": "a NUL"}
WORDS = {"a1": "subject", "a2": "object", "predicate": "predicate", "value": "truth value"}


def first_mistake(sources: Sequence[Source]) -> DataError | None:
    """The first mistake of form in any of the sources, or None."""
    for source in sources:
        for at, fields in source.rows():
            problem = _problem(source, fields)
            if problem is not None:
                return source.error(problem, at)
    return None


def _problem(source: Source, fields: Sequence[object]) -> str | None:
    expected = len(source.columns)
    if len(fields) != expected:
        listed = ", ".join(WORDS.get(column, column) for column in source.columns if column)
        plural = "s" * (len(fields) != 1)
        return f"expected {expected} fields ({listed}), found {len(fields)} field{plural}"
    for column, field in zip(source.columns, fields, strict=True):
        if column == "":
            continue
        problem = _value_problem(field) if column == "value" else _name_problem(column, field)
        if problem is not None:
            return problem
    return None


def _name_problem(column: str, field: object) -> str | None:
    word = WORDS.get(column, f"argument {column[1:]}")
    if field is None or field == "":
        return f"the {word} is empty; expected a name"
    for character, called in FORBIDDEN.items():
        if character in str(field):
            return f"the {word} holds {called}; names may hold anything else"
    return None


def _value_problem(field: object) -> str | None:
    try:
        number = float(str(field))
    except ValueError:
        return f"expected a number in [0, 1], found {str(field)!r}"
    if math.isnan(number) or not 0.0 <= number <= 1.0:
        return f"expected a truth value in [0, 1], found {str(field)!r}"
    return None


def contradiction(sources: Sequence[Source], atom: Mapping[str, str], what: str) -> DataError:
    """Name the two places that give one atom (column -> name) two different values."""
    first: tuple[Source, int, float] | None = None
    for source in sources:
        for at, fields in source.rows():
            row = dict(zip(source.columns, fields, strict=True))
            # A PSL partition names its predicate once for the file, not in every row.
            if any(str(row[column]) != name for column, name in atom.items() if column in row):
                continue
            value = float(str(row.get("value", 1)))
            if first is None:
                first = (source, at, value)
            elif value != first[2]:
                where = f"{first[0].name}, {first[0].unit} {first[1]}"
                problem = f"this {what} has value {value:g} here but {first[2]:g} in {where}"
                return source.error(problem, at)
    return DataError(sources[0].name, f"the same {what} has two values")
