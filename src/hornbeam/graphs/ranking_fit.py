"""Fitting the ranking model: features and penalties are chosen by held-out queries.

1. One softmax for the graph per set of features and, shrunk towards it, one per step; the set with
   the best MRR on queries that it was not fitted to is taken, so that the ridge's features, or
   those of constants, stay only if they gain. Sets are compared with weights per step, as they are
   used: the graph's weights alone do not show what many features gain per step.
2. The penalty that shrinks steps towards the graph, or the graph's model alone, by such queries.
3. In a sparse graph a weight per path rule, if held-out queries gain by it
   (`hornbeam.graphs.rule_weights`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.graphs.pools import FEATURES, LINKED, Pool
from hornbeam.graphs.softmax import (
    CandidateRows,
    fit_softmax,
    linear_scores,
    standard_deviations,
    summed_reciprocal_ranks,
)
from hornbeam.graphs.workload import Workload

#: Sets of features to choose from; features that a graph lacks are dropped.
BASIC = (
    "ridge_forward", "ridge_backward", "ridge_sum", "best", "noisy_or", "frequency", "seen",
    "degree", "itself", *LINKED, "path_best", "forward_best", "backward_best",
)  # fmt: skip
WITH_SUMS = (*BASIC, "path_sum", "forward_sum", "backward_sum")
WITHOUT_RIDGE = FEATURES[:-3]
#: Constants only through the ridge's features.
WITHOUT_CONSTANTS = (
    "ridge_forward", "ridge_backward", "ridge_sum", "frequency", "seen", "degree", "itself",
    *LINKED, "path_best", "path_noisy_or", "path_sum",
)  # fmt: skip
SETS = (BASIC, WITH_SUMS, FEATURES, WITHOUT_RIDGE, WITHOUT_CONSTANTS)
#: L2 penalties: of the graph's weights, and of the steps' distance to them. The usual one is used
#: without held-out facts to choose by; with held-out facts the weaker ones are tried first, then
#: the stronger ones.
GRAPH_PENALTY = 1.0
USUAL_PENALTY = 30.0
WEAKER, STRONGER = (10.0, 3.0), (100.0,)
#: Number of candidates that feature sets are compared on: the larger of a total and one per step.
COMPARED, COMPARED_PER_STEP = 300_000, 5_000


@dataclass(frozen=True, eq=False)
class FittedRanking:
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


@dataclass(frozen=True, eq=False)
class Trial:
    """Queries that weights are fitted to, and others that they are evaluated on."""

    fitted: Pool
    judged: Pool


def cross_trials(queries: Pool) -> list[Trial]:
    """Two trials, each fitted to one half of the queries and evaluated on the other.

    Many queries are subsampled to save memory. Missing links count as wrong answers in both halves,
    so overfitting them is rewarded; halves therefore choose among feature sets only, not the
    penalty of weights per step.
    """
    queries = _part(queries, COMPARED)
    even = np.arange(len(queries.source)) % 2 == 0
    halves = queries.select(even), queries.select(~even)
    return [Trial(one, other) for one, other in (halves, reversed(halves))]


@dataclass
class _BestRankings:
    """The rankings with the best MRR so far, one per trial."""

    trials: Sequence[Trial]
    best: list[FittedRanking] = field(default_factory=list)

    def keep_if_better(self, rankings: Sequence[FittedRanking]) -> bool:
        """Keep these rankings if their MRR is the best so far; returns whether it is."""
        total, queries = 0.0, 0
        for trial, ranking in zip(self.trials, rankings, strict=True):
            judged = trial.judged
            score = scores_of(judged, ranking)
            total += float(summed_reciprocal_ranks(judged.offsets, score, judged.truth).sum())
            queries += judged.n_queries
        mrr = total / max(queries, 1)
        better = not self.best or mrr > self.best[0].mrr
        if better:
            self.best = [replace(ranking, mrr=mrr) for ranking in rankings]
        return better


def fit_ranking(
    trials: Sequence[Trial],
    available: Sequence[str],
    work: Workload,
    per_step: bool = True,
    share: float = 0.2,
    choose_penalty: bool = True,
) -> list[FittedRanking]:
    """Choose features among those available, and a penalty, or the graph's model alone.

    Unless `choose_penalty`, sets of features are compared by the graph's weights, and the penalty
    is the usual one. Returns the weights of every trial.
    """
    trials = [replace(trial, fitted=trial.fitted.informative()) for trial in trials]
    fits = _best_set(trials, available, work, share / 2, per_step and choose_penalty)
    graphs = _graph_models(trials, fits, work)
    if not per_step:
        return graphs
    choice = _BestRankings(trials)
    choice.keep_if_better(graphs)
    parts = [_by_step(trial.fitted, graphs[0].features) for trial in trials]

    def try_penalty(penalty: float) -> bool:
        """Fit with a penalty, warm-started; returns whether it is the best so far."""
        nonlocal fits
        fits = [
            _fit_steps(part, graph, penalty, fit.by_step, work, share / (6 * len(trials)))
            for part, graph, fit in zip(parts, graphs, fits, strict=True)
        ]
        return choice.keep_if_better(fits)

    try_penalty(USUAL_PENALTY)
    for others in (WEAKER, STRONGER) if choose_penalty else ():
        better = False
        for penalty in others:
            if work.expired(0.9) or not try_penalty(penalty):
                break
            better = True
        if better:
            break
    return choice.best


def refit(queries: Pool, chosen: FittedRanking, work: Workload, share: float) -> FittedRanking:
    """The same choices fitted to other queries; weights for which no time is left stay."""
    queries = queries.informative()
    graph = replace(_fit_graph(queries, chosen.features, chosen.weights, work), mrr=chosen.mrr)
    work.advance(share / 2)
    if chosen.penalty is None:
        return graph
    parts = _by_step(queries, chosen.features)
    fitted = _fit_steps(parts, graph, chosen.penalty, chosen.by_step, work, share / 2)
    return replace(fitted, by_step={**chosen.by_step, **fitted.by_step})


def _by_step(queries: Pool, features: Sequence[str]) -> dict[int, CandidateRows]:
    columns = columns_of(features)
    return {
        step: rows_of(queries.select(queries.step == step), columns)
        for step in np.unique(queries.step).tolist()
    }


def _fit_steps(
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


def _best_set(
    trials: Sequence[Trial], available: Sequence[str], work: Workload, share: float, per_step: bool
) -> list[FittedRanking]:
    """The best set of features, fitted to parts of the trials: for the graph, or per step."""
    distinct: list[tuple[str, ...]] = []
    for one in SETS:
        features = tuple(name for name in one if name in available)
        if features not in distinct:
            distinct.append(features)
    parts = [_compared(trial.fitted) for trial in trials]
    share /= len(distinct) * len(trials)
    choice = _BestRankings(trials)

    def fit(part: Pool, features: tuple[str, ...]) -> FittedRanking:
        graph = _fit_graph(part, features, None, work)
        if not per_step:
            work.advance(share)
            return graph
        return _fit_steps(_by_step(part, features), graph, USUAL_PENALTY, {}, work, share)

    for features in distinct:
        if not choice.best or not work.expired(0.9):
            choice.keep_if_better([fit(part, features) for part in parts])
    return choice.best


def _graph_models(
    trials: Sequence[Trial], fits: Sequence[FittedRanking], work: Workload
) -> list[FittedRanking]:
    """The graph's weights of the chosen features, fitted to all queries of the trials."""
    if work.expired(0.9):
        return [replace(fit, by_step={}, penalty=None) for fit in fits]
    choice = _BestRankings(trials)
    choice.keep_if_better(
        [
            _fit_graph(trial.fitted, fit.features, fit.weights, work)
            for trial, fit in zip(trials, fits, strict=True)
        ]
    )
    return choice.best


def _fit_graph(
    train: Pool, features: tuple[str, ...], start: Floats | None, work: Workload
) -> FittedRanking:
    columns = columns_of(features)
    rows = rows_of(train, columns)
    scale = standard_deviations(rows.feature)
    penalties = np.full(len(columns), GRAPH_PENALTY)
    weights = fit_softmax(rows, scale, np.zeros(len(columns)), penalties, start, work.expired)
    return FittedRanking(features, scale, weights, {}, None, 0.0)


def _compared(pool: Pool) -> Pool:
    """The part of a pool that sets of features are fitted to."""
    return _part(pool, max(COMPARED, COMPARED_PER_STEP * len(np.unique(pool.step))))


def _part(pool: Pool, rows: int) -> Pool:
    """Every k-th source of a pool, so that about `rows` candidates remain."""
    every = -(-len(pool.entity) // rows)
    return pool if every <= 1 else pool.select(np.arange(0, len(pool.source), every))
