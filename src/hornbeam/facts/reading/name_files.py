"""Reading names of entities: rows of id and name, or id, name and type."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from hornbeam.errors import DataError, InputError
from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.reading.diagnosis import name_problem, quote
from hornbeam.facts.reading.input_files import find_file
from hornbeam.facts.reading.sources import Row
from hornbeam.facts.reading.text import field_lines
from hornbeam.files import working_folder

#: What the fields are called in messages, and in a header.
FIELDS = ("id", "name", "type")


def read_names(*inputs: str | os.PathLike[str] | Sequence[Sequence[str]]) -> EntityNames:
    """Read names of entities, `id, name[, type]`, from TSV or CSV files or from tuples.

    Raises
    ------
    hornbeam.errors.DataError
        Naming the file, the line and what was expected there.

    Examples
    --------
    >>> read_names([("/m/06c62", "Rome", "city"), ("/m/03rjj", "Italy")])
    EntityNames(2 names, 1 types)
    """
    if not inputs:
        raise InputError("no names given; expected at least one file")
    names, types, places = dict[str, str](), dict[str, str](), dict[str, str]()
    for number, given in enumerate(inputs, start=1):
        is_file = isinstance(given, str | os.PathLike)
        source = os.fspath(given) if is_file else f"frame {number}"  # type: ignore[arg-type]
        unit = "line" if is_file else "row"
        for at, fields in _rows(given):
            problem = _problem(fields)
            entity, name, kind = [*map(str, fields), ""][:3] if problem is None else ("", "", "")
            if problem is None and names.get(entity, name) != name:
                problem = (
                    f"{quote(entity)} is {quote(name)} here and {quote(names[entity])} in "
                    f"{places[entity]}; expected one name"
                )
            if problem is not None:
                raise DataError(source, problem, **{unit: at})
            names[entity], places[entity] = name, f"{source}, {unit} {at}"
            if kind:
                types[entity] = kind
    return EntityNames(names, types)


def _rows(given: str | os.PathLike[str] | Sequence[Sequence[str]]) -> Iterator[Row]:
    """Numbered rows of a file or of tuples; a header is left out."""
    if not isinstance(given, str | os.PathLike):
        yield from enumerate(given, start=1)
        return
    item = os.fspath(given)
    is_csv = Path(item.lower().removesuffix(".gz")).suffix == ".csv"
    with working_folder() as folder:
        file = find_file(item, folder)
        for k, (at, fields) in enumerate(field_lines(file, "," if is_csv else "\t")):
            if k or tuple(field.strip().casefold() for field in fields) != FIELDS[: len(fields)]:
                yield at, fields


def _problem(fields: Sequence[object]) -> str | None:
    if len(fields) not in (2, 3):
        found = f"found {len(fields)} field{'s' * (len(fields) != 1)}"
        return f"expected 2 or 3 fields (id, name, [type]), {found}"
    for word, field in zip(FIELDS, fields, strict=False):
        # a type may be left empty
        problem = None if word == "type" and field == "" else name_problem(word, field)
        if problem is not None:
            return problem
    return None
