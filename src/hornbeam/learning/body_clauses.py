"""The clauses of bodies: each for and against the target, by every way of counting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import mentions_beliefs
from hornbeam.rules.weighing import Counts, Weighing


def body_lengths(clauses: Sequence[Clause]) -> Ints:
    """Number of body atoms of every clause, 0 for priors."""
    return np.array([len(clause.body) for clause in clauses], dtype=np.int64)


def model_counts(ways: Sequence[Counts]) -> Counts:
    """The way of counting in a model's first line: the default of rules that state none."""
    return ways[0] if len(ways) == 1 and ways[0] is not Counts.SHARE else Counts.RAW


def useful_ways(body: Body, ways: Sequence[Counts]) -> list[Counts]:
    """The ways of counting that make sense for a body.

    Only paths over facts have shares, and counts that are always 1 need one way only.
    """
    if body.is_fixed:
        return [model_counts(ways)]
    if body.is_path and not mentions_beliefs(body):
        return list(ways)
    return [way for way in ways if way is not Counts.SHARE] or [Counts.LOG]


class BodyClause(NamedTuple):
    """A clause, the index of its body, and the way of counting."""

    body: int
    way: Counts
    clause: Clause


def body_clauses(
    bodies: Sequence[Body],
    ways: Sequence[Counts],
    medians: Mapping[Body, float],
) -> list[BodyClause]:
    """List each body's clause and negation in all its ways of counting."""
    model_way, listed = model_counts(ways), []
    for b, body in enumerate(bodies):
        for way in useful_ways(body, ways):
            # only shares have a median: other ways with one would not read back as equal
            median = medians.get(body, 1.0) if way is Counts.SHARE else 1.0
            weighing = None if way is model_way else Weighing(way, median)
            listed += [
                BodyClause(b, way, Clause(body, negated, weighing)) for negated in (False, True)
            ]
    return listed


def priors_of(predicates: Iterable[str]) -> list[Clause]:
    """List each target's two priors."""
    return [prior(name, negated) for name in predicates for negated in (False, True)]
