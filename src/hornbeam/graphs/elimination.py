"""Rows of the inverse of a sparse symmetric matrix, exactly: nodes of few links go first.

A matrix K over nodes has an entry per pair of linked nodes. Eliminating a node of pivot d adds
-k k^T / d to the rest, where k is the node's row: its neighbours become linked to each other.
While neighbours are few, that costs next to nothing. What remains is the *core*, which has links
between most of its nodes, and is inverted as a dense matrix. With K = L D L^T for the order of
elimination, and Z the inverse of the core,

    K^-1 e = L^-T (D^-1, Z) L^-1 e

for a unit vector e: L^-1 e has few entries, Z is multiplied by those in the core, and L^-T takes
one sum per eliminated node. The diagonal of the inverse is the sum of their squares over D, and of
their quadratic form with Z.

Nodes that are linked to none of each other are eliminated together, as a *level*: a few products
of sparse matrices do the work. K has positive and negative nodes (it is quasi-definite: every order
of elimination has pivots of the nodes' own signs).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack

from hornbeam.base.arrays import Floats, Integers, Ints, Singles, part_numbers, ranges
from hornbeam.base.machine import blas_threads, worker_threads

#: Maximum number of neighbours of a node that is eliminated.
MAX_NEIGHBOURS = 64
#: Fraction of the nodes that must have so few neighbours that a level is worth its products.
WORTH_A_LEVEL = 0.03
#: Rounds in which nodes are added to a level.
ROUNDS = 4
#: Maximum number of rows of a dense matrix that one thread inverts, in a fraction of a second.
MAX_ONE_THREAD = 2_000
#: Number of pairs of entries that are multiplied at a time.
PAIRS = 2_000_000


class Level(NamedTuple):
    """Eliminated nodes, their pivots, and their rows over the nodes `left`, divided by pivots."""

    nodes: Ints
    left: Ints
    pivots: Floats
    rows: sparse.csr_array


class Eliminated(NamedTuple):
    """Levels in the order of elimination, and the matrix of the core's nodes."""

    levels: list[Level]
    nodes: Ints
    core: sparse.csr_array


