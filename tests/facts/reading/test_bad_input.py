"""Every mistake gets one message that names the file, the line and what was expected."""

from __future__ import annotations

import gzip
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import open_duckdb, read_facts, read_labels, read_pairs
from hornbeam.errors import DataError, HornbeamNote, InputError
from hornbeam.facts.reading.interning import intern_facts
from hornbeam.facts.reading.sources import first_mistake
from hornbeam.facts.reading.text import text_source
from hornbeam.facts.reading.workspace import find_file, workspace
from tests.support.commands import plain_user
from tests.support.fact_tables import write

pytestmark = pytest.mark.usefixtures("few_and_many")

Reader = Callable[..., object]
PACKED = gzip.compress("".join(f"e{i}\tp\te{i * i}\n" for i in range(1000)).encode(), mtime=0)


def refusal(reader: Reader, *inputs: object) -> DataError:
    with pytest.raises(DataError) as caught:
        reader(*inputs)
    message = str(caught.value)
    assert "\n" not in message
    assert "Error" not in message
    return caught.value


# file name, its bytes, the line at fault, what the message says
TEXTS: list[tuple[str, str | bytes, int | None, str]] = [
    ("empty.tsv", "", None, "is empty; expected at least one fact"),
    ("blank.tsv", "\n\n", None, "holds no facts; expected at least one"),
    ("header.tsv", "subject\tpredicate\tobject\n", 1, "a header and no facts"),
    ("one.tsv", "a p b\n", 1, "separated by TABs, found 1 field"),
    ("one.csv", "a,p,b\na\n", 2, "(subject, predicate, object), or 2 of a unary fact, found 1"),
    ("five.tsv", "a\tp\tb\t1\tx\n", 1, "found 5 fields"),
    ("unary, then five.tsv", "a\tu\nb\tu\na\tp\tb\t1\tx\n", 3, "expected subject, predicate, obj"),
    ("unary, then one.tsv", "a\tu\nb\n", 2, "found 1 field"),
    ("unary, empty.tsv", "a\tu\n\tu\n", 2, "the subject is empty; expected a name"),
    ("unary, nameless.tsv", "a\tu\nb\t\n", 2, "the predicate is empty; expected a name"),
    ("among others.tsv", "a\tp\tb\nb\t\n", 2, "the predicate is empty; expected a name"),
    ("soft.tsv", "a\tp\tb\t1\na\tu\t\t0.5\n", 2, "the object is empty; expected a name"),
    ("few.tsv", "a\tp\tb\nb\tp\n", 2, "'p' has 1 argument here and 2 in "),
    ("more.csv", "b,u\na,u,b\n", 2, "'u' has 2 arguments here and 1 in "),
    ("zero.tsv", "a\tu\tb\t0\na\tu\n", 2, "'u' has 1 argument here and 2 in "),
    ("head.tsv", "subject\tpredicate\na\tu\tb\n", 2, "expected 2 fields (subject, predicate), f"),
    ("turned.tsv", "predicate\tsubject\tobject\np\ta\tb\nu\ta\n", 3, "expected 3 fields"),
    ("unary value.tsv", "subject\tpredicate\tvalue\na\tu\t2\n", 2, "truth value in [0, 1], found"),
    ("few4.tsv", "a\tp\tb\t1\nb\tp\tc\n", 2, "expected 4 fields"),
    ("many.tsv", "a\tp\tb\nb\tp\tc\t1\n", 2, "expected 3 fields"),
    ("more.tsv", "a\tp\tb\nb\tp\tc\t1\t1\n", 2, "found 5 fields"),
    ("trailing.tsv", "a\tp\tb\nb\tp\tc\t\n", 2, "found 4 fields"),
    ("after blanks.tsv", "\na\tp\tb\n\n\nb\n", 5, "found 1 field"),
    ("many.csv", "a,p,b\nb,p,c,1\n", 2, "found 4 fields"),
    ("semicolon.csv", "a;p;b\n", 1, "separated by commas, found 1 field; it has semicolons"),
    ("commas.tsv", "a,p,b\n", 1, "separated by TABs, found 1 field; it has commas: call it .csv"),
    ("tabs.csv", "a\tp\tb\n", 1, "separated by commas, found 1 field; it has TABs: call it .tsv"),
    ("quote.csv", 'a,p,b\n"a"x,p,b\n', 2, "closing quote"),
    ("open.csv", 'a,p,b\n"a,p,b\n', 2, "closing quote"),
    ("line feed.csv", 'a,p,b\n"a\nb",p,b\n', 2, "over the end of the line"),
    ("high.tsv", "a\tp\tb\t0.5\nb\tp\tc\t2.0\n", 2, "truth value in [0, 1], found '2.0'"),
    ("low.tsv", "a\tp\tb\t-0.1\n", 1, "truth value in [0, 1], found '-0.1'"),
    ("underscore.tsv", "a\tp\tb\t1\nb\tp\tc\t0_1\n", 2, "truth value in [0, 1], found '0_1'"),
    ("word.tsv", "a\tp\tb\t1\nb\tp\tc\thigh\n", 2, "truth value in [0, 1], found 'high'"),
    ("hex.tsv", "a\tp\tb\t0x1\n", 1, "found '0x1'"),
    ("inf.tsv", "a\tp\tb\tinf\n", 1, "found 'inf'"),
    ("nan.tsv", "a\tp\tb\tnan\n", 1, "found 'nan'"),
    ("none.tsv", "a\tp\tb\t1\nb\tp\tc\t\n", 2, "the truth value is missing"),
    ("arabic.tsv", "a\tp\tb\t\u0661\n", 1, "found '\u0661'"),
    ("long.tsv", "a\tp\tb\t" + "9" * 9999, 1, f"found '{'9' * 40}...'"),
    ("latin.tsv", b"a\tp\tb\nb\tp\tcaf\xe9\n", 2, "invalid UTF-8 (byte 0xe9)"),
    ("utf16.tsv", "a\tp\tb\n".encode("utf-16"), 1, "invalid UTF-8 (byte 0xff), rather UTF-16"),
    ("latin.csv", b"a,p,b\nb,p,caf\xe9\n", 2, "invalid UTF-8"),
    ("nul.tsv", "a\tp\tb\nb\tp\tc\0\n", 2, "the object holds a NUL"),
    ("cr.tsv", "a\tp\tb\nb\tp\tc\rd\n", 2, "the object holds a carriage return"),
    ("mac.tsv", "a\tp\tb\rb\tp\tc\r", 1, "carriage return"),
    ("tab.csv", 'a,p,b\nb,p,"c\td"\n', 2, "the object holds a TAB"),
    ("mixed.tsv", "a\tp\tb\nb\tp\tc\r\n", 2, "ends with CR LF"),
    ("nameless.tsv", "a\tp\tb\n\tp\tc\n", 2, "the subject is empty; expected a name"),
    ("nameless.csv", 'a,p,b\nb,"",c\n', 2, "the predicate is empty; expected a name"),
    ("unknown.csv", "subject,predicate,object,wieght\na,p,b,1\n", 1, "unknown column 'wieght'"),
    ("twice.csv", "subject,head,predicate,object\na,b,p,c\n", 1, "'subject' and 'head' mean the"),
    ("cut.tsv.gz", PACKED[:-9], None, "broken gzip file"),
    ("sum.tsv.gz", PACKED[:-8] + b"\1\2\3\4" + PACKED[-4:], None, "CRC check failed"),
    ("tail.tsv.gz", PACKED + b"more", None, "broken gzip file"),
    ("half.tsv.gz", PACKED[: len(PACKED) // 2], None, "broken gzip file"),
    ("text.parquet", "a\tp\tb\n", None, "expected a whole Parquet file"),
    ("tiny.parquet", "PA", None, "expected a whole Parquet file"),
    ("fake.parquet", "PAR1 and then nothing of the kind PAR1", None, "cannot be read"),
    ("unpacked.nt.gz", gzip.compress(b"<a:a> <a:p> .\n", mtime=0), 1, "expected N-Triples"),
    ("list.json", "[1, 2]", None, "not a PSL program"),
]


@pytest.mark.parametrize(("name", "text", "line", "said"), TEXTS, ids=[t[0] for t in TEXTS])
def test_text(tmp_path: Path, name: str, text: str | bytes, line: int | None, said: str) -> None:
    path = write(tmp_path / name, text)
    good = write(tmp_path / "good.tsv", "x\tp\ty\n")
    error = refusal(read_facts, good, path)
    assert (error.source, error.line) == (str(path), line)
    assert said in str(error)


def test_missing_and_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(refusal(read_facts, "nope.tsv")) == "nope.tsv: no such file"
    assert "is a directory; expected a file" in str(refusal(read_labels, tmp_path))
    assert "is a directory; expected a file" in str(refusal(read_facts, "."))
    assert "is not a file name" in str(refusal(read_facts, ""))
    assert "cannot be read" in str(refusal(read_facts, "a\0b"))
    assert "/dev/null: is empty" in str(refusal(read_facts, "/dev/null"))


@pytest.mark.slow
def test_forbidden(tmp_path: Path) -> None:
    path = write(tmp_path / "secret.tsv", "a\tp\tb\n")
    path.chmod(0)
    reading = [sys.executable, "-c", f"import hornbeam; hornbeam.read_facts({str(path)!r})"]
    done = subprocess.run([*plain_user(), *reading], capture_output=True, text=True, check=False)
    assert done.stderr.endswith(f"DataError: {path}: cannot be read: Permission denied\n")


def test_two_values_name_both_places(tmp_path: Path) -> None:
    one = write(tmp_path / "one.tsv", "a\tp\tb\nc\tp\td\n")
    two = write(tmp_path / "two.tsv", "x\tp\ty\t1\n\nc\tp\td\t0.25\n")
    message = str(refusal(read_facts, one, two))
    assert message == (
        f"{two}, line 3: p(c, d) has value 0.25 here and 1 in {one}, line 2; expected one value"
    )
    frame = pd.DataFrame([("c", "p", "d", 0.5)])
    assert "frame 2, row 1: p(c, d) has value 0.5 here" in str(refusal(read_facts, one, frame))
    zero = write(tmp_path / "zero.tsv", "a\tp\tb\t0\na\tp\tb\t1\n")
    assert refusal(read_facts, zero).line == 2


def test_values_that_differ_by_less_than_a_millionth_agree(tmp_path: Path) -> None:
    path = write(tmp_path / "f.tsv", "a\tp\tb\t0.3\na\tp\tb\t0.3000001\na\tp\tb\t0.7\n")
    assert refusal(read_facts, path).line == 3
    assert len(read_facts(write(path, "a\tp\tb\t0.3\na\tp\tb\t0.3000001\n"))) == 1


def test_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "l.tsv", "a\tt\tb\t1\nb\tt\tc\t0\na\tt\tb\t0\n")
    error = refusal(read_labels, path)
    assert error.line == 3
    assert f"t(a, b) has value 0 here and 1 in {path}, line 1" in str(error)
    for name, text in (("l3.tsv", "a\tt\tb\n"), ("l.csv", "subject,predicate,object\na,t,b\n")):
        error = refusal(read_labels, write(tmp_path / name, text))
        assert error.line == 1
        assert "no labels found; expected subject, predicate, object, label" in str(error)
    assert "no labels found" in str(refusal(read_labels, [("a", "t", "b")]))
    frame = pd.DataFrame([("a", "t", "b")])
    assert "row 1: expected a truth value in [0, 1], found 'b'" in str(refusal(read_labels, frame))
    bad = write(tmp_path / "bad.tsv", "a\tt\tb\t1\na\tt\tc\t1.5\n")
    assert refusal(read_labels, bad).line == 2


def test_pairs(tmp_path: Path) -> None:
    error = refusal(read_pairs, write(tmp_path / "p.tsv", "a\tt\tb\na\tt\tb\t1\tx\n"))
    assert error.line == 2
    assert "expected 3 or 4 fields" in str(error)
    assert refusal(read_pairs, write(tmp_path / "q.tsv", "a\tt\tb\na\tt\n")).line == 2


def test_ignored_fields_are_text_too(tmp_path: Path) -> None:
    """A database that leaves a column out does not look at its bytes."""
    good, bad = b"a|t|b|1\n" * 3, b"b|t|c|\xe9\n"
    roles = {"subject": "s", "predicate": "p", "object": "o"}
    for suffix, between in ((".tsv", b"\t"), (".csv", b",")):
        pairs = write(tmp_path / f"pairs{suffix}", (good + bad).replace(b"|", between))
        error = refusal(partial(read_pairs, header=False), pairs)
        assert (error.source, error.line) == (str(pairs), 4)
        assert "invalid UTF-8 (byte 0xe9)" in str(error)
        named = write(
            tmp_path / f"named{suffix}", (b"s|p|o|note\n" + good + bad).replace(b"|", between)
        )
        assert refusal(partial(read_facts, columns=roles), named).line == 5
        with pytest.raises(DataError, match="line 5"), open_duckdb(named, columns=roles):
            pass
    write(tmp_path / "atoms.txt", (good + bad).replace(b"|t|", b"\t").replace(b"|", b"\t"))
    predicates = '{"T/2": {"targets": ["atoms.txt"]}}'
    program = write(tmp_path / "program.json", f'{{"predicates": {predicates}}}')
    assert refusal(read_pairs, program).line == 4


def test_tables_without_rows_or_types() -> None:
    columns = {"subject": [None], "predicate": ["p"], "object": ["b"]}
    for frame in (pl.DataFrame(columns), pa.table(columns), pd.DataFrame(columns)):
        assert "expected" in str(refusal(read_facts, frame))
    nothing = pa.table({w: pa.array([], pa.string()) for w in ("subject", "predicate", "object")})
    for frame in (pl.DataFrame(nothing), nothing, nothing.to_pandas(), nothing.to_reader()):
        assert "has no rows; expected at least one fact" in str(refusal(read_facts, frame))


COLUMNS: list[tuple[str, dict[str, object], int | None, str]] = [
    ("other", {"x": [1]}, None, "expected columns subject, predicate, object"),
    ("edges", {"from": [1], "to": [2]}, None, "expected columns subject, predicate, object"),
    ("unary null", {"c0": ["a", None], "c1": ["u", "u"]}, 2, "the subject is empty"),
    ("order", {"subject": ["a"], "object": ["b"], "verb": ["p"]}, None, "found subject, object"),
    ("extra", {"subject": ["a"], "predicate": ["p"], "object": ["b"], "score": [1]}, None,
     "unknown column 'score'"),
    ("list", {"subject": [["a"]], "predicate": ["p"], "object": ["b"]}, None, "text or integers"),
    ("struct", {"subject": [{"a": 1}], "predicate": ["p"], "object": ["b"]}, None, "text or int"),
    ("float", {"subject": [1.5], "predicate": ["p"], "object": ["b"]}, None, "is of type DOUBLE"),
    ("null", {"subject": ["a", None], "predicate": ["p", "p"], "object": ["b", "b"]}, 2,
     "the subject is empty; expected a name"),
    ("empty", {"subject": ["a", "b"], "predicate": ["p", ""], "object": ["b", "b"]}, 2,
     "the predicate is empty"),
    ("tab", {"subject": ["a"], "predicate": ["p"], "object": ["b\tc"]}, 1, "holds a TAB"),
    ("high", {"subject": ["a"], "predicate": ["p"], "object": ["b"], "value": [1.5]}, 1,
     "truth value in [0, 1], found '1.5'"),
    ("word", {"subject": ["a"], "predicate": ["p"], "object": ["b"], "value": ["x"]}, 1,
     "found 'x'"),
    ("unvalued", {"subject": ["a"], "predicate": ["p"], "object": ["b"], "value": [[1.0]]}, None,
     "expected numbers"),
    ("novalue", {"subject": ["a", "b"], "predicate": ["p", "p"], "object": ["b", "b"],
     "value": [1.0, None]}, 2, "the truth value is missing"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "row", "said"), [c[1:] for c in COLUMNS], ids=[c[0] for c in COLUMNS]
)
def test_tables(
    tmp_path: Path, columns: dict[str, list[object]], row: int | None, said: str
) -> None:
    path = tmp_path / "facts.parquet"
    pq.write_table(pa.table(columns), path)
    for reader_input in (path, pa.table(columns), pl.DataFrame(columns)):
        error = refusal(read_facts, reader_input)
        assert error.row == row
        assert said in str(error)
        assert error.source in (str(path), "frame 1")


def test_missing_integers_of_pandas_name_their_row() -> None:
    frame = pd.DataFrame({"subject": [1, 2, None], "predicate": "p", "object": [4, 5, 6]})
    error = refusal(read_facts, [("a", "p", "b")], frame)
    assert (error.source, error.row) == ("frame 2", 3)
    assert "a name is missing" in str(error)


def test_parquet_broken_inside(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    pq.write_table(pa.table({w: ["a" * 50] * 99 for w in ("subject", "predicate", "object")}), path)
    data = path.read_bytes()
    write(path, data[:4] + b"\xff" * 60 + data[64:])
    assert "facts.parquet: broken after row 0" in str(refusal(read_facts, path))


TUPLES: list[tuple[object, int | None, str]] = [
    ([], None, "has no rows"),
    ([("a",)], 1, "or 2 of a unary fact, found 1 field"),
    ([("a", "u"), ("a",)], 2, "found 1 field"),
    ([("a", "p", "b"), ("a", "p", "b", 1)], 2, "expected 3 fields"),
    ([("a", "p", "b"), ("a", "p")], 2, "'p' has 1 argument here and 2 in frame 1, row 1"),
    ([("a", "u"), ("b", None)], 2, "the predicate is empty"),
    ([("a", "p", "b", "x")], 1, "found 'x'"),
    ([("a", "p", None)], 1, "the object is empty"),
    ([("a", "p", float("nan"))], 1, "the object is empty"),
    ([("a", "p", "b"), ("a\n", "p", "b")], 2, "a line feed"),
    ([("a\ud800", "p", "b")], 1, "is not Unicode text"),
    (["abc"], 1, "expected a tuple, found 'abc'"),
    (5, None, "found int"),
    (None, None, "found NoneType"),
    (pl.LazyFrame({"subject": ["a"]}), None, "expected columns subject, predicate, object"),
    (("a", "p", "b"), None, "expected a list of tuples: [('a', 'p', 'b')]"),
    ({"subject": ["a"], "predicate": ["p", "q"]}, None, "columns of different lengths"),
    ({"subject": "a"}, None, "expected columns subject, predicate, object"),
    (np.array(["a", "p", "b"]), None, "found ndarray"),
]


@pytest.mark.parametrize(("rows", "row", "said"), TUPLES, ids=[t[2] for t in TUPLES])
def test_tuples(rows: object, row: int | None, said: str) -> None:
    error = refusal(read_facts, rows)
    assert (error.source, error.row) == ("frame 1", row)
    assert said in str(error)


def test_nothing_at_all() -> None:
    with pytest.raises(InputError, match="no facts given"):
        read_facts()


@pytest.mark.filterwarnings("ignore:.*none of its fields occurs again")  # random rows look so
@settings(max_examples=60)
@given(st.lists(st.lists(st.text('ab", \r\té0.5', max_size=5), max_size=5), max_size=4), st.data())
def test_every_refusal_names_its_line(lines: list[list[str]], data: st.DataObject) -> None:
    """The fast reader and the strict scan agree on what is a mistake."""
    delimiter = data.draw(st.sampled_from("\t,"))
    text = data.draw(st.sampled_from(["\n", "\r\n"])).join(delimiter.join(line) for line in lines)
    with workspace() as space:
        path = write(space.folder / "facts", text)
        refused = None
        try:
            source = text_source(find_file(str(path), space.folder), delimiter)
            facts = intern_facts(space.connection, [source])
            names = {str(name) for _, fields in source.rows() for name in fields[:3:2]}
        except DataError as error:
            refused = error
        if refused is None:
            assert first_mistake([source]) is None
            assert set(facts.entities) == names
        else:
            assert refused.line is not None or not text.strip("\r\n")


def test_a_number_with_leading_zeros_and_without_is_announced_once() -> None:
    rows = [("a", "p", "01"), ("1", "p", "b"), ("002", "p", "2"), ("1", "p", "0")]
    with pytest.warns(HornbeamNote, match="names '002' and '2' are different entities") as told:
        read_facts(rows)
    assert len(told) == 1
    with pytest.warns(HornbeamNote, match="names '00' and '0' are different"):
        read_facts([("00", "p", "0")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_facts([("01", "p", "2"), ("0x1", "p", "x1"), ("0", "1", "b"), ("a", "01", "b")])
