"""ADMM against exact states, its own proofs, and what must not change its answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hornbeam.errors import InfeasibleError
from hornbeam.hlmrf import admm
from hornbeam.hlmrf.admm import ANCHORED, RELAXED, Admm, Residuals
from hornbeam.hlmrf.exact import Exact, find_conflict
from hornbeam.hlmrf.map_state import MapStatus
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from tests.support.kernels import compiles
from tests.support.random_programs import program, programs, synthetic
from tests.support.recorded_progress import RecordedProgress

TIGHT = Admm(epsilon_abs=1e-9, epsilon_rel=1e-9, max_violation=1e-6, max_iterations=200_000)
#: Plain, relaxed and anchored.
RELAXATIONS = [1.0, RELAXED, ANCHORED]


@pytest.fixture(
    scope="module",
    params=[
        # work from which on the loops are compiled: always, in mid-run, and never
        pytest.param(0, id="compiled", marks=[compiles, pytest.mark.more_cases]),
        # the arithmetic is the same (see below), but arrays take long to come near enough
        pytest.param(
            100 * (admm.ARRAY_CALLS + 3),
            id="both",
            marks=[compiles, pytest.mark.more_cases, pytest.mark.examples(15)],
        ),
        pytest.param(10**15, id="arrays", marks=pytest.mark.examples(15)),
    ],
)
def every_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Do the steps by compiled loops, by arrays, and first by one and then by the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admm, "WORTH_COMPILING", request.param)
        yield


@pytest.mark.usefixtures("every_way")
@given(programs())
@settings(max_examples=60, deadline=None)
def test_reaches_the_optimum(potentials: Potentials) -> None:
    best = Exact().solve(potentials)
    found = TIGHT.solve(potentials)
    assert found.status is MapStatus.CONVERGED
    assert found.objective == pytest.approx(best.objective, rel=1e-5, abs=1e-5)
    assert found.bound == pytest.approx(best.objective, rel=1e-4, abs=1e-4)
    assert found.bound <= best.objective + 1e-6 * (1 + best.objective)
    assert potentials.violations(found.state).max(initial=0.0) <= 1e-6


@pytest.mark.usefixtures("every_way")
@given(programs(), st.sampled_from([0.2, 1.0, 5.0]), st.sampled_from(RELAXATIONS))
@settings(max_examples=40, deadline=None)
def test_step_and_relaxation_change_the_way_and_not_the_end(
    potentials: Potentials, step: float, relaxation: float
) -> None:
    found = replace(TIGHT, step=step, relaxation=relaxation).solve(potentials)
    best = Exact().solve(potentials).objective
    assert found.objective == pytest.approx(best, rel=1e-5, abs=1e-5)


@given(programs(), st.sampled_from([5e-324, 1e-310, 1e100]))
@settings(max_examples=30, deadline=None)
def test_the_unit_of_weights_changes_nothing(potentials: Potentials, unit: float) -> None:
    """Also where a step in units of the largest weight would be 0, or no number."""
    ones = np.where(potentials.weight > 0, 1.0, 0.0)
    one = Admm().solve(replace(potentials, weight=ones))
    with np.errstate(divide="raise", invalid="raise"):
        found = Admm().solve(replace(potentials, weight=ones * unit))
    np.testing.assert_array_equal(found.state, one.state)
    assert (found.status, found.iterations) == (one.status, one.iterations)


@pytest.mark.usefixtures("every_way")
@given(programs(), st.integers(1, 30), st.sampled_from([1.0, RELAXED]))
@settings(max_examples=50, deadline=None)
def test_is_the_textbook_iteration(potentials: Potentials, iterations: int, way: float) -> None:
    """The short form of w that is carried is the z + u of every literal."""
    assume(len(potentials.variable))
    loop = Admm(max_iterations=iterations, relaxation=way, epsilon_rel=-1.0)
    found = loop.solve(potentials)
    assume(found.status is MapStatus.ITERATIONS)
    state, primal, dual = textbook(potentials, iterations, way)
    np.testing.assert_allclose(found.state, state, atol=1e-9)
    assert found.primal_residual == pytest.approx(primal, abs=1e-6)
    assert found.dual_residual == pytest.approx(dual, abs=1e-6)


def textbook(
    potentials: Potentials, iterations: int, relaxation: float
) -> tuple[np.ndarray, float, float]:
    """Run ADMM with a copy and a dual for every literal, rows one by one; the last step plain."""
    step = potentials.weight.max(initial=0.0) or 1.0
    z = np.ones(potentials.n_variables)
    x, u = np.zeros(len(potentials.variable)), np.zeros(len(potentials.variable))
    degree = np.bincount(potentials.variable, minlength=len(z))
    old = z
    for iteration in range(1, iterations + 1):
        v = z[potentials.variable] - u
        for k in range(len(potentials)):
            part = slice(potentials.indptr[k], potentials.indptr[k + 1])
            a, w, kind = potentials.coefficient[part], potentials.weight[k], potentials.kind[k]
            form, norm = a @ v[part] + potentials.constant[k], a @ a
            if kind == PotentialKind.SQUARED and form > 0:
                hessian = step * np.eye(len(a)) + 2 * w * np.outer(a, a)
                x[part] = np.linalg.solve(
                    hessian, step * v[part] - 2 * w * potentials.constant[k] * a
                )
            elif kind == PotentialKind.LINEAR and form > w / step * norm:
                x[part] = v[part] - w / step * a
            elif kind == PotentialKind.EQUAL or (kind != PotentialKind.SQUARED and form > 0):
                x[part] = v[part] - (form / norm if norm else 0.0) * a
            else:
                x[part] = v[part]
        r = relaxation if iteration < iterations else 1.0
        mixed = r * x + (1 - r) * z[potentials.variable]
        mean = np.bincount(potentials.variable, mixed + u, len(z)) / np.maximum(degree, 1)
        old, z = z, np.where(degree > 0, np.clip(mean, 0, 1), z)
        u = u + mixed - z[potentials.variable]
    primal = float(np.linalg.norm(x - z[potentials.variable]))
    return z, primal, float(np.linalg.norm((z - old)[potentials.variable]))


@given(programs())
@settings(max_examples=60, deadline=None)
def test_rows_may_come_in_any_order_and_weights_in_any_unit(potentials: Potentials) -> None:
    found = TIGHT.solve(potentials)
    order = np.random.default_rng(0).permutation(len(potentials))
    matrix = potentials.matrix[order]
    shuffled = Potentials(
        potentials.n_variables,
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
        potentials.constant[order],
        potentials.weight[order] * 7,
        potentials.kind[order],
        potentials.rule[order],
        potentials.offset * 7,
    )
    other = TIGHT.solve(shuffled)
    np.testing.assert_allclose(other.state, found.state, atol=1e-6)
    assert other.objective == pytest.approx(7 * found.objective, rel=1e-6, abs=1e-6)


@given(programs(), st.sampled_from([5e-324, 1e-200, 1e100]))
@settings(max_examples=30, deadline=None)
def test_the_smallest_and_largest_weights_give_the_same_state(
    potentials: Potentials, weight: float
) -> None:
    """A step in units of the largest weight must not come out as 0, nor be cut off."""
    alike = replace(potentials, weight=np.where(potentials.weight > 0, 1.0, 0.0))
    solver = replace(TIGHT, max_iterations=1000)  # equal all the way: some converge slowly
    found = solver.solve(alike)
    other = solver.solve(replace(alike, weight=alike.weight * weight))
    assert found.state.tolist() == other.state.tolist()
    assert found.iterations == other.iterations


@given(programs(kinds=[PotentialKind.LINEAR, PotentialKind.SQUARED]))
@settings(max_examples=40, deadline=None)
def test_a_row_written_twice_is_a_row_of_twice_the_weight(potentials: Potentials) -> None:
    matrix = potentials.matrix
    twice = Potentials(
        potentials.n_variables,
        np.concatenate([potentials.indptr, potentials.indptr[-1] + potentials.indptr[1:]]),
        np.tile(matrix.indices, 2).astype(np.int32),
        np.tile(matrix.data, 2),
        np.tile(potentials.constant, 2),
        np.tile(potentials.weight, 2),
        np.tile(potentials.kind, 2),
        np.tile(potentials.rule, 2),
    )
    merged = replace(potentials, weight=2 * potentials.weight, offset=0.0)
    expected = TIGHT.solve(merged).objective
    assert TIGHT.solve(twice).objective == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("squared", [True, False])
def test_any_number_of_threads_gives_the_same_bits(squared: bool) -> None:
    potentials = synthetic(70_000, squared)
    one = Admm(threads=1, max_iterations=120, epsilon_rel=1e-6).solve(potentials)
    for threads in (2, 3, 8):
        many = Admm(threads=threads, max_iterations=120, epsilon_rel=1e-6).solve(potentials)
        assert many.state.tobytes() == one.state.tobytes()
        assert many.iterations == one.iterations
        assert (many.primal_residual, many.dual_residual) == (
            one.primal_residual,
            one.dual_residual,
        )
        assert (many.objective, many.bound) == (one.objective, one.bound)


@given(programs(kinds=[PotentialKind.SQUARED]))
@settings(max_examples=20, deadline=None)
def test_squared_hinges_are_relaxed_and_others_anchored(potentials: Potentials) -> None:
    relaxed = replace(TIGHT, relaxation=RELAXED).solve(potentials)
    assert TIGHT.solve(potentials).state.tobytes() == relaxed.state.tobytes()
    linear = replace(
        potentials, kind=np.full(len(potentials), PotentialKind.LINEAR, dtype=np.uint8)
    )
    anchored = replace(TIGHT, relaxation=ANCHORED).solve(linear)
    assert TIGHT.solve(linear).state.tobytes() == anchored.state.tobytes()


@pytest.mark.slow
@pytest.mark.usefixtures("every_way")
def test_a_large_linear_program_converges_to_tight_tolerances() -> None:
    potentials = synthetic(1000, squared=False)
    found = Admm(epsilon_abs=1e-8, epsilon_rel=1e-8).solve(potentials)
    assert found.status is MapStatus.CONVERGED
    assert 0 <= found.gap <= 1e-5 * found.objective


@pytest.mark.parametrize("squared", [True, False])
def test_default_tolerances_come_near_the_optimum(squared: bool) -> None:
    potentials = synthetic(500, squared)
    found, best = Admm().solve(potentials), Exact().solve(potentials)
    assert found.status is MapStatus.CONVERGED
    assert best.objective <= found.objective <= 1.02 * best.objective


def test_a_warm_start_saves_iterations() -> None:
    potentials = synthetic(2000, squared=True)
    cold = Admm().solve(potentials)
    assert Admm().solve(potentials, start=cold.state).iterations < cold.iterations


def test_progress_is_told_of_the_way() -> None:
    told = RecordedProgress()
    found = TIGHT.solve(synthetic(500, squared=True), progress=told)
    most = TIGHT.max_iterations
    assert told.reports[:2] == [("ADMM", 50, most), ("ADMM", 100, most)]
    assert told.reports[-1] == ("ADMM", found.iterations, most)


@pytest.mark.slow
@compiles
@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize("squared", [True, False])
def test_compiled_loops_and_arrays_walk_the_same_way(
    relaxation: float, squared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    potentials = synthetic(2000, squared)
    far = Admm(relaxation=relaxation, max_iterations=150, epsilon_abs=0.0, epsilon_rel=0.0)
    found = []
    for budget in (0, 100 * (len(potentials.variable) + admm.ARRAY_CALLS), 10**15):
        monkeypatch.setattr(admm, "WORTH_COMPILING", budget)
        found.append(far.solve(potentials))
    for other in found[1:]:
        np.testing.assert_allclose(other.state, found[0].state, atol=1e-12)
        assert other.bound == pytest.approx(found[0].bound, rel=1e-12)
        assert other.primal_residual == pytest.approx(found[0].primal_residual, rel=1e-9)
        assert other.dual_residual == pytest.approx(found[0].dual_residual, rel=1e-9)


@pytest.mark.slow
def test_a_small_program_is_solved_without_a_compiler() -> None:
    """What a newcomer runs first does not wait for Numba."""
    code = """
