"""Columns of a user's own rules, and the columns of candidates where a guard holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hornbeam.base.arrays import Bools, part_numbers, pointers
from hornbeam.counting.columns import Column, ColumnArrays, Columns, HingeRows, clause_hinges
from hornbeam.counting.statistics import Statistics
from hornbeam.learning.body_clauses import BodyClause
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
    for one in listed:
        key = one.body, one.clause.negated  # ways of counting say the same
        if key not in known:
            known[key] = is_said(one.clause)
        if not known[key]:
            found.append(one)
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
