"""Events as arrays: every entity's events in the order of time, with faded counts.

A faded count of events is n <- n 2^(-d/h) + 1 after every event, d being the time since the last
one and h a half-life. Each row keeps the counts right after its event. So the count at any later
time needs the last row before it only, and queries of any times are answered in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, Singles, begin_runs, pointers
from hornbeam.facts.events import Events
from hornbeam.graphs.link_arrays import WORTH_COMPILING
from hornbeam.graphs.timed.partner_kernels import BESIDE, KEPT, PARTNERS
from hornbeam.graphs.timed.time_scale import TimeScale
from hornbeam.graphs.timed.timed_features import N_FADED
from hornbeam.graphs.timed.timed_kernels import N_TIMED, USUAL, fade, sweep
from hornbeam.rules.codes import code_limit, step_code


class Timeline(NamedTuple):
    """Rows of all events in both directions, sorted by entity, then by time.

    Entity v has the rows `first[v]` to `first[v + 1]`. `link` numbers the distinct links (step,
    end) of an entity from 0; `links` is the largest number of an entity's links. Faded counts, by
    half-life: of the same link (`again`), of the same pair (`together`), of the entity (`active`).
    """

    first: Ints
    time: Ints
    step: Ids
    end: Ids
    link: Ids
    links: int
    again: Singles
    together: Singles
    active: Singles

    @property
    def n_entities(self) -> int:
        """Number of entities."""
        return len(self.first) - 1


def timeline_of(events: Events, n_entities: int, n_relations: int, scale: TimeScale) -> Timeline:
    """The timeline of events of two arguments."""
    n = len(events)
    source = np.concatenate([events.subject, events.object])
    end = np.concatenate([events.object, events.subject])
    steps = (step_code(events.predicate.astype(np.int32), inverse) for inverse in (False, True))
    step = np.concatenate(list(steps)).astype(np.int32)
    time = np.concatenate([events.time, events.time])
    # events of one time are sorted by their atoms, so that the order of the input does not matter
    order = np.argsort(time, kind="stable")
    order = order[np.argsort(source[order], kind="stable")]
    source, end, step, time = source[order], end[order], step[order], time[order]
    first = pointers(np.bincount(source, minlength=n_entities))
    link, partner = _numbers(source, end, step, n_entities, code_limit(n_relations))
    arrays = scale.arrays()
    run = fade.for_size(n, WORTH_COMPILING)
    links = int(link.max(initial=-1)) + 1
    counts = []
    for ids in (link, partner, np.zeros(2 * n, dtype=np.int32)):
        counts.append(np.zeros((2 * n, N_FADED), dtype=np.float32))
        run(first, time, ids, int(ids.max(initial=-1)) + 1, arrays.half, counts[-1])
    again, together, active = counts
    return Timeline(first, time, step, end, link, links, again, together, active)


def _numbers(source: Ids, end: Ids, step: Ids, n_entities: int, n_steps: int) -> tuple[Ids, Ids]:
    """Numbers of links (step, end) and of partners (end) among those of their entity, from 0."""
    key = (source.astype(np.int64) * n_entities + end) * n_steps + step
    order = np.argsort(key, kind="stable")
    owner = source[order]
    numbers = []
    for columns in ((key[order],), (owner, end[order])):
        starts = begin_runs(*columns)
        number = np.cumsum(starts) - 1
        base = number[np.searchsorted(owner, owner)]  # the number of the entity's first row
        own = np.empty(len(order), dtype=np.int32)
        own[order] = number - base
        numbers.append(own)
    return numbers[0], numbers[1]


# --- events and queries of one step ---------------------------------------------------------------


class StepEvents(NamedTuple):
    """Events of one relation in one direction, in the order of time."""

    source: Ids
    answer: Ids
    time: Ints


class StepQueries(NamedTuple):
    """Queries of one step in the order of time, then of their sources; each has some answers.

    Query i has the answers `answer[first[i]]` to `answer[first[i + 1]]`. Rules are counted over
    the queries that are `counted`, and candidates listed for those that are `gathered`.
    """

    source: Ids
    time: Ints
    first: Ints
    answer: Ids
    counted: Bools
    gathered: Bools


class RuleTable(NamedTuple):
    """Hits and predictions of the rules of one step, by the step in the body and the age."""

    hits: Ints
    predicted: Ints

    @classmethod
    def empty(cls, n_relations: int, scale: TimeScale) -> RuleTable:
        """A table without any counts."""
        shape = code_limit(n_relations), scale.n_ages
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))


class AnsweredCounts(NamedTuple):
    """Faded counts of a step's events: of each answer, of each source, and of all of them."""

    of_answer: Floats
    answer_last: Ints
    of_source: Floats
    source_last: Ints
    of_all: Floats
    all_last: Ints

    @classmethod
    def none(cls, n_entities: int) -> AnsweredCounts:
        """Counts before the first event."""
        shapes = n_entities, n_entities, 1
        counts = [np.zeros((n, N_FADED)) for n in shapes]
        last = [np.zeros(n, dtype=np.int64) for n in shapes]
        return cls(counts[0], last[0], counts[1], last[1], counts[2], last[2])


