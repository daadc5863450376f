"""A connection to DuckDB and a temporary folder for reading; both are gone at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import duckdb

from hornbeam.base.files import working_folder
from hornbeam.errors import DataError, InputError

#: Memory for reading, in addition to the table of facts; more spills to the folder.
MEMORY_LIMIT = "2GB"
#: The database that no workspace uses now, if there is one.
_IDLE: list[duckdb.DuckDBPyConnection] = []
if hasattr(os, "register_at_fork"):  # not on Windows, which forks no processes
    # its threads would be missing in a forked process
    os.register_at_fork(before=_IDLE.clear)


@dataclass(frozen=True)
class Workspace:
    """A database connection and a folder for spooled files."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh(self, what: str) -> str:
        """Make a name for a table that is not in use yet."""
        return f"{what}_{next(self._numbers)}"


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Open a workspace; what spills to disk goes to its folder and is deleted with it.

    Starting DuckDB takes longer than a small read. So the last workspace's database is used again,
    by a connection of its own, if nothing has been left in it.
    """
    with working_folder() as folder, explained_errors():
        try:
            database = _IDLE.pop()
        except IndexError:
            database = _database(":memory:", MEMORY_LIMIT)
        database.execute("SET temp_directory = ?", [str(folder)])
        try:
            with database.cursor() as connection:
                connection.execute("SET enable_progress_bar = false")
                yield Workspace(connection, folder)
        except InputError:  # a refused input leaves the database usable
            _keep(database)
            raise
        _keep(database)


@contextmanager
def large_workspace(
    memory_limit: str | None = None, spill_dir: str | None = None, *, on_disk: bool = False
) -> Iterator[Workspace]:
    """Open a workspace with a database of its own.

    `memory_limit` is DuckDB's own where it is None: 80 % of the machine's. `spill_dir` is where the
    folder goes; `on_disk` keeps tables in a file there from the start.
    """
    with (
        working_folder(spill_dir) as folder,
        explained_errors(),
        _database(folder / "facts.duckdb" if on_disk else ":memory:", memory_limit) as connection,
    ):
        connection.execute("SET temp_directory = ?", [str(folder)])
        connection.execute("SET enable_progress_bar = false")
        yield Workspace(connection, folder)


def _database(place: str | Path, memory_limit: str | None) -> duckdb.DuckDBPyConnection:
    limit = {} if memory_limit is None else {"memory_limit": memory_limit}
    return duckdb.connect(
        place,
        config={
            **limit,
            # Reading a file must not fetch extensions from the network.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # A file may have changed since the last workspace read it.
            "enable_external_file_cache": False,
        },
    )


def _keep(database: duckdb.DuckDBPyConnection) -> None:
    if _is_like_new(database):
        _IDLE[:] = [database]
    else:
        database.close()


def _is_like_new(database: duckdb.DuckDBPyConnection) -> bool:
    """Reset a database after its connection is closed; False where tables, files or data remain."""
    try:
        for setting in ("threads", "preserve_insertion_order", "disabled_optimizers"):
            database.execute(f"RESET {setting}")
        left = database.execute(
            "SELECT (SELECT count(*) FROM duckdb_databases() WHERE NOT internal) "
            "+ (SELECT count(*) FROM duckdb_tables() WHERE NOT internal)"
        ).fetchall()
        database.execute("SET temp_directory = ''")
    except duckdb.Error:
        # DuckDB switches folders only while nothing was spilled; and DuckDB 1.5 cannot be reused
        # after a row that is not UTF-8
        return False
    return left == [(1,)]


@contextmanager
def explained_errors() -> Iterator[None]:
    """Explain DuckDB's lack of resources, and raise KeyboardInterrupt, which DuckDB replaces."""
    try:
        yield
    except duckdb.Error as error:
        explained = resource_error(error)
        if explained is None:
            raise
        raise explained from None
    except RuntimeError as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None
        raise


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
