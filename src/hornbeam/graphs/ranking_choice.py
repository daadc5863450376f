"""The choice of the ranking model's features and penalties, and the MRR that is reported for it.

1. The chosen set of features has the best MRR on queries that weights were not fitted to. So the
   features of the ridge or of constants stay only if they gain, and then that of slots. With
   held-out facts, sets are compared with weights per step, as they will be used: the graph's
   weights alone do not show how much many features gain per step.
2. The penalty, which shrinks steps towards the graph, has the best MRR on such queries, too. The
   graph's model alone is used if no weights per step have a better MRR.
3. In a sparse graph there is a weight per path rule, if held-out queries gain by it
   (`hornbeam.graphs.ranking_fit`).

The MRR that is reported is held out in two ways. *From weights:* judged links are neither fitted to
nor evidence for fitted queries (`measuring_trials`). *From choices:* the best of several figures is
too good on the queries that it was chosen by. Judged links are split into halves, and each half
measures the model that the other half alone would choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.graph.link_hashes import FITTING
from hornbeam.graphs.features import (
    CLASSES,
    COLUMN,
    FEATURES,
    N_PLAIN,
    RIDGE,
    SLOT,
    WITHOUT_RIDGE,
)
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_fit import (
    FittedRanking,
    Trial,
    fit_graph,
    fit_ranking,
    fit_steps,
    reciprocal_ranks_of,
    rows_by_step,
    scores_of,
)
from hornbeam.graphs.softmax import CandidateRows
from hornbeam.graphs.workload import Portion, Workload

#: Sets of features to choose from; features that a graph lacks are dropped.
BASIC = (*RIDGE, *FEATURES[COLUMN.best : N_PLAIN], *(f"{name}_best" for name in CLASSES))
WITH_SUMS = (*BASIC, *(f"{name}_sum" for name in CLASSES))
#: Constants only through the ridge's features.
WITHOUT_CONSTANTS = (
    *RIDGE, *FEATURES[COLUMN.frequency : N_PLAIN], "path_best", "path_noisy_or", "path_sum"
)  # fmt: skip
SETS = (BASIC, WITH_SUMS, FEATURES, WITHOUT_RIDGE, WITHOUT_CONSTANTS)
#: L2 penalties of the distance between a step's weights and the graph's. Without held-out facts to
#: choose by, the usual penalty is used. With held-out facts, weaker penalties are tried next, then
#: stronger penalties.
USUAL_PENALTY = 30.0
WEAKER, STRONGER = (10.0, 3.0), (100.0,)
#: Candidates that feature sets are compared on: a total, or a number per step if that gives more.
COMPARED, COMPARED_PER_STEP = 300_000, 5_000
#: Weights of the halves of judged links.
BOTH, FIRST, SECOND = np.array([1.0, 1.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0])


def choosing_trials(queries: Pool, seed: int) -> list[Trial]:
    """Two trials, each fitted to one half of the queries and evaluated on the other half.

    Both halves have queries of all hidden folds, so judged links are evidence for fitted queries.
    That makes the MRR too high: it serves to compare choices, and is not reported. Missing links
    count as wrong answers in both halves, so overfitting to them is rewarded. The halves therefore
    choose among feature sets only, not among penalties of weights per step.

    Many queries are subsampled to save memory.
    """
    queries = _part(queries, COMPARED)
    even = np.arange(len(queries.source)) % 2 == 0
    halves = queries.select(even), queries.select(~even)
    return [Trial(fitted, judged, seed) for fitted, judged in (halves, reversed(halves))]


def measuring_trials(queries: Pool, seed: int) -> Iterator[Trial]:
    """Two trials per hidden fold, each fitted to half of its links and evaluated on the other half.

    Links of other folds are evidence for the fitted queries, so judged links are of the same fold.
    Weights that are fitted to a(x, y), with b(x, y) as evidence, have seen that both links are
    there. For the same reason both directions of a link are in the same half, and fitted queries
    count judged answers as wrong.

    Many queries are subsampled to save memory, and every trial is made when it is asked for.
    """
    queries = _part(queries, COMPARED)
    for fold in np.unique(queries.fold).tolist():
        of_fold = queries.select(queries.fold == fold)
        first, second = of_fold.truth.copy(), of_fold.truth.copy()
        first[of_fold.truth] = of_fold.in_first_half(seed, FITTING)
        second &= ~first
        # an answer that is not among the candidates has no rank in either half
        missed = of_fold.missed // 2
        nothing, none = np.zeros_like(first), np.zeros_like(missed)
        for fitted, judged, lost in (
            (first, second, missed),
            (second, first, of_fold.missed - missed),
        ):
            learned_from = of_fold.asking(fitted, nothing, none)
            yield Trial(learned_from, of_fold.asking(judged, fitted, lost), seed)


class _Option(NamedTuple):
    """A model that may be chosen, fitted in every trial, with the sum of 1 / rank of each half."""

    rankings: list[FittedRanking]
    sums: Floats

    @classmethod
    def of(cls, trials: Sequence[Trial], rankings: list[FittedRanking]) -> _Option:
        """Evaluate the ranking of every trial on the trial's judged queries."""
        sums = np.zeros(2)
        for trial, ranking in zip(trials, rankings, strict=True):
            sums += trial.sums(reciprocal_ranks_of(trial.judged, scores_of(trial.judged, ranking)))
        return cls(rankings, sums)

    @property
    def features(self) -> tuple[str, ...]:
        """The features of all rankings."""
        return self.rankings[0].features

    @property
    def penalty(self) -> float | None:
        """The penalty of all rankings, None without weights per step."""
        return self.rankings[0].penalty


