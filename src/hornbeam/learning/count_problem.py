"""The learning problem in columns: what each clause adds to which target.

Clause k with weight w_k adds w_k x to a strength of target i (see `hornbeam.densities.strengths`):
to A_i, "up", a clause with head t; to B_i, "down", a negated one. In collective learning a target
stands in bodies too, so that a clause may have entries on either side, and some on the sides of
targets that it has several times. x is a count of groundings, or log2(1 + count), or 1. The
pseudolikelihood of the labels is

    l(w) = - sum_i [ log Z(A_i, B_i, ...) + A_i (1 - y_i)^p + B_i y_i^p + ... ].

Where bodies are observed, a clause and its negation share one column; the priors' are of ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from hornbeam.arrays import Bools, Floats, Ids, Integers, Ints, pointers, run_starts
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.strengths import Densities, Moments
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning import descent
from hornbeam.learning.descent_arrays import Layout
from hornbeam.learning.pieces import CountPiece, distinct_rows, grouped_counts
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Counts, Relaxation

#: Sweeps over columns before a Hessian is worked out, and the most weights it may have.
FIRST_SWEEPS = 2
LARGEST_HESSIAN = 1000


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Columns of (transformed) counts, the clauses that use them, and the labels.

    Column j has rows `row[indptr[j]:indptr[j+1]]` with entries `x`; on a side, clause k has the
    column `columns[side, k]`, or none where that is -1. The sides from 2 on are those of targets
    that stand `times` times in a ground clause. Path clauses come first, then priors.
    """

    clauses: Sequence[Clause]
    columns: Ints
    indptr: Ints
    row: Ids
    x: Floats
    y: Floats
    relaxation: Relaxation
    times: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        statistics: Statistics,
        labels: Targets,
        counts: Counts = Counts.RAW,
        relaxation: Relaxation = Relaxation.BOOLEAN,
    ) -> CountProblem:
        """Lay out statistics and labels for a learner."""
        indptr, row, x = count_columns(statistics, counts, relaxation)
        clauses, column = both_ways(statistics.bodies, labels.predicates)
        priors = [labels.predicate == p for p in range(len(labels.predicates))]
        rows = np.concatenate([row, *map(np.flatnonzero, priors)]).astype(np.int32)
        sizes = [*np.diff(indptr), *map(np.count_nonzero, priors)]
        negated = np.array([clause.negated for clause in clauses])
        return cls(
            clauses,
            np.stack([np.where(negated, -1, column), np.where(negated, column, -1)]),
            pointers(sizes),
            rows,
            np.append(x, np.ones(len(rows) - len(x))),
            labels.truth,
            relaxation,
        )

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.x)

    @cached_property
    def is_prior(self) -> Bools:
        """Which clauses are priors."""
        return np.equal(self.lengths, 0)

    @cached_property
    def lengths(self) -> Ints:
        """Number of body atoms of every clause, 0 for priors."""
        return body_lengths(self.clauses)

    @cached_property
    def densities(self) -> Densities:
        """Densities of the targets as functions of their strengths."""
        used = self.columns[2:][self.columns[2:] >= 0]
        parts = [self.row[self.indptr[j] : self.indptr[j + 1]] for j in used.tolist()]
        repeated = np.unique(np.concatenate(parts)) if parts else np.empty(0)
        return Densities(self.relaxation, self.times, repeated.astype(np.int64))

    @cached_property
    def observed(self) -> Floats:
        """Potential of every target (sides, n) at its label."""
        return self.densities.statistics(self.y)

    def entries(self, k: int, side: int) -> slice:
        """Where the entries of a clause on a side stand."""
        j = int(self.columns[side, k])
        return slice(0, 0) if j < 0 else slice(int(self.indptr[j]), int(self.indptr[j + 1]))

    @cached_property
    def _layout(self) -> Layout:
        return Layout(self.indptr, self.row, self.x, self.columns, len(self.y))

    def strengths(self, weights: Floats) -> Floats:
        """Add up the strengths (sides, n) of every target."""
        return descent.strengths(self._layout, weights)

    def log_likelihood(self, weights: Floats) -> float:
        """Log pseudolikelihood of the labels."""
        found, moments = self._moments(weights)
        return -float(moments.log_z.sum() + np.sum(found * self.observed))

    def signature(self, rng: np.random.Generator) -> Floats:
        """Give each target a number that its counts decide: a random projection of its row."""
        sizes = np.diff(self.indptr)
        projected = self.x * np.repeat(rng.random(len(sizes)), sizes)
        return np.bincount(self.row, projected, len(self.y)).astype(np.float64)

    def distinct_columns(self) -> CountProblem:
        """Leave out clauses whose columns repeat an earlier clause's.

        Symmetric relations give many sequences with the very same counts; the objective cannot
        tell them apart, so only the first (widest, shortest, first by text) is kept.
        """
        number: dict[tuple[bytes, bytes], int] = {}
        # one place more than columns: a clause without a column on a side has the number -1 there
        same = np.full(len(self.indptr), -1, dtype=np.int64)
        for j in range(len(self.indptr) - 1):
            part = slice(self.indptr[j], self.indptr[j + 1])
            same[j] = number.setdefault((self.row[part].tobytes(), self.x[part].tobytes()), j)
        first: dict[bytes, int] = {}
        keep = [
            k
            for k in range(len(self.clauses))
            if first.setdefault(same[self.columns[:, k]].tobytes(), k) == k or self.is_prior[k]
        ]
        return self.only(np.array(keep, dtype=np.int64))

    def only(self, members: Integers) -> CountProblem:
        """Keep some clauses only."""
        return replace(
            self,
            clauses=[self.clauses[k] for k in members.tolist()],
            columns=np.ascontiguousarray(self.columns[:, members]),
        )

    def _derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Slopes and curves of the loss in the strengths, one row per side for the kernels."""
        _, (_, expected, curves) = self._moments(weights)
        return self.observed - expected, curves

    def _moments(self, weights: Floats) -> tuple[Floats, Moments]:
        """Strengths and moments of every target: a step asks for loss, gradient and curves."""
        key = weights.tobytes()
        if key not in self._latest:
            found = self.strengths(weights)
            self._latest.clear()
            self._latest[key] = found, self.densities.moments(found)
        return self._latest[key]

    @cached_property
    def _latest(self) -> dict[bytes, tuple[Floats, Moments]]:
        """Strengths and moments at the latest weights."""
        return {}

    def gradient(self, weights: Floats) -> Floats:
        """Derivative of -l by every weight: observed minus expected."""
        slopes, _ = self._derivatives(weights)
        return descent.gradients(self._layout, slopes)

    def score(self, weights: Floats) -> Floats:
        """E[y] of every target."""
        return self.densities.score(self.strengths(weights))

    def pieces(self, priors: Floats | None) -> Callable[[int], CountPiece]:
        """How each clause does alone; see `Problem.pieces`."""
        inside = None if priors is None else self.strengths(np.where(self.is_prior, priors, 0.0))
        return partial(self._piece, inside)

    def _piece(self, inside: Floats | None, k: int) -> CountPiece:
        """Group a clause's targets by distinct (counts, label, strengths of the prior)."""
        sides = np.flatnonzero(self.columns[:, k] >= 0).tolist()
        parts = [self.entries(k, side) for side in sides]
        rows = np.concatenate([self.row[part] for part in parts] or [self.row[:0]])
        rows = np.unique(rows) if len(parts) > 1 else rows
        none = np.zeros((len(self.columns), 1))
        prior = none if inside is None or not len(rows) else inside[:, rows]
        if (prior == prior[:, :1]).all():
            prior = prior[:, :1]  # but where bodies and heads are of several predicates
        one_prior = prior.shape[1] == 1
        model = (self.relaxation, self.times)
        if len(parts) == 1 and one_prior:
            counts, y, size = grouped_counts(self.x[parts[0]], self.y[rows])
            x = np.zeros((len(self.columns), len(counts)))
            x[sides[0]] = counts
            return CountPiece(x, y, size, prior, *model)
        x = np.zeros((len(self.columns), len(rows)))
        for side, part in zip(sides, parts, strict=True):
            x[side, np.searchsorted(rows, self.row[part])] = self.x[part]
        y = self.y[rows]
        first, size = distinct_rows([y, *x[sides], *(() if one_prior else prior)])
        prior = prior if one_prior else prior[:, first]
        return CountPiece(x[:, first], y[first], size, prior, *model)

    def propose(self, weights: Floats, active: Integers, linear: Floats, ridge: Floats) -> Floats:
        """Minimise the quadratic model of the penalised loss over w >= 0."""
        slopes, curves = self._derivatives(weights)
        proposed, slopes = descent.descend(
            self._layout, active, weights, linear, ridge, slopes, curves, FIRST_SWEEPS
        )
        kept = active[proposed[active] > 0.0]
        if len(kept) > LARGEST_HESSIAN:
            return descent.descend(
                self._layout, kept, proposed, linear, ridge, slopes, curves, descent.SWEEPS
            )[0]
        gradient, hessian = descent.quadratic(self._layout, kept, slopes, curves)
        gradient += linear[kept] + ridge[kept] * proposed[kept]
        hessian.flat[:: len(kept) + 1] += ridge[kept]
        proposed[kept] = descent.minimise_model(gradient, hessian, proposed[kept])
        return proposed

    @cached_property
    def scales(self) -> Floats:
        """Root mean square over the targets of every clause's columns."""
        # no differences of a running sum: next to a hub's counts small ones would lose their digits
        sizes = np.diff(self.indptr)
        squares = np.bincount(np.repeat(np.arange(len(sizes)), sizes), self.x**2, len(sizes))
        by_side = np.where(self.columns >= 0, np.append(squares, 0.0)[self.columns], 0.0)
        return np.asarray(np.sqrt(by_side.sum(axis=0) / max(len(self.y), 1)))

    def subset(self, targets: Bools) -> CountProblem:
        """Keep some targets only (rows renumbered)."""
        place = np.cumsum(targets) - 1
        keep = targets[self.row]
        return replace(
            self,
            indptr=pointers(keep)[self.indptr],
            row=place[self.row[keep]].astype(np.int32),
            x=self.x[keep],
            y=self.y[targets],
        )


