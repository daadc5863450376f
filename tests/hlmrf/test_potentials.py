"""Ground programs as arrays, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from tests.support.random_programs import program, programs


@given(programs(feasible=False), st.data())
@settings(max_examples=60, deadline=None)
def test_values_and_violations_are_those_of_the_definition(
    potentials: Potentials, data: st.DataObject
) -> None:
    n = potentials.n_variables
    state = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    total = potentials.offset
    for k in range(len(potentials)):
        form = potentials.constant[k]
        for e in range(potentials.indptr[k], potentials.indptr[k + 1]):
            assert potentials.row[e] == k
            form += potentials.coefficient[e] * state[potentials.variable[e]]
        hinge = max(form, 0.0)
        value, violation = {
            PotentialKind.LINEAR: (potentials.weight[k] * hinge, 0.0),
            PotentialKind.SQUARED: (potentials.weight[k] * hinge**2, 0.0),
            PotentialKind.AT_MOST: (0.0, hinge),
            PotentialKind.EQUAL: (0.0, abs(form)),
        }[PotentialKind(potentials.kind[k])]
        assert potentials.forms(state)[k] == pytest.approx(form, abs=1e-12)
        assert potentials.values(state)[k] == pytest.approx(value, abs=1e-12)
        assert potentials.violations(state)[k] == pytest.approx(violation, abs=1e-12)
        total += value
    assert potentials.objective(state) == pytest.approx(total)


@given(programs(feasible=False))
@settings(max_examples=50, deadline=None)
def test_selected_rows_stay_what_they_are(potentials: Potentials) -> None:
    rng = np.random.default_rng(len(potentials))
    rows = rng.random(len(potentials)) < 0.5
    part, state = potentials.select(rows), rng.random(potentials.n_variables)
    assert len(part) == rows.sum()
    assert part.offset == 0.0
    np.testing.assert_array_equal(part.rule, potentials.rule[rows])
    np.testing.assert_array_equal(part.forms(state), potentials.forms(state)[rows])
    np.testing.assert_array_equal(part.values(state), potentials.values(state)[rows])


@given(programs(feasible=False), st.data())
@settings(max_examples=100, deadline=None)
def test_merged_rows_are_distinct_and_mean_the_same(
    potentials: Potentials, data: st.DataObject
) -> None:
    every = np.arange(len(potentials))
    rows = data.draw(st.lists(st.sampled_from(every.tolist()), max_size=9)) if len(every) else []
    parts = [potentials, *(potentials.select(every == row) for row in rows)]
    whole = Potentials.joined(potentials.n_variables, parts)
    merged, first = whole.merged()
    texts = [_text(whole, row) for row in range(len(whole))]
    assert first.tolist() == sorted({text: texts.index(text) for text in texts}.values())
    assert [_text(merged, row) for row in range(len(merged))] == [texts[row] for row in first]
    state = np.random.default_rng(len(whole)).random(whole.n_variables)
    assert merged.objective(state) == pytest.approx(whole.objective(state))
    np.testing.assert_array_equal(merged.violations(state), whole.violations(state)[first])


def _text(potentials: Potentials, row: int) -> str:
    place = slice(potentials.indptr[row], potentials.indptr[row + 1])
    literals = potentials.variable[place].tolist(), potentials.coefficient[place].tolist()
    return f"{potentials.kind[row]} {potentials.constant[row] + 0.0} {literals}"


def test_rows_that_a_probe_does_not_tell_apart_are_not_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(PotentialKind.LINEAR, 1.0, {v: a}, 0.0) for v in (0, 1) for a in (1.0, -1.0)]
    monkeypatch.setattr(Potentials, "forms", lambda self, state: np.zeros(len(self)))
    assert len(program(2, rows).merged()[0]) == len(rows)


def test_the_matrix_shares_the_memory_of_the_literals() -> None:
    potentials = program(2, [(PotentialKind.LINEAR, 1.0, {0: 1.0, 1: -1.0}, 0.0)])
    assert np.shares_memory(potentials.matrix.data, potentials.coefficient)
    assert np.shares_memory(potentials.matrix.indices, potentials.variable)
