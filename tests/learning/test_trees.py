"""Trees split where the gain is largest, and become clauses without loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.base.arrays import Floats, Ids
from hornbeam.learning.boosted_columns import polynomial
from hornbeam.learning.trees import CUTS, Binned, Booster, best_splits, tree_values
from tests.support.kernels import both_ways, kernels_are

SEEDS = st.integers(0, 2**32 - 1)


def random_columns(rng: np.random.Generator, n_rows: int, n: int) -> list[tuple[Ids, Floats]]:
    columns = []
    for _ in range(n):
        x = rng.poisson(rng.choice([0.3, 1.0, 20.0]), n_rows)
        rows = np.flatnonzero(x).astype(np.int32)
        columns.append((rows, x[rows].astype(np.float64)))
    return columns


def dense_bins(binned: Binned) -> np.ndarray:
    table = np.zeros((binned.n_rows, len(binned.cuts)), dtype=np.int64)
    for j in range(len(binned.cuts)):
        part = slice(int(binned.indptr[j]), int(binned.indptr[j + 1]))
        table[binned.row[part], j] = binned.bin[part]
    return table


@given(SEEDS)
def test_bins_say_how_many_cuts_are_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 40, 4)
    binned = Binned.of(columns, 40)
    bins = dense_bins(binned)
    for j, (rows, x) in enumerate(columns):
        cuts = binned.cuts[j]
        assert len(cuts) <= CUTS
        assert set(cuts) <= set(x), "a cut is a value, so that whole numbers stay whole"
        assert (np.diff(cuts) > 0).all()
        assert not len(x) or cuts[0] == x.min()
        values = np.zeros(40)
        values[rows] = x
        assert (bins[:, j] == (values[:, None] >= cuts).sum(axis=1)).all()
    some = rng.random(40) < 0.5
    assert (dense_bins(binned.subset(some)) == bins[some]).all()


def split_by_trying(
    bins: np.ndarray, rows: np.ndarray, gradient: Floats, curvature: Floats, least: int
) -> float:
    """The largest gain of all splits of some rows; 0 where none is allowed or gains."""

    def term(part: np.ndarray) -> float:
        return float(gradient[part].sum() ** 2 / (curvature[part].sum() + 3.0))

    best = 0.0
    for j in range(bins.shape[1]):
        for cut in range(1, CUTS + 1):
            above = rows & (bins[:, j] >= cut)
            below = rows & ~above
            if min(above.sum(), below.sum()) >= least:
                best = max(best, term(above) + term(below) - term(rows))
    return best


@both_ways
@settings(max_examples=20)
@given(seed=SEEDS, least=st.integers(1, 6))
def test_the_best_split_is_that_of_trying_all(compiled: bool, seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    binned = Binned.of(random_columns(rng, 30, 5), 30)
    bins = dense_bins(binned)
    gradient, curvature = rng.normal(size=30), rng.uniform(0.01, 0.25, 30)
    node = rng.integers(2, 7, 30)  # three and four, five and six; some rows stayed in leaf two
    chosen = np.sort(rng.permutation(5)[:3])
    run = best_splits.compiled if compiled else best_splits.interpreted
    columns, cuts = run(
        binned.indptr, binned.row, binned.bin, chosen, node, gradient, curvature,
        3, 4, 3.0, least, CUTS + 1,
    )  # fmt: skip
    for k in range(4):
        rows = node == 3 + k
        best = split_by_trying(bins[:, chosen], rows, gradient, curvature, least)
        if columns[k] < 0:
            assert best <= 1e-9
            continue
        assert columns[k] in chosen
        only = np.minimum(bins[:, [columns[k]]] >= cuts[k], 1)
        found = split_by_trying(only, rows, gradient, curvature, least)
        assert found == pytest.approx(best, rel=1e-9)


@given(SEEDS)
def test_interpreted_and_compiled_splits_are_the_same_bytes(seed: int) -> None:
    trees = []
    for compiled in (False, True):
        rng = np.random.default_rng(seed)
        binned = Binned.of(random_columns(rng, 60, 6), 60)
        gradient, curvature = rng.normal(size=60), rng.uniform(0.01, 0.25, 60)
        with kernels_are(compiled):
            tree, value = Booster(least=2).grow(binned, gradient, curvature, rng)
        trees.append([tree.column, tree.cut, tree.value, value])
    for one, other in zip(*trees, strict=True):
        assert one.tobytes() == other.tobytes()


@given(SEEDS)
def test_a_tree_is_the_sum_of_its_monomials(seed: int) -> None:
    rng = np.random.default_rng(seed)
    binned = Binned.of(random_columns(rng, 60, 4), 60)
    bins = dense_bins(binned)
    booster = Booster(least=2, columns=1.0)
    grown = [
        booster.grow(binned, rng.normal(size=60), rng.uniform(0.01, 0.25, 60), rng)
        for _ in range(3)
    ]
    total = np.zeros(60)
    for monomial, weight in polynomial(tree for tree, _ in grown).items():
        assert len({column for column, _ in monomial}) == len(monomial) <= booster.depth
        met = np.ones(60, dtype=bool)
        for column, cut in monomial:
            met &= bins[:, column] >= cut
        total += weight * met
    np.testing.assert_allclose(total, sum(value for _, value in grown), atol=1e-12)
    for tree, value in grown:
        np.testing.assert_array_equal(tree_values(binned, tree), value)


def test_leaves_have_the_value_of_a_newton_step() -> None:
    rng = np.random.default_rng(0)
    binned = Binned.of(random_columns(rng, 60, 4), 60)
    gradient, curvature = rng.normal(size=60), rng.uniform(0.01, 0.25, 60)
    tree, value = Booster(least=3, columns=1.0).grow(binned, gradient, curvature, rng)
    assert tree.column[0] >= 0
    for leaf in np.unique(value):
        rows = value == leaf
        assert rows.sum() >= 3
        step = -0.08 * gradient[rows].sum() / (curvature[rows].sum() + 3.0)
        assert leaf == pytest.approx(step, rel=1e-12)
