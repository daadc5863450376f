"""What became of every candidate, and why: for the trace that is written beside a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hornbeam.counting.statistics import Statistics
from hornbeam.learning.problem import transformed
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Candidates
from hornbeam.rules.rule_model import Counts, Rule

#: Why a learner gives a candidate no weight.
DROPPED = {
    "joint": "adds nothing to the rules that are kept",
    "ppll": "weight 0 is best for it",
    "greedy": "gains too little beside the rules that are kept",
}


def candidate_outcomes(
    candidates: Candidates,
    statistics: Statistics | None,
    rules: Sequence[Rule],
    counts: Counts,
    method: str,
) -> list[dict[str, Any]]:
    """Say of every candidate what it covers, whether it became a rule, and why not.

    Without `statistics` it is not known which candidates repeat another's counts.
    """
    kept: dict[Body, list[str]] = defaultdict(list)
    for rule in rules:
        side = " against the target" if rule.clause.negated else ""
        kept[rule.clause.body].append(f"weight {rule.weight:.3g}{side}")
    # a clause learned alone cannot crowd out its twin, so ppll drops none as such
    twins = {} if method == "ppll" or statistics is None else _twins(statistics, counts)
    rows = []
    for k, candidate in enumerate(candidates):
        outcome = " and ".join(kept[candidate.body])
        if not outcome and k in twins:
            outcome = f"same counts on every pair as {candidates.text(twins[k])}"
        rows.append(
            {
                "clause": candidate.text,
                "coverage": candidate.coverage,
                "coverage_true": candidate.coverage_true,
                "paths": candidate.paths,
                "kept": bool(kept[candidate.body]),
                "outcome": outcome or DROPPED[method],
            }
        )
    return rows


def _twins(statistics: Statistics, counts: Counts) -> dict[int, int]:
    """For every sequence that repeats an earlier one's column, that earlier one."""
    first: dict[tuple[str, bytes, bytes, bytes], int] = {}
    twins = {}
    for k, body in enumerate(statistics.bodies):
        rows = statistics.column(k)
        column = (
            body.target,
            statistics.target[rows].tobytes(),
            transformed(statistics.count[rows], counts).tobytes(),
            b"" if statistics.body_truth is None else statistics.body_truth[rows].tobytes(),
        )
        if first.setdefault(column, k) != k:
            twins[k] = first[column]
    return twins
