"""Piecewise pseudolikelihood: every clause learns alone (the paper's algorithm 2, and faster).

    l_ppll(w) = sum over clauses c and targets i of [ -log Z(w_c n_ci) - w_c n_ci u^p ]

with u = 1 - y for a clause and y for its negation. In collective learning a clause may affect a
target both ways. Its term is then -log Z(w n+, w n-) - w (n+ (1-y)^p + n- y^p). Each term depends
on one weight only (the paper's lemma 1), so learning structure is one maximisation per clause (the
paper's theorem 1). The model has the clauses whose optimum is above 0.

With `prior_inside`, the weight w0 of !t is fitted first, alone and with either sign. Every clause
is then fitted on top of it: a piece is the two-sided density of (w n, w0). A user's own rules are
fitted with the prior, all together, and are part of w0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hornbeam.base.choices import Relaxation
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InputError
from hornbeam.learning.learner import Learned
from hornbeam.learning.newton import Fit, FitStatus
from hornbeam.learning.problem import Piece, Problem, fit_priors, gain, maximise
from hornbeam.learning.settings import Setting, check_settings, option
from hornbeam.rules.body import Kind
from hornbeam.rules.weighing import Counts


@dataclass(frozen=True)
class Ppll:
    """Settings of the piecewise learner.

    Parameters
    ----------
    solver
        "newton" finds each optimum exactly; "gradient" is the paper's projected gradient ascent
        with `iterations` steps of `step_size`.
    prior_inside
        Whether every clause is fitted on top of the prior (see the text of the module).
    weight_variance
        Variance of the Gaussian prior on weights: without it a clause that training never
        violates has its optimum at infinity.
    length_penalty
        beta: a clause stays only if it gains more than beta times its length.
    """

    name: ClassVar[str] = "ppll"
    relaxation: ClassVar[Relaxation] = Relaxation.LINEAR
    bodies: ClassVar[tuple[Kind, ...]] = (Kind.PATH,)
    counts: ClassVar[tuple[Counts, ...]] = (Counts.RAW,)
    ties_mirrors: ClassVar[bool] = True
    dropped: ClassVar[str] = "weight 0 is best for it"
    stage: ClassVar[str] = "Learning weights"

    solver: str = option("solver")
    iterations: int = option("iterations", 150)
    step_size: float = option("step_size")
    tolerance: float = Setting(1e-6, least=0.0).field()
    prior_inside: bool = True
    weight_variance: float = option("weight_variance")
    length_penalty: float = option("length_penalty")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def piecewise(self) -> Ppll:
        """Itself: every clause is learned alone."""
        return self

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Learn every clause alone; all clauses with equal columns are kept."""
        return Learned(problem, self.fit(problem, progress))

    def fit(self, problem: Problem, progress: Progress = SILENT) -> Fit:
        """Fit every clause alone; the weight of a clause that gains nothing is exactly 0."""
        ridge = 1.0 / self.weight_variance
        base = fit_priors(problem, ridge)
        weights = base.weights.copy()
        clauses = np.flatnonzero(~problem.is_base)
        pieces = problem.pieces(base.weights if self.prior_inside else None)
        unfinished = 0
        for done, k in enumerate(clauses.tolist(), start=1):
            weights[k], finished = self.fit_piece(pieces(k), int(problem.lengths[k]), ridge)
            unfinished += not finished
            if done % 64 == 0 or done == len(clauses):
                progress.advance(self.stage, done, len(clauses))
        kept = clauses[weights[clauses] > 0.0].tolist()
        loss = 0.0 - sum(gain(pieces(k), weights[k], ridge) for k in kept)
        status = FitStatus.ITERATIONS if unfinished else FitStatus.CONVERGED
        return Fit(weights, status, loss, self.iterations)

    def fit_piece(self, piece: Piece, length: int, ridge: float) -> tuple[float, bool]:
        """Weight of one piece of a clause with `length` atoms, and whether the solver converged."""
        if self.solver == "gradient":
            weight, finished = self._ascend(piece, ridge)
        else:
            weight, finished = maximise(piece, ridge), True
        penalty = self.length_penalty * length
        if weight > 0.0 and penalty > 0.0 and gain(piece, weight, ridge) <= penalty:
            return 0.0, finished
        return weight, finished

    def _ascend(self, piece: Piece, ridge: float) -> tuple[float, bool]:
        """The paper's inner loop for one clause: w <- max(0, w + step * slope)."""
        weight, score = 0.0, -np.inf
        for _ in range(self.iterations):
            value, slope, _ = piece.derivatives(weight)
            value -= 0.5 * ridge * weight**2
            improved = value - score
            score = value
            if 0.0 <= improved <= self.tolerance:
                return weight, True
            weight = max(0.0, weight + self.step_size * (slope - ridge * weight))
            if not weight <= MAX_NUMBER:
                raise InputError(f"`step_size` is {self.step_size:g}, and the weights diverge")
        return weight, False
