"""Fitting the ranking model to queries, with given features and penalties.

One softmax for the graph and, shrunk towards it by an L2 penalty, one per step
(`hornbeam.graphs.softmax`). `hornbeam.graphs.ranking_choice` chooses features and penalties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.graphs.pools import FEATURES, Pool
from hornbeam.graphs.softmax import (
    CandidateRows,
    fit_softmax,
    linear_scores,
    reciprocal_ranks,
    standard_deviations,
)
from hornbeam.graphs.workload import Workload

#: L2 penalty of the graph's weights.
GRAPH_PENALTY = 1.0


@dataclass(frozen=True, eq=False)
class FittedRanking:
    """Weights of the chosen features, of the graph and per step."""

    features: tuple[str, ...]
    scale: Floats
    weights: Floats
    by_step: Mapping[int, Floats]
    penalty: float | None

    def of(self, step: int) -> Floats:
        """Weights of a step."""
        return self.by_step.get(step, self.weights)


def columns_of(features: Sequence[str]) -> Ints:
    """Columns of features in a pool."""
    return np.array([FEATURES.index(name) for name in features], dtype=np.int64)


def reciprocal_ranks_of(pool: Pool, score: Floats) -> Floats:
    """1 / rank of every true candidate of a pool."""
    return reciprocal_ranks(pool.offsets, score, pool.truth)


def rows_of(pool: Pool, columns: Ints) -> CandidateRows:
    """A pool with some of its features."""
    return CandidateRows(pool.offsets, np.take(pool.feature, columns, axis=1), pool.truth)


def scores_of(pool: Pool, ranking: FittedRanking) -> Floats:
    """Scores of all candidates of a pool."""
    columns = columns_of(ranking.features)
    score = np.empty(len(pool.entity))
    step = np.repeat(pool.step, np.diff(pool.offsets))
    for one in np.unique(pool.step).tolist():
        rows = np.flatnonzero(step == one)
        score[rows] = linear_scores(pool.feature[np.ix_(rows, columns)], ranking.of(one))
    return score


def refit(queries: Pool, chosen: FittedRanking, work: Workload, share: float) -> FittedRanking:
    """The same choices fitted to other queries; weights for which no time is left stay."""
    queries = queries.informative()
    graph = fit_graph(queries, chosen.features, chosen.weights, work)
    work.advance(share / 2)
    if chosen.penalty is None:
        return graph
    parts = rows_by_step(queries, chosen.features)
    fitted = fit_steps(parts, graph, chosen.penalty, chosen.by_step, work, share / 2)
    return replace(fitted, by_step={**chosen.by_step, **fitted.by_step})


def rows_by_step(queries: Pool, features: Sequence[str]) -> dict[int, CandidateRows]:
    """Queries of every step, with some of their features."""
    columns = columns_of(features)
    return {
        step: rows_of(queries.select(queries.step == step), columns)
        for step in np.unique(queries.step).tolist()
    }


def fit_steps(
    parts: Mapping[int, CandidateRows],
    graph: FittedRanking,
    penalty: float,
    start: Mapping[int, Floats],
    work: Workload,
    share: float,
) -> FittedRanking:
    """Weights per step, shrunk towards the graph's; steps without time left are missing."""
    penalties = np.full(len(graph.features), penalty)

    def fit(step: int) -> Floats:
        return fit_softmax(
            parts[step], graph.scale, graph.weights, penalties, start.get(step), work.expired
        )

    sizes = [float(len(rows.feature)) for rows in parts.values()]
    fitted = work.each(fit, list(parts), sizes, share)
    by_step = {step: w for step, w in zip(parts, fitted, strict=True) if w is not None}
    return replace(graph, by_step=by_step, penalty=penalty)


def fit_graph(
    train: Pool, features: tuple[str, ...], start: Floats | None, work: Workload
) -> FittedRanking:
    """Weights of the graph alone."""
    columns = columns_of(features)
    rows = rows_of(train, columns)
    scale = standard_deviations(rows.feature)
    penalties = np.full(len(columns), GRAPH_PENALTY)
    weights = fit_softmax(rows, scale, np.zeros(len(columns)), penalties, start, work.expired)
    return FittedRanking(features, scale, weights, {}, None)


def fit_anew(
    queries: Pool, features: tuple[str, ...], penalty: float | None, work: Workload
) -> FittedRanking:
    """Weights of the graph, and with a penalty per step, fitted to these queries alone."""
    queries = queries.informative()
    graph = fit_graph(queries, features, None, work)
    if penalty is None:
        return graph
    return fit_steps(rows_by_step(queries, features), graph, penalty, {}, work, 0.0)
