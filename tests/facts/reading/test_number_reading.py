"""Numbers and dates of entities: the same from every form, for every engine; mistakes are named."""

from __future__ import annotations

import time
from codecs import BOM_UTF8
from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import open_duckdb, read_facts, read_numbers
from hornbeam.base.dates import day_number
from hornbeam.errors import DataError, HornbeamNote
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Facts
from tests.support.fact_tables import NAMES, write

#: Entity, attribute and value.
Row = tuple[str, str, float]
ROWS: list[Row] = [("heat", "year", 1995.0), ("alien", "year", 1979.5), ("alien", "year", -1e-3)]
DAYS = [("mann", "born", "1943-02-05"), ("scott", "born", "1937-11-30")]
FIELDS = ["entity", "attribute", "value"]


def named(numbers: Numbers, entities: Names) -> set[Row]:
    """Numbers by names."""
    columns = zip(numbers.entity, numbers.attribute, numbers.value, strict=True)
    return {(entities[int(e)], numbers.attributes[int(a)], float(v)) for e, a, v in columns}


def rows_of(facts: Facts) -> set[Row]:
    return named(facts.numbers, facts.entities)


def lines(rows: Sequence[tuple[str, str, object]], between: str = "\t") -> str:
    return "".join(between.join(map(str, row)) + "\n" for row in rows)


def test_every_form_has_the_same_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=FIELDS)
    frame.to_parquet(tmp_path / "n.parquet")
    write(tmp_path / "n.tsv", lines(ROWS))
    write(tmp_path / "n.csv", ",".join(FIELDS) + "\n" + lines(ROWS, ","))
    forms = [
        *(str(tmp_path / f"n.{suffix}") for suffix in ("tsv", "csv", "parquet")),
        frame,
        frame[FIELDS[::-1]],  # by the names of the columns
        pl.DataFrame(ROWS, schema=FIELDS, orient="row"),
        ROWS,
        read_numbers(ROWS),
    ]
    for form in forms:
        assert rows_of(read_numbers(form)) == set(ROWS)


def test_every_form_has_the_same_dates(tmp_path: Path) -> None:
    days = {(entity, name, day_number(text)) for entity, name, text in DAYS}
    typed = [(entity, name, date.fromisoformat(text)) for entity, name, text in DAYS]
    frame = pd.DataFrame(typed, columns=FIELDS)
    frame.to_parquet(tmp_path / "d.parquet")
    times = [(e, name, datetime(day.year, day.month, day.day, 23, 59)) for e, name, day in typed]
    write(tmp_path / "d.tsv", lines(DAYS))
    clock = [(entity, name, f"{text} 23:59:00") for entity, name, text in DAYS]
    write(tmp_path / "t.tsv", lines(clock))
    read = [
        read_numbers(tmp_path / "t.tsv", dates=True),
        read_numbers(clock, dates=True),
        read_numbers(tmp_path / "d.tsv", dates=True),
        read_numbers(DAYS, dates=True),
        *map(read_numbers, (tmp_path / "d.parquet", frame, typed, times)),
        read_numbers(pd.DataFrame(times, columns=FIELDS)),
        read_facts([("a", "p", "b")], dates=DAYS),
    ]
    for facts in [*read, read_facts(read[0], [("a", "p", "b")])]:
        assert rows_of(facts) == days
        assert facts.numbers.dates == {"born"}


