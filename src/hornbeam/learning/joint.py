"""The joint learner: L1-regularised pseudolikelihood over all candidates at once.

The strength of the L1 penalty decreases along a path, from the strength that keeps no rule to a
thousandth of it. Each fit starts from the previous fit. Cross-validation within the training labels
chooses the strength by the log-loss of held-out labels: the shortest model within one standard
error of the best. A body has one clause per way of counting, and the penalty chooses among them.
An earlier model may say where on the path to begin (`Joint.start`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import ClassVar

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.choices import Relaxation
from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import SILENT, Progress
from hornbeam.learning.held_out import (
    NUMBERS_ERRORS,
    held_out_folds,
    is_gain,
    log_losses,
    without_numbers,
)
from hornbeam.learning.learner import Learned
from hornbeam.learning.newton import Fit, Newton
from hornbeam.learning.problem import Problem, fit_priors
from hornbeam.learning.settings import Setting, check_settings, option
from hornbeam.learning.trace import Choice, PathPoint, Validation
from hornbeam.rules.body import Kind
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule
from hornbeam.rules.weighing import Counts

#: Minimum number of entries of a problem for its folds to run in threads. In smaller problems the
#: kernels are so short that threads wait for Python's lock most of the time.
WORTH_THREADS = 50_000


@dataclass(frozen=True)
class Joint:
    """Settings of the joint learner.

    Parameters
    ----------
    strengths
        Number of points of the regularisation path.
    smallest
        Last strength as a fraction of the first.
    folds
        Number of folds of the internal cross-validation.
    patience
        Number of strengths without a lower loss after which the cross-validation stops.
    weight_variance
        Variance of the Gaussian prior on weights.
    length_penalty
        beta: the L1 strength of a clause of length s is lambda (1 + beta s).
    max_rules
        Maximum number of rules in addition to the priors and own rules; a rule and its mirror
        image count once.
        Where the chosen strength keeps more, the weakest that does not is taken.
    all_rules
        Take the strength of least validation loss, not the strongest within one standard error.
    seed
        Seed of the assignment of targets to folds.
    fixed_path
        Strengths to fit instead of choosing one by validation; the last fit is the result.
    numbers
        Whether the fits of `fixed_path` may be about numbers.
    start
        Rules of an earlier model. The path begins at the strength at which their weights would be
        the best, and is followed both ways, so that strengths far from it are not tried.
    """

    name: ClassVar[str] = "joint"
    relaxation: ClassVar[Relaxation] = Relaxation.BOOLEAN
    bodies: ClassVar[tuple[Kind, ...]] = (Kind.PATH, Kind.OPEN, Kind.UNARY)
    counts: ClassVar[tuple[Counts, ...]] = (Counts.LOG, Counts.EXISTS, Counts.SHARE)
    ties_mirrors: ClassVar[bool] = True
    dropped: ClassVar[str] = "adds nothing to the rules that are kept"
    stage: ClassVar[str] = "Choosing the strength"
    piecewise: ClassVar[None] = None

    strengths: int = Setting(30, least=1).field()
    smallest: float = Setting(1e-3, above=0.0).field()
    folds: int = Setting(5, least=2).field()
    patience: int = 4
    weight_variance: float = option("weight_variance")
    length_penalty: float = option("length_penalty")
    max_rules: int | None = option("max_rules")
    all_rules: bool = option("all_rules")
    seed: int = 0
    fixed_path: tuple[float, ...] = ()
    numbers: bool = True
    start: tuple[Rule, ...] = field(default=(), repr=False)
    newton: Newton = field(default_factory=lambda: Newton(iterations=50, tolerance=1e-5))

    def __post_init__(self) -> None:
        check_settings(self)

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Choose the strength by internal validation, then fit on all targets."""
        problem = problem.distinct_columns()
        if self.fixed_path:
            problem = problem if self.numbers else without_numbers(problem)
            return Learned(problem, self.path(problem, np.array(self.fixed_path))[-1])
        fold = held_out_folds(problem, self.folds, self.seed)
        return self.learn_held_out(problem, fold, progress)[0]

    def learn_held_out(
        self, problem: Problem, fold: Ints, progress: Progress = SILENT
    ) -> tuple[Learned, Floats]:
        """Choose the strength by the held-out loss over given folds, then fit on all targets.

        Rules about numbers stay only where held-out targets gain by them (`NUMBERS_ERRORS`).
        Returns the result, and E[y] of every target by weights that did not see its fold.
        """
        learned, scores = self._learned(problem, fold, progress)
        kept = learned.problem.only(np.flatnonzero(learned.fit.weights > 0.0))
        if without_numbers(kept) is kept:
            return learned, scores
        plain = without_numbers(problem)
        without, plain_scores = self._learned(plain, fold, progress)
        gain = log_losses(problem.y, plain_scores) - log_losses(problem.y, scores)
        if is_gain(gain, problem.pair, NUMBERS_ERRORS):
            return learned, scores
        assert isinstance(without.chosen, Joint)
        chosen = replace(without.chosen, numbers=False)
        return replace(without, chosen=chosen), plain_scores

    def _learned(self, problem: Problem, fold: Ints, progress: Progress) -> tuple[Learned, Floats]:
        """The result with all clauses of a problem, and the held-out scores of its targets."""
        run, scores = self.validate(problem, fold, progress)
        strengths = np.array(run.strengths[: self._chosen(run) + 1])
        fits = self.path(problem, strengths, self._earlier(problem))
        if self._too_long(problem, fits[0]) and strengths[0] < self.grid(problem)[0]:
            # too many rules even where an earlier model made the path begin
            run, scores = replace(self, start=()).validate(problem, fold, progress)
            fits = self.path(problem, np.array(run.strengths[: self._chosen(run) + 1]))
        while len(fits) > 1 and self._too_long(problem, fits[-1]):
            fits.pop()
        path = tuple(
            PathPoint(strength, int((fit.weights > 0).sum()), fit.loss)
            for strength, fit in zip(run.strengths, fits, strict=False)
        )
        at = len(fits) - 1
        choice = Choice(run.strengths[at], run.log_loss[at], run, path)
        chosen = replace(self, fixed_path=run.strengths[: at + 1], start=())
        return Learned(problem, fits[-1], choice, chosen), scores[at]

    def held_out(self, problem: Problem, fold: Ints, progress: Progress = SILENT) -> Floats:
        """E[y] of every target at the chosen strength, by weights that did not see its fold."""
        run, scores = self.validate(problem.distinct_columns(), fold, progress)
        return scores[self._chosen(run)]

    def _chosen(self, run: Validation) -> int:
        """Index of the strength of least loss, or of the first within one standard error of it.

        The first strength is the strongest, and has the shortest model.
        """
        if self.all_rules:
            return int(np.argmin(run.log_loss))
        return int(np.argmax(np.array(run.log_loss) <= min(run.log_loss) + run.standard_error))

    def _too_long(self, problem: Problem, fit: Fit) -> bool:
        kept = (fit.weights > 0) & ~problem.is_base
        return self.max_rules is not None and int(kept.sum()) > self.max_rules

    def path(self, problem: Problem, strengths: Floats, earlier: Floats | None = None) -> list[Fit]:
        """One fit per strength; each starts from the previous one.

        The first starts from the weights of an earlier model, or else from the base.
        """
        fits: list[Fit] = []
        start = self.priors(problem).weights if earlier is None else earlier
        for strength in strengths:
            fits.append(self.fit(problem, strength, start))
            start = fits[-1].weights
        return fits

    def priors(self, problem: Problem) -> Fit:
        """Fit the priors alone, with own rules if there are any."""
        return fit_priors(problem, 1.0 / self.weight_variance, self.newton)

    def fit(self, problem: Problem, strength: float, start: Floats | None = None) -> Fit:
        """Fit all weights at one strength, which is the L1 penalty per target."""
        linear = strength * len(problem.y) * self.unit_penalty(problem)
        return self.newton.fit(problem, linear, 1.0 / self.weight_variance, start)

    def unit_penalty(self, problem: Problem) -> Floats:
        """L1 penalty of every clause at strength 1: its column's scale, 0 for the base."""
        lengths = 1.0 + self.length_penalty * problem.lengths
        return np.where(problem.is_base, 0.0, problem.scales * lengths)

    def strongest(self, problem: Problem) -> float:
        """Smallest strength at which only the priors and own rules are kept."""
        gradient = problem.gradient(self.priors(problem).weights)
        unit = self.unit_penalty(problem)
        paying = unit > 0
        ratios = -gradient[paying] / unit[paying]
        return max(float(ratios.max(initial=0.0)) / max(len(problem.y), 1), 1e-12)

    def grid(self, problem: Problem) -> Floats:
        """Strengths of the path, from the strongest down."""
        return self.strongest(problem) * np.geomspace(1.0, self.smallest, self.strengths)

    def _earlier(self, problem: Problem) -> Floats | None:
        """The weights that the earlier model has for the clauses of a problem, None without one.

        Medians of shares differ from day to day, so clauses are the same if they count alike.
        """
        if not self.start:
            return None
        known = {_counted_clause(rule.clause): rule.weight for rule in self.start}
        return np.array([known.get(_counted_clause(clause), 0.0) for clause in problem.clauses])

    def _begin(self, problem: Problem, strengths: Floats, earlier: Floats | None) -> int:
        """Index of the strength to begin with: that of the earlier model, 0 without one.

        At its own strength the gradient of a kept clause is its penalty.
        """
        if earlier is None:
            return 0
        unit = self.unit_penalty(problem) * len(problem.y)
        kept = (earlier > 0) & (unit > 0)
        if not kept.any():
            return 0
        gradient = problem.gradient(earlier) + earlier / self.weight_variance
        strength = float(np.median(-gradient[kept] / unit[kept]))
        return int(np.argmin(np.abs(np.log(strengths / max(strength, strengths[-1])))))

    def validate(
        self, problem: Problem, fold: Ints, progress: Progress = SILENT
    ) -> tuple[Validation, list[Floats]]:
        """Held-out losses along the path, and E[y] of the targets at each of its strengths.

        A target is scored by weights that did not see its fold. All folds follow the path together,
        and stop when the loss has not fallen for `patience` strengths: fits at the weakest
        strengths take longest and are never chosen. If an earlier model made the path begin in the
        middle, it is then followed to stronger penalties, until `patience` strengths in a row have
        a loss at which they would not be chosen.
        """
        strengths, earlier = self.grid(problem), self._earlier(problem)
        parts = range(int(fold.max()) + 1)
        training = [problem.subset(fold != k) for k in parts]
        held_out = [problem.subset(fold == k) for k in parts]
        places = [np.flatnonzero(fold == k) for k in parts]
        starts = [self.priors(part).weights if earlier is None else earlier for part in training]
        scores, losses, means = dict[int, Floats](), dict[int, Floats](), dict[int, float]()

        def held_out_score(k: int, strength: float) -> Floats:
            starts[k] = self.fit(training[k], strength, starts[k]).weights
            return held_out[k].score(starts[k])

        def score_at(executor: ThreadPoolExecutor, i: int) -> None:
            score = np.empty(len(problem.y))
            by_fold = executor.map(held_out_score, parts, repeat(strengths[i]))
            for place, fold_score in zip(places, by_fold, strict=True):
                score[place] = fold_score
            scores[i], losses[i] = score, log_losses(problem.y, score)
            means[i] = float(losses[i].mean())
            progress.advance(self.stage, len(means), len(strengths))

        def tried() -> Validation:
            order, best = sorted(means), min(sorted(means), key=means.__getitem__)
            of_folds = np.bincount(fold, losses[best]) / np.maximum(np.bincount(fold), 1)
            return Validation(
                tuple(strengths[order].tolist()), tuple(means[i] for i in order),
                tuple(of_folds.tolist()),
            )  # fmt: skip

        begin, best = self._begin(problem, strengths, earlier), 0
        # folds are independent: threads change no number
        workers = min(len(parts), worker_threads()) if problem.size >= WORTH_THREADS else 1
        with ThreadPoolExecutor(workers) as executor:
            for i in range(begin, len(strengths)):
                score_at(executor, i)
                best = min(means, key=means.__getitem__)
                if i == begin:
                    at_begin = list(starts)
                if i - best >= self.patience:
                    break
            starts[:] = at_begin
            for i in reversed(range(begin)):
                score_at(executor, i)
                run = tried()
                enough = min(run.log_loss) + (0.0 if self.all_rules else run.standard_error)
                if all(means[j] > enough for j in range(i, min(i + self.patience, max(means) + 1))):
                    break
        if len(means) < len(strengths):
            progress.advance(self.stage, len(means), len(means))
        return tried(), [scores[i] for i in sorted(scores)]


def _counted_clause(clause: Clause) -> tuple[object, ...]:
    """What two clauses have in common that differ at most in the median of their shares."""
    return clause.body, clause.negated, clause.weighing and clause.weighing.counts
