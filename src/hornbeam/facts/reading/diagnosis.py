"""Diagnosis after the fast reader failed: the first wrong line and what was expected there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hornbeam.base.plain_numbers import number_in
from hornbeam.base.printable import quote
from hornbeam.errors import DataError
from hornbeam.facts.reading.sources import Source, arity_of
from hornbeam.facts.table import ONE

FORBIDDEN = {"\t": "a TAB", "\r": "a carriage return", "\n": "a line feed", "\0": "a NUL"}
#: Shown instead of text from files outside the program's folder.
NOT_SHOWN = "something else (not shown: the file is outside the program's folder)"
WORDS = {"a1": "subject", "a2": "object", "predicate": "predicate", "value": "truth value"}


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
        found = f"found {len(fields)} field{'s' * (len(fields) != 1)}"
        least = f"{most - 1} or " * source.optional_last
        unary = " or 2 of a unary fact," * source.unary
        expected = f"{least}{most} field{'s' * (most != 1)}"
        return f"expected {expected} ({', '.join(named)}),{unary} {found}"
    for column, field in zip(source.columns, fields, strict=False):
        problem = None
        if column == "value":
            problem = _value_problem(field, source.private)
        elif column:
            problem = name_problem(_word(source, column), field)
        if problem is not None:
            return problem
    return None


def _word(source: Source, column: str) -> str:
    """Name of a column in messages; only triples have a subject and an object."""
    if column.startswith("a") and source.predicate is not None:
        return f"argument {column[1:]}"
    return WORDS.get(column, "ignored")


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


def _value_problem(field: object, private: bool) -> str | None:
    if isinstance(field, bool):
        return None
    if field is None or field == "":
        return "the truth value is missing; expected a number in [0, 1]"
    text = str(field)
    try:
        number = number_in(text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= 1.0:
        return f"expected a truth value in [0, 1], found {NOT_SHOWN if private else quote(text)}"
    return None


def contradiction(sources: Sequence[Source], atom: Mapping[str, str]) -> DataError:
    """Name the two places that give one atom (column -> name) two different values."""
    first: tuple[str, float] | None = None
    sources = [s for s in sources if s.predicate in (None, atom["predicate"])]
    for source in sources:
        for at, fields in source.rows():
            row = dict(zip(source.columns, fields, strict=False))
            if any(str(row[column]) != name for column, name in atom.items() if column in row):
                continue
            value = float(str(row.get("value", 1)))
            if first is None:
                first = (source.place(at), value)
            elif round(value * ONE) != round(first[1] * ONE):
                return source.error(
                    f"{atom_text(atom)} has value {value:g} here and {first[1]:g} in {first[0]}; "
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
