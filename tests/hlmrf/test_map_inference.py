"""The entry point: every solver on every program, and what `auto` chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam.base.choices import Solver
from hornbeam.errors import InfeasibleError
from hornbeam.hlmrf import exact, map_inference, solver_choice
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.exact import Exact, find_conflict
from hornbeam.hlmrf.map_inference import solve
from hornbeam.hlmrf.map_state import MapStatus
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from tests.support.random_programs import Row, program, programs, synthetic
from tests.support.recorded_progress import RecordedProgress

TIGHT = Admm(epsilon_abs=1e-9, epsilon_rel=1e-9, max_violation=1e-6, max_iterations=200_000)


@given(programs(), st.sampled_from(Solver))
@settings(max_examples=60, deadline=None)
def test_every_solver_finds_the_optimum(potentials: Potentials, solver: Solver) -> None:
    best = Exact().solve(potentials).objective
    found = solve(potentials, solver, admm=TIGHT)
    assert found.objective == pytest.approx(best, rel=1e-5, abs=1e-5)
    assert found.objective == pytest.approx(potentials.objective(found.state))
    assert found.bound <= best + 1e-6 * (1 + best)
    assert not len(found.violated)


@given(programs())
@settings(max_examples=60, deadline=None)
def test_auto_by_admm_finds_the_optimum_too(potentials: Potentials) -> None:
    best = Exact().solve(potentials).objective
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(map_inference, "EXACT_LITERALS", -1)
        found = solve(potentials, admm=TIGHT)
    assert found.objective == pytest.approx(best, rel=1e-5, abs=1e-5)


@given(
    programs(kinds=[*PotentialKind, PotentialKind.AT_MOST, PotentialKind.EQUAL], feasible=False),
    st.sampled_from(Solver),
)
@settings(max_examples=60, deadline=None)
def test_every_solver_names_a_conflict(potentials: Potentials, solver: Solver) -> None:
    assume(len(find_conflict(potentials)))
    with pytest.raises(InfeasibleError) as caught:
        solve(potentials, solver, admm=TIGHT)
    rows = np.array(caught.value.rows)
    assert find_conflict(potentials, rows).tolist() == rows.tolist()


@given(programs())
@settings(max_examples=60, deadline=None)
def test_factorisation_by_blocks_finds_the_optimum_too(potentials: Potentials) -> None:
    best = Exact().solve(potentials).objective
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "MANY_PRODUCTS", -1.0)
        found = solve(potentials, Solver.EXACT)
    assert found.status is MapStatus.OPTIMAL
    assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("solver", Solver)
def test_equal_rows_and_determined_variables_are_solved_before(solver: Solver) -> None:
    rows: list[Row] = [
        (PotentialKind.EQUAL, 0.0, {0: 2.0}, -1.0),
        (PotentialKind.AT_MOST, 0.0, {0: 1.0, 1: 0.5}, -0.9),  # y1 <= 0.8
        (PotentialKind.LINEAR, 1.0, {1: -1.0, 2: 1.0}, 0.0),
        (PotentialKind.LINEAR, 2.0, {1: -1.0, 2: 1.0}, 0.0),
        (PotentialKind.LINEAR, 2.0, {0: 1.0}, 0.0),
        (PotentialKind.LINEAR, 4.0, {2: -1.0}, 1.0),
    ]
    found = solve(program(4, rows, offset=3.0), solver, np.full(4, 0.25), TIGHT)
    assert found.state == pytest.approx([0.5, 0.8, 1.0, 0.25], abs=1e-6)
    assert found.objective == pytest.approx(3.0 + 3.0 * 0.2 + 2.0 * 0.5)
    assert found.bound == pytest.approx(found.objective)


@pytest.mark.parametrize("solver", Solver)
@pytest.mark.parametrize("value", [0.5, 1.5])
def test_a_conflict_with_a_determined_variable_is_named(solver: Solver, value: float) -> None:
    rows: list[Row] = [
        (PotentialKind.LINEAR, 1.0, {1: 1.0}, 0.0),
        (PotentialKind.EQUAL, 0.0, {0: 1.0}, -value),
        (PotentialKind.LINEAR, 1.0, {1: 1.0}, 0.0),
        (PotentialKind.AT_MOST, 0.0, {0: 1.0, 1: 1.0}, -0.25),
    ]
    with pytest.raises(InfeasibleError) as caught:
        solve(program(2, rows), solver)
    assert caught.value.rows == ([1, 3] if value < 1.0 else [1])


def test_auto_settles_what_stands_alone_and_solves_the_rest() -> None:
    potentials = program(
        5,
        [
            (PotentialKind.SQUARED, 1.0, {0: 1.0}, 0.0),  # 0 stands alone: y^2 + 3 (1 - y)^2
            (PotentialKind.SQUARED, 3.0, {0: -1.0}, 1.0),
            (PotentialKind.LINEAR, 0.0, {0: 1.0, 1: 1.0}, 0.0),  # weight 0 says nothing of 0 and 1
            (PotentialKind.EQUAL, 0.0, {2: 1.0, 3: 1.0}, -1.0),
            (PotentialKind.LINEAR, 2.0, {2: 1.0}, -0.25),
            (PotentialKind.LINEAR, 1.0, {3: 1.0}, 0.0),
            (PotentialKind.LINEAR, 2.0, {}, 0.5),
        ],
        offset=10.0,
    )
    found = solve(potentials, start=np.full(5, 0.6))
    np.testing.assert_allclose(found.state, [0.75, 0.6, 0.25, 0.75, 0.6], atol=1e-7)
    assert found.solver == "closed form, exact"
    assert found.status is MapStatus.OPTIMAL
    assert found.objective == pytest.approx(0.75 + 0.75 + 1.0 + 10.0)
    assert found.gap == pytest.approx(0.0, abs=1e-6)


def test_auto_chooses_by_size() -> None:
    small, large = synthetic(300, squared=True), synthetic(3000, squared=True)
    assert solve(small).solver == "exact"
    assert solve(large).solver == "admm"
    alone = program(1, [(PotentialKind.LINEAR, 1.0, {0: 1.0}, 0.0)])
    found = solve(alone)
    assert (found.solver, found.status, found.state.tolist()) == ("closed form", "optimal", [0.0])


def _slow_chain(n: int = 4000) -> Potentials:
    """A long chain of equal values with weak pulls at its ends, for which ADMM is slow."""
    rows: list[Row] = [(PotentialKind.LINEAR, 1.0, {0: 1.0}, -0.2)]
    rows += [(PotentialKind.EQUAL, 0.0, {i: 1.0, i + 1: -1.0}, 0.0) for i in range(n - 1)]
    rows += [(PotentialKind.SQUARED, 0.01, {i: -1.0}, 1.0) for i in range(n)]
    return program(n, rows)


def test_auto_leaves_a_slow_admm_for_the_exact_solver() -> None:
    chain, reports = _slow_chain(), RecordedProgress()
    found = solve(chain, admm=Admm(epsilon_abs=1e-8, epsilon_rel=1e-8), progress=reports)
    assert (found.solver, found.status) == ("admm, exact", MapStatus.OPTIMAL)
    assert found.objective == pytest.approx(Exact().solve(chain).objective, rel=1e-7)
    assert found.gap == pytest.approx(0.0, abs=1e-5)
    assert max(done for _, done, _ in reports.reports) <= 500, "ADMM was not left early"


def test_admm_that_ends_at_its_limit_is_finished_exactly_where_that_fits() -> None:
    large, two = synthetic(1000, squared=True), Admm(max_iterations=2)
    assert solve(large, Solver.ADMM, admm=two).status is MapStatus.ITERATIONS
    found = solve(large, admm=two)
    assert (found.solver, found.status) == ("admm, exact", MapStatus.OPTIMAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver_choice, "MAX_FILL", 0)
        assert solve(large, admm=two).status is MapStatus.ITERATIONS


def test_a_stopping_rule_that_is_met_far_from_the_optimum_is_noticed() -> None:
    # in units of the largest weight all other pulls are tiny, and so are ADMM's first steps
    n = 1500
    rows: list[Row] = [(PotentialKind.SQUARED, 1e7, {0: 1.0, 1: -1.0}, 0.0)]
    rows += [(PotentialKind.SQUARED, 1.0, {i: 1.0, i + 1: 0.5}, 0.0) for i in range(n - 1)]
    potentials = program(n, rows)
    tight = Admm(epsilon_abs=1e-6, epsilon_rel=1e-6)
    fooled = solve(potentials, Solver.ADMM, admm=tight)
    assert fooled.status is MapStatus.CONVERGED
    assert fooled.gap > 1.0
    found = solve(potentials, admm=tight)
    assert found.solver == "admm, exact"
    assert found.status is MapStatus.CONVERGED
    assert found.objective == pytest.approx(0.0, abs=1e-4)


@given(programs(most_variables=12))
@settings(max_examples=40, deadline=None)
def test_the_bound_of_the_fill_in_holds(potentials: Potentials) -> None:
    # eliminating one variable after the other, in the given order within a component
    links = np.zeros((potentials.n_variables, potentials.n_variables), dtype=np.bool_)
    for k in range(len(potentials)):
        inside = potentials.variable[potentials.indptr[k] : potentials.indptr[k + 1]]
        links[np.ix_(inside, inside)] = True
    fill = 0
    for i in range(potentials.n_variables):
        behind = np.flatnonzero(links[i, i + 1 :]) + i + 1
        fill += len(behind)
        links[np.ix_(behind, behind)] = True
    assert fill <= solver_choice.fill_bound(potentials)


def test_the_bound_of_the_fill_in_uses_a_narrow_band() -> None:
    chain = _slow_chain(1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver_choice, "MAX_FILL", 10_000)  # below the full triangle, 500,000
        assert solver_choice.fill_bound(chain) == 999


def test_the_bound_of_the_fill_in_is_the_triangles_of_small_components() -> None:
    size, components = 6, 3
    rows: list[Row] = [
        (PotentialKind.SQUARED, 1.0, {size * c + i: 1.0 for i in range(size)}, 0.0)
        for c in range(components)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver_choice, "MAX_FILL", 120)  # below the full triangle, 162
        found = solver_choice.fill_bound(program(size * components, rows))
    assert components * size * (size - 1) / 2 <= found <= components * size * (size + 1) / 2


def test_the_exact_solver_costs_more_with_more_entries() -> None:
    costs = [solver_choice._exact_cost(1e6, factor) for factor in (1e4, 1e5, 1e6, 1e7)]
    assert costs == sorted(set(costs))


def test_violated_constraints_are_named_by_their_row() -> None:
    large = synthetic(1000, squared=True)
    n = len(large.variable)
    potentials = Potentials(
        large.n_variables,
        np.concatenate([[0, 1], large.indptr[1:] + 1, [n + 3]]),
        np.concatenate([[large.n_variables - 1], large.variable, [0, 1]]).astype(np.int32),
        np.concatenate([[1.0], large.coefficient, [1.0, 1.0]]),
        np.concatenate([[0.0], large.constant, [-2.0]]),
        np.concatenate([[0.0], large.weight, [0.0]]),
        np.concatenate([[PotentialKind.LINEAR], large.kind, [PotentialKind.EQUAL]]).astype(
            np.uint8
        ),
        np.zeros(1002, dtype=np.int32),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver_choice, "MAX_ENTRIES", 0)  # else it would be finished exactly
        found = solve(potentials, start=np.zeros(large.n_variables), admm=Admm(max_iterations=1))
    assert found.status is MapStatus.ITERATIONS
    assert found.violated.tolist() == [1001]
    assert found.violation == pytest.approx([abs(potentials.forms(found.state)[1001])])
    converged = solve(potentials)
    assert converged.status is MapStatus.CONVERGED
    assert not len(converged.violated)


def test_iterations_and_the_first_compilation_are_reported() -> None:
    progress = RecordedProgress()
    found = solve(synthetic(3000, squared=True), progress=progress)
    assert progress.reports[-1] == ("ADMM", found.iterations, 25_000)


@pytest.mark.parametrize("solver", Solver)
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_constraints_of_known_atoms_only(solver: Solver, constant: float) -> None:
    free = (PotentialKind.LINEAR, 0.0, {0: 1.0}, 0.0)  # of weight 0, so that no variable matters
    potentials = program(1, [free, (PotentialKind.AT_MOST, 0.0, {}, constant)])
    if constant > 0.0:
        with pytest.raises(InfeasibleError):
            solve(potentials, solver)
    else:
        assert solve(potentials, solver).objective == 0.0
