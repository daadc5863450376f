"""Atoms and pairs as one integer each, so that tables of them are compared, searched and sorted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Integers, Ints, Millionths
from hornbeam.errors import InputError

#: Keys are 64-bit integers with a sign.
LIMIT = 1 << 63


def pair_keys(first: Integers, second: Integers | int, limit: int = 1 << 32) -> Ints:
    """One integer per pair of ids, in the order of the first, then the second.

    Second ids are below `limit`. Ids have 32 bits, so that a key always fits.

    Examples
    --------
    >>> pair_keys(np.array([0, 2]), np.array([1, 0]), 3).tolist()
    [1, 6]
    """
    return first.astype(np.int64) * limit + second


def contained(keys: Integers, among: Integers) -> Bools:
    """Which keys a sorted table of keys holds."""
    if not len(among):
        return np.zeros(len(keys), dtype=np.bool_)
    held: Bools = among[np.minimum(np.searchsorted(among, keys), len(among) - 1)] == keys
    return held


def atom_keys(
    subject: Integers, predicate: Integers, object_: Integers, n_entities: int, n_predicates: int
) -> Ints:
    """One integer per atom, in the order of subject, predicate, object.

    Refused where entities² x predicates passes 2^63: two atoms could then have the same key.

    Examples
    --------
    >>> atom_keys(np.array([0, 2]), np.array([1, 0]), np.array([2, 1]), 3, 2).tolist()
    [5, 13]
    """
    check_key_size(n_entities, n_predicates)
    subject_predicate: Ints = subject.astype(np.int64) * n_predicates + predicate
    return subject_predicate * n_entities + object_


def check_key_size(n_entities: int, n_predicates: int) -> None:
    """Refuse more entities and predicates than keys of atoms can tell apart."""
    if n_entities * n_entities * n_predicates > LIMIT:
        raise InputError(
            f"{n_entities:,} entities and {n_predicates:,} predicates are too many to tell atoms "
            "apart by 64-bit keys: leave out facts of predicates that no rule needs"
        )


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
