"""Rules with constants in a graph with time: what the answers were beside the same partners.

The partners of an entity are those that it had facts with; the strongest have the largest faded
counts of these facts. An event r(s, o) asks every strongest partner c of s, and is a hit of (c, o).
So those who deal with c have the answer o in a share hits / (asked + 3) of their events. For a
query, the shares beside its own strongest partners are averaged, weighted by their faded counts.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

from hornbeam.graph.edge_runs import place_of
from hornbeam.graphs.timed.timed_features import LONG, TIMED

#: Number of strongest partners, and of an entity's latest events that they are chosen from.
PARTNERS, RECENT = 15, 512
#: Distinct answers that are counted beside a partner: the first of them.
KEPT = 300
#: Candidates that a query has for the answers beside its partners alone.
BESIDE = 50
#: Added to the number of events that asked a partner.
DOUBT = 3.0


def rows_before(timeline, source, time, history):
    """The rows [low, high) of a source before a time, of its latest events only."""
    low, stop = timeline.first[source], timeline.first[source + 1]
    high = place_of(timeline.time, low, stop, time)
    return max(low, high - history), high


def next_stamp(scratch):
    """A new mark, which nothing bears yet."""
    scratch.stamp[0] += 1
    return scratch.stamp[0]


def insert(values, weights, size, value, weight):
    """Insert a value among those of the largest weights, largest first; returns their number.

    Of equal weights the earlier value is first, and stays if there is no room.
    """
    room = len(values)
    if size == room and weight <= weights[room - 1]:
        return size
    place = min(size, room - 1)
    while place > 0 and weights[place - 1] < weight:
        values[place] = values[place - 1]
        weights[place] = weights[place - 1]
        place -= 1
    values[place] = value
    weights[place] = weight
    return min(size + 1, room)


def list_partners(timeline, source, time, scale, scratch):
    """Fill `scratch.partner` with the strongest partners of a source; returns how many it has."""
    low, high = rows_before(timeline, source, time, min(scale.history, RECENT))
    stamp, size = next_stamp(scratch), 0
    for i in range(high - 1, low - 1, -1):
        end = timeline.end[i]
        if scratch.true_of[end] != stamp:
            scratch.true_of[end] = stamp
            fading = 2.0 ** (-(time - timeline.time[i]) / scale.half[LONG])
            weight = timeline.together[i, LONG] * fading
            size = insert(scratch.partner, scratch.weight, size, end, weight)
    return size


def count_beside(timeline, source, answer, time, scale, partners, scratch):
    """Count the answer of an event beside the strongest partners of its source."""
    for k in range(list_partners(timeline, source, time, scale, scratch)):
        partner = scratch.partner[k]
        partners.asked[partner] += 1
        at = partners.first[partner]
        while at >= 0 and partners.answer[at] != answer:
            at = partners.following[at]
        if at >= 0:
            partners.hits[at] += 1
        elif partners.distinct[partner] < KEPT:
            at = partners.size[0]
            partners.answer[at], partners.hits[at] = answer, 1
            partners.following[at] = partners.first[partner]
            partners.first[partner] = at
            partners.distinct[partner] += 1
            partners.size[0] += 1


def share_beside(timeline, source, time, scale, partners, scratch):
    """Fill `scratch.share` of the answers beside the partners of a source.

    Returns the number of such answers, which `scratch.shared` lists.
    """
    n, size, whole = list_partners(timeline, source, time, scale, scratch), 0, 0.0
    for k in range(n):
        whole += scratch.weight[k]
    for k in range(n):
        partner = scratch.partner[k]
        part = scratch.weight[k] / whole / (partners.asked[partner] + DOUBT)
        at = partners.first[partner]
        while at >= 0:
            answer = partners.answer[at]
            if scratch.share[answer] == 0.0:
                scratch.shared[size] = answer
                size += 1
            scratch.share[answer] += part * partners.hits[at]
            at = partners.following[at]
    return size


def list_beside(timeline, source, time, scale, partners, scratch, size):
    """Add shares beside partners to the listed candidates, and the answers of the largest shares.

    Returns the new number of candidates.
    """
    n = share_beside(timeline, source, time, scale, partners, scratch)
    chosen = 0
    for i in range(n):
        answer = scratch.shared[i]
        share = scratch.share[answer]
        scratch.share[answer] = 0.0
        row = scratch.row_of[answer]
        if row >= 0:
            scratch.feature[row, TIMED.partner_share] = share
        else:
            chosen = insert(scratch.best, scratch.best_share, chosen, answer, share)
    for k in range(chosen):
        size = list_entity(scratch, scratch.best[k], size)
        scratch.feature[size - 1, TIMED.partner_share] = scratch.best_share[k]
    return size


def list_entity(scratch, entity, size):
    """List one more entity without any evidence; returns the new number of entities."""
    scratch.row_of[entity] = size
    scratch.entity[size] = entity
    scratch.feature[size, :] = 0.0
    return size + 1
