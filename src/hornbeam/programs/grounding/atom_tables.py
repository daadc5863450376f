"""The atoms of a program in a private DuckDB, one table per predicate, ids only.

Table `atoms_K` of predicate K has the columns a0, a1, ... (ids of constants), `v` (the number of
the random variable, -1 for an observed atom) and `t` (its truth value, 0 for a random variable).
Column names and ids are all that SQL text ever holds; names from the data never reach it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt

from hornbeam.base.arrays import Ids
from hornbeam.base.machine import worker_threads
from hornbeam.facts.reading.workspace import workspace
from hornbeam.programs.program_data import PredicateTables, ProgramData

#: Values of `v` for an observed atom, and for an atom that does not exist.
OBSERVED, MISSING = -1, -2


@dataclass(frozen=True)
class StoredPredicate:
    """What a query may know of a predicate's table without looking into it."""

    number: int
    arity: int
    closed: bool
    rows: int
    has_variables: bool
    has_observed: bool
    all_ones: bool  #: every observed value is 1
    has_zeros: bool  #: some observed value is 0

    @property
    def table(self) -> str:
        """Name of the table."""
        return f"atoms_{self.number}"

    @property
    def is_plain(self) -> bool:
        """Whether every atom is observed and true, so that neither `v` nor `t` is needed."""
        return not self.has_variables and self.all_ones


@dataclass(frozen=True, eq=False)
class AtomTables:
    """A connection with the tables, and how to find them.

    `predicates` goes by lower-case name, since PSL ignores the case of predicates.
    """

    connection: duckdb.DuckDBPyConnection
    data: ProgramData
    predicates: Mapping[str, StoredPredicate]
    n_variables: int

    def arguments(self, predicate: str) -> tuple[Ids, ...]:
        """Ids of a predicate's atoms, one column per argument."""
        stored = self.predicate(predicate)
        return _arguments(list(self.data.predicates.values())[stored.number])

    def predicate(self, predicate: str) -> StoredPredicate:
        """Table of a predicate."""
        return self.predicates[predicate.lower()]

    def constant(self, name: str) -> int:
        """Id of a constant, -1 where no atom has it."""
        return self.data.names.index(name)


@contextmanager
def atom_tables(
    data: ProgramData, closed: Collection[str], threads: int | None = None
) -> Iterator[AtomTables]:
    """Load a program's atoms; the tables are dropped with the context."""
    with workspace() as space:
        connection = space.connection
        if threads is not None:
            connection.execute("SET threads = ?", [worker_threads(threads)])
        stored, variables = dict[str, StoredPredicate](), 0
        for number, (name, tables) in enumerate(data.predicates.items()):
            n_targets = len(tables.targets)
            key = name.lower()
            stored[key] = StoredPredicate(
                number,
                tables.arity,
                name in closed,
                len(tables.observed) + n_targets,
                n_targets > 0,
                len(tables.observed) > 0,
                bool(np.all(tables.observed.values == 1.0)),
                bool(np.any(tables.observed.values == 0.0)),
            )
            _load(connection, stored[key], tables, variables)
            variables += n_targets
        yield AtomTables(connection, data, stored, variables)


def _arguments(tables: PredicateTables) -> tuple[Ids, ...]:
    """Ids of the observed atoms, then of the targets."""
    parts = tables.observed.arguments, tables.targets.arguments
    return tuple(np.concatenate([part[k] for part in parts]) for k in range(tables.arity))


def _load(
    connection: duckdb.DuckDBPyConnection,
    stored: StoredPredicate,
    tables: PredicateTables,
    first: int,
) -> None:
    observed, targets = tables.observed, tables.targets
    columns: dict[str, npt.NDArray[np.generic]] = {
        f"a{k}": column for k, column in enumerate(_arguments(tables))
    }
    numbers = np.arange(first, first + len(targets), dtype=np.int32)
    columns["v"] = np.concatenate([np.full(len(observed), OBSERVED, dtype=np.int32), numbers])
    columns["t"] = np.concatenate([observed.values, np.zeros(len(targets))])
    connection.register("loading", columns)
    connection.execute(f"CREATE TEMP TABLE {stored.table} AS SELECT * FROM loading")
    connection.unregister("loading")
