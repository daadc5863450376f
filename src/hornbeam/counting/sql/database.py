"""The protocol of databases that searches run in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from hornbeam.base.arrays import Array

TableColumns = Mapping[str, Array]


class Database(Protocol):
    """Makes tables from selects and from arrays, and fetches results."""

    @property
    def distributed(self) -> bool:
        """Whether several machines share the work: then every select takes a second at least."""

    def create(self, table: str, select: str) -> None:
        """Make (or replace) a table."""

    def view(self, name: str, select: str) -> None:
        """Make (or replace) a view."""

    def upload(self, table: str, columns: TableColumns) -> None:
        """Make (or replace) a table from arrays."""

    def fetch(self, select: str) -> dict[str, Array]:
        """Run a select and return its columns."""

    def drop(self, *tables: str) -> None:
        """Drop the tables that exist."""

    def write_parquet(self, path: str, batches: Iterable[TableColumns]) -> None:
        """Write batches of columns in their order; all of them or nothing."""
