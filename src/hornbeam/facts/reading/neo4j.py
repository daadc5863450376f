"""Neo4j's exports: CSV with typed headers, of nodes and of relationships, and APOC's one file.

    personId:ID(Person),name,born:int,:LABEL        :START_ID(Person),role,:END_ID(Film),:TYPE

Ids of a named space are only unique there, so entities are called after it: `Person:7`. Of files
without labels or types these are named before the file, as for Neo4j's own import:
`Person=persons.csv`, `ACTED_IN=roles.csv`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hornbeam.base.texts import quote
from hornbeam.errors import DataError
from hornbeam.facts.reading.headers import TableLayout
from hornbeam.facts.reading.property_graph import GraphItem, GraphReader, graph_sources, typed_text
from hornbeam.facts.reading.sources import Row, RowShape, Source, for_role, literal
from hornbeam.facts.reading.text import delimited, field_lines, text_source
from hornbeam.facts.reading.times import check_has_times
from hornbeam.facts.reading.workspace import File, Workspace

#: A column of an export: a name, its type, a space of ids, `[]` of lists, options.
COLUMN = re.compile(r"(.*?)(?::([A-Za-z_-]+)(?:\((.*)\))?(\[\])?)?(?:\{.*\})?", re.DOTALL)
#: Columns of APOC's export of everything.
APOC = {"_id": "ID", "_labels": "LABEL", "_start": "START_ID", "_end": "END_ID", "_type": "TYPE"}
#: Types of columns that are no properties.
ROLES = ("ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE")
#: Separates items of lists, and labels; in APOC's exports labels begin with a colon.
BETWEEN = re.compile("[;:]")


@dataclass(frozen=True)
class ExportColumn:
    """A column of an export by its header."""

    name: str
    role: str  #: one of `ROLES`, or "" of a property
    type: str
    space: str  #: what stands before the ids, "" without a space
    is_list: bool

    @classmethod
    def of(cls, header: str) -> ExportColumn:
        """The column of a field of the header.

        Examples
        --------
        >>> ExportColumn.of("personId:ID(Person){id-type:long}")
        ExportColumn(name='personId', role='ID', type='string', space='Person:', is_list=False)
        """
        match = COLUMN.fullmatch(header.strip())
        assert match is not None  # an untyped name is anything
        name, kind, space, many = match.groups()
        role = APOC.get(header.strip(), kind if kind in ROLES else "")
        of_type = "string" if role or kind is None else kind
        return cls(name, role, of_type, f"{space}:" if space else "", many is not None)


def neo4j_sources(
    space: Workspace, file: File, delimiter: str, layout: TableLayout
) -> list[Source] | None:
    """The sources of a file of Neo4j; None where its first line is no header of such a file."""
    if layout.header is False or layout.columns.keys() >= {"a1", "a2"}:
        return None
    line, fields = next(field_lines(file, delimiter), (0, list[str]()))
    columns = [ExportColumn.of(field) for field in fields]
    roles = [column.role for column in columns]
    for role in ROLES[:-1]:
        if role != "LABEL" and roles.count(role) > 1:
            raise DataError(file.name, f"two columns are :{role}; expected one", line=line)
    if "ID" in roles:
        reader = GraphReader(file.name, layout)
        return graph_sources(space, reader, _items(file, delimiter, line, columns, reader))
    if not {"START_ID", "END_ID"} <= set(roles):
        return None
    if "TYPE" in roles:
        plain = replace(layout, header=True, arguments_of=None)
        return [_called_after_spaces(text_source(file, delimiter, plain), columns)]
    if layout.arguments_of is None:
        problem = "relationships have no :TYPE; expected the type before the file, ACTED=roles.csv"
        raise DataError(file.name, problem, line=line)
    check_has_times(file.name, layout.time)
    places = {"START_ID": "a1", "END_ID": "a2"}
    ends = for_role(file.name, tuple(places.get(role, "") for role in roles), layout.role, line)
    source = delimited(file, RowShape(ends, layout.arguments_of), delimiter, skip=line)
    return [_called_after_spaces(source, columns)]


def _called_after_spaces(source: Source, columns: Sequence[ExportColumn]) -> Source:
    """Relationships whose ends are called after their spaces of ids."""
    spaces = {column.role: column.space for column in columns}
    before = {"a1": spaces["START_ID"], "a2": spaces["END_ID"]}
    if not any(before.values()):
        return source
    named = "CASE WHEN {0} = '' THEN {0} ELSE {1} || {0} END AS {0}"
    ends = ", ".join(named.format(column, literal(text)) for column, text in before.items())

    def rows() -> Iterator[Row]:
        for at, cells in source.rows():
            named = zip(source.columns, cells, strict=False)
            # a cell that is missing stays a mistake
            yield at, [f"{before.get(c, '')}{cell}" if cell else cell for c, cell in named]

    select = f"SELECT * REPLACE ({ends}) FROM ({source.select})"  # noqa: S608
    return replace(source, select=select, rows=rows, unary=False)


def _items(
    file: File, delimiter: str, header: int, columns: Sequence[ExportColumn], reader: GraphReader
) -> Iterator[GraphItem]:
    """The items of a file of nodes; rows of APOC's file may be relationships."""
    labelled = reader.layout.arguments_of
    for at, cells in field_lines(file, delimiter):
        if at == header:
            continue
        if len(cells) != len(columns):
            problem = f"expected {len(columns)} fields, as in the header, found {len(cells)}"
            raise reader.error(problem, at)
        row = dict[str, str]()
        labels = [] if labelled is None else [labelled]
        properties = dict[str, object]()
        for column, cell in zip(columns, cells, strict=True):
            if column.role == "LABEL":
                labels += filter(None, BETWEEN.split(cell))
            elif column.role:
                row[column.role] = f"{column.space}{cell}" if cell else ""
            elif cell:
                properties[column.name] = _value(column, cell, reader, at)
        if not row["ID"] and row.get("START_ID"):
            ends = row["START_ID"], reader.name("end", row.get("END_ID", ""), at)
            predicate = reader.name("type", row.get("TYPE", ""), at)
            yield from reader.links(at, ends, properties, predicate)
            continue
        node = reader.name("node", row["ID"], at)
        yield from reader.classes(at, node, labels)
        yield from reader.attributes(at, node, properties)


def _value(column: ExportColumn, cell: str, reader: GraphReader, at: int) -> object:
    """The value of a property, or the list of its values."""
    texts = cell.split(";") if column.is_list else [cell]
    try:
        values = [typed_text(text, column.type) for text in texts]
    except ValueError as error:
        raise reader.error(f"{quote(column.name)}: {error}", at) from None
    return values if column.is_list else values[0]
