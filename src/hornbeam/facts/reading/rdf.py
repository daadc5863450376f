"""RDF: N-Triples, N-Quads and Turtle, plain or gzipped, through pyoxigraph (an optional extra).

IRIs become names by their text, blank nodes as `_:label`, literals in their N-Triples form, where
TAB, CR and LF are escaped. A triple `x rdf:type C` is the unary fact C(x). Graph names are dropped.
Blank nodes of one label are one entity, also across files; those without a label are numbered in
their order, as `_:[file.number]`.

Literals are numbers by their type, and only where they are read as numbers (`rdf_numbers`).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hornbeam.base.texts import quote
from hornbeam.errors import DataError, MissingExtraError
from hornbeam.facts.reading.headers import TableLayout
from hornbeam.facts.reading.sources import (
    NUMBER_POSITIONS,
    Role,
    Row,
    RowShape,
    Source,
    ValueKind,
)
from hornbeam.facts.reading.tables import table_source, tuple_source
from hornbeam.facts.reading.workspace import File, Workspace

if TYPE_CHECKING:
    from pyoxigraph import Literal

#: Formats by the suffixes of their files.
RDF_NAMES = {".nt": "N-Triples", ".nq": "N-Quads", ".ttl": "Turtle"}
#: The predicate of an entity's class.
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

#: Types of literals that are numbers or dates, in the namespace of XML Schema.
XSD = "http://www.w3.org/2001/XMLSchema#"
KINDS = dict.fromkeys(
    ("integer", "decimal", "double", "float", "gYear", "int", "long", "short", "byte",
     "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger",
     "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    ValueKind.NUMBER,
) | dict.fromkeys(("date", "dateTime", "dateTimeStamp"), ValueKind.DATE)  # fmt: skip
#: The time of day and the zone after a date or a year, which are left out.
AFTER_DATE = re.compile(r"(?:T.*)?(?:Z|[+-]\d\d:\d\d)?$")

#: What the parser calls a blank node that the file leaves without a label: a random number of 128
#: bits, without leading zeros, that starts with a letter.
ANONYMOUS = re.compile(r"[a-f][0-9a-f]{23,31}")


def rdf_source(space: Workspace, file: File, role: Role, suffix: str) -> Source:
    """Read an RDF file (suffix .nt, .nq or .ttl) into a table of the workspace.

    As facts, types are unary: their object is NULL. A pair to score stays a pair.
    """
    if role is Role.LABELS:
        problem = "RDF holds no labels; expected a table of subject, predicate, object, label"
        raise DataError(file.name, problem)
    table = space.fresh("rdf")
    triples = (names for *names, _ in _triples(file, suffix, _anonymous(table)))
    # a fact of a type is about one entity
    typed = ((s, o, None) if p == TYPE and role is Role.FACTS else (s, p, o) for s, p, o in triples)
    space.insert(table, ("subject", "predicate", "object"), typed)
    source = table_source(space.connection, file.name, table, TableLayout(role=role))
    if role is not Role.FACTS:
        return source

    def rows() -> Iterator[Row]:
        return ((at, cells if cells[2] is not None else cells[:2]) for at, cells in source.rows())

    return replace(source, rows=rows, unary=True)


def rdf_numbers(space: Workspace, file: File, role: Role, suffix: str) -> list[Source]:
    """The literals of an RDF file that are numbers or dates by their type; as dates, only those."""
    rows: dict[ValueKind, list[object]] = {ValueKind.NUMBER: [], ValueKind.DATE: []}
    for s, p, o, literal in _triples(file, suffix, _anonymous(space.fresh("rdf"))):
        kind = KINDS.get(literal.datatype.value.removeprefix(XSD)) if literal is not None else None
        if literal is None or kind is None or (role is Role.DATES and kind is ValueKind.NUMBER):
            continue
        text = literal.value
        if kind is ValueKind.DATE or literal.datatype.value == f"{XSD}gYear":
            text = AFTER_DATE.sub("", text)
        problem = kind.problem(text)
        if problem is not None:
            raise DataError(file.name, f"{quote(p)} of {quote(s)} is {quote(o)}: {problem}")
        rows[kind].append((s, p, text))
    if not any(rows.values()):
        expected = "a date" if role is Role.DATES else "a number or a date"
        problem = f"no literal is {expected} by its type; expected some, such as xsd:date"
        raise DataError(file.name, problem)
    return [
        tuple_source(space, file.name, of_kind, RowShape(NUMBER_POSITIONS, value_kind=kind))
        for kind, of_kind in rows.items()
        if of_kind
    ]


def _anonymous(table: str) -> str:
    """The beginning of names of blank nodes without a label, from the name of a fresh table."""
    return f"_:[{table.removeprefix('rdf_')}."


def _triples(
    file: File, suffix: str, anonymous: str
) -> Iterator[tuple[str, str, str, Literal | None]]:
    """Names of subject, predicate and object of every triple, and the object if a literal."""
    try:
        from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse
        from pyoxigraph import Triple as QuotedTriple
    except ImportError:
        raise MissingExtraError("reading RDF", "rdf") from None
    layouts = {".nt": RdfFormat.N_TRIPLES, ".nq": RdfFormat.N_QUADS, ".ttl": RdfFormat.TURTLE}
    unlabelled: dict[str, str] = {}

    def name(term: NamedNode | BlankNode | Literal | QuotedTriple) -> str:
        if isinstance(term, NamedNode):
            return term.value
        # Random labels would give other names at every run; brackets cannot be in a label.
        if isinstance(term, BlankNode) and suffix == ".ttl" and ANONYMOUS.fullmatch(term.value):
            return unlabelled.setdefault(term.value, f"{anonymous}{len(unlabelled) + 1}]")
        return str(term)

    try:
        with file.path.open("rb") as stream:
            if stream.read(3) != codecs.BOM_UTF8:
                stream.seek(0)
            for quad in parse(stream, format=layouts[suffix]):
                literal = quad.object if isinstance(quad.object, Literal) else None
                yield name(quad.subject), quad.predicate.value, name(quad.object), literal
    except SyntaxError as error:
        problem = f"{(error.msg or '').split(': ', 1)[-1]}; expected {RDF_NAMES[suffix]}"
        raise DataError(file.name, problem, line=error.lineno) from None
