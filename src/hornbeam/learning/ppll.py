"""Piecewise pseudolikelihood: every clause learns alone (the paper's algorithm 2, and faster).

    l_ppll(w) = sum over clauses c and targets i of [ -log Z(w_c n_ci) - w_c n_ci u^p ]

with u = 1 - y for a clause and y for its negation. In collective learning a clause may pull a
target both ways, and its term is -log Z(w n+, w n-) - w (n+ (1-y)^p + n- y^p). Each term knows one
weight only (the paper's lemma 1), so learning structure is one maximisation a clause (its theorem
1): the clauses whose optimum is above 0 are the model. Targets with the same counts and label are
one group, which makes a step cost as many operations as there are groups, not targets.

With the prior inside, the weight w0 of !t is fitted first, alone and free to lean either way,
and every clause is then fitted on top of it: a piece is the two-sided density of (w n, w0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Floats
from hornbeam.densities.hinges import rule_covariance
from hornbeam.densities.integrals import one_sided
from hornbeam.densities.strengths import DOWN, Densities
from hornbeam.learning.hinge_problem import HingeProblem, Learnable
from hornbeam.learning.newton import Fit, Newton, Status
from hornbeam.learning.problem import Problem
from hornbeam.learning.settings import Setting, check_settings, option
from hornbeam.progress import SILENT, Progress

NONE = np.empty(0, dtype=np.int64)
#: Distinct labels up to which targets are grouped label by label.
FEW_LABELS = 8


@dataclass(frozen=True, eq=False)
class Piece:
    """One clause's groups of like targets: counts (sides, groups), label, and how many they are.

    `prior` (one column, or one a group) holds the prior's strengths, 0 where it stays outside.
    """

    x: Floats
    y: Floats
    size: Floats
    prior: Floats

    def derivatives(self, weight: float, problem: Learnable) -> tuple[float, float, float]:
        """Log pseudolikelihood of this clause alone, its slope and its curvature.

        l' = sum (E[S] - S) and l'' = -sum Var[S], S the sum of x (1-y)^p, x y^p, ...
        """
        assert isinstance(problem, Problem)
        side = self._only_side
        if side is not None:
            return self._one_sided(weight, side, problem)
        densities = Densities(problem.relaxation, problem.times, self._repeated)
        observed = densities.statistics(self.y)
        strengths = self.prior + weight * self.x
        log_z, mean, covariance = densities.moments(strengths)
        value = -float(self.size @ (log_z + np.sum(strengths * observed, axis=0)))
        slope = float(self.size @ np.sum(self.x * (mean - observed), axis=0))
        variance = np.einsum("sg,stg,tg->g", self.x, covariance, self.x)
        return value, slope, -float(self.size @ variance)

    def _one_sided(self, weight: float, side: int, problem: Problem) -> tuple[float, float, float]:
        """All entries on one side and no prior inside: closed forms of one strength."""
        x = self.x[side]
        observed = Densities(problem.relaxation, (), NONE).statistics(self.y)[side]
        log_z, mean, var = one_sided(weight * x, problem.relaxation)
        value = -float(self.size @ (log_z + weight * x * observed))
        return value, float(self.size @ (x * (mean - observed))), -float(self.size @ (x * x * var))

    @cached_property
    def _only_side(self) -> int | None:
        """Up or down, where all entries are there and no prior is inside."""
        used = np.flatnonzero(self.x.any(axis=1))
        if self.prior.any() or len(used) != 1 or used[0] > DOWN:
            return None
        return int(used[0])

    @cached_property
    def _repeated(self) -> npt.NDArray[np.int64]:
        """Groups of targets that stand several times in a ground clause."""
        return np.flatnonzero(self.x[DOWN + 1 :].any(axis=0)).astype(np.int64)


@dataclass(frozen=True)
class SoftPiece:
    """One clause with soft bodies and, after it, the priors: hinges over the targets it meets."""

    x: Floats
    part: HingeProblem[object]
    prior: Floats

    def derivatives(self, weight: float, problem: Learnable) -> tuple[float, float, float]:
        """Log pseudolikelihood of this clause alone, its slope and its curvature."""
        weights = np.append(weight, self.prior)
        slope = -float(self.part.gradient(weights)[0])
        covariance = rule_covariance(self.part.hinges, weights, self.part.squared, len(weights))
        return self.part.log_likelihood(weights), slope, -float(covariance[0, 0])


@dataclass(frozen=True)
class Ppll:
    """Settings of the piecewise learner.

    Parameters
    ----------
    solver
        "newton" finds each optimum exactly; "gradient" is the paper's projected gradient ascent
        with `iterations` steps of `step_size`.
    prior_inside
        Fit every clause on top of the prior (see the module's text).
    weight_variance
        Variance of the Gaussian prior on weights: without it a clause that training never
        violates has its optimum at infinity.
    length_penalty
        beta: a clause stays only if it gains more than beta times its length.
    """

    solver: str = option("solver")
    iterations: int = option("iterations", 150)
    step_size: float = option("step_size")
    tolerance: float = Setting(1e-6, least=0.0).field()
    prior_inside: bool = True
    weight_variance: float = option("weight_variance")
    length_penalty: float = option("length_penalty")

    def __post_init__(self) -> None:
        check_settings(self)

    def fit(self, problem: Learnable, progress: Progress = SILENT) -> Fit:
        """Weights of all clauses; those that do not pay are exactly 0."""
        ridge = 1.0 / self.weight_variance
        prior = fit_priors(problem, ridge)
        weights = prior.weights.copy()
        clauses = np.flatnonzero(~problem.is_prior)
        home = prior_of_rows(problem, prior.weights)
        unfinished = 0
        for done, k in enumerate(clauses.tolist(), start=1):
            weights[k], finished = self._learn(problem, k, home, ridge)
            unfinished += not finished
            if done % 64 == 0 or done == len(clauses):
                progress.advance("Learning weights", done, len(clauses))
        loss = self._loss(problem, weights, home, clauses, ridge)
        status = Status.ITERATIONS if unfinished else Status.CONVERGED
        return Fit(weights, status, loss, self.iterations)

    def _learn(self, problem: Learnable, k: int, home: Home, ridge: float) -> tuple[float, bool]:
        """Weight of one clause, and whether the solver came to an end."""
        piece = make_piece(problem, k, home if self.prior_inside else None)
        return self.fit_piece(piece, problem, int(problem.lengths[k]), ridge)

    def fit_piece(
        self, piece: Piece | SoftPiece, problem: Learnable, length: int, ridge: float
    ) -> tuple[float, bool]:
        """Weight of one piece of a clause of that length, and whether the solver came to an end."""
        if not len(piece.x):
            return 0.0, True
        if self.solver == "gradient":
            weight, finished = self._ascend(problem, piece, ridge)
        else:
            weight, finished = maximise(piece, problem, ridge), True
        if weight > 0.0 and self.length_penalty > 0.0:
            gain = piece.derivatives(weight, problem)[0] - piece.derivatives(0.0, problem)[0]
            if gain - 0.5 * ridge * weight**2 <= self.length_penalty * length:
                return 0.0, finished
        return weight, finished

    def _ascend(
        self, problem: Learnable, piece: Piece | SoftPiece, ridge: float
    ) -> tuple[float, bool]:
        """Follow the paper's inner loop for one clause: w <- max(0, w + step * slope)."""
        weight, score = 0.0, -np.inf
        for _ in range(self.iterations):
            value, slope, _ = piece.derivatives(weight, problem)
            value -= 0.5 * ridge * weight**2
            improved = value - score
            score = value
            if 0.0 <= improved <= self.tolerance:
                return weight, True
            weight = max(0.0, weight + self.step_size * (slope - ridge * weight))
        return weight, False

    def _loss(
        self,
        problem: Learnable,
        weights: Floats,
        home: Home,
        clauses: npt.NDArray[np.intp],
        ridge: float,
    ) -> float:
        """Minus the penalised PPLL at the solution."""
        total = 0.0
        for k in clauses.tolist():
            if weights[k] > 0.0:
                piece = make_piece(problem, k, home if self.prior_inside else None)
                at, none = (piece.derivatives(w, problem)[0] for w in (weights[k], 0.0))
                total -= at - none - 0.5 * ridge * weights[k] ** 2
        return total


def fit_priors(problem: Learnable, ridge: float) -> Fit:
    """Weights of the priors alone."""
    n = len(problem.clauses)
    return Newton().fit(problem, np.zeros(n), np.full(n, ridge), allowed=problem.is_prior)


#: What the priors say before any clause: strengths (sides, n) of every target, or their weights.
Home = Floats


def prior_of_rows(problem: Learnable, weights: Floats) -> Home:
    """Say what the priors do: their strengths, or, for soft problems, just their weights."""
    priors = np.where(problem.is_prior, weights, 0.0)
    return priors if isinstance(problem, HingeProblem) else problem.strengths(priors)


def make_piece(problem: Learnable, k: int, home: Home | None) -> Piece | SoftPiece:
    """Make the piece of one clause, with the prior inside unless `home` is None."""
    if isinstance(problem, HingeProblem):
        return _soft_piece(problem, k, home)
    return _piece(problem, k, home)


def _soft_piece(problem: HingeProblem[object], k: int, home: Home | None) -> SoftPiece:
    members = np.append(k, np.flatnonzero(problem.is_prior))
    part = problem.only(members).subset(problem.targets_of(k))
    prior = np.zeros(len(members) - 1) if home is None else home[members[1:]]
    return SoftPiece(problem.height[problem.rule == k], part, prior)


def _piece(problem: Problem, k: int, home: Home | None) -> Piece:
    """Group a clause's targets by distinct (counts, label, prior)."""
    sides = np.flatnonzero(problem.columns[:, k] >= 0).tolist()
    parts = [problem.entries(k, side) for side in sides]
    rows = np.concatenate([problem.row[part] for part in parts]) if parts else NONE
    rows = np.unique(rows) if len(parts) > 1 else rows
    none = np.zeros((len(problem.columns), 1))
    prior = none if home is None or not len(rows) else home[:, rows]
    if (prior == prior[:, :1]).all():
        prior = prior[:, :1]  # but where bodies and heads are of several predicates
    one_prior = prior.shape[1] == 1
    if len(parts) == 1 and one_prior:
        counts, y, size = _counted(problem.x[parts[0]], problem.y[rows])
        x = np.zeros((len(problem.columns), len(counts)))
        x[sides[0]] = counts
        return Piece(x, y, size, prior)
    x = np.zeros((len(problem.columns), len(rows)))
    for side, part in zip(sides, parts, strict=True):
        x[side, np.searchsorted(rows, problem.row[part])] = problem.x[part]
    y = problem.y[rows]
    first, size = _distinct([y, *x[sides], *(() if one_prior else prior)])
    return Piece(x[:, first], y[first], size, prior if one_prior else prior[:, first])


def _counted(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct (count, label) and how many there are of each."""
    labels = np.unique(y).tolist()
    if len(labels) > FEW_LABELS:
        first, size = _distinct([y, x])
        return x[first], y[first], size
    # one label at a time: sorting counts alone is many times faster than sorting pairs
    groups = [np.unique(x[y == label], return_counts=True) for label in labels]
    counts, sizes = (np.concatenate([group[i] for group in groups] or [x]) for i in range(2))
    return counts, np.repeat(labels, [len(group[0]) for group in groups]), sizes.astype(np.float64)


def _distinct(keys: Sequence[Floats]) -> tuple[npt.NDArray[np.intp], Floats]:
    """Find the first place of every distinct combination of keys, and how many places it has."""
    order = np.lexsort(keys)
    new = np.ones(len(order), dtype=np.bool_)
    if len(order):
        new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    starts = np.flatnonzero(new)
    return order[starts], np.diff(np.append(starts, len(order))).astype(np.float64)


def maximise(piece: Piece | SoftPiece, problem: Learnable, ridge: float) -> float:
    """Maximise a concave piece minus ridge w^2 / 2 over w >= 0: safeguarded Newton."""
    _, slope, curvature = piece.derivatives(0.0, problem)
    if slope <= 0.0:
        return 0.0
    low, high = 0.0, np.inf
    weight = 0.0
    curvature -= ridge
    for _ in range(200):
        step = -slope / curvature if curvature < 0.0 else np.inf
        proposed = weight + step
        if not low < proposed < high:
            # Newton left the bracket: bisect it, or double while it is still open
            proposed = 2.0 * weight + 1.0 if np.isinf(high) else 0.5 * (low + high)
        if abs(proposed - weight) <= 1e-12 * max(weight, 1e-300):
            return proposed
        weight = proposed
        _, slope, curvature = piece.derivatives(weight, problem)
        slope, curvature = slope - ridge * weight, curvature - ridge
        if slope == 0.0:
            return weight
        low, high = (weight, high) if slope > 0.0 else (low, weight)
    return weight