@dataclass(eq=False)
class _FeatureSet:
    """The models of a set of features; each model is fitted once, whichever queries choose.

    `compared` is fitted to parts of the trials' queries; the other models start from its weights.
    """

    compared: _Option
    trials: Sequence[Trial]
    work: Workload
    _by_penalty: dict[float, _Option] = field(default_factory=dict)

    @cached_property
    def graph(self) -> _Option:
        """The graph's weights, fitted to all queries of the trials."""
        before = self.compared.rankings
        if self.work.expired(0.9):
            rankings = [replace(fit, by_step={}, penalty=None) for fit in before]
        else:
            rankings = [
                fit_graph(trial.fitted, fit.features, fit.weights, self.work)
                for trial, fit in zip(self.trials, before, strict=True)
            ]
        return _Option.of(self.trials, rankings)

    @cached_property
    def rows(self) -> list[dict[int, CandidateRows]]:
        """Fitted queries of every trial by step, with these features; penalties share them."""
        return [rows_by_step(trial.fitted, self.compared.features) for trial in self.trials]

    def with_penalty(self, penalty: float, share: float) -> _Option:
        """Weights per step with a penalty; fitting starts from the previous penalty's weights."""
        if penalty not in self._by_penalty:
            start = [self.compared, *self._by_penalty.values()][-1].rankings
            portion = Portion(self.work, share / (6 * len(self.trials)))
            rankings = []
            for rows, graph, fit in zip(self.rows, self.graph.rankings, start, strict=True):
                rankings.append(fit_steps(rows, graph, penalty, fit.by_step, portion))
            self._by_penalty[penalty] = _Option.of(self.trials, rankings)
        return self._by_penalty[penalty]


@dataclass(frozen=True, eq=False)
class _FeatureSets:
    """Sets of features to choose from; `fit` makes a further one."""

    sets: Sequence[_FeatureSet]
    fit: Callable[[tuple[str, ...]], _FeatureSet]
    _without_slots: dict[tuple[str, ...], _FeatureSet] = field(default_factory=dict)

    def best(self, total: Callable[[_Option], float]) -> _FeatureSet:
        """The best set by a total, with or without the feature of slots."""

        def by(features: _FeatureSet) -> float:
            return total(features.compared)

        best = max(self.sets, key=by)
        names = best.compared.features
        others = tuple(name for name in names if name != SLOT)
        if others == names or self.sets[0].work.expired(0.9):
            return best
        if others not in self._without_slots:
            self._without_slots[others] = self.fit(others)
        return max(best, self._without_slots[others], key=by)


def _best(
    sets: _FeatureSets, by: Floats, share: float, per_step: bool, choose_penalty: bool
) -> _Option:
    """The best features and penalty, or the graph's model alone; `by` has a weight per half."""

    def total(option: _Option) -> float:
        return float((by * option.sums).sum())

    chosen = sets.best(total)
    best = chosen.graph

    def is_better(penalty: float) -> bool:
        """Whether weights per step with a penalty are the best so far."""
        nonlocal best
        tried = chosen.with_penalty(penalty, share)
        better = total(tried) > total(best)
        best = tried if better else best
        return better

    if per_step:
        is_better(USUAL_PENALTY)
        for others in (WEAKER, STRONGER) if choose_penalty else ():
            left = (penalty for penalty in others if not chosen.work.expired(0.9))
            if list(takewhile(is_better, left)):
                break
    return best


