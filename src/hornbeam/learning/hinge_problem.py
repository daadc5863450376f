"""The learning problem where bodies are soft and targets continuous: hinges with their own knees.

With a body of truth b a ground clause is max(0, b - y)^p, not a share of (1 - y)^p, so a target's
density needs every hinge and not just two strengths A and B. Everything else is as in
`hornbeam.learning.problem`; a `SoftProblem` answers the same questions from the closed forms of
`hornbeam.densities.hinges`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.counting.collective.collective_statistics import CollectiveStatistics
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.hinges import (
    Hinges,
    group_hinges,
    hinge_moments,
    hinge_values,
    rule_covariance,
)
from hornbeam.densities.strengths import Floats
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning.collective_problem import conditioned_problem
from hornbeam.learning.descent import minimise_model
from hornbeam.learning.problem import (
    Problem,
    body_lengths,
    both_ways,
    prior_mask,
    transformed,
)
from hornbeam.rules.clause import PathClause, Prior
from hornbeam.rules.rule_model import Counts, Relaxation


@dataclass(frozen=True, eq=False)
class SoftProblem:
    """Hinges of every clause and the labels; hinge h belongs to clause `rule[h]`."""

    clauses: Sequence[PathClause | Prior]
    y: Floats
    relaxation: Relaxation
    target: npt.NDArray[np.int64]
    rule: npt.NDArray[np.int64]
    height: Floats
    count: Floats

    @classmethod
    def of(
        cls,
        statistics: Statistics,
        labels: Targets,
        counts: Counts,
        relaxation: Relaxation,
        distinct: bool = False,
    ) -> SoftProblem:
        """Lay out statistics with body truths and labels for a learner."""
        clauses, column = both_ways(statistics.paths, labels.predicates, distinct)
        path, target, height, count = hinge_rows(statistics, counts)
        n_paths = len(statistics.paths)
        parts = [(path * 2 + negated, target, height, count) for negated in (0, 1)]
        for k in range(2 * n_paths, len(clauses)):
            mine = np.flatnonzero(labels.predicate == column[k] - n_paths)
            ones = np.ones(len(mine))
            parts.append((np.full(len(mine), k), mine, ones, ones))
        rule, target, height, count = (
            np.concatenate([part[i] for part in parts]) for i in range(4)
        )
        return cls(clauses, labels.truth, relaxation, target, rule, height, count)

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.rule)

    @cached_property
    def hinges(self) -> Hinges:
        """The hinges, sorted once for any weights."""
        down = np.array([clause.negated for clause in self.clauses])[self.rule]
        return group_hinges(self.target, self.rule, self.height, down, self.count, len(self.y))

    @cached_property
    def observed(self) -> Floats:
        """Potential of every (target, clause) at the labels."""
        return hinge_values(self.hinges, self.y, self.relaxation)

    @cached_property
    def is_prior(self) -> npt.NDArray[np.bool_]:
        """Which clauses are priors."""
        return prior_mask(self.clauses)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of body atoms of every clause, 0 for priors."""
        return body_lengths(self.clauses)

    @cached_property
    def scales(self) -> Floats:
        """Root mean square over the targets of every clause's largest potential."""
        power = 2 if self.relaxation is Relaxation.SQUARED else 1
        n = max(len(self.y), 1)
        cell = self.rule * n + self.target
        largest = np.bincount(cell, self.count * self.height**power, len(self.clauses) * n)
        return np.asarray(np.sqrt((largest.reshape(len(self.clauses), n) ** 2).sum(axis=1) / n))

    def log_likelihood(self, weights: Floats) -> float:
        """The log pseudolikelihood of the labels."""
        log_z = hinge_moments(self.hinges, weights, self.relaxation).log_z
        return -float(log_z.sum() + weights[self.hinges.rule] @ self.observed)

    def gradient(self, weights: Floats) -> Floats:
        """Derivative of -l by every weight: observed minus expected."""
        expected = hinge_moments(self.hinges, weights, self.relaxation).expected
        slope = np.bincount(self.hinges.rule, self.observed - expected, len(self.clauses))
        return slope.astype(np.float64)

    def score(self, weights: Floats) -> Floats:
        """E[y] of every target."""
        return hinge_moments(self.hinges, weights, self.relaxation).mean

    def propose(
        self,
        weights: Floats,
        active: npt.NDArray[np.integer],
        linear: Floats,
        ridge: Floats,
    ) -> Floats:
        """The minimum of the quadratic model of the penalised loss over w >= 0."""
        members = self.only(active)
        moments = hinge_moments(members.hinges, weights[active], self.relaxation)
        slope = np.bincount(members.hinges.rule, members.observed - moments.expected, len(active))
        curve = rule_covariance(
            members.hinges, weights[active], self.relaxation, len(active)
        ) + np.diag(ridge[active])
        slope = slope + linear[active] + ridge[active] * weights[active]
        proposed = weights.copy()
        proposed[active] = minimise_model(slope, curve, weights[active])
        return proposed

    def only(self, members: npt.NDArray[np.integer]) -> SoftProblem:
        """The problem with some clauses only."""
        place = np.full(len(self.clauses), -1, dtype=np.int64)
        place[members] = np.arange(len(members))
        keep = place[self.rule] >= 0
        return replace(
            self,
            clauses=[self.clauses[k] for k in members.tolist()],
            target=self.target[keep],
            rule=place[self.rule[keep]],
            height=self.height[keep],
            count=self.count[keep],
        )

    def subset(self, targets: npt.NDArray[np.bool_]) -> SoftProblem:
        """The problem on some targets only (rows renumbered)."""
        place = np.cumsum(targets) - 1
        keep = targets[self.target]
        return replace(
            self,
            y=self.y[targets],
            target=place[self.target[keep]],
            rule=self.rule[keep],
            height=self.height[keep],
            count=self.count[keep],
        )

    def signature(self, rng: np.random.Generator) -> Floats:
        """Give each target a number that its hinges decide: a random projection of them."""
        projected = self.height * self.count * rng.random(len(self.clauses))[self.rule]
        return np.bincount(self.target, projected, len(self.y)).astype(np.float64)

    def distinct_columns(self) -> SoftProblem:
        """The problem without clauses whose hinges repeat an earlier clause's."""
        order = np.lexsort((self.count, self.height, self.target, self.rule))
        ends = np.searchsorted(self.rule[order], np.arange(len(self.clauses) + 1))
        first: dict[tuple[bytes, ...], int] = {}
        keep = []
        for k, clause in enumerate(self.clauses):
            part = order[ends[k] : ends[k + 1]]
            columns = (self.target[part], self.height[part], self.count[part])
            same = (bytes([clause.negated]), *(column.tobytes() for column in columns))
            if first.setdefault(same, k) == k or isinstance(clause, Prior):
                keep.append(k)
        return self.only(np.array(keep, dtype=np.int64))


