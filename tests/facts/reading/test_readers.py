"""One suite for every way in: what goes in comes out, whatever the order and the names."""

from __future__ import annotations

import csv
import gzip
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import read_facts, read_labels, read_pairs
from hornbeam.errors import DataError
from hornbeam.facts.reading import text
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.reading.workspace import File
from hornbeam.facts.table import ONE
from tests.support.fact_tables import ATOMS, NAMES, as_dict, as_rows, same_bytes, write

pytestmark = pytest.mark.usefixtures("few_and_many")

Atoms = Mapping[tuple[str, str, str], int]
HEADER = ["subject", "predicate", "object", "value"]


def cells(atoms: Atoms) -> list[tuple[str, str, str, float]]:
    return [(*triple, value / ONE) for triple, value in atoms.items()]


def tsv(atoms: Atoms) -> str:
    return "".join("\t".join(map(str, row)) + "\n" for row in cells(atoms))


def comma(atoms: Atoms) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(cells(atoms))
    return text.getvalue()


def columns(atoms: Atoms) -> dict[str, list[Any]]:
    return {
        word: list(column)
        for word, column in zip(HEADER, zip(*cells(atoms), strict=True), strict=True)
    }


def arrow(atoms: Atoms) -> pa.Table:
    return pa.table(columns(atoms))


def parquet(atoms: Atoms, folder: Path) -> Path:
    pq.write_table(arrow(atoms), folder / "facts.parquet")
    return folder / "facts.parquet"


def categorical(atoms: Atoms) -> pd.DataFrame:
    return pd.DataFrame(columns(atoms)).astype({"predicate": "category", "subject": "category"})


WAYS: dict[str, Callable[[Atoms, Path], Input]] = {
    "tsv": lambda atoms, folder: write(folder / "facts.tsv", tsv(atoms)),
    "tsv, no suffix": lambda atoms, folder: write(folder / "facts", tsv(atoms)),
    "tsv, no last line end": lambda atoms, folder: write(folder / "f", tsv(atoms)[:-1]),
    "tsv, crlf": lambda atoms, folder: write(folder / "f", tsv(atoms).replace("\n", "\r\n")),
    "tsv, byte order mark": lambda atoms, folder: write(
        folder / "f", "\ufeffsubject\tpredicate\tobject\tvalue\n" + tsv(atoms)
    ),
    "gzip": lambda atoms, folder: write(folder / "f.tsv.gz", gzip.compress(tsv(atoms).encode())),
    "gzip, wrong suffix": lambda atoms, folder: write(
        folder / "f.tsv", gzip.compress(tsv(atoms).encode())
    ),
    "plain, wrong suffix": lambda atoms, folder: write(folder / "f.tsv.gz", tsv(atoms)),
    "csv": lambda atoms, folder: write(folder / "facts.csv", comma(atoms)),
    "csv, header": lambda atoms, folder: write(
        folder / "facts.csv", "Head,Relation,Tail,Truth Value\r\n" + comma(atoms)
    ),
    "csv, gzip": lambda atoms, folder: write(
        folder / "facts.csv.gz", gzip.compress(comma(atoms).encode())
    ),
    "parquet": parquet,
    "pandas": lambda atoms, _: pd.DataFrame(columns(atoms)),
    "pandas, categorical": lambda atoms, _: categorical(atoms),
    "pandas, no names": lambda atoms, _: pd.DataFrame(cells(atoms)),
    "polars": lambda atoms, _: pl.DataFrame(columns(atoms)),
    "polars, categorical": lambda atoms, _: pl.DataFrame(columns(atoms)).with_columns(
        pl.col("object").cast(pl.Categorical)
    ),
    "arrow": lambda atoms, _: arrow(atoms),
    "arrow, other order": lambda atoms, _: arrow(atoms).select([3, 2, 0, 1]),
    "arrow, one-shot stream": lambda atoms, _: arrow(atoms).to_reader(max_chunksize=2),
    "arrow, dictionary": lambda atoms, _: arrow(atoms).set_column(
        1, "relation", arrow(atoms)["predicate"].dictionary_encode()
    ),
    "duckdb": lambda atoms, _: duckdb.from_arrow(arrow(atoms)),
    "tuples": lambda atoms, _: cells(atoms),
}


def kept(atoms: Atoms) -> dict[tuple[str, str, str], int]:
    """Facts of value 0 are absent facts."""
    return {triple: value for triple, value in atoms.items() if value}


# Each reading opens a database of its own (20 ms): few examples of many names.
FEW = settings(max_examples=3)


