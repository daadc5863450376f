"""Hidden folds: links that are taken out of the graph to become training queries.

A random fold of *all* relations' links is hidden, everything that a ranking model sees
(confidences, constants, ridge, features) is computed without it, and its links are the queries to
learn from. So training queries are like those of missing links. Leaving out one link at a time
would not do: the number of remaining answers of its relation would reveal it. A link of a symmetric
relation and its inverse are hidden together: a link that is missing lacks both.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hornbeam.base.arrays import Ids, Ints
from hornbeam.graph.link_hashes import LinkHash
from hornbeam.graphs.graph_settings import Extent
from hornbeam.graphs.linked_graph import LinkedGraph


def folds_of(graph: LinkedGraph, folds: int, seed: int, canonical: Ids) -> Ints:
    """The fold of every link, which depends on its ids and on the canonical steps alone."""
    fold = np.empty(len(graph), dtype=np.int64)
    for predicate in range(graph.n_predicates):
        rows = graph.rows_of(predicate)
        number = LinkHash.of_fold(seed, predicate, canonical)
        fold[rows] = number.of_links(graph.subject[rows], graph.object[rows]) % folds
    return fold


def hidden_folds(
    graph: LinkedGraph, extent: Extent, seed: int, canonical: Ids
) -> Iterator[tuple[LinkedGraph, LinkedGraph]]:
    """Pairs of the graph without a fold and that fold, `extent.hidden` of them."""
    fold = folds_of(graph, extent.folds, seed, canonical)
    for number in range(extent.hidden):
        yield graph.select(fold != number), graph.select(fold == number)
