"""Reading facts, labels and pairs from files, frames and tuples.

`read_facts`, `read_labels` and `read_pairs` take one or several of: a path (TSV, CSV, Parquet,
a DuckDB file, a PSL program or data file, N-Triples or Turtle; text plain or gzipped; "-" is the
standard input), a frame with an Arrow interface (pandas, polars, pyarrow, DuckDB), a mapping of
columns, or rows as tuples. `as_facts`, `as_labels` and `as_pairs` take the same, a list of several,
and what was read before: every public function that needs facts, labels or pairs calls them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import cast

from hornbeam.base.texts import quote
from hornbeam.errors import DataError, InputError
from hornbeam.facts.reading.frames import frame_sources
from hornbeam.facts.reading.headers import BY_ITSELF, TableLayout
from hornbeam.facts.reading.input_files import find_file, suffix_of
from hornbeam.facts.reading.interning import intern_facts, intern_targets
from hornbeam.facts.reading.psl_data import psl_sources, split_of
from hornbeam.facts.reading.rdf import rdf_source
from hornbeam.facts.reading.sources import MAX_ARITY, Role, Source, name_problem
from hornbeam.facts.reading.tables import (
    database_source,
    described_source,
    parquet_scan,
    table_source,
)
from hornbeam.facts.reading.text import delimited, first_fields, text_source
from hornbeam.facts.reading.workspace import Workspace, workspace
from hornbeam.facts.table import Facts, Targets

Input = object


def read_facts(
    *inputs: Input, columns: Mapping[str, str] | None = None, header: bool | None = None
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

    Raises
    ------
    hornbeam.errors.DataError
        Naming the file, the line and what was expected there.

    Examples
    --------
    >>> read_facts([("a", "knows", "b"), ("b", "knows", "c"), ("a", "student")])
    Facts(3 facts, 3 entities, 2 predicates)
    """
    with workspace() as space:
        return intern_facts(
            space.connection, sources_of(space, inputs, Role.FACTS, TableLayout.of(columns, header))
        )


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
    return given if isinstance(given, Targets) else read_pairs(*_several(given), target=target)


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
) -> Targets:
    """Read labelled targets, `subject, predicate, object, label` with labels in [0, 1].

    They keep the order of the first mention; of a PSL program the truth is read.

    Parameters
    ----------
    *inputs
        As for `read_facts`.
    target
        The predicate of frames and tuples that have none: `subject, object, label`.
    columns, header
        As for `read_facts`.

    Examples
    --------
    >>> read_labels([("a", "knows", "b", 1), ("b", "knows", "a", 0)])
    Targets(2 pairs of knows, 1 true)
    """
    with workspace() as space:
        sources = sources_of(space, inputs, Role.LABELS, TableLayout.of(columns, header, target))
        return intern_targets(space.connection, sources, labelled=True)


def read_pairs(
    *inputs: Input,
    target: str | None = None,
    columns: Mapping[str, str] | None = None,
    header: bool | None = None,
) -> Targets:
    """Read pairs to score, `subject, predicate, object`; a fourth column is ignored.

    They keep their order and repetitions; of a PSL program the targets are read.

    Parameters
    ----------
    *inputs
        As for `read_facts`.
    target
        The predicate of frames and tuples that have none: `subject, object`.
    columns, header
        As for `read_facts`.

    Examples
    --------
    >>> read_pairs([("a", "knows", "b")])
    Targets(1 pairs of knows)
    >>> read_pairs([("a", "b")], target="knows").names_at(0)
    ('a', 'knows', 'b')
    """
    with workspace() as space:
        sources = sources_of(space, inputs, Role.PAIRS, TableLayout.of(columns, header, target))
        return intern_targets(space.connection, sources, labelled=False)


def sources_of(
    space: Workspace, inputs: Sequence[Input], role: Role, layout: TableLayout = BY_ITSELF
) -> list[Source]:
    """The sources of all inputs, each by its kind."""
    if not inputs:
        raise InputError(f"no {role} given; expected at least one file or frame")
    sources: list[Source] = []
    for number, item in enumerate(inputs, start=1):
        if isinstance(item, str | os.PathLike):
            table = named_table(item) if isinstance(item, str) and role is Role.FACTS else None
            if table is not None:
                sources.append(argument_source(space, cast("str", item), *table))
                continue
            name = os.fspath(cast("os.PathLike[str]", item))
            sources += _file_sources(space, name, role, layout)
        else:
            sources += frame_sources(space, item, role, f"frame {number}", layout)
    return sources


def _file_sources(space: Workspace, item: str, role: Role, layout: TableLayout) -> list[Source]:
    """Choose the reader by the file's suffix, `.gz` aside; anything unknown is TSV."""
    item, split = split_of(item)
    file = find_file(item, space.folder)
    suffix = suffix_of(item)
    match suffix:
        case ".parquet" | ".pq":
            scan = parquet_scan(file)
            return [table_source(space.connection, file.name, scan, role, layout)]
        case ".duckdb":
            return [database_source(space, file, role, layout)]
        case ".csv":
            return [text_source(file, role, ",", layout)]
        case ".json" | ".yaml" | ".yml" | ".data":
            return psl_sources(space, file, role, split)
        case ".nt" | ".nq" | ".ttl":
            return [rdf_source(space, file, role, suffix)]
        case _:
            return [text_source(file, role, "\t", layout)]


def named_table(item: str) -> tuple[str, str] | None:
    """Predicate and file of `ta=ta.tsv`; None where that is a file, or another text.

    Examples
    --------
    >>> named_table("ta=data/ta.tsv"), named_table("facts.tsv")
    (('ta', 'data/ta.tsv'), None)
    """
    predicate, equals, path = item.partition("=")
    return (predicate, path) if equals and not os.path.exists(item) else None


def argument_source(space: Workspace, item: str, predicate: str, path: str) -> Source:
    """Read a TSV, CSV or Parquet file of a predicate's arguments; `item` is what the user gave."""
    problem = name_problem("predicate before '='", predicate)
    if problem is not None:
        raise DataError(item, f"{problem}, as in ta=ta.tsv")
    if path != "-" and not os.path.exists(path):
        # it may as well be a folder such as year=2020 that is missing
        problem = f"no such file, and no table {quote(path)} of the predicate {quote(predicate)}"
        raise DataError(item, problem)
    file = find_file(path, space.folder)
    suffix = suffix_of(path)
    match suffix:
        case ".parquet" | ".pq":
            return described_source(
                space.connection,
                file.name,
                parquet_scan(file),
                lambda fields: argument_columns(file.name, len(fields)),
                predicate,
            )
        case ".json" | ".yaml" | ".yml" | ".data" | ".nt" | ".nq" | ".ttl" | ".duckdb":
            expected = f"a table of the arguments of {quote(predicate)}: TSV, CSV or Parquet"
            problem = f"its name is not that of a table; expected {expected}"
            raise DataError(file.name, problem)
        case _:
            delimiter = "," if suffix == ".csv" else "\t"
            line, fields = first_fields(file, delimiter)
            columns = argument_columns(file.name, len(fields), line)
            return delimited(file, columns, delimiter, predicate=predicate)


def argument_columns(name: str, number: int, line: int | None = None) -> tuple[str, ...]:
    """Meanings of the columns of a table with `number` arguments."""
    if number > MAX_ARITY:
        problem = f"expected at most {MAX_ARITY} arguments, found {number}"
        raise DataError(name, problem, line=line)
    return tuple(f"a{k}" for k in range(1, number + 1))
