"""A weight of its own for every path rule, if held-out queries gain by it.

In addition to its confidence, a rule has a weight in the score of every candidate that it fires
for. Weights of features and rules are fitted together per step, those of rules shrunk towards 0.
That gains in sparse graphs, where few rules fire and each does often; in dense ones it overfits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, part_numbers, pointers
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_choice import Trial
from hornbeam.graphs.ranking_fit import (
    FittedRanking,
    columns_of,
    reciprocal_ranks_of,
    rows_of,
    scores_of,
)
from hornbeam.graphs.softmax import (
    Firings,
    fired_scores,
    fit_softmax,
    linear_scores,
)
from hornbeam.graphs.workload import Workload

#: L2 penalty of a rule's weight, and of the features' if the graph's model alone was best.
RULE_PENALTY, FEATURE_PENALTY = 3.0, 30.0


class WeightedRules(NamedTuple):
    """A ranking, the weights of path rules by step, scores of held-out queries, and their gain.

    The gain in the MRR of each half of these queries is that of what the other half chooses.
    """

    ranking: FittedRanking
    own: dict[int, Floats]
    held: Floats
    gain: float


class _StepFit(NamedTuple):
    """Weights of features and rules of a step, and scores of its held-out queries.

    `gain` is what the weights of rules add to 1 / rank of every true answer.
    """

    features: Floats
    rules: Floats
    score: Floats
    gain: Floats


def fit_rule_weights(
    trial: Trial,
    graphs: Sequence[GraphCounter],
    full: GraphCounter,
    rules: Mapping[int, PathRules],
    ranking: FittedRanking,
    work: Workload,
    share: float,
) -> WeightedRules:
    """Weights of features and path rules per step; those of `ranking` if these gain nothing.

    Parameters
    ----------
    trial
        Training queries, and held-out queries that decide.
    graphs, full
        The graphs that the folds' queries and the held-out queries are answered from.
    rules
        Path rules by step.
    ranking
        The model to improve on.
    work, share
        Where progress is reported, and which fraction of the whole work this is.
    """
    train, held = trial.fitted.informative(), trial.judged
    columns = columns_of(ranking.features)
    steps = [step for step in np.unique(train.step).tolist() if len(rules[step])]
    sizes = [float(np.diff(train.offsets)[train.step == step].sum()) for step in steps]

    def one(step: int) -> _StepFit:
        part = train.select(train.step == step)
        firings = _by_fold(part, rules[step], graphs)
        rows = rows_of(part, columns)._replace(firings=firings)
        n = len(rules[step])
        center = np.concatenate([ranking.weights, np.zeros(n)])
        start = np.concatenate([ranking.of(step), np.zeros(n)])
        pull = np.full(len(columns), ranking.penalty or FEATURE_PENALTY)
        penalty = np.concatenate([pull, np.full(n, RULE_PENALTY)])
        scale = np.concatenate([ranking.scale, np.ones(n)])
        weights = fit_softmax(rows, scale, center, penalty, start, work.expired)
        test = held.select(held.step == step)
        feature = test.feature[:, columns]
        before = linear_scores(feature, ranking.of(step))
        after = linear_scores(feature, weights[: len(columns)])
        after += fired_scores(full.firings(rules[step], test), weights[len(columns) :])
        gain = reciprocal_ranks_of(test, after) - reciprocal_ranks_of(test, before)
        return _StepFit(weights[: len(columns)], weights[len(columns) :], after, gain)

    fitted = work.each(one, steps, sizes, share)
    found = {step: fit for step, fit in zip(steps, fitted, strict=True) if fit is not None}
    score = scores_of(held, ranking)
    gain = _gains(trial, found)
    measured = float(gain[gain[::-1] > 0].sum()) / max(held.n_queries, 1)
    if gain.sum() <= 0:
        return WeightedRules(ranking, {}, score, measured)
    of = np.repeat(held.step, np.diff(held.offsets))
    for step, fit in found.items():
        score[of == step] = fit.score
    by_step = dict(ranking.by_step) | {step: fit.features for step, fit in found.items()}
    own = {step: fit.rules for step, fit in found.items()}
    return WeightedRules(replace(ranking, by_step=by_step), own, score, measured)


def _gains(trial: Trial, fits: Mapping[int, _StepFit]) -> Floats:
    """Sums of the gain in 1 / rank over both halves of the held-out queries."""
    held = trial.judged
    step = held.step[part_numbers(held.offsets)[held.truth]]
    gain = np.zeros(len(step))
    for one, fit in fits.items():
        gain[step == one] = fit.gain
    return trial.sums(gain)


def _by_fold(pool: Pool, rules: PathRules, graphs: Sequence[GraphCounter]) -> Firings:
    """Firings of a pool whose sources are answered from several graphs, fold after fold."""
    parts = [
        graphs[fold].firings(rules, pool.select(pool.fold == fold))
        for fold in np.unique(pool.fold).tolist()
    ]
    sizes = np.concatenate([np.diff(part.start) for part in parts])
    return Firings(pointers(sizes), np.concatenate([part.rule for part in parts]))
