"""Weights by guided random search: the MAP state of every trial is scored, the best is kept.

Only the relation of weights matters for a MAP state. So trials are drawn in logarithms. The first
trials are the given weights, equal weights, and weights of another learner. Unless the latter help,
weights drawn at random over several orders of magnitude come next. At last the best weights so far
are changed, by less and less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.progress import SILENT, Progress


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best weights, their score, the score of the given weights, and the number of trials."""

    weights: Floats
    score: float
    score_given: float
    trials: int


@dataclass(frozen=True)
class WeightSearch:
    """Guided random search over relative weights."""

    trials: int = 50
    seed: int = 0
    decades: float = 3.0  #: orders of magnitude that random weights span
    random_share: float = 0.3  #: share of the trials that are drawn at random
    zero_share: float = 0.1  #: probability of a random weight 0
    elite: int = 3  #: number of best trials that are changed
    #: Standard deviation of a change at first and at last, in orders of magnitude.
    largest_step: float = 0.5
    smallest_step: float = 0.05

    def run(
        self,
        score: Callable[[Floats], float],
        given: Floats,
        free: Bools,
        starts: Sequence[Floats] = (),
        progress: Progress = SILENT,
    ) -> SearchResult:
        """Find the weights of the `free` rules with the highest score; others stay as `given`.

        The `starts` are tried, too; if one beats the given weights, none are drawn at random. Among
        equal scores the earliest trial wins, so the given weights stay if none is better.
        """
        rng = np.random.default_rng(self.seed)
        scale = float(given.max(initial=0.0)) or 1.0
        first = [given, np.where(free, scale, given), *starts][: self.trials]
        tried: list[tuple[float, Floats]] = []

        def attempt(weights: Floats) -> None:
            tried.append((score(weights), weights))
            progress.advance("search", len(tried), self.trials)

        for weights in first:
            attempt(weights)
        guided = any(one[0] > tried[0][0] for one in tried[2:])
        drawn = 0 if guided else int(self.random_share * self.trials)
        for _ in range(min(drawn, self.trials - len(tried))):
            attempt(np.where(free, scale * self._relative(len(given), rng), given))
        changes = self.trials - len(tried)
        for k in range(changes):
            best = sorted(tried, key=lambda one: -one[0])[: self.elite]
            chosen = best[rng.integers(len(best))][1]
            changed = self._changed(chosen, scale, 1.0 - k / changes, rng)
            attempt(np.where(free, changed, given))
        best_score, found = max(tried, key=lambda one: one[0])
        return SearchResult(found, best_score, tried[0][0], len(tried))

    def _relative(self, n: int, rng: np.random.Generator) -> Floats:
        """Weights drawn at random, up to 1."""
        relative = 10.0 ** -rng.uniform(0.0, self.decades, n)
        return np.where(rng.random(n) < self.zero_share, 0.0, relative)

    def _changed(
        self, weights: Floats, scale: float, left: float, rng: np.random.Generator
    ) -> Floats:
        """About half of the weights multiplied by random factors, which shrink with `left`."""
        size = self.smallest_step + (self.largest_step - self.smallest_step) * left
        change = rng.normal(0.0, size, len(weights)) * (rng.random(len(weights)) < 0.5)
        least = scale * 10.0**-self.decades
        grown = np.maximum(weights, np.where(change != 0.0, least, 0.0)) * 10.0**change
        return np.asarray(np.minimum(grown, scale * 10.0**self.decades))
