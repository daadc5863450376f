"""Tables with one row per entity: the same facts from every form; keys, links and mistakes."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import open_duckdb, read_facts, read_table
from hornbeam.base.dates import day_number
from hornbeam.errors import DataError, HornbeamNote, HornbeamWarning, InputError
from hornbeam.facts.reading.entity_tables import EntityTables, TableFile
from hornbeam.facts.table import Facts
from tests.support.fact_tables import write

#: A row: key, text, number, date, Boolean; all but the key may be missing.
Row = tuple[str, str | None, float | None, date | None, bool | None]
COLUMNS = ["film", "by", "size", "day", "good"]
TYPES = {"size": "number", "day": "date", "good": "boolean"}
TEXTS = st.sampled_from(
    ["mann", "o'neill", 'the "x"', "a, b", "é", "1995", "NULL", "true", "film:1"]
)
NUMBERS = st.one_of(st.integers(-5, 2100).map(float), st.floats(-9e15, 9e15))
ROWS = st.lists(
    st.tuples(
        st.sampled_from([f"f{i}" for i in range(9)]) | TEXTS,
        st.none() | TEXTS,
        st.none() | NUMBERS,
        st.none() | st.dates(),
        st.none() | st.booleans(),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row[0],
)


def expected(rows: list[Row]) -> tuple[set[Any], set[Any]]:
    """Facts and numbers of a table, by the definition."""
    facts, numbers = set[Any](), set[Any]()
    for film, by, size, day, good in rows:
        facts |= {(film, "by", by)} if by is not None else set()
        facts |= {(film, "good")} if good else set()
        numbers |= {(film, "size", size)} if size is not None else set()
        numbers |= {(film, "day", day_number(day.isoformat()))} if day is not None else set()
    return facts, numbers


def found(facts: Facts) -> tuple[set[Any], set[Any]]:
    numbers = facts.numbers
    columns = zip(numbers.entity, numbers.attribute, numbers.value, strict=True)
    return set(facts), {
        (facts.entities[int(e)], numbers.attributes[int(a)], float(v)) for e, a, v in columns
    }


def database(place: Path, rows: list[Row], library: Any) -> str:  # noqa: ANN401
    connection = library.connect(str(place))
    connection.execute(
        'CREATE TABLE films (film TEXT PRIMARY KEY, "by" TEXT, size DOUBLE, day DATE, good BOOLEAN)'
    )
    cells = [[str(cell) if isinstance(cell, date) else cell for cell in row] for row in rows]
    connection.executemany("INSERT INTO films VALUES (?, ?, ?, ?, ?)", cells)
    connection.commit()
    connection.close()
    return str(place)


def forms(folder: Path, rows: list[Row]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The table in every form, each with what has to be said of it."""
    frame = pd.DataFrame(rows, columns=COLUMNS).astype({"good": "boolean", "size": "float64"})
    kinds = dict(zip(COLUMNS, [pl.String, pl.String, pl.Float64, pl.Date, pl.Boolean], strict=True))
    polars = pl.DataFrame(rows, schema=kinds, orient="row")
    polars.write_parquet(folder / "films.parquet")
    for name, between in (("films.csv", ","), ("films.tsv", "\t")):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            lines: list[tuple[object, ...]] = [tuple(COLUMNS), *rows]
            cells = [["" if cell is None else str(cell) for cell in line] for line in lines]
            if between == ",":
                csv.writer(file, lineterminator="\n").writerows(cells)
            else:
                file.writelines("\t".join(line) + "\n" for line in cells)
        yield str(folder / name), {"key": "film", "types": TYPES}
    for typed in (frame, polars, folder / "films.parquet"):
        yield typed, {"key": "film"}
    yield database(folder / "films.duckdb", rows, duckdb), {}
    yield database(folder / "films.sqlite", rows, sqlite3), {}