import sys
from hornbeam.base.choices import Solver
from hornbeam.hlmrf.map_inference import solve
from tests.support.random_programs import synthetic
for solver in (Solver.ADMM, Solver.AUTO):
    assert solve(synthetic(2000, squared=True), solver).solver.endswith("admm")
assert "numba" not in sys.modules, "Numba was loaded"
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_residuals_and_limits_are_those_of_boyd() -> None:
    """Section 3.3 of Boyd et al. (2011): s = rho (z - z_old), and y = rho u limits the dual."""
    rule = Admm(step=3.0, epsilon_abs=0.01, epsilon_rel=0.1)
    # of rows: |a|^2 (s - t)^2, |a|^2 t^2; of variables: what is missing in |x - z|^2, |x|^2,
    # |z|^2, |z - z_old|^2, |u|^2, |T(w) - w|^2
    found = rule.residuals(4, np.array([9.0, 5.0]), np.array([7.0, 40.0, 36.0, 25.0, 4.0, 55.0]))
    assert found == pytest.approx((4.0, 3 * 5.0, 0.02 + 0.1 * 7.0, 0.02 + 0.1 * 3 * 3.0, 8.0))
    assert not found.within_limits
    assert replace_limits(found, *found[:2]).within_limits
    assert not replace_limits(found, found.primal, found.dual - 1e-9).within_limits
    assert not replace_limits(found, found.primal - 1e-9, found.dual).within_limits


