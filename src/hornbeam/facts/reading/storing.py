"""From text to tables of ids that stay in the database: for facts larger than memory.

What `hornbeam.facts.reading.interning` does with arrays is done here with tables that DuckDB may
spill: names get ids, duplicates count once, facts of value 0 are left out, two values are an error,
and so are two arities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from hornbeam.errors import DataError
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers, no_numbers
from hornbeam.facts.reading.interning import (
    MILLIONTHS,
    NUMBERED_ENTITIES,
    by_kind,
    check_one_arity,
    fetch_names,
    fetch_numbers,
    id_joins,
    number_names,
    reading_error,
    store_number_rows,
)
from hornbeam.facts.reading.sources import Source, contradiction, first_mistake
from hornbeam.facts.table import ONE


@dataclass(frozen=True)
class StoredFacts:
    """What Python keeps of stored facts."""

    predicates: Names
    soft: bool  #: whether some value is below 1
    not_binary: Mapping[str, int]  #: arity of the predicates that have not two arguments
    numbers: Numbers


def atom_table(arity: int) -> tuple[str, list[str]]:
    """Name of the table of the atoms of some arity, and of the columns of their arguments.

    Examples
    --------
    >>> atom_table(2), atom_table(3)
    (('facts', ['subject', 'object']), ('facts_3', ['a1', 'a2', 'a3']))
    """
    match arity:
        case 1:
            return "unary_facts", ["entity"]
        case 2:
            return "facts", ["subject", "object"]
    return f"facts_{arity}", [f"a{k}" for k in range(1, arity + 1)]


def named_atoms(arity: int) -> str:
    """Select the stored atoms (f) of an arity by names: predicate, a1 .. ak, millionths."""
    table, columns = atom_table(arity)
    named = "".join(f"e{k}.name AS a{k}, " for k in range(1, arity + 1))
    joins = "".join(
        f" JOIN entity_ids AS e{k} ON e{k}.id = f.{column}"
        for k, column in enumerate(columns, start=1)
    )
    return (
        f"SELECT p.name AS predicate, {named}CAST(f.value AS INTEGER) AS value FROM {table} AS f "  # noqa: S608
        f"JOIN predicate_ids AS p ON p.id = f.predicate{joins}"
    )


def store_facts(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> StoredFacts:
    """Create `entity_ids` (name, id) and the tables of `atom_table`: arguments, predicate, value.

    Those of one and of two arguments are always there. Numbers come to memory.
    """
    sources, of_numbers = by_kind(sources)
    arities = sorted({1, 2}.union(*(source.arities for source in sources)))
    try:
        connection.execute("SET preserve_insertion_order = false")
        if of_numbers:
            store_number_rows(connection, of_numbers)
        number_names(connection, sources, *[NUMBERED_ENTITIES] * bool(of_numbers))
        numbers = fetch_numbers(connection) if of_numbers else no_numbers()
        # facts first: unary ones among triples are moved from there
        for arity in sorted(arities, key=lambda arity: arity != 2):
            _store(connection, sources, arity)
        predicates = fetch_names(connection, "predicate_ids")
        others = {arity: _predicates(connection, arity) for arity in arities if arity != 2}
        if any(others.values()):
            check_one_arity(sources, predicates, [*others.values(), _predicates(connection, 2)])
        soft = [_checked_values(connection, sources, arity) for arity in arities]
        connection.execute("RESET disabled_optimizers")  # set by `tables`; searches need all
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    not_binary = {predicates[p]: arity for arity, ids in others.items() for p in ids}
    return StoredFacts(predicates, any(soft), not_binary, numbers)


def _store(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], arity: int) -> None:
    """Create the table of one arity; `other` is a second value where an atom has two."""
    table, columns = atom_table(arity)
    listed = ", ".join([*columns, "predicate"])
    of_arity = [source for source in sources if source.arity == arity]
    moved = arity == 1 and any(source.unary for source in sources)
    parts = [_by_ids(of_arity, columns)] if of_arity else []
    if moved:
        parts.append("SELECT subject AS entity, predicate, value FROM facts WHERE object < 0")
    if not parts:
        zeros = ", ".join(f"0 AS {column}" for column in [*columns, "predicate", "value"])
        parts.append(f"SELECT {zeros} WHERE false")
    union = " UNION ALL ".join(parts)
    if any(source.valued for source in of_arity):
        atoms = (
            f"SELECT {listed}, min(value) AS value, max(value) AS other FROM ({union}) AS u "  # noqa: S608
            f"GROUP BY {listed}"
        )
    else:
        atoms = f"SELECT DISTINCT {listed}, CAST({ONE} AS INTEGER) AS value FROM ({union}) AS u"  # noqa: S608
    connection.execute(f"CREATE TABLE {table} AS {atoms}")
    if moved:
        connection.execute("DELETE FROM facts WHERE object < 0")


def _by_ids(sources: Sequence[Source], columns: Sequence[str]) -> str:
    """Select atoms of one arity by ids; a unary fact among triples has the object -1."""
    ids, joined = id_joins(sources)
    named = ", ".join(f"{number} AS {column}" for number, column in zip(ids, columns, strict=True))
    return f"SELECT {named}, p.id AS predicate, {MILLIONTHS} AS value FROM {joined}"  # noqa: S608


def _predicates(connection: duckdb.DuckDBPyConnection, arity: int) -> list[int]:
    table, _ = atom_table(arity)
    rows = connection.execute(f"SELECT DISTINCT predicate FROM {table} ORDER BY 1").fetchall()  # noqa: S608
    return [p for (p,) in rows]


def _checked_values(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], arity: int
) -> bool:
    """Refuse wrong and contradicting values, drop zeros; returns whether some value is below 1."""
    if not any(source.valued for source in sources if source.arity == arity):
        return False
    sources = [source for source in sources if arity in source.arities]
    table, columns = atom_table(arity)
    wrong, clashes, least = connection.execute(
        "SELECT count(*) FILTER (WHERE value < 0 OR value IS NULL), "  # noqa: S608
        f"count(*) FILTER (WHERE value <> other), min(value) FILTER (WHERE value > 0) FROM {table}"
    ).fetchone() or (0, 0, None)
    if wrong:
        raise first_mistake(sources) or DataError(sources[0].name, "a value lies outside [0, 1]")
    if clashes:
        order = ", ".join(f"f.{column}" for column in (columns[0], "predicate", *columns[1:]))
        cursor = connection.execute(
            f"{named_atoms(arity)} WHERE f.value <> f.other ORDER BY {order} LIMIT 1"
        )
        row = cursor.fetchone()
        assert row is not None
        words = [column[0] for column in cursor.description or ()]
        raise contradiction(sources, dict(zip(words[:-1], row, strict=False)))
    connection.execute(f"DELETE FROM {table} WHERE value = 0")  # noqa: S608
    return least is not None and least < ONE
