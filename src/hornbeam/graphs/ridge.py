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

X X^T is dense where many entities share a property. The matrix of entities beside properties

    K = (l I    X)        has  K^-1 = (A      A X        )
        (X^T   -I)                    (X^T A  X^T A X - I),

is sparse, and A, A x_j and the denominators are rows and the diagonal of its inverse. Most of its
nodes are eliminated before anything becomes dense (`hornbeam.graphs.elimination`): of FB15k-237's
14,505 entities and 61,171 shared properties 9,600 nodes remain, of WN18RR's 66,000 nodes 1,800.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hornbeam.base.arrays import Floats, Integers, Ints, Singles, part_numbers, pointers, ranges
from hornbeam.graphs.elimination import Eliminated, SparseInverse, eliminated
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.softmax import reciprocal_ranks
from hornbeam.rules.codes import inverse_code

#: Maximum number of entities whose whole matrix is inverted, without elimination.
MAX_WHOLE = 2_000
#: Maximum number of entities and properties to eliminate, and of those that remain: these are
#: inverted as one matrix, in cubic time.
MAX_NODES, MAX_CORE = 400_000, 12_000
#: Number of candidates that the ridge proposes per query.
PROPOSED = 50
#: The penalty of graphs where trying several would take too long, and the penalties to choose from.
DEFAULT_PENALTY = 40.0
PENALTIES = (DEFAULT_PENALTY, 20.0, 60.0)
#: Maximum number of entities for which all penalties are tried: inversion takes cubic time.
MAX_ENTITIES_TO_CHOOSE = 5_000
#: Number of hidden links per relation that penalties are compared by.
LINKS_PER_RELATION = 50


@dataclass(frozen=True, eq=False)
class RidgeNodes:
    """The nodes of K: all entities, and the properties that several entities have.

    `of_run` has the node of every property. That of a property of one entity is the entity, since
    both have the same column.
    """

    of_run: Ints
    shared: Ints

    @classmethod
    def of(cls, graph: LinkedGraph) -> RidgeNodes:
        """Number the nodes of a graph."""
        links = graph.links
        is_shared = np.diff(links.run_start) > 1
        of_run = links.end[links.run_start[:-1]].astype(np.int64)
        shared = np.flatnonzero(is_shared)
        of_run[shared] = graph.n_entities + np.arange(len(shared))
        return cls(of_run, shared)


def eliminated_ridge(graph: LinkedGraph, penalty: float) -> Eliminated:
    """Eliminate entities and properties of a graph while they have few neighbours."""
    nodes, links, n = RidgeNodes.of(graph), graph.links, graph.n_entities
    columns = _columns(graph, nodes.shared, np.ones(len(nodes.shared)))
    alone = np.bincount(links.end[links.run_start[:-1]][np.diff(links.run_start) == 1], minlength=n)
    matrix = sparse.block_array(
        [
            [sparse.diags_array(alone + penalty), columns.T],
            [columns, -sparse.eye_array(len(nodes.shared))],
        ],
        format="csr",
    )
    whole = n <= MAX_WHOLE
    return eliminated(matrix, n + np.arange(len(nodes.shared)) if whole else None)


@dataclass(frozen=True, eq=False)
class Ridge:
    """The inverse of a graph's matrix, ready to score; the denominators are 1 - x^T A x."""

    graph: LinkedGraph
    nodes: RidgeNodes
    inverse: SparseInverse
    denominators: Floats

    @classmethod
    def fit(cls, graph: LinkedGraph, penalty: float) -> Ridge:
        """Invert the matrix of a graph."""
        return cls.of(graph, eliminated_ridge(graph, penalty))

    @classmethod
    def of(cls, graph: LinkedGraph, parts: Eliminated) -> Ridge:
        """Invert what remains after elimination."""
        nodes = RidgeNodes.of(graph)
        inverse = SparseInverse.of(parts, graph.n_entities)
        inverse.prepare()
        diagonal = inverse.diagonal()[nodes.of_run]
        is_shared = nodes.of_run >= graph.n_entities
        denominators = np.where(is_shared, -diagonal, 1.0 - diagonal)
        return cls(graph, nodes, inverse, np.maximum(denominators, 1e-6))

    def column(self, run: int) -> Singles:
        """A x for the column x of a property: one number per entity."""
        column: Singles = self.inverse.rows(self.nodes.of_run[run : run + 1])[0]
        return column

    def scores(self, step: int, sources: Integers) -> tuple[Singles, Singles]:
        """Scores forward and backward of all entities as answers of the sources' queries."""
        graph = self.graph
        forward = np.zeros((len(sources), graph.n_entities), dtype=np.float32)
        inverse = inverse_code(step)  # the property (step, c) is the run of c along it
        properties, runs = graph.runs_along(inverse), graph.run_of(sources, step)
        found = np.flatnonzero(runs >= 0)
        asked = np.concatenate(
            [np.asarray(sources, dtype=np.int64), self.nodes.of_run[runs[found]]]
        )
        distinct, place = np.unique(asked, return_inverse=True)
        rows = self.inverse.rows(distinct)
        answers = _columns(graph, properties, -1.0 / self.denominators[properties])
        of_sources = rows[place[: len(sources)]]
        forward[:, graph.holders(inverse)] = (answers @ of_sources.T).T
        backward = np.zeros_like(forward)
        backward[found] = rows[place[len(sources) :]]
        backward[found] *= (-1.0 / self.denominators[runs[found]]).astype(np.float32)[:, None]
        return forward, backward


def _columns(graph: LinkedGraph, runs: Integers, weights: Floats) -> sparse.csr_array:
    """The columns of properties in X, one per row, times the properties' weights."""
    links = graph.links
    low, high = links.run_start[runs], links.run_start[np.asarray(runs) + 1]
    weight = np.repeat(weights, high - low).astype(np.float32)
    shape = (len(runs), graph.n_entities)
    ends = links.end[ranges(low, high)]
    return sparse.csr_array((weight, ends, pointers(high - low)), shape=shape)


def fitted_ridge(graph: LinkedGraph, penalty: float) -> Ridge | None:
    """The ridge of a graph, fitted once; None if too many nodes remain to be inverted."""
    kept = graph.kept.get("ridge")
    if kept is None or kept[0] != penalty:
        parts = eliminated_ridge(graph, penalty) if has_few_nodes(graph) else None
        fits = parts is not None and len(parts.nodes) <= MAX_CORE
        graph.kept["ridge"] = kept = penalty, Ridge.of(graph, parts) if parts and fits else None
    found: Ridge | None = kept[1]
    return found


def has_few_nodes(graph: LinkedGraph) -> bool:
    """Whether a graph's nodes are few enough to be eliminated."""
    n_shared = int(np.count_nonzero(np.diff(graph.links.run_start) > 1))
    return graph.n_entities + n_shared <= MAX_NODES


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
