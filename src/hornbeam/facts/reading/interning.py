"""From text to ids: DuckDB reads and joins, NumPy sorts and drops duplicates.

Reading scans the sources for the distinct names, sorts them, and joins the ids back; it never holds
the text of the facts. Measured on ten million facts from Parquet: 3 s on two cores; casting to
an ENUM instead of the join needed 11 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import duckdb
import numpy as np

from hornbeam.arrays import Array, Bools, Ids, Millionths
from hornbeam.errors import DataError
from hornbeam.facts.names import Names
from hornbeam.facts.ordering import sort_atoms
from hornbeam.facts.reading.diagnosis import change_of_arity, contradiction, first_mistake
from hornbeam.facts.reading.sources import Source
from hornbeam.facts.reading.tables import reason
from hornbeam.facts.reading.workspace import resource_error
from hornbeam.facts.table import ONE, Atoms, Facts, Targets, narrow_type

#: Names fetched at once.
CHUNK = 1_000_000
#: Rows of ids fetched at once.
ROWS = 10_000_000
#: Facts for which DuckDB's threads have used much memory; starting them again takes milliseconds.
MANY = 100_000

#: A truth value as millionths, -1 where it is not in [0, 1] (NaN is above everything).
MILLIONTHS = (
    f"CASE WHEN value >= 0 AND value <= 1 THEN CAST(round(value * {ONE}) AS INTEGER) ELSE -1 END"
)
#: SQL condition that a column `name` is not a valid name.
MALFORMED = "name IS NULL OR name = '' OR " + " OR ".join(
    f"contains(name, chr({code}))" for code in (0, 9, 10, 13)
)


def intern_facts(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> Facts:
    """Read sources of any arity into one table of facts."""
    try:
        connection.execute("SET preserve_insertion_order = false")
        entities, predicates = _all_names(connection, sources)
        arities = sorted({source.arity for source in sources})
        columns = {}
        for arity in arities:
            some = [source for source in sources if source.arity == arity]
            columns[arity] = _fetch(connection, some, any(source.valued for source in some))
        # free DuckDB's memory before sorting: its threads keep what they used, so they end, too
        connection.execute("DROP TABLE entity_ids")
        if sum(len(part[0]) for part in columns.values()) > MANY:
            connection.execute("SET threads = 1")
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    _take_unary(columns, sources)
    _check_one_arity(sources, predicates, columns)
    atoms = {}
    for arity in sorted(columns):
        some = [source for source in sources if arity in source.arities]
        table = _atoms(arity, columns.pop(arity), some, entities, predicates)
        if len(table):
            atoms[arity] = table
    return Facts(entities, predicates, atoms)


def intern_targets(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], labelled: bool
) -> Targets:
    """Read pairs in their order; labels are checked for contradictions and repeats dropped."""
    try:
        connection.execute("SET preserve_insertion_order = true")
        entities, predicates = _all_names(connection, sources)
        parts = [_fetch(connection, [source], labelled, ordered=True) for source in sources]
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if not labelled:
        return Targets(entities, predicates, *columns)
    columns[3] = _checked(columns[3], sources)
    targets = Targets(entities, predicates, *columns)
    return targets.select(_first_mentions(targets, columns, sources))


def _all_names(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]
) -> tuple[Names, Names]:
    """Names of the entities and of the predicates, and their tables in the connection."""
    number_names(connection, sources)
    return fetch_names(connection, "entity_ids"), fetch_names(connection, "predicate_ids")


def number_names(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Create the tables `entity_ids` and `predicate_ids` (name, id), ids by sorted name."""
    arguments, predicates = [], []
    for i, source in enumerate(sources):
        columns = ", ".join(f"a{k}" for k in range(1, source.arity + 1))
        # One scan for all arguments: text is parsed twice as fast as with a union of columns.
        names = f"SELECT unnest([{columns}]) AS name FROM ({source.select}) AS s{i}"  # noqa: S608
        if source.unary:
            names = f"SELECT name FROM ({names}) AS n{i} WHERE name IS NOT NULL"  # noqa: S608
        arguments.append(names)
        predicates.append(f"SELECT predicate AS name FROM ({source.select}) AS s{i}")  # noqa: S608
    _number(connection, "entity_ids", arguments, sources)
    _number(connection, "predicate_ids", predicates, sources)


