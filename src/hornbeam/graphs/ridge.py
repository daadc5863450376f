"""Constants fitted together: a linear autoencoder with zero diagonal, in closed form.

X is the 0/1 matrix of entities by properties (s, d), and every rule t(X, c) <- s(X, d) has a signed
weight. Weights B predict every property from all others, with penalty l |B|^2 and B_jj = 0. They
are B = I - P diag(P)^-1 with P = (X^T X + l I)^-1 (EASE; Steck, 2019). There are more properties
than entities, so with A = (X X^T + l I)^-1 and Woodbury's identity

    X P = A X,    P_jj = (1 - x_j^T A x_j) / l,

and the score of t(a, c), j = (t, c), where a lacks j, is

    -(A X)_aj / P_jj = -l sum over x with t(x, c) of A_ax / (1 - x_j^T A x_j).

The backward score is the same with the row of c and the property (inverse t, a). The penalty l is
the value by which the ridge alone ranks hidden links best, or the default in large graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from hornbeam.base.arrays import Floats, Integers, Singles, part_numbers, pointers, ranges
from hornbeam.base.machine import blas_threads, worker_threads
from hornbeam.graphs.constant_kernels import add_quadratic, add_shared
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.linked_graph import WORTH_COMPILING, LinkedGraph
from hornbeam.graphs.softmax import reciprocal_ranks
from hornbeam.rules.codes import inverse_code

#: Maximum number of entities whose matrix is held in memory.
MAX_ENTITIES = 20_000
#: Maximum number of entities whose matrix one thread inverts, in a fraction of a second.
MAX_ONE_THREAD = 2_000
#: Number of candidates that the ridge proposes per query.
PROPOSED = 50
#: The penalty of graphs where trying several would take too long, and the penalties to choose from.
DEFAULT_PENALTY = 40.0
PENALTIES = (DEFAULT_PENALTY, 20.0, 60.0)
#: Maximum number of entities for which all penalties are tried: inversion takes cubic time.
MAX_ENTITIES_TO_CHOOSE = 5_000
#: Number of hidden links per relation that penalties are compared by.
LINKS_PER_RELATION = 50


def inverted_in_place(gram: Singles, penalty: float) -> Singles:
    """(G + l I)^-1 by Cholesky's factorisation, in place; only the upper triangle of G is used."""
    n = len(gram)
    gram[np.arange(n), np.arange(n)] += penalty
    with blas_threads(1 if n <= MAX_ONE_THREAD else worker_threads()):
        # LAPACK works in place on column order: the transpose's lower triangle is G's upper
        factor, problem = lapack.spotrf(gram.T, lower=1, overwrite_a=1, clean=0)
        inverse, further = lapack.spotri(factor, lower=1, overwrite_c=1)
    assert (problem, further) == (0, 0), "a positive definite matrix has a factor"
    both: Singles = inverse.T  # the upper triangle, by rows
    for start in range(0, n, 1024):
        stop = min(start + 1024, n)
        block = both[start:stop, start:stop]
        block[:] = np.triu(block) + np.triu(block, 1).T
        both[stop:, start:stop] = both[start:stop, stop:].T
    return both


@dataclass(frozen=True, eq=False)
class Ridge:
    """The inverse A of a graph, ready to score; the denominators are 1 - x^T A x per property."""

    graph: LinkedGraph
    inverse: Singles
    denominators: Floats

    @classmethod
    def fit(cls, graph: LinkedGraph, penalty: float) -> Ridge:
        """Invert the Gram matrix of a graph."""
        start, end = graph.links.run_start, graph.links.end
        # the upper triangle of X X^T: the number of properties that any two entities share.
        gram = np.zeros((graph.n_entities, graph.n_entities), dtype=np.float32)
        add_shared.for_size(len(graph), WORTH_COMPILING)(start, end, gram)
        inverse = inverted_in_place(gram, penalty)
        quadratic = np.zeros(len(start) - 1)
        add_quadratic.for_size(len(graph), WORTH_COMPILING)(start, end, inverse, quadratic)
        return cls(graph, inverse, np.maximum(1.0 - quadratic, 1e-6))

    def scores(self, step: int, sources: Integers) -> tuple[Singles, Singles]:
        """Scores forward and backward of all entities as answers of the sources' queries."""
        graph = self.graph
        forward = np.zeros((len(sources), graph.n_entities), dtype=np.float32)
        inverse = inverse_code(step)  # the property (step, c) is the run of c along it
        answers = self._columns(graph.runs_along(inverse))
        forward[:, graph.holders(inverse)] = (answers @ self.inverse[sources].T).T
        backward = np.zeros_like(forward)
        runs = graph.run_of(sources, step)
        found = np.flatnonzero(runs >= 0)
        backward[found] = self._columns(runs[found]) @ self.inverse
        return forward, backward

    def _columns(self, runs: Integers) -> sparse.csr_array:
        """The columns of properties in X, one per row, divided by -(1 - x^T A x)."""
        links = self.graph.links
        low, high = links.run_start[runs], links.run_start[runs + 1]
        weight = np.repeat(-1.0 / self.denominators[runs], high - low).astype(np.float32)
        shape = (len(runs), self.graph.n_entities)
        return sparse.csr_array(
            (weight, links.end[ranges(low, high)], pointers(high - low)), shape=shape
        )


def choose_penalty(graph: LinkedGraph, queries: QueriesByStep) -> float:
    """The penalty with the best MRR over hidden links, which `graph` lacks."""
    return max(PENALTIES, key=lambda penalty: _sum_of_ranks(Ridge.fit(graph, penalty), queries))


def _sum_of_ranks(ridge: Ridge, queries: QueriesByStep) -> float:
    """Sum of 1 / rank of the answers among all entities that are not known answers."""
    graph, total = ridge.graph, 0.0
    for step, asked in queries.items():
        if not len(asked.sources):
            continue
        forward, backward = ridge.scores(step, asked.sources)
        score = (np.maximum(forward, 0) + np.maximum(backward, 0)).astype(np.float64)
        truth = np.zeros(score.shape, dtype=np.bool_)
        of = part_numbers(asked.offsets)
        truth[of, asked.answers] = True
        for row, source in enumerate(asked.sources.tolist()):
            score[row, graph.ends(source, step)] = -np.inf
        offsets = np.arange(len(score) + 1) * graph.n_entities
        total += float(reciprocal_ranks(offsets, score.ravel(), truth.ravel()).sum())
    return total
