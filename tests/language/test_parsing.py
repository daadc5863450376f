"""The tables of the grammar: kept beside the bytecode, and made again where they cannot be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hornbeam.errors import DataError
from hornbeam.language import parsing
from hornbeam.language.syntax import parse_rules
from tests.support.psl_corpus import ACCEPTED, REFUSED


@pytest.fixture
def keep_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Choose the folder of the tables; what this process knows of them is forgotten."""

    def choose(folder: Path) -> None:
        monkeypatch.setattr(parsing, "cache_from_source", lambda _: str(folder / "parsing.pyc"))
        parsing._parser.cache_clear()

    yield choose
    parsing._parser.cache_clear()


def outcome(text: str) -> object:
    """Rules of a text, or what is said against it."""
    try:
        return parse_rules(text, "rules.psl")
    except DataError as error:
        return str(error)


@pytest.mark.slow
def test_kept_tables_read_like_new_ones(
    keep_in: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*ACCEPTED, *REFUSED]
    folder = tmp_path / "__pycache__"
    keep_in(folder)
    new = [outcome(text) for text in texts]
    [kept] = folder.iterdir()
    keep_in(folder)
    monkeypatch.setattr("lark.lark.load_grammar", None)  # not to be called again
    assert [outcome(text) for text in texts] == new
    assert kept.suffix == ".lark"


def test_tables_that_cannot_be_kept_or_read_are_made_again(
    keep_in: Callable[[Path], None], tmp_path: Path
) -> None:
    expected = outcome(ACCEPTED[0])
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    keep_in(no_folder)
    assert outcome(ACCEPTED[0]) == expected
    (tmp_path / "parsing.lark").write_bytes(b"torn")
    keep_in(tmp_path)
    assert outcome(ACCEPTED[0]) == expected
    assert (tmp_path / "parsing.lark").stat().st_size > 1000
