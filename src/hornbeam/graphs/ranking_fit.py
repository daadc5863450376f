"""Fitting the ranking model: which features, which penalties, by held-out queries.

1. One softmax for the graph per set of features; the set with the best MRR on held-out queries is
   taken, so the ridge's features stay only where they gain.
2. One softmax per step, drawn to the graph's by a penalty; the penalty (or the graph's model alone)
   by held-out queries.
3. Where the graph is sparse, a weight per path rule, if held-out queries gain by it
   (`hornbeam.graphs.rule_weights`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.arrays import Floats, Ints
from hornbeam.graphs.pools import FEATURES, Pool
from hornbeam.graphs.softmax import (
    CandidateRows,
    fit_softmax,
    linear_scores,
    spread,
    summed_reciprocal_ranks,
)
from hornbeam.graphs.workload import Workload

#: Sets of features to choose from; those of the ridge fall out where there is none.
FEW = (
    "ridge_forward", "ridge_backward", "ridge_sum", "best", "noisy_or", "frequency", "seen",
    "degree", "itself", "path_best", "forward_best", "backward_best",
)  # fmt: skip
WITH_SUMS = (*FEW, "path_sum", "forward_sum", "backward_sum")
WITHOUT_RIDGE = FEATURES[:-3]
SETS = (FEW, WITH_SUMS, FEATURES, WITHOUT_RIDGE)
#: L2 penalties: of the graph's weights, and of the steps' distance to them.
GRAPH_PENALTY = 1.0
PENALTIES = (100.0, 30.0, 10.0, 3.0)
#: Candidates that sets of features are compared on.
COMPARED = 300_000


#: Weights by step.
_Fits = dict[int, Floats]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Weights of the chosen features, of the graph and per step; the MRR of held-out queries."""

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


def rows_of(pool: Pool, columns: Ints) -> CandidateRows:
    """A pool with some of its features."""
    return CandidateRows(pool.offsets, np.ascontiguousarray(pool.feature[:, columns]), pool.truth)


def scores_of(pool: Pool, ranking: Ranking) -> Floats:
    """Scores of all candidates of a pool."""
    columns = columns_of(ranking.features)
    score = np.empty(len(pool.entity))
    step = np.repeat(pool.step, np.diff(pool.offsets))
    for one in np.unique(pool.step).tolist():
        rows = np.flatnonzero(step == one)
        score[rows] = linear_scores(pool.feature[np.ix_(rows, columns)], ranking.of(one))
    return score


@dataclass
class _Choice:
    """The ranking with the best MRR of held-out queries so far."""

    held: Pool
    best: Ranking | None = None

    def offer(self, ranking: Ranking) -> None:
        held = self.held
        sums = summed_reciprocal_ranks(held.offsets, scores_of(held, ranking), held.truth)
        mrr = float(sums.sum()) / max(held.n_queries, 1)
        if self.best is None or mrr > self.best.mrr:
            self.best = replace(ranking, mrr=mrr)

    @property
    def ranking(self) -> Ranking:
        assert self.best is not None
        return self.best


def fit_ranking(
    train: Pool, held: Pool, work: Workload, per_step: bool = True, share: float = 0.2
) -> Ranking:
    """Choose features and penalties by `held`, fit the weights to `train`."""
    graph = _graph_model(train, held, work, share / 2)
    if not per_step:
        return graph
    columns = columns_of(graph.features)
    steps = np.unique(train.step).tolist()
    parts = {step: rows_of(train.select(train.step == step), columns) for step in steps}
    sizes = [float(len(parts[step].feature)) for step in steps]
    start: _Fits = {}
    choice = _Choice(held)
    choice.offer(graph)
    for penalty in PENALTIES:
        if start and work.expired(0.9):
            break
        penalties = np.full(len(columns), penalty)

        def fit(step: int, penalties: Floats = penalties, near: _Fits = start) -> Floats:
            return fit_softmax(
                parts[step], graph.scale, graph.weights, penalties, near.get(step), work.expired
            )

        fitted = work.each(fit, steps, sizes, share / 2 / len(PENALTIES))
        start = {step: w for step, w in zip(steps, fitted, strict=True) if w is not None}
        choice.offer(replace(graph, by_step=dict(start), penalty=penalty))
    return choice.ranking


def refit(train: Pool, chosen: Ranking, work: Workload, share: float) -> Ranking:
    """The same choices fitted to other queries; weights that there is no time for stay."""
    columns = columns_of(chosen.features)
    graph = _fit_graph(train, chosen.features, chosen.weights, work)
    work.advance(share / 2)
    by_step = dict(chosen.by_step)
    if chosen.penalty is not None:
        steps = np.unique(train.step).tolist()
        penalties = np.full(len(columns), chosen.penalty)

        def fit(step: int) -> Floats:
            part = rows_of(train.select(train.step == step), columns)
            return fit_softmax(part, graph.scale, graph.weights, penalties, expired=work.expired)

        fitted = work.each(fit, steps, [1.0] * len(steps), share / 2)
        by_step |= {step: w for step, w in zip(steps, fitted, strict=True) if w is not None}
    return replace(graph, by_step=by_step, penalty=chosen.penalty, mrr=chosen.mrr)


def _graph_model(train: Pool, held: Pool, work: Workload, share: float) -> Ranking:
    """One softmax for the graph, with the best set of features."""
    available = FEATURES[: train.feature.shape[1]]
    several: list[tuple[str, ...]] = []
    for one in SETS:
        features = tuple(name for name in one if name in available)
        if features not in several:
            several.append(features)
    part = _part(train, COMPARED)
    choice = _Choice(held)
    for features in several:
        if choice.best is None or not work.expired(0.9):
            choice.offer(_fit_graph(part, features, None, work))
        work.advance(share / len(several))
    if len(part.source) < len(train.source) and not work.expired(0.9):
        best = choice.ranking
        choice = _Choice(held)
        choice.offer(_fit_graph(train, best.features, best.weights, work))
    return choice.ranking


def _fit_graph(
    train: Pool, features: tuple[str, ...], start: Floats | None, work: Workload
) -> Ranking:
    columns = columns_of(features)
    rows = rows_of(train, columns)
    scale = spread(rows.feature)
    penalties = np.full(len(columns), GRAPH_PENALTY)
    weights = fit_softmax(rows, scale, np.zeros(len(columns)), penalties, start, work.expired)
    return Ranking(features, scale, weights, {}, None, 0.0)


def _part(pool: Pool, rows: int) -> Pool:
    """Every k-th source of a pool, about so many candidates."""
    every = -(-len(pool.entity) // rows)
    return pool if every <= 1 else pool.select(np.arange(0, len(pool.source), every))
