"""Tables in memory: every form is read alike, and what is written out is read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import Facts, ResultTable, Targets, read_facts, read_labels, read_pairs
from hornbeam.errors import DataError, InputError
from hornbeam.facts.reading.readers import as_facts, as_labels, as_pairs
from hornbeam.facts.table import ONE

NAME = st.text(
    st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"]), min_size=1, max_size=4
)
TRUTH = st.sampled_from([ONE, 1, 250_000, 999_999]) | st.integers(1, ONE)
#: Every way in which a table of rows may come; the last ones have no names of columns.
FORMS: dict[str, Callable[[ResultTable], Any]] = {
    "pandas": ResultTable.to_pandas,
    "polars": ResultTable.to_polars,
    "lazy": lambda table: table.to_polars().lazy(),
    "arrow": ResultTable.to_arrow,
    "stream": lambda table: table.to_arrow().to_reader(),
    "capsule": lambda table: pl.DataFrame(table),
    "table": lambda table: table,
    "mapping": lambda table: dict(table.columns),
    "tuples": list,
    "iterator": iter,
    "array": lambda table: np.array(list(table), dtype=object),
}
forms = pytest.mark.parametrize("form", FORMS)
#: Of each of many forms.
FEW = settings(max_examples=4)


def facts_from(rows: dict[tuple[str, str, str], int]) -> Facts:
    return read_facts([(*atom, value / ONE) for atom, value in rows.items()])


@forms
@given(st.dictionaries(st.tuples(NAME, NAME, NAME), TRUTH, min_size=1, max_size=6))
@FEW
def test_facts_come_back(form: str, rows: dict[tuple[str, str, str], int]) -> None:
    facts = facts_from(rows)
    again = read_facts(FORMS[form](facts.to_table()))
    assert list(again) == list(facts)
    assert again.entities == facts.entities
    assert again.predicates == facts.predicates


@forms
@given(st.lists(st.tuples(NAME, NAME), min_size=1, max_size=6))
@FEW
def test_unary_facts_come_back(form: str, rows: list[tuple[str, str]]) -> None:
    facts = read_facts(rows)
    assert facts.to_table().names == ["subject", "predicate"]
    assert list(read_facts(FORMS[form](facts.to_table()))) == sorted(set(rows))


@forms
@given(st.lists(st.tuples(NAME, NAME, NAME), min_size=1, max_size=6), st.data())
@FEW
def test_pairs_and_labels_come_back(
    form: str, rows: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    pairs = read_pairs(rows)
    assert list(read_pairs(FORMS[form](pairs.to_table()))) == rows == list(pairs)
    distinct = list(dict.fromkeys(rows))
    labelled = [(*row, data.draw(TRUTH) / ONE) for row in distinct]
    labels = read_labels(labelled)
    assert list(read_labels(FORMS[form](labels.to_table()))) == labelled == list(labels)


@given(
    st.dictionaries(st.tuples(NAME, st.just("p"), NAME), TRUTH, min_size=1, max_size=6),
    st.lists(st.tuples(NAME, st.just("u")), max_size=3),
)
@settings(max_examples=20)
def test_facts_are_read_again(
    rows: dict[tuple[str, str, str], int], unary: list[tuple[str, str]]
) -> None:
    """Of all arities at once, beside others, and as the tuples that they iterate."""
    facts = facts_from(rows)
    if unary:
        facts = read_facts(facts, unary)
    again = read_facts(facts)
    assert list(again) == list(facts)
    more = read_facts(facts, [("new", "q", "new")])
    assert len(more) == len(facts) + 1
    if not facts.soft:
        assert list(read_facts(list(facts))) == list(facts)


def test_facts_of_many_arguments(tmp_path: Any) -> None:  # noqa: ANN401
    (tmp_path / "ta.tsv").write_text("ada\tlogic\tspring\nben\tsets\tautumn\n")
    facts = read_facts(f"ta={tmp_path / 'ta.tsv'}", [("ada", "knows", "ben"), ("ada", "student")])
    assert list(facts.to_table(3)) == [
        ("ada", "ta", "logic", "spring"), ("ben", "ta", "sets", "autumn"),
    ]  # fmt: skip
    assert list(facts)[:2] == [("ada", "student", None, None), ("ada", "knows", "ben", None)]
    assert list(read_facts(facts)) == list(facts)


def test_facts_are_counted_and_sliced() -> None:
    facts = read_facts(
        [
            ("a", "u"),
            ("a", "p", "b"),
            (
                "b",
                "p",
                "c",
            ),
            ("c", "p", "a"),
        ]
    )
    assert len(facts) == 4
    assert list(facts[:2]) == [("a", "u"), ("a", "p", "b")]
    assert list(facts[1:]) == list(facts)[1:]
    assert list(facts[np.array([True, False, False, True])]) == [("a", "u"), ("c", "p", "a")]
    assert list(facts[np.array([3, 1])]) == [("a", "p", "b"), ("c", "p", "a")]
    assert len(facts[:0]) == 0
    assert [facts[i] for i in range(len(facts))] == list(facts)
    assert facts[-1] == ("c", "p", "a")
    with pytest.raises(IndexError, match="row 4 of 4"):
        facts[4]
    soft = read_facts([("a", "p", "b", 1.0), ("b", "p", "c", 0.5)])
    assert soft[:1].soft is False


def test_targets_are_sliced() -> None:
    pairs = read_pairs([("a", "t", "b"), ("b", "t", "c"), ("c", "t", "a")])
    assert list(pairs[1:]) == [("b", "t", "c"), ("c", "t", "a")]
    assert (pairs[0], pairs[-1]) == (("a", "t", "b"), ("c", "t", "a"))
    with pytest.raises(IndexError, match="row 3 of 3"):
        pairs[3]
    assert list(pairs[np.array([2, 0])]) == [("c", "t", "a"), ("a", "t", "b")]


@forms
def test_the_predicate_may_be_known(form: str) -> None:
    pairs = ResultTable({"drug": ["x", "y"], "disease": ["a", "b"]})
    labels = pairs.with_columns({"known": [1, 0]})
    read = read_pairs(FORMS[form](pairs), target="treats")
    assert list(read) == [("x", "treats", "a"), ("y", "treats", "b")]
    read = read_labels(FORMS[form](labels), target="treats")
    assert list(read) == [("x", "treats", "a", 1.0), ("y", "treats", "b", 0.0)]


def test_columns_without_a_predicate_go_by_name() -> None:
    swapped = pd.DataFrame({"object": ["a"], "label": [1], "subject": ["x"]})
    assert list(read_labels(swapped, target="t")) == [("x", "t", "a", 1.0)]
    assert list(read_pairs(swapped, target="t")) == [("x", "t", "a")]
    with pytest.raises(DataError, match=r"found object, label, subject \(or name the predicate"):
        read_pairs(swapped)
    with pytest.raises(DataError, match="unknown column 'noise'"):
        read_labels(swapped.assign(noise=1), target="t")
    # what names its predicates keeps them
    assert list(read_pairs([("x", "u", "a")], target="t")) == [("x", "u", "a")]
    assert list(read_pairs(pd.DataFrame([("x", "u", "a")]), target="t")) == [("x", "u", "a")]


def test_what_was_read_is_taken_as_it_is() -> None:
    facts, labels = read_facts([("a", "p", "b")]), read_labels([("a", "t", "b", 1)])
    assert as_facts(facts) is facts
    assert as_labels(labels) is as_pairs(labels) is labels
    with pytest.raises(InputError, match="these pairs have no labels"):
        as_labels(read_pairs([("a", "t", "b")]))


def test_several_inputs_in_a_list(tmp_path: Any) -> None:  # noqa: ANN401
    (tmp_path / "a.tsv").write_text("a\tp\tb\n")
    frame = pd.DataFrame([("b", "p", "c")])
    rows = [("a", "p", "b"), ("b", "p", "c")]
    assert list(as_facts([str(tmp_path / "a.tsv"), frame])) == rows
    assert list(as_facts([tmp_path / "a.tsv", read_facts(frame)])) == rows
    assert list(as_facts([list(row) for row in rows])) == rows


@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("first", ["pandas", "polars", "arrow", "tuples"])
def test_frames_one_after_the_other(first: str, second: str) -> None:
    one, other = read_facts([("a", "p", "b")]), read_facts([("b", "p", "c")])
    both = read_facts(FORMS[first](one.to_table()), FORMS[second](other.to_table()))
    assert list(both) == [("a", "p", "b"), ("b", "p", "c")]


def test_streams_of_arrow() -> None:
    facts = read_facts([("a", "p", "b"), ("b", "u")])
    for frame in (pa.table(facts), pl.DataFrame(facts).to_arrow()):
        assert frame.to_pydict() == {
            "subject": ["b", "a"], "predicate": ["u", "p"], "object": [None, "b"],
        }  # fmt: skip
    labels = read_labels([("a", "t", "b", 0.5)])
    assert isinstance(labels, Targets)
    assert pl.DataFrame(labels).rows() == [("a", "t", "b", 0.5)]
