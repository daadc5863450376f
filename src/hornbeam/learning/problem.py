"""The learning problem in columns: what each clause adds to which target.

Clause k with weight w_k adds w_k x_ik to A_i (a clause with head t) or to B_i (a negated one),
where x is its count of groundings, or log2(1 + count), or 1. The pseudolikelihood of the labels is

    l(w) = - sum_i [ log Z(A_i, B_i) + A_i (1 - y_i)^p + B_i y_i^p ].

A clause and its negation share one column of counts; the priors are columns of ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.clauses.clause import Path, PathClause, Prior
from hornbeam.clauses.rules import Counts, Relaxation
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning.descent import descend, descend_model, gradients, quadratic, strengths
from hornbeam.learning.integrals import score_mean, two_sided
from hornbeam.statistics.table import Statistics

Floats = npt.NDArray[np.float64]

#: Most sweeps over one quadratic model, and the share of the first one's gain that ends them.
SWEEPS = 100
SHARE = 1e-4
#: Sweeps over columns before a Hessian is worked out, and the most weights it may have.
FIRST_SWEEPS = 2
LARGEST_HESSIAN = 1000


@dataclass(frozen=True, eq=False)
class Problem:
    """Columns of (transformed) counts, the clauses that use them, and the labels.

    Column j has rows `row[indptr[j]:indptr[j+1]]` with entries `x`; clause k uses column
    `column[k]`, pulling up where `up[k]`. The first `len(clauses) - n_priors` clauses are
    path clauses, the rest priors.
    """

    clauses: Sequence[PathClause | Prior]
    column: npt.NDArray[np.int64]
    up: npt.NDArray[np.bool_]
    indptr: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    x: Floats
    y: Floats
    relaxation: Relaxation

    @classmethod
    def of(
        cls,
        statistics: Statistics,
        labels: Targets,
        counts: Counts = Counts.RAW,
        relaxation: Relaxation = Relaxation.BOOLEAN,
        distinct: bool = False,
    ) -> Problem:
        """Lay out statistics and labels for a learner."""
        indptr, row, x = count_columns(statistics, counts, relaxation)
        clauses, column = both_ways(statistics.paths, labels.predicates, distinct)
        rows, starts = [row], [*indptr.tolist()]
        for p in range(len(labels.predicates)):
            mine = np.flatnonzero(labels.predicate == p).astype(np.int32)
            rows.append(mine)
            starts.append(starts[-1] + len(mine))
        ones = np.ones(starts[-1] - len(row))
        return cls(
            clauses,
            column,
            np.array([not clause.negated for clause in clauses]),
            np.array(starts, dtype=np.int64),
            np.concatenate(rows),
            np.concatenate([x, ones]),
            labels.truth,
            relaxation,
        )

    @cached_property
    def is_prior(self) -> npt.NDArray[np.bool_]:
        """Which clauses are priors."""
        return prior_mask(self.clauses)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of body atoms of every clause, 0 for priors."""
        return body_lengths(self.clauses)

    @property
    def power(self) -> int:
        """The p of the hinges."""
        return 2 if self.relaxation is Relaxation.SQUARED else 1

    @cached_property
    def observed_up(self) -> Floats:
        """(1 - y)^p of every target."""
        return (1.0 - self.y) ** self.power

    @cached_property
    def observed_down(self) -> Floats:
        """y^p of every target."""
        return np.asarray(self.y**self.power)

    def strengths(self, weights: Floats) -> tuple[Floats, Floats]:
        """Add up A and B of every target."""
        up, down = strengths(
            self.indptr, self.row, self.x, self.column, self.up, weights, len(self.y)
        )
        return up, down

    def log_likelihood(self, weights: Floats) -> float:
        """Log pseudolikelihood of the labels."""
        up, down = self.strengths(weights)
        log_z = two_sided(up, down, self.relaxation).log_z
        return -float(np.sum(log_z + up * self.observed_up + down * self.observed_down))

    def signature(self, rng: np.random.Generator) -> Floats:
        """Give each target a number that its counts decide: a random projection of its row."""
        sizes = np.diff(self.indptr)
        projected = self.x * np.repeat(rng.random(len(sizes)), sizes)
        return np.bincount(self.row, projected, len(self.y)).astype(np.float64)

    def distinct_columns(self) -> Problem:
        """Leave out clauses whose column repeats an earlier one.

        Symmetric relations give many sequences with the very same counts; the objective cannot
        tell them apart, and the first (widest, shortest, first by text) speaks for all.
        """
        first: dict[tuple[bytes, bytes], int] = {}
        keep = np.zeros(len(self.clauses), dtype=np.bool_)
        for k, j in enumerate(self.column.tolist()):
            part = slice(self.indptr[j], self.indptr[j + 1])
            same = (self.row[part].tobytes(), self.x[part].tobytes())
            keep[k] = first.setdefault(same, j) == j or self.is_prior[k]
        return self.only(np.flatnonzero(keep))

    def only(self, members: npt.NDArray[np.integer]) -> Problem:
        """Keep some clauses only."""
        return replace(
            self,
            clauses=[self.clauses[k] for k in members.tolist()],
            column=self.column[members],
            up=self.up[members],
        )

    def gradient(self, weights: Floats) -> Floats:
        """Derivative of -l by every weight: observed minus expected."""
        moments = two_sided(*self.strengths(weights), self.relaxation)
        result: Floats = gradients(
            self.indptr, self.row, self.x, self.column, self.up,
            self.observed_up - moments.e_up, self.observed_down - moments.e_down,
        )  # fmt: skip
        return result

    def score(self, weights: Floats) -> Floats:
        """E[y] of every target."""
        return score_mean(*self.strengths(weights), self.relaxation)

    def propose(
        self,
        weights: Floats,
        active: npt.NDArray[np.integer],
        linear: Floats,
        ridge: Floats,
    ) -> Floats:
        """Minimise the quadratic model of the penalised loss over w >= 0."""
        moments = two_sided(*self.strengths(weights), self.relaxation)
        layout = (self.indptr, self.row, self.x, self.column, self.up)
        curves = moments.var_up, moments.var_down, moments.cov
        proposed: Floats
        proposed, slope_up, slope_down = descend(
            *layout, active, weights, linear, ridge,
            self.observed_up - moments.e_up, self.observed_down - moments.e_down, *curves,
            FIRST_SWEEPS, SHARE,
        )  # fmt: skip
        kept = active[proposed[active] > 0.0]
        if len(kept) > LARGEST_HESSIAN:
            proposed, _, _ = descend(
                *layout, kept, proposed, linear, ridge, slope_up, slope_down, *curves,
                SWEEPS, SHARE,
            )  # fmt: skip
            return proposed
        gradient, hessian = quadratic(*layout, kept, slope_up, slope_down, *curves)
        gradient += linear[kept] + ridge[kept] * proposed[kept]
        hessian.flat[:: len(kept) + 1] += ridge[kept]
        proposed[kept] = descend_model(gradient, hessian, proposed[kept], SWEEPS, SHARE)
        return proposed

    @cached_property
    def scales(self) -> Floats:
        """Root mean square over the targets of every clause's column."""
        # not differences of a running sum: beside a hub's counts those of others would drown
        sizes = np.diff(self.indptr)
        by_column = np.bincount(np.repeat(np.arange(len(sizes)), sizes), self.x**2, len(sizes))
        return np.asarray(np.sqrt(by_column / max(len(self.y), 1))[self.column])

    def subset(self, targets: npt.NDArray[np.bool_]) -> Problem:
        """Keep some targets only (rows renumbered)."""
        place = np.cumsum(targets) - 1
        keep = targets[self.row]
        before = np.concatenate([[0], np.cumsum(keep)])
        return replace(
            self,
            indptr=before[self.indptr],
            row=place[self.row[keep]].astype(np.int32),
            x=self.x[keep],
            y=self.y[targets],
        )