def replace_limits(residuals: Residuals, primal: float, dual: float) -> Residuals:
    return residuals._replace(primal_limit=primal, dual_limit=dual)


def test_the_iteration_limit_is_not_called_converged() -> None:
    found = replace(TIGHT, max_iterations=3).solve(synthetic(500, squared=True))
    assert (found.status, found.iterations) == (MapStatus.ITERATIONS, 3)


@pytest.mark.usefixtures("every_way")
@given(programs(kinds=[*PotentialKind, PotentialKind.AT_MOST, PotentialKind.EQUAL], feasible=False))
@settings(max_examples=60, deadline=None)
def test_never_claims_convergence_on_a_contradiction(potentials: Potentials) -> None:
    assume(len(find_conflict(potentials)))
    assert TIGHT.solve(potentials).status is MapStatus.INFEASIBLE
    # nor with tolerances that the residuals of a large program would pass
    assert Admm(epsilon_abs=1.0).solve(potentials).status is MapStatus.INFEASIBLE


def test_one_contradiction_in_a_large_program_is_seen() -> None:
    large = synthetic(20_000, squared=True)
    n = len(large.variable)
    potentials = Potentials(
        large.n_variables,
        np.concatenate([large.indptr, [n + 2, n + 4]]),
        np.concatenate([large.variable, [5, 6, 5, 6]]).astype(np.int32),
        np.concatenate([large.coefficient, [1.0, 1.0, -1.0, -1.0]]),
        np.concatenate([large.constant, [-0.5, 0.6]]),
        np.concatenate([large.weight, [0.0, 0.0]]),
        np.concatenate([large.kind, [PotentialKind.AT_MOST, PotentialKind.EQUAL]]).astype(np.uint8),
        np.concatenate([large.rule, [1, 1]]).astype(np.int32),
    )
    found = Admm().solve(potentials)
    assert found.status is MapStatus.INFEASIBLE
    assert found.violated.tolist()
    assert set(found.violated) <= {20_000, 20_001}
    with pytest.raises(InfeasibleError):
        Exact().solve(potentials.select(potentials.is_constraint))


@pytest.mark.usefixtures("every_way")
def test_an_empty_program_is_solved() -> None:
    found = Admm().solve(program(2, [], offset=1.5), start=np.array([0.3, 2.0]))
    assert found.status is MapStatus.CONVERGED
    assert found.state.tolist() == [0.3, 1.0]
    assert (found.objective, found.bound) == (1.5, 1.5)
