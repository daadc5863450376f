"""Fitting the ranking model: which features, which penalties, by held-out queries.

1. One softmax for the graph per set of features; the set with the best MRR on held-out queries is
   taken.
2. One softmax per step, drawn to the graph's by a penalty; the penalty (or the graph's model alone)
   by held-out queries.
3. Where the graph is sparse, a weight per path rule, if held-out queries gain by it
   (`hornbeam.graphs.rule_weights`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.arrays import Floats, Ints
from hornbeam.graphs.pools import FEATURES, Pool
from hornbeam.graphs.softmax import (
    Rows,
    fit_softmax,
    linear_scores,
    spread,
    summed_reciprocal_ranks,
)
from hornbeam.graphs.workload import Workload

#: Sets of features to choose from; those of the ridge fall out where there is none.
SMALL = (
    "ridge_forward", "ridge_backward", "ridge_sum", "best", "noisy_or", "frequency", "seen",
    "degree", "itself", "path_best", "forward_best", "backward_best",
)  # fmt: skip
ALL = FEATURES
WITHOUT_RIDGE = FEATURES[:-3]
#: L2 penalties: of the graph's weights, and of the steps' distance to them, strongest first.
GRAPH_PENALTY = 1.0
PENALTIES = (100.0, 30.0, 10.0)
#: Candidates that sets of features are compared on.
COMPARED = 300_000


@dataclass(frozen=True, eq=False)
class Ranking:
    """Weights of the chosen features, for the graph and per step, and the MRR they were chosen by."""

    features: tuple[str, ...]
    scale: Floats
    weights: Floats
    by_step: Mapping[int, Floats]
    penalty: float | None
    mrr: float

    def of(self, step: int) -> Floats:
        """Weights of a step."""
        return self.by_step.get(step, self.weights)


def columns_of(features: Sequence[str]) -> Ints:
    """Columns of features in a pool."""
    return np.array([FEATURES.index(name) for name in features], dtype=np.int64)


def rows_of(pool: Pool, columns: Ints) -> Rows:
    """A pool with some of its features."""
    return Rows(pool.offsets, np.ascontiguousarray(pool.feature[:, columns]), pool.truth)


def scores_of(pool: Pool, ranking: Ranking) -> Floats:
    """Scores of all candidates of a pool."""
    return _scores(pool, columns_of(ranking.features), ranking.weights, ranking.by_step)


def _scores(pool: Pool, columns: Ints, weights: Floats, by_step: Mapping[int, Floats]) -> Floats:
    score = np.empty(len(pool.entity))
    step = np.repeat(pool.step, np.diff(pool.offsets))
    for one in np.unique(pool.step).tolist():
        rows = np.flatnonzero(step == one)
        feature = pool.feature[np.ix_(rows, columns)]
        score[rows] = linear_scores(feature, by_step.get(one, weights))
    return score


def mean_reciprocal_rank(pool: Pool, score: Floats) -> float:
    """Mean of 1 / rank of all true answers; those that are no candidates count 0."""
    sums = summed_reciprocal_ranks(pool.offsets, score, pool.truth)
    return float(sums.sum()) / max(pool.n_queries, 1)


def fit_ranking(
    train: Pool, held: Pool, work: Workload, per_step: bool = True, share: float = 0.2
) -> Ranking:
    """Choose features and penalties by `held`, fit the weights to `train`."""
    features, weights, scale, mrr = _graph_model(train, held, work, share / 2)
    columns = columns_of(features)
    best = Ranking(features, scale, weights, {}, None, mrr)
    if not per_step:
        return best
    steps = np.unique(train.step).tolist()
    parts = {step: rows_of(train.select(train.step == step), columns) for step in steps}
    sizes = [float(len(parts[step].feature)) for step in steps]
    start: dict[int, Floats] = {}
    for penalty in PENALTIES:
        penalties = np.full(len(columns), penalty)

        def fit(step: int, penalties: Floats = penalties) -> Floats:
            return fit_softmax(parts[step], scale, weights, penalties, start.get(step))

        fitted = work.each(fit, steps, sizes, share / 2 / len(PENALTIES))
        start = {step: w for step, w in zip(steps, fitted, strict=True) if w is not None}
        mrr = mean_reciprocal_rank(held, _scores(held, columns, weights, start))
        if mrr > best.mrr:
            best = Ranking(features, scale, weights, dict(start), penalty, mrr)
    return best


def refit(train: Pool, chosen: Ranking, work: Workload) -> Ranking:
    """The same choices fitted to other queries."""
    columns = columns_of(chosen.features)
    rows = rows_of(train, columns)
    scale = spread(rows.feature)
    penalties = np.full(len(columns), GRAPH_PENALTY)
    weights = fit_softmax(rows, scale, np.zeros(len(columns)), penalties, chosen.weights)
    by_step: dict[int, Floats] = {}
    if chosen.penalty is not None:
        steps = np.unique(train.step).tolist()
        penalties = np.full(len(columns), chosen.penalty)

        def fit(step: int) -> Floats:
            part = rows_of(train.select(train.step == step), columns)
            return fit_softmax(part, scale, weights, penalties)

        fitted = work.each(fit, steps, [1.0] * len(steps), 0.0)
        by_step = {step: w for step, w in zip(steps, fitted, strict=True) if w is not None}
    return Ranking(chosen.features, scale, weights, by_step, chosen.penalty, chosen.mrr)


def _graph_model(
    train: Pool, held: Pool, work: Workload, share: float
) -> tuple[tuple[str, ...], Floats, Floats, float]:
    """The best set of features, its weights and scales, and its MRR on `held`."""
    available = FEATURES[: train.feature.shape[1]]
    sets = {tuple(name for name in one if name in available) for one in (SMALL, ALL, WITHOUT_RIDGE)}
    several = sorted(sets, key=len)
    part = _part(train, COMPARED)
    found: list[tuple[float, tuple[str, ...], Floats, Floats]] = []
    for features in several:
        if found and work.expired(0.9):
            break
        columns = columns_of(features)
        rows = rows_of(part, columns)
        scale = spread(rows.feature)
        penalties = np.full(len(columns), GRAPH_PENALTY)
        weights = fit_softmax(rows, scale, np.zeros(len(columns)), penalties)
        mrr = mean_reciprocal_rank(held, _scores(held, columns, weights, {}))
        found.append((mrr, features, weights, scale))
        work.advance(share / len(several))
    mrr, features, weights, scale = max(found, key=lambda one: one[0])
    if len(part.source) < len(train.source) and not work.expired(0.9):
        columns = columns_of(features)
        rows = rows_of(train, columns)
        penalties = np.full(len(columns), GRAPH_PENALTY)
        weights = fit_softmax(rows, scale, np.zeros(len(columns)), penalties, weights)
        mrr = mean_reciprocal_rank(held, _scores(held, columns, weights, {}))
    return features, weights, scale, mrr


def _part(pool: Pool, rows: int) -> Pool:
    """Every k-th source of a pool, about so many candidates."""
    every = -(-len(pool.entity) // rows)
    return pool if every <= 1 else pool.select(np.arange(0, len(pool.source), every))
