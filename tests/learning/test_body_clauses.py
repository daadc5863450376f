"""Which ways of counting a body is learned in."""

from __future__ import annotations

import pytest

from hornbeam.learning.body_clauses import body_clauses, useful_ways
from hornbeam.rules.body import AnyBody, Body, Kind, Step
from hornbeam.rules.weighing import Counts, Weighing

PATH = Body((Step("p"), Step("q")), "t")
LINKED = Body((Step("p"), Step("believed_t")), "t")
OPEN = Body((Step("p"),), "t", Kind.OPEN)
UNARY = Body((Step("p", arity=1),), "t", Kind.UNARY)
ANCHORED = Body((Step("p"),), "t", Kind.ANCHORED, 0, "a")
LOG, EXISTS, SHARE, RAW = Counts.LOG, Counts.EXISTS, Counts.SHARE, Counts.RAW


@pytest.mark.parametrize(
    ("body", "ways", "useful"),
    [
        (PATH, [LOG, EXISTS, SHARE], [LOG, EXISTS, SHARE]),
        (PATH, [SHARE], [SHARE]),
        (LINKED, [LOG, EXISTS, SHARE], [LOG, EXISTS]),
        (LINKED, [SHARE], [LOG]),
        (OPEN, [LOG, SHARE], [LOG]),
        (OPEN, [SHARE], [LOG]),
        (UNARY, [LOG, EXISTS], [RAW]),
        (UNARY, [LOG], [LOG]),
        (ANCHORED, [SHARE], [RAW]),
    ],
)
def test_only_paths_over_facts_have_shares(
    body: Body, ways: list[Counts], useful: list[Counts]
) -> None:
    assert useful_ways(body, ways) == useful


def test_only_shares_have_a_median_and_only_other_ways_than_the_models_are_stated() -> None:
    medians: dict[tuple[Counts, AnyBody], Weighing] = {
        (SHARE, body): Weighing(SHARE, 0.25) for body in (PATH, OPEN)
    }
    listed = body_clauses([PATH, OPEN], [LOG, SHARE], medians)
    assert [(one.body, one.way, one.clause.negated, one.clause.weighing) for one in listed] == [
        (0, LOG, False, Weighing(LOG, 1.0)),
        (0, LOG, True, Weighing(LOG, 1.0)),
        (0, SHARE, False, Weighing(SHARE, 0.25)),
        (0, SHARE, True, Weighing(SHARE, 0.25)),
        (1, LOG, False, Weighing(LOG, 1.0)),
        (1, LOG, True, Weighing(LOG, 1.0)),
    ]
    assert [one.clause.weighing for one in body_clauses([PATH], [LOG], medians)] == [None] * 2
