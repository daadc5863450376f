"""Answers of queries at a time, by a model of a graph whose facts have times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints
from hornbeam.base.choices import FilterTime, History
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.events import Events, check_units, warn_of_no_past
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graphs.features import columns_of
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.softmax import linear_scores
from hornbeam.graphs.softmax_ranker import SoftmaxRanker, best_first
from hornbeam.graphs.timed.time_scale import TimeScale
from hornbeam.graphs.timed.timed_features import PARTNER_SHARE
from hornbeam.graphs.timed.timed_queries import QueryTimes, TimedGraph, open_queries
from hornbeam.graphs.timed.timed_rules import TimedRule, numbered_rules, table_of_rules
from hornbeam.graphs.timed.timeline import RuleTable
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Answers, Direction, Queries, Triples
from hornbeam.ranking.rank_evaluation import GraphEvaluation, evaluate_events
from hornbeam.rules.codes import step_code


class TimedStep(NamedTuple):
    """Rules and weights of a model for one step, in the ids of facts."""

    rules: Mapping[int, TimedRule]  #: by the step in the body
    table: RuleTable
    weights: Floats


@dataclass(frozen=True, eq=False)
class TimedRanker(SoftmaxRanker):
    """Answers queries from the events before their time; without a time, from all events.

    Known links are answers like others: they may be true again.

    Parameters
    ----------
    facts, types
        Facts with times.
    events
        The events to answer from, by default those of the facts.
    """

    events: Events

    repeats: ClassVar[bool] = True

    @classmethod
    def of(cls, model: RankingModel, facts: Facts, *, threads: int | None = None) -> TimedRanker:
        """A ranker over facts with times, of the model's unit."""
        if facts.events is None:
            raise InputError(
                "the model was learned from facts with a time, and the facts have none: read them "
                "with `time`"
            )
        ranker = cls(facts, ArgumentTypes(facts), model, facts.events, threads=threads)
        check_units(ranker.scale.unit, facts.events.unit)
        return ranker

    @property
    def scale(self) -> TimeScale:
        """How the model measures time."""
        assert self.model.time is not None
        return self.model.time

    @property
    def now(self) -> int:
        """The time of queries without one: right after the last event."""
        return int(self.events.time[-1]) + 1 if len(self.events) else 0

    @cached_property
    def timed(self) -> TimedGraph:
        """The events as arrays."""
        sizes = len(self.facts.entities), len(self.facts.predicates)
        return TimedGraph.of(self.events, *sizes, self.scale)

    @cached_property
    def graph(self) -> LinkedGraph:
        """The links of all times as a graph."""
        return LinkedGraph.of(self.facts)

    @cached_property
    def steps(self) -> dict[int, TimedStep]:
        """Rules and weights of every step whose relation the facts have, by ascending step."""
        numbers = {name: number for number, name in enumerate(self.facts.predicates)}
        found = dict[int, TimedStep]()
        for part in self.model.relations:
            if part.relation in numbers:
                step = step_code(numbers[part.relation], part.direction is Direction.SUBJECT)
                rules = numbered_rules(part, numbers)
                weights = self.model.weights if part.weights is None else part.weights
                table = table_of_rules(rules, len(numbers), self.scale)
                found[step] = TimedStep(rules, table, np.array(weights))
        return dict(sorted(found.items()))

    def with_facts(self, new: Input) -> TimedRanker:
        """The same ranker over the facts and new ones, as if they had been read together."""
        ranker = TimedRanker.of(self.model, self.facts + as_facts(new), threads=self.threads)
        return replace(ranker, types=replace(ranker.types, names=self.types.names))

    def without_facts(self, triples: Triples) -> TimedRanker:
        """Itself: a fact is no evidence at its own time, and evidence at later times."""
        return self

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """The candidates of every query, best first; all other entities tie below them."""
        step, time = queries.step, self.times_of(queries)
        warn_of_no_past(self.events, time, ("query", "queries"))
        known = np.isin(step, list(self.steps)) & (queries.known >= 0) & (queries.relation >= 0)
        times = np.unique(time)
        key = pair_keys(step, np.searchsorted(times, time), len(times) + 1)
        key = pair_keys(key, queries.known, max(len(self.facts.entities), 1))
        distinct, first = np.unique(key[known], return_index=True)
        asked = queries.select(np.flatnonzero(known)[first])
        at, codes = self.times_of(asked), asked.step
        parts = [
            (code, QueryTimes(asked.known[rows], at[rows]))
            for code in np.unique(codes).tolist()
            for rows in [np.flatnonzero(codes == code)]
        ]
        work = Workload(progress, "Ranking answers", threads=self.threads)
        with announced(progress):
            _ = self.timed, self.steps
            sizes = [len(part.source) + 5.0 for _, part in parts]
            done = [part for _, part in Portion(work, 1.0).each(self._ranked, parts, sizes)]
        place = np.where(known, np.searchsorted(distinct, key), len(distinct))
        return Answers.concatenated([*done, Answers.none(1)]).take(place)

    def times_of(self, queries: Queries) -> Ints:
        """When queries are asked; those without a time are asked now."""
        return np.full(len(queries), self.now) if queries.time is None else queries.time

    def scored(self, step: int, asked: QueryTimes) -> tuple[Pool, Floats]:
        """Candidates of queries of one step, in the order of time and source, with their scores."""
        model, features = self.steps[step], self.model.features
        pool, _ = self.timed.answered(
            step, open_queries(asked), model.table, self.model.pool, PARTNER_SHARE in features
        )
        pool = replace(pool, feature=pool.feature[:, columns_of(features)])
        return pool, linear_scores(pool.feature, model.weights)

    def _ranked(self, part: tuple[int, QueryTimes]) -> Answers:
        """The candidates of the queries of one step, best first; queries are sorted by time."""
        return best_first(*self.scored(*part))

    def seeing(self, tables: Sequence[Facts]) -> TimedRanker:
        """The same ranker over the facts and further ones, each seen after its time."""
        whole = self.facts
        for table in tables:
            whole = whole + table
        return TimedRanker.of(self.model, whole, threads=self.threads)

    def evaluate(
        self,
        test: Input,
        filter: Input | None = None,  # noqa: A002
        progress: Progress = SILENT,
        filter_time: FilterTime | str = FilterTime.SAME,
        history: History | str = History.STEP,
    ) -> GraphEvaluation:
        """Rank the answers of events among all entities; see `GraphModel.evaluate_ranks`."""
        tables = [as_facts(test), *([] if filter is None else [as_facts(filter)])]
        if any(table.events is None for table in tables):
            raise InputError("test and filter need times, as the facts have: give `time`")
        ranker, tested, own = self.seeing(tables), tables[0], self.facts.events
        assert tested.events is not None
        assert own is not None
        whole, events = ranker.facts, ranker.events
        if History(history) is History.FIXED:
            to_entity = self.facts.entities.translate(whole.entities)
            events = own.moved(to_entity, self.facts.predicates.translate(whole.predicates))
            ranker = replace(ranker, events=events)
        both = (self.facts + tested).events
        assert both is not None
        return evaluate_events(
            ranker, whole, tested, events, len(own) + len(tested.events) - len(both),
            _unknown(tested, self.facts), relations=self.relations,
            filter_time=FilterTime(filter_time), progress=progress,
        )  # fmt: skip


def _unknown(test: Facts, facts: Facts) -> int:
    """Number of test events that name an entity or a relation that the facts do not have."""
    assert test.events is not None
    entity = test.entities.translate(facts.entities) < 0
    relation = test.predicates.translate(facts.predicates) < 0
    events: tuple[Ids, Ids, Ids] = test.events.predicate, test.events.subject, test.events.object
    return int(np.count_nonzero(relation[events[0]] | entity[events[1]] | entity[events[2]]))
