"""The sparse inverse behind the ridge, against dense inverses and against the whole matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hornbeam.base.arrays import Floats
from hornbeam.graphs import elimination, ridge
from hornbeam.graphs.elimination import SparseInverse, eliminated, inverted_core
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.ridge import Ridge, fitted_ridge


def quasi_definite(seed: int, n_positive: int, n_negative: int) -> Floats:
    """A random matrix (P R; R^T -Q) with positive definite P and Q, most of its entries zero."""
    rng = np.random.default_rng(seed)
    n = n_positive + n_negative
    matrix = np.zeros((n, n))
    matrix[:n_positive, n_positive:] = rng.normal(size=(n_positive, n_negative)) * (
        rng.random((n_positive, n_negative)) < 0.2
    )
    matrix += matrix.T
    signs = np.where(np.arange(n) < n_positive, 1.0, -1.0)
    return matrix + np.diag(signs * rng.uniform(1, 3, n))


def random_graph(seed: int, n: int, links: int) -> LinkedGraph:
    """A graph of three relations whose first entities have many links."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=links), (rng.random(links) ** 3 * n).astype(int)
    columns = np.unique(np.stack([ends[0], rng.integers(3, size=links), ends[1]]), axis=1)
    return LinkedGraph(n, 3, *columns.astype(np.int32))


@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(0, 25), st.integers(1, 64))
def test_rows_and_diagonal_are_those_of_the_inverse(
    seed: int, n_positive: int, n_negative: int, most: int
) -> None:
    whole = quasi_definite(seed, n_positive, n_negative)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "MAX_NEIGHBOURS", most)  # few neighbours: a larger core
        parts = eliminated(csr_array(whole))
    inverse, expected = SparseInverse.of(parts, n_positive), np.linalg.inv(whole)
    assert sorted([*np.concatenate([parts.nodes, *(level.nodes for level in parts.levels)])]) == [
        *range(len(whole))
    ]
    nodes = np.random.default_rng(seed).permutation(len(whole))
    found = inverse.rows(nodes)
    assert np.allclose(found, expected[nodes][:, :n_positive], rtol=0, atol=2e-5)
    assert inverse.diagonal() == pytest.approx(np.diag(expected), abs=2e-5)


@given(st.integers(0, 10_000), st.integers(0, 30), st.integers(0, 30))
def test_a_core_of_both_signs_is_inverted(seed: int, n_positive: int, n_negative: int) -> None:
    whole = quasi_definite(seed, n_positive, n_negative)
    found = inverted_core(csr_array(whole), n_positive)
    assert np.allclose(found, np.linalg.inv(whole), rtol=0, atol=2e-5)
    assert np.array_equal(found, found.T)


def test_eliminating_and_inverting_the_whole_score_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(0, 700, 3_000)
    whole = Ridge.fit(graph, 20.0)
    monkeypatch.setattr(ridge, "MAX_WHOLE", 0)
    sparse = Ridge.fit(graph, 20.0)
    assert len(sparse.inverse.inverse) < 400 <= len(whole.inverse.inverse)
    assert sparse.denominators == pytest.approx(whole.denominators, abs=1e-5)
    for step in range(2, graph.step_limit):
        sources = graph.holders(step)
        for found, expected in zip(
            sparse.scores(step, sources), whole.scores(step, sources), strict=True
        ):
            assert np.allclose(found, expected, rtol=0, atol=1e-6)
        # a query's scores do not depend on which queries are asked with it
        alone = sparse.scores(step, sources[:1])
        assert alone[0].tobytes() == sparse.scores(step, sources)[0][:1].tobytes()


def test_a_graph_too_dense_to_invert_has_no_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridge, "MAX_WHOLE", 0)
    monkeypatch.setattr(ridge, "MAX_CORE", 50)
    assert fitted_ridge(random_graph(0, 700, 3_000), 20.0) is None
    few = random_graph(0, 700, 300)
    found = fitted_ridge(few, 20.0)
    assert found is not None
    assert found is fitted_ridge(few, 20.0)
    monkeypatch.setattr(ridge, "MAX_NODES", 100)
    assert fitted_ridge(random_graph(1, 700, 300), 20.0) is None
