"""Reading facts, labels, pairs, and names of entities, from files, frames and tuples.

`read_facts`, `read_labels` and `read_pairs` take one or several of: a path (TSV, CSV, Parquet,
a DuckDB file, a PSL program or data file, N-Triples or Turtle, GraphML, Neo4j's CSV; text plain or
gzipped; "-" is the standard input), a frame with an Arrow interface (pandas, polars, pyarrow,
DuckDB), a mapping of columns, rows as tuples, a graph of NetworkX, or PyKEEN's triples. `as_facts`,
`as_labels` and `as_pairs` take the same, a list of several, and what was read before: every public
function that needs facts, labels or pairs calls them.
`read_names` and `as_names` do the same for names. A format is a line of `_file_sources`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from hornbeam.base.files import working_folder
from hornbeam.base.texts import quote
from hornbeam.errors import DataError, InputError
from hornbeam.facts.entity_names import ENGLISH, NO_NAMES, EntityNames, names_in
from hornbeam.facts.names import Names
from hornbeam.facts.reading.entity_tables import EntityTables, TableFile, table_sources
from hornbeam.facts.reading.graphml import graphml_items
from hornbeam.facts.reading.headers import BY_ITSELF, TableLayout
from hornbeam.facts.reading.interning import intern_facts, intern_targets
from hornbeam.facts.reading.neo4j import neo4j_sources
from hornbeam.facts.reading.networkx_graphs import (
    is_networkx,
    is_triples_factory,
    networkx_items,
    triples_columns,
)
from hornbeam.facts.reading.property_graph import GraphReader, graph_sources
from hornbeam.facts.reading.psl_data import psl_sources, split_of
from hornbeam.facts.reading.rdf import RDF_NAMES, rdf_numbers, rdf_source
from hornbeam.facts.reading.sources import Role, Row, Source, fields_found, name_problem
from hornbeam.facts.reading.tables import (
    database_source,
    frame_rows,
    frame_sources,
    parquet_scan,
    table_source,
)
from hornbeam.facts.reading.text import field_lines, text_source
from hornbeam.facts.reading.times import check_has_times
from hornbeam.facts.reading.workspace import File, Workspace, find_file, suffix_of, workspace
from hornbeam.facts.table import Facts, Targets


class Frame(Protocol):
    """A frame of pandas, polars, Arrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow stream."""


class MappedTriples(Protocol):
    """Triples of ids, as PyKEEN's factories have them."""

    @property
    def mapped_triples(self) -> Any:  # noqa: ANN401
        """A row of three ids for every triple: a tensor or an array."""


class OpenEngine(Protocol):
    """An engine that facts are open in; see `hornbeam.counting.engine.Engine`."""

    def discover(self, *arguments: Any, **settings: Any) -> Any:  # noqa: ANN401
        """Find the candidates for targets."""


#: What users hand in: a path, a frame, rows, or what was read before, or a list of such; in place
#: of facts also an open engine.
Input = (
    str | os.PathLike[str] | Frame | Iterable[Any] | Facts | Targets | EntityNames | OpenEngine
    | EntityTables | MappedTriples
)  # fmt: skip