@settings(max_examples=8)
@given(ROWS)
def test_every_form_has_the_facts_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    facts, numbers = expected(rows)
    # a table that says nothing is refused, and so is a database without any facts
    if not facts and not numbers:
        return
    for table, said in forms(folder, rows):
        read = read_table(table, **said)
        assert found(read) == (facts, numbers), table
        assert read.numbers.dates == {name for _, name, _ in numbers if name == "day"}


def test_the_engine_of_duckdb_reads_tables_itself(tmp_path: Path) -> None:
    rows: list[Row] = [("heat", "mann", 1.5, None, True), ("alien", "scott", None, None, None)]
    for table, said in forms(tmp_path, rows):
        if said and isinstance(table, str):
            given_table = EntityTables((TableFile.of(table, "film"),), types=said["types"])
            facts = read_facts(given_table)
            with open_duckdb(given_table) as engine:
                assert engine.locate(facts.entities).tolist() == list(range(len(facts.entities)))
                assert engine.numbers.value.tolist() == facts.numbers.value.tolist()
                assert engine.numbers.entity.tolist() == facts.numbers.entity.tolist()
                assert dict(engine.not_binary) == {"good": 1}


def test_lists_are_several_facts() -> None:
    frame = pl.DataFrame(
        {"film": ["heat", "alien"], "tags": [["a", "b", None], []], "seen": [[1.5, 2], None]}
    )
    facts, numbers = found(read_table(frame, key="film"))
    assert facts == {("heat", "tags", "a"), ("heat", "tags", "b")}
    assert numbers == {("heat", "seen", 1.5), ("heat", "seen", 2.0)}


def test_an_index_of_pandas_may_be_the_key() -> None:
    frame = pd.DataFrame({"film": ["heat"], "year": [1995]}).set_index("film")
    assert found(read_table(frame, key="film"))[1] == {("heat", "year", 1995)}


def test_missing_truth_that_makes_floats_of_a_column_changes_nothing() -> None:
    frame = pd.DataFrame({"film": ["a", "b", "c"], "good": [1, 0, None]})
    assert str(frame["good"].dtype) == "float64"
    read = read_table(frame, key="film", types={"good": "boolean"})
    assert found(read) == ({("a", "good")}, set())
    with pytest.raises(DataError, match=r"row 2: expected true or false, found '0.5'"):
        read_table(frame.assign(good=[1, 0.5, None]), key="film", types={"good": "boolean"})


def test_types_say_what_a_column_is() -> None:
    columns = {"film": ["heat"], "zip": [80331], "year": ["1995"], "text": ["x"], "good": [1]}
    types = {"zip": "name", "year": "number", "text": "ignore", "good": "boolean"}
    facts, numbers = found(read_table(columns, key="film", types=types))
    assert (facts, numbers) == (
        {("heat", "zip", "80331"), ("heat", "good")},
        {("heat", "year", 1995)},
    )


SHOP = (
    "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE film (id INTEGER PRIMARY KEY, year INTEGER, made INTEGER REFERENCES person (id))",
    "CREATE TABLE cost (film INTEGER PRIMARY KEY REFERENCES film (id), usd REAL)",
    "CREATE TABLE acts (film INTEGER REFERENCES film (id), person INTEGER REFERENCES person (id))",
    "CREATE TABLE role (film INTEGER REFERENCES film (id), person INTEGER REFERENCES person (id), "
    "part TEXT, PRIMARY KEY (film, person))",
    "CREATE TABLE empty (id INTEGER PRIMARY KEY, x TEXT)",
    "CREATE TABLE log (x TEXT)",
    "INSERT INTO person VALUES (1, 'mann'), (2, 'pacino')",
    "INSERT INTO film VALUES (1, 1995, 1)",
    "INSERT INTO cost VALUES (1, 6e7)",
    "INSERT INTO acts VALUES (1, 2), (1, NULL)",
    "INSERT INTO role VALUES (1, 2, 'hanna')",
)


