"""The clauses of a problem and their columns: own rules, candidates by way of counting, priors.

Conjunctions of a number of one argument and the entity at the other are among the candidates. A
year of a film says nothing about its rating by itself: `(year(A) >= 1995) & (B == 'PG')` does.
Learners that choose among given clauses get these conjunctions beside the bodies; boosting makes
its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, part_numbers, pointers
from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import Column, ColumnArrays, Columns, HingeRows, clause_hinges
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning.body_clauses import (
    BodyClause,
    added_by_group,
    body_clauses,
    mirror_groups,
    model_counts,
    priors_of,
    shares_by_median,
    standardised_values,
    useful_ways,
)
from hornbeam.rules.body import AnyBody, Body, Conjunction, Part
from hornbeam.rules.clause import Clause
from hornbeam.rules.own_rules import OwnRules
from hornbeam.rules.weighing import Counts, Weighing


def own_rule_columns(
    columns: Columns, own: OwnRules, counts: Counts, symmetric: bool
) -> ColumnArrays:
    """The columns of own rules that are not priors; rules without a bracket count by `counts`.

    Where the target is symmetric, a rule stands for its mirror image too, unless the mirror image
    is an own rule itself.
    """
    n, found = columns.statistics.n_targets, list[Column]()
    for rule in own.conditional:
        weighing = rule.clause.weighing or Weighing(counts)
        rows, x = columns.of(rule.clause.body, weighing)
        if symmetric and own.stands_for_mirror(rule.clause):
            others, more = columns.of(rule.clause.body.mirror, weighing)
            total = np.bincount(np.append(rows, others), np.append(x, more), n).astype(np.float64)
            rows = np.flatnonzero(total).astype(np.int32)
            x = total[rows]
        found.append((rows, x))
    return ColumnArrays(
        pointers(np.array([len(rows) for rows, _ in found], dtype=np.int64)),
        np.concatenate([np.empty(0, dtype=np.int32), *(rows for rows, _ in found)]),
        np.concatenate([np.empty(0), *(x for _, x in found)]),
    )


def unsaid(
    columns: Columns, own: OwnRules, listed: Sequence[BodyClause], symmetric: bool
) -> list[BodyClause]:
    """The candidates that say something else than own rules.

    Over a symmetric relation, `p(A, B)` and `p(B, A)` say the same of every pair: candidates with
    the groundings of an own rule are left out, whatever the way of counting.
    """

    def says(clause: Clause) -> tuple[str, bytes, bytes]:
        rows, n = columns.of(clause.body, Weighing(Counts.RAW))
        return clause.target, rows.tobytes(), n.tobytes()

    # values of numbers say more than that there are some
    counted_rules = [rule.clause for rule in own.conditional if not rule.clause.body.is_value]
    said = {(says(clause), clause.negated) for clause in counted_rules}

    def is_said(clause: Clause) -> bool:
        if not own.admits(clause, symmetric):
            return True
        counted = bool(said) and not clause.body.is_value
        return counted and (says(clause), clause.negated) in said

    found, known = [], dict[tuple[int, bool], bool]()
    for candidate in listed:
        key = candidate.body, candidate.clause.negated  # ways of counting say the same
        if key not in known:
            known[key] = is_said(candidate.clause)
        if not known[key]:
            found.append(candidate)
    return found


def own_rule_hinges(statistics: Statistics, own: OwnRules, counts: Counts) -> list[HingeRows]:
    """The hinges of own rules that are not priors; rules without a bracket count by `counts`."""
    columns = Columns(statistics)
    return [
        clause_hinges(
            columns.ground_clauses(rule.clause.body),
            counts if rule.clause.weighing is None else rule.clause.weighing.counts,
        )
        for rule in own.conditional
    ]


def guarded_targets(statistics: Statistics, own: OwnRules) -> Bools | None:
    """Targets for which the guard of learned rules holds; None without a guard."""
    if own.guard is None:
        return None
    guarded = np.zeros(statistics.n_targets, dtype=np.bool_)
    for j, body in enumerate(statistics.bodies):
        if body == own.guard_body(body.target):
            guarded[statistics.target[statistics.column(j)]] = True
    return guarded


def guarded_columns(
    parts: Mapping[Counts, ColumnArrays], guarded: Bools | None
) -> dict[Counts, ColumnArrays]:
    """Columns with entries only for the targets of `guarded`; all entries if it is None."""
    if guarded is None:
        return dict(parts)
    found = {}
    for way, (indptr, row, x) in parts.items():
        keep = guarded[row]
        sizes = np.bincount(part_numbers(indptr)[keep], minlength=len(indptr) - 1)
        found[way] = ColumnArrays(pointers(sizes), row[keep], x[keep])
    return found


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


class ClauseColumns(NamedTuple):
    """Clauses, the number of the column of each, and the columns in parts that follow each other.

    A clause and its negation share a column.
    """

    clauses: list[Clause]
    column: list[int]
    parts: list[ColumnArrays]


def clause_columns(
    statistics: Statistics,
    labels: Targets,
    ways: Sequence[Counts],
    relaxation: Relaxation,
    symmetric: bool,
    tied: bool,
    own: OwnRules,
    conjunctions: Sequence[Conjunction],
) -> ClauseColumns:
    """The clauses and columns of statistics and labels; see `CountProblem.of`."""
    bodies: Sequence[AnyBody] = [*statistics.bodies, *conjunctions]
    columns = Columns(statistics, relaxation)
    own_columns = own_rule_columns(columns, own, model_counts(ways), symmetric)
    with_both = with_conjunctions(statistics, conjunctions)
    all_columns = Columns(with_both, relaxation) if conjunctions else columns
    tied = tied and symmetric
    group = mirror_groups(bodies) if tied else np.arange(len(bodies))
    weighings = dict[tuple[Counts, AnyBody], Weighing]()
    parts, values = dict[Counts, ColumnArrays](), dict[Counts, ColumnArrays]()
    for way in dict.fromkeys(way for body in bodies for way in useful_ways(body, ways)):
        if way is Counts.Z:
            values[way], scales = standardised_values(bodies, with_both, group)
            weighings |= scales
            continue
        parts[way] = all_columns.all(way)
        if way is Counts.SHARE:
            parts[way], scales = shares_by_median(bodies, parts[way], group)
            weighings |= scales
    if tied:
        parts, values = added_by_group(parts, group), added_by_group(values, group)
    parts = guarded_columns(parts | values, guarded_targets(statistics, own))
    listed = body_clauses(bodies, ways, weighings)
    listed = [candidate for candidate in listed if group[candidate.body] == candidate.body]
    listed = unsaid(columns, own, listed, symmetric) if own else listed
    n_own = len(own_columns.indptr) - 1
    first = {way: n_own + k * len(bodies) for k, way in enumerate(parts)}
    column = [*range(n_own), *(first[candidate.way] + candidate.body for candidate in listed)]
    last = n_own + len(parts) * len(bodies)
    column += [last + k // 2 for k in range(2 * len(labels.predicates))]
    clauses = [rule.clause for rule in own.conditional]
    clauses += [own.guarded(candidate.clause) for candidate in listed] + priors_of(labels.arities)
    sizes = np.bincount(labels.predicate, minlength=len(labels.predicates))
    rows = np.argsort(labels.predicate, kind="stable").astype(np.int32)
    ones = ColumnArrays(pointers(sizes), rows, np.ones(len(rows)))
    return ClauseColumns(clauses, column, [own_columns, *parts.values(), ones])
