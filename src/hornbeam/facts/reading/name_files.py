"""Reading names of entities: rows of id and name, or id, name and type; or taken from the facts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from hornbeam.base.files import working_folder
from hornbeam.base.texts import quote
from hornbeam.errors import DataError, InputError
from hornbeam.facts.entity_names import NO_NAMES, EntityNames, names_in
from hornbeam.facts.reading.frames import frame_rows
from hornbeam.facts.reading.input_files import find_file, suffix_of
from hornbeam.facts.reading.readers import Input, read_facts
from hornbeam.facts.reading.sources import Row, name_problem
from hornbeam.facts.reading.text import field_lines
from hornbeam.facts.table import Facts

#: What the fields are called in messages, and in a header.
FIELDS = ("id", "name", "type")


def read_names(*inputs: Input) -> EntityNames:
    """Read names of entities, `id, name[, type]`, from files, frames, tuples, or as a mapping.

    From facts, and from files of RDF, labels (`rdfs:label`) and types (`rdf:type`) are taken, or
    types from prefixes of all ids, such as `Gene::`.

    Raises
    ------
    hornbeam.errors.DataError
        Naming the file, the line and what was expected there.

    Examples
    --------
    >>> read_names([("/m/06c62", "Rome", "city"), ("/m/03rjj", "Italy")])
    EntityNames(2 names, 1 types)
    >>> read_names({"/m/06c62": "Rome"}).named("/m/06c62")
    'Rome'
    """
    if not inputs:
        raise InputError("no names given; expected at least one file")
    names, types, places = dict[str, str](), dict[str, str](), dict[str, str]()
    for number, given in enumerate(inputs, start=1):
        source, unit = f"frame {number}", "row"
        if isinstance(given, str | os.PathLike):
            source, unit = str(os.fspath(given)), "line"
        ready = _ready_names(given)
        if ready is not None:
            names.update(ready.names)
            types.update(ready.types)
            continue
        for at, fields in _rows(given, source):
            problem = _problem(fields)
            entity, name, kind = [*map(str, fields), ""][:3] if problem is None else ("", "", "")
            if problem is None and names.get(entity, name) != name:
                problem = (
                    f"{quote(entity)} is {quote(name)} here and {quote(names[entity])} in "
                    f"{places.get(entity, 'the facts')}; expected one name"
                )
            if problem is not None:
                raise DataError(source, problem, **{unit: at})
            names[entity], places[entity] = name, f"{source}, {unit} {at}"
            if kind:
                types[entity] = kind
    return EntityNames(names, types)


def as_names(given: Input | None) -> EntityNames:
    """Names unchanged, or read from whatever `read_names` takes; None gives no names."""
    if given is None:
        return NO_NAMES
    return given if isinstance(given, EntityNames) else read_names(given)


def _ready_names(given: Input) -> EntityNames | None:
    """Names that need not be read row by row; None where they are rows."""
    if isinstance(given, EntityNames):
        return given
    if isinstance(given, Facts):
        return names_in(given)
    if isinstance(given, str | os.PathLike) and suffix_of(given) in (".nt", ".nq", ".ttl"):
        return names_in(read_facts(given))
    return None


def _rows(given: Input, source: str) -> Iterator[Row]:
    """Numbered rows of a file, a frame, tuples or a mapping; a header is left out."""
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given.values()):
        yield from enumerate(given.items(), start=1)
        return
    if not isinstance(given, str | os.PathLike):
        for at, cells in frame_rows(given, source, FIELDS):
            # a frame has a type for all entities or for none, and then an empty one
            yield at, ["" if k == 2 and cell is None else cell for k, cell in enumerate(cells)]
        return
    item = os.fspath(given)
    with working_folder() as folder:
        lines = field_lines(find_file(item, folder), "," if suffix_of(item) == ".csv" else "\t")
        for k, (at, fields) in enumerate(lines):
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