def shop(place: Path, statements: tuple[str, ...] = SHOP) -> str:
    library = sqlite3 if place.suffix == ".sqlite" else duckdb
    connection: Any = library.connect(str(place))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return str(place)


@pytest.mark.parametrize("suffix", [".duckdb", ".sqlite"])
def test_keys_and_foreign_keys_come_from_the_schema(tmp_path: Path, suffix: str) -> None:
    with (
        pytest.warns(HornbeamWarning, match="table 'log' has no key"),
        pytest.warns(HornbeamNote, match="such as empty:1"),
    ):
        read = read_table(shop(tmp_path / f"shop{suffix}"))
    facts, numbers = found(read)
    assert facts == {
        ("person:1", "name", "mann"), ("person:2", "name", "pacino"),
        ("film:1", "made", "person:1"), ("film:1", "acts", "person:2"),
        ("role:1:2", "film", "film:1"), ("role:1:2", "person", "person:2"),
        ("role:1:2", "part", "hanna"),
    }  # fmt: skip
    assert numbers == {("film:1", "year", 1995), ("film:1", "usd", 6e7)}


def test_links_of_frames_join_tables() -> None:
    films = pd.DataFrame({"id": [1, 2], "made": [1, 1], "year": [1995, 1979]})
    people = pd.DataFrame({"id": [1], "name": ["mann"]})
    said: dict[str, Any] = {"key": "id", "prefix": True}
    facts = read_facts(
        read_table(films, name="film", links={"made": "person"}, **said),
        read_table(people, name="person", **said),
    )
    assert found(facts)[0] == {
        ("film:1", "made", "person:1"), ("film:2", "made", "person:1"),
        ("person:1", "name", "mann"),
    }  # fmt: skip


def test_missing_keys_that_make_floats_of_a_column_change_no_names() -> None:
    films = pd.DataFrame({"id": [1, 2], "made": [3, None]})
    acts = pd.DataFrame({"film": [1, None], "person": [None, 3]})
    assert str(films["made"].dtype) == "float64"
    said: dict[str, Any] = {"name": "film", "prefix": True}
    links = {"made": "person"}
    assert found(read_table(films, key="id", links=links, **said))[0] == {
        ("film:1", "made", "person:3")
    }
    links = {"film": "film", "person": "person"}
    both = pd.concat([acts, pd.DataFrame({"film": [2], "person": [3]})])
    assert found(read_table(both, name="acts", links=links, prefix=True))[0] == {
        ("film:2", "acts", "person:3")
    }


@pytest.mark.parametrize("suffix", [".duckdb", ".sqlite"])
def test_names_in_keys_may_be_in_any_case(tmp_path: Path, suffix: str) -> None:
    statements = (
        "CREATE TABLE Person (Id INTEGER, name TEXT, PRIMARY KEY (ID))",
        "CREATE TABLE film (id INTEGER PRIMARY KEY, Made INTEGER, "
        "FOREIGN KEY (MADE) REFERENCES person(iD))",
        "INSERT INTO person VALUES (1, 'mann')",
        "INSERT INTO film VALUES (1, 1)",
    )
    with pytest.warns(HornbeamNote, match="such as "):
        read = read_table(shop(tmp_path / f"shop{suffix}", statements))
    assert found(read) == ({("Person:1", "name", "mann"), ("film:1", "Made", "Person:1")}, set())


def test_lists_of_a_table_of_columns() -> None:
    columns: list[list[list[str | None]]] = [[["x", None, "y"], []], [["x", "y"], ["x", ""]]]
    for tags in columns:
        facts = {("ab"[k], "tag", tag) for k, row in enumerate(tags) for tag in row if tag}
        assert found(read_table({"film": ["a", "b"], "tag": tags}, key="film"))[0] == facts


FILM = "film,year,by\nheat,1995,mann\n\nalien,,scott\n"


