from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.language.rule_texts import identifiers
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import Candidates, RuleLimits
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import KINDS

#: Identifiers of one another's prefix, of one spelling, of either case.
NAMES = ["p", "p_", "pq", "P", "/x/y", "x_y", "p2", "p_2", "42", "é", "Z", "_"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "`max_length` is 0; expected 1 to 4"),
        ({"max_length": 5}, "`max_length` is 5; expected 1 to 4"),
        ({"min_coverage": 0}, "`min_coverage` is 0; expected at least 1"),
        ({"top": 0}, "`top` is 0; expected at least 1"),
        ({"max_fanout": 0}, "`max_fanout` is 0; expected at least 1"),
    ],
)
def test_language_refuses(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RuleLimits(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("max_length", [1, 2, 3, 4])
def test_language_accepts(max_length: int) -> None:
    least = RuleLimits(max_length, min_coverage=1, top=1, distinct_variables=True, max_fanout=1)
    assert (least.max_length, least.top, least.max_fanout) == (max_length, 1, 1)


ENTITIES = Names.of(["a", "B", "it's", "é"])


@st.composite
def tables(draw: st.DrawFn) -> Candidates:
    """Distinct bodies over names that are hard to order, with few different figures."""
    name = st.sampled_from(NAMES)
    predicates = tuple(sorted(draw(st.sets(name, min_size=1, max_size=6))))
    targets = tuple(sorted(draw(st.sets(name, min_size=1, max_size=4))))
    code = st.integers(2, 2 * len(predicates) + 1)
    row = st.tuples(st.lists(code, min_size=1, max_size=4), st.integers(0, len(targets) - 1))
    rows = draw(st.lists(row, min_size=1, max_size=25, unique_by=str))
    coverage = np.array([draw(st.integers(1, 3)) for _ in rows], dtype=np.int64)
    steps = np.zeros((len(rows), 4), dtype=np.uint32)
    for i, (codes, _) in enumerate(rows):
        steps[i, : len(codes)] = codes
    head = np.array([target for _, target in rows], dtype=np.int32)
    table = Candidates(
        predicates, targets, steps, head, coverage, coverage // 2, 2 * coverage, draw(st.booleans())
    )
    return draw(with_conditions(table)) if draw(st.booleans()) else table


@st.composite
def with_conditions(draw: st.DrawFn, paths: Candidates) -> Candidates:
    """The same table, and distinct conditions among its rows of one step."""
    kinds = np.zeros(len(paths), dtype=np.int32)
    argument, constant = kinds.copy(), kinds - 1
    steps = paths.steps.copy()
    for row in np.flatnonzero(np.count_nonzero(steps, axis=1) == 1).tolist():
        kind = draw(st.sampled_from([kind for kind in KINDS if kind is not Kind.NUMBERS]))
        kinds[row] = KINDS.index(kind)
        argument[row] = 0 if kind is Kind.PATH else draw(st.integers(0, 1))
        if kind is Kind.UNARY:
            steps[row, 0] &= ~np.uint32(1)  # a unary atom has no direction
        if kind is Kind.ANCHORED:
            constant[row] = draw(st.integers(0, len(ENTITIES) - 1))
            steps[row, 0] *= draw(st.integers(0, 1))
    conditions = np.stack([kinds, argument, constant], axis=1)
    everything = replace(paths, steps=steps, conditions=conditions, constants=ENTITIES)
    first = {(everything.body(row)): row for row in reversed(range(len(everything)))}
    return everything.take(np.array(sorted(first.values()), dtype=np.int64))


@given(tables(), st.integers(1, 3), st.none() | st.integers(1, 10))
def test_order_is_that_of_the_texts(
    everything: Candidates, min_coverage: int, top: int | None
) -> None:
    rows = everything.pruned(RuleLimits(4, min_coverage, top)).tolist()
    spelt = identifiers([*everything.predicates, *everything.targets])
    texts = [
        Clause(everything.body(i)).text(spelt, distinct=everything.distinct)
        for i in range(len(everything))
    ]
    assert texts == [everything.text(i) for i in range(len(everything))]
    assert len(set(texts)) == len(texts)
    expected = [i for i in range(len(everything)) if everything.coverage[i] >= min_coverage]
    expected.sort(key=lambda i: (-everything.coverage[i], len(everything.body(i)), texts[i]))
    assert rows == expected[:top]


@given(tables(), st.data())
def test_taking_rows(everything: Candidates, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(everything) - 1), max_size=8))
    taken = everything.take(np.array(rows, dtype=np.int64))
    assert len(taken) == len(rows)
    assert list(taken) == [everything[row] for row in rows]


def small() -> Candidates:
    steps = np.array([[2, 5, 0], [3, 0, 0]], dtype=np.uint32)
    figures = np.array([[12, 11], [5, 11], [40, 13]], dtype=np.int64)
    return Candidates(("a<b", "c"), ("t",), steps, np.zeros(2, dtype=np.int32), *figures)


def test_rows() -> None:
    candidates = small()
    first, second = candidates
    assert first.body == Body((Step("a<b"), Step("c", inverse=True)), "t")
    assert first.text == "a_b(A, B) & c(C, B) -> t(A, C)"
    assert (first.coverage, first.coverage_true, first.coverage_false, first.paths) == (
        12,
        5,
        7,
        40,
    )
    assert second.text == "a_b(B, A) -> t(A, B)"
    assert candidates.lengths.tolist() == [2, 1]


def test_shows_itself() -> None:
    candidates = small()
    assert repr(candidates) == "Candidates(2 bodies for t)"
    html = candidates._repr_html_()
    assert "a_b(A, B) &amp; c(C, B) -&gt; t(A, C)" in html
    assert "<caption>" not in html
    many = candidates.take(np.zeros(21, dtype=np.int64))
    assert "21 candidates" in many._repr_html_()
    assert many._repr_html_().count("<tr>") == 21


def test_a_table_of_them() -> None:
    assert list(small().to_table()) == [
        ("a_b(A, B) & c(C, B) -> t(A, C)", 12, 5, 7, 40, 2, "paths"),
        ("a_b(B, A) -> t(A, B)", 11, 11, 0, 13, 1, "paths"),
    ]
