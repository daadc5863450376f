"""The joint learner: L1-regularised pseudolikelihood over all candidates at once.

A path of strengths is followed from the one that keeps no rule down to a thousandth of it, each fit
starting from the last. The strength, and how counts weigh, are chosen by cross-validation within
the training labels, by the log-loss of the held-out ones.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Floats
from hornbeam.learning.hinge_problem import Learnable
from hornbeam.learning.newton import Fit, Newton
from hornbeam.learning.settings import Setting, check_settings, option
from hornbeam.machine import worker_threads
from hornbeam.progress import SILENT, Progress

#: Entries of a problem from which on its folds have threads of their own: in smaller ones the
#: kernels are so short that threads wait for Python's lock most of the time.
WORTH_THREADS = 50_000


@dataclass(frozen=True)
class Joint:
    """Settings of the joint learner.

    Parameters
    ----------
    strengths
        Points of the regularisation path.
    smallest
        Last strength as a share of the first.
    folds
        Parts of the internal cross-validation.
    patience
        Strengths without improvement after which the cross-validation stops.
    weight_variance
        Variance of the Gaussian prior on weights.
    length_penalty
        beta: the L1 strength of a clause of length s is lambda (1 + beta s).
    seed
        Deals targets to folds.
    """

    strengths: int = Setting(30, least=1).field()
    smallest: float = Setting(1e-3, above=0.0).field()
    folds: int = Setting(5, least=2).field()
    patience: int = 4
    weight_variance: float = option("weight_variance")
    length_penalty: float = option("length_penalty")
    seed: int = 0
    newton: Newton = field(default_factory=lambda: Newton(iterations=50, tolerance=1e-5))

    def __post_init__(self) -> None:
        check_settings(self)

    def path(self, problem: Learnable, strengths: Floats) -> list[Fit]:
        """One fit a strength, each warm from the last, the first from the priors alone."""
        fits: list[Fit] = []
        start = self.priors(problem).weights
        for strength in strengths:
            fits.append(self.fit(problem, strength, start))
            start = fits[-1].weights
        return fits

    def priors(self, problem: Learnable) -> Fit:
        """Fit the priors alone."""
        n = len(problem.clauses)
        ridge = np.full(n, 1.0 / self.weight_variance)
        return self.newton.fit(problem, np.zeros(n), ridge, allowed=problem.is_prior)

    def fit(self, problem: Learnable, strength: float, start: Floats | None = None) -> Fit:
        """Fit all weights at one strength (L1 per target)."""
        ridge = np.full(len(problem.clauses), 1.0 / self.weight_variance)
        linear = strength * len(problem.y) * self.unit_penalty(problem)
        return self.newton.fit(problem, linear, ridge, start)

    def unit_penalty(self, problem: Learnable) -> Floats:
        """L1 penalty of every clause at strength 1: its column's scale, 0 for priors."""
        lengths = 1.0 + self.length_penalty * problem.lengths
        return np.where(problem.is_prior, 0.0, problem.scales * lengths)

    def strongest(self, problem: Learnable) -> float:
        """Smallest strength at which no path clause is kept."""
        gradient = problem.gradient(self.priors(problem).weights)
        unit = self.unit_penalty(problem)
        paying = unit > 0
        ratios = -gradient[paying] / unit[paying]
        return max(float(ratios.max(initial=0.0)) / max(len(problem.y), 1), 1e-12)

    def grid(self, problem: Learnable) -> Floats:
        """Strengths from the strongest down."""
        return self.strongest(problem) * np.geomspace(1.0, self.smallest, self.strengths)

    def validate(
        self,
        problem: Learnable,
        strengths: Floats,
        fold: npt.NDArray[np.int64] | None = None,
        progress: Progress = SILENT,
    ) -> Floats:
        """Mean held-out log-loss of the strengths, as far down the path as it is worth going."""
        losses = self.fold_losses(problem, strengths, fold, progress)
        return np.asarray(losses.sum(axis=1) / len(problem.y))

    def fold_losses(
        self,
        problem: Learnable,
        strengths: Floats,
        fold: npt.NDArray[np.int64] | None = None,
        progress: Progress = SILENT,
    ) -> Floats:
        """Held-out log-loss of the strengths (rows), added up over the targets of each fold.

        All folds go down the path together, and stop when the loss has not fallen for `patience`
        strengths: the weakest are the dearest and never chosen. `fold` is dealt by default.
        """
        fold = deal(problem, self.folds, self.seed) if fold is None else fold
        training = [problem.subset(fold != k) for k in range(self.folds)]
        held_out = [problem.subset(fold == k) for k in range(self.folds)]
        starts = [self.priors(part).weights for part in training]

        def held_out_loss(k: int, strength: float) -> float:
            starts[k] = self.fit(training[k], strength, starts[k]).weights
            return log_loss(held_out[k].y, held_out[k].score(starts[k]))

        losses: list[list[float]] = []
        # folds are independent: threads change no number
        workers = min(self.folds, worker_threads()) if problem.size >= WORTH_THREADS else 1
        with ThreadPoolExecutor(workers) as executor:
            for i, strength in enumerate(strengths):
                by_fold = executor.map(held_out_loss, range(self.folds), repeat(strength))
                losses.append(list(by_fold))
                progress.advance("Choosing the strength", i + 1, len(strengths))
                if i - int(np.argmin([sum(row) for row in losses])) >= self.patience:
                    break
        return np.array(losses)


def deal(problem: Learnable, folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Deal targets to folds, each class spread evenly.

    They are dealt in an order that their labels and counts alone decide (by a random projection of
    the counts), so that neither the order nor the names of the targets change what is learned.
    """
    rng = np.random.default_rng(seed)
    y = problem.y
    signature = problem.signature(rng)
    order = np.lexsort((signature, y))
    fold = np.empty(len(y), dtype=np.int64)
    for part in (order[y[order] >= 0.5], order[y[order] < 0.5]):
        fold[rng.permutation(part)] = np.arange(len(part)) % folds
    return fold


def log_loss(y: Floats, score: Floats) -> float:
    """Sum of the cross-entropies."""
    clipped = np.clip(score, 1e-15, 1.0 - 1e-15)
    return -float(np.sum(y * np.log(clipped) + (1.0 - y) * np.log1p(-clipped)))
