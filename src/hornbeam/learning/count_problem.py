"""The learning problem in columns: what each clause adds to each target.

Clause k with weight w_k adds w_k x to a strength of target i (see `hornbeam.densities.integrals`).
A clause with head t adds to A_i ("up"), a clause with a negated head to B_i ("down"). In collective
learning, where targets occur in bodies too, a clause may have entries on both sides. It has entries
on further sides for targets that occur several times in a ground clause.

`hornbeam.counting.columns` defines x for n groundings. One body may have several clauses, each with
its own way of counting. The pseudolikelihood of the labels is

    l(w) = - sum_i [ log Z(A_i, B_i, ...) + A_i (1 - y_i)^p + B_i y_i^p + ... ].

Where bodies are observed, a clause and its negation share one column. Columns of priors are ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Ints, pointers
from hornbeam.base.choices import Relaxation
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import Densities, Moments
from hornbeam.facts.folds import unordered_pairs
from hornbeam.facts.table import Targets
from hornbeam.learning import descent
from hornbeam.learning.body_clauses import (
    body_lengths,
)
from hornbeam.learning.clause_columns import clause_columns
from hornbeam.learning.problem import CountPiece, distinct_rows, grouped_counts
from hornbeam.rules.body import Conjunction
from hornbeam.rules.clause import Clause
from hornbeam.rules.own_rules import NO_OWN_RULES, OwnRules
from hornbeam.rules.weighing import Counts

#: Sweeps over columns before a Hessian is computed, and the maximum number of weights for it.
FIRST_SWEEPS = 2
MAX_HESSIAN = 1000
#: Minimum scale of a column as a fraction of its root mean square.
MIN_SPREAD = 0.3


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Columns of (transformed) counts, the clauses that use them, and the labels.

    Column j has rows `row[indptr[j]:indptr[j+1]]` with entries `x`. On a side, clause k has the
    column `columns[side, k]`, -1 for none. The sides from 2 on are those of targets that occur
    `times` times in a ground clause. Priors are the last clauses. Where the target is `symmetric`,
    a clause represents its mirror image too, and `pair` has the number of every target's unordered
    pair. Where facts are `soft`, entries come from truths of groundings, not from their number.
    """

    clauses: Sequence[Clause]
    columns: Ints
    indptr: Ints
    row: Ids
    x: Floats
    y: Floats
    relaxation: Relaxation
    times: tuple[int, ...] = ()
    symmetric: bool = False
    soft: bool = False
    pair: Ints | None = None
    #: Which clauses are a user's own rules, and their fixed weights, NaN where they are fitted.
    own: Bools | None = None
    fixed: Floats | None = None
    #: Strengths and moments at the latest weights.
    _latest: dict[bytes, tuple[Floats, Moments]] = field(
        default_factory=dict, init=False, repr=False
    )
    #: Gradient at the latest weights: a fit begins at the weights where the previous fit ended.
    _latest_gradient: dict[bytes, Floats] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        statistics: Statistics,
        labels: Targets,
        ways: Sequence[Counts] = (Counts.RAW,),
        relaxation: Relaxation = Relaxation.BOOLEAN,
        symmetric: bool = False,
        tied: bool = True,
        own: OwnRules = NO_OWN_RULES,
        conjunctions: Sequence[Conjunction] = (),
    ) -> CountProblem:
        """The problem of statistics and labels.

        Every body has one column per way of counting, of the `ways` that make sense for it. Where
        the target is `symmetric`, a body and its mirror image share a column with the sum of both,
        unless `tied` is False. `conjunctions` of its bodies are clauses like them. The columns of
        `own` rules come first.
        """
        clauses, column, parts = clause_columns(
            statistics, labels, ways, relaxation, symmetric, tied, own, conjunctions
        )
        return cls(
            clauses,
            _on_sides(clauses, column),
            pointers(np.concatenate([np.diff(part.indptr) for part in parts])),
            np.concatenate([part.row for part in parts]).astype(np.int32),
            np.concatenate([part.x for part in parts]),
            labels.truth,
            relaxation,
            symmetric=symmetric,
            soft=statistics.body_truth is not None,
            pair=unordered_pairs(labels) if symmetric else None,
            own=own.flags(clauses),
        )

    @classmethod
    def from_columns(
        cls,
        clauses: Sequence[Clause],
        entries: Sequence[tuple[Ids, Floats]],
        column: Integers,
        y: Floats,
        symmetric: bool,
    ) -> CountProblem:
        """The problem of columns (rows, entries); clause k has the column number `column[k]`."""
        return cls(
            clauses,
            _on_sides(clauses, column),
            pointers(np.array([len(rows) for rows, _ in entries], dtype=np.int64)),
            np.concatenate([rows for rows, _ in entries]).astype(np.int32),
            np.concatenate([x for _, x in entries]),
            y,
            Relaxation.BOOLEAN,
            symmetric=symmetric,
        )

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.x)

    @cached_property
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
        """Slice of the entries of clause k on a side."""
        j = int(self.columns[side, k])
        return slice(0, 0) if j < 0 else slice(int(self.indptr[j]), int(self.indptr[j + 1]))

    def column(self, k: int) -> tuple[Ids, Floats]:
        """Rows and entries of clause k, which has entries on one side only."""
        side = int(np.argmax(self.columns[:, k] >= 0))
        entries = self.entries(k, side)
        return self.row[entries], self.x[entries]

    @cached_property
    def _layout(self) -> descent.ClauseLayout:
        return descent.ClauseLayout(self.indptr, self.row, self.x, self.columns, len(self.y))

    def strengths(self, weights: Floats) -> Floats:
        """Strengths (sides, n) of every target."""
        return descent.strengths(self._layout, weights)

    def log_likelihood(self, weights: Floats) -> float:
        """Log pseudolikelihood of the labels."""
        found, moments = self._moments(weights)
        return -float(moments.log_z.sum() + np.sum(found * self.observed))

    def signature(self, rng: np.random.Generator) -> Floats:
        """A number per target that depends only on its counts: a random projection of its row."""
        sizes = np.diff(self.indptr)
        projected = self.x * np.repeat(rng.random(len(sizes)), sizes)
        return np.bincount(self.row, projected, len(self.y)).astype(np.float64)

    def distinct_columns(self) -> CountProblem:
        """Leave out clauses whose columns are equal to those of an earlier clause.

        Symmetric relations give many bodies with equal counts. The objective cannot tell them
        apart, so only the first (widest, shortest, first by text) is kept.
        """
        number: dict[tuple[bytes, bytes], int] = {}
        # one extra slot: clauses without a column on a side have column -1, the last slot
        same = np.full(len(self.indptr), -1, dtype=np.int64)
        for j in range(len(self.indptr) - 1):
            part = slice(self.indptr[j], self.indptr[j + 1])
            same[j] = number.setdefault((self.row[part].tobytes(), self.x[part].tobytes()), j)
        first: dict[bytes, int] = {}
        keep = [
            k
            for k in range(len(self.clauses))
            if first.setdefault(same[self.columns[:, k]].tobytes(), k) == k or self.is_base[k]
        ]
        return self.only(np.array(keep, dtype=np.int64))

    def only(self, members: Integers) -> CountProblem:
        """The problem with only the clauses whose indices are `members`."""
        return replace(
            self,
            clauses=[self.clauses[k] for k in members.tolist()],
            columns=np.ascontiguousarray(self.columns[:, members]),
            own=None if self.own is None else self.own[members],
            fixed=None if self.fixed is None else self.fixed[members],
        )

    def _derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Slopes and curves of the loss in the strengths, one row per side for the kernels."""
        _, (_, expected, curves) = self._moments(weights)
        return self.observed - expected, curves

    def _moments(self, weights: Floats) -> tuple[Floats, Moments]:
        """Strengths and moments of every target, cached: loss, gradient and curves share them."""
        key = weights.tobytes()
        if key not in self._latest:
            found = self.strengths(weights)
            self._latest.clear()
            self._latest[key] = found, self.densities.moments(found)
        return self._latest[key]

    def gradient(self, weights: Floats) -> Floats:
        """Derivative of -l by every weight: the observed potential minus the expected one."""
        key = weights.tobytes()
        if key not in self._latest_gradient:
            slopes, _ = self._derivatives(weights)
            self._latest_gradient.clear()
            self._latest_gradient[key] = descent.gradients(self._layout, slopes)
        return self._latest_gradient[key]

    def score(self, weights: Floats) -> Floats:
        """E[y] of every target."""
        return self.densities.score(self.strengths(weights))

    def pieces(self, base: Floats | None) -> Callable[[int], CountPiece]:
        """The piecewise objectives of all clauses; see `Problem.pieces`."""
        inside = None if base is None else self.strengths(np.where(self.is_base, base, 0.0))
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
            prior = prior[:, :1]  # all targets have the same strengths of the prior
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
        if len(kept) > MAX_HESSIAN:
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
        """Standard deviation of every clause's columns over the targets.

        The mean of a column is already modelled by the prior. The scale is at least a fraction of
        the column's root mean square: otherwise a nearly constant column would get a large weight
        that the prior cancels.
        """
        sizes, n = np.diff(self.indptr), max(len(self.y), 1)
        column = np.repeat(np.arange(len(sizes)), sizes)
        mean = np.bincount(column, self.x, len(sizes)) / n
        # squares about the mean: a difference of large squares would lose digits of small columns
        around = np.bincount(column, (self.x - mean[column]) ** 2, len(sizes))
        squares = around + (n - sizes) * mean**2
        squares = np.maximum(squares, MIN_SPREAD**2 * (squares + n * mean**2))
        by_side = np.where(self.columns >= 0, np.append(squares, 0.0)[self.columns], 0.0)
        return np.asarray(np.sqrt(by_side.sum(axis=0) / n))

    def subset(self, targets: Bools) -> CountProblem:
        """The problem with only the targets where `targets` is True (rows renumbered)."""
        place = np.cumsum(targets) - 1
        used = np.zeros(len(self.indptr) - 1, dtype=np.bool_)
        used[self.columns[self.columns >= 0]] = True
        # columns that no clause uses are left empty: half of all, if many columns are equal
        keep = np.repeat(used, np.diff(self.indptr)) & targets[self.row]
        return replace(
            self,
            indptr=pointers(keep)[self.indptr],
            row=place[self.row[keep]].astype(np.int32),
            x=self.x[keep],
            y=self.y[targets],
            pair=None if self.pair is None else self.pair[targets],
        )


def _on_sides(clauses: Sequence[Clause], column: Sequence[int] | Integers) -> Ints:
    """Columns of the clauses by side: up, or down for negated clauses; -1 on the other side."""
    negated = np.array([clause.negated for clause in clauses])
    return np.stack([np.where(negated, -1, column), np.where(negated, column, -1)])
