"""Inputs of Spark: those that it reads itself, and those that are converted to Parquet first.

Parquet and Spark's own tables stay where they are. TSV, CSV, N-Triples and all other files that
`read_facts` takes are read here by the same readers, with the same checks, and passed to Spark as
Parquet of names, so that every engine reads the same facts from them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbeam.errors import DataError
from hornbeam.facts.reading.headers import BY_ITSELF, TableLayout
from hornbeam.facts.reading.psl_data import split_of
from hornbeam.facts.reading.readers import named_table, sources_of
from hornbeam.facts.reading.sources import Role, literal
from hornbeam.facts.reading.storing import atom_table, store_facts
from hornbeam.facts.reading.workspace import workspace

#: Suffixes of the names of Parquet files.
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class SparkInputs:
    """Inputs by their reader."""

    own: tuple[str, ...]  #: Parquet files, folders and tables, which Spark reads where they are
    others: tuple[str, ...]  #: files on this machine that the readers of all engines read

    @classmethod
    def of(cls, inputs: Sequence[str]) -> SparkInputs:
        """Classify the inputs; unreadable ones are refused here, before Spark starts."""
        others = tuple(item for item in inputs if _is_for_readers(item))
        return cls(tuple(item for item in inputs if item not in others), others)

    def check_place(self, place: str) -> None:
        """Refuse files on this machine if `place` is a store that they cannot be written to."""
        if self.others and "://" in place:
            problem = f"is read on this machine, and {place} is elsewhere"
            raise DataError(self.others[0], f"{problem}; expected Parquet there")

    def to_parquet(self, folder: str, layout: TableLayout = BY_ITSELF) -> dict[int, str]:
        """Write the atoms of `others` by arity: predicate, a1 .. ak, and value in millionths."""
        written: dict[int, str] = {}
        if not self.others:
            return written
        with workspace() as space:
            sources = sources_of(space, self.others, Role.FACTS, layout)
            store_facts(space.connection, sources)
            for arity in sorted(set[int]().union(*(source.arities for source in sources))):
                table, columns = atom_table(arity)
                named = [f"e{k}.name AS a{k}" for k in range(1, arity + 1)]
                joins = [
                    f"JOIN entity_ids AS e{k} ON e{k}.id = f.{column}"
                    for k, column in enumerate(columns, start=1)
                ]
                path = f"{folder}/given-{arity}.parquet"
                space.connection.execute(
                    f"COPY (SELECT p.name AS predicate, {', '.join(named)}, "  # noqa: S608
                    f"CAST(f.value AS INTEGER) AS value FROM {table} AS f "
                    f"JOIN predicate_ids AS p ON p.id = f.predicate {' '.join(joins)}) "
                    f"TO {literal(path)} (FORMAT parquet, USE_TMP_FILE false)"
                )
                written[arity] = path
        return written


def predicate_and_place(item: str) -> tuple[str | None, str]:
    """Predicate (of `ta=ta.pq`, else None) and file, folder or table of an input."""
    # text before "=" is not a predicate where it is part of a folder: s3a://bucket/year=2020
    named = named_table(item) if "/" not in item.partition("=")[0] else None
    return named or (None, item)


def _is_for_readers(item: str) -> bool:
    _, place = predicate_and_place(item)
    if "://" in place or place.lower().endswith(PARQUET) or os.path.isdir(place):
        return False
    if item == "-" or os.path.exists(split_of(place)[0]):
        return True
    if "/" in place or Path(place).suffix in (".tsv", ".csv", ".nt", ".nq", ".ttl", ".gz"):
        raise DataError(item, "no such file")
    return False  # the name of a table
