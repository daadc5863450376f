from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import read_facts, read_labels, read_pairs
from hornbeam.errors import DataError, MissingExtraError
from tests.support.fact_tables import as_dict, as_rows, same_bytes, write

pytest.importorskip("pyoxigraph")

TRIPLES = rb"""<http://x/a> <http://x/p> <http://x/b> .
# a comment
_:b0 <http://x/p> "a\tb\n\"c\""@en .
<http://x/a> <http://x/p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""
NAMED = {
    ("http://x/a", "http://x/p", "http://x/b"),
    ("_:b0", "http://x/p", '"a\\tb\\n\\"c\\""@en'),
    ("http://x/a", "http://x/p", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'),
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("f.nt", TRIPLES),
        ("f.ttl", TRIPLES),
        ("f.nq", TRIPLES),
        ("f.nt.gz", gzip.compress(TRIPLES, mtime=0)),
        ("f.nt", b"\xef\xbb\xbf" + TRIPLES),
        ("f.NT", TRIPLES.replace(b"\n", b"\r\n")),
    ],
)
def test_triples(tmp_path: Path, name: str, data: bytes) -> None:
    assert set(as_dict(read_facts(write(tmp_path / name, data)))) == NAMED


def test_graphs_are_dropped(tmp_path: Path) -> None:
    line = b"<http://x/a> <http://x/p> <http://x/b> <http://x/%s> .\n"
    path = write(tmp_path / "f.nq", line % b"g" + line % b"h")
    assert list(as_dict(read_facts(path))) == [("http://x/a", "http://x/p", "http://x/b")]


def test_nodes_without_labels_have_the_same_names_every_time(tmp_path: Path) -> None:
    text = "@prefix : <http://x/> . :a :p [ :q :c ] . _:n :p (1 [] 3) . _:cafe :p :a ."
    one, two = (write(tmp_path / name, text) for name in ("one.ttl", "two.ttl"))
    facts = read_facts(one, two)
    for _ in range(3):
        assert same_bytes(read_facts(one, two), facts)
    blank = {name for name in facts.entities if name.startswith("_:")}
    numbered = {f"_:[{file}.{n}]" for file in (1, 2) for n in range(1, 6)}
    assert blank == {"_:n", "_:cafe"} | numbered


def test_pairs(tmp_path: Path) -> None:
    path = write(tmp_path / "f.nt", TRIPLES)
    assert set(as_rows(read_pairs(path))) == NAMED


@settings(max_examples=10)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_literal_is_a_name(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    from pyoxigraph import Literal

    lines = [f"<http://x/a> <http://x/p> {Literal(text)} .\n" for text in texts]
    path = write(tmp_path_factory.mktemp("rdf") / "f.nt", "".join(lines))
    facts = read_facts(path)
    assert set(facts.entities) == {"http://x/a"} | {str(Literal(text)) for text in texts}


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("f.nt", b"<a:a> <a:p> <a:b> .\n<a:a> nope\n", 2, "expected N-Triples"),
        ("f.ttl", b"@prefix : <http://x/> .\n:a :p :b\n:c :d :e .\n", 3, "expected Turtle"),
        ("f.ttl", b"<a> <b> <c> .", 1, "expected Turtle"),
        ("f.nq", b"<a:a> <a:p> <a:b> <a:c> <a:d> .\n", 1, "expected N-Quads"),
        ("f.nt", b'<a:a> <a:p> "\xff" .\n', 1, "Invalid UTF-8"),
        ("f.nt", b"# nothing\n", None, "has no rows"),
        ("f.nt", b"", None, "is empty"),
        ("f.nt.gz", gzip.compress(TRIPLES, mtime=0)[:-5], None, "broken gzip file"),
    ],
)
def test_wrong_syntax(tmp_path: Path, name: str, text: bytes, line: int | None, said: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(DataError) as caught:
        read_facts(path)
    assert (caught.value.source, caught.value.line) == (str(path), line)
    assert said in str(caught.value)


def test_no_labels_in_rdf(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="RDF holds no labels; expected a table of subject"):
        read_labels(write(tmp_path / "f.nt", TRIPLES))


def test_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hornbeam\[rdf\]'"):
        read_facts(write(tmp_path / "f.nt", TRIPLES))
