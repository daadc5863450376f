"""Tables of one predicate: `ta=ta.tsv` has a column for every argument, as PSL's data files have.

Every row is a true atom. A last column of numbers is an argument, never a truth value. Atoms with
values come from PSL programs or, with one and two arguments, from tables of facts.
"""

from __future__ import annotations

import os

from hornbeam.base.printable import quote
from hornbeam.errors import DataError
from hornbeam.facts.reading.diagnosis import name_problem
from hornbeam.facts.reading.input_files import find_file, suffix_of
from hornbeam.facts.reading.sources import Source
from hornbeam.facts.reading.tables import described_source, parquet_scan
from hornbeam.facts.reading.text import delimited, first_fields
from hornbeam.facts.reading.workspace import Workspace

#: Maximum number of arguments of a predicate: an atom is walked between any two of them.
MAX_ARITY = 8


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
