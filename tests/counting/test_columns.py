"""Columns of bodies and conjunctions against dictionaries of counts."""

from __future__ import annotations

from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE
from hornbeam.rules.body import AnyBody, Body, Part, Step, simplest
from hornbeam.rules.weighing import Counts, Threshold, Weighing

BODIES = [Body((Step(name),), "t") for name in "abc"]
N_TARGETS = 5

#: Of a body and a target: rows of (body truth, groundings, share).
Cell = list[tuple[int, int, float]]
Cells = dict[tuple[int, int], Cell]

SHARES = st.sampled_from([0.01, 0.2, 0.25, 0.7])
THRESHOLDS = st.one_of(
    st.none(),
    st.builds(Threshold, st.sampled_from([1, 2, 5])),
    st.builds(Threshold, SHARES, st.just(True)),
)
WEIGHINGS = st.one_of(
    st.builds(Weighing, st.sampled_from([Counts.RAW, Counts.LOG, Counts.EXISTS])),
    st.builds(Weighing, st.just(Counts.SHARE), st.sampled_from([0.2, 1.5])),
)


@st.composite
def cells(draw: st.DrawFn, truths: tuple[int, ...]) -> Cells:
    row = st.tuples(st.integers(1, 9), SHARES)
    cell = st.dictionaries(st.sampled_from(truths), row, min_size=1, max_size=len(truths))
    places = st.tuples(st.integers(0, 2), st.integers(0, N_TARGETS - 1))
    found = draw(st.dictionaries(places, cell))
    return {place: [(b, n, x) for b, (n, x) in sorted(one.items())] for place, one in found.items()}


def statistics_of(table: Cells) -> Statistics:
    rows = [(c, i, *row) for (c, i), cell in table.items() for row in cell]
    body, target, truth, count, share = (np.array(column) for column in zip(*rows, strict=True))
    return Statistics.of(
        BODIES, N_TARGETS, body, target.astype(np.int32), truth.astype(np.int32), count, share
    )


def truths(part: Part, cell: Cell) -> list[int]:
    """Truths of the groundings of a condition; that of one with a threshold that holds is 1."""
    if part.threshold is None:
        return [truth for truth, n, _ in cell for _ in range(n)]
    if part.threshold.share:
        return [ONE] * (sum(x for _, _, x in cell) > part.threshold.bound)
    return [ONE] * (sum(n for _, n, _ in cell) >= part.threshold.bound)


def expected(body: AnyBody, weighing: Weighing, table: Cells, target: int) -> float:
    """What a clause adds to a target, by the definition; 0 where a condition does not hold."""
    found = [table.get((BODIES.index(part.body), target), []) for part in body.parts]
    if not all(found):
        return 0.0
    alone = len(found) == 1 and body.parts[0].threshold is None
    if alone and weighing.counts is Counts.SHARE:
        return log2(1 + sum(x for _, _, x in found[0]) / weighing.median)
    of_parts = [truths(part, cell) for part, cell in zip(body.parts, found, strict=True)]
    whole = [max(0, sum(some) - (len(some) - 1) * ONE) / ONE for some in product(*of_parts)]
    n = sum(whole)
    ways = {
        Counts.RAW: n,
        Counts.LOG: log2(1 + n),
        Counts.EXISTS: max(whole, default=0.0),
        Counts.SHARE: log2(1 + n / weighing.median),
    }
    return ways[weighing.counts]


@pytest.mark.parametrize("truths", [(ONE,), (250_000, 600_000, 900_000)], ids=["crisp", "soft"])
@given(data=st.data())
def test_columns_are_those_of_the_definition(truths: tuple[int, ...], data: st.DataObject) -> None:
    table = data.draw(cells(truths).filter(len))
    part = st.builds(Part, st.sampled_from(BODIES), THRESHOLDS)
    body = simplest(data.draw(st.lists(part, min_size=1, max_size=3)))
    weighing = data.draw(WEIGHINGS)
    rows, x = Columns(statistics_of(table)).of(body, weighing)
    assert rows.tolist() == sorted(set(rows.tolist()))
    found = dict(zip(rows.tolist(), x.tolist(), strict=True))
    for target in range(N_TARGETS):
        wanted = expected(body, weighing, table, target)
        assert found.get(target, 0.0) == pytest.approx(wanted, rel=1e-12)


def test_a_condition_twice_squares_its_groundings() -> None:
    columns = Columns(statistics_of({(0, 2): [(ONE, 3, 0.1)]}))
    rows, x = columns.of(simplest([Part(BODIES[0])] * 2), Weighing(Counts.RAW))
    assert (rows.tolist(), x.tolist()) == ([2], [9.0])


def test_a_threshold_of_shares_is_strict_and_one_of_groundings_is_not() -> None:
    columns = Columns(statistics_of({(0, 2): [(ONE, 3, 0.25)]}))

    def rows(threshold: Threshold) -> list[int]:
        body = simplest([Part(BODIES[0], threshold)])
        return list(columns.of(body, Weighing(Counts.RAW))[0])

    assert rows(Threshold(3)) == [2]
    assert rows(Threshold(4)) == []
    assert rows(Threshold(0.25, share=True)) == []
    assert rows(Threshold(0.249, share=True)) == [2]


def test_shares_that_were_not_counted_and_soft_continuous_targets_are_refused() -> None:
    plain = Statistics.empty(BODIES, N_TARGETS)
    with pytest.raises(InputError, match="shares were not counted"):
        Columns(plain).of(BODIES[0], Weighing(Counts.SHARE, 0.1))
    soft = statistics_of({(0, 2): [(500_000, 3, 0.25)]})
    with pytest.raises(InputError, match="need the boolean relaxation"):
        Columns(soft, Relaxation.LINEAR).of(BODIES[0], Weighing(Counts.RAW))
