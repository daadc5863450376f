"""Learning a graph with time: one sweep counts the rules and gathers the queries to fit.

Training queries are those of the later half of the facts. Each is answered by what came before it,
with confidences counted over the queries before it (`timed_kernels`). Features, penalty and the
probabilities are chosen by held-out facts; without them, by the latest fifth of the queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.errors import InputError
from hornbeam.facts.events import Events
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_stages import fair_share
from hornbeam.graphs.model_parts import direction_of
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_choice import choose_ranking
from hornbeam.graphs.ranking_fit import FittedRanking, Trial, fit_ranking, scores_of
from hornbeam.graphs.ranking_model import (
    Calibration,
    LinkedShares,
    RankingModel,
    RelationRules,
)
from hornbeam.graphs.softmax import fit_calibration, softmax_log_odds
from hornbeam.graphs.timed.timed_features import TIMED_FEATURES
from hornbeam.graphs.timed.timed_queries import TimedGraph, binary, selected
from hornbeam.graphs.timed.timed_rules import TimedRule, rules_of_table
from hornbeam.graphs.timed.timeline import RuleTable, StepQueries
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.rules.codes import predicate_of, step_code
from hornbeam.rules.provenance import significant

#: Candidates of a training query, and of a query that is answered.
TRAINED, ANSWERED = 80, 300
#: Training queries of all steps, and queries of a step that its rules are counted over.
QUERIES, COUNTED = 30_000, 20_000
#: Fraction of the training queries, the latest ones, that choose where no facts are held out.
JUDGED = 0.2
#: The ranking if no query could be fitted: earlier answers, then the rules for a pair.
UNFITTED_TIMED = FittedRanking(("again_ever", "rule_sum"), np.ones(2), np.ones(2), {}, None)


class SweptStep(NamedTuple):
    """What the sweep of a step found: its rules, and the number of queries that it has."""

    rules: tuple[TimedRule, ...]
    queries: int


class SweptQueries(NamedTuple):
    """Training queries of a step with their times, and held-out queries."""

    train: Pool
    time: Ints
    held: Pool | None


def learn_events(
    facts: Facts, valid: Facts | None, relations: list[str] | None, seed: int, work: Workload,
    per_relation: bool = True,
) -> RankingModel:  # fmt: skip
    """Learn the rules of every relation in both directions, and how to rank answers by them.

    Parameters
    ----------
    facts, valid
        Facts with times; held-out facts, which only choose.
    relations
        The relations to learn, which the facts have; None for all.
    seed
        For the choice of training queries.
    work
        Where progress is reported, and the time limit.
    per_relation
        Whether relations have weights of their own.
    """
    whole = facts if valid is None else facts + valid
    sizes = len(whole.entities), len(whole.predicates)
    graph = TimedGraph.of(_events_of(facts, whole), *sizes)
    held = None if valid is None else _Held.of(graph, valid, whole)
    relation_numbers = np.flatnonzero(np.diff(graph.first)).tolist()
    if relations is not None:
        relation_numbers = sorted({whole.predicates.index(name) for name in relations})
    steps = [step_code(number, inverse) for number in relation_numbers for inverse in (False, True)]
    chosen = _training_queries(graph, steps, seed)

    def sweep_step(step: int) -> tuple[SweptStep, SweptQueries]:
        return _swept_step(graph, held, step, chosen[step], whole.predicates)

    work_sizes = [float(len(queries.source)) + 1.0 for queries in chosen.values()]
    swept = list(Portion(work, 0.5).each(sweep_step, steps, work_sizes))
    found = {step: part for step, (part, _) in swept}
    queries = [part for _, (_, part) in swept]
    del swept  # so that queries are held by their list alone, which `_trial` empties
    ranking, calibration, mrr = _fitted(queries, seed, work, per_relation)
    return RankingModel(
        relations=tuple(
            RelationRules(
                whole.predicates[predicate_of(step)], direction_of(step), swept_step.queries,
                swept_step.rules, (),
                _own_weights(ranking, step),
            )
            for step, swept_step in found.items()
        ),
        features=ranking.features,
        weights=tuple(significant(ranking.weights).tolist()),
        ridge=None,
        constants=False,
        backward=False,
        slots=False,
        pool=ANSWERED,
        max_length=1,
        calibration=Calibration(
            *significant([calibration.slope, calibration.intercept]).tolist()
        ),
        linked=LinkedShares(0.0),
        seed=seed,
        chosen={
            "facts": len(graph.events),
            "entities": len(facts.entities),
            "penalty": ranking.penalty,
            "rule_weights": "no",
            "held_out": "none" if mrr is None else "later" if valid is None else "valid",
            "held_out_mrr": mrr,
            "stopped_early": "yes" if work.expired() else "no",
        },
        time=graph.scale,
    )  # fmt: skip


def _own_weights(ranking: FittedRanking, step: int) -> tuple[float, ...] | None:
    """The weights of a step, None if it has those of the graph."""
    return tuple(significant(ranking.by_step[step]).tolist()) if step in ranking.by_step else None


class _Held(NamedTuple):
    """The graph of all facts with the held-out ones, and the held-out events."""

    graph: TimedGraph
    events: TimedGraph

    @classmethod
    def of(cls, train: TimedGraph, valid: Facts, whole: Facts) -> _Held:
        """Held-out facts are history of later held-out queries, never of training queries."""
        sizes = len(whole.entities), len(whole.predicates)
        events = whole.events, binary(_events_of(valid, whole))
        assert events[0] is not None
        return cls(TimedGraph.of(events[0], *sizes, train.scale), train.over(events[1]))


def _events_of(facts: Facts, whole: Facts) -> Events:
    """The events of facts by the ids of all names."""
    if facts.events is None:
        raise InputError("held-out facts without a time beside facts with one; expected a time")
    to_entity = facts.entities.translate(whole.entities)
    return facts.events.moved(to_entity, facts.predicates.translate(whole.predicates))


def _training_queries(graph: TimedGraph, steps: Sequence[int], seed: int) -> dict[int, StepQueries]:
    """The queries of every step: which are counted, and which are gathered to be fitted.

    Steps share the gathered queries fairly: each gives all that it has, or the same number.
    """
    middle = np.median(graph.events.time) if len(graph.events) else 0
    queries = {step: graph.queries(step) for step in steps}
    late = {step: np.flatnonzero(queries[step].time >= middle) for step in steps}
    most = fair_share(np.array([len(rows) for rows in late.values()]), QUERIES)
    chosen = dict[int, StepQueries]()
    for step, asked in queries.items():
        random = np.random.default_rng([seed, step])
        n = len(asked.source)
        gathered, counted = np.zeros(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
        rows = late[step]
        if len(rows) > most:
            rows = random.choice(rows, most, replace=False)
        gathered[rows] = True
        if n > COUNTED:
            counted[:] = False
            counted[random.choice(n, COUNTED, replace=False)] = True
        kept = gathered | counted
        whole = asked._replace(gathered=gathered, counted=counted)
        chosen[step] = whole if kept.all() else selected(whole, kept)
    return chosen


def _swept_step(
    graph: TimedGraph, held: _Held | None, step: int, queries: StepQueries, predicates: Names
) -> tuple[SweptStep, SweptQueries]:
    """Count the rules of a step, and gather its training queries and held-out queries."""
    table = RuleTable.empty(graph.n_relations, graph.scale)
    train, gathered = graph.answered(step, queries, table, TRAINED)
    rules = rules_of_table(predicates, step, table)
    judged = None
    if held is not None:
        asked = held.events.queries(step)
        asked = asked._replace(gathered=asked.counted, counted=asked.gathered)
        judged, _ = held.graph.answered(step, asked, table, TRAINED)
    return SweptStep(rules, len(queries.source)), SweptQueries(train, gathered.time, judged)


class _Fitted(NamedTuple):
    """The ranking, its calibration, and the MRR of held-out queries, None if there are none."""

    ranking: FittedRanking
    calibration: Calibration
    mrr: float | None


def _fitted(queries: list[SweptQueries], seed: int, work: Workload, per_relation: bool) -> _Fitted:
    """Choose and fit the ranking by held-out queries, or by the latest of the training queries."""
    if not queries:
        return _Fitted(UNFITTED_TIMED, Calibration(), None)
    is_held = queries[0].held is not None
    trial = _trial(queries, seed)
    if not (len(trial.fitted.source) and len(trial.judged.informative().source)):
        return _Fitted(UNFITTED_TIMED, Calibration(), None)
    rankings, mrr = choose_ranking(
        [trial], TIMED_FEATURES, work, per_relation, 0.4, sets=(TIMED_FEATURES,)
    )
    [ranking] = rankings
    judged = trial.judged
    odds = softmax_log_odds(judged.offsets, scores_of(judged, ranking))
    calibration = fit_calibration(odds, judged.truth)
    if not is_held and not work.expired():
        train = Pool.concatenated([trial.fitted, judged])
        ranking = fit_ranking(train, ranking.features, ranking.penalty, work, ranking, 0.1)
    return _Fitted(ranking, calibration, mrr)


def _trial(queries: list[SweptQueries], seed: int) -> Trial:
    """Training queries that move weights, and queries that choose; empties the list of parts."""
    time = np.concatenate([part.time for part in queries])
    train = Pool.concatenated([part.train for part in queries])
    held = [part.held for part in queries if part.held is not None]
    queries.clear()
    if held:
        return Trial(train.informative(), Pool.concatenated(held), seed)
    late = time >= np.quantile(time, 1.0 - JUDGED) if len(time) else np.zeros(0, np.bool_)
    return Trial(train.select(~late).informative(), train.select(late), seed)
