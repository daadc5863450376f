"""Atoms come in one order, however they are sorted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.facts.atom_keys import sort_atoms

#: Ids by the bits that they take; an atom of three wide ones does not fit into 64.
IDS = st.sampled_from([0, 1, 3, 17, 30]).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


@given(
    st.integers(1, 4).flatmap(
        lambda arity: st.lists(
            st.tuples(*[IDS] * arity, st.integers(0, 400), st.integers(0, 10)), max_size=30
        ).map(lambda rows: (arity, rows))
    ),
    st.booleans(),
    st.sampled_from([np.uint16, np.int32]),
)
def test_rows_come_as_python_sorts_them(
    atoms: tuple[int, list[tuple[int, ...]]], valued: bool, kind: type[np.integer]
) -> None:
    arity, rows = atoms
    table = np.array(rows, dtype=np.int64).reshape(len(rows), arity + 2)
    arguments = [table[:, k].astype(np.int32) for k in range(arity)]
    values = table[:, arity + 1].astype(np.int32) if valued else None
    predicate, found, ordered = sort_atoms(table[:, arity].astype(kind), arguments, values)
    assert not arguments
    assert predicate.dtype == kind
    assert all(column.dtype == np.int32 for column in found)
    columns = [found[0], predicate, *found[1:]]
    expected = [(row[0], row[arity], *row[1:arity]) for row in rows]
    if valued:
        assert ordered is not None
        columns.append(ordered)
        expected = [(*key, row[arity + 1]) for key, row in zip(expected, rows, strict=True)]
    else:
        assert ordered is None
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == sorted(expected)