def read_facts(
    *inputs: Input,
    columns: Mapping[str, str] | None = None,
    header: bool | None = None,
    numbers: Input | None = None,
    dates: Input | None = None,
    time: str | int | None = None,
) -> Facts:
    """Read observed facts, `subject, predicate, object[, truth value]`.

    A fact without a value is true, and one that is not given is false. A fact of two columns,
    `subject, predicate`, is unary. The order of the rows and of the inputs makes no difference,
    and exact duplicates count once.

    Parameters
    ----------
    *inputs
        Paths, frames, tuples, other facts; of a PSL program the observations are read. A text such
        as "ta=ta.tsv" is a table of the predicate `ta` with one column per argument, unless a file
        has that very name.
    columns
        Names of the columns for `subject`, `predicate`, `object` and `value`, where a table's own
        are not understood; others are then ignored.
    header
        Whether the first line of TSV and CSV is a header. By default it is one if it names the
        columns and none of its fields occurs again in its column; commands say so.
    numbers, dates
        Attributes of entities, `entity, attribute, value`, in any form that `read_numbers` takes,
        or a list of such.
    time
        The column that says when a fact was true, by name or by number from 1 on: ISO dates
        (2014-11-30), timestamps (UTC where they have no zone) or whole numbers. All facts then have
        one, and the same fact may stand at many times (`Facts.events`).

    Raises
    ------
    hornbeam.errors.DataError
        Naming the file, the line and what was expected there.

    Examples
    --------
    >>> read_facts([("a", "knows", "b"), ("b", "knows", "c"), ("a", "student")])
    Facts(3 facts, 3 entities, 2 predicates)
    >>> read_facts([("heat", "by", "mann")], numbers=[("heat", "year", 1995)]).numbers
    Numbers(1 values of year)
    """
    layout = TableLayout.of(columns, header, time=time)
    with workspace() as space:
        return intern_facts(
            space.connection, evidence_sources(space, inputs, layout, numbers, dates)
        )


def read_numbers(*inputs: Input, dates: bool = False, header: bool | None = None) -> Facts:
    """Read attributes of entities, `entity, attribute, value`, as facts that have numbers only.

    Give them to `read_facts` with facts, or in a list with them. Nothing but this makes numbers of
    facts: names that happen to be digits stay names.

    Parameters
    ----------
    *inputs
        Paths (TSV, CSV, Parquet, DuckDB, RDF), frames or tuples; of facts, the numbers. Of RDF the
        literals are read that are numbers or dates by their type.
    dates
        Whether values are ISO dates, such as 1931-05-04, which become whole days. Columns of dates
        in frames and Parquet are dates without it.
    header
        As for `read_facts`.

    Examples
    --------
    >>> numbers = read_numbers([("heat", "year", 1995), ("alien", "year", 1979)])
    >>> read_facts([("heat", "by", "mann")], numbers).numbers
    Numbers(2 values of year)
    """
    layout = TableLayout(header=header, role=Role.DATES if dates else Role.NUMBERS)
    with workspace() as space:
        return intern_facts(space.connection, sources_of(space, inputs, layout))


#: Suffixes of files that are one table each.
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


def read_table(
    table: Input,
    key: str | None = None,
    *,
    name: str | None = None,
    links: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    prefix: bool | None = None,
) -> Facts:
    """Read a table with one row per entity; every other column becomes a relation called like it.

    Text relates the entity to another; a number or a date is an attribute; True is a unary fact; of
    a list every item counts; nothing is read of an empty cell. Several tables make one data set:
    `read_facts(read_table(...), read_table(...))`.

    Parameters
    ----------
    table
        A frame, columns by name, or a path: Parquet, or TSV and CSV with a header, where all
        columns are text unless `types` says more. A DuckDB or SQLite file, without a `key`, is read
        whole, with the keys and foreign keys of its schema.
    key
        The column that names the entities. A table without it that has two columns, both `links`,
        is a relation between the tables, called `name`.
    name
        What the table is called; like its file by default.
    links
        The table that a column leads to, by its name; a column that is a link has names, not
        numbers.
    types
        What columns are read as: "name", "number", "date", "boolean" or "ignore".
    prefix
        Whether entities are called after their table, such as `film:7`, in this column and in
        links. By default where keys of a database are whole numbers.

    Raises
    ------
    hornbeam.errors.DataError
        Naming the table, the column, the row or line, and what was expected there.

    Examples
    --------
    >>> films = {"film": ["heat", "alien"], "year": [1995, 1979], "by": ["mann", "scott"]}
    >>> facts = read_table(films, key="film")
    >>> list(facts), facts.numbers
    ([('alien', 'by', 'scott'), ('heat', 'by', 'mann')], Numbers(2 values of year))
    """
    said = EntityTables((), (), dict(links or {}), dict(types or {}), prefix, whole=False)
    if key is not None or len(said.links) > 1:
        return read_facts(replace(said, tables=(TableFile.of(table, key, name),)))
    if not isinstance(table, str | os.PathLike) or suffix_of(table) in TABLE_SUFFIXES:
        raise InputError("no `key` given; expected the column that names the entities")
    return read_facts(replace(said, databases=(os.fspath(table),), whole=True))