@pytest.mark.parametrize("way", WAYS)
@FEW
@given(atoms=ATOMS)
def test_round_trip(way: str, atoms: Atoms) -> None:
    # A byte order mark belongs to the file, not to the first name.
    atoms = {triple: value for triple, value in atoms.items() if triple[0][0] != "\ufeff"}
    if way == "tsv, byte order mark":  # a word of its header must not occur again below it
        atoms = {triple: value for triple, value in atoms.items() if set(HEADER).isdisjoint(triple)}
    if not atoms:
        return
    with tempfile.TemporaryDirectory() as folder:
        facts = read_facts(WAYS[way](atoms, Path(folder)))
    assert as_dict(facts) == kept(atoms)
    assert set(facts.entities) == {name for s, _, o in atoms for name in (s, o)}
    assert set(facts.predicates) == {p for _, p, _ in atoms}


@pytest.mark.slow
@FEW
@given(ATOMS, st.randoms(use_true_random=False))
def test_order_and_repetition_change_no_byte(atoms: Atoms, random: Random) -> None:
    rows = cells(atoms)
    again = [*rows, *rows[:3]]
    random.shuffle(again)
    middle = len(again) // 2
    once = read_facts(rows)
    parts = [part for part in (again[middle:], again[:middle]) if part]
    assert same_bytes(once, read_facts(again))
    assert same_bytes(once, read_facts(*parts))
    assert same_bytes(once, read_facts(pd.DataFrame(again, columns=HEADER)))


@pytest.mark.slow
@FEW
@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=12))
def test_pairs_keep_order_and_repetition(triples: list[tuple[str, str, str]]) -> None:
    frame = pl.DataFrame(triples, schema=HEADER[:3], orient="row")
    for pairs in (read_pairs(triples), read_pairs(frame), read_pairs(triples[:1], triples)):
        assert as_rows(pairs)[-len(triples) :] == triples
        assert pairs.millionths is None


@FEW
@given(ATOMS)
def test_labels_keep_the_order_of_the_first_mention(atoms: Atoms) -> None:
    rows = cells(atoms)
    labels = read_labels(rows, rows[::-1])
    assert as_rows(labels) == list(atoms)
    assert labels.millionths is not None
    assert labels.millionths.tolist() == list(atoms.values())


@pytest.mark.slow
def test_many_rows_keep_their_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    subjects = rng.integers(1000, size=200_000)
    lines = "".join(f"e{s:03d}\tt\te{i % 7:03d}\n" for i, s in enumerate(subjects.tolist()))
    pairs = read_pairs(write(tmp_path / "pairs.tsv", lines))
    numbers = np.array([int(name[1:]) for name in pairs.entities])
    assert np.array_equal(numbers[pairs.subject], subjects)
    assert np.array_equal(numbers[pairs.object], np.arange(200_000) % 7)


def test_files_of_different_kinds_at_once(tmp_path: Path) -> None:
    one = write(tmp_path / "a.tsv", "a\tp\tb\n")
    two = write(tmp_path / "b.csv", "object,predicate,value,subject\nc,p,0.5,b\n")
    facts = read_facts(one, str(two), [("c", "q", "a")], pd.DataFrame([(1, "p", 2)]))
    assert as_dict(facts) == {
        ("a", "p", "b"): ONE,
        ("b", "p", "c"): ONE // 2,
        ("c", "q", "a"): ONE,
        ("1", "p", "2"): ONE,
    }
    assert facts.soft


@pytest.mark.parametrize("way", ["parquet", "pandas", "polars", "arrow", "duckdb"])
def test_inputs_of_any_kind_one_after_the_other(tmp_path: Path, way: str) -> None:
    table = WAYS[way]({("a", "p", "b"): ONE}, tmp_path)
    assert len(read_facts([("y", "p", "x")], table, [("x", "p", "y")])) == 3


def test_facts_without_values_are_crisp() -> None:
    assert not read_facts([("a", "p", "b")]).soft
    assert not read_facts([("a", "p", "b", 1.0), ("a", "p", "c", 0)]).soft


@pytest.mark.parametrize(
    ("text", "millionths"),
    [
        ("1", ONE), ("1.0", ONE), ("1e-1", 100_000), (" 0.5", 500_000), ("0.5 ", 500_000),
        ("+1", ONE), (".5", 500_000), ("-0", None), ("0", None), ("4e-7", None), ("6e-7", 1),
        ("0.9999999", ONE), ("0.1234565", 123_457), ("1e-400", None),
    ],
)  # fmt: skip
def test_values(tmp_path: Path, text: str, millionths: int | None) -> None:
    path = write(tmp_path / "f.tsv", f"a\tp\tb\t{text}\nb\tp\tc\t1\n")
    assert as_dict(read_facts(path)).get(("a", "p", "b")) == millionths


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "str", "Int64", "object"])
def test_types_of_labels(dtype: str) -> None:
    frame = pd.DataFrame([("a", "t", "b"), ("a", "t", "c")], columns=HEADER[:3])
    frame["label"] = pd.Series([1, 0]).astype(dtype)
    assert read_labels(frame).truth.tolist() == [1.0, 0.0]


