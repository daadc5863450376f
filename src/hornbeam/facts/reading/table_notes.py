"""Notes about tables with one row per entity: what they are read as, where that may surprise."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hornbeam.base.dates import DATED
from hornbeam.base.texts import NUMBER, counted_list, quote
from hornbeam.errors import HornbeamNote, warn
from hornbeam.facts.reading.scanned_tables import ColumnKind, ScannedTable
from hornbeam.facts.reading.sources import literal
from hornbeam.facts.reading.workspace import Workspace

#: Words of Booleans in text; case makes no difference.
TRUE_WORDS, FALSE_WORDS = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
#: How values of each kind are written in text; the first kind that all values fit is named.
WRITTEN = {
    ColumnKind.BOOLEAN: "(?i)" + "|".join(TRUE_WORDS + FALSE_WORDS),
    ColumnKind.DATE: DATED.pattern,
    ColumnKind.NUMBER: f"(?i){NUMBER.pattern}",
}
#: How many rows are looked at.
SEEN_ROWS = 1_000


def note_prefixes(tables: Sequence[ScannedTable]) -> None:
    """Say what entities of databases are called where that is not their key."""
    called = [
        table
        for table in tables
        if table.in_database and table.whole_number_key and table.key[0] not in table.links
    ]
    if called:
        example = f"{called[0].name}:1 in {called[0].place}"
        why = "since whole numbers repeat from table to table"
        warn(
            f"entities are called after their tables, such as {example}, {why}. To keep the plain "
            "keys: `prefix=False`",
            HornbeamNote,
        )


def note_shared_keys(space: Workspace, tables: Sequence[ScannedTable]) -> None:
    """Say that files share a key that is a number: their rows are then about one entity."""
    alone = [
        table
        for table in tables
        if not table.in_database and set(table.key) <= table.columns.keys() - table.links.keys()
    ]
    keys = [
        f"(SELECT CAST({table.columns[column].sql} AS VARCHAR) AS k, {i} AS i FROM {table.scan} "  # noqa: S608
        f"LIMIT {SEEN_ROWS})"
        for i, table in enumerate(alone)
        for column in table.key
    ]
    if len(keys) < 2:
        return
    shared = space.connection.execute(
        f"SELECT k, min(i), max(i) FROM ({' UNION ALL '.join(keys)}) "  # noqa: S608
        "WHERE regexp_full_match(k, '[0-9]+') GROUP BY k HAVING min(i) < max(i) "
        "ORDER BY ALL LIMIT 1"
    ).fetchall()
    for key, first, last in shared:
        both = f"{alone[first].place} and {alone[last].place} share keys such as {quote(key)}"
        warn(
            f"{both}: their rows are about one entity. If they are not: `prefix=True`", HornbeamNote
        )


def note_looks(space: Workspace, table: ScannedTable, said: Collection[str]) -> None:
    """Name columns of text that look like another kind, unless it is `said` what they are."""
    names = [
        column
        for column, scanned in table.columns.items()
        if scanned.kind is ColumnKind.NAME and scanned.type == "VARCHAR"
        and column not in {*table.key, *table.links, *said}
    ]  # fmt: skip
    looks = [
        f"bool_and(regexp_full_match(cell, {literal(pattern)})) FILTER (cell <> '')"
        for pattern in WRITTEN.values()
    ]
    found = []
    for column in names:
        [fits] = space.connection.execute(
            f"SELECT {', '.join(looks)} FROM "  # noqa: S608
            f"(SELECT {table.columns[column].sql} AS cell FROM {table.scan} LIMIT {SEEN_ROWS})"
        ).fetchall()
        kind = next((kind for kind, fit in zip(WRITTEN, fits, strict=True) if fit), None)
        found += [] if kind is None else [f"{quote(column)} ({kind})"]
    if found:
        warn(
            f"{table.place}: columns of text are read as names, and these look like others: "
            f"{counted_list(found)}. Say what they are by `types`, and where they lead by `links`",
            HornbeamNote,
        )
