"""Queries from files, tuples and frames; mistakes are named with their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import DataError
from hornbeam.facts.reading.readers import read_facts
from hornbeam.ranking.named_queries import as_queries, read_queries, report_unknown
from hornbeam.ranking.queries import Answers, Queries, answered
from tests.support.commands import HOSTILE, write
from tests.support.recorded_progress import RecordedProgress

ROWS = [("paris", "capital_of", "?"), ("?", "near", "rome"), ("paris", "capital_of", "?")]


def test_files_tuples_and_frames_are_the_same_queries(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS, columns=["subject", "relation", "object"])
    file = write(tmp_path / "queries.tsv", ROWS)
    for given in (file, ROWS, frame, read_queries(ROWS)):
        asked = as_queries(given)
        assert [asked.names_at(i) for i in range(len(asked))] == ROWS
        assert asked.asks_subject.tolist() == [False, True, False]
    assert repr(asked) == "NamedQueries(3 queries of capital_of, near)"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (("?", "p", "?"), "two question marks; expected one of subject and object to be '?'"),
        (("a", "p", "b"), "no question mark; expected one of subject and object to be '?'"),
        (("a", "?", "b"), "the relation is '?'; expected its name"),
        (("a", "?", "?"), "the relation is '?'; expected its name"),
        (("a", "p"), "found 2 fields"),
        (("a", "p", "b", "1", "x"), "found 5 fields"),
        (("a", "", "?"), "the predicate is empty; expected a name"),
    ],
)
def test_mistakes_have_file_and_line(tmp_path: Path, row: tuple[str, ...], problem: str) -> None:
    file = write(tmp_path / "queries.tsv", [("a", "p", "?"), row, ("?", "?", "?")])
    with pytest.raises(DataError) as caught:
        read_queries(file)
    assert str(caught.value).startswith(f"{file}, line 2: ")
    assert problem in str(caught.value)


def test_mistakes_in_tuples_have_their_row() -> None:
    with pytest.raises(DataError, match="frame 1, row 2: two question marks"):
        read_queries([("a", "p", "?"), ("?", "p", "?")])


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty"):
        read_queries(write(tmp_path / "queries.tsv", []))


def test_unknown_names_are_counted_and_said() -> None:
    facts, told = read_facts([("a", "p", "b")]), RecordedProgress()
    asked = read_queries([("a", "p", "?"), ("x", "p", "?"), ("?", "q", "b"), ("?", "p", "b")])
    queries = asked.located(facts)
    assert queries.relation.tolist() == [0, 0, -1, 0]
    assert queries.known.tolist() == [0, -1, 1, 1]
    assert report_unknown(queries, told) == 2
    assert told.messages == [
        "2 queries name an entity or a relation that no fact has; they get no answer."
    ]
    assert report_unknown(queries.select(np.array([0])), told) == 0
    report_unknown(queries.select(np.array([1])), told)
    assert told.messages[1:] == [
        "1 query names an entity or a relation that no fact has; it gets no answer."
    ]


class Everything:
    """Proposes all of three entities for every query."""

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        assert queries.askable.all()
        n = len(queries)
        entities = np.tile(np.arange(3, dtype=np.int32), n)
        return Answers(np.arange(n + 1) * 3, entities, np.tile([3.0, 2.0, 1.0], n))


def test_only_askable_queries_are_asked() -> None:
    ids = np.array([0, -1, 0], dtype=np.int32)
    queries = Queries(ids, np.array([0, 0, -1], dtype=np.int32), np.zeros(3, dtype=np.bool_))
    found = answered(Everything(), queries)
    assert found.offsets.tolist() == [0, 3, 3, 3]
    twice = found.take(np.array([1, 0, 0]))
    assert twice.offsets.tolist() == [0, 0, 3, 6]
    assert twice.best(1).entities.tolist() == [0, 0]
    assert twice.best(1).query.tolist() == [1, 2]


def test_names_may_be_anything(tmp_path: Path) -> None:
    rows = [(name, "p", "?") for name in HOSTILE] + [("?", name, "?!") for name in HOSTILE]
    asked = read_queries(write(tmp_path / "queries.tsv", rows))
    assert [asked.names_at(i) for i in range(len(asked))] == rows


def test_plain_tuples_are_read_without_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*ROWS, *((name, "near", "?") for name in HOSTILE)]
    read = read_queries(rows)
    monkeypatch.setattr("hornbeam.ranking.named_queries.read_queries", None)
    for given in (rows, tuple(map(list, rows))):
        plain = as_queries(given)
        assert plain.rows.entities == read.rows.entities
        assert [plain.names_at(i) for i in range(len(rows))] == rows
        assert plain.asks_subject.tolist() == read.asks_subject.tolist()
