"""Newton boosting of small trees on binned columns.

A column is cut at up to eight of its values. An entry then becomes a small integer, the number of
cuts that it reaches. Every tree greedily lowers the second-order model of the log-loss. A leaf
with gradient G and curvature H has the value -G / (H + l), and a split gains

    G_left^2 / (H_left + l) + G_right^2 / (H_right + l) - G^2 / (H + l).

Most entries are 0; only the other entries are stored and visited.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, pointers
from hornbeam.base.compiled import kernels

kernel = kernels("boosting")

#: Maximum number of cuts of a column.
CUTS = 8
#: Relative distance by which an entry may be below a cut and still reach it: equal shares differ
#: in their last digits if they are added up in another order.
SLACK = 1e-7
#: Number of visited entries above which compiling pays.
WORTH_COMPILING = 300_000


@dataclass(frozen=True, eq=False)
class Binned:
    """Columns of bins: column j has the entries `bin[indptr[j]:indptr[j+1]]` at the rows `row`.

    An entry of bin k reaches the first k of the column's `cuts`; bin 0 is not stored.
    """

    indptr: Ints
    row: Ids
    bin: Ids
    cuts: tuple[Floats, ...]
    n_rows: int

    @classmethod
    def of(cls, columns: Sequence[tuple[Ids, Floats]], n_rows: int) -> Binned:
        """Choose the cuts of columns (rows, entries above 0), and replace the entries by bins."""
        cuts = tuple(_cuts(x) for _, x in columns)
        bins = [
            np.searchsorted(bounds_of(c), x, side="left")
            for c, (_, x) in zip(cuts, columns, strict=True)
        ]
        none = np.empty(0, dtype=np.int32)
        indptr = pointers([len(rows) for rows, _ in columns])
        row = np.concatenate([none, *(rows for rows, _ in columns)]).astype(np.int32)
        return cls(indptr, row, np.concatenate([none, *bins]).astype(np.int32), cuts, n_rows)

    def subset(self, rows: Bools) -> Binned:
        """Keep only the rows where `rows` is True (renumbered); the cuts stay."""
        place, keep = np.cumsum(rows) - 1, rows[self.row]
        return Binned(
            pointers(keep)[self.indptr],
            place[self.row[keep]].astype(np.int32),
            self.bin[keep],
            self.cuts,
            int(rows.sum()),
        )


def _cuts(x: Floats) -> Floats:
    """The cuts of a column: its least entry, which every entry reaches, and quantiles above it."""
    if not len(x):
        return np.empty(0)
    quantiles = np.quantile(x, np.arange(1, CUTS) / CUTS, method="higher")
    cuts = np.unique(np.append(x.min(), quantiles))
    return np.asarray(cuts[np.append(True, bounds_of(cuts[1:]) > cuts[:-1])])


def bounds_of(cuts: Floats) -> Floats:
    """The bound that an entry must exceed to reach each cut."""
    return np.asarray(cuts * (1.0 - SLACK))


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree level by level: node k splits into 2k + 1 (below the cut) and 2k + 2 (from it on).

    `column` is -1 for leaves. `value` is 0 for nodes without rows.
    """

    column: Ints
    cut: Ints
    value: Floats


