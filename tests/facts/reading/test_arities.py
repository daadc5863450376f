"""Facts of one, three and more arguments: every way in, and every way to get it wrong."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import read_facts, read_labels, read_pairs
from hornbeam.counting.sql.duckdb_engine import open_duckdb
from hornbeam.errors import DataError
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.reading.sources import MAX_ARITY
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.graph.adjacency import with_projections
from tests.support.fact_tables import NAMES, Atom, as_dict, same_bytes, write

pytestmark = pytest.mark.usefixtures("few_and_many")

MIXED = "a\tp\tb\nx\tstudent\nb\tp\tc\ny\tstudent\nx\tstudent\n"
EXPECTED = {
    ("a", "p", "b"): ONE,
    ("b", "p", "c"): ONE,
    ("x", "student"): ONE,
    ("y", "student"): ONE,
}
LISTED = "x\ny\nx\n"
UNARY = {"subject": ["x", "y"], "predicate": ["student", "student"]}


def refusal(*inputs: Input) -> DataError:
    """What both ways of reading say, in memory and in a database."""
    with pytest.raises(DataError) as caught:
        read_facts(*inputs)
    with pytest.raises(DataError) as stored, open_duckdb(*inputs):
        pass
    assert str(stored.value) == str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def stored_facts(*inputs: Input) -> list[tuple[Atom, int]]:
    """What `open_duckdb` stores, sorted: unary facts, and edges by the names of their relations."""
    found: list[tuple[Atom, int]] = []
    with open_duckdb(*inputs) as engine:
        for table, columns in (("facts", ("subject", "object")), ("unary_facts", ("entity",))):
            rows = engine.database.fetch(f"SELECT * FROM {table}")
            names = dict(
                zip(*engine.database.fetch("SELECT id, name FROM entity_ids").values(), strict=True)
            )
            for i, value in enumerate(rows["value"].tolist()):
                first, *others = (names[rows[column][i]] for column in columns)
                found.append(((first, engine.predicates[rows["predicate"][i]], *others), value))
    return sorted(found)


def edges(facts: Facts) -> list[tuple[Atom, int]]:
    """The same of facts in memory."""
    found: list[tuple[Atom, int]] = []
    facts = with_projections(facts)
    for table in facts.atoms.values():
        for i, value in enumerate((table.values * ONE).round().astype(int).tolist()):
            first, *others = (facts.entities[int(column[i])] for column in table.arguments)
            found.append(((first, facts.predicates[int(table.predicate[i])], *others), value))
    return sorted(found)


# Unary facts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f.tsv", MIXED),
        ("first.tsv", "y\tstudent\n" + MIXED),
        ("f.csv", MIXED.replace("\t", ",")),
        ("quoted.csv", MIXED.replace("\t", ",").replace("student", '"student"')),
        ("f.tsv.gz", gzip.compress(MIXED.encode(), mtime=0)),
        ("crlf.tsv", MIXED.replace("\n", "\r\n")),
        ("blank.tsv", "\n\n" + MIXED.replace("\n", "\n\n")),
        ("head.tsv", "subject\tpredicate\tobject\n" + MIXED),
        ("values.tsv", MIXED.replace("p\tb", "p\tb\t1").replace("p\tc", "p\tc\t1.0")),
        ("no end.tsv", MIXED[:-1]),
    ],
)
def test_unary_lines_stand_anywhere_among_triples(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path / name, text)
    facts = read_facts(path)
    assert as_dict(facts) == EXPECTED
    assert facts.not_binary == {"student": 1}
    assert not facts.soft
    assert stored_facts(path) == sorted(EXPECTED.items())


def as_parquet(columns: dict[str, list[str]], folder: Path) -> Path:
    pq.write_table(pa.table(columns), folder / "facts.parquet")
    return folder / "facts.parquet"


@pytest.mark.parametrize(
    "table",
    [
        lambda folder: as_parquet(UNARY, folder),
        lambda folder: as_parquet({"c0": UNARY["subject"], "c1": UNARY["predicate"]}, folder),
        lambda _: pa.table(UNARY),
        lambda _: pa.table(UNARY).select([1, 0]),
        lambda _: pd.DataFrame(UNARY),
        lambda _: pd.DataFrame([("x", "student"), ("y", "student")]),
        lambda _: pl.DataFrame(UNARY),
        lambda _: duckdb.from_arrow(pa.table(UNARY)),
        lambda _: [("x", "student"), ("y", "student")],
        lambda folder: write(folder / "u.tsv", "x\tstudent\ny\tstudent\n"),
        lambda folder: write(folder / "u.csv", "Relation,Head\nstudent,x\nstudent,y\n"),
        lambda folder: f"student={write(folder / 'any', LISTED)}",
    ],
)
def test_tables_of_unary_facts(tmp_path: Path, table: Callable[[Path], Input]) -> None:
    facts = read_facts(table(tmp_path), [("a", "p", "b"), ("b", "p", "c")])
    assert as_dict(facts) == EXPECTED
    assert list(facts.atoms) == [1, 2]


def test_tuples_of_two_among_others() -> None:
    rows = [("x", "student"), ("a", "p", "b"), ("b", "p", "c"), ("y", "student")]
    assert as_dict(read_facts(rows)) == EXPECTED
    valued = [(*row, 0.5) if len(row) == 3 else row for row in rows]
    half = {atom: ONE if len(atom) == 2 else ONE // 2 for atom in EXPECTED}
    assert as_dict(read_facts(valued)) == half
    assert stored_facts(valued) == sorted(half.items())


@pytest.mark.slow
def test_soft_unary_facts_have_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "u.tsv", "subject\tpredicate\tvalue\nx\tu\t0.25\ny\tu\t1\nz\tu\t0\n")
    expected = {("x", "u"): ONE // 4, ("y", "u"): ONE}
    columns = {"subject": ["x", "y"], "predicate": ["u", "u"], "truth": [0.25, 1.0]}
    mixed = write(tmp_path / "m.tsv", "y\tu\na\tp\tb\n")
    for given_ in ((path,), (pa.table(columns),)):
        assert as_dict(read_facts(*given_)) == expected
        both = expected | {("a", "p", "b"): ONE}
        assert as_dict(read_facts(mixed, *given_)) == both
        assert stored_facts(mixed, *given_) == sorted(both.items())
    other = write(tmp_path / "o.tsv", "a\tp\tb\nx\tu\n")
    error = refusal(other, path)
    assert str(error) == (
        f"{path}, line 2: u(x) has value 0.25 here and 1 in {other}, line 2; expected one value"
    )


@pytest.mark.slow
@settings(max_examples=10)
@given(
    st.dictionaries(
        st.tuples(NAMES, NAMES.map("1".__add__)) | st.tuples(NAMES, NAMES.map("2".__add__), NAMES),
        st.just(ONE),
        min_size=1,
        max_size=20,
    ),
    st.randoms(use_true_random=False),
)
def test_any_mixture_in_any_order(tmp_path_factory: pytest.TempPathFactory, atoms, random) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    # a byte order mark belongs to the file, and one name is a word of headers
    atoms = {a: v for a, v in atoms.items() if a[0][0] != "\ufeff" and a[0] != "subject"}
    if not atoms:
        return
    rows = list(atoms)
    random.shuffle(rows)
    facts = read_facts(rows)
    assert as_dict(facts) == atoms
    lines = "".join("\t".join(row) + "\n" for row in reversed(rows))
    path = write(tmp_path_factory.mktemp("mixed") / "f.tsv", lines)
    assert same_bytes(read_facts(path), facts)
    assert stored_facts(path) == sorted(atoms.items())


@pytest.mark.parametrize("reader", [read_labels, read_pairs])
def test_targets_of_a_program_have_one_argument_or_two(
    tmp_path: Path, reader: Callable[..., object]
) -> None:
    with pytest.raises(DataError, match=r"t=t\.tsv: no such file"):
        reader("t=t.tsv")
    program = write(tmp_path / "p.json", json.dumps({"predicates": {
        "U/3": {"targets": [["a"] * 3], "truth": [["a"] * 3]}}}))  # fmt: skip
    with pytest.raises(DataError, match="U/3; expected one or two: targets of three and more"):
        reader(program)
    program = write(tmp_path / "q.json", json.dumps({"predicates": {
        "U/1": {"targets": [["a"]], "truth": [["a", "1"]], "observations": [["b"]]}}}))  # fmt: skip
    targets = reader(program)
    assert isinstance(targets, Targets)
    assert list(targets.to_table().names)[:2] == ["subject", "predicate"]
    assert next(iter(targets))[:2] == ("a", "U")
    assert targets.unary == {"U"}


# RDF ----------------------------------------------------------------------------------------------

TYPES = """@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ada a :Person, :Author . :ada :wrote :notes . :Author rdfs:subClassOf :Person . :bo a :Person .
"""


def test_types_of_rdf_are_unary(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    x, rdfs = "http://x/", "http://www.w3.org/2000/01/rdf-schema#"
    expected = {
        (f"{x}ada", f"{x}Person"): ONE,
        (f"{x}ada", f"{x}Author"): ONE,
        (f"{x}bo", f"{x}Person"): ONE,
        (f"{x}ada", f"{x}wrote", f"{x}notes"): ONE,
        (f"{x}Author", f"{rdfs}subClassOf", f"{x}Person"): ONE,
    }
    path = write(tmp_path / "f.ttl", TYPES)
    assert as_dict(read_facts(path)) == expected
    assert stored_facts(path) == sorted(expected.items())
    # classes alone, and beside a table
    alone = write(tmp_path / "g.ttl", "@prefix : <http://x/> . :ada a :Person .")
    assert as_dict(read_facts(alone)) == {(f"{x}ada", f"{x}Person"): ONE}
    assert len(read_facts(alone, [("a", "p", "b")])) == 2
    # a pair to score stays a pair
    assert "http://www.w3.org/1999/02/22-rdf-syntax-ns#type" in list(read_pairs(path).predicates)


def test_a_class_that_is_a_relation_too(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    path = write(tmp_path / "f.ttl", "@prefix : <http://x/> .\n:a :b :c .\n:a a :b .\n")
    assert str(refusal(path)) == (
        f"{path}, row 2: 'http://x/b' has 1 argument here and 2 in {path}, row 1; "
        "expected the same number"
    )


# Tables of arguments ------------------------------------------------------------------------------

TA = {("c1", "ta", "ada", "spring"): ONE, ("c1", "ta", "bo", "spring"): ONE}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ta.tsv", "c1\tada\tspring\nc1\tbo\tspring\nc1\tada\tspring\n"),
        ("ta.txt", "c1\tada\tspring\r\n\r\nc1\tbo\tspring"),
        ("ta.csv", 'c1,"ada",spring\nc1,bo,spring\n'),
        ("ta.tsv.gz", gzip.compress(b"c1\tada\tspring\nc1\tbo\tspring\n", mtime=0)),
        ("ta.csv.gz", gzip.compress(b"c1,ada,spring\nc1,bo,spring\n", mtime=0)),
    ],
)
def test_text_tables_of_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | bytes
) -> None:
    write(tmp_path / name, text)
    monkeypatch.chdir(tmp_path)
    facts = read_facts(f"ta={name}", [("a", "p", "b")])
    assert as_dict(facts) == TA | {("a", "p", "b"): ONE}
    assert facts.not_binary == {"ta": 3}
    assert stored_facts(f"ta={name}", [("a", "p", "b")]) == edges(facts)


def test_parquet_tables_of_arguments(tmp_path: Path) -> None:
    path = tmp_path / "any.parquet"
    columns = {"course": ["c1", "c1"], "value": ["ada", "bo"], "subject": ["spring", "spring"]}
    pq.write_table(pa.table(columns), path)
    assert as_dict(read_facts(f"ta={path}")) == TA
    pq.write_table(pa.table({"n": [1, 2]}), path)
    assert as_dict(read_facts(f"even={path}")) == {("1", "even"): ONE, ("2", "even"): ONE}
    pq.write_table(pa.table({"n": [1.5], "m": ["a"]}), path)
    assert "column 'n' is of type DOUBLE; expected text or integers" in str(refusal(f"x={path}"))


def test_tables_of_every_arity_together(tmp_path: Path) -> None:
    for arity in range(1, MAX_ARITY + 1):
        lines = ["\t".join(f"e{(i + k) % 9}" for k in range(arity)) for i in range(9)]
        write(tmp_path / f"p{arity}", "\n".join(lines))
    tables = [f"p{arity}={tmp_path / f'p{arity}'}" for arity in range(1, MAX_ARITY + 1)]
    facts = read_facts(*tables)
    assert {arity: len(table) for arity, table in facts.atoms.items()} == dict.fromkeys(
        range(1, MAX_ARITY + 1), 9
    )
    assert stored_facts(*tables) == edges(facts)


def test_a_second_column_is_no_value(tmp_path: Path) -> None:
    path = write(tmp_path / "soft.tsv", "a\t0.5\nb\t1\n")
    assert as_dict(read_facts(f"p={path}")) == {("a", "p", "0.5"): ONE, ("b", "p", "1"): ONE}


def test_a_file_of_that_very_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "ta.tsv", "c1\tada\tspring\n")
    assert len(read_facts("ta=ta.tsv").not_binary) == 1
    write(tmp_path / "ta=ta.tsv", "a\tp\tb\n")
    for item in ("ta=ta.tsv", Path("ta=ta.tsv")):
        assert as_dict(read_facts(item)) == {("a", "p", "b"): ONE}
    os.remove("ta=ta.tsv")
    with pytest.raises(DataError, match=r"^ta=ta\.tsv: no such file$"):
        read_facts(Path("ta=ta.tsv"))
    # the first "=" ends the name
    write(tmp_path / "x=y", "a\n")
    assert as_dict(read_facts("p=x=y")) == {("a", "p"): ONE}


@pytest.mark.parametrize("predicate", ["'; DROP TABLE facts; --", "é😀", " ", '"', "p.q/r-s"])
def test_any_name_is_a_predicate(tmp_path: Path, predicate: str) -> None:
    path = write(tmp_path / "t", "a\tb\tc\n")
    assert as_dict(read_facts(f"{predicate}={path}")) == {("a", predicate, "b", "c"): ONE}
    assert len(stored_facts(f"{predicate}={path}")) == 3


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("few.tsv", "a\tb\tc\na\tb\n", 2, "expected 3 fields (argument 1, argument 2, argument 3)"),
        ("many.csv", "a,b,c\na,b,c,d\n", 2, "found 4 fields"),
        ("one.tsv", "a\na\tb\n", 2, "expected 1 field (argument 1), found 2 fields"),
        ("empty name.tsv", "a\tb\tc\na\t\tc\n", 2, "the argument 2 is empty; expected a name"),
        ("last.tsv", "a\tb\tc\na\tb\t\n", 2, "the argument 3 is empty; expected a name"),
        ("wide.tsv", "\n" + "\t".join("abcdefghi"), 2, "expected at most 8 arguments, found 9"),
        ("cr.tsv", "a\tb\tc\na\tb\rc\td\n", 2, "the argument 2 holds a carriage return"),
        ("latin.tsv", b"a\tb\tc\na\tb\tcaf\xe9\n", 2, "invalid UTF-8"),
        ("empty.tsv", "", None, "is empty; expected at least one fact"),
        ("blank.tsv", "\n\n", None, "holds no facts; expected at least one line"),
        ("program.json", "{}", None, "expected a table of the arguments of 'ta': TSV, CSV or"),
        ("graph.nt", "<a:a> <a:p> <a:b> .", None, "expected a table of the arguments of 'ta'"),
        ("text.parquet", "a\tb\n", None, "expected a whole Parquet file"),
    ],
)
def test_wrong_tables(
    tmp_path: Path, name: str, text: str | bytes, line: int | None, said: str
) -> None:
    path = write(tmp_path / name, text)
    error = refusal([("a", "p", "b")], f"ta={path}")
    assert (error.source, error.line) == (str(path), line)
    assert said in str(error)


def test_wrong_names_of_tables(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "a\tb\tc\n")
    assert str(refusal(f"={path}")) == (
        f"={path}: the predicate before '=' is empty; expected a name, as in ta=ta.tsv"
    )
    assert "holds a TAB" in str(refusal(f"t\ta={path}"))
    assert "is not Unicode text" in str(refusal(f"t\udcff={path}"))
    assert str(refusal("year=2020/f.tsv")) == (
        "year=2020/f.tsv: no such file, and no table '2020/f.tsv' of the predicate 'year'"
    )
    assert "is a directory; expected a file" in str(refusal(f"ta={tmp_path}"))


@pytest.mark.slow
def test_an_arity_that_changes_between_files(tmp_path: Path) -> None:
    ta = write(tmp_path / "ta.tsv", "c1\tada\tspring\n")
    pairs = write(tmp_path / "pairs.tsv", "a\tp\tb\nc1\tta\tada\n")
    assert str(refusal(f"ta={ta}", pairs)) == (
        f"{pairs}, line 2: 'ta' has 2 arguments here and 3 in {ta}, line 1; "
        "expected the same number"
    )
    unary = write(tmp_path / "unary.tsv", "c1\tta\n")
    assert str(refusal(unary, f"ta={ta}")) == (
        f"{ta}, line 1: 'ta' has 3 arguments here and 1 in {unary}, line 1; "
        "expected the same number"
    )
    two = write(tmp_path / "two.tsv", "c1\tada\n")
    assert refusal(f"ta={ta}", f"ta={two}").source == str(two)
    program = write(tmp_path / "p.json", json.dumps({"predicates": {
        "ta/2": {"observations": [["c1", "ada"]]}}}))  # fmt: skip
    error = refusal(f"ta={ta}", program)
    assert (error.source, error.row) == (f"{program}, observations of ta", 1)


def test_too_many_arguments_of_a_program(tmp_path: Path) -> None:
    row = list("abcdefghi")
    program = write(tmp_path / "p.json", json.dumps({"predicates": {
        "W/9": {"observations": [row]}}}))  # fmt: skip
    assert str(refusal(program)) == (
        f"{program}: observations of W/9; expected at most 8 arguments"
    )
