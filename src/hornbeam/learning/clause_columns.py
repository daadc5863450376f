"""The clauses of a problem and their columns: own rules, candidates by way of counting, priors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import pointers
from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import ColumnArrays, Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import Targets
from hornbeam.learning.body_clauses import (
    added_by_group,
    body_clauses,
    mirror_groups,
    model_counts,
    priors_of,
    shares_by_median,
    standardised_values,
    useful_ways,
)
from hornbeam.learning.number_conjunctions import with_conjunctions
from hornbeam.learning.own_columns import (
    guarded_columns,
    guarded_targets,
    own_rule_columns,
    unsaid,
)
from hornbeam.rules.body import AnyBody, Conjunction
from hornbeam.rules.clause import Clause
from hornbeam.rules.own_rules import OwnRules
from hornbeam.rules.weighing import Counts, Weighing


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
    listed = [one for one in listed if group[one.body] == one.body]
    listed = unsaid(columns, own, listed, symmetric) if own else listed
    n_own = len(own_columns.indptr) - 1
    first = {way: n_own + k * len(bodies) for k, way in enumerate(parts)}
    column = [*range(n_own), *(first[one.way] + one.body for one in listed)]
    last = n_own + len(parts) * len(bodies)
    column += [last + k // 2 for k in range(2 * len(labels.predicates))]
    clauses = [rule.clause for rule in own.conditional]
    clauses += [own.guarded(one.clause) for one in listed] + priors_of(labels.arities)
    sizes = np.bincount(labels.predicate, minlength=len(labels.predicates))
    rows = np.argsort(labels.predicate, kind="stable").astype(np.int32)
    ones = ColumnArrays(pointers(sizes), rows, np.ones(len(rows)))
    return ClauseColumns(clauses, column, [own_columns, *parts.values(), ones])
