"""Conjunctions of a number of one argument and the entity at the other.

A year of a film says nothing about its rating by itself: `(year(A) >= 1995) & (B == 'PG')` does.
Learners that choose among given clauses get these conjunctions beside the bodies; boosting makes
its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import ONE
from hornbeam.rules.body import Body, Conjunction, Part

#: Least number of targets that a conjunction must cover.
MIN_TARGETS = 10


def number_conjunctions(statistics: Statistics) -> list[Conjunction]:
    """Every condition on a number of one argument with every entity at the other argument.

    One is left out where it, and its mirror image, cover too few targets.
    """
    numbers = [body for body in statistics.bodies if body.number is not None]
    entities = [body for body in statistics.bodies if body.is_equality]
    covered = dict[Conjunction, int]()
    for entity in entities:
        here = np.zeros(statistics.n_targets, dtype=np.bool_)
        here[statistics.target[statistics.column(statistics.place[entity])]] = True
        for number in numbers:
            if number.only_argument == 1 - entity.argument and number.target == entity.target:
                targets = statistics.target[statistics.column(statistics.place[number])]
                both = Conjunction((Part(number), Part(entity)))
                covered[both] = int(here[targets].sum())
    return [
        both
        for both, n in covered.items()
        if n >= MIN_TARGETS or covered.get(both.mirror, 0) >= MIN_TARGETS
    ]


def with_conjunctions(statistics: Statistics, conjunctions: Sequence[Conjunction]) -> Statistics:
    """The statistics with the counts of conjunctions, under the first body of each.

    Numbers and equal entities have truth 1, so that a target has one row.
    """
    bodies, rows = list[Body](), []
    for k, conjunction in enumerate(conjunctions):
        first, second = (part.body for part in conjunction.parts)
        one, other = (statistics.column(statistics.place[body]) for body in (first, second))
        both, here, there = np.intersect1d(
            statistics.target[one], statistics.target[other], True, return_indices=True
        )
        count = statistics.count[one][here] * statistics.count[other][there]
        value = np.zeros(len(both)) if statistics.share is None else statistics.share[one][here]
        bodies.append(first)
        rows.append((np.full(len(both), k), both, count, value))
    if not rows:
        return statistics
    body, target, count, value = map(np.concatenate, zip(*rows, strict=True))
    truth = np.full(len(target), ONE, dtype=np.int32)
    share = None if statistics.share is None else value
    made = Statistics.of(bodies, statistics.n_targets, body, target, truth, count, share)
    return statistics.followed_by(made)