def as_facts(given: Input) -> Facts:
    """Facts as they are, or read from whatever `read_facts` takes, or from a list of such."""
    return given if isinstance(given, Facts) else read_facts(*_several(given))


def as_labels(given: Input, target: str | None = None) -> Targets:
    """Labels as they are, or read from whatever `read_labels` takes, or from a list of such."""
    if not isinstance(given, Targets):
        return read_labels(*_several(given), target=target)
    if given.millionths is None:
        raise InputError("these pairs have no labels; expected what `read_labels` returns")
    return given


def as_pairs(given: Input, target: str | None = None) -> Targets:
    """Pairs as they are, or read from whatever `read_pairs` takes, or from a list of such."""
    if isinstance(given, Targets):
        return given
    return plain_pairs(given) or read_pairs(*_several(given), target=target)


def plain_pairs(given: Input) -> Targets | None:
    """Pairs from well-formed tuples (subject, predicate, object); None for any other input.

    They are read without a database: opening one takes longer than scoring a few pairs.
    """
    if not isinstance(given, list | tuple) or not given:
        return None
    for row in given:
        if not isinstance(row, list | tuple) or len(row) != 3:
            return None
        if any(not isinstance(cell, str) or name_problem("name", cell) for cell in row):
            return None
    subject, predicate, object_ = zip(*given, strict=True)
    entities, predicates = Names.of([*subject, *object_]), Names.of(predicate)
    return Targets(
        entities, predicates, predicates.find(predicate), entities.find(subject),
        entities.find(object_),
    )  # fmt: skip


def _several(given: Input) -> Sequence[Input]:
    """The inputs that a list of paths or frames stands for; anything else is one input."""
    if not isinstance(given, list) or not given:
        return [given]
    return [given] if all(isinstance(row, list | tuple) for row in given) else given


def read_labels(
    *inputs: Input,
    target: str | None = None,
    columns: Mapping[str, str] | None = None,
    header: bool | None = None,
    time: str | int | None = None,
) -> Targets:
    """Read labelled targets, `subject, predicate, object, label` with labels in [0, 1].

    They keep the order of the first mention; of a PSL program the truth is read.

    Parameters
    ----------
    *inputs
        As for `read_facts`.
    target
        The predicate of frames and tuples that have none: `subject, object, label`.
    columns, header, time
        As for `read_facts`; a target sees the facts before its time.

    Examples
    --------
    >>> read_labels([("a", "knows", "b", 1), ("b", "knows", "a", 0)])
    Targets(2 pairs of knows, 1 true)
    """
    with workspace() as space:
        layout = TableLayout.of(columns, header, target, Role.LABELS, time)
        sources = sources_of(space, inputs, layout)
        return intern_targets(space.connection, sources, labelled=True)


def read_pairs(
    *inputs: Input,
    target: str | None = None,
    columns: Mapping[str, str] | None = None,
    header: bool | None = None,
    time: str | int | None = None,
) -> Targets:
    """Read pairs to score, `subject, predicate, object`; a fourth column is ignored.

    They keep their order and repetitions; of a PSL program the targets are read.

    Parameters
    ----------
    *inputs
        As for `read_facts`.
    target
        The predicate of frames and tuples that have none: `subject, object`.
    columns, header, time
        As for `read_facts`; a target sees the facts before its time.

    Examples
    --------
    >>> read_pairs([("a", "knows", "b")])
    Targets(1 pairs of knows)
    >>> read_pairs([("a", "b")], target="knows").names_at(0)
    ('a', 'knows', 'b')
    """
    with workspace() as space:
        layout = TableLayout.of(columns, header, target, Role.PAIRS, time)
        sources = sources_of(space, inputs, layout)
        return intern_targets(space.connection, sources, labelled=False)


