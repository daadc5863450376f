"""The protocol of databases that searches run in, and the steps that they walk as SQL.

A step (origin, code, destination) is a fact walked forwards or backwards; codes are those of
`hornbeam.rules.codes`. The weight of a step, 1 / sqrt(out-degree x in-degree) of its relation, is
the same both ways, and is stored with every fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from hornbeam.base.arrays import Array
from hornbeam.facts.names import Names
from hornbeam.graph.adjacency import projections
from hornbeam.rules.codes import step_code_sql

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


#: Code of a fact's predicate, walked forwards and backwards.
FORWARDS, BACKWARDS = (step_code_sql("predicate", inverse) for inverse in (False, True))


def every_step(facts: str, names: Sequence[str], further: str = "") -> str:
    """Every fact of a table as a step, forwards and backwards.

    `names` are those of the columns of origin, code and destination.
    """
    origin, code, destination = names
    return (
        f"SELECT subject AS {origin}, {FORWARDS} AS {code}, object AS {destination}{further} "
        f"FROM {facts} UNION ALL "
        f"SELECT object AS {origin}, {BACKWARDS} AS {code}, subject AS {destination}{further} "
        f"FROM {facts}"
    )


def walked_steps(limited: bool = False, weighed: bool = False) -> str:
    """Every step with its value and, if `weighed`, its weight; if `limited`, none of `wide`."""
    facts, further = ("weighed_facts", ", value, weight") if weighed else ("facts", ", value")
    every = every_step(facts, ("origin", "code", "destination"), further)
    if not limited:
        return every
    return (
        f"SELECT s.* FROM ({every}) AS s WHERE NOT EXISTS "
        "(SELECT 1 FROM wide AS w WHERE w.origin = s.origin AND w.code = s.code)"
    )


#: Number of steps that leave (or, which is the same, reach) every node.
DEGREES = f"SELECT origin AS node, count(*) AS degree FROM ({walked_steps()}) AS s GROUP BY origin"
#: Number of steps of each code that leave every node.
CODE_DEGREES = (
    f"SELECT origin AS node, code, count(*) AS degree FROM ({walked_steps()}) AS s "
    "GROUP BY origin, code"
)
#: Facts with the weight of a step along them.
WEIGHED_FACTS = (
    "SELECT f.subject, f.predicate, f.object, f.value, "
    "1 / sqrt(CAST(s.degree AS DOUBLE) * o.degree) AS weight "
    "FROM facts AS f "
    f"JOIN code_degrees AS s ON s.node = f.subject AND s.code = {FORWARDS} "
    f"JOIN code_degrees AS o ON o.node = f.object AND o.code = {BACKWARDS}"
)


def join_hint(broadcast: bool, *tables: str) -> str:
    """For Spark: every worker gets these tables, or else the last is hashed, never sorted."""
    if broadcast:
        return f"/*+ BROADCAST({', '.join(tables)}) */ "
    return f"/*+ SHUFFLE_HASH({tables[-1]}) */ "


def wide_nodes(max_fanout: int) -> str:
    """Select (origin, code) of the steps that a fan-out limit forbids."""
    return (
        f"SELECT origin, code FROM ({walked_steps()}) AS s GROUP BY origin, code "
        f"HAVING count(*) > {int(max_fanout)}"
    )


def projected_edges(
    not_binary: Mapping[str, int], stored: Names, walked: Names, atoms: str
) -> list[str]:
    """Selects (subject, object, predicate, value) of the projections of wide atoms.

    The same as `hornbeam.graph.adjacency.with_projections` for arrays. The tables `{atoms}_3`
    and so on have predicates numbered as `stored`; those of edges are numbered as `walked`.
    """
    return [
        f"SELECT a{first + 1} AS subject, a{second + 1} AS object, "
        f"{walked.index(name)} AS predicate, value FROM {atoms}_{arity} "
        f"WHERE value > 0 AND predicate = {stored.index(predicate)}"
        for predicate, arity in not_binary.items()
        for (first, second), name in projections(predicate, arity).items()
    ]