def eliminated(matrix: sparse.csr_array, first: Integers | None = None) -> Eliminated:
    """Eliminate nodes while they have few neighbours; with `first`, only these nodes at once."""
    nodes, levels, most = np.arange(matrix.shape[0]), list[Level](), 2
    if first is not None and len(nodes):
        level, matrix = _without(matrix, nodes, np.asarray(first))
        return Eliminated([level], level.left, matrix)
    rng = np.random.default_rng(0)
    while len(nodes):
        degree = np.diff(matrix.indptr) - 1
        enough = WORTH_A_LEVEL * len(nodes)
        while most < MAX_NEIGHBOURS and np.count_nonzero(degree <= most) < enough:
            most = min(most * 3 // 2 + 1, MAX_NEIGHBOURS)
        chosen = _unlinked(matrix, degree, most, rng)
        if len(chosen) < max(enough / 3, 1.0):
            if most == MAX_NEIGHBOURS:
                break
            most = min(most * 3 // 2 + 1, MAX_NEIGHBOURS)
            continue
        level, matrix = _without(matrix, nodes, chosen)
        levels.append(level)
        nodes = level.left
    return Eliminated(levels, nodes, matrix)


def _unlinked(matrix: sparse.csr_array, degree: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Nodes of at most `most` neighbours of which no two are linked, those of fewest first."""
    eligible = np.flatnonzero(degree <= most)
    linked = matrix[eligible][:, eligible]
    n, of, other = len(eligible), part_numbers(linked.indptr), linked.indices
    place = degree[eligible] * n + rng.permutation(n)
    open_, taken = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    kept = of != other
    for _ in range(ROUNDS):
        of, other = of[kept], other[kept]
        least = np.full(n, np.iinfo(np.int64).max)
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        if len(starts):
            least[of[starts]] = np.minimum.reduceat(place[other], starts)
        chosen = open_ & (place < least)
        taken |= chosen
        open_[chosen] = False
        open_[of[chosen[other]]] = False
        if not open_.any():
            break
        kept = open_[of] & open_[other]
    found: Ints = eligible[taken]
    return found


def _without(
    matrix: sparse.csr_array, nodes: Ints, chosen: Integers
) -> tuple[Level, sparse.csr_array]:
    """Eliminate the chosen rows of a matrix over `nodes`, no two of which are linked."""
    is_left = np.ones(len(nodes), dtype=np.bool_)
    is_left[chosen] = False
    left = np.flatnonzero(is_left)
    pivots = matrix.diagonal()[chosen]
    across = matrix[chosen][:, left]
    rows = across.copy()
    rows.data /= np.repeat(pivots, np.diff(rows.indptr))
    rest = (matrix[left][:, left] - across.T.tocsr() @ rows).tocsr()
    rest.sort_indices()
    return Level(nodes[chosen], nodes[left], pivots, rows), rest


# --- the core -------------------------------------------------------------------------------------


def inverted_in_place(matrix: Singles) -> Singles:
    """The inverse by Cholesky's factorisation, in place; only the upper triangle is used."""
    n = len(matrix)
    if not n:
        return matrix
    # LAPACK works in place on column order: the transpose's lower triangle is the upper one
    factor, problem = lapack.spotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    inverse, further = lapack.spotri(factor, lower=1, overwrite_c=1)
    assert (problem, further) == (0, 0), "a positive definite matrix has a factor"
    return _both_triangles(inverse.T)


def _both_triangles(upper: Singles) -> Singles:
    """Copy the upper triangle to the lower one, in place."""
    n = len(upper)
    for start in range(0, n, 1024):
        stop = min(start + 1024, n)
        block = upper[start:stop, start:stop]
        block[:] = np.triu(block) + np.triu(block, 1).T
        upper[stop:, start:stop] = upper[start:stop, stop:].T
    return upper


def inverted_core(core: sparse.csr_array, n_positive: int) -> Singles:
    """Inverse of a dense core, whose first `n_positive` nodes are positive, the others negative.

    With the blocks P, R and -Q, the inverse of the positive nodes is that of P + R Q^-1 R^T.
    """
    n, n_negative = core.shape[0], core.shape[0] - n_positive
    with blas_threads(1 if n <= MAX_ONE_THREAD else worker_threads()):
        positive = core[:n_positive, :n_positive].astype(np.float32).toarray()
        if not n_negative:
            return inverted_in_place(positive)
        across = core[n_positive:, :n_positive].astype(np.float32).toarray(order="F")
        negative = (-core[n_positive:, n_positive:]).astype(np.float32).toarray(order="F")
        factor, problem = lapack.spotrf(negative, lower=1, overwrite_a=1, clean=0)
        assert problem == 0, "the negative nodes are definite"
        half = blas.strsm(1.0, factor, across, lower=1, overwrite_b=1)
        if n_positive:
            # the transpose of the upper triangle is a lower one, in column order
            total = blas.ssyrk(1.0, half, 1.0, positive.T, trans=1, lower=1, overwrite_c=1)
            positive = inverted_in_place(total.T)
        solved = blas.strsm(1.0, factor, half, lower=1, trans_a=1, overwrite_b=1)
        inverse = np.empty((n, n), dtype=np.float32)
        inverse[:n_positive, :n_positive] = positive
        between = solved @ positive
        del positive
        inverse[n_positive:, :n_positive] = between
        inverse[:n_positive, n_positive:] = between.T
        own, _ = lapack.spotri(factor, lower=1, overwrite_c=1)
        corner = inverse[n_positive:, n_positive:]
        corner[:] = between @ solved.T
        corner -= _both_triangles(own.T)
        # equal on both sides to the last bit
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
    return inverse


# --- rows of the inverse --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SparseInverse:
    """The inverse K^-1, ready to give rows of it over the `wanted` first nodes.

    Places are those in the order of elimination, the core's nodes last.

    Attributes
    ----------
    n_wanted
        Rows have the first `n_wanted` nodes of K.
    pivots
        Pivots of the eliminated nodes, by place.
    forward
        L^-1 e for the unit vector of every node, as rows over places.
    inverse
        Z, the inverse of the core.
    """

    n_wanted: int
    levels: list[Level]
    place: Ints
    pivots: Floats
    forward: sparse.csr_array
    inverse: Singles

    @classmethod
    def of(cls, parts: Eliminated, n_positive: int) -> SparseInverse:
        """Invert the core; the first `n_positive` nodes are positive, and wanted in rows."""
        by_sign = np.argsort(parts.nodes >= n_positive, kind="stable")
        nodes = parts.nodes[by_sign]
        core = parts.core[by_sign][:, by_sign]
        inverse = inverted_core(core, int(np.count_nonzero(nodes < n_positive)))
        order = np.concatenate([*(level.nodes for level in parts.levels), nodes])
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        forward = sparse.eye_array(len(nodes), format="csr")
        pivots = [level.pivots for level in parts.levels]
        start = len(order) - len(nodes)
        for level in reversed(parts.levels):
            rows = _renumbered(level.rows, place[level.left] - start)
            forward = _on_top(-(rows @ forward), forward)
            start -= len(level.nodes)
        return cls(
            n_positive, parts.levels, place, np.concatenate([*pivots, np.empty(0)]),
            forward[place].tocsr(), inverse,
        )  # fmt: skip

    @property
    def n_eliminated(self) -> int:
        """Number of eliminated nodes: the place of the core's first node."""
        return len(self.pivots)

    @cached_property
    def _into_core(self) -> sparse.csr_array:
        """Entries of `forward` in the core."""
        return self.forward[:, self.n_eliminated :].tocsr().astype(np.float32)

    @cached_property
    def _outside(self) -> sparse.csr_array:
        """Entries of `forward` outside of the core, divided by pivots."""
        outside = self.forward[:, : self.n_eliminated].tocsr()
        outside.data = outside.data / self.pivots[outside.indices]
        return outside

    @cached_property
    def _backward(self) -> tuple[Ints, list[tuple[Ints, sparse.csr_array]]]:
        """Places that rows need, ascending; per level its needed nodes as rows over later ones."""
        needed = np.zeros(len(self.place), dtype=np.bool_)
        needed[self.place[: self.n_wanted]] = True
        needed[self.n_eliminated :] = True
        start, rows = 0, list[sparse.csr_array]()
        for level in self.levels:
            kept = needed[start : start + len(level.nodes)]
            rows.append(level.rows[np.flatnonzero(kept)])
            needed[self.place[level.left[rows[-1].indices]]] = True
            start += len(level.nodes)
        number = np.cumsum(needed) - 1
        steps, start = list[tuple[Ints, sparse.csr_array]](), 0
        for level, kept_rows in zip(self.levels, rows, strict=True):
            stop = start + kept_rows.shape[0]
            columns = number[self.place[level.left]] - stop
            width = int(np.count_nonzero(needed)) - stop
            narrow = _renumbered(kept_rows, columns, width).astype(np.float32)
            steps.append((np.array([start, stop]), narrow))
            start = stop
        return np.flatnonzero(needed), steps

    def prepare(self) -> None:
        """Compute what all rows share, once, before several threads need it."""
        _ = self._into_core, self._outside, self._backward

    def rows(self, nodes: Integers) -> Singles:
        """Rows of the inverse over the first `n_wanted` nodes."""
        needed, steps = self._backward
        core = self._into_core[nodes] @ self.inverse
        n_core = self.inverse.shape[0]
        if len(needed) == n_core:
            return np.ascontiguousarray(core[:, self.place[: self.n_wanted] - self.n_eliminated])
        values = np.zeros((len(needed), len(nodes)), dtype=np.float32)
        values[len(needed) - n_core :] = core.T
        outside = self._outside[nodes].tocoo()
        at = np.searchsorted(needed, outside.col)
        kept = needed[np.minimum(at, len(needed) - 1)] == outside.col
        values[at[kept], outside.row[kept]] = outside.data[kept]
        for (start, stop), rows in reversed(steps):
            if stop > start:
                values[start:stop] -= rows @ values[stop:]
        at = np.searchsorted(needed, self.place[: self.n_wanted])
        return np.ascontiguousarray(values[at].T)

    def diagonal(self) -> Floats:
        """Diagonal of the inverse, for every node."""
        outside = self.forward[:, : self.n_eliminated].tocsr()
        outside.data = outside.data**2 / self.pivots[outside.indices]
        return np.asarray(outside.sum(axis=1)).ravel() + self._quadratic()

    def _quadratic(self) -> Floats:
        """f^T Z f for the entries f of every node's `forward` in the core."""
        into = self._into_core
        total = np.zeros(into.shape[0])
        sizes = np.diff(into.indptr).astype(np.int64)
        ends = np.cumsum(sizes**2)
        start = 0
        while start < len(sizes):
            before = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, before + PAIRS, side="right")), start + 1)
            low, high = into.indptr[start], into.indptr[stop]
            entry = np.repeat(np.arange(low, high), np.repeat(sizes[start:stop], sizes[start:stop]))
            of = np.repeat(np.arange(start, stop), sizes[start:stop] ** 2)
            other = ranges(
                np.repeat(into.indptr[start:stop], sizes[start:stop]),
                np.repeat(into.indptr[start + 1 : stop + 1], sizes[start:stop]),
            )
            product = into.data[entry].astype(np.float64) * into.data[other]
            product *= self.inverse[into.indices[entry], into.indices[other]]
            total[start:stop] = np.bincount(of - start, product, stop - start)
            start = stop
        return total