def sources_of(
    space: Workspace, inputs: Sequence[Input], layout: TableLayout = BY_ITSELF
) -> list[Source]:
    """The sources of all inputs, each by its kind."""
    if not inputs:
        raise InputError(f"no {layout.role} given; expected at least one file or frame")
    sources: list[Source] = []
    for number, item in enumerate(inputs, start=1):
        if isinstance(item, str | os.PathLike):
            sources += _path_sources(space, item, layout)
        elif isinstance(item, EntityTables):
            check_has_times("a table of entities", layout.time)
            sources += table_sources(space, item)
        elif is_networkx(item):
            reader = GraphReader(f"frame {number}", layout, "row")
            sources += graph_sources(space, reader, networkx_items(item, reader))
        else:
            name = f"frame {number}"
            frame = triples_columns(item, name) if is_triples_factory(item) else item
            sources += frame_sources(space, frame, name, layout)
    return sources


def evidence_sources(
    space: Workspace,
    inputs: Sequence[Input],
    layout: TableLayout = BY_ITSELF,
    numbers: Input | None = None,
    dates: Input | None = None,
) -> list[Source]:
    """The sources of facts and of numbers and dates, in any form or in lists."""
    given = {Role.NUMBERS: numbers, Role.DATES: dates}
    wanted = {role: _several(item) for role, item in given.items() if item is not None}
    sources = sources_of(space, inputs, layout) if inputs or not wanted else []
    for role, items in wanted.items():
        sources += sources_of(space, items, TableLayout(header=layout.header, role=role))
    return sources


def _path_sources(
    space: Workspace, item: str | os.PathLike[str], layout: TableLayout
) -> list[Source]:
    """The sources of a file, or of a table of a predicate's arguments: the text `ta=ta.tsv`."""
    table = named_table(item) if isinstance(item, str) and layout.role is Role.FACTS else None
    item = os.fspath(item)
    if table is None:
        return _file_sources(space, item, layout)
    predicate, path = table
    problem = name_problem("predicate before '='", predicate)
    if problem is not None:
        raise DataError(item, f"{problem}, as in ta=ta.tsv")
    if path != "-" and not os.path.exists(path):
        # it may as well be a folder such as year=2020 that is missing
        problem = f"no such file, and no table {quote(path)} of the predicate {quote(predicate)}"
        raise DataError(item, problem)
    return _file_sources(space, path, replace(layout, arguments_of=predicate))


def _file_sources(space: Workspace, item: str, layout: TableLayout) -> list[Source]:
    """Choose the reader by the file's suffix, `.gz` aside; anything unknown is TSV."""
    item, split = split_of(item)
    file = find_file(item, space.folder)
    suffix = suffix_of(item)
    match suffix:
        case ".parquet" | ".pq":
            return [table_source(space.connection, file.name, parquet_scan(file), layout)]
        case ".graphml" if layout.arguments_of is None:
            reader = GraphReader(file.name, layout)
            return graph_sources(space, reader, graphml_items(file, reader))
        case ".duckdb" | ".graphml" | ".json" | ".yaml" | ".yml" | ".data" | ".nt" | ".nq" | ".ttl":
            if layout.arguments_of is not None:
                table = f"a table of the arguments of {quote(layout.arguments_of)}"
                problem = f"its name is not that of a table; expected {table}: TSV, CSV or Parquet"
                raise DataError(file.name, problem)
            if suffix == ".duckdb":
                return [database_source(space, file, layout)]
            check_has_times(file.name, layout.time)
            if suffix in RDF_NAMES and layout.role.is_numeric:
                return rdf_numbers(space, file, layout.role, suffix)
            if suffix in RDF_NAMES:
                return [rdf_source(space, file, layout.role, suffix)]
            if layout.role.is_numeric:
                problem = f"holds no numbers of entities; expected {layout.role.expected}"
                raise DataError(file.name, problem)
            return psl_sources(space, file, layout.role, split)
        case ".csv":
            return _text_sources(space, file, ",", layout)
        case _:
            return _text_sources(space, file, "\t", layout)


