"""Piecewise pseudolikelihood: every clause learns alone (the paper's algorithm 2, and faster).

    l_ppll(w) = sum over clauses c and targets i of [ -log Z(w_c n_ci) - w_c n_ci u^p ]

with u = 1 - y for a clause and y for its negation. Each term knows one weight only (the paper's
lemma 1), so learning structure is one maximisation a clause (its theorem 1): the clauses whose
optimum is above 0 are the model. Targets with the same count and label are one group, which makes a
step cost as many operations as there are distinct (count, label), not targets.

With the prior inside, the weight w0 of !t is fitted first, alone and free to lean either way,
and every clause is then fitted on top of it: a piece is the two-sided density of (w n, w0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.clauses.rules import Relaxation
from hornbeam.errors import InputError
from hornbeam.learning.integrals import one_sided, two_sided
from hornbeam.learning.problem import Floats, Problem
from hornbeam.learning.pseudolikelihood import Fit, Newton, Status
from hornbeam.learning.settings import check_not_negative, check_positive, check_whole
from hornbeam.learning.soft import Learnable, SoftProblem, curvature
from hornbeam.progress import SILENT, Progress


@dataclass(frozen=True)
class Piece:
    """One clause's groups: count (transformed), label, how many targets, and the prior's pull.

    `prior_up` and `prior_down` are the prior's strengths, 0 where it stays outside.
    """

    x: Floats
    y: Floats
    size: Floats
    up: bool
    prior_up: float
    prior_down: float

    def derivatives(self, weight: float, problem: Learnable) -> tuple[float, float, float]:
        """Log pseudolikelihood of this clause alone, its slope and its curvature.

        l' = sum (E[S] - S) x and l'' = -sum Var[S] x^2, S = (1-y)^p or y^p.
        """
        p = 2 if problem.relaxation is Relaxation.SQUARED else 1
        observed = (1.0 - self.y) ** p if self.up else self.y**p
        strength = weight * self.x
        if self.prior_up == 0.0 and self.prior_down == 0.0:
            log_z, mean, var = one_sided(strength, problem.relaxation)
            constant = np.zeros(len(self.y))
        else:
            up = self.prior_up + (strength if self.up else 0.0 * strength)
            down = self.prior_down + (0.0 * strength if self.up else strength)
            moments = two_sided(up, down, problem.relaxation)
            log_z = moments.log_z
            mean, var = (
                (moments.e_up, moments.var_up) if self.up else (moments.e_down, moments.var_down)
            )
            constant = self.prior_up * (1.0 - self.y) ** p + self.prior_down * self.y**p
        value = -float(np.sum(self.size * (log_z + strength * observed + constant)))
        slope = float(np.sum(self.size * self.x * (mean - observed)))
        curvature = -float(np.sum(self.size * self.x * self.x * var))
        return value, slope, curvature


@dataclass(frozen=True)
class SoftPiece:
    """One clause with soft bodies and, after it, the priors: hinges over the targets it meets."""

    x: Floats
    part: SoftProblem
    prior: Floats

    def derivatives(self, weight: float, problem: Learnable) -> tuple[float, float, float]:
        """Log pseudolikelihood of this clause alone, its slope and its curvature."""
        weights = np.append(weight, self.prior)
        slope = -float(self.part.gradient(weights)[0])
        return self.part.log_likelihood(weights), slope, -float(curvature(self.part, weights)[0, 0])


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

    solver: str = "newton"
    iterations: int = 150
    step_size: float = 0.01
    tolerance: float = 1e-6
    prior_inside: bool = True
    weight_variance: float = 100.0
    length_penalty: float = 0.0

    def __post_init__(self) -> None:
        if self.solver not in ("newton", "gradient"):
            raise InputError(f"unknown solver {self.solver!r}; expected newton or gradient")
        check_whole("number of iterations", self.iterations, 1)
        check_not_negative("step size", self.step_size)
        check_not_negative("tolerance", self.tolerance)
        check_positive("weight variance", self.weight_variance)
        check_not_negative("length penalty", self.length_penalty)

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
        if not len(piece.x):
            return 0.0, True
        if self.solver == "gradient":
            weight, finished = self._ascend(problem, piece, ridge)
        else:
            weight, finished = maximise(piece, problem, ridge), True
        if weight > 0.0 and self.length_penalty > 0.0:
            gain = piece.derivatives(weight, problem)[0] - piece.derivatives(0.0, problem)[0]
            if gain - 0.5 * ridge * weight**2 <= self.length_penalty * problem.lengths[k]:
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


#: What the priors say before any clause: pulls up and down on every target, or their weights.
Home = tuple[Floats, Floats] | Floats


def prior_of_rows(problem: Learnable, weights: Floats) -> Home:
    """Say what the priors do: their pull on every target, or, for hinges, just their weights."""
    priors = np.where(problem.is_prior, weights, 0.0)
    return priors if isinstance(problem, SoftProblem) else problem.strengths(priors)


def make_piece(problem: Learnable, k: int, home: Home | None) -> Piece | SoftPiece:
    """Make the piece of one clause, with the prior inside unless `home` is None."""
    if isinstance(problem, SoftProblem):
        return _soft_piece(problem, k, home)
    assert home is None or isinstance(home, tuple)
    return _piece(problem, k, home)


def _soft_piece(problem: SoftProblem, k: int, home: Home | None) -> SoftPiece:
    members = np.append(k, np.flatnonzero(problem.is_prior))
    met = np.zeros(len(problem.y), dtype=np.bool_)
    met[problem.target[problem.rule == k]] = True
    assert not isinstance(home, tuple)
    prior = np.zeros(len(members) - 1) if home is None else home[members[1:]]
    return SoftPiece(problem.height[problem.rule == k], problem.only(members).subset(met), prior)


def _piece(problem: Problem, k: int, home: tuple[Floats, Floats] | None) -> Piece:
    """Group a clause's targets by distinct (count, label)."""
    part = slice(problem.indptr[problem.column[k]], problem.indptr[problem.column[k] + 1])
    x, rows = problem.x[part], problem.row[part]
    y = problem.y[rows]
    # labels are in [0, 1] and rarely soft: sort by x + i y would lose digits, so use both columns
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    new = np.ones(len(x), dtype=np.bool_)
    new[1:] = (x[1:] != x[:-1]) | (y[1:] != y[:-1])
    starts = np.flatnonzero(new)
    size = np.diff(np.append(starts, len(x))).astype(np.float64)
    # all targets of a clause have its head's predicate, and so the same prior
    up, down = (0.0, 0.0) if home is None or not len(rows) else (side[rows[0]] for side in home)
    return Piece(x[starts], y[starts], size, bool(problem.up[k]), float(up), float(down))


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