def hinge_rows(
    statistics: Statistics, counts: Counts
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats, Floats]:
    """(sequence, target, body truth, count) of every group of ground clauses.

    Where counts are not raw, the n ground clauses of a (sequence, target) share log2(1 + n) or 1.
    """
    path = np.repeat(np.arange(len(statistics.paths)), np.diff(statistics.indptr))
    target = statistics.target.astype(np.int64)
    if statistics.body is None:
        return path, target, np.ones(len(path)), transformed(statistics.count, counts)
    count = statistics.count.astype(np.float64)
    if counts is not Counts.RAW:
        first = np.ones(len(path), dtype=np.bool_)
        first[1:] = (path[1:] != path[:-1]) | (target[1:] != target[:-1])
        cell = np.cumsum(first) - 1
        total = np.bincount(cell, count)
        count = count * (transformed(total, counts) / total)[cell]
    return path, target, statistics.body / ONE, count


#: Whatever learners learn from.
Learnable = Problem | SoftProblem


def learnable(
    statistics: Statistics | CollectiveStatistics,
    labels: Targets,
    counts: Counts,
    relaxation: Relaxation,
    distinct: bool = False,
) -> Learnable:
    """Lay out statistics and labels: hinges where bodies are soft and targets continuous."""
    if isinstance(statistics, CollectiveStatistics):
        if counts is not Counts.RAW:
            raise InputError(
                f"counts {counts.value} are those of a head alone, and a collective model has "
                'ground clauses that speak of several targets: use `counts="raw"`'
            )
        return conditioned_problem(statistics, labels, relaxation, distinct)
    soft = statistics.body is not None and relaxation is not Relaxation.BOOLEAN
    kind = SoftProblem if soft else Problem
    return kind.of(statistics, labels, counts, relaxation, distinct)
