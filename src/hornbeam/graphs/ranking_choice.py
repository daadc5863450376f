"""The choice of the ranking model's features and penalties, and what it is worth.

1. The set of features with the best MRR on queries that it was not fitted to is taken, so that the
   ridge's features, or those of constants, stay only if they gain. With held-out facts, sets are
   compared with weights per step, as they are used: the graph's weights alone do not show what many
   features gain per step.
2. The penalty that shrinks steps towards the graph, or the graph's model alone, by such queries.
3. In a sparse graph a weight per path rule, if held-out queries gain by it
   (`hornbeam.graphs.ranking_fit`).

The MRR that is reported is held out in two ways. *From weights:* judged links are neither fitted to
nor evidence for fitted queries (`measuring_trials`). *From choices:* the best of several figures is
too good on the queries that it was chosen by. Judged links are split into halves, and each half
measures what the other half alone would choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.graph.link_hashes import FITTING
from hornbeam.graphs.features import CLASSES, COLUMN, FEATURES, N_PLAIN, RIDGE, WITHOUT_RIDGE
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
#: L2 penalties of the distance between a step's weights and the graph's. The usual one is used
#: without held-out facts to choose by; with held-out facts the weaker ones are tried first, then
#: the stronger ones.
USUAL_PENALTY = 30.0
WEAKER, STRONGER = (10.0, 3.0), (100.0,)
#: Number of candidates that feature sets are compared on: the larger of a total and one per step.
COMPARED, COMPARED_PER_STEP = 300_000, 5_000
#: Weights of the halves of judged links.
BOTH, FIRST, SECOND = np.array([1.0, 1.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0])


def choosing_trials(queries: Pool, seed: int) -> list[Trial]:
    """Two trials, each fitted to one half of the queries and evaluated on the other.

    Both halves have queries of all hidden folds, so judged links are evidence for fitted queries,
    which makes their MRR too high: it compares choices, and is not reported. Missing links count as
    wrong answers in both halves, so overfitting them is rewarded; halves therefore choose among
    feature sets only, not the penalty of weights per step.

    Many queries are subsampled to save memory.
    """
    queries = _part(queries, COMPARED)
    even = np.arange(len(queries.source)) % 2 == 0
    halves = queries.select(even), queries.select(~even)
    return [Trial(one, other, seed) for one, other in (halves, reversed(halves))]


def measuring_trials(queries: Pool, seed: int) -> list[Trial]:
    """Two trials per hidden fold, each fitted to half of its links and evaluated on the other half.

    Links of other folds are evidence for the fitted queries, so judged links are of the same fold:
    weights that were fitted to a(x, y), with b(x, y) as evidence, have seen that both links are
    there. For the same reason a link is in one half with both of its directions, and fitted queries
    count judged answers as wrong.

    Many queries are subsampled to save memory.
    """
    queries, trials = _part(queries, COMPARED), list[Trial]()
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
            trials.append(Trial(learned_from, of_fold.asking(judged, fitted, lost), seed))
    return trials


class _Option(NamedTuple):
    """A model to choose, fitted in every trial, with sums of 1 / rank over both halves."""

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
class _Options:
    """The models to choose from, each fitted once, whichever queries choose."""

    trials: Sequence[Trial]
    sets: list[_Option]
    work: Workload
    per_step: bool
    choose_penalty: bool
    _graphs: dict[tuple[str, ...], _Option] = field(default_factory=dict)
    _fits: dict[tuple[str, ...], dict[float, _Option]] = field(default_factory=dict)
    _copies: dict[tuple[str, ...], list[dict[int, CandidateRows]]] = field(default_factory=dict)

    def best(self, by: Floats, share: float) -> _Option:
        """The best features and penalty, or the graph's model alone; `by` weighs both halves."""

        def total(option: _Option) -> float:
            return float((by * option.sums).sum())

        chosen = max(self.sets, key=total)
        best = self._graph(chosen)
        if not self.per_step:
            return best

        def try_penalty(penalty: float) -> bool:
            """Whether weights per step with a penalty are the best so far."""
            nonlocal best
            tried = self._with_penalty(chosen, penalty, share / (6 * len(self.trials)))
            better = total(tried) > total(best)
            best = tried if better else best
            return better

        try_penalty(USUAL_PENALTY)
        for others in (WEAKER, STRONGER) if self.choose_penalty else ():
            better = False
            for penalty in others:
                if self.work.expired(0.9) or not try_penalty(penalty):
                    break
                better = True
            if better:
                break
        return best

    def _graph(self, chosen: _Option) -> _Option:
        """The graph's weights of the chosen features, fitted to all queries of the trials."""
        if chosen.features not in self._graphs:
            if self.work.expired(0.9):
                rankings = [replace(fit, by_step={}, penalty=None) for fit in chosen.rankings]
            else:
                rankings = [
                    fit_graph(trial.fitted, fit.features, fit.weights, self.work)
                    for trial, fit in zip(self.trials, chosen.rankings, strict=True)
                ]
            self._graphs[chosen.features] = _Option.of(self.trials, rankings)
        return self._graphs[chosen.features]

    def _with_penalty(self, chosen: _Option, penalty: float, share: float) -> _Option:
        """Weights per step with a penalty, which start from those of the penalty before."""
        features = chosen.features
        fits = self._fits.setdefault(features, {})
        if penalty not in fits:
            start = [*fits.values()][-1] if fits else chosen
            rankings = [
                fit_steps(part, graph, penalty, fit.by_step, Portion(self.work, share))
                for part, graph, fit in zip(
                    self._rows(features), self._graph(chosen).rankings, start.rankings, strict=True
                )
            ]
            fits[penalty] = _Option.of(self.trials, rankings)
        return fits[penalty]

    def _rows(self, features: tuple[str, ...]) -> list[dict[int, CandidateRows]]:
        """Fitted queries of every trial by step; only the last features' copies are kept."""
        if features not in self._copies:
            self._copies.clear()
            self._copies[features] = [rows_by_step(trial.fitted, features) for trial in self.trials]
        return self._copies[features]


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
    measured_by: Sequence[Trial] | None = None,
) -> ChosenRanking:
    """Choose features among those available, and a penalty, or the graph's model alone.

    Parameters
    ----------
    trials
        What chooses.
    available
        Features that the queries have.
    work, share
        Where progress is reported, and which fraction of the whole work this is.
    per_step
        Whether steps may have their own weights.
    measured_by
        Trials to measure the MRR by, where judged links of `trials` are evidence for fitted
        queries. Such `trials` compare sets of features by the graph's weights, and do not choose
        another penalty than the usual one.
    """
    trials = [replace(trial, fitted=trial.fitted.informative()) for trial in trials]
    decide = measured_by is None
    sets = _fitted_sets(trials, available, work, share / 2, per_step and decide)
    options = _Options(trials, sets, work, per_step, decide)
    chosen = options.best(BOTH, share)
    measured = [options.best(half, 0.0) for half in (SECOND, FIRST)]
    if measured_by is not None:
        trials, measured = measured_by, _fitted_anew(measured_by, measured, work)
        if work.expired():
            return ChosenRanking(chosen.rankings, None)
    first, second = measured
    n_queries = sum(trial.judged.n_queries for trial in trials)
    return ChosenRanking(chosen.rankings, float(first.sums[0] + second.sums[1]) / max(n_queries, 1))


