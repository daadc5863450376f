"""The DuckDB engine: one machine, and facts that may be larger than its memory."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

import duckdb
import numpy as np

from hornbeam.base.arrays import Array
from hornbeam.base.files import replaced_file
from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.counting.sql.database import DEGREES, TableColumns, projected_edges
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.counting.statistics import ROW_BYTES
from hornbeam.errors import DataError, InputError
from hornbeam.facts.names import Names
from hornbeam.facts.reading.headers import TableLayout
from hornbeam.facts.reading.readers import Input, evidence_sources
from hornbeam.facts.reading.sources import literal
from hornbeam.facts.reading.storing import StoredFacts, atom_table, store_facts
from hornbeam.facts.reading.tables import reason
from hornbeam.facts.reading.workspace import explained_errors, large_workspace
from hornbeam.facts.table import Facts
from hornbeam.graph.adjacency import walked_predicates


@dataclass(frozen=True, eq=False)
class DuckDB:
    """A private DuckDB connection in which searches run."""

    connection: duckdb.DuckDBPyConnection

    distributed = False

    def create(self, table: str, select: str) -> None:
        """Make (or replace) a table."""
        self._execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {select}")

    def view(self, name: str, select: str) -> None:
        """Make (or replace) a view."""
        self._execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {select}")

    def upload(self, table: str, columns: TableColumns) -> None:
        """Make (or replace) a table from arrays."""
        self.connection.register("uploaded", dict(columns))
        self.create(table, "SELECT * FROM uploaded")
        self.connection.unregister("uploaded")

    def fetch(self, select: str) -> dict[str, Array]:
        """Run a select and return its columns."""
        return self._execute(select).fetchnumpy()

    def drop(self, *tables: str) -> None:
        """Drop the tables that exist."""
        for table in tables:
            self._execute(f"DROP TABLE IF EXISTS {table}")

    def write_parquet(self, path: str, batches: Iterable[TableColumns]) -> None:
        """Write batches of columns to one file, in their order; all of them or nothing."""
        try:
            for number, columns in enumerate(batches):
                self.upload("batch", columns)
                if number == 0:
                    self.create("written", "SELECT * FROM batch LIMIT 0")
                self._execute("INSERT INTO written SELECT * FROM batch")
            rows = "SELECT * FROM written ORDER BY rowid"
            with replaced_file(path) as file:
                # in place: a later run could not recognise (and delete) DuckDB's own temporary file
                options = "FORMAT parquet, USE_TMP_FILE false"
                self._execute(f"COPY ({rows}) TO {literal(str(file))} ({options})")
        except duckdb.IOException as error:
            raise DataError(path, f"cannot be written: {reason(error)}") from None
        finally:
            self.drop("batch", "written")

    def _execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        with explained_errors():
            return self.connection.execute(statement)


def duckdb_engine(facts: Facts, threads: int | None = None) -> SqlEngine:
    """An engine that searches facts in memory by SQL; its spilled files are deleted with it."""
    stack = ExitStack()
    database = DuckDB(stack.enter_context(large_workspace()).connection)
    _set_up(database, threads)
    weakref.finalize(database, stack.close)
    return SqlEngine.of(database, facts, opener=partial(duckdb_engine, threads=threads))


@contextmanager
def open_duckdb(
    *inputs: Input,
    columns: Mapping[str, str] | None = None,
    header: bool | None = None,
    numbers: Input | None = None,
    dates: Input | None = None,
    memory_limit: str | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> Iterator[SqlEngine]:
    """Open facts without loading them: DuckDB reads the inputs, and names stay with it.

    Parameters
    ----------
    *inputs
        Any input of `read_facts`.
    columns, header, numbers, dates
        As in `read_facts`; numbers are held in memory.
    memory_limit
        Memory that DuckDB may use, "2GB" for example; 80 % of the machine's by default.
    spill_dir
        Folder for tables of ids and for what exceeds the memory; the system's temporary folder by
        default.
    threads
        Worker threads, all cores by default.

    Examples
    --------
    >>> import hornbeam as hb
    >>> facts = [("paper1", "cites", "paper2"), ("paper2", "mentions", "gene")]
    >>> labels = hb.read_labels([("paper1", "mentions", "gene", 1.0)])
    >>> with open_duckdb(facts, memory_limit="100MB") as engine:
    ...     found = hb.counting.discover(engine, labels, hb.RuleLimits(min_coverage=1))
    >>> [candidate.text for candidate in found.candidates]
    ['cites(A, B) & mentions(B, C) -> mentions(A, C)']
    """
    held = None if memory_limit is None else size_in_bytes(memory_limit)
    folder = None if spill_dir is None else os.fspath(spill_dir)
    if folder is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise InputError(
            f"{folder}: is not a folder that can be written to; set `spill_dir` to another"
        )
    with large_workspace(memory_limit, folder, on_disk=True) as space:
        database = DuckDB(space.connection)
        with as_progress(progress) as shown:
            shown.message("Storing the facts in DuckDB ...")
        layout = TableLayout.of(columns, header)
        sources = evidence_sources(space, inputs, layout, numbers, dates)
        stored = store_facts(space.connection, sources)
        predicates = project(database, stored)
        _set_up(database, threads)
        database.create("degrees", DEGREES)
        engine = SqlEngine(
            database, predicates, stored.soft, not_binary=stored.not_binary, numbers=stored.numbers
        )
        yield engine if held is None else replace(engine, max_rows=held // ROW_BYTES)


def project(database: DuckDB, stored: StoredFacts) -> Names:
    """Add projections of atoms with three or more arguments to `facts`; returns all predicates."""
    names = walked_predicates(stored.predicates, stored.not_binary)
    if names is stored.predicates:
        return names
    old = np.arange(len(stored.predicates), dtype=np.int32)
    database.upload("renamed", {"old": old, "new": stored.predicates.translate(names)})
    projected = projected_edges(stored.not_binary, stored.predicates, names, "facts")
    for arity in (1, 2):
        table, columns = atom_table(arity)
        listed = ", ".join(f"t.{column}" for column in columns)
        database.connection.execute(
            f"CREATE OR REPLACE TABLE {table} AS "
            f"SELECT {listed}, r.new AS predicate, t.value FROM {table} AS t "
            "JOIN renamed AS r ON r.old = t.predicate"
            + "".join(f" UNION ALL {edges}" for edges in projected if arity == 2)
        )
    database.drop("renamed", *(atom_table(n)[0] for n in {*stored.not_binary.values()} - {1}))
    return names


def size_in_bytes(text: str) -> int:
    """Bytes of a size such as "2GB" or "500 MiB".

    Examples
    --------
    >>> size_in_bytes("2GB"), size_in_bytes("1.5 KiB")
    (2000000000, 1536)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B\s*", text, re.IGNORECASE)
    if match is None or not float(match[1]):
        raise InputError(f"`memory_limit` {text!r}: expected a size such as 2GB or 500MB")
    unit = 1024 if match[3] else 1000
    return int(float(match[1]) * unit ** " KMGT".index(match[2].upper() or " "))


def _set_up(database: DuckDB, threads: int | None) -> None:
    """Apply the settings of searches."""
    # keep joins as written: which side is cheaper differs per source, unknown to the optimiser
    database.connection.execute("SET disabled_optimizers = 'join_order'")
    if threads is not None:
        database.connection.execute("SET threads = ?", [worker_threads(threads)])
