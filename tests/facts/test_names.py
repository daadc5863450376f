from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.facts.names import Names
from tests.support.fact_tables import NAMES
from tests.support.kernels import both_ways, kernels_are

LISTS = st.lists(NAMES, max_size=20)


@given(LISTS)
def test_round_trip_in_code_point_order(texts: list[str]) -> None:
    names = Names.of(texts)
    assert list(names) == sorted(set(texts))
    assert [names[i] for i in range(len(names))] == list(names)
    assert names.take(range(len(names))) == list(names)


@given(LISTS, LISTS)
def test_find_is_the_inverse(texts: list[str], others: list[str]) -> None:
    names = Names.of(texts)
    assert names.find(names).tolist() == list(range(len(names)))
    for text, i in zip(others, names.find(others).tolist(), strict=True):
        assert (names[i] == text) if i >= 0 else (text not in texts)


@both_ways
@given(texts=LISTS, others=LISTS)
def test_translate(compiled: bool, texts: list[str], others: list[str]) -> None:
    one, other = Names.of(texts), Names.of(others)
    with kernels_are(compiled):
        ids = one.translate(other)
    assert ids.dtype == np.int32
    expected = [other.index(text) for text in one]
    assert ids.tolist() == expected


@given(LISTS)
def test_equality_ignores_order_and_repetition(texts: list[str]) -> None:
    assert Names.of(texts) == Names.of([*reversed(texts), *texts])
    assert hash(Names.of(texts)) == hash(Names.of(texts[::-1]))
    assert Names.of([*texts, "one more, surely new"]) != Names.of(texts)


def test_chunks_make_the_same_table() -> None:
    texts = sorted(f"e{i}" for i in range(100))
    chunks = [texts[:1], [], texts[1:50], texts[50:]]
    assert Names.from_sorted_chunks(chunks) == Names.of(texts)


def test_indices_like_a_list() -> None:
    names = Names.of(["a", "b"])
    assert names[-1] == "b"
    assert (names[:5], names[::-1]) == (["a", "b"], ["b", "a"])
    assert repr(Names.of("abcd")) == "Names(4: 'a', 'b', 'c', ...)"
    for i in (2, -3):
        with pytest.raises(IndexError):
            names[i]
    assert list(Names.of([])) == []
    assert Names.of([]).index("a") == -1
    assert Names.of(["a"]).index("\ud800") == -1