def test_rdf_literals_are_numbers_by_their_type_where_asked(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    xsd = "http://www.w3.org/2001/XMLSchema#"
    typed = {
        "a": f'"7"^^<{xsd}integer>', "b": f'"1.5"^^<{xsd}decimal>', "c": f'"1990Z"^^<{xsd}gYear>',
        "d": f'"1970-01-03"^^<{xsd}date>', "e": f'"1970-01-03T23:00:00+01:00"^^<{xsd}dateTime>',
        "f": '"7"', "g": f'"true"^^<{xsd}boolean>', "h": "<urn:7>",
    }  # fmt: skip
    file = write(tmp_path / "g.nt", "".join(f"<urn:x> <urn:{p}> {o} .\n" for p, o in typed.items()))
    values = {"a": 7.0, "b": 1.5, "c": 1990.0, "d": 2.0, "e": 2.0}
    assert not len(read_facts(file).numbers)
    facts = read_facts(file, numbers=file)
    assert {(p[4:], v) for _, p, v in rows_of(facts)} == set(values.items())
    assert facts.numbers.dates == {"urn:d", "urn:e"}
    assert list(facts) == list(read_facts(file))
    assert {p[4:] for _, p, _ in rows_of(read_numbers(file, dates=True))} == {"d", "e"}
    write(file, f'<urn:x> <urn:p> "INF"^^<{xsd}double> .\n')
    with pytest.raises(DataError, match=r"'urn:p' of 'urn:x' .*expected a finite number"):
        read_numbers(file)
    write(file, "<urn:x> <urn:p> <urn:y> .\n")
    with pytest.raises(DataError, match="no literal is a number or a date by its type"):
        read_numbers(file)


@settings(max_examples=10)
@given(st.lists(st.tuples(NAMES, NAMES, st.floats(-9e15, 9e15)), min_size=1))
def test_numbers_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    """Through text, and into the engine of DuckDB with the ids that facts in memory have."""
    file = tmp_path_factory.mktemp("numbers") / "n.tsv"
    file.write_bytes(BOM_UTF8 + lines(rows).encode())  # a name may begin with that mark
    facts = read_facts([("a", "p", "b")], numbers=file, header=False)
    assert rows_of(facts) == set(rows)
    with open_duckdb([("a", "p", "b")], numbers=file, header=False) as engine:
        assert named(engine.numbers, facts.entities) == set(rows)
        assert engine.locate(facts.entities).tolist() == list(range(len(facts.entities)))


def test_facts_and_numbers_in_any_order_and_form() -> None:
    atoms = [("heat", "by", "mann")]
    given_numbers = read_numbers(ROWS[:1])
    for facts in (
        read_facts(atoms, given_numbers, numbers=ROWS[1:]),
        read_facts(read_numbers(ROWS), atoms),
        read_facts(atoms, numbers=[read_numbers(ROWS[:2]), ROWS[1:]]),
    ):
        assert rows_of(facts) == set(ROWS)
        assert list(facts) == atoms
        assert len(facts.entities) == 3


@pytest.mark.parametrize(
    ("text", "dates", "problem"),
    [
        ("a\ty\t1\nb\ty\tx\n", False, "line 2: expected a finite number, found 'x'"),
        ("a\ty\tinf\n", False, "line 1: expected a finite number, found 'inf'"),
        ("a\ty\t1e999\n", False, "line 1: expected a finite number, found '1e999'"),
        ("a\ty\tnan\n", False, "line 1: expected a finite number, found 'nan'"),
        ("a\ty\tN/A\n", True, "line 1: .*found 'N/A'; a missing value is an empty cell of a ta"),
        ("a\ty\t-2e100\n", False, "line 1: expected a finite number of at most 1e.100, found '-2e"),
        ("a\ty\t1_0\n", False, "line 1: expected a finite number, found '1_0'"),
        ("a\ty\t\n", False, "line 1: the value is missing; expected a finite number"),
        ("a\t\t1\n", False, "line 1: the attribute is empty"),
        ("a\ty\t1\n\ty\t1\n", False, "line 2: the entity is empty"),
        ("a\ty\t1\na\ty\n", False, r"line 2: expected 3 fields \(entity, attribute, value\), "),
        ("a\ty\n", False, "line 1: expected entity, attribute, value separated by TABs"),
        ("a\ty\t1990-02-30\n", True, "line 1: expected a date, such as 1931-05-04, found '1990-02"),
        ("a\ty\t1990-2-3\n", True, "line 1: expected a date"),
        ("a\ty\t19900203\n", True, "line 1: expected a date"),
        ("a\ty\t1990-W05-6\n", True, "line 1: expected a date"),
        ("a\ty\tinfinity\n", True, "line 1: expected a date"),
        ("a\ty\t0000-01-01\n", True, "line 1: expected a date"),
        ("a\ty\t1990\n", True, "line 1: expected a date"),
    ],
)
def test_mistakes_name_their_line(tmp_path: Path, text: str, dates: bool, problem: str) -> None:
    file = write(tmp_path / "n.tsv", text)
    with pytest.raises(DataError, match=problem):
        read_numbers(file, dates=dates)
    given_numbers, given_dates = (None, file) if dates else (file, None)
    with (
        pytest.raises(DataError, match=problem),
        open_duckdb([("a", "p", "b")], numbers=given_numbers, dates=given_dates),
    ):
        pass


def test_mistakes_in_frames_and_across_inputs(tmp_path: Path) -> None:
    frame = pd.DataFrame({"entity": ["a", "b"], "attribute": "y", "value": [1.0, float("inf")]})
    with pytest.raises(DataError, match="frame 1, row 2: expected a finite number, found 'inf'"):
        read_numbers(frame)
    with pytest.raises(DataError, match="frame 1, row 1: expected a finite number, found 'x'"):
        read_numbers([("a", "y", "x")])
    with pytest.raises(DataError, match="'y' has numbers and dates; expected values of one kind"):
        read_facts(numbers=[("a", "y", 1)], dates=[("b", "y", "1990-01-01")])
    with pytest.raises(DataError, match="column 'value' is of type DOUBLE; expected dates"):
        read_numbers(frame, dates=True)
    days = "unnest(['1990-01-01', 'infinity'])::DATE AS value"
    with duckdb.connect() as connection:
        connection.sql(f"SELECT unnest(['a', 'b']) AS entity, 'y' AS attribute, {days}").to_parquet(
            str(tmp_path / "d.parquet")
        )
    problem = "d.parquet, row 2: expected a date, such as 1931-05-04, found 'infinity'"
    with pytest.raises(DataError, match=problem):
        read_numbers(str(tmp_path / "d.parquet"), dates=True)
    program = write(tmp_path / "p.json", "{}")
    with pytest.raises(DataError, match="holds no numbers of entities"):
        read_numbers(program)


def test_whole_numbers_that_cannot_be_held_are_announced() -> None:
    with pytest.warns(HornbeamNote, match="'big' from 9,007,199,254,740,992 on keep their first"):
        assert rows_of(read_numbers([("a", "big", 2**53 + 1)])) == {("a", "big", 2.0**53)}


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process is fixed")
def test_instants_have_the_same_date_in_every_time_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instant is that of UTC: half past eleven at night in New York is the next day."""
    late = datetime(1999, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    frame = pd.DataFrame({"entity": ["a"], "attribute": ["born"], "value": [late]})
    frame.to_parquet(tmp_path / "n.parquet")
    expected = {("a", "born", day_number("2000-01-01"))}
    for zone in ("America/New_York", "UTC", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        for given_dates in (frame, tmp_path / "n.parquet", [("a", "born", late)]):
            assert rows_of(read_numbers(given_dates)) == expected
    monkeypatch.undo()
    time.tzset()
