"""Closed forms of variables that stand alone, against a dense search and the exact solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.hlmrf.exact import Exact, find_conflict
from hornbeam.hlmrf.map_inference import solve_single_variables
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from tests.support.random_programs import Row, program, programs

numbers = st.floats(-2, 2).map(lambda x: round(x, 3))
rows = st.tuples(
    st.sampled_from([PotentialKind.LINEAR, PotentialKind.SQUARED]),
    st.sampled_from([0.1, 0.2, 0.3, 1.0, 2.0, 50.0]),
    st.sampled_from([1.0, -1.0, 0.5, -2.0]).map(lambda a: {0: a}),
    numbers,
)


@given(st.lists(rows, min_size=1, max_size=12), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_nothing_in_a_dense_search_is_better(listed: list[Row], start: float) -> None:
    potentials = program(1, listed)
    state = np.array([start])
    assert not len(solve_single_variables(potentials, state))
    best = potentials.objective(state)
    knees = -potentials.constant / potentials.coefficient
    dense = np.concatenate([np.linspace(0, 1, 2001), np.clip(knees, 0, 1)])
    distance = np.maximum(np.outer(dense, potentials.coefficient) + potentials.constant, 0)
    squared = potentials.kind == PotentialKind.SQUARED
    values = np.where(squared, distance**2, distance) @ potentials.weight
    assert values[0] == pytest.approx(potentials.objective(np.array([0.0])), rel=1e-12)
    assert best <= values.min() + 1e-12 * (1 + best)
    # of equally good values it took the nearest to the start
    nearer = np.abs(dense - start) < abs(state[0] - start) - 1e-9
    assert (values[nearer] > best - 1e-12).all()
    # the grid may miss the best value: the start is one if nothing found is better
    if potentials.objective(np.array([start])) <= best:
        assert abs(state[0] - start) < 1e-5


@given(programs(most_variables=4, most_literals=1))
@settings(max_examples=60, deadline=None)
def test_agrees_with_the_exact_solver(potentials: Potentials) -> None:
    potentials = potentials.select(np.diff(potentials.indptr) == 1)
    state = np.full(potentials.n_variables, 0.4)
    assert not len(solve_single_variables(potentials, state))
    assert potentials.violations(state).max(initial=0.0) <= 1e-9
    best = Exact().solve(potentials).objective
    assert potentials.objective(state) <= best + 1e-6 * (1 + best)


@given(
    programs(kinds=[PotentialKind.AT_MOST, PotentialKind.EQUAL], feasible=False, most_literals=1)
)
@settings(max_examples=60, deadline=None)
def test_names_the_variables_with_contradictory_constraints(potentials: Potentials) -> None:
    potentials = potentials.select(np.diff(potentials.indptr) == 1)
    infeasible = solve_single_variables(potentials, np.ones(potentials.n_variables))
    for variable in range(potentials.n_variables):
        mine = np.flatnonzero(potentials.variable == variable)
        assert (variable in infeasible) == bool(len(find_conflict(potentials, mine)))
