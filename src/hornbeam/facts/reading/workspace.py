"""What reading needs: a connection to DuckDB, a temporary folder, and files as the user names them.

Files are checked, and copied to the folder where they cannot be read in place. Database and folder
are gone at the end.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, cast

import duckdb
import numpy as np

from hornbeam.base.files import working_folder
from hornbeam.errors import DataError, InputError

#: Memory for reading, in addition to the table of facts; more spills to the folder.
MEMORY_LIMIT = "2GB"
#: The database that no workspace uses now, if there is one.
_IDLE: list[duckdb.DuckDBPyConnection] = []
if hasattr(os, "register_at_fork"):  # not on Windows, which forks no processes
    # its threads would be missing in a forked process
    os.register_at_fork(before=_IDLE.clear)
#: Instants have the same date on every machine.
SETTINGS = "SET enable_progress_bar = false; SET TimeZone = 'UTC'"
BLOCK = 1 << 20
#: Rows inserted at once.
CHUNK = 100_000
GZIP_MAGIC = b"\x1f\x8b"
#: Longest copy of a pipe or of an unpacked file, and longest run of NULs at its beginning.
MAX_COPY, MAX_LEADING_NULS = 16 << 30, 16 << 20


@dataclass(frozen=True)
class Workspace:
    """A database connection and a folder for spooled files."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh(self, what: str) -> str:
        """Make a name for a table that is not in use yet."""
        return f"{what}_{next(self._numbers)}"

    def insert(
        self, table: str, columns: Sequence[str], rows: Iterable[Sequence[str | None]]
    ) -> None:
        """Create a table of rows of text."""
        listed = ", ".join(f"{column} VARCHAR" for column in columns)
        self.connection.execute(f"CREATE TEMP TABLE {table} ({listed})")
        left = iter(rows)
        while chunk := list(islice(left, CHUNK)):
            cells = [np.array(column, dtype=object) for column in zip(*chunk, strict=True)]
            self.connection.register("chunk", dict(zip(columns, cells, strict=True)))
            self.connection.execute(f"INSERT INTO {table} SELECT * FROM chunk")  # noqa: S608
            self.connection.unregister("chunk")


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
                connection.execute(SETTINGS)
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
        connection.execute(SETTINGS)
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
        database.execute("SET memory_limit = ?", [MEMORY_LIMIT])
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


# --- files ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class File:
    """A regular, non-empty file: where its (unpacked) bytes are, and what the user calls it."""

    path: Path
    name: str

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Read it from its beginning."""
        try:
            with self.path.open("rb") as stream:
                yield stream
        except OSError as error:  # deleted since it was found
            raise DataError(self.name, f"cannot be read: {error.strerror}") from None

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes block by block."""
        with self.opened() as stream:
            while block := stream.read(BLOCK):
                yield block


def suffix_of(item: str | os.PathLike[str]) -> str:
    """Suffix of a file in lower case, `.gz` aside: what the file is.

    Examples
    --------
    >>> suffix_of("data/Facts.CSV.gz")
    '.csv'
    """
    return Path(os.fspath(item).lower().removesuffix(".gz")).suffix


def find_file(item: str, folder: Path, expected: str = "at least one fact") -> File:
    """Check a file that the user named; "-" is the standard input.

    Of an empty file the error says what was `expected`.

    The sources are scanned several times, so pipes and devices are copied to `folder` first. So
    are gzipped files, whatever their suffix: DuckDB does not verify their checksums.
    """
    if not item:
        raise DataError("''", "is not a file name; expected a file")
    name = "standard input" if item == "-" else item
    try:
        path = _spooled(sys.stdin.buffer, folder) if item == "-" else _located(Path(item), folder)
        with path.open("rb") as stream:
            head = stream.read(2)
        if not head:
            raise DataError(name, f"is empty; expected {expected}")
        return File(_unpacked(path, name, folder) if head == GZIP_MAGIC else path, name)
    except FileNotFoundError:
        raise DataError(name, "no such file") from None
    except IsADirectoryError:
        raise DataError(name, "is a directory; expected a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(name, f"cannot be read: {reason}") from None


def is_empty(name: str) -> bool:
    """Whether a name is that of a regular file without any bytes."""
    return os.path.isfile(name) and not os.path.getsize(name)


def _located(path: Path, folder: Path) -> Path:
    """Find a regular file that SQL can name and that can be read again and again."""
    real = Path(os.path.realpath(path))
    if real.is_file() and _is_utf8(real):
        return real
    with path.open("rb") as stream:
        return _spooled(stream, folder)


def _is_utf8(path: Path) -> bool:
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _spooled(stream: BinaryIO, folder: Path) -> Path:
    """Copy a stream, which can be read only once, up to the limit: some have no end."""
    limit = min(MAX_COPY, shutil.disk_usage(folder).free // 2)
    size = 0
    with tempfile.NamedTemporaryFile(dir=folder, prefix="spool-", delete=False) as copy:
        while block := stream.read(BLOCK):
            size += len(block)
            if size > limit:
                cut = f"longer than {limit / 1e6:,.0f} MB, where a pipe or gzipped file is cut"
                raise ValueError(f"{cut}; save it, unpacked, as a file")
            if size > MAX_LEADING_NULS and not block.strip(b"\0"):
                raise ValueError("it holds NUL bytes without end; expected text")
            copy.write(block)
    return Path(copy.name)


def _unpacked(path: Path, name: str, folder: Path) -> Path:
    try:
        with gzip.open(path, "rb") as stream:
            return _spooled(cast("BinaryIO", stream), folder)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"broken gzip file ({error}); expected a whole one"
        raise DataError(name, problem) from None
