"""Atoms and pairs as one integer each, so that tables of them can be compared and searched."""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import Bools, Integers, Ints
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
    found: Bools = among[np.minimum(np.searchsorted(among, keys), len(among) - 1)] == keys
    return found


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
    if n_entities * n_entities * n_predicates > LIMIT:
        raise InputError(
            f"{n_entities:,} entities and {n_predicates:,} predicates are too many to tell atoms "
            "apart by 64-bit keys: leave out facts of predicates that no rule needs"
        )
    subject_predicate: Ints = subject.astype(np.int64) * n_predicates + predicate
    return subject_predicate * n_entities + object_