class ChosenRanking(NamedTuple):
    """The chosen ranking, fitted to every trial, and the MRR of held-out queries.

    The MRR is None where the time limit left no time to measure it.
    """

    rankings: list[FittedRanking]
    mrr: float | None


def choose_ranking(
    trials: Sequence[Trial],
    available: Sequence[str],
    work: Workload,
    per_step: bool = True,
    share: float = 0.2,
    measured_by: Iterable[Trial] | None = None,
    sets: Sequence[Sequence[str]] = SETS,
) -> ChosenRanking:
    """Choose features among those available, and a penalty, or the graph's model alone.

    Parameters
    ----------
    trials
        Trials whose judged queries choose.
    available
        Features that the queries have.
    work, share
        Where progress is reported, and the fraction of the whole work that the choice takes.
    per_step
        Whether steps may have their own weights.
    measured_by
        Trials to measure the MRR by, if judged links of `trials` are evidence for fitted queries.
        Then `trials` compare sets of features by the graph's weights, and try the usual penalty
        only.
    sets
        Sets of features to choose from; features that are not available are dropped.
    """
    trials = [replace(trial, fitted=trial.fitted.informative()) for trial in trials]
    decide = measured_by is None
    distinct = dict.fromkeys(tuple(name for name in names if name in available) for names in sets)
    fitted = _fitted_sets(trials, list(distinct), work, share / 2, per_step and decide)
    chosen = _best(fitted, BOTH, share, per_step, decide)
    measured = [_best(fitted, half, 0.0, per_step, decide) for half in (SECOND, FIRST)]
    if measured_by is not None:
        del fitted, trials  # free their copies of queries before further copies are made
        return ChosenRanking(chosen.rankings, _measured_anew(measured_by, measured, work))
    first, second = measured
    n_queries = sum(trial.judged.n_queries for trial in trials)
    return ChosenRanking(chosen.rankings, float(first.sums[0] + second.sums[1]) / max(n_queries, 1))


def _measured_anew(
    trials: Iterable[Trial], chosen: Sequence[_Option], work: Workload
) -> float | None:
    """MRR of the choices for each half, fitted to other trials; None where the time ran out."""
    sums, n_queries = np.zeros(2), 0
    for trial in trials:
        fits: dict[tuple[tuple[str, ...], float | None], _Option] = {}
        for half, option in enumerate(chosen):
            choices = option.features, option.penalty
            if choices not in fits:
                fits[choices] = _Option.of([trial], [fit_ranking(trial.fitted, *choices, work)])
            sums[half] += fits[choices].sums[half]
        n_queries += trial.judged.n_queries
    return None if work.expired() else float(sums.sum()) / max(n_queries, 1)


def _fitted_sets(
    trials: Sequence[Trial],
    distinct: Sequence[tuple[str, ...]],
    work: Workload,
    share: float,
    per_step: bool,
) -> _FeatureSets:
    """Every set of features, fitted to parts of the trials: for the graph, or per step."""
    parts = [
        _part(pool, max(COMPARED, COMPARED_PER_STEP * len(np.unique(pool.step))))
        for pool in (trial.fitted for trial in trials)
    ]
    share /= (len(distinct) + 1) * len(trials)

    def fit(part: Pool, features: tuple[str, ...]) -> FittedRanking:
        graph = fit_graph(part, features, None, work)
        if not per_step:
            work.advance(share)
            return graph
        parts = rows_by_step(part, features)
        return fit_steps(parts, graph, USUAL_PENALTY, {}, Portion(work, share))

    def fitted(features: tuple[str, ...]) -> _FeatureSet:
        compared = _Option.of(trials, [fit(part, features) for part in parts])
        return _FeatureSet(compared, trials, work)

    sets = list[_FeatureSet]()
    for features in distinct:
        if not sets or not work.expired(0.9):
            sets.append(fitted(features))
    return _FeatureSets(sets, fitted)


def _part(pool: Pool, rows: int) -> Pool:
    """Every k-th source of a pool, so that about `rows` candidates remain."""
    every = -(-len(pool.entity) // rows)
    return pool if every <= 1 else pool.select(np.arange(0, len(pool.source), every))
