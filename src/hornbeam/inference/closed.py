"""Scores in closed form: with observed bodies every target stands alone.

A_i and B_i add up what the rules say for and against target i; its score is the mean E[y_i] of its
conditional density, or the MAP state.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from hornbeam.clauses.clause import Path, Prior
from hornbeam.clauses.rules import Rule, Semantics
from hornbeam.facts.table import Targets
from hornbeam.learning.integrals import score_map, score_mean
from hornbeam.learning.problem import count_columns
from hornbeam.statistics.table import Statistics

Floats = npt.NDArray[np.float64]


class Score(StrEnum):
    """Which number of the conditional distribution is the score."""

    MEAN = "mean"  #: E[y]: ranks well, ties are rare
    MAP = "map"  #: the most probable state, as PSL's inference gives


def rule_paths(rules: Sequence[Rule]) -> list[Path]:
    """List the distinct paths that the rules walk, in their order."""
    return list(
        dict.fromkeys(rule.clause.path for rule in rules if not isinstance(rule.clause, Prior))
    )


def strengths(
    rules: Sequence[Rule], semantics: Semantics, statistics: Statistics, targets: Targets
) -> tuple[Floats, Floats]:
    """Add up A and B of every target."""
    indptr, row, x = count_columns(statistics, semantics.counts, semantics.relaxation)
    column = {path: j for j, path in enumerate(statistics.paths)}
    up, down = np.zeros(len(targets)), np.zeros(len(targets))
    for rule in rules:
        side = down if rule.clause.negated else up
        if isinstance(rule.clause, Prior):
            p = targets.predicates.index(rule.clause.target)
            side[targets.predicate == p] += rule.weight
        else:
            j = column[rule.clause.path]
            part = slice(indptr[j], indptr[j + 1])
            side[row[part]] += rule.weight * x[part]
    return up, down


def scores(up: Floats, down: Floats, semantics: Semantics, score: Score = Score.MEAN) -> Floats:
    """Scores of targets with strengths A = up and B = down."""
    closed_form = score_map if score is Score.MAP else score_mean
    return closed_form(up, down, semantics.relaxation)
