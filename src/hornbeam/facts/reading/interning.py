"""From sources to facts and targets: names are numbered, rows sorted, duplicates dropped.

Ids are the ranks of sorted names. Few rows are fetched as text, and numbered here. Of many rows,
DuckDB scans the sources for the distinct names, sorts them, and joins the ids back, so that their
text is never held. Ten million facts from Parquet take 3 s on two cores; casting to an ENUM instead
of the join took 11 s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from typing import Any, cast

import duckdb
import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Ints, Millionths, begin_runs
from hornbeam.base.dates import DAYS, TimeUnit
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.texts import quote
from hornbeam.errors import DataError, HornbeamNote, warn
from hornbeam.facts.atom_keys import sort_atoms
from hornbeam.facts.entity_types import EntityTypes
from hornbeam.facts.events import Events
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.reading.sources import (
    FORBIDDEN,
    Source,
    ValueKind,
    change_of_arity,
    contradiction,
    first_mistake,
)
from hornbeam.facts.reading.tables import reason
from hornbeam.facts.reading.times import NO_TIME, one_unit
from hornbeam.facts.reading.workspace import resource_error
from hornbeam.facts.table import ONE, Atoms, Facts, Targets, narrow_type

#: Facts for which DuckDB's threads have used much memory; starting them again takes milliseconds.
MANY = 100_000
#: Rows that are fetched as text: a dozen statements of SQL take longer than numbering them here.
FEW = 10_000
#: Names fetched at once.
CHUNK = 1_000_000
#: Rows of ids fetched at once.
ROWS = 10_000_000
#: A truth value as millionths, -1 where it is not in [0, 1] (NaN is above everything).
MILLIONTHS = (
    f"CASE WHEN value >= 0 AND value <= 1 THEN CAST(round(value * {ONE}) AS INTEGER) ELSE -1 END"
)
#: A time, where rows have one.
TIMES = f"coalesce(time, {NO_TIME})"
#: SQL condition that a column `name` is not a valid name.
MALFORMED = "name IS NULL OR name = '' OR " + " OR ".join(
    f"contains(name, chr({ord(character)}))" for character in FORBIDDEN
)

#: Names of entities and predicates, and columns of ids for every group of sources; times come last.
NumberedRows = tuple[Names, Names, list[list[Array]]]
#: Predicates, arguments (None for the object of a unary fact) and values of some rows.
TextColumns = list[tuple[Any, ...]]


def intern_facts(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> Facts:
    """Read sources of atoms of any arity, and of numbers, into one table of facts."""
    of_atoms, of_numbers = by_kind(sources)
    numbered = _intern_numbers(connection, of_numbers) if of_numbers else None
    facts = Facts(Names.of(()), Names.of(()))
    if of_atoms or numbered is None:
        facts = _intern_atoms(connection, of_atoms)
    facts = facts if numbered is None else facts.joined(*numbered)
    of_types = [source for source in sources if source.value_kind is ValueKind.NONE]
    if not of_types:
        return facts
    return replace(facts, types=_intern_types(connection, facts.entities, of_types))


def by_kind(sources: Sequence[Source]) -> tuple[list[Source], list[Source]]:
    """Sources of atoms, and sources of numbers and dates."""
    kinds = ((ValueKind.TRUTH,), (ValueKind.NUMBER, ValueKind.DATE))
    atoms, numbers = ([source for source in sources if source.value_kind in kind] for kind in kinds)
    return atoms, numbers


def _intern_types(
    connection: duckdb.DuckDBPyConnection, entities: Names, sources: Sequence[Source]
) -> EntityTypes:
    """Types of entities that have facts; of several types of an entity the first by name."""
    rows = " UNION ALL ".join(f"SELECT predicate, a1 FROM ({s.select})" for s in sources)  # noqa: S608
    typed = f"SELECT a1 AS name, min(predicate) AS kind FROM ({rows}) GROUP BY a1"  # noqa: S608
    connection.execute(f"CREATE OR REPLACE TEMP TABLE typed AS {typed}")
    for column, table in (("name", "typed_ids"), ("kind", "kind_ids")):
        sort_names(connection, table, [f"SELECT {column} AS name FROM typed"])  # noqa: S608
    kind = connection.execute(
        "SELECT k.id FROM typed AS t JOIN typed_ids AS i ON i.name = t.name "
        "JOIN kind_ids AS k ON k.name = t.kind ORDER BY i.id"
    ).fetchnumpy()["id"]
    located = fetch_names(connection, "typed_ids").translate(entities)
    kinds, known = fetch_names(connection, "kind_ids"), located >= 0
    return EntityTypes(kinds, located[known], kind[known])


def _intern_atoms(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> Facts:
    """Read sources of any arity into one table of facts."""
    unit = one_unit(sources)
    try:
        arities = sorted({source.arity for source in sources})
        if unit is not None and arities[-1] > 2:
            wide = next(source for source in sources if source.arity > 2)
            problem = "atoms of three and more arguments have no time; expected one or two"
            raise DataError(wide.name, problem)
        groups = [[source for source in sources if source.arity == arity] for arity in arities]
        entities, predicates, parts = number_rows(connection, groups, ordered=False)
        # free DuckDB's memory before sorting: its threads keep what they used, so they end, too
        if sum(len(part[0]) for part in parts) > MANY:
            connection.execute("SET threads = 1")
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    columns = dict(zip(arities, parts, strict=True))
    del parts  # `_atoms` frees columns on the way
    events = None if unit is None else _events(columns, sources, unit)
    _take_unary(columns, sources)
    by_arity = (np.flatnonzero(np.bincount(part[0])).tolist() for part in columns.values())
    check_one_arity(sources, predicates, by_arity)
    atoms, denied = {}, {}
    for arity in sorted(columns):
        having = [source for source in sources if arity in source.arities]
        table, zeros = _atoms(arity, columns.pop(arity), having, entities, predicates)
        if len(table):
            atoms[arity] = table
        if zeros is not None and arity <= 2:
            denied[arity] = zeros
    return Facts(entities, predicates, atoms, events=events, denied=denied)


def _events(columns: dict[int, list[Array]], sources: Sequence[Source], unit: TimeUnit) -> Events:
    """When the atoms were true; takes the times out of the columns. Zeros never were."""
    parts = []
    for arity, part in columns.items():
        time = _checked_times(part.pop(), sources)
        true = part[arity + 1] != 0 if len(part) > arity + 1 else np.ones(len(time), dtype=np.bool_)
        object_ = part[2] if arity == 2 else np.full(len(time), -1, dtype=np.int32)
        parts.append([column[true] for column in (part[0], part[1], object_, time)])
    return Events.from_columns(map(np.concatenate, zip(*parts, strict=True)), unit)


def _checked_times(times: Ints, sources: Sequence[Source]) -> Ints:
    if len(times) and times.min() == NO_TIME:
        raise first_mistake(sources) or DataError(sources[0].name, "a time is none")
    return times


def intern_targets(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], labelled: bool
) -> Targets:
    """Read pairs in their order; labels are checked for contradictions and repeats dropped.

    A row without an object is a target on one entity, the pair of the entity with itself.
    """
    groups = [list(group) for _, group in groupby(sources, lambda source: source.arity)]
    unit = one_unit(sources)
    try:
        entities, predicates, parts = number_rows(connection, groups, ordered=True)
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    unary = _check_target_arities(groups, predicates, [part[0] for part in parts])
    time = None
    if unit is not None:
        time = _checked_times(np.concatenate([part.pop() for part in parts]), sources)
    parts = [
        [*part[:2], part[1], *part[2:]] if group[0].arity == 1 else part
        for group, part in zip(groups, parts, strict=True)
    ]
    kept = 4 if labelled else 3
    columns = [np.concatenate(same) for same in zip(*(part[:kept] for part in parts), strict=True)]
    labels = _checked(columns[3], sources) if labelled else None
    predicate, subject, object_ = columns[:3]
    step = unit or TimeUnit.STEP
    targets = Targets(entities, predicates, predicate, subject, object_, labels, unary, time, step)
    if not labelled:
        return targets
    return targets.select(_first_mentions(targets, columns, sources))


def _check_target_arities(
    groups: Sequence[Sequence[Source]], predicates: Names, used: Sequence[Ids]
) -> frozenset[str]:
    """The predicates of targets on one entity; one that is also that of pairs is refused."""
    by_arity: dict[int, set[int]] = {1: set(), 2: set()}
    for group, ids in zip(groups, used, strict=True):
        by_arity[group[0].arity].update(np.unique(ids).tolist())
    check_one_arity([source for group in groups for source in group], predicates, by_arity.values())
    return frozenset(predicates[p] for p in by_arity[1])


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
) -> tuple[Atoms, Atoms | None]:
    """Atoms of one arity, sorted and without duplicates, and those of value 0, if any, apart.

    Two values of an atom are an error. Empties `columns` on the way, so that there are never more
    than two copies.
    """
    values = _checked(columns.pop(), sources) if len(columns) > arity + 1 else None
    if values is not None and bool(np.all(values == ONE)):
        values = None  # sorting is faster without
    arguments = [columns.pop(1) for _ in range(arity)]
    predicate = columns.pop().astype(narrow_type(len(predicates)))
    predicate, arguments, values = sort_atoms(predicate, arguments, values)
    keep, zeros = begin_runs(predicate, *arguments), None
    if values is not None:
        _check_one_value(sources, entities, predicates, [predicate, *arguments], keep, values)
        if (zero := keep & (values == 0)).any():
            zeros = Atoms(predicate, tuple(arguments), values).select(zero)
        keep &= values > 0
    if not keep.all():
        predicate = predicate[keep]
        for k in range(arity):
            arguments[k] = arguments[k][keep]
        values = values[keep] if values is not None else None
    crisp = values is None or bool(np.all(values == ONE))
    return Atoms(predicate, tuple(arguments), None if crisp else values), zeros


def _check_one_value(
    sources: Sequence[Source],
    entities: Names,
    predicates: Names,
    columns: Sequence[Array],
    first: Bools,
    values: Millionths,
    times: Ints | None = None,
) -> None:
    """Refuse two values of one atom; atoms are sorted, and `first` are those unlike the last."""
    clash = ~first[1:] & (values[1:] != values[:-1])
    if clash.any():
        row = np.argmax(clash)
        predicate, *arguments = (int(column[row]) for column in columns)
        names = {f"a{k}": entities[entity] for k, entity in enumerate(arguments, start=1)}
        time = None if times is None else int(times[row])
        raise contradiction(sources, {"predicate": predicates[predicate]} | names, time)


def _first_mentions(targets: Targets, columns: Sequence[Array], sources: Sequence[Source]) -> Ids:
    """Rows of the first mention of every target, in file order; two labels are an error."""
    # A stable sort: the first row of each run is the first mention.
    times = [] if targets.time is None else [targets.time]
    order = np.lexsort((*columns[2::-1], *times))
    *ids, labels = (column[order] for column in columns)
    times = [column[order] for column in times]
    first = begin_runs(*ids, *times)
    named = targets.entities, targets.predicates
    _check_one_value(sources, *named, ids, first, labels, *times)
    return np.sort(order[first]).astype(np.int32)


def check_one_arity(
    sources: Sequence[Source], predicates: Names, by_arity: Iterable[Iterable[int]]
) -> None:
    """Refuse a predicate with atoms of different numbers of arguments; each has ids of its own."""
    arities = Counter(chain.from_iterable(by_arity))
    several = [predicate for predicate, number in arities.items() if number > 1]
    if several:
        raise change_of_arity(sources, predicates[min(several)])


def number_rows(
    connection: duckdb.DuckDBPyConnection, groups: Sequence[Sequence[Source]], *, ordered: bool
) -> NumberedRows:
    """Number the names of groups of sources; every group is of one arity.

    Its columns are the ids of predicate and arguments; then millionths, which may be left out where
    no row has a value. The object of a unary fact among triples is -1.
    """
    connection.execute(f"SET preserve_insertion_order = {ordered}")
    sources = [source for group in groups for source in group]
    texts = _few_rows(connection, sources)
    if texts is not None:
        entities, predicates, numbered = _numbered_here(sources, texts)
        _note_padded(_padded_here(entities))
        parts = iter(numbered)  # one per source
        of_groups = [zip(*islice(parts, len(group)), strict=True) for group in groups]
        joined = [[np.concatenate(same) for same in group] for group in of_groups]
        return entities, predicates, joined
    number_names(connection, sources)
    _note_padded(padded_number(connection, "entity_ids"))
    entities, predicates = (
        fetch_names(connection, table) for table in ("entity_ids", "predicate_ids")
    )
    columns = [_fetch(connection, group, ordered) for group in groups]
    connection.execute("DROP TABLE entity_ids")
    return entities, predicates, columns


def _few_rows(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]
) -> list[TextColumns] | None:
    """The columns of every source as text, then millionths; None where there are many rows."""
    left, fetched = FEW, []
    for source in sources:
        wanted = ["predicate", *_arguments(source), MILLIONTHS if source.valued else str(ONE)]
        wanted += [TIMES] * (source.time_unit is not None)
        rows = connection.execute(
            f"SELECT {', '.join(wanted)} FROM ({source.select}) LIMIT {left + 1}"  # noqa: S608
        ).fetchall()
        left -= len(rows)
        if left < 0:
            return None
        fetched.append(list(zip(*rows, strict=True)) or [() for _ in wanted])
    return fetched


def _numbered_here(sources: Sequence[Source], texts: Sequence[TextColumns]) -> NumberedRows:
    """Number text; the columns are those of every source."""
    entities, predicates = set[str](), set[str]()
    for source, (predicate, *others) in zip(sources, texts, strict=True):
        predicates.update(predicate)
        names = set(chain.from_iterable(others[: source.arity]))
        entities |= names - {None} if source.unary else names
    everything = predicates | entities
    malformed = sum(not name or not FORBIDDEN.keys().isdisjoint(name) for name in everything)
    _check_names(sources, len(predicates), malformed)
    named = Names.of(entities), Names.of(predicates)
    id_of, number_of = (names.ids_by_name for names in named)
    numbered = list[list[Array]]()
    for source, (predicate, *others) in zip(sources, texts, strict=True):
        arguments, (values, *times) = others[: source.arity], others[source.arity :]
        ids = [[number_of[name] for name in predicate]]
        ids += [[id_of.get(name, -1) for name in column] for column in arguments]
        whole: list[Array] = [np.array(column, dtype=np.int32) for column in (*ids, values)]
        numbered.append(whole + [np.array(column, dtype=np.int64) for column in times])
    return *named, numbered


def _arguments(source: Source) -> list[str]:
    return [f"a{k}" for k in range(1, source.arity + 1)]


def number_names(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], *further: str
) -> None:
    """Create the tables `entity_ids` and `predicate_ids` (name, id), ids by sorted name.

    `further` are selects of further names of entities.
    """
    arguments, predicates = [*further], []
    for i, source in enumerate(sources):
        columns = ", ".join(_arguments(source))
        # One scan for all arguments: text is parsed twice as fast as with a union of columns.
        names = f"SELECT unnest([{columns}]) AS name FROM ({source.select}) AS s{i}"  # noqa: S608
        if source.unary:
            names = f"SELECT name FROM ({names}) AS n{i} WHERE name IS NOT NULL"  # noqa: S608
        arguments.append(names)
        predicates.append(f"SELECT predicate AS name FROM ({source.select}) AS s{i}")  # noqa: S608
    _number(connection, "entity_ids", arguments, sources)
    _number(connection, "predicate_ids", predicates, sources)


def _note_padded(padded: tuple[str, str] | None) -> None:
    """Say that a number with leading zeros and the number without them are two entities."""
    if padded is not None:
        zeros, plain = padded
        said = f"the names '{zeros}' and '{plain}' are different entities, as all names are text"
        warn(said, HornbeamNote)  # without the files, so that commands print it once


def _padded_here(entities: Names) -> tuple[str, str] | None:
    """As `padded_number`, of few names."""
    names = dict.fromkeys(entities)
    for zeros in names:
        if zeros.startswith("0") and zeros != "0" and zeros.isascii() and zeros.isdigit():
            plain = zeros.lstrip("0") or "0"
            if plain in names:
                return zeros, plain
    return None


def padded_number(connection: duckdb.DuckDBPyConnection, table: str) -> tuple[str, str] | None:
    """The first number among names that is written with leading zeros and without, both ways.

    Only names that begin with 0 are looked at, of which there are few.
    """
    return connection.execute(
        f"SELECT z.name, p.name FROM {table} AS z JOIN {table} AS p "  # noqa: S608
        "ON p.name = coalesce(nullif(ltrim(z.name, '0'), ''), '0') "
        "WHERE z.name LIKE '0_%' AND regexp_full_match(z.name, '[0-9]+') ORDER BY z.id LIMIT 1"
    ).fetchone()


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
    _check_names(sources, *counts or (0, 0))


def _check_names(sources: Sequence[Source], size: int, malformed: int) -> None:
    """Refuse sources without rows, or with malformed names."""
    if not size:
        raise DataError(source_names(sources), "no facts found; expected at least one")
    if malformed:
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


def id_joins(sources: Sequence[Source], further: str = "") -> tuple[list[str], str]:
    """Ids of the arguments of atoms `f`, and the tables with them and that of predicate `p`.

    Unary facts among triples have the object -1. `further` is one more column of the atoms.
    """
    union = " UNION ALL ".join(f"({source.select})" for source in sources)
    ids, joins = list[str](), [f"(SELECT *{further} FROM ({union})) AS f"]  # noqa: S608
    joins.append("JOIN predicate_ids AS p ON f.predicate = p.name")
    for k in range(1, sources[0].arity + 1):
        may_lack = k == 2 and any(source.unary for source in sources)
        ids.append(f"coalesce(e{k}.id, -1)" if may_lack else f"e{k}.id")
        joins.append(f"{'LEFT ' * may_lack}JOIN entity_ids AS e{k} ON f.a{k} = e{k}.name")
    return ids, " ".join(joins)


def _fetch(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], ordered: bool
) -> list[Array]:
    """Ids of predicate and arguments, millionths where some rows have values, times, as arrays.

    The ids go to a table first, which DuckDB may spill, and come from there in chunks: fetched in
    one piece they would be held twice, and that decides how large a graph fits in memory.
    """
    position = ", row_number() OVER () AS position" if ordered else ""
    ids, joined = id_joins(sources, position)
    wanted = ["p.id", *ids] + [MILLIONTHS] * any(source.valued for source in sources)
    wanted += [TIMES] * (sources[0].time_unit is not None)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE atom_ids AS "  # noqa: S608
        f"SELECT {', '.join(f'{column} AS c{i}' for i, column in enumerate(wanted))} "
        f"FROM {joined}{' ORDER BY f.position' if ordered else ''}"
    )
    (size,) = connection.execute("SELECT count(*) FROM atom_ids").fetchone() or (0,)
    kinds = [np.int64 if column == TIMES else np.int32 for column in wanted]
    columns: list[Array] = [np.empty(size, dtype=kind) for kind in kinds]
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


# --- numbers --------------------------------------------------------------------------------------

#: From here on not every whole number can be held.
INEXACT = 2**53
#: Names of the entities in `number_rows`.
NUMBERED_ENTITIES = "SELECT entity AS name FROM number_rows"


def _intern_numbers(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]
) -> tuple[Names, Numbers]:
    """Read sources of numbers: the entities, and their numbers."""
    store_number_rows(connection, sources)
    sort_names(connection, "entity_ids", [NUMBERED_ENTITIES])
    numbers = fetch_numbers(connection)
    return fetch_names(connection, "entity_ids"), numbers


def store_number_rows(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Create `number_rows` (entity, attribute, value, is_date) of sources of numbers and dates."""
    rows = [
        "SELECT a1 AS entity, predicate AS attribute, value, "  # noqa: S608
        f"{source.value_kind is ValueKind.DATE} AS is_date FROM ({source.select}) AS s{i}"
        for i, source in enumerate(sources)
    ]
    low, high = DAYS
    try:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE number_rows AS {' UNION ALL '.join(rows)}"
        )
        wrong = connection.execute(
            "SELECT 1 FROM (SELECT unnest([entity, attribute]) AS name, value, is_date "  # noqa: S608
            f"FROM number_rows) WHERE {MALFORMED} OR value IS NULL "
            f"OR NOT abs(value) <= {MAX_NUMBER} "
            f"OR is_date AND (value < {low} OR value > {high}) LIMIT 1"
        ).fetchall()
        both = connection.execute(
            "SELECT min(attribute) FROM (SELECT attribute FROM number_rows GROUP BY attribute "
            "HAVING count(DISTINCT is_date) > 1)"
        ).fetchall()
        large = connection.execute(
            f"SELECT min(attribute) FROM number_rows WHERE abs(value) >= {INEXACT}"  # noqa: S608
        ).fetchall()
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    names = source_names(sources)
    if wrong:
        raise first_mistake(sources) or DataError(names, "a value is not finite, or no date")
    if both[0][0] is not None:
        problem = f"{quote(both[0][0])} has numbers and dates; expected values of one kind"
        raise DataError(names, problem)
    if large[0][0] is not None:
        said = f"numbers of {quote(large[0][0])} from {INEXACT:,} on keep their first 16 digits"
        warn(said, HornbeamNote)


def fetch_numbers(connection: duckdb.DuckDBPyConnection) -> Numbers:
    """Fetch the rows of `number_rows` by the ids of `entity_ids`, and drop the table."""
    sort_names(connection, "attribute_ids", ["SELECT attribute AS name FROM number_rows"])
    rows = connection.execute(
        "SELECT a.id AS attribute, e.id AS entity, r.value FROM number_rows AS r "
        "JOIN attribute_ids AS a ON a.name = r.attribute JOIN entity_ids AS e ON e.name = r.entity"
    ).fetchnumpy()
    dates = connection.execute("SELECT DISTINCT attribute FROM number_rows WHERE is_date")
    date_names = frozenset(name for (name,) in dates.fetchall())
    attributes = fetch_names(connection, "attribute_ids")
    connection.execute("DROP TABLE number_rows")
    return Numbers.from_columns(
        attributes, rows["attribute"], rows["entity"], rows["value"], date_names
    )


# --- errors ---------------------------------------------------------------------------------------


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