def body_lengths(clauses: Sequence[Clause]) -> Ints:
    """Number of body atoms of every clause, 0 for priors."""
    return np.array([len(clause.body) for clause in clauses], dtype=np.int64)


def both_ways(bodies: Sequence[Body], predicates: Iterable[str]) -> tuple[list[Clause], Ints]:
    """List each body's clause and negation, then each target's two priors, and their columns."""
    clauses = [Clause(body, negated) for body in bodies for negated in (False, True)]
    clauses += [prior(name, negated) for name in predicates for negated in (False, True)]
    return clauses, np.arange(len(clauses), dtype=np.int64) // 2


def count_columns(
    statistics: Statistics, counts: Counts, relaxation: Relaxation
) -> tuple[Ints, Ids, Floats]:
    """Columns (indptr, row, x) of the strength that each sequence adds to each target.

    With 0/1 facts x is the transformed count. With soft facts and Boolean targets a ground clause
    of body truth b adds b^p, its whole potential where the head is violated; for continuous
    targets the knees of soft hinges differ, and one number per target is not enough.
    """
    if statistics.body_truth is None:
        return statistics.indptr, statistics.target, transformed(statistics.count, counts)
    if relaxation is not Relaxation.BOOLEAN:
        raise InputError(
            "facts with truth values between 0 and 1 need the boolean relaxation here: "
            'use `relaxation="boolean"`, or round the facts'
        )
    column = np.repeat(np.arange(len(statistics.bodies)), np.diff(statistics.indptr))
    starts = run_starts(column, statistics.target)
    body = statistics.body_truth / ONE
    if counts is Counts.EXISTS:
        x = np.maximum.reduceat(body, starts) if len(starts) else body[:0]
    else:
        total = np.add.reduceat(body * statistics.count, starts) if len(starts) else body[:0]
        x = total if counts is Counts.RAW else np.log2(1.0 + total)
    sizes = np.bincount(column[starts], minlength=len(statistics.bodies))
    return pointers(sizes), statistics.target[starts], x


def transformed(count: Integers, counts: Counts) -> Floats:
    """n, log2(1 + n) or 1."""
    match counts:
        case Counts.RAW:
            return count.astype(np.float64)
        case Counts.LOG:
            return np.asarray(np.log2(1.0 + count))
        case Counts.EXISTS:
            return np.ones(len(count))
