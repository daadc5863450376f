"""From text to tables of ids that stay in the database: for facts that memory does not hold.

What `hornbeam.facts.reading.interning` does with arrays is done here with tables that DuckDB may
spill: names get ids, duplicates count once, facts of value 0 are left out, and two values are
an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from hornbeam.errors import DataError
from hornbeam.facts.names import Names
from hornbeam.facts.reading.diagnosis import contradiction, first_mistake
from hornbeam.facts.reading.interning import MILLIONTHS, fetch_names, number_names, reading_error
from hornbeam.facts.reading.sources import Source
from hornbeam.facts.table import ONE


@dataclass(frozen=True)
class Stored:
    """What Python keeps of stored facts: the predicates, and whether some value is below 1."""

    predicates: Names
    soft: bool


def store_facts(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> Stored:
    """Create `entity_ids` (name, id) and `facts` (subject, predicate, object, value).

    Of facts of other than two arguments only the entities are stored: no path has such a fact.
    """
    binary = [source for source in sources if source.arity == 2]
    try:
        connection.execute("SET preserve_insertion_order = false")
        number_names(connection, sources)
        connection.execute(f"CREATE TABLE facts AS {_distinct_facts(binary)}")
        soft = any(source.valued for source in binary) and _checked_values(connection, binary)
    except duckdb.Error as error:
        raise resource_error(error) or reading_error(error, sources) from None
    return Stored(fetch_names(connection, "predicate_ids"), soft)


def _distinct_facts(binary: Sequence[Source]) -> str:
    """Select the facts by ids; `other` is a second value where a fact has two."""
    if not binary:
        return "SELECT 0 AS subject, 0 AS predicate, 0 AS object, 0 AS value WHERE false"
    union = " UNION ALL ".join(f"({source.select})" for source in binary)
    joined = (
        f"FROM ({union}) AS f JOIN predicate_ids AS p ON f.predicate = p.name "
        "JOIN entity_ids AS s ON f.a1 = s.name JOIN entity_ids AS o ON f.a2 = o.name"
    )
    columns = "s.id AS subject, p.id AS predicate, o.id AS object"
    if not any(source.valued for source in binary):
        return f"SELECT DISTINCT {columns}, CAST({ONE} AS INTEGER) AS value {joined}"
    return (
        f"SELECT {columns}, min({MILLIONTHS}) AS value, max({MILLIONTHS}) AS other {joined} "
        "GROUP BY s.id, p.id, o.id"
    )


def _checked_values(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> bool:
    """Refuse wrong and contradicting values, drop zeros; whether some value is below 1."""
    wrong, clashes, least = connection.execute(
        "SELECT count(*) FILTER (WHERE value < 0 OR value IS NULL), "
        "count(*) FILTER (WHERE value <> other), min(value) FILTER (WHERE value > 0) FROM facts"
    ).fetchone() or (0, 0, None)
    if wrong:
        raise first_mistake(sources) or DataError(sources[0].name, "a value lies outside [0, 1]")
    if clashes:
        row = connection.execute(
            "SELECT p.name, s.name, o.name FROM facts AS f JOIN predicate_ids AS p "
            "ON p.id = f.predicate JOIN entity_ids AS s ON s.id = f.subject "
            "JOIN entity_ids AS o ON o.id = f.object WHERE f.value <> f.other "
            "ORDER BY s.id, p.id, o.id LIMIT 1"
        ).fetchone()
        assert row is not None
        raise contradiction(sources, dict(zip(("predicate", "a1", "a2"), row, strict=True)))
    connection.execute("DELETE FROM facts WHERE value = 0")
    return least is not None and least < ONE


def resource_error(error: duckdb.Error) -> DataError | None:
    """Explain an error of memory or disk; None for others."""
    text = str(error)
    if "No space left" in text or "max_temp_directory_size" in text:
        return DataError(
            "the spill directory",
            "is full; name a folder on a larger disk with `spill_dir`, or raise `memory_limit`",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return DataError(
            "the memory limit",
            "is too small for this search; raise `memory_limit`, or give `spill_dir` more room",
        )
    return None