def _text_sources(
    space: Workspace, file: File, delimiter: str, layout: TableLayout
) -> list[Source]:
    """The sources of an export of Neo4j, known by its header, or of any other table."""
    exported = neo4j_sources(space, file, delimiter, layout)
    return exported or [text_source(file, delimiter, layout)]


def named_table(item: str) -> tuple[str, str] | None:
    """Predicate and file of `ta=ta.tsv`; None where that is a file, or another text.

    Examples
    --------
    >>> named_table("ta=data/ta.tsv"), named_table("facts.tsv")
    (('ta', 'data/ta.tsv'), None)
    """
    predicate, equals, path = item.partition("=")
    return (predicate, path) if equals and not os.path.exists(item) else None


# --- names of entities ----------------------------------------------------------------------------

#: What the fields of a name are called in messages, and in a header.
NAME_FIELDS = ("id", "name", "type")


def read_names(*inputs: Input, language: str = ENGLISH) -> EntityNames:
    """Read names of entities, `id, name[, type]`, from files, frames, tuples, or as a mapping.

    From facts, graphs, and files of RDF and GraphML, labels (`rdfs:label`, `schema:name`,
    `skos:prefLabel`) and types are taken, or types from prefixes of all ids, such as `Gene::`.

    Parameters
    ----------
    *inputs
        Files, frames, tuples, a mapping, facts, graphs.
    language
        The language of labels where RDF has several, such as "de"; else labels without a language
        are taken, then English ones.

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
        ready = _ready_names(given, language)
        if ready is not None:
            names.update(ready.names)
            types.update(ready.types)
            continue
        for at, fields in _name_rows(given, source):
            problem = _name_row_problem(fields)
            if problem is not None:
                raise DataError(source, problem, **{unit: at})
            entity, name, kind = [*map(str, fields), ""][:3]
            if names.setdefault(entity, name) != name:
                here, other = f"is {quote(name)} here", places.get(entity, "the facts")
                problem = f"{quote(entity)} {here} and {quote(names[entity])} in {other}"
                raise DataError(source, f"{problem}; expected one name", **{unit: at})
            places[entity] = f"{source}, {unit} {at}"
            if kind:
                types[entity] = kind
    return EntityNames(names, types)


def as_names(given: Input | None) -> EntityNames:
    """Names unchanged, or read from whatever `read_names` takes; None gives no names."""
    if given is None:
        return NO_NAMES
    return given if isinstance(given, EntityNames) else read_names(given)


def _ready_names(given: Input, language: str) -> EntityNames | None:
    """Names that need not be read row by row; None where they are rows."""
    if isinstance(given, EntityNames):
        return given
    graphs = (*RDF_NAMES, ".graphml")
    is_file = isinstance(given, str | os.PathLike) and suffix_of(given) in graphs
    if is_file or is_networkx(given):
        given = read_facts(given)
    return names_in(given, language) if isinstance(given, Facts) else None


def _name_rows(given: Input, source: str) -> Iterator[Row]:
    """Numbered rows of a file, a frame, tuples or a mapping; a header is left out."""
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given.values()):
        yield from enumerate(given.items(), start=1)
        return
    if not isinstance(given, str | os.PathLike):
        for at, cells in frame_rows(given, source, NAME_FIELDS):
            # a frame has a type for all entities or for none, and then an empty one
            yield at, ["" if k == 2 and cell is None else cell for k, cell in enumerate(cells)]
        return
    item = os.fspath(given)
    with working_folder() as folder:
        lines = field_lines(find_file(item, folder), "," if suffix_of(item) == ".csv" else "\t")
        for k, (at, fields) in enumerate(lines):
            words = tuple(field.strip().casefold() for field in fields)
            if k or words != NAME_FIELDS[: len(fields)]:
                yield at, fields


def _name_row_problem(fields: Sequence[object]) -> str | None:
    if len(fields) not in (2, 3):
        return f"expected 2 or 3 fields (id, name, [type]), {fields_found(fields)}"
    for word, field in zip(NAME_FIELDS, fields, strict=False):
        # a type may be left empty
        problem = None if word == "type" and field == "" else name_problem(word, field)
        if problem is not None:
            return problem
    return None
