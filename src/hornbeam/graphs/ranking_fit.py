"""Fitting the ranking model: which features, which penalties, by queries that were held out.

1. One softmax for the graph per set of features; the set with the best MRR on queries that it was
   not fitted to is taken, so the ridge's features stay only where they gain.
2. One softmax per step, drawn to the graph's by a penalty; the penalty (or the graph's model alone)
   by such queries, too.
3. Where the graph is sparse, a weight per path rule, if held-out queries gain by it
   (`hornbeam.graphs.rule_weights`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.arrays import Floats, Ints
from hornbeam.graphs.pools import FEATURES, LINKED, Pool
from hornbeam.graphs.softmax import (
    CandidateRows,
    fit_softmax,
    linear_scores,
    spread,
    summed_reciprocal_ranks,
)
from hornbeam.graphs.workload import Workload

#: Sets of features to choose from; those that a graph does not have fall out.
FEW = (
    "ridge_forward", "ridge_backward", "ridge_sum", "best", "noisy_or", "frequency", "seen",
    "degree", "itself", *LINKED, "path_best", "forward_best", "backward_best",
)  # fmt: skip
WITH_SUMS = (*FEW, "path_sum", "forward_sum", "backward_sum")
WITHOUT_RIDGE = FEATURES[:-3]
SETS = (FEW, WITH_SUMS, FEATURES, WITHOUT_RIDGE)
#: L2 penalties: of the graph's weights, and of the steps' distance to them.
GRAPH_PENALTY = 1.0
PENALTIES = (100.0, 30.0, 10.0, 3.0)
#: The one that is taken where no held-out facts can choose.
USUAL_PENALTY = 30.0
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
    return CandidateRows(pool.offsets, np.take(pool.feature, columns, axis=1), pool.truth)


def scores_of(pool: Pool, ranking: Ranking) -> Floats:
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
    """Queries that weights are fitted to, and others that they are judged by."""

    fitted: Pool
    judged: Pool


def crossed(queries: Pool) -> list[Trial]:
    """Two halves, each judged by what is fitted to the other.

    Of many queries some are taken: they tell enough, and all of them would be held several times.
    Missing links are wrong answers in both halves, and what learns them by heart looks good there;
    so halves choose among sets of features, but not how far relations may differ.
    """
    queries = _part(queries, COMPARED)
    even = np.arange(len(queries.source)) % 2 == 0
    halves = queries.select(even), queries.select(~even)
    return [Trial(one, other) for one, other in (halves, reversed(halves))]


@dataclass
class _Choice:
    """The rankings of all trials, one of each, with the best MRR so far."""

    trials: Sequence[Trial]
    best: list[Ranking] = field(default_factory=list)

    def offer(self, rankings: Sequence[Ranking]) -> None:
        total, queries = 0.0, 0
        for trial, ranking in zip(self.trials, rankings, strict=True):
            judged = trial.judged
            score = scores_of(judged, ranking)
            total += float(summed_reciprocal_ranks(judged.offsets, score, judged.truth).sum())
            queries += judged.n_queries
        mrr = total / max(queries, 1)
        if not self.best or mrr > self.best[0].mrr:
            self.best = [replace(ranking, mrr=mrr) for ranking in rankings]


def fit_ranking(
    trials: Sequence[Trial],
    available: Sequence[str],
    work: Workload,
    per_step: bool = True,
    share: float = 0.2,
    penalties: Sequence[float] = PENALTIES,
) -> list[Ranking]:
    """Choose features among those available, and one of the penalties, or the graph's model alone.

    Returns the weights of every trial.
    """
    trials = [replace(trial, fitted=trial.fitted.informative()) for trial in trials]
    graphs = _graph_models(trials, available, work, share / 2)
    if not per_step:
        return graphs
    share /= 2 * len(penalties) * len(trials)
    parts = [_by_step(trial.fitted, graphs[0].features) for trial in trials]
    fits: list[_Fits] = [{} for _ in trials]
    choice = _Choice(trials)
    choice.offer(graphs)
    for penalty in penalties:
        if fits[0] and work.expired(0.9):
            break
        fits = [
            _fit_steps(part, graph, penalty, near, work, share)
            for part, graph, near in zip(parts, graphs, fits, strict=True)
        ]
        choice.offer(
            [
                replace(graph, by_step=by_step, penalty=penalty)
                for graph, by_step in zip(graphs, fits, strict=True)
            ]
        )
    return choice.best


def refit(queries: Pool, chosen: Ranking, work: Workload, share: float) -> Ranking:
    """The same choices fitted to other queries; weights that there is no time for stay."""
    queries = queries.informative()
    graph = replace(_fit_graph(queries, chosen.features, chosen.weights, work), mrr=chosen.mrr)
    work.advance(share / 2)
    if chosen.penalty is None:
        return graph
    parts = _by_step(queries, chosen.features)
    by_step = _fit_steps(parts, graph, chosen.penalty, chosen.by_step, work, share / 2)
    return replace(graph, by_step={**chosen.by_step, **by_step}, penalty=chosen.penalty)


def _by_step(queries: Pool, features: Sequence[str]) -> dict[int, CandidateRows]:
    columns = columns_of(features)
    return {
        step: rows_of(queries.select(queries.step == step), columns)
        for step in np.unique(queries.step).tolist()
    }


def _fit_steps(
    parts: Mapping[int, CandidateRows],
    graph: Ranking,
    penalty: float,
    near: Mapping[int, Floats],
    work: Workload,
    share: float,
) -> _Fits:
    """Weights per step, drawn to the graph's; those of steps that there is no time for lack."""
    penalties = np.full(len(graph.features), penalty)

    def fit(step: int) -> Floats:
        return fit_softmax(
            parts[step], graph.scale, graph.weights, penalties, near.get(step), work.expired
        )

    sizes = [float(len(rows.feature)) for rows in parts.values()]
    fitted = work.each(fit, list(parts), sizes, share)
    return {step: w for step, w in zip(parts, fitted, strict=True) if w is not None}


def _graph_models(
    trials: Sequence[Trial], available: Sequence[str], work: Workload, share: float
) -> list[Ranking]:
    """One softmax for the graph per trial, with the best set of features."""
    several: list[tuple[str, ...]] = []
    for one in SETS:
        features = tuple(name for name in one if name in available)
        if features not in several:
            several.append(features)
    parts = [_part(trial.fitted, COMPARED) for trial in trials]
    choice = _Choice(trials)
    for features in several:
        if not choice.best or not work.expired(0.9):
            choice.offer([_fit_graph(part, features, None, work) for part in parts])
        work.advance(share / len(several))
    whole = all(part is trial.fitted for part, trial in zip(parts, trials, strict=True))
    if whole or work.expired(0.9):
        return choice.best
    better = _Choice(trials)
    better.offer(
        [
            _fit_graph(trial.fitted, best.features, best.weights, work)
            for trial, best in zip(trials, choice.best, strict=True)
        ]
    )
    return better.best


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
