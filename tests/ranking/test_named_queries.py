"""Queries from files, tuples and frames; mistakes are named with their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.reading.readers import read_facts
from hornbeam.ranking.named_queries import as_queries, check_answerable, read_queries
from hornbeam.ranking.queries import Answers, Queries, answered
from tests.support.commands import HOSTILE, write

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
    facts = read_facts([("anna", "p", "b"), ("anna", "r", "b")])
    rows = [("anna", "p", "?"), ("ana", "p", "?"), ("?", "q", "b"), ("?", "p", "b")]
    asked = read_queries(rows)
    queries = asked.located(facts)
    assert queries.relation.tolist() == [0, 0, -1, 0]
    assert queries.known.tolist() == [0, -1, 1, 1]

    def told(*chosen: int) -> str:
        with pytest.warns(HornbeamWarning) as caught:
            check_answerable(read_queries([rows[i] for i in chosen]), facts, ["p"], NO_NAMES)
        return str(caught[0].message)

    assert told(0, 1, 2) == (
        "no fact has 'ana', which query 2 names, nor a name of 1 more; they get no answer. "
        "Did you mean 'anna'?"
    )
    assert told(0, 2) == "no fact has 'q', which query 2 names; it gets no answer."
    rows.append(("anna", "r", "?"))
    assert told(0, 4) == "the model has no rules for 'r', of which 1 query asks."
    with pytest.raises(InputError, match="'ana', which query 1 names: no query can be answered"):
        check_answerable(read_queries(rows[1:3]), facts, ["p"], NO_NAMES)
    with pytest.raises(InputError, match=r"names \(the model has rules for it, but .*\): no"):
        check_answerable(read_queries(rows[2:3]), facts, ["q"], NO_NAMES)


def test_names_stand_for_ids() -> None:
    facts = read_facts([("e1", "p", "e2"), ("e3", "p", "e4"), ("Bob", "p", "e4")])
    names = EntityNames({"e1": "Ann", "e2": "Bob", "e3": "Cy", "e4": "Cy", "gone": "Eve"})

    def meant(text: str) -> str:
        return read_queries([(text, "p", "?")]).by_ids(names, facts).names_at(0)[0]

    assert [meant(text) for text in ("Ann", "e1", "nobody")] == ["e1", "e1", "nobody"]
    assert meant("Eve") == "Eve"  # no fact has the entity of that name
    assert meant("Bob") == "e2"  # an entity without a name, and another one's name
    with pytest.raises(InputError, match="2 entities are called 'Cy': e3, e4"):
        meant("Cy")
    assert meant("e4") == "e4"
    # the question mark is no name
    called = EntityNames({"e1": "?"})
    assert read_queries([("e3", "p", "?")]).by_ids(called, facts).names_at(0) == ("e3", "p", "?")


class Everything:
    """Proposes all of three entities for every query."""

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        assert queries.askable.all()
        n = len(queries)
        entities = np.tile(np.arange(3, dtype=np.int32), n)
        return Answers(np.arange(n + 1) * 3, entities, np.tile([3.0, 2.0, 1.0], n))

    def others(self, step: int, source: int) -> None:
        """There are no others."""


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


def test_queries_without_a_column_for_the_time_have_no_time(tmp_path: Path) -> None:
    """`--time` is for the facts, too; but a time is never overlooked."""
    dated, asked = ("?", "near", "rome", "2014-01-01"), ("?", "near", "rome")
    for given in (write(tmp_path / "queries.tsv", [asked, asked]), [asked, asked]):
        assert read_queries(given, time=4).rows.time is None
    (tmp_path / "queries.csv").write_text("subject,relation,object\n?,near,rome\n")
    assert read_queries(tmp_path / "queries.csv", time="when").rows.time is None
    assert read_queries([dated], time=4).rows.time is not None
    for rows in ([asked, dated], [dated, asked]):
        with pytest.raises(DataError, match=r"frame 1(, row 2)?: "):
            read_queries(rows, time=4)
    (tmp_path / "queries.csv").write_text("subject,relation,object,wen\n?,near,rome,2014-01-01\n")
    with pytest.raises(DataError, match="Did you mean 'wen'"):
        read_queries(tmp_path / "queries.csv", time="when")
