"""Facts with a time: read from every kind of table, and kept by every change of facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import hornbeam as hb
from hornbeam.base.dates import TimeUnit
from hornbeam.errors import DataError, InputError
from hornbeam.facts.known import with_known, without_targets
from hornbeam.facts.table import Facts

NAMES = st.sampled_from("abcd")
ROWS = st.lists(
    st.tuples(NAMES, st.sampled_from(["p", "q"]), NAMES, st.integers(-(10**17), 10**17)), min_size=1
)
VISITS = [
    ("ann", "visits", "rome", "2014-05-01"),
    ("ann", "visits", "rome", "2014-05-03"),
    ("bob", "visits", "oslo", "1969-12-30"),
]


def events_of(facts: Facts) -> list[tuple[str, str, str | None, int]]:
    """The events by name, in their order."""
    events = facts.events
    assert events is not None
    return [
        (
            facts.entities[int(s)],
            facts.predicates[int(p)],
            None if o < 0 else facts.entities[int(o)],
            int(t),
        )
        for p, s, o, t in zip(*events.columns, strict=True)
    ]


def in_order(rows: list[Any]) -> list[Any]:
    return sorted(set(rows), key=lambda row: (row[3], row[:3]))


@given(ROWS)
def test_events_are_all_distinct_rows_and_atoms_are_what_was_ever_true(rows: list[Any]) -> None:
    facts = hb.read_facts(rows, time=4)
    assert events_of(facts) == in_order(rows)
    assert set(facts) == {row[:3] for row in rows}
    assert events_of(hb.read_facts(facts)) == in_order(rows)


@given(ROWS, st.integers(-(10**17), 10**17))
def test_before_a_time_there_are_the_earlier_events(rows: list[Any], time: int) -> None:
    time = rows[0][3] if time % 2 else time
    seen = hb.read_facts(rows, time=4).before(time)
    earlier = [row for row in rows if row[3] < time]
    assert events_of(seen) == in_order(earlier)
    assert set(seen) == {row[:3] for row in earlier}


@given(ROWS, ROWS)
def test_events_follow_growth_selection_and_new_ids(old: list[Any], new: list[Any]) -> None:
    facts = hb.read_facts(old, time=4)
    grown = facts + hb.read_facts([("0", "o", *row[2:]) for row in new] + new, time=4)
    assert events_of(grown) == in_order([*old, *new, *(("0", "o", *row[2:]) for row in new)])
    first = next(iter(grown))
    assert events_of(grown[:1]) == [row for row in events_of(grown) if row[:3] == first]
    fewer = without_targets(grown, hb.read_pairs([first]))
    assert events_of(fewer) == [row for row in events_of(grown) if row[:3] != first]


def test_every_kind_of_table_gives_the_same_events(tmp_path: Path) -> None:
    import duckdb
    import pandas as pd
    import polars as pl

    wanted = hb.read_facts(VISITS, time=4)
    assert [t for *_, t in events_of(wanted)] == [-2, 16191, 16193]
    assert wanted.events is not None
    assert wanted.events.unit is TimeUnit.DAY
    names = ["subject", "predicate", "object", "day"]
    frame = pd.DataFrame(VISITS, columns=names)
    text = tmp_path / "visits.tsv"
    frame.to_csv(text, sep="\t", index=False, header=False)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    # the time is not last, and the header has no words that are understood
    frame[["day", *names[:3]]].to_csv(tmp_path / "first.csv", index=False)
    dated = frame.assign(day=pd.to_datetime(frame.day))
    dated.to_parquet(tmp_path / "visits.parquet")
    with duckdb.connect(tmp_path / "visits.duckdb") as database:
        database.execute("CREATE TABLE facts AS SELECT * REPLACE (day::DATE AS day) FROM frame")
    given: list[tuple[Any, str | int]] = [
        (text, 4), (text, "4"), (tmp_path / "visits.csv", "day"), (tmp_path / "first.csv", 1),
        (tmp_path / "visits.parquet", "day"), (tmp_path / "visits.duckdb", 4), (frame, "day"),
        (dated, "day"), (pl.DataFrame(dated), "day"), (frame.to_dict("list"), "day"),
        *(
            (frame.to_dict("list") | {"day": np.array(frame.day, f"datetime64[{unit}]")}, "day")
            for unit in ("D", "h", "m", "s", "ns")
        ),
    ]  # fmt: skip
    for table, time in given:
        facts = hb.read_facts(table, time=time)
        assert events_of(facts) == events_of(wanted), table
        assert facts.events is not None
        assert facts.events.unit is TimeUnit.DAY


def test_arrays_that_hold_no_names_are_one_message() -> None:
    columns = {"subject": np.array([b"a"]), "predicate": ["p"], "object": ["b"]}
    with pytest.raises(DataError, match=r"'subject' has the type \|S1; expected texts, numbers"):
        hb.read_facts(columns)


def test_many_rows_are_read_as_few_are(tmp_path: Path) -> None:
    rows = [(f"e{k % 997}", "p", f"e{k % 31}", k // 3 - 2_000_000_000_000) for k in range(10_500)]
    file = tmp_path / "many.tsv"
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    assert events_of(hb.read_facts(file, time=4)) == in_order(rows)


def test_timestamps_are_seconds_of_utc() -> None:
    texts = ["1970-01-01T02:00:00.9+01:00", "1969-12-31 23:59:59.5", "2014-11-30T08:30Z"]
    facts = hb.read_facts([("a", "p", str(k), text) for k, text in enumerate(texts)], time=4)
    assert facts.events is not None
    assert facts.events.unit is TimeUnit.SECOND
    assert facts.events.time.tolist() == [-1, 3600, 1_417_336_200]
    assert TimeUnit.SECOND.text(-1) == "1969-12-31T23:59:59"


def test_sql_and_python_read_the_same_timestamps(tmp_path: Path) -> None:
    texts = ["1970-01-01T02:00:00.999999+01:00", "1969-12-31 23:59:59.5", "2014-11-30T08:30Z",
             "2014-11-30 08:30:00-0530", "1900-01-01T00:00:00+02"]  # fmt: skip
    file = tmp_path / "times.tsv"
    file.write_text("".join(f"a\tp\t{k}\t{text}\n" for k, text in enumerate(texts)))
    events = hb.read_facts(file, time=4).events
    assert events is not None
    assert events.time.tolist() == sorted(TimeUnit.SECOND.number(text) for text in texts)


def test_the_same_target_at_two_times_is_two_targets() -> None:
    rows = [("a", "t", "b", 5, 1), ("a", "t", "b", 7, 0), ("a", "t", "b", 5, 1)]
    labels = hb.read_labels(rows, time=4)
    assert labels.time is not None
    assert labels.time.tolist() == [5, 7]
    assert labels.truth.tolist() == [1.0, 0.0]
    assert list(labels) == [("a", "t", "b", "5", 1.0), ("a", "t", "b", "7", 0.0)]
    assert labels[1:].times == ["7"]
    with pytest.raises(DataError, match=r"has value 0 here and 1 in frame 1, row 1"):
        hb.read_labels([*rows, ("a", "t", "b", 5, 0)], time=4)


def test_known_pairs_are_facts_at_their_times() -> None:
    facts = hb.read_facts(VISITS, time=4)
    known = hb.read_labels([("bob", "visits", "rome", "2014-06-01", 1)], time=4)
    assert events_of(with_known(facts, known))[-1] == ("bob", "visits", "rome", 16222)
    with pytest.raises(InputError, match="without a time beside facts with one"):
        with_known(facts, hb.read_labels([("bob", "visits", "rome", 1)]))


def test_facts_without_any_time_are_always_seen() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    assert facts.events is None
    assert facts.before(0) is facts


WRONG = [
    ("a\tp\tb\t2014-01-01\na\tp\tc\n", "line 2: expected 4 fields"),
    ("a\tp\tb\t2014-01-01\na\tp\tc\tsoon\n", "line 2: expected a time, which is a date"),
    ("a\tp\tb\t2014-01-01\na\tp\tc\t17\n", "line 2: expected a time, which is a date"),
    ("a\tp\tb\t2014-01-01\na\tp\tc\t\n", "line 2: the time is missing"),
    ("a\tp\tb\t2014-01-01\na\tp\tc\t2014-02-30\n", "line 2: expected a time"),
    ("a\tp\tb\t2014-01-01\na\tp\tc\t2014-02-03 10:00\n", "line 2: expected a time"),
    ("a\tp\tb\tsoon\n", "line 1: expected a time"),
    ("a\tp\tb\n", "line 1: no column 4 for the time"),
    ("a\tp\tb\t1\na\tp\tc\t1_0\n", "line 2: expected a time, which is a whole number"),
    (f"a\tp\tb\t1\na\tp\tc\t{10**18}\n", "line 2: expected a time, which is a whole number"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_time_is_one_message(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "facts.tsv"
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        hb.read_facts(file, time=4)


def test_inputs_have_a_time_all_of_one_unit(tmp_path: Path) -> None:
    steps = hb.read_facts([("a", "p", "b", 3)], time=4)
    without = hb.read_facts([("a", "p", "c")])
    with pytest.raises(DataError, match="frame 2: facts without a time"):
        hb.read_facts(steps, without)
    with pytest.raises(DataError, match="times are days here, and steps in frame 1"):
        hb.read_facts(steps, hb.read_facts(VISITS, time=4))
    for new in (without, hb.read_facts(VISITS, time=4)):
        with pytest.raises(InputError, match="time"):
            _ = steps + new
    with pytest.raises(DataError, match=r"no column 'when' for the time in the header"):
        hb.read_facts({"subject": ["a"], "predicate": ["p"], "object": ["b"]}, time="when")
    (tmp_path / "a.nt").write_text("<a> <b> <c> .\n")
    with pytest.raises(DataError, match="has no column for the time"):
        hb.read_facts(tmp_path / "a.nt", time=4)


def test_times_go_to_int64() -> None:
    facts = hb.read_facts([("a", "p", "b", 10**17), ("a", "p", "b", -(10**17))], time=4)
    assert facts.events is not None
    assert np.array_equal(facts.events.time, [-(10**17), 10**17])
