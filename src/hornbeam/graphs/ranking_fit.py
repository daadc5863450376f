"""Fitting the ranking model to queries, with given features and penalties.

The model has one softmax for the graph, and one per step that an L2 penalty shrinks towards it
(`hornbeam.graphs.softmax`). `hornbeam.graphs.ranking_choice` chooses features and penalties.

In a sparse graph every path rule may have a weight of its own, if held-out queries gain by it. In
addition to its confidence, a rule then has a weight in the score of every candidate that it fires
for. Weights of features and rules are fitted together per step; rules' weights shrink towards 0.
They help in sparse graphs, where few rules fire and each fires often. In dense graphs they overfit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints, part_numbers, pointers
from hornbeam.graph.link_hashes import REPORTING
from hornbeam.graphs.features import EvidenceKind, columns_of
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.softmax import (
    CandidateRows,
    Firings,
    fired_scores,
    fit_softmax,
    linear_scores,
    reciprocal_ranks,
)
from hornbeam.graphs.workload import Portion, Workload

#: L2 penalty of the graph's weights.
GRAPH_PENALTY = 1.0
#: Maximum number of sources per step by which lifts are averaged.
LIFTED = 1_000
#: L2 penalty of rules' weights, and of features' weights if the graph's model alone was best.
RULE_PENALTY, FEATURE_PENALTY = 3.0, 30.0


@dataclass(frozen=True, eq=False)
class FittedRanking:
    """Weights of the chosen features, for the graph and per step."""

    features: tuple[str, ...]
    scale: Floats
    weights: Floats
    by_step: Mapping[int, Floats]
    penalty: float | None

    def of(self, step: int) -> Floats:
        """Weights of a step."""
        return self.by_step.get(step, self.weights)


@dataclass(frozen=True, eq=False)
class Trial:
    """Queries that weights are fitted to, and queries that these weights are evaluated on."""

    fitted: Pool
    judged: Pool
    seed: int

    @cached_property
    def halves(self) -> Bools:
        """Which true answers of the judged queries belong to each half, one row per half."""
        first = self.judged.in_first_half(self.seed, REPORTING)
        return np.stack([first, ~first])

    def sums(self, reciprocal: Floats) -> Floats:
        """Sum over each half of `reciprocal`, one number per true answer of judged queries."""
        return np.array([reciprocal[half].sum() for half in self.halves])


def reciprocal_ranks_of(pool: Pool, score: Floats) -> Floats:
    """1 / rank of every true candidate of a pool."""
    return reciprocal_ranks(pool.offsets, score, pool.truth)


def rows_of(pool: Pool, columns: Ints) -> CandidateRows:
    """The candidates of a pool, with the features in `columns`."""
    return CandidateRows(pool.offsets, np.take(pool.feature, columns, axis=1), pool.truth)


def scores_of(pool: Pool, ranking: FittedRanking) -> Floats:
    """Scores of all candidates of a pool."""
    columns = columns_of(ranking.features)
    score = np.empty(len(pool.entity))
    of_row = np.repeat(pool.step, np.diff(pool.offsets))
    for step in np.unique(pool.step).tolist():
        rows = np.flatnonzero(of_row == step)
        score[rows] = linear_scores(pool.feature[np.ix_(rows, columns)], ranking.of(step))
    return score


def fit_ranking(
    queries: Pool,
    features: tuple[str, ...],
    penalty: float | None,
    work: Workload,
    start: FittedRanking | None = None,
    share: float = 0.0,
) -> FittedRanking:
    """Fit weights for the graph and, if there is a `penalty`, weights per step to `queries`.

    The search begins at the weights of `start`; steps for which no time is left keep them.
    """
    queries = queries.informative()
    graph = fit_graph(queries, features, None if start is None else start.weights, work)
    work.advance(share / 2)
    if penalty is None:
        return graph
    before = {} if start is None else start.by_step
    parts = rows_by_step(queries, features)
    fitted = fit_steps(parts, graph, penalty, before, Portion(work, share / 2))
    return replace(fitted, by_step={**before, **fitted.by_step})


def rows_by_step(queries: Pool, features: Sequence[str]) -> dict[int, CandidateRows]:
    """Queries of every step, with the given features."""
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
    portion: Portion,
) -> FittedRanking:
    """Weights per step, shrunk towards the graph's; steps for which no time is left are missing."""
    penalties = np.full(len(graph.features), penalty)

    def fit(step: int) -> Floats:
        begin, expired = start.get(step), portion.work.expired
        return fit_softmax(parts[step], graph.scale, graph.weights, penalties, begin, expired)

    sizes = [float(len(rows.feature)) for rows in parts.values()]
    by_step = dict(portion.each(fit, list(parts), sizes))
    return replace(graph, by_step=by_step, penalty=penalty)


def fit_graph(
    train: Pool, features: tuple[str, ...], start: Floats | None, work: Workload
) -> FittedRanking:
    """Weights of the graph alone."""
    columns = columns_of(features)
    rows = rows_of(train, columns)
    scale = train.scale[columns]
    penalties = np.full(len(columns), GRAPH_PENALTY)
    weights = fit_softmax(rows, scale, np.zeros(len(columns)), penalties, start, work.expired)
    return FittedRanking(features, scale, weights, {}, None)


