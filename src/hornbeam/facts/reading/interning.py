"""From sources to facts and targets: names are numbered, rows sorted, duplicates dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Millionths
from hornbeam.errors import DataError
from hornbeam.facts.names import Names
from hornbeam.facts.ordering import sort_atoms
from hornbeam.facts.reading.diagnosis import change_of_arity, contradiction, first_mistake
from hornbeam.facts.reading.numbering import number_rows, reading_error
from hornbeam.facts.reading.sources import Source
from hornbeam.facts.table import ONE, Atoms, Facts, Targets, narrow_type

#: Facts for which DuckDB's threads have used much memory; starting them again takes milliseconds.
MANY = 100_000


def intern_facts(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> Facts:
    """Read sources of any arity into one table of facts."""
    try:
        arities = sorted({source.arity for source in sources})
        groups = [[source for source in sources if source.arity == arity] for arity in arities]
        valued = [any(source.valued for source in group) for group in groups]
        entities, predicates, parts = number_rows(connection, groups, valued, ordered=False)
        # free DuckDB's memory before sorting: its threads keep what they used, so they end, too
        if sum(len(part[0]) for part in parts) > MANY:
            connection.execute("SET threads = 1")
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    columns = dict(zip(arities, parts, strict=True))
    del parts  # `_atoms` frees columns on the way
    _take_unary(columns, sources)
    _check_one_arity(sources, predicates, columns)
    atoms = {}
    for arity in sorted(columns):
        some = [source for source in sources if arity in source.arities]
        table = _atoms(arity, columns.pop(arity), some, entities, predicates)
        if len(table):
            atoms[arity] = table
    return Facts(entities, predicates, atoms)


def intern_targets(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], labelled: bool
) -> Targets:
    """Read pairs in their order; labels are checked for contradictions and repeats dropped."""
    try:
        groups, valued = [[source] for source in sources], [labelled] * len(sources)
        entities, predicates, parts = number_rows(connection, groups, valued, ordered=True)
    except duckdb.Error as error:
        raise reading_error(error, sources) from None
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if not labelled:
        return Targets(entities, predicates, *columns)
    columns[3] = _checked(columns[3], sources)
    targets = Targets(entities, predicates, *columns)
    return targets.select(_first_mentions(targets, columns, sources))


def _checked(values: Millionths, sources: Sequence[Source]) -> Millionths:
    if len(values) and values.min() < 0:
        raise first_mistake(sources) or DataError(sources[0].name, "a value lies outside [0, 1]")
    return values


def _take_unary(columns: dict[int, list[Ids]], sources: Sequence[Source]) -> None:
    """Move the unary facts that were read among triples to those of one argument."""
    if not any(source.unary for source in sources):
        return
    triples = columns[2]
    unary = triples[2] < 0
    if not unary.any():
        return
    # predicate, entity, and the value 1 where others have values
    moved = [column[unary] for k, column in enumerate(triples) if k != 2]
    for k in range(len(triples)):
        triples[k] = triples[k][~unary]
    others = columns.get(1, [column[:0] for column in moved])
    valued = max(len(moved), len(others)) > 2
    parts = [
        [*part, np.full(len(part[0]), ONE, dtype=np.int32)] if len(part) < 3 and valued else part
        for part in (moved, others)
    ]
    columns[1] = [np.concatenate(two) for two in zip(*parts, strict=True)]


def _atoms(
    arity: int,
    columns: list[Ids],
    sources: Sequence[Source],
    entities: Names,
    predicates: Names,
) -> Atoms:
    """Atoms of one arity: sorted, without duplicates and zeros; two values are an error.

    Empties `columns` on the way, so that there are never more than two copies.
    """
    values = _checked(columns.pop(), sources) if len(columns) > arity + 1 else None
    arguments = [columns.pop(1) for _ in range(arity)]
    predicate = columns.pop().astype(narrow_type(len(predicates)))
    predicate, arguments, values = sort_atoms(predicate, arguments, values)
    same = repeats([predicate, *arguments])
    if values is not None:
        clash = same & (values[1:] != values[:-1])
        if clash.any():
            at = int(np.argmax(clash))
            row = [int(predicate[at]), *(int(column[at]) for column in arguments)]
            raise contradiction(sources, _atom(entities, predicates, row))
    keep = np.concatenate([np.ones(min(len(predicate), 1), dtype=np.bool_), ~same])
    if values is not None:
        keep &= values > 0
    if not keep.all():
        predicate = predicate[keep]
        for k in range(arity):
            arguments[k] = arguments[k][keep]
        values = values[keep] if values is not None else None
    crisp = values is None or bool(np.all(values == ONE))
    return Atoms(predicate, tuple(arguments), None if crisp else values)


def repeats(columns: Sequence[Array]) -> Bools:
    """Which rows of sorted columns equal the row before, from the second row on."""
    same = np.ones(max(len(columns[0]) - 1, 0), dtype=np.bool_)
    for column in columns:
        same &= column[1:] == column[:-1]
    return same


def _atom(entities: Names, predicates: Names, row: Sequence[int]) -> dict[str, str]:
    """Give the names of (predicate, arguments), by column."""
    arguments = {f"a{k}": entities[i] for k, i in enumerate(row[1:], start=1)}
    return {"predicate": predicates[row[0]]} | arguments


def _first_mentions(targets: Targets, columns: Sequence[Ids], sources: Sequence[Source]) -> Ids:
    """Rows of the first mention of every target, in file order; two labels are an error."""
    predicate, subject, object_, labels = columns
    # A stable sort: the first row of each run is the first mention.
    order = np.lexsort((object_, subject, predicate))
    same = repeats([predicate[order], subject[order], object_[order]])
    clash = same & (labels[order][1:] != labels[order][:-1])
    if clash.any():
        at = order[int(np.argmax(clash))]
        row = [int(column[at]) for column in columns[:3]]
        raise contradiction(sources, _atom(targets.entities, targets.predicates, row))
    first = np.concatenate([np.ones(min(len(order), 1), dtype=np.bool_), ~same])
    return np.sort(order[first]).astype(np.int32)


def _check_one_arity(
    sources: Sequence[Source], predicates: Names, columns: Mapping[int, Sequence[Ids]]
) -> None:
    """Refuse a predicate that has atoms of different numbers of arguments."""
    if len(columns) < 2:
        return
    tables = [np.bincount(part[0], minlength=len(predicates)) > 0 for part in columns.values()]
    several = np.flatnonzero(np.sum(tables, axis=0) > 1)
    if len(several):
        raise change_of_arity(sources, predicates[int(several[0])])
