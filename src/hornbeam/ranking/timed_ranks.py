"""Filtered ranks of the true answers of events, by a ranker that answers queries at a time.

A test event r(a, b) at t is two queries, (a, r, ?) and (?, r, b), both asked at t. Other answers
that are true are left out: those of the same time, or of any time. As in
`hornbeam.ranking.filtered_ranks`, candidates are all entities, and ties are averaged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Ints, ranges
from hornbeam.base.choices import FilterTime
from hornbeam.base.progress import SILENT, Progress
from hornbeam.facts.atom_keys import atom_keys, pair_keys
from hornbeam.facts.events import Events
from hornbeam.ranking.filtered_ranks import KnownAnswers, answered_batches
from hornbeam.ranking.queries import Queries, Ranker, Triples


class AnswerTable(NamedTuple):
    """Answers that events give in both directions, sorted by the key of their query."""

    key: Ints
    answer: Ids

    def of(self, wanted: Ints) -> tuple[Ints, Ids]:
        """The answers of queries: their sizes, and the answers one query after the other."""
        low, high = np.searchsorted(self.key, wanted), np.searchsorted(self.key, wanted, "right")
        return (high - low).astype(np.int64), self.answer[ranges(low, high)]


def timed_places(
    ranker: Ranker,
    queries: Queries,
    known: Events,
    n_entities: int,
    filter_time: FilterTime,
    progress: Progress = SILENT,
) -> Ints:
    """Places of the true answers of queries with times: how many are better, tie, and are there.

    Parameters
    ----------
    ranker
        Answers queries at their time.
    queries
        The queries with their answers, all of which are in `known`.
    known
        All true events.
    n_entities
        Number of candidates.
    filter_time
        Which known answers are left out.
    """
    assert queries.answer is not None
    assert queries.time is not None
    both = Queries.both_ways(*known.columns)
    assert both.answer is not None
    assert both.time is not None
    times = np.unique(known.time)
    keys = _keys(both, times, filter_time, n_entities)
    order = np.lexsort((both.answer, keys))
    table = AnswerTable(keys[order], both.answer[order])
    wanted = _keys(queries, times, filter_time, n_entities)
    # distinct queries, those of one step next to each other: a step is prepared once per batch
    same = _keys(queries, times, FilterTime.SAME, n_entities)
    places = np.empty((3, len(queries)), dtype=np.int64)
    for distinct, found, rows, group in answered_batches(
        ranker, queries, same, n_entities, progress
    ):
        sizes, answers = table.of(wanted[distinct])
        numbers = np.arange(len(distinct))
        true = np.unique(pair_keys(np.repeat(numbers, sizes), answers, n_entities))
        of_batch = KnownAnswers(true, n_entities)
        *counts, _ = of_batch.places(numbers, found, group, queries.answer[rows])
        places[:, rows] = counts
    return places


def _keys(queries: Queries, times: Ints, filter_time: FilterTime, n_entities: int) -> Ints:
    """One integer per query: its step and known entity, and with `SAME` its time."""
    assert queries.time is not None
    key = pair_keys(queries.step, queries.known, n_entities)
    if filter_time is FilterTime.ALL:
        return key
    return pair_keys(key, np.searchsorted(times, queries.time), len(times) + 1)


def are_events(triples: Triples, time: Ints, events: Events) -> Bools:
    """Which triples were true at a time."""
    asked: list[Array] = [triples.relation, triples.subject, triples.object, time]
    rows = np.concatenate([np.stack(asked), np.stack(events.columns)], axis=1, dtype=np.int64)
    _, number = np.unique(rows, axis=1, return_inverse=True)
    number = number.reshape(-1)
    return np.isin(number[: len(triples)], number[len(triples) :])


def were_before(events: Events, history: Events, n_entities: int, n_relations: int) -> Bools:
    """Which events repeat an earlier event of a history."""
    keys, earlier = (
        atom_keys(table.subject, table.predicate, table.object, n_entities, n_relations)
        for table in (events, history)
    )
    link, first = np.unique(earlier, return_index=True)  # events are sorted by time
    if not len(link):
        return np.zeros(len(keys), dtype=np.bool_)
    at = np.minimum(np.searchsorted(link, keys), len(link) - 1)
    return np.asarray((link[at] == keys) & (history.time[first[at]] < events.time))
