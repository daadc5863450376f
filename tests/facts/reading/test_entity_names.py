"""Names of entities: from files and tuples; mistakes have their places."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hornbeam.errors import DataError, InputError
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.reading.readers import read_names
from tests.support.commands import HOSTILE, write

ROWS = [("/m/1", "Rome", "city"), ("/m/2", "Italy"), ("/m/3", "Rome", "")]


def same(found: EntityNames) -> bool:
    return found.names == {"/m/1": "Rome", "/m/2": "Italy", "/m/3": "Rome"} and found.types == {
        "/m/1": "city"
    }


def test_files_and_tuples_are_the_same(tmp_path: Path) -> None:
    file = write(tmp_path / "names.tsv", ROWS)
    headed = write(tmp_path / "headed.tsv", [("ID", "name", "Type"), *ROWS])
    commas = tmp_path / "names.csv"
    commas.write_text('/m/1,"Rome",city\n/m/2,Italy\n/m/3,Rome,\n')
    packed = tmp_path / "names.tsv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    for given in (file, str(headed), commas, packed, ROWS):
        assert same(read_names(given))
    # what is said twice is said once
    assert same(read_names(file, headed, ROWS))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (("a",), "expected 2 or 3 fields (id, name, [type]), found 1 field"),
        (("a", "b", "c", "d"), "expected 2 or 3 fields (id, name, [type]), found 4 fields"),
        (("a", ""), "the name is empty; expected a name"),
        (("", "b"), "the id is empty; expected a name"),
        (("/m/2", "Spain"), "'/m/2' is 'Spain' here and 'Italy' in {}, line 2; expected one name"),
    ],
)
def test_mistakes_have_file_and_line(tmp_path: Path, row: tuple[str, ...], problem: str) -> None:
    file = write(tmp_path / "names.tsv", [*ROWS, row])
    with pytest.raises(DataError) as caught:
        read_names(file)
    assert str(caught.value) == f"{file}, line 4: {problem.format(file)}"


def test_mistakes_in_tuples_have_their_row() -> None:
    with pytest.raises(DataError, match=r"frame 2, row 1: expected 2 or 3 fields"):
        read_names(ROWS, [("a",)])
    with pytest.raises(InputError, match="no names given"):
        read_names()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_names(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"a\tb\nc\t\xe9\n")
    with pytest.raises(DataError, match=r"latin.tsv, line 2: invalid UTF-8"):
        read_names(tmp_path / "latin.tsv")


def test_names_may_be_anything(tmp_path: Path) -> None:
    rows = [(f"e{i}", name, name) for i, name in enumerate(HOSTILE)]
    found = read_names(write(tmp_path / "names.tsv", rows))
    assert [(e, n, found.type_of(e)) for e, n in found.names.items()] == rows


def test_what_is_shown_tells_entities_apart() -> None:
    names = EntityNames({"a": "x", "b": "x", "c": "y", "d": "e"}, {"a": "kind"})
    shown = [names.shown(one) for one in "abcdef"]
    assert shown == ["x (a)", "x (b)", "y", "e", "e (e)", "f"]
    assert [names.named(one) for one in "abcdef"] == ["x", "x", "y", "e", "e", "f"]
    assert names.described("aaf") == {"a": {"name": "x", "type": "kind"}}
    assert NO_NAMES.shown("a") == "a"
    assert len(NO_NAMES) == 0
    assert repr(names) == "EntityNames(4 names, 1 types)"
