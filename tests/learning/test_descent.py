"""Arrays and compiled loops add up the same sums in the same order: not a bit differs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.choices import Relaxation
from hornbeam.learning import descent, descent_kernels
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.descent import ClauseLayout
from hornbeam.learning.joint import Joint
from hornbeam.rules.weighing import Counts
from tests.support.kernels import kernels_are
from tests.support.problems import labels_of, statistics_of

Floats = npt.NDArray[np.float64]


def random_layout(rng: np.random.Generator, sides: int) -> ClauseLayout:
    """Clauses with columns on no, one or several sides, some of them without entries."""
    n_targets, n_columns, n_clauses = rng.integers(1, [40, 8, 12])
    columns = rng.integers(-1, n_columns, size=(sides, n_clauses))
    kind = rng.integers(3)
    if kind > 0:  # as without collective learning: one side per clause
        columns[rng.integers(sides, size=n_clauses), np.arange(n_clauses)] = -1
    if kind > 1:  # as with negations: a clause and the next one share a column
        columns[:] = -1
        columns[np.arange(n_clauses) % 2, np.arange(n_clauses)] = np.repeat(
            rng.integers(n_columns, size=n_clauses), 2
        )[:n_clauses]
    rows = [
        np.flatnonzero(rng.random(n_targets) < rng.random()).astype(np.int32)
        for _ in range(n_columns)
    ]
    indptr = np.cumsum([0, *map(len, rows)])
    x = np.log2(1.0 + rng.integers(1, 100, size=indptr[-1]))
    return ClauseLayout(indptr, np.concatenate(rows), x, columns, int(n_targets))


def assert_same(one: Sequence[npt.ArrayLike], other: Sequence[npt.ArrayLike]) -> None:
    for a, b in zip(one, other, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@given(st.integers(0, 2**32), st.integers(2, 3))
def test_arrays_and_loops_give_the_same_bytes(seed: int, sides: int) -> None:
    rng = np.random.default_rng(seed)
    layout = random_layout(rng, sides)
    n, k = layout.n_targets, layout.columns.shape[1]
    weights = np.where(rng.random(k) < 0.6, rng.random(k), 0.0)
    linear = rng.random(size=(k,))
    ridge = np.where(rng.random(k) < 0.8, rng.random(k), 0.0)
    slopes = rng.normal(size=(sides, n))
    roots = rng.normal(size=(sides, sides, n))
    curves = np.einsum("abn,cbn->acn", roots, roots)
    active = np.flatnonzero(rng.random(k) < 0.8)
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            gradient, hessian = descent.quadratic(layout, active, slopes, curves)
            steep = hessian + np.eye(len(active))
            found.append(
                [
                    descent.gradients(layout, slopes),
                    descent.strengths(layout, weights),
                    *descent.descend(layout, active, weights, linear, ridge, slopes, curves, 5),
                    gradient,
                    hessian,
                    descent.minimise_model(gradient, steep, weights[active]),
                ]
            )
    assert_same(*found)


@pytest.mark.parametrize("relaxation", Relaxation)
def test_a_whole_fit_gives_the_same_bytes(relaxation: Relaxation) -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.7, size=(60, 6))
    labels = labels_of((rng.random(60) < 0.4).astype(float))
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            problem = CountProblem.of(statistics_of(counts), labels, (Counts.LOG,), relaxation)
            fit = Joint(strengths=8).fit(problem, 0.5)
            found.append([fit.weights, np.array([fit.loss]), problem.score(fit.weights)])
    assert_same(*found)


def test_steps_of_next_to_nothing_overflow_nowhere() -> None:
    # columns that nearly repeat each other, and one that they hardly touch: its step is 1e-310
    rng = np.random.default_rng(0)
    for _ in range(100):
        roots = rng.normal(size=(6, 2))
        hessian = roots @ roots.T + 1e-7 * np.eye(6)
        hessian[-1], hessian[:, -1] = 0.0, 0.0
        hessian[0, -1] = hessian[-1, 0] = 10.0 ** -rng.uniform(300, 318)
        hessian[-1, -1] = 1.0
        gradient = np.append(rng.normal(size=5), 0.0) * 0.01
        weights = rng.random(6)
        found = descent.minimise_model(gradient, hessian, weights)  # a warning is an error here
        moved = found - weights
        assert found.min() >= 0.0
        assert gradient @ moved + moved @ hessian @ moved / 2 <= 0.0


def test_the_rest_of_a_model_that_crawls_is_solved_to_the_same_bytes() -> None:
    """Columns that nearly repeat each other: descent does not come to rest in its sweeps."""
    rng = np.random.default_rng(1)
    hessian = np.ones((12, 12)) + 1e-4 * np.eye(12)
    moves = rng.normal(size=12) / 10
    moves -= moves.mean()
    gradient, weights = -hessian @ moves, np.ones(12)
    *_, converged = descent_kernels.descend_model.interpreted(
        gradient, hessian, weights, descent.SWEEPS, descent.MIN_GAIN_SHARE
    )
    assert not converged
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            found.append([descent.minimise_model(gradient, hessian, weights)])
    assert_same(*found)
    assert found[0][0] == pytest.approx(weights + moves, abs=1e-9)
