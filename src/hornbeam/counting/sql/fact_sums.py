"""The sums of `hornbeam.counting.data_summaries` over facts in a database, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.rules.body import Step

#: Names fetched at a time.
BLOCK = 1_000_000
#: Columns of the tables of an engine, in the order of the factors.
LINKS, UNARY = ("subject", "predicate", "object", "value"), ("entity", "predicate", "value")


class FactSums(NamedTuple):
    """The number of facts, their sums, and the bytes of the names of entities in their order."""

    number: int
    sums: Sequence[int]
    names: Iterable[bytes]


def summed_in_database(engine: SqlEngine, factors: Sequence[Sequence[int]], prime: int) -> FactSums:
    """Add up the facts of an engine, once per choice of factors."""
    links, n_links = _sums(engine, "facts", LINKS, factors, prime)
    unary, n_unary = _sums(engine, "unary_facts", UNARY, factors, prime)
    number = n_links + n_unary - _projected_again(engine)
    return FactSums(number, [*links, *unary], _names(engine))


def _sums(
    engine: SqlEngine,
    table: str,
    columns: Sequence[str],
    factors: Sequence[Sequence[int]],
    prime: int,
) -> tuple[list[int], int]:
    """The sums over the rows of a table, and their number."""
    linear = [
        " + ".join(f"{a} * CAST({c} AS BIGINT)" for a, c in zip(chosen, columns, strict=False))
        for chosen in factors
    ]
    selected = ", ".join(f"({x}) % {prime} AS x{k}" for k, x in enumerate(linear))
    cubes = ", ".join(
        f"coalesce(CAST(sum(((x{k} * x{k}) % {prime} * x{k}) % {prime}) AS BIGINT), 0) AS s{k}"
        for k in range(len(factors))
    )
    found = engine.database.fetch(
        f"SELECT {cubes}, count(*) AS n FROM (SELECT {selected} FROM {table}) AS t"
    )
    return [int(found[f"s{k}"][0]) for k in range(len(factors))], int(found["n"][0])


def _names(engine: SqlEngine) -> Iterable[bytes]:
    """The bytes of the names of entities in their order, as `Names` has them."""
    if engine.entities is not None:
        yield engine.entities.blob
        return
    n = int(engine.database.fetch("SELECT count(*) AS n FROM entity_ids")["n"][0])
    for start in range(0, n, BLOCK):
        block = engine.database.fetch(
            f"SELECT name FROM entity_ids WHERE id >= {start} AND id < {start + BLOCK} ORDER BY id"
        )
        yield "\0".join([*block["name"].tolist(), ""]).encode()


def _projected_again(engine: SqlEngine) -> int:
    """Number of links in a database that stand for an atom of three or more arguments again.

    Such an atom has a link for any two of its arguments; that of the first two stands for it.
    """
    again = [
        number
        for number, name in enumerate(engine.predicates)
        if (step := Step.along(name)).arity > 2 and step.places != (0, 1)
    ]
    if not again:
        return 0
    listed = ", ".join(map(str, again))
    found = engine.database.fetch(f"SELECT count(*) AS n FROM facts WHERE predicate IN ({listed})")
    return int(found["n"][0])
