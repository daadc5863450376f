"""Reading facts, labels and pairs from anything people have them in.

`read_facts`, `read_labels` and `read_pairs` take one or several of: a path (TSV, CSV, Parquet,
a PSL program or data file, N-Triples or Turtle; text plain or gzipped), a frame that speaks Arrow
(pandas, polars, pyarrow, DuckDB), or a list of tuples.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import duckdb

from hornbeam.errors import InputError
from hornbeam.facts.interning import intern_facts, intern_targets, reading_connection
from hornbeam.facts.sources import Role, Source, frame_source, parquet_source, text_source
from hornbeam.facts.table import Facts, Targets

Input = object


def read_facts(*inputs: Input) -> Facts:
    """Read observed facts, `subject, predicate, object[, truth value]`.

    Examples
    --------
    >>> read_facts([("a", "knows", "b"), ("b", "knows", "c", )])
    Facts(2 facts, 3 entities, 1 predicates)
    """
    with reading_connection() as connection:
        return intern_facts(connection, _sources(connection, inputs, Role.FACTS))


def read_labels(*inputs: Input) -> Targets:
    """Read labelled targets, `subject, predicate, object, label` with labels in [0, 1]."""
    with reading_connection() as connection:
        sources = _sources(connection, inputs, Role.LABELS)
        return intern_targets(connection, sources, labelled=True)


def read_pairs(*inputs: Input) -> Targets:
    """Read pairs to score, `subject, predicate, object`; a fourth column is ignored."""
    with reading_connection() as connection:
        return intern_targets(connection, _sources(connection, inputs, Role.PAIRS), labelled=False)


def _sources(
    connection: duckdb.DuckDBPyConnection, inputs: Sequence[Input], role: Role
) -> list[Source]:
    if not inputs:
        raise InputError(f"no {role} given; expected at least one file")
    sources: list[Source] = []
    for number, item in enumerate(inputs):
        if isinstance(item, str | os.PathLike):
            path = Path(cast("str | os.PathLike[str]", item))
            sources += _file_sources(connection, path, role, number)
        else:
            sources.append(frame_source(connection, item, role, number))
    return sources


def _file_sources(
    connection: duckdb.DuckDBPyConnection, path: Path, role: Role, number: int
) -> list[Source]:
    """Choose the reader by the file's suffix, `.gz` aside; anything unknown is TSV."""
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    match kind:
        case ".parquet" | ".pq":
            return [parquet_source(connection, path, role)]
        case ".csv":
            return [text_source(path, role, ",")]
        case ".json" | ".yaml" | ".yml" | ".data":
            from hornbeam.facts.psl_data import psl_sources

            return psl_sources(path, role)
        case ".nt" | ".ttl" | ".nq":
            from hornbeam.facts.rdf import rdf_source

            return [rdf_source(connection, path, role, number)]
        case _:
            return [text_source(path, role, "\t")]
