"""The sweep through time: one pass over the events and queries of a relation in one direction.

At every time t, first the queries of t are answered from what came before t. Then rules are counted
over these queries, and only then the facts of t become visible. So no query sees its own time or
the future, neither in its candidates nor in the confidences of rules, and no folds are needed.

A rule r'(X, Y) -> r(X, Y) predicts all entities that the source has had a link r' with; it has hits
and predictions by the age of the latest such link. Its confidence at an age is (hits + 5 parent) /
(predicted + 5), and the parent is its confidence over all ages, hits / (predicted + 5).
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import math

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, place_of
from hornbeam.graphs.timed.partner_kernels import (
    count_beside,
    insert,
    list_beside,
    list_entity,
    next_stamp,
    rows_before,
)
from hornbeam.graphs.timed.timed_features import EVER, LONG, N_FADED, TIMED, TIMED_FEATURES
from hornbeam.rules.rule_model import SMOOTHING

kernel = kernels("the sweep through time")

N_TIMED = len(TIMED_FEATURES)
#: Hits that a rule needs to fire.
MIN_TIMED_HITS = 2
#: Usual answers of the relation that are candidates of every query.
USUAL = 50
#: The usual answers are selected anew after a fraction of 1 / REFRESHED of all answers in events.
REFRESHED = 8
#: Weight of the prior in shares of faded counts, and the share that an unseen pair has there.
PRIOR, UNSEEN = 1.0, 0.01
#: Added to confidences and sums before logarithms are taken, and the largest confidence.
FLOOR, MOST = 1e-3, 0.99
#: Added to shares of answers beside partners before logarithms are taken.
RARE = 1e-4


@kernel
def fade(first, time, ids, n_ids, half, counts):
    """Write the faded count of its id into every row of `counts`, right after the row's event."""
    last = np.zeros(n_ids, dtype=np.int64)
    value = np.zeros((n_ids, N_FADED))
    for v in range(len(first) - 1):
        for i in range(first[v], first[v + 1]):
            value[ids[i], :] = 0.0
            last[ids[i]] = time[i]
        for i in range(first[v], first[v + 1]):
            k = ids[i]
            add_event(value, last, k, time[i], half)
            for h in range(N_FADED):
                counts[i, h] = value[k, h]


def add_event(value, last, k, time, half):
    """Count an event of id k at a time."""
    for h in range(N_FADED):
        value[k, h] = value[k, h] * 2.0 ** (-(time - last[k]) / half[h]) + 1.0
    last[k] = time


def faded(value, last, k, time, half, h):
    """The faded count of id k at a time."""
    return value[k, h] * 2.0 ** (-(time - last[k]) / half[h])


def age_of(ages, age):
    """The place of an age among the bounds of ages."""
    return place_of(ages, 0, len(ages), age)


def confidence(table, totals, step, age):
    """Confidence of the rule with the body `step` at an age; 0 for a rule of too few hits."""
    if totals[0, step] < MIN_TIMED_HITS:
        return 0.0
    parent = totals[0, step] / (totals[1, step] + SMOOTHING)
    hits = table.hits[step, age] + SMOOTHING * parent
    return min(hits / (table.predicted[step, age] + SMOOTHING), MOST)


def see_events(timeline, events, done, time, scale, seen, scratch):
    """Make the events before a time visible; returns how many there are.

    The most usual answers are selected anew after every few events, whatever the queries are.
    """
    half, answered, usual = scale.half, seen.answered, seen.usual
    while done < len(events.time) and events.time[done] < time:
        answer, source, at = events.answer[done], events.source[done], events.time[done]
        if answered.of_answer[answer, EVER] == 0.0:
            usual.seen[usual.size[0]] = answer
            usual.size[0] += 1
        add_event(answered.of_answer, answered.answer_last, answer, at, half)
        add_event(answered.of_source, answered.source_last, source, at, half)
        add_event(answered.of_all, answered.all_last, 0, at, half)
        if len(seen.partners.first):
            count_beside(timeline, source, answer, at, scale, seen.partners, scratch)
        if done >= usual.size[2]:
            select_usual(usual, answered, at, half)
            usual.size[2] = done + 1 + usual.size[0] // REFRESHED
        done += 1
    return done


