"""Searching finds exactly the names that hold what was typed, the closest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.facts.names import Names
from hornbeam.serve import entity_search
from hornbeam.serve.entity_search import NameIndex, fold
from tests.support.commands import HOSTILE

NAME = st.text("abAB éÉßﬁ.東", min_size=1, max_size=5)


def rank(typed: str, name: str) -> tuple[bool, bytes, str]:
    """Beginnings first, by folded name, so that the whole name is the first of all; then parts."""
    wanted, folded = fold(typed.strip()), fold(name)
    begins = folded.startswith(wanted)
    return not begins, folded.encode() if begins else b"", name


@given(st.sets(NAME, min_size=1, max_size=12), NAME, st.integers(1, 5))
def test_against_looking_at_every_name(texts: set[str], typed: str, limit: int) -> None:
    names = Names.of(texts)
    found = NameIndex.of(names).find(typed, limit)
    wanted = fold(typed.strip())
    holding = [name for name in names if wanted and wanted in fold(name)]
    assert found == sorted(holding, key=lambda name: rank(typed, name))[:limit]


@given(st.lists(NAME, min_size=1, max_size=12))
def test_folding_many_names_at_once_is_folding_each(texts: list[str]) -> None:
    assert fold("\0".join(texts)) == "\0".join(map(fold, texts))


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names.of([f"n{i:03}é{i % 7}" for i in range(200)])
    whole = NameIndex.of(names)
    monkeypatch.setattr(entity_search, "CHUNK_NAMES", 7)
    monkeypatch.setattr(entity_search, "CHUNK_BYTES", 5)
    parts = NameIndex.of(names)
    for typed in ("n1", "é3", "9e2", "zzz", "N199É3", ""):
        assert parts.find(typed, 50) == whole.find(typed, 50)
    assert len(whole.find("n", 50)) == 50


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_found_by_themselves(name: str) -> None:
    names = Names.of(HOSTILE)
    assert NameIndex.of(names).find(name, 1) == [name]


@pytest.mark.parametrize("typed", ["", "  ", "\0", "\0\0", "\ud800", "\u0301"])
def test_nothing_to_look_for_finds_nothing(typed: str) -> None:
    assert NameIndex.of(Names.of(["a", "b"])).find(typed, 5) == []


def test_no_names_at_all() -> None:
    assert NameIndex.of(Names.of([])).find("a", 5) == []