def _fitted_anew(
    trials: Sequence[Trial], chosen: Sequence[_Option], work: Workload
) -> list[_Option]:
    """The same choices, fitted to other trials."""
    fits: dict[tuple[tuple[str, ...], float | None], _Option] = {}
    for option in chosen:
        choices = option.features, option.penalty
        if choices not in fits:
            rankings = [fit_ranking(trial.fitted, *choices, work) for trial in trials]
            fits[choices] = _Option.of(trials, rankings)
    return [fits[option.features, option.penalty] for option in chosen]


def _fitted_sets(
    trials: Sequence[Trial], available: Sequence[str], work: Workload, share: float, per_step: bool
) -> list[_Option]:
    """Every set of features, fitted to parts of the trials: for the graph, or per step."""
    distinct: list[tuple[str, ...]] = []
    for one in SETS:
        features = tuple(name for name in one if name in available)
        if features not in distinct:
            distinct.append(features)
    parts = [_compared(trial.fitted) for trial in trials]
    share /= len(distinct) * len(trials)

    def fit(part: Pool, features: tuple[str, ...]) -> FittedRanking:
        graph = fit_graph(part, features, None, work)
        if not per_step:
            work.advance(share)
            return graph
        parts = rows_by_step(part, features)
        return fit_steps(parts, graph, USUAL_PENALTY, {}, Portion(work, share))

    options = list[_Option]()
    for features in distinct:
        if not options or not work.expired(0.9):
            options.append(_Option.of(trials, [fit(part, features) for part in parts]))
    return options


def _compared(pool: Pool) -> Pool:
    """The part of a pool that sets of features are fitted to."""
    return _part(pool, max(COMPARED, COMPARED_PER_STEP * len(np.unique(pool.step))))


def _part(pool: Pool, rows: int) -> Pool:
    """Every k-th source of a pool, so that about `rows` candidates remain."""
    every = -(-len(pool.entity) // rows)
    return pool if every <= 1 else pool.select(np.arange(0, len(pool.source), every))