def sort_names(connection: duckdb.DuckDBPyConnection, table: str, selects: Sequence[str]) -> None:
    """Create the table (name, id) of all names that some selects have, ids by sorted name."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT name, "  # noqa: S608
        "CAST(row_number() OVER (ORDER BY name) - 1 AS INTEGER) AS id "
        f"FROM (SELECT DISTINCT name FROM ({' UNION ALL '.join(selects)}))"
    )


def _number(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    selects: Sequence[str],
    sources: Sequence[Source],
) -> None:
    """Create the table of one kind of names, and check them."""
    sort_names(connection, table, selects)
    counts = connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {MALFORMED}) FROM {table}"  # noqa: S608
    ).fetchone()
    size, bad = counts or (0, 0)
    if not size:
        raise DataError(source_names(sources), "no facts found; expected at least one")
    if bad:
        raise first_mistake(sources) or DataError(sources[0].name, "a name is empty or malformed")


def fetch_names(connection: duckdb.DuckDBPyConnection, table: str) -> Names:
    """Fetch the names of a table that `number_names` made."""
    (size,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)  # noqa: S608

    def chunks() -> Iterator[Sequence[str]]:
        for start in range(0, size, CHUNK):
            column = connection.execute(
                f"SELECT name FROM {table} WHERE id >= ? AND id < ? ORDER BY id",  # noqa: S608
                [start, start + CHUNK],
            ).fetchnumpy()["name"]
            yield cast("Sequence[str]", column)

    return Names.from_sorted_chunks(chunks())


def id_joins(sources: Sequence[Source]) -> tuple[list[str], str]:
    """Ids of the arguments of atoms `f`, and the joins that find them and that of predicate `p`.

    Unary facts among triples have the object -1.
    """
    ids, joins = list[str](), ["JOIN predicate_ids AS p ON f.predicate = p.name"]
    for k in range(1, sources[0].arity + 1):
        may_lack = k == 2 and any(source.unary for source in sources)
        ids.append(f"coalesce(e{k}.id, -1)" if may_lack else f"e{k}.id")
        joins.append(f"{'LEFT ' * may_lack}JOIN entity_ids AS e{k} ON f.a{k} = e{k}.name")
    return ids, " ".join(joins)


def _fetch(
    connection: duckdb.DuckDBPyConnection,
    sources: Sequence[Source],
    valued: bool,
    ordered: bool = False,
) -> list[Ids]:
    """Ids of predicate and arguments, then millionths where `valued`, as arrays.

    The ids go to a table first, which DuckDB may spill, and come from there in chunks: fetched in
    one piece they would be held twice, and that decides how large a graph fits in memory.
    """
    union = " UNION ALL ".join(f"({source.select})" for source in sources)
    position = ", row_number() OVER () AS position" if ordered else ""
    ids, joins = id_joins(sources)
    wanted = ["p.id", *ids] + [MILLIONTHS] * valued
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE atom_ids AS "  # noqa: S608
        f"SELECT {', '.join(f'{column} AS c{i}' for i, column in enumerate(wanted))} "
        f"FROM (SELECT *{position} FROM ({union})) AS f "
        f"{joins}{' ORDER BY f.position' if ordered else ''}"
    )
    (size,) = connection.execute("SELECT count(*) FROM atom_ids").fetchone() or (0,)
    columns = [np.empty(size, dtype=np.int32) for _ in wanted]
    for start in range(0, size, ROWS):
        chunk = connection.execute(
            "SELECT * FROM atom_ids WHERE rowid >= ? AND rowid < ? ORDER BY rowid"
            if ordered
            else "SELECT * FROM atom_ids WHERE rowid >= ? AND rowid < ?",
            [start, start + ROWS],
        ).fetchnumpy()
        for i, column in enumerate(columns):
            column[start : start + ROWS] = chunk[f"c{i}"]
    connection.execute("DROP TABLE atom_ids")
    return columns


def _checked(values: Millionths, sources: Sequence[Source]) -> Millionths:
    if len(values) and values.min() < 0:
        raise first_mistake(sources) or DataError(sources[0].name, "a value lies outside [0, 1]")
    return values


def _take_unary(columns: dict[int, list[Ids]], sources: Sequence[Source]) -> None:
    """Move the unary facts that were read among triples to those of one argument."""
    if not any(source.unary for source in sources):
        return
    triples = columns[2]
    unary = triples[2] < 0
    if not unary.any():
        return
    # predicate, entity, and the value 1 where others have values
    moved = [column[unary] for k, column in enumerate(triples) if k != 2]
    for k in range(len(triples)):
        triples[k] = triples[k][~unary]
    others = columns.get(1, [column[:0] for column in moved])
    valued = max(len(moved), len(others)) > 2
    parts = [
        [*part, np.full(len(part[0]), ONE, dtype=np.int32)] if len(part) < 3 and valued else part
        for part in (moved, others)
    ]
    columns[1] = [np.concatenate(two) for two in zip(*parts, strict=True)]


def _atoms(
    arity: int,
    columns: list[Ids],
    sources: Sequence[Source],
    entities: Names,
    predicates: Names,
) -> Atoms:
    """Atoms of one arity: sorted, without duplicates and zeros; two values are an error.

    Empties `columns` on the way, so that there are never more than two copies.
    """
    values = _checked(columns.pop(), sources) if len(columns) > arity + 1 else None
    arguments = [columns.pop(1) for _ in range(arity)]
    predicate = columns.pop().astype(narrow_type(len(predicates)))
    predicate, arguments, values = sort_atoms(predicate, arguments, values)
    same = repeats([predicate, *arguments])
    if values is not None:
        clash = same & (values[1:] != values[:-1])
        if clash.any():
            at = int(np.argmax(clash))
            row = [int(predicate[at]), *(int(column[at]) for column in arguments)]
            raise contradiction(sources, _atom(entities, predicates, row))
    keep = np.concatenate([np.ones(min(len(predicate), 1), dtype=np.bool_), ~same])
    if values is not None:
        keep &= values > 0
    if not keep.all():
        predicate = predicate[keep]
        for k in range(arity):
            arguments[k] = arguments[k][keep]
        values = values[keep] if values is not None else None
    crisp = values is None or bool(np.all(values == ONE))
    return Atoms(predicate, tuple(arguments), None if crisp else values)


def repeats(columns: Sequence[Array]) -> Bools:
    """Which rows of sorted columns equal the row before, from the second row on."""
    same = np.ones(max(len(columns[0]) - 1, 0), dtype=np.bool_)
    for column in columns:
        same &= column[1:] == column[:-1]
    return same


def _atom(entities: Names, predicates: Names, row: Sequence[int]) -> dict[str, str]:
    """Give the names of (predicate, arguments), by column."""
    arguments = {f"a{k}": entities[i] for k, i in enumerate(row[1:], start=1)}
    return {"predicate": predicates[row[0]]} | arguments


def _first_mentions(targets: Targets, columns: Sequence[Ids], sources: Sequence[Source]) -> Ids:
    """Rows of the first mention of every target, in file order; two labels are an error."""
    predicate, subject, object_, labels = columns
    # A stable sort: the first row of each run is the first mention.
    order = np.lexsort((object_, subject, predicate))
    same = repeats([predicate[order], subject[order], object_[order]])
    clash = same & (labels[order][1:] != labels[order][:-1])
    if clash.any():
        at = order[int(np.argmax(clash))]
        row = [int(column[at]) for column in columns[:3]]
        raise contradiction(sources, _atom(targets.entities, targets.predicates, row))
    first = np.concatenate([np.ones(min(len(order), 1), dtype=np.bool_), ~same])
    return np.sort(order[first]).astype(np.int32)


def _check_one_arity(
    sources: Sequence[Source], predicates: Names, columns: Mapping[int, Sequence[Ids]]
) -> None:
    """Refuse a predicate that has atoms of different numbers of arguments."""
    if len(columns) < 2:
        return
    tables = [np.bincount(part[0], minlength=len(predicates)) > 0 for part in columns.values()]
    several = np.flatnonzero(np.sum(tables, axis=0) > 1)
    if len(several):
        raise change_of_arity(sources, predicates[int(several[0])])


def reading_error(error: duckdb.Error, sources: Sequence[Source]) -> DataError:
    """The error behind a failure of the fast reader, with its line where it can be found."""
    lacking = resource_error(error)
    if lacking is not None:
        return lacking  # not the fault of the data
    unknown = DataError(source_names(sources), f"cannot be read: {reason(error)}")
    return first_mistake(sources) or unknown


def source_names(sources: Sequence[Source]) -> str:
    """Name the sources."""
    return ", ".join(dict.fromkeys(source.name for source in sources))
