"""What a search needs of a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from hornbeam.arrays import Array

TableColumns = Mapping[str, Array]


class Database(Protocol):
    """Tables from selects and from arrays, and answers."""

    @property
    def distributed(self) -> bool:
        """Whether many machines share the work, and every select costs a second, however small."""

    def create(self, table: str, select: str) -> None:
        """Make (or replace) a table."""

    def view(self, name: str, select: str) -> None:
        """Make (or replace) a view."""

    def upload(self, table: str, columns: TableColumns) -> None:
        """Make (or replace) a table from arrays."""

    def fetch(self, select: str) -> dict[str, Array]:
        """Run a select and return its columns."""

    def drop(self, *tables: str) -> None:
        """Forget tables that are there."""

    def write_parquet(self, path: str, batches: Iterable[TableColumns]) -> None:
        """Write batches of columns, one after the other; all of them or nothing."""
