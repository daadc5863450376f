"""Atoms and pairs as integers: distinct ones have distinct keys, in their order, or none at all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import LIMIT, atom_keys, pair_keys


def keys_of(atoms: list[tuple[int, int, int]], n_entities: int, n_predicates: int) -> list[int]:
    """Keys of atoms (subject, predicate, object), ids in the types that tables hold."""
    subject, predicate, object_ = (np.array(column) for column in zip(*atoms, strict=True))
    ids = subject.astype(np.int32), predicate.astype(np.uint16), object_.astype(np.int32)
    return list(map(int, atom_keys(*ids, n_entities, n_predicates)))


@given(st.integers(1, 4), st.integers(1, 4))
def test_keys_are_distinct_and_in_order(n_entities: int, n_predicates: int) -> None:
    atoms = list(product(range(n_entities), range(n_predicates), range(n_entities)))
    assert keys_of(atoms, n_entities, n_predicates) == list(range(len(atoms)))


def test_the_largest_tables_have_exact_keys_and_larger_ones_none() -> None:
    n_entities = 1 << 30
    most = LIMIT // n_entities**2
    last = n_entities - 1, most - 1, n_entities - 1
    assert keys_of([last], n_entities, most) == [LIMIT - 1]
    with pytest.raises(InputError, match="1,073,741,824 entities and 9 predicates"):
        keys_of([last], n_entities, most + 1)


def test_pairs_of_the_largest_ids_have_exact_keys() -> None:
    n = np.iinfo(np.int32).max
    ids = np.array([n - 1], dtype=np.int32)
    assert pair_keys(ids, ids, n).tolist() == [int(n) * int(n) - 1]
