"""Sorting atoms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Array, Ids, Millionths
from hornbeam.facts.table import Atoms


def sort_atoms(
    predicate: Array, arguments: list[Ids], values: Millionths | None
) -> tuple[Array, list[Ids], Millionths | None]:
    """Order atoms by first argument, predicate, further arguments, value.

    Atoms without values are sorted as numbers of 64 bits where all ids of an atom fit into one,
    which takes a tenth of the time that sorting by columns does. `arguments` is emptied, so that
    the caller does not hold on to the unsorted columns.
    """
    columns = [arguments[0], predicate, *arguments[1:]]
    arguments.clear()
    widths = [int(column.max(initial=0)).bit_length() for column in columns]
    if values is None and sum(widths) <= 64:
        _sort_as_numbers(columns, widths)
    else:
        last = [] if values is None else [values]
        order = np.lexsort([*last, *reversed(columns)])
        columns = [column[order] for column in columns]
        values = None if values is None else values[order]
    first, predicate, *others = columns
    return predicate, [first, *others], values


def _sort_as_numbers(columns: list[Array], widths: Sequence[int]) -> None:
    """Sort rows of columns, which are replaced one by one; widths are in bits."""
    keys = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, width in zip(columns, widths, strict=True):
        keys <<= np.uint64(width)
        # cast piece by piece; of signed and unsigned numbers NumPy would make floats
        np.bitwise_or(keys, column, out=keys, dtype=np.uint64, casting="unsafe")
    keys.sort()
    for k in reversed(range(len(columns))):
        columns[k] = (keys & np.uint64((1 << widths[k]) - 1)).astype(columns[k].dtype)
        keys >>= np.uint64(widths[k])


def united_edges(parts: Sequence[Atoms]) -> Atoms:
    """The edges of all parts, sorted as `Atoms` are; parts without values are true."""
    values = None
    if any(part.millionths is not None for part in parts):
        values = np.concatenate([part.all_millionths for part in parts])
    ends = [np.concatenate([part.arguments[k] for part in parts]) for k in range(2)]
    predicate = np.concatenate([part.predicate for part in parts])
    predicate, ends, values = sort_atoms(predicate, ends, values)
    return Atoms(predicate, tuple(ends), values)