def select_usual(usual, answered, time, half):
    """Select the answers with the largest counts by the long half-life; of equal ones the first."""
    chosen, weight = 0, np.empty(USUAL)
    for i in range(usual.size[0]):
        answer = usual.seen[i]
        count = faded(answered.of_answer, answered.answer_last, answer, time, half, LONG)
        chosen = insert(usual.best, weight, chosen, answer, count)
    usual.size[1] = chosen


def list_linked(timeline, table, totals, source, time, step, scale, scratch):
    """List the entities that the source was linked to, with the evidence of rules and pairs."""
    low, high = rows_before(timeline, source, time, scale.history)
    stamp = next_stamp(scratch)
    size = 0
    feature = scratch.feature
    for i in range(high - 1, low - 1, -1):
        if scratch.link_seen[timeline.link[i]] == stamp:
            continue
        scratch.link_seen[timeline.link[i]] = stamp
        entity, age = timeline.end[i], time - timeline.time[i]
        row = scratch.row_of[entity]
        if row < 0:
            row = size
            size = list_entity(scratch, entity, size)
            for h in range(N_FADED):
                fading = 2.0 ** (-age / scale.half[h])
                feature[row, TIMED.together_short + h] = timeline.together[i, h] * fading
        if timeline.step[i] == step:
            fading = 2.0 ** (-age / scale.half[LONG])
            feature[row, TIMED.again_long] = timeline.again[i, LONG] * fading
            feature[row, TIMED.again_ever] = timeline.again[i, EVER]
        sure = confidence(table, totals, timeline.step[i], age_of(scale.ages, age))
        if sure > 0.0:
            add_rule(feature, row, sure, timeline.step[i] == step)
    return size


def add_rule(feature, row, sure, is_same):
    """Add a rule of a confidence that fires for the candidate at a row."""
    if is_same:
        feature[row, TIMED.rule_same] = sure
    if sure > feature[row, TIMED.rule_best]:
        feature[row, TIMED.rule_second] = feature[row, TIMED.rule_best]
        feature[row, TIMED.rule_best] = sure
    elif sure > feature[row, TIMED.rule_second]:
        feature[row, TIMED.rule_second] = sure
    feature[row, TIMED.rule_sum] -= math.log(1.0 - sure)
    feature[row, TIMED.rule_fired] += 1.0


def finish_features(timeline, source, time, scale, answered, scratch, size):
    """Turn counts into the logarithms of shares; returns nothing, fills `scratch.strength`."""
    half, feature = scale.half, scratch.feature
    _, high = rows_before(timeline, source, time, scale.history)
    has_events = high > timeline.first[source]
    n_entities = len(scratch.row_of)
    for row in range(size):
        entity = scratch.entity[row]
        again = 0.0
        for k in range(2):
            h = LONG + k
            whole = faded(answered.of_all, answered.all_last, 0, time, half, h)
            of_answer = faded(answered.of_answer, answered.answer_last, entity, time, half, h)
            usual = (of_answer + 0.5 / n_entities) / (whole + 0.5)
            before = faded(answered.of_source, answered.source_last, source, time, half, h)
            again = (feature[row, TIMED.again_long + k] + PRIOR * usual) / (before + PRIOR)
            feature[row, TIMED.usual_long + k] = math.log(usual)
            feature[row, TIMED.again_long + k] = math.log(again)
        for h in range(N_FADED):
            active = 0.0
            if has_events:
                fading = 2.0 ** (-(time - timeline.time[high - 1]) / half[h])
                active = timeline.active[high - 1, h] * fading
            together = feature[row, TIMED.together_short + h] + PRIOR * UNSEEN
            feature[row, TIMED.together_short + h] = math.log(together / (active + PRIOR))
        # the strongest candidates are listed first: the order needs no fitted weights
        sums, best = feature[row, TIMED.rule_sum], feature[row, TIMED.rule_best]
        share = feature[row, TIMED.partner_share]
        scratch.strength[row] = -(sums + best + again + share)
        feature[row, TIMED.partner_share] = math.log(share + RARE)
        for k in range(TIMED.rule_same, TIMED.rule_fired):
            feature[row, k] = math.log(feature[row, k] + FLOOR)
        feature[row, TIMED.rule_fired] = math.log(feature[row, TIMED.rule_fired] + 1.0)
        feature[row, TIMED.same_entity] = 1.0 if entity == source else 0.0


