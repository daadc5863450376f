"""Exact MAP states against grids, proofs of optimality, and conflicts that are conflicts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam.errors import InfeasibleError, InputError
from hornbeam.hlmrf.exact import Exact, find_conflict
from hornbeam.hlmrf.map_state import MapStatus, dual_value
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from tests.support.random_programs import Row, program, programs

GRID = np.linspace(0, 1, 81)


def grid_best(potentials: Potentials) -> float:
    """Least objective on a grid, of the states that meet the constraints there."""
    best = np.inf
    for state in product(GRID, repeat=potentials.n_variables):
        point = np.array(state)
        if potentials.violations(point).max(initial=0.0) <= 1e-9:
            best = min(best, potentials.objective(point))
    return best


def test_rows_of_weight_0_do_not_lead_the_solver_astray() -> None:
    nothing: list[Row] = [
        *[(PotentialKind.LINEAR, 0.0, {}, 0.0)] * 7,
        (PotentialKind.LINEAR, 0.0, {}, 1.0),
    ]
    listed = [
        (PotentialKind.LINEAR, 0.3, {0: 1.0}, 0.0),
        (PotentialKind.SQUARED, 0.3, {0: -1.0}, 0.75),
        (PotentialKind.EQUAL, 0.0, {0: 1.0}, -0.75),
    ]
    found = Exact().solve(program(1, [*nothing, *listed]))
    assert found.status is MapStatus.OPTIMAL
    assert found.objective == pytest.approx(0.225, rel=1e-9)


@given(programs(most_variables=1))
@settings(max_examples=60, deadline=None)
def test_no_grid_point_is_better_one_variable(potentials: Potentials) -> None:
    check_against_grid(potentials)


@pytest.mark.slow
@given(programs(most_variables=2))
@settings(max_examples=15, deadline=None)
def test_no_grid_point_is_better(potentials: Potentials) -> None:
    check_against_grid(potentials)


def check_against_grid(potentials: Potentials) -> None:
    found = Exact().solve(potentials)
    best = grid_best(potentials)
    assert found.status is MapStatus.OPTIMAL
    assert found.objective <= best + 1e-6
    # the planted state is on the grid, so some point is feasible; the grid is coarse, though
    assert np.isfinite(best)
    steep = np.bincount(potentials.row, np.abs(potentials.coefficient), len(potentials))
    highest = np.abs(potentials.constant) + steep
    slope = (
        potentials.weight
        * steep
        * np.where(potentials.kind == PotentialKind.SQUARED, 2 * highest, 1)
    )
    if not potentials.is_constraint.any():
        assert best <= found.objective + slope.sum() / 160 + 1e-9


@given(programs())
@settings(max_examples=60, deadline=None)
def test_multipliers_prove_that_it_is_optimal(potentials: Potentials) -> None:
    found = Exact().solve(potentials)
    assert found.status is MapStatus.OPTIMAL
    assert abs(found.gap) <= 1e-6 * (1 + found.objective)
    assert found.objective == pytest.approx(potentials.objective(found.state), abs=1e-12)
    assert ((found.state >= 0) & (found.state <= 1)).all()
    assert potentials.violations(found.state).max(initial=0.0) <= 1e-6
    assert not len(found.violated)


@given(programs(), st.data())
@settings(max_examples=60, deadline=None)
def test_no_multipliers_bound_a_feasible_state_wrongly(
    potentials: Potentials, data: st.DataObject
) -> None:
    best = Exact().solve(potentials).objective
    numbers = st.floats(-10, 10)
    size = len(potentials)
    multiplier = np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)))
    assert dual_value(potentials, multiplier) <= best + 1e-6 * (1 + best)


def test_variables_in_no_row_keep_their_value() -> None:
    potentials = program(3, [(PotentialKind.LINEAR, 1.0, {1: 1.0}, 0.0)])
    assert Exact().solve(potentials).state.tolist() == [1.0, 0.0, 1.0]
    start = np.array([0.2, 0.7, 0.4])
    assert Exact().solve(potentials, start).state.tolist() == [0.2, 0.0, 0.4]


@given(
    programs(
        kinds=[PotentialKind.AT_MOST, PotentialKind.EQUAL, PotentialKind.SQUARED], feasible=False
    )
)
@settings(max_examples=60, deadline=None)
def test_a_conflict_has_no_solution_and_every_part_of_it_has_one(potentials: Potentials) -> None:
    conflict = find_conflict(potentials)
    assume(len(conflict))
    with pytest.raises(InfeasibleError) as caught:
        Exact().solve(potentials)
    assert caught.value.rows == conflict.tolist()
    assert potentials.is_constraint[conflict].all()
    assert least_violation(potentials, conflict) > 1e-7
    for row in conflict:
        assert least_violation(potentials, conflict[conflict != row]) <= 1e-6


def least_violation(potentials: Potentials, rows: np.ndarray) -> float:
    """Least sum of squared violations, by another solver than `find_conflict` uses."""
    from scipy.optimize import lsq_linear

    matrix, constant = potentials.matrix[rows].toarray(), potentials.constant[rows]
    at_most = potentials.kind[rows] == PotentialKind.AT_MOST
    # a slack s >= 0 for every row l <= 0 makes it l + s = 0
    slack = np.eye(len(rows))[:, at_most]
    lower = np.zeros(potentials.n_variables + slack.shape[1])
    upper = np.concatenate([np.ones(potentials.n_variables), np.full(slack.shape[1], 100.0)])
    if not len(rows):
        return 0.0
    solution = lsq_linear(
        np.hstack([matrix, slack]), -constant, (lower, upper), method="bvls", tol=1e-14
    )
    return float(np.abs(solution.fun).max())


def test_the_conflict_is_named_among_many_constraints() -> None:
    chain = [(PotentialKind.AT_MOST, 0.0, {i: 1.0, i + 1: -1.0}, 0.0) for i in range(50)]
    ends = [
        (PotentialKind.AT_MOST, 0.0, {10: -1.0}, 0.8),
        (PotentialKind.AT_MOST, 0.0, {13: 1.0}, -0.3),
    ]
    weighted = [(PotentialKind.SQUARED, 1.0, {i: 1.0}, 0.0) for i in range(51)]
    potentials = program(51, [*weighted, *chain, *ends])
    with pytest.raises(InfeasibleError, match="5 of them contradict") as caught:
        Exact().solve(potentials)
    assert isinstance(caught.value, InputError)
    assert caught.value.rows == [51 + 10, 51 + 11, 51 + 12, 101, 102]


def test_a_constraint_without_variables_can_be_the_conflict() -> None:
    rows: list[Row] = [(PotentialKind.AT_MOST, 0.0, {}, -1.0), (PotentialKind.EQUAL, 0.0, {}, 0.25)]
    with pytest.raises(InfeasibleError) as caught:
        Exact().solve(program(1, rows))
    assert caught.value.rows == [1]
