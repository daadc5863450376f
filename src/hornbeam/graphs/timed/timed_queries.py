"""Queries of events: which are counted, which are gathered, and their candidates as a pool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Ints, begin_runs, pointers
from hornbeam.facts.events import Events
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.timed.time_scale import TimeScale
from hornbeam.graphs.timed.timeline import (
    RuleTable,
    StepEvents,
    StepQueries,
    Timeline,
    swept,
    timeline_of,
)
from hornbeam.rules.codes import is_inverse, predicate_of


@dataclass(frozen=True, eq=False)
class TimedGraph:
    """Events of two arguments, ready for the sweep: the timeline, and the rows of each relation."""

    events: Events
    timeline: Timeline
    scale: TimeScale
    n_relations: int
    rows: Ints  #: rows of the events by relation, each in the order of time
    first: Ints  #: where the rows of every relation begin

    @classmethod
    def of(
        cls, events: Events, n_entities: int, n_relations: int, scale: TimeScale | None = None
    ) -> TimedGraph:
        """The graph of the events of two arguments, by a given scale or their own."""
        events = binary(events)
        scale = TimeScale.of(events) if scale is None else scale
        timeline = timeline_of(events, n_entities, n_relations, scale)
        return cls(events, timeline, scale, n_relations, *_by_relation(events, n_relations))

    def over(self, events: Events) -> TimedGraph:
        """The same timeline with other events as queries."""
        rows, first = _by_relation(events, self.n_relations)
        return replace(self, events=events, rows=rows, first=first)

    def step_events(self, step: int) -> StepEvents:
        """The events of a step."""
        relation = predicate_of(step)
        rows = self.rows[self.first[relation] : self.first[relation + 1]]
        ends = self.events.subject[rows], self.events.object[rows]
        source, answer = ends[::-1] if is_inverse(step) else ends
        return StepEvents(source, answer, self.events.time[rows])

    def queries(self, step: int) -> StepQueries:
        """The queries that the events of a step answer, all counted and none gathered."""
        events = self.step_events(step)
        return queries_of(events.source, events.time, events.answer)

    def answered(
        self, step: int, queries: StepQueries, table: RuleTable, limit: int,
        partners: bool = True,
    ) -> tuple[Pool, StepQueries]:  # fmt: skip
        """Candidates of the gathered queries, and these queries; counts rules of the others."""
        events = self.step_events(step)
        found = swept(self.timeline, events, queries, table, self.scale, step, limit, partners)
        kept = queries.gathered
        sizes, entity, feature, truth = found[0][kept], *found[1:]
        offsets = pointers(sizes)
        true = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[truth], minlength=len(sizes))
        missed = np.diff(queries.first)[kept] - true
        steps, folds = (np.full(len(sizes), number, dtype=np.int32) for number in (step, 0))
        pool = Pool(steps, queries.source[kept], offsets, entity, feature, truth, missed, folds)
        return pool, selected(queries, kept)


def _by_relation(events: Events, n_relations: int) -> tuple[Ints, Ints]:
    """Rows of events by relation, each in the order of time, and where those of each begin."""
    rows = np.argsort(events.predicate, kind="stable").astype(np.int64)
    return rows, pointers(np.bincount(events.predicate, minlength=n_relations))


def binary(events: Events) -> Events:
    """The events of two arguments."""
    pairs = events.object >= 0
    return events if pairs.all() else events.select(pairs)


def queries_of(source: Ids, time: Ints, answer: Ids) -> StepQueries:
    """Queries with their answers, which may be in any order."""
    order = np.lexsort((answer, source, time))
    source, time, answer = source[order], time[order], answer[order]
    starts = np.flatnonzero(begin_runs(time, source))
    n = len(starts)
    first = np.append(starts, len(source)).astype(np.int64)
    return StepQueries(
        source[starts], time[starts], first, answer, np.ones(n, dtype=np.bool_),
        np.zeros(n, dtype=np.bool_),
    )  # fmt: skip


class QueryTimes(NamedTuple):
    """Sources and times of queries, sorted by time, then the source."""

    source: Ids
    time: Ints


def open_queries(asked: QueryTimes) -> StepQueries:
    """Queries without known answers, all gathered and none counted."""
    n = len(asked.source)
    none = np.zeros(n, dtype=np.bool_)
    return StepQueries(
        asked.source, asked.time, np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32),
        none, ~none,
    )  # fmt: skip


def selected(queries: StepQueries, kept: Bools) -> StepQueries:
    """Some of the queries."""
    sizes = np.diff(queries.first)
    answer = queries.answer[np.repeat(kept, sizes)]
    return StepQueries(
        queries.source[kept], queries.time[kept], pointers(sizes[kept]), answer,
        queries.counted[kept], queries.gathered[kept],
    )  # fmt: skip