class UsualAnswers(NamedTuple):
    """The most usual answers of a step, `best`; `seen` are all its answers so far.

    `size` has the number of seen answers, of best answers, and of the events after which the best
    are selected anew.
    """

    seen: Ids
    best: Ids
    size: Ints

    @classmethod
    def none(cls, n_entities: int) -> UsualAnswers:
        """No answers yet."""
        seen = np.empty(n_entities, dtype=np.int32)
        return cls(seen, np.empty(USUAL, dtype=np.int32), np.zeros(3, dtype=np.int64))


class PartnerAnswers(NamedTuple):
    """Answers beside the partners of their sources (`partner_kernels`): a list per partner.

    `first[c]` is the first entry of partner c, `following[i]` the one after entry i; -1 ends the
    list. `asked` counts the events that asked a partner, `distinct` its entries, `size` all.
    """

    asked: Ints
    distinct: Ids
    first: Ids
    following: Ids
    answer: Ids
    hits: Ids
    size: Ints

    @classmethod
    def none(cls, n_entities: int, n_events: int) -> PartnerAnswers:
        """No answers yet; with 0 entities they are never counted."""
        most = min(PARTNERS * n_events, KEPT * n_entities)  # memory is taken as it is filled
        following, answer, hits = (np.empty(most, dtype=np.int32) for _ in range(3))
        first = np.full(n_entities, -1, dtype=np.int32)
        asked, size = np.zeros(n_entities, dtype=np.int64), np.zeros(1, dtype=np.int64)
        distinct = np.zeros(n_entities, dtype=np.int32)
        return cls(asked, distinct, first, following, answer, hits, size)


class SeenEvents(NamedTuple):
    """What the sweep knows of the events so far."""

    answered: AnsweredCounts
    usual: UsualAnswers
    partners: PartnerAnswers


class SweepScratch(NamedTuple):
    """Arrays that the sweep fills and clears per query: candidates, their places and features.

    `partner` and `weight` are the strongest partners of a source, `share` has the shares of the
    entities in `shared`, `best` and `best_share` the largest of them.
    """

    row_of: Ids
    entity: Ids
    feature: Floats
    strength: Floats
    link_seen: Ints
    true_of: Ints
    stamp: Ints
    partner: Ids
    weight: Floats
    share: Floats
    shared: Ids
    best: Ids
    best_share: Floats

    @classmethod
    def of(cls, timeline: Timeline, scale: TimeScale) -> SweepScratch:
        """Arrays for a timeline."""
        n = timeline.n_entities
        most = min(n, scale.history + USUAL + BESIDE)
        return cls(
            np.full(n, -1, dtype=np.int32),
            np.empty(most, dtype=np.int32),
            np.zeros((most, N_TIMED)),
            np.empty(most),
            np.zeros(timeline.links, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.empty(PARTNERS, dtype=np.int32),
            np.empty(PARTNERS),
            np.zeros(n),
            np.empty(n, dtype=np.int32),
            np.empty(BESIDE, dtype=np.int32),
            np.empty(BESIDE),
        )


def swept(
    timeline: Timeline, events: StepEvents, queries: StepQueries, table: RuleTable,
    scale: TimeScale, step: int, limit: int, partners: bool,
) -> tuple[Ints, Ids, Singles, Bools]:  # fmt: skip
    """Run the sweep of one step, with answers beside partners or without; see `sweep`."""
    n = timeline.n_entities
    seen = SeenEvents(
        AnsweredCounts.none(n),
        UsualAnswers.none(n),
        PartnerAnswers.none(n * partners, len(events.time)),
    )
    run = sweep.for_size(len(timeline.time), WORTH_COMPILING)
    found: tuple[Ints, Ids, Singles, Bools] = run(
        timeline, events, queries, table, scale.arrays(), step, limit, seen,
        SweepScratch.of(timeline, scale),
    )  # fmt: skip
    return found
