"""The outcome of every candidate (a rule, or why not), for the trace file."""

from __future__ import annotations

from collections import defaultdict

from hornbeam.counting.statistics import Statistics
from hornbeam.learning.learner import Learner
from hornbeam.learning.trace import CandidateOutcome
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Candidates
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts


def candidate_outcomes(
    candidates: Candidates, statistics: Statistics | None, model: RuleModel, learner: Learner
) -> tuple[CandidateOutcome, ...]:
    """For every candidate its coverage, and whether it became a rule or why not.

    Without `statistics` candidates that repeat another's counts are not recognised.
    """
    kept: dict[Body, list[str]] = defaultdict(list)
    for rule in model.rules:
        side = " against the target" if rule.clause.negated else ""
        counted = "" if rule.clause.weighing is None else f" {rule.clause.weighing}"
        among = " in a conjunction" if len(rule.clause.body.parts) > 1 else ""
        for part in rule.clause.body.parts:
            kept[part.body].append(f"weight {rule.weight:.3g}{side}{counted}{among}")
    # clauses that are learned alone are all kept, also those with equal counts
    twins = dict[int, int]()
    if statistics is not None and learner.piecewise is None:
        twins = _twins(statistics, model.semantics.counts is Counts.EXISTS)
    rows = []
    for k, candidate in enumerate(candidates):
        outcome = " and ".join(kept[candidate.body])
        if not outcome and k in twins:
            outcome = f"same counts on every pair as {candidates.text(twins[k])}"
        figures = (candidate.coverage, candidate.coverage_true, candidate.paths)
        became, why = bool(kept[candidate.body]), outcome or learner.dropped
        rows.append(CandidateOutcome(candidate.text, *figures, became, why))
    return tuple(rows)


def _twins(statistics: Statistics, exists: bool) -> dict[int, int]:
    """For every body that repeats an earlier one's counts, the index of that one.

    With `exists` only the covered targets are compared, not the numbers of groundings.
    """
    first: dict[tuple[str, bytes, bytes, bytes], int] = {}
    twins = {}
    for k, body in enumerate(statistics.bodies):
        rows = statistics.column(k)
        column = (
            body.target,
            statistics.target[rows].tobytes(),
            b"" if exists else statistics.count[rows].tobytes(),
            b"" if statistics.body_truth is None else statistics.body_truth[rows].tobytes(),
        )
        if first.setdefault(column, k) != k:
            twins[k] = first[column]
    return twins