@dataclass(frozen=True)
class Booster:
    """Settings of how trees grow; see the text of the module."""

    rate: float = 0.08  #: learning rate: the fraction of a tree's values that is added
    ridge: float = 3.0  #: the l of the formulas above
    least: int = 8  #: minimum number of rows of a leaf
    columns: float = 0.4  #: fraction of the columns that a tree may use
    depth: int = 3  #: maximum number of conditions of a leaf

    def grow(
        self,
        binned: Binned,
        gradient: Floats,
        curvature: Floats,
        rng: np.random.Generator,
    ) -> tuple[Tree, Floats]:
        """Grow one tree; returns the tree and its value for every row."""
        n_columns = len(binned.cuts)
        wanted = max(1, round(self.columns * n_columns))
        chosen = np.sort(rng.permutation(n_columns)[:wanted])
        n_nodes = 2 ** (self.depth + 1) - 1
        column, cut = np.full(n_nodes, -1), np.zeros(n_nodes, dtype=np.int64)
        node = np.zeros(binned.n_rows, dtype=np.int64)
        size = int((binned.indptr[chosen + 1] - binned.indptr[chosen]).sum())
        run = best_splits.choose(size, WORTH_COMPILING)
        for level in range(self.depth):
            first = 2**level - 1
            best = run(
                binned.indptr, binned.row, binned.bin, chosen, node, gradient, curvature,
                first, 2**level, self.ridge, self.least, CUTS + 1,
            )  # fmt: skip
            split = best[0] >= 0
            if not split.any():
                break
            column[first : first + 2**level] = best[0]
            cut[first : first + 2**level] = best[1]
            node = _moved(binned, node, column, cut)
        total = np.bincount(node, gradient, n_nodes)
        heavy = np.bincount(node, curvature, n_nodes)
        value = -self.rate * total / (heavy + self.ridge)
        return Tree(column, cut, value), value[node]


def tree_values(binned: Binned, tree: Tree) -> Floats:
    """Value of a tree for every row."""
    node = np.zeros(binned.n_rows, dtype=np.int64)
    for _ in range((len(tree.column) + 1).bit_length() - 2):
        node = _moved(binned, node, tree.column, tree.cut)
    return tree.value[node]


def _moved(binned: Binned, node: Ints, column: Ints, cut: Ints) -> Ints:
    """The node of every row one level further down; rows in leaves stay there."""
    moved = np.where(column[node] >= 0, 2 * node + 1, node)
    for parent in np.unique(node[column[node] >= 0]).tolist():
        j = column[parent]
        entries = slice(int(binned.indptr[j]), int(binned.indptr[j + 1]))
        reached = binned.row[entries][binned.bin[entries] >= cut[parent]]
        right = reached[node[reached] == parent]
        moved[right] = 2 * parent + 2
    return moved


@kernel
def best_splits(
    indptr, row, bins, chosen, node, gradient, curvature, first, n_nodes, ridge, least, n_bins
):
    """Find the column (-1 for none) and the cut of the best split of every node of a level."""
    total = np.zeros((3, n_nodes))
    for i in range(len(node)):
        k = node[i] - first
        if k >= 0:
            total[0, k] += gradient[i]
            total[1, k] += curvature[i]
            total[2, k] += 1.0
    best = np.zeros((2, n_nodes), dtype=np.int64)
    best[0] = -1
    gains = np.full(n_nodes, 1e-9)
    sums = np.zeros((3, n_nodes, n_bins + 1))
    for c in range(len(chosen)):
        j = chosen[c]
        for k in range(n_nodes):  # by loops: Numba is slower at clearing a whole array
            for b in range(n_bins + 1):
                sums[0, k, b] = sums[1, k, b] = sums[2, k, b] = 0.0
        for entry in range(indptr[j], indptr[j + 1]):
            i = row[entry]
            k = node[i] - first
            if k >= 0:
                b = bins[entry]
                sums[0, k, b] += gradient[i]
                sums[1, k, b] += curvature[i]
                sums[2, k, b] += 1.0
        for k in range(n_nodes):
            whole = total[0, k] * total[0, k] / (total[1, k] + ridge)
            g, h, n = 0.0, 0.0, 0.0
            for b in range(n_bins, 0, -1):
                if sums[2, k, b] == 0.0:
                    continue
                g += sums[0, k, b]
                h += sums[1, k, b]
                n += sums[2, k, b]
                if n < least or total[2, k] - n < least:
                    continue
                rest, flat = total[0, k] - g, total[1, k] - h
                gain = g * g / (h + ridge) + rest * rest / (flat + ridge) - whole
                if gain > gains[k]:
                    gains[k] = gain
                    best[0, k] = j
                    best[1, k] = b
    return best
