"""RDF: N-Triples, N-Quads and Turtle, plain or gzipped, through pyoxigraph (an optional extra).

IRIs become names by their text, blank nodes as `_:label`, literals in their N-Triples form, where
TAB, CR and LF are escaped. A triple `x rdf:type C` is the unary fact C(x). Graph names are dropped.
Blank nodes of one label are one entity, also across files; those without a label are numbered in
their order, as `_:[file.number]`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from hornbeam.errors import DataError, MissingExtraError
from hornbeam.facts.reading.headers import TableLayout
from hornbeam.facts.reading.sources import Role, Row, Source
from hornbeam.facts.reading.tables import table_source
from hornbeam.facts.reading.workspace import File, Workspace

#: Triples inserted at once.
CHUNK = 100_000

#: The predicate of an entity's class.
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

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
    space.connection.execute(
        f"CREATE TEMP TABLE {table} (subject VARCHAR, predicate VARCHAR, object VARCHAR)"
    )
    triples = _triples(file, suffix, anonymous=f"_:[{table.removeprefix('rdf_')}.")
    # a fact of a type is about one entity
    typed = ((s, o, None) if p == TYPE and role is Role.FACTS else (s, p, o) for s, p, o in triples)
    while chunk := list(islice(typed, CHUNK)):
        columns = [np.array(cells, dtype=object) for cells in zip(*chunk, strict=True)]
        view = dict(zip(("subject", "predicate", "object"), columns, strict=True))
        space.connection.register("rdf_chunk", view)
        space.connection.execute(f"INSERT INTO {table} SELECT * FROM rdf_chunk")  # noqa: S608
        space.connection.unregister("rdf_chunk")
    source = table_source(space.connection, file.name, table, TableLayout(role=role))
    if role is not Role.FACTS:
        return source

    def rows() -> Iterator[Row]:
        return ((at, cells if cells[2] is not None else cells[:2]) for at, cells in source.rows())

    return replace(source, rows=rows, unary=True)


def _triples(file: File, suffix: str, anonymous: str) -> Iterator[tuple[str, str, str]]:
    """Names of subject, predicate and object of every triple in the file."""
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
                yield name(quad.subject), quad.predicate.value, name(quad.object)
    except SyntaxError as error:
        kind = {".nt": "N-Triples", ".nq": "N-Quads", ".ttl": "Turtle"}[suffix]
        problem = (error.msg or "").split(": ", 1)[-1]
        raise DataError(file.name, f"{problem}; expected {kind}", line=error.lineno) from None