def test_column_four_of_pairs_is_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.tsv", "a\tt\tb\tnonsense\nb\tt\tc\nc\tt\td\t\n")
    assert as_rows(read_pairs(path)) == [("a", "t", "b"), ("b", "t", "c"), ("c", "t", "d")]
    headed = write(tmp_path / "h.csv", "score,subject,predicate,object\n0.7,a,t,b\n")
    assert as_rows(read_pairs(headed)) == [("a", "t", "b")]


def test_blank_lines_and_spaces(tmp_path: Path) -> None:
    path = write(tmp_path / "f.tsv", "\n\n a\tp\tb \n\n\nc\tp\td\n\n")
    assert set(as_dict(read_facts(path))) == {(" a", "p", "b "), ("c", "p", "d")}


@pytest.mark.parametrize(
    "name",
    [
        "a[1].tsv",
        "*.tsv",
        "it's.tsv",
        "~",
        "{a,b}.tsv",
        "sp ace.tsv",
        "#learn",
        "é😀.tsv",
        "$x",
        "%41",
    ],
)
def test_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write(tmp_path / "a1.tsv", "decoy\tp\tdecoy\n")
    write(tmp_path / name, "a\tp\tb\n")
    monkeypatch.chdir(tmp_path)
    assert as_dict(read_facts(name)) == {("a", "p", "b"): ONE}
    assert sorted(os.listdir(tmp_path)) == sorted({"a1.tsv", name})


def test_file_name_that_is_no_text(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"bad\xff.tsv")
    try:
        Path(os.fsdecode(path)).write_text("a\tp\tb\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert len(read_facts(os.fsdecode(path))) == 1


def test_folders_that_look_like_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    assert len(read_facts(parquet({("a", "p", "b"): ONE}, folder))) == 1
    assert len(read_facts(write(folder / "f.tsv", "a\tp\tb\n"))) == 1


def test_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write, args=(pipe, "a\tp\tb\nb\tp\tc\n"))
    writer.start()
    assert len(read_facts(pipe)) == 2
    writer.join()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input(name: str) -> None:
    code = f"from hornbeam import read_facts; print(len(read_facts({name!r})))"
    data = gzip.compress(b"a\tp\tb\nb\tp\tc\n")
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"2\n", b"")


def test_nothing_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch, here = tmp_path / "scratch", tmp_path / "here"
    scratch.mkdir()
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.chdir(here)
    packed = write(tmp_path / "f.tsv.gz", gzip.compress(b"a\tp\tb\n"))
    broken = write(tmp_path / "g.tsv.gz", gzip.compress(b"a\tp\tb\t7\n"))
    read_facts(packed)
    with pytest.raises(DataError, match=r"g\.tsv\.gz, line 1: .*truth value"):
        read_facts(packed, broken)
    assert os.listdir(scratch) == []
    assert os.listdir(here) == []


@pytest.mark.slow
def test_frames_need_no_pyarrow() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import polars as pl; from hornbeam import read_facts\n"
        "rows = {'subject': ['a'], 'predicate': ['p'], 'object': ['b']}\n"
        "print(len(read_facts(pl.DataFrame(rows))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_shared_data(shared_data: Path) -> None:
    folder = shared_data / "ddi_196"
    facts = read_facts(folder / "observed.tsv", folder / "fold0" / "obs.tsv")
    lines = {
        line
        for path in (folder / "observed.tsv", folder / "fold0" / "obs.tsv")
        for line in path.read_text().splitlines()
    }
    assert len(facts) == len(lines)
    labels = read_labels(folder / "fold0" / "train.tsv")
    assert len(labels) == len((folder / "fold0" / "train.tsv").read_text().splitlines())


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12), st.booleans(), st.sampled_from([3, 20])
)
def test_lines_that_are_too_long_are_found_wherever_they_stand(
    lengths: list[int], ended: bool, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(text, "MAX_LINE_BYTES", 20)
        patch.setattr(text, "BLOCK", block)
        path = Path(folder) / "facts.tsv"
        path.write_text("\n".join("x" * n for n in lengths) + "\n" * ended)
        first = next((i for i, n in enumerate(lengths, start=1) if n > 20), None)
        line = None
        try:
            text._check_lengths(File(path, "facts.tsv"))
        except DataError as error:
            line = error.line
        assert line == first