def part_lifts(queries: Pool, ranking: FittedRanking) -> dict[int, dict[EvidenceKind, float]]:
    """By step, how far each part of the score lifts right answers above the mean candidate.

    Means over at most `LIFTED` sources of a step, the part that lifts most first.
    """
    columns, found = columns_of(ranking.features), {}
    kinds = [EvidenceKind.of_feature(name) for name in ranking.features]
    of_step = queries.step[np.diff(queries.offsets) > 0]
    for step in np.unique(of_step).tolist():
        there = (queries.step == step) & (np.diff(queries.offsets) > 0)
        some = queries.select(np.flatnonzero(there)[:LIFTED])
        if not some.truth.any():
            continue
        feature = some.feature[:, columns].astype(np.float64)
        sizes = np.diff(some.offsets)[:, np.newaxis]
        mean = np.add.reduceat(feature, some.offsets[:-1]) / sizes
        own = mean[part_numbers(some.offsets)[some.truth]]
        lifts = (feature[some.truth] - own).mean(axis=0) * ranking.of(step)
        parts = dict.fromkeys(EvidenceKind, 0.0)
        for kind, lift in zip(kinds, lifts.tolist(), strict=True):
            parts[kind] += lift
        ordered = sorted(parts.items(), key=lambda part: -part[1])
        found[step] = {kind: round(lift, 2) for kind, lift in ordered if round(lift, 2)}
    return found


# --- weights of rules -----------------------------------------------------------------------------


class WeightedRules(NamedTuple):
    """A ranking, weights of path rules by step, scores of held-out queries, and the gain in MRR.

    Each half of the held-out queries measures the gain of the model that the other half chooses.
    """

    ranking: FittedRanking
    own: dict[int, Floats]
    held: Floats
    gain: float


def fit_rule_weights(
    trial: Trial,
    graphs: Sequence[GraphCounter],
    full: GraphCounter,
    rules: Mapping[int, PathRules],
    ranking: FittedRanking,
    portion: Portion,
) -> WeightedRules:
    """Fit weights of features and path rules per step; without a gain, keep `ranking` as it is.

    Parameters
    ----------
    trial
        Training queries, and held-out queries that decide.
    graphs, full
        The graphs without each fold, which answer training queries, and the whole graph, which
        answers held-out queries.
    rules
        Path rules by step.
    ranking
        The model to improve on.
    portion
        Where progress is reported.
    """
    train, held = trial.fitted.informative(), trial.judged
    columns = columns_of(ranking.features)
    steps = [step for step in np.unique(train.step).tolist() if len(rules[step])]
    sizes = [float(np.diff(train.offsets)[train.step == step].sum()) for step in steps]

    def fit(step: int) -> tuple[Floats, Floats, Floats]:
        """Weights of features and rules of a step, and scores of its held-out queries."""
        queries, n = train.select(train.step == step), len(rules[step])
        rows = rows_of(queries, columns)._replace(firings=_by_fold(queries, rules[step], graphs))
        center = np.concatenate([ranking.weights, np.zeros(n)])
        start = np.concatenate([ranking.of(step), np.zeros(n)])
        pull = np.full(len(columns), ranking.penalty or FEATURE_PENALTY)
        penalty = np.concatenate([pull, np.full(n, RULE_PENALTY)])
        scale = np.concatenate([ranking.scale, np.ones(n)])
        weights = fit_softmax(rows, scale, center, penalty, start, portion.work.expired)
        of_features, of_rules = weights[: len(columns)], weights[len(columns) :]
        test = held.select(held.step == step)
        score = linear_scores(test.feature[:, columns], of_features)
        return (
            of_features,
            of_rules,
            score + fired_scores(full.firings(rules[step], test), of_rules),
        )

    fits = dict(portion.each(fit, steps, sizes))
    before, of_row = scores_of(held, ranking), np.repeat(held.step, np.diff(held.offsets))
    after = before.copy()
    for step, (_, _, score) in fits.items():
        after[of_row == step] = score
    gain = trial.sums(reciprocal_ranks_of(held, after) - reciprocal_ranks_of(held, before))
    measured = float(gain[gain[::-1] > 0].sum()) / max(held.n_queries, 1)
    if gain.sum() <= 0:
        return WeightedRules(ranking, {}, before, measured)
    by_step = {**ranking.by_step, **{step: weights for step, (weights, _, _) in fits.items()}}
    own = {step: weights for step, (_, weights, _) in fits.items()}
    return WeightedRules(replace(ranking, by_step=by_step), own, after, measured)


def _by_fold(pool: Pool, rules: PathRules, graphs: Sequence[GraphCounter]) -> Firings:
    """Firings for a pool sorted by fold; sources of fold i are answered from `graphs[i]`."""
    parts = [
        graphs[fold].firings(rules, pool.select(pool.fold == fold))
        for fold in np.unique(pool.fold).tolist()
    ]
    sizes = np.concatenate([np.diff(part.start) for part in parts])
    return Firings(pointers(sizes), np.concatenate([part.rule for part in parts]))