def count_rules(timeline, queries, q, scale, table, totals, scratch):
    """Count what every rule predicts for a query, and its hits, by the age of the latest link."""
    time = queries.time[q]
    low, high = rows_before(timeline, queries.source[q], time, scale.history)
    stamp = next_stamp(scratch)
    for k in range(queries.first[q], queries.first[q + 1]):
        scratch.true_of[queries.answer[k]] = stamp
    for i in range(high - 1, low - 1, -1):
        if scratch.link_seen[timeline.link[i]] == stamp:
            continue
        scratch.link_seen[timeline.link[i]] = stamp
        step, age = timeline.step[i], age_of(scale.ages, time - timeline.time[i])
        table.predicted[step, age] += 1
        totals[1, step] += 1
        if scratch.true_of[timeline.end[i]] == stamp:
            table.hits[step, age] += 1
            totals[0, step] += 1


@kernel
def sweep(timeline, events, queries, table, scale, step, limit, seen, scratch):
    """Candidates of the gathered queries of a step, and in `table` the counts of its rules.

    A query lists its `limit` strongest candidates, and its own answers where they are candidates.
    Returns the number of candidates per query, the candidates, their features, which are answers.
    """
    totals = np.zeros((2, len(table.hits)), dtype=np.int64)
    for code in range(len(table.hits)):
        totals[0, code] = table.hits[code].sum()
        totals[1, code] = table.predicted[code].sum()
    n_queries, done, q, filled = len(queries.source), 0, 0, 0
    sizes = np.zeros(n_queries, dtype=np.int64)
    listed = np.empty(1024, dtype=np.int32)
    truth = np.empty(1024, dtype=np.bool_)
    columns = np.empty(1024 * N_TIMED, dtype=np.float32)
    while q < n_queries:
        time, last = queries.time[q], q
        while last < n_queries and queries.time[last] == time:
            last += 1
        done = see_events(timeline, events, done, time, scale, seen, scratch)
        for k in range(q, last):
            if not queries.gathered[k]:
                continue
            source = queries.source[k]
            size = list_linked(timeline, table, totals, source, time, step, scale, scratch)
            for i in range(seen.usual.size[1]):
                if scratch.row_of[seen.usual.best[i]] < 0:
                    size = list_entity(scratch, seen.usual.best[i], size)
            if len(seen.partners.first):
                size = list_beside(timeline, source, time, scale, seen.partners, scratch, size)
            finish_features(timeline, source, time, scale, seen.answered, scratch, size)
            stamp = next_stamp(scratch)
            for i in range(queries.first[k], queries.first[k + 1]):
                scratch.true_of[queries.answer[i]] = stamp
            order = np.argsort(scratch.strength[:size], kind="mergesort")
            listed, truth = grown(listed, filled, size), grown(truth, filled, size)
            columns = grown(columns, filled * N_TIMED, size * N_TIMED)
            for place in range(size):
                row = order[place]
                entity = scratch.entity[row]
                is_true = scratch.true_of[entity] == stamp
                if place < limit or is_true:
                    listed[filled] = entity
                    truth[filled] = is_true
                    for c in range(N_TIMED):
                        columns[filled * N_TIMED + c] = scratch.feature[row, c]
                    filled += 1
                    sizes[k] += 1
                scratch.row_of[entity] = -1
        for k in range(q, last):
            if queries.counted[k]:
                count_rules(timeline, queries, k, scale, table, totals, scratch)
        q = last
    feature = columns[: filled * N_TIMED].copy().reshape(filled, N_TIMED)
    return sizes, listed[:filled].copy(), feature, truth[:filled].copy()