def _renumbered(
    rows: sparse.csr_array, columns: Ints, width: int | None = None
) -> sparse.csr_array:
    """The same rows, with `columns[j]` in place of the column j."""
    shape = (rows.shape[0], rows.shape[1] if width is None else width)
    return sparse.csr_array(
        (rows.data, columns[rows.indices].astype(np.int32), rows.indptr), shape=shape
    )


def _on_top(rows: sparse.csr_array, below: sparse.csr_array) -> sparse.csr_array:
    """The matrix of a unit matrix beside `rows`, and below both zeros and `below`."""
    n, more = rows.shape
    unit = np.arange(n)
    place = rows.indptr[:-1] + unit  # the unit's entry comes first in its row
    size = rows.nnz + n
    data, indices = np.empty(size), np.empty(size, dtype=np.int32)
    is_unit = np.zeros(size, dtype=np.bool_)
    is_unit[place] = True
    data[is_unit], indices[is_unit] = 1.0, unit
    data[~is_unit], indices[~is_unit] = rows.data, rows.indices + n
    indptr = np.concatenate([rows.indptr + np.arange(n + 1), size + below.indptr[1:]])
    return sparse.csr_array(
        (np.concatenate([data, below.data]), np.concatenate([indices, below.indices + n]), indptr),
        shape=(n + more, n + more),
    )
