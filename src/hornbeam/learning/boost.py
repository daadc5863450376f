"""The boosting learner: functional gradient boosting of trees that become conjunctive clauses.

Trees of depth three are boosted on the counts and shares of all bodies. Internal cross-validation
chooses their number. It is 0, the prior alone, unless boosting lowers the loss of held-out targets
by more than chance does; nor are trees boosted on numbers unless these lower it further. Trees
become short clauses with the same scores (see `boosted_columns`). A user's own rules are fitted
first: trees are boosted on what these leave unexplained.

With a limit on rules, a short model is fitted to the boosted scores. It chooses among the clauses
of the trees and clauses of single bodies, weighed by log or share. The weakest L1 penalty that
keeps few enough clauses selects them; their weights are then fitted without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InputError
from hornbeam.learning.boosted_columns import BoostedColumns, clause_problem
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.held_out import NUMBERS_ERRORS, is_gain, log_losses
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import Learned
from hornbeam.learning.newton import Fit, FitStatus, Newton
from hornbeam.learning.problem import Problem
from hornbeam.learning.settings import Setting, check_settings, option
from hornbeam.learning.trees import Booster, Tree, tree_values
from hornbeam.rules.body import Kind
from hornbeam.rules.weighing import Counts

#: Number of trees between two progress reports.
STEP = 10
#: Standard errors by which boosting must lower the held-out loss of the prior alone. Of 240
#: problems with random labels, 16 kept rules with one standard error and 3 with two.
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Boost:
    """Settings of the boosting learner.

    Parameters
    ----------
    trees
        Maximum number of trees.
    patience
        Trees without a lower held-out loss after which a fold ends.
    folds
        Number of folds of the internal cross-validation.
    max_rules
        Maximum number of rules in addition to the priors, a rule and its mirror image counting
        once; None keeps all clauses of the trees.
    weight_variance
        Variance of the Gaussian prior on the weights of a shortened model.
    seed
        Seed of the assignment of targets to folds and of columns to trees.
    booster
        How trees grow.
    """

    name: ClassVar[str] = "boost"
    relaxation: ClassVar[Relaxation] = Relaxation.BOOLEAN
    bodies: ClassVar[tuple[Kind, ...]] = Joint.bodies
    counts: ClassVar[tuple[Counts, ...]] = (Counts.RAW, Counts.SHARE)
    ties_mirrors: ClassVar[bool] = False
    dropped: ClassVar[str] = "no tree uses it, or the shortened model dropped it"
    stage: ClassVar[str] = "Choosing the number of trees"
    piecewise: ClassVar[None] = None

    trees: int = Setting(400, least=1).field()
    patience: int = 60
    folds: int = Setting(5, least=2).field()
    max_rules: int | None = option("max_rules")
    weight_variance: float = option("weight_variance")
    seed: int = 0
    booster: Booster = field(default_factory=Booster)

    def __post_init__(self) -> None:
        check_settings(self)

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Choose the number of trees by internal validation, boost, and turn trees into clauses."""
        # problems of Boolean targets have columns of counts
        if problem.relaxation is not Relaxation.BOOLEAN or not isinstance(problem, CountProblem):
            raise InputError(f'boost learns with `relaxation="boolean"`, not {problem.relaxation}')
        columns = BoostedColumns.of(problem, self.folds, self.seed)
        columns, n_trees = self._chosen(columns, progress)
        steps = list(islice(self._boosting(columns), n_trees))
        trees = [tree for tree, _ in steps]
        score = steps[-1][1] if steps else self._start(columns, columns)
        grown, constant = columns.clauses(trees)
        weights = np.array([abs(one.weight) for one in grown])
        constant += columns.start
        boosted = clause_problem(grown, columns)
        if columns.base is None:
            weights = np.append(weights, [max(0.0, constant), max(0.0, -constant)])
        else:
            weights = self._with_base(boosted, weights)
        fit = Fit(
            weights,
            FitStatus.CONVERGED,
            float(log_losses(columns.y, _probability(score)).sum()),
            len(trees),
        )
        if self.max_rules is None or len(grown) <= self.max_rules:
            return Learned(boosted, fit)
        return self._shortened(clause_problem(grown, columns, graded=True), score)

    def _chosen(self, columns: BoostedColumns, progress: Progress) -> tuple[BoostedColumns, int]:
        """The columns to boost on, and the number of trees.

        Trees find some cut of an attribute that fits the residuals, be it noise, once they have
        said what the facts say. So numbers are kept only where they lower the held-out loss by more
        than chance does.
        """
        plain = columns.without_numbers()
        n_trees, loss = self._validated(columns, progress)
        if plain is columns:
            return columns, n_trees
        n_plain, loss_without = self._validated(plain, progress)
        pays = is_gain(loss_without - loss, columns.pair, NUMBERS_ERRORS)
        return (columns, n_trees) if pays else (plain, n_plain)

    def _validated(self, columns: BoostedColumns, progress: Progress) -> tuple[int, Floats]:
        """The number of trees of least held-out loss, and the held-out losses of all targets.

        The least of many losses is below the loss of the prior by chance alone. So the gain of a
        fold is measured with the number of trees that is best for the other folds. If the mean gain
        may be chance, there are no trees. The search ends when `patience` trees bring no lower
        loss.
        """
        fold, y = columns.fold, columns.y
        if not fold.any():  # at most one target per class: no target can be held out
            return 0, np.zeros(len(y))
        held_out = self._held_out_scores(columns)
        prior_alone = judged = log_losses(y, _probability(next(held_out)))
        of_folds = np.bincount(fold, prior_alone)
        losses = [float(of_folds.sum())]
        least_of_others = losses[0] - of_folds
        for tried, score in enumerate(islice(held_out, self.trees), start=1):
            loss = log_losses(y, _probability(score))
            of_folds = np.bincount(fold, loss)
            losses.append(float(of_folds.sum()))
            of_others = losses[-1] - of_folds
            judged = np.where((of_others < least_of_others)[fold], loss, judged)
            least_of_others = np.minimum(of_others, least_of_others)
            if tried % STEP == 0:
                progress.advance(self.stage, tried, self.trees)
            if tried - int(np.argmin(losses)) >= self.patience:
                break
        trees = len(losses) - 1
        if trees and (trees < self.trees or trees % STEP):
            progress.advance(self.stage, trees, trees)
        if not is_gain(prior_alone - judged, columns.pair, STANDARD_ERRORS):
            return 0, prior_alone
        return int(np.argmin(losses)), judged

    def _held_out_scores(self, columns: BoostedColumns) -> Iterator[Floats]:
        """Yield the scores of all targets by 0, 1, 2, ... trees that did not see their fold."""
        fold = columns.fold
        folds, score = [], np.empty(len(columns.y))
        for k in range(int(columns.fold.max()) + 1):
            training, held_out = (columns.subset(part) for part in (fold != k, fold == k))
            score[fold == k] = self._start(held_out, training)
            folds.append((np.flatnonzero(fold == k), held_out, self._boosting(training)))
        while True:
            yield score
            for place, held_out, trees in folds:
                score[place] += held_out.added(tree_values(held_out.binned, next(trees)[0]))

    def _boosting(self, columns: BoostedColumns) -> Iterator[tuple[Tree, Floats]]:
        """Yield trees without end, each with every pair's log-odds by all trees so far."""
        rng, y, times = np.random.default_rng(self.seed), columns.y, columns.times
        score = self._start(columns, columns)
        booster = replace(self.booster, least=times * self.booster.least)
        while True:
            p = _probability(score)
            gradient, curvature = np.tile(p - y, times), np.tile(p * (1.0 - p), times)
            tree, value = booster.grow(columns.binned, gradient, curvature, rng)
            score = score + columns.added(value)
            yield tree, score

    def _start(self, columns: BoostedColumns, training: BoostedColumns) -> Floats:
        """Scores from which trees are boosted: by the prior and own rules fitted to `training`."""
        return columns.starting_scores(training, 1.0 / self.weight_variance)

    def _with_base(self, boosted: CountProblem, weights: Floats) -> Floats:
        """Weights of all clauses, where priors and own rules are fitted beside those of trees."""
        start = np.zeros(len(boosted.clauses))
        start[~boosted.is_base] = weights
        ridge = 1.0 / self.weight_variance
        return Newton().fit(boosted, 0.0, ridge, start, boosted.is_base).weights

    def _shortened(self, boosted: CountProblem, score: Floats) -> Learned:
        """Fit the boosted scores by few clauses: select them along an L1 path, refit without L1."""
        assert self.max_rules is not None
        # clauses with equal columns would share a weight, and each would count as a rule
        soft = replace(boosted, y=_probability(score)).distinct_columns()
        joint = Joint(weight_variance=self.weight_variance, strengths=40, smallest=1e-4)
        unit = joint.unit_penalty(soft) * np.sqrt(np.maximum(soft.lengths, 1))
        start = joint.priors(soft).weights
        kept = np.flatnonzero(soft.is_base)
        for strength in joint.grid(soft):
            linear = strength * len(soft.y) * unit
            start = joint.newton.fit(soft, linear, 1.0 / self.weight_variance, start).weights
            members = np.flatnonzero((start > 0.0) | soft.is_base)
            if int((start[~soft.is_base] > 0.0).sum()) > self.max_rules:
                break
            kept = members
        short = soft.only(kept)
        return Learned(short, Newton().fit(short, 0.0, 1.0 / self.weight_variance))


def _probability(score: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-score)))