def prior_mask(clauses: Sequence[PathClause | Prior]) -> npt.NDArray[np.bool_]:
    """Which clauses are priors."""
    return np.array([isinstance(clause, Prior) for clause in clauses], dtype=np.bool_)


def body_lengths(clauses: Sequence[PathClause | Prior]) -> npt.NDArray[np.int64]:
    """Number of body atoms of every clause, 0 for priors."""
    return np.array(
        [0 if isinstance(clause, Prior) else len(clause.path) for clause in clauses], dtype=np.int64
    )


def both_ways(
    paths: Sequence[Path], predicates: Iterable[str], distinct: bool
) -> tuple[list[PathClause | Prior], npt.NDArray[np.int64]]:
    """List each path's clause and negation, then each target's two priors, and their columns."""
    clauses: list[PathClause | Prior] = [
        PathClause(path, negated, distinct) for path in paths for negated in (False, True)
    ]
    clauses += [Prior(name, negated) for name in predicates for negated in (False, True)]
    return clauses, np.arange(len(clauses), dtype=np.int64) // 2


def count_columns(
    statistics: Statistics, counts: Counts, relaxation: Relaxation
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats]:
    """Columns (indptr, row, x) of the strength that each sequence lends to each target.

    With 0/1 facts x is the transformed count. With soft facts and Boolean targets a ground clause
    of body truth b lends b^p, its whole potential where the head is violated; for continuous
    targets the knees of soft hinges differ and one number a target does not say it.
    """
    if statistics.body is None:
        return statistics.indptr, statistics.target, transformed(statistics.count, counts)
    if relaxation is not Relaxation.BOOLEAN:
        raise InputError(
            "facts with truth values between 0 and 1 need the boolean relaxation here: "
            "use --relaxation boolean, or round the facts"
        )
    column = np.repeat(np.arange(len(statistics.paths)), np.diff(statistics.indptr))
    first = np.ones(len(column), dtype=np.bool_)
    first[1:] = (column[1:] != column[:-1]) | (statistics.target[1:] != statistics.target[:-1])
    starts = np.flatnonzero(first)
    body = statistics.body / ONE
    if counts is Counts.EXISTS:
        x = np.maximum.reduceat(body, starts) if len(starts) else body[:0]
    else:
        total = np.add.reduceat(body * statistics.count, starts) if len(starts) else body[:0]
        x = total if counts is Counts.RAW else np.log2(1.0 + total)
    sizes = np.bincount(column[starts], minlength=len(statistics.paths))
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return indptr, statistics.target[starts], x


def transformed(count: npt.NDArray[np.integer], counts: Counts) -> Floats:
    """n, log2(1 + n) or 1."""
    match counts:
        case Counts.RAW:
            return count.astype(np.float64)
        case Counts.LOG:
            return np.asarray(np.log2(1.0 + count))
        case Counts.EXISTS:
            return np.ones(len(count))
