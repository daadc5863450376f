"""The choice of the ridge's penalty: the one by which the ridge alone ranks hidden links best."""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import part_numbers
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.ridge import Ridge
from hornbeam.graphs.softmax import reciprocal_ranks

#: The penalty of graphs where trying others would cost too much, and those to choose from.
DEFAULT_PENALTY = 40.0
PENALTIES = (DEFAULT_PENALTY, 20.0, 60.0)
#: Maximum number of entities for which all penalties are tried: inversion takes cubic time.
MAX_ENTITIES_TO_CHOOSE = 5_000
#: Number of hidden links per relation that penalties are compared by.
LINKS_PER_RELATION = 50


def choose_penalty(graph: LinkedGraph, queries: QueriesByStep) -> float:
    """The penalty with the best MRR over hidden links; `graph` is without them."""
    return max(PENALTIES, key=lambda penalty: _sum_of_ranks(Ridge.fit(graph, penalty), queries))


def _sum_of_ranks(ridge: Ridge, queries: QueriesByStep) -> float:
    """Sum of 1 / rank of the answers among all entities that are not known answers."""
    graph, total = ridge.graph, 0.0
    for step, some in queries.items():
        if not len(some.sources):
            continue
        forward, backward = ridge.scores(step, some.sources)
        score = (np.maximum(forward, 0) + np.maximum(backward, 0)).astype(np.float64)
        truth = np.zeros(score.shape, dtype=np.bool_)
        of = part_numbers(some.offsets)
        truth[of, some.answers] = True
        for row, source in enumerate(some.sources.tolist()):
            score[row, graph.ends(source, step)] = -np.inf
        offsets = np.arange(len(score) + 1) * graph.n_entities
        total += float(reciprocal_ranks(offsets, score.ravel(), truth.ravel()).sum())
    return total