@pytest.mark.parametrize(
    ("text", "said", "problem"),
    [
        (FILM, {"types": {"by": "number"}},
         r"t.csv, column 'by', line 2: expected a finite number, found 'mann'"),
        (FILM, {"types": {"by": "date"}}, "line 2: expected a date, such as 1931-05-04, found"),
        (FILM, {"types": {"by": "boolean"}}, "line 2: expected true or false, found 'mann'"),
        (FILM + "ran,inf,x\n", {"types": {"year": "number"}}, "line 5: .* found 'inf'"),
        (FILM + "ran,nan,x\n", {"types": {"year": "number"}}, "line 5: .* found 'nan'"),
        (FILM + "heat,,x\n", {}, "line 5: the key 'film' is 'heat' here and in line 2; expected"),
        (FILM + ",1,x\n", {}, "line 5: the key 'film' is empty"),
        (FILM + "ran,1\n", {}, "line 5: expected 3 fields, as in the header, found 2"),
        (FILM + "ran,1,x,y\n", {}, "line 5: expected 3 fields, as in the header, found 4"),
        (FILM + "ran,1,a\tb\n", {}, "column 'by', line 5: the value holds a TAB.*ignore"),
        (FILM, {"key": "flim"}, "`key`: no column 'flim'; found 'film', .*Did you mean 'film'"),
        (FILM, {"links": {"yeer": "time"}}, "`links`: no table has a column 'yeer'. Did you mean"),
        (FILM, {"types": {"yaer": "number"}}, "`types`: no table has a column 'yaer'"),
        (FILM, {"types": {"year": "integer"}}, "`types`: 'year' is 'integer'; expected name, numb"),
        (FILM, {"types": {"year": "ignore", "by": "ignore"}}, "has no column that says anything"),
        (FILM, {"key": None}, "no `key` given"),
        (FILM + '"a\tb",1,x\n', {}, "t.csv, line 5: the key 'film' holds a TAB"),
        ("film,film\na,b\n", {}, "line 1: two columns are called 'film'"),
        ("film,by\n", {}, "t.csv: has no rows"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path: Path, text: str, said: dict[str, Any], problem: str) -> None:
    file = write(tmp_path / "t.csv", text)
    with pytest.raises(InputError, match=problem):
        read_table(file, **{"key": "film", **said})


def test_mistakes_in_frames_and_databases(tmp_path: Path) -> None:
    frame = pd.DataFrame({"film": ["a", "a"], "year": [1.0, float("inf")]})
    with pytest.raises(DataError, match="films, row 2: the key 'film' is 'a' here and in row 1"):
        read_table(frame, key="film", name="films")
    with pytest.raises(DataError, match="column 'year', row 2: expected a finite number"):
        read_table(frame.assign(film=["a", "b"]), key="film")
    with pytest.raises(DataError, match="the key 'film' is of type DOUBLE"):
        read_table(frame.assign(film=[1.5, 2]), key="film")
    with pytest.raises(DataError, match=r"cannot be read: .*complex"):
        read_table(pd.DataFrame({"film": ["a"], "x": [1j]}), key="film")
    with pytest.raises(DataError, match="expected a file, a frame"):
        read_table([("a", 1)], key="film")
    with pytest.raises(DataError, match="is a database, which has its own keys: leave out `key`"):
        read_table(shop(tmp_path / "shop.sqlite"), key="id")
    with pytest.raises(DataError, match="no database; expected a DuckDB or SQLite file"):
        read_table(write(tmp_path / "x.db", "nothing of that kind"))
    late = (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
        "INSERT INTO t VALUES (1, 'late')",
    )
    with pytest.raises(DataError, match="table 't', column 'n', row 1: expected a finite number"):
        read_table(shop(tmp_path / "late.sqlite", late))
    bytes_ = (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, note, kind TEXT)",
        "INSERT INTO t VALUES (1, 'x', 'y'), (2, x'6162', 'y')",
    )
    file = shop(tmp_path / "bytes.sqlite", bytes_)
    with pytest.raises(DataError, match=r"table 't', row 2: column 'note' has bytes \(a BLOB\)"):
        read_facts(EntityTables((), (file,)))
    kept = read_facts(EntityTables((), (file,), types={"note": "ignore"}))
    assert list(kept.predicates) == ["kind"]
    said = EntityTables((TableFile.of(frame, "film", "film"),), links={"year": "time"})
    with pytest.raises(InputError, match="`links`: 'year' leads to the table 'time', which is not"):
        read_facts(said)
    twice = EntityTables((TableFile.of(frame, "film", "x"), TableFile.of(frame, "film", "x")))
    with pytest.raises(InputError, match="two tables are called 'x'"):
        read_facts(twice)


@pytest.mark.parametrize("suffix", [".duckdb", ".sqlite"])
def test_a_database_without_rows_is_named(tmp_path: Path, suffix: str) -> None:
    empty = shop(tmp_path / f"shop{suffix}", ("CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT)",))
    with pytest.raises(DataError, match=rf"shop{suffix}: no table with a key has rows"):
        read_table(empty)


@pytest.mark.parametrize("suffix", [".duckdb", ".sqlite"])
def test_foreign_keys_of_several_columns_are_announced(tmp_path: Path, suffix: str) -> None:
    statements = (
        "CREATE TABLE day (year INTEGER, week INTEGER, name TEXT, PRIMARY KEY (year, week))",
        "CREATE TABLE sale (id TEXT PRIMARY KEY, year INTEGER, week INTEGER, "
        "FOREIGN KEY (year, week) REFERENCES day(year, week))",
        "INSERT INTO day VALUES (2020, 7, 'x')",
        "INSERT INTO sale VALUES ('s', 2020, 7)",
    )
    with pytest.warns(HornbeamWarning, match="table 'sale': the foreign key of several columns"):
        read = read_table(shop(tmp_path / f"shop{suffix}", statements))
    assert found(read)[1] == {("s", "year", 2020), ("s", "week", 7)}


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    with pytest.warns(HornbeamWarning, match=r"t.csv: a column without a name is left out"):
        read = read_table(write(tmp_path / "t.csv", "film,,by\na,1,b\n"), key="film")
    assert found(read)[0] == {("a", "by", "b")}
    index = write(tmp_path / "t.csv", ",film,by\n0,a,b\n")  # as pandas writes an index
    assert found(read_table(index, key="film"))[0] == {("a", "by", "b")}


def test_a_column_that_cannot_be_read_is_left_out() -> None:
    frame = pl.DataFrame({"film": ["a"], "by": ["b"], "pair": [{"x": 1}]})
    with pytest.warns(HornbeamWarning, match="column 'pair' of type STRUCT.* is left out"):
        assert found(read_table(frame, key="film"))[0] == {("a", "by", "b")}


def test_a_table_of_two_links_is_a_relation() -> None:
    links = {"customer": "customer", "product": "product"}
    columns = {"customer": [1, 2], "product": [7, 7]}
    facts = read_table(columns, name="bought", links=links, prefix=True)
    assert found(facts)[0] == {
        ("customer:1", "bought", "product:7"), ("customer:2", "bought", "product:7"),
    }  # fmt: skip
    with pytest.raises(InputError, match="no `key` given"):
        read_table(columns, name="bought", links={"product": "product"})


def test_columns_may_be_called_anything(tmp_path: Path) -> None:
    names = ["k", "c", "predicate", "a1", "a2", "value", "a\"b'c", "select", "x y", "é"]
    frame = pd.DataFrame({"the key": ["e1", "e2"]} | {name: ["v1", "v1"] for name in names})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    facts = {(entity, name, "v1") for entity in ("e1", "e2") for name in names}
    for table in (frame, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert found(read_table(table, key="the key"))[0] == facts
