"""The learning problem in hinges: what each clause adds to a target, with its own knee.

A ground clause whose body has truth b is max(0, b - y)^p, not a multiple of (1 - y)^p. So a
target's density depends on every hinge, not only on two strengths A and B. Everything else is as in
`hornbeam.learning.count_problem`. A `HingeProblem` uses the closed forms of
`hornbeam.densities.hinges`. It serves soft bodies with continuous targets (`hinge_problem`), and
the ground rules of a program (`hornbeam.programs.program_likelihood`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, Generic, TypeVar

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Integers, Ints
from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import HingeRows, body_hinges, joined_rows
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.hinges import (
    Hinges,
    group_hinges,
    hinge_moments,
    hinge_values,
    rule_covariance,
)
from hornbeam.errors import warn
from hornbeam.facts.table import Targets
from hornbeam.learning.body_clauses import body_clauses, body_lengths, model_counts, priors_of
from hornbeam.learning.clause_columns import guarded_targets, own_rule_hinges
from hornbeam.learning.count_problem import MIN_SPREAD
from hornbeam.learning.descent import minimise_model
from hornbeam.rules.clause import Clause
from hornbeam.rules.own_rules import NO_OWN_RULES, OwnRules
from hornbeam.rules.weighing import Counts

C = TypeVar("C", covariant=True)


@dataclass(frozen=True, eq=False)
class HingeProblem(Generic[C]):
    """Hinges of every clause, and the labels.

    `clauses` are the objects with one weight each. `lengths` are their numbers of body atoms, 0 for
    priors. `squared` is True for clauses with p = 2. Hinge h belongs to clause `rule[h]` and target
    `target[h]`; the last five arrays are those of `hornbeam.densities.hinges.group_hinges`.
    """

    #: Neither clauses nor targets are tied to their mirror images.
    symmetric: ClassVar[bool] = False
    pair: ClassVar[None] = None

    clauses: Sequence[C]
    lengths: Ints
    squared: Bools
    y: Floats
    target: Ints
    rule: Ints
    height: Floats
    down: Bools
    count: Floats
    #: Which clauses are a user's own rules, and their fixed weights, NaN where they are fitted.
    own: Bools | None = None
    fixed: Floats | None = None

    @property
    def relaxation(self) -> Relaxation:
        """What values a target may take."""
        return Relaxation.SQUARED if self.squared.any() else Relaxation.LINEAR

    @property
    def size(self) -> int:
        """Number of hinges."""
        return len(self.rule)

    @property
    def is_prior(self) -> Bools:
        """Which clauses are priors."""
        return np.equal(self.lengths, 0)

    @property
    def is_own(self) -> Bools:
        """Which clauses are a user's own rules."""
        return np.zeros(len(self.clauses), dtype=np.bool_) if self.own is None else self.own

    @cached_property
    def is_base(self) -> Bools:
        """Which clauses are priors or own rules."""
        return self.is_prior | self.is_own

    @cached_property
    def hinges(self) -> Hinges:
        """The hinges, sorted once; the order does not depend on the weights."""
        return group_hinges(self.target, self.rule, self.height, self.down, self.count, len(self.y))

    @cached_property
    def observed(self) -> Floats:
        """Potential of every group of hinges (one target, one clause) at the label."""
        return hinge_values(self.hinges, self.y, self.squared)

    @cached_property
    def scales(self) -> Floats:
        """Standard deviation of every clause's largest potential over the targets.

        It is at least a fraction of the root mean square; see `CountProblem.scales`.
        """
        n = max(len(self.y), 1)
        cell = self.rule * n + self.target
        potential = np.where(self.squared[self.rule], self.height**2, self.height)
        largest = np.bincount(cell, self.count * potential, len(self.clauses) * n)
        by_clause = largest.reshape(len(self.clauses), n)
        size = np.sqrt((by_clause**2).mean(axis=1))
        return np.asarray(np.maximum(by_clause.std(axis=1), MIN_SPREAD * size))

    def log_likelihood(self, weights: Floats) -> float:
        """Log pseudolikelihood of the labels."""
        log_z = hinge_moments(self.hinges, weights, self.squared).log_z
        return -float(log_z.sum() + weights[self.hinges.rule] @ self.observed)

    def gradient(self, weights: Floats) -> Floats:
        """Derivative of -l by every weight: the observed potential minus the expected one."""
        expected = hinge_moments(self.hinges, weights, self.squared).expected
        slope = np.bincount(self.hinges.rule, self.observed - expected, len(self.clauses))
        return slope.astype(np.float64)

    def score(self, weights: Floats) -> Floats:
        """E[y] of every target."""
        return hinge_moments(self.hinges, weights, self.squared).mean

    def propose(self, weights: Floats, active: Integers, linear: Floats, ridge: Floats) -> Floats:
        """Minimise the quadratic model of the penalised loss over w >= 0."""
        # leaving out clauses of weight 0 that stay at 0 reduces the number of knees
        present = np.union1d(active, np.flatnonzero(weights))
        members = self if len(present) == len(self.clauses) else self.only(present)
        now, moving = weights[present], np.searchsorted(present, active)
        slope = (members.gradient(now) + linear[present] + ridge[present] * now)[moving]
        curve = rule_covariance(members.hinges, now, members.squared, len(present))
        curve = curve[np.ix_(moving, moving)] + np.diag(ridge[active])
        proposed = weights.copy()
        proposed[active] = minimise_model(slope, curve, weights[active])
        return proposed

    def pieces(self, base: Floats | None) -> Callable[[int], HingePiece]:
        """The piecewise objectives of all clauses; see `Problem.pieces`."""
        inside = np.zeros(len(self.clauses)) if base is None else base
        return partial(self._piece, inside)

    def _piece(self, base: Floats, k: int) -> HingePiece:
        members = np.append(k, np.flatnonzero(self.is_base))
        part = self.only(members).subset(self.targets_of(k))
        return HingePiece(part, base[members[1:]])

    def only(self, members: Integers) -> HingeProblem[C]:
        """The problem with only the clauses whose indices are `members`."""
        place = np.full(len(self.clauses), -1, dtype=np.int64)
        place[members] = np.arange(len(members))
        kept = replace(
            self,
            clauses=[self.clauses[k] for k in members.tolist()],
            lengths=self.lengths[members],
            squared=self.squared[members],
            rule=place[self.rule],
            own=None if self.own is None else self.own[members],
            fixed=None if self.fixed is None else self.fixed[members],
        )
        return kept._keep(kept.rule >= 0)

    def subset(self, targets: Bools) -> HingeProblem[C]:
        """The problem with only the targets where `targets` is True (renumbered)."""
        place = np.cumsum(targets) - 1
        kept = replace(self, y=self.y[targets], target=place[self.target])
        return kept._keep(targets[self.target])

    def _keep(self, hinges: Bools) -> HingeProblem[C]:
        names = ("target", "rule", "height", "down", "count")
        return replace(self, **{name: getattr(self, name)[hinges] for name in names})

    def targets_of(self, k: int) -> Bools:
        """Which targets clause k has hinges for."""
        return np.bincount(self.target[self.rule == k], minlength=len(self.y)) > 0

    def signature(self, rng: np.random.Generator) -> Floats:
        """A number per target that depends only on its hinges: a random projection of them."""
        projected = self.height * self.count * rng.random(len(self.clauses))[self.rule]
        return np.bincount(self.target, projected, len(self.y)).astype(np.float64)

    def distinct_columns(self) -> HingeProblem[C]:
        """Leave out clauses whose hinges are equal to those of an earlier clause."""
        order = np.lexsort((self.down, self.count, self.height, self.target, self.rule))
        ends = np.searchsorted(self.rule[order], np.arange(len(self.clauses) + 1))
        first: dict[tuple[bytes, ...], int] = {}
        keep = []
        for k in range(len(self.clauses)):
            part = order[ends[k] : ends[k + 1]]
            columns = (self.target, self.height, self.count, self.down)
            same = (bytes(self.squared[[k]]), *(column[part].tobytes() for column in columns))
            if first.setdefault(same, k) == k or self.is_base[k]:
                keep.append(k)
        return self.only(np.array(keep, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class HingePiece:
    """One clause, followed by others with the weights `base`, over the targets of its hinges."""

    part: HingeProblem[object]
    base: Floats

    def derivatives(self, weight: float) -> tuple[float, float, float]:
        """Log pseudolikelihood of this clause alone, its slope and its curvature."""
        weights = np.append(weight, self.base)
        slope = -float(self.part.gradient(weights)[0])
        covariance = rule_covariance(self.part.hinges, weights, self.part.squared, len(weights))
        return self.part.log_likelihood(weights), slope, -float(covariance[0, 0])


def hinge_problem(
    statistics: Statistics,
    labels: Targets,
    ways: Sequence[Counts],
    relaxation: Relaxation,
    own: OwnRules = NO_OWN_RULES,
) -> HingeProblem[Clause]:
    """The problem of statistics with body truths, and of labels; `own` rules come first.

    Shares are left out: they do not depend on the truth of groundings. If only shares were
    requested, rules are counted by log, with a warning.
    """
    if list(ways) == [Counts.SHARE]:
        warn(
            f"soft facts have no shares for {relaxation} targets: rules are counted by log instead "
            'of `counts="share"`; use `relaxation="boolean"` to count by share'
        )
    ways = [way for way in ways if way is not Counts.SHARE] or [Counts.LOG]
    listed = [
        candidate
        for candidate in body_clauses(statistics.bodies, ways, {})
        if own.admits(candidate.clause)
    ]
    priors = priors_of(labels.arities)
    clauses = [rule.clause for rule in own.conditional]
    clauses += [own.guarded(candidate.clause) for candidate in listed] + priors
    rows = {way: body_hinges(statistics, way) for way in {candidate.way for candidate in listed}}
    parts = [rows[candidate.way].part(statistics.column(candidate.body)) for candidate in listed]
    if (guarded := guarded_targets(statistics, own)) is not None:
        parts = [part.part(guarded[part.target]) for part in parts]
    parts = own_rule_hinges(statistics, own, model_counts(ways)) + parts
    parts += [
        HingeRows.wholly_true(np.flatnonzero(labels.predicate == k // 2))
        for k in range(len(priors))  # two per predicate
    ]
    rule, (target, height, count) = joined_rows(parts)
    return HingeProblem(
        clauses,
        body_lengths(clauses),
        np.full(len(clauses), relaxation is Relaxation.SQUARED),
        labels.truth,
        target,
        rule,
        height,
        np.array([clause.negated for clause in clauses])[rule],
        count,
        own=own.flags(clauses),
    )
