"""A private DuckDB and a temporary folder for reading; both are deleted at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import duckdb

from hornbeam.errors import DataError
from hornbeam.files import working_folder

#: What reading may hold besides the table of facts it makes; more spills to the folder.
MEMORY_LIMIT = "2GB"


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
def workspace(
    memory_limit: str | None = MEMORY_LIMIT, spill_dir: str | None = None, *, on_disk: bool = False
) -> Iterator[Workspace]:
    """Open a workspace; whatever spills to disk goes to its folder and away with it.

    `memory_limit` is DuckDB's own where it is None: 80 % of the machine's. `spill_dir` is where the
    folder goes; `on_disk` keeps tables in a file there from the start.
    """
    limit = {} if memory_limit is None else {"memory_limit": memory_limit}
    with working_folder(spill_dir) as folder:
        try:
            with duckdb.connect(
                folder / "facts.duckdb" if on_disk else ":memory:",
                config={"temp_directory": str(folder), **limit},
            ) as connection:
                # Reading a file must not fetch extensions from the network.
                connection.execute("SET autoinstall_known_extensions = false")
                connection.execute("SET autoload_known_extensions = false")
                connection.execute("SET enable_progress_bar = false")
                yield Workspace(connection, folder)
        except duckdb.Error as error:
            explained = resource_error(error)
            if explained is None:
                raise
            raise explained from None
        except RuntimeError as error:
            # What DuckDB makes of Ctrl-C.
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
