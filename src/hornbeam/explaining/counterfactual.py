"""A pair's paths and the facts that carry them: how the pair would score without some facts.

Every path is a set of facts and dies with any of them. A score never falls when a path for the pair
is added and never rises when a path against it is. So no set of r facts does more than kill paths
of the rules that speak for the decision, and none of the others.

How much that is at most: of a rule with n paths a set kills at most as many, K, as its r busiest
facts carry. What losing k paths takes from w t(n) is convex in k for every way t of counting, so it
is at most k times w (t(n) - t(n-K)) / K. That is a sum over facts, and the r best facts bound it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Floats, Ints
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import score_mean
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning.count_problem import transformed
from hornbeam.rules.body import Body
from hornbeam.rules.rule_model import Counts, Relaxation, RuleModel
from hornbeam.scoring.independent_scorer import score_targets


@dataclass(frozen=True, eq=False)
class Removals:
    """A pair's paths and the facts they are made of: scores after any removal of facts.

    Parameters
    ----------
    model
        The model; all rules have one target.
    bodies
        The bodies of the rules.
    path_body, path_truth
        For every path its body's number and the truth of its body in millionths.
    fact, carried
        Which facts carry which paths: pairs of a fact's number and a path's, each once.
    n_facts
        Number of facts.
    truth
        The decision that shall flip: true where the score is at least the model's threshold.
    """

    model: RuleModel
    bodies: Sequence[Body]
    path_body: Ints
    path_truth: Ints
    fact: Ints
    carried: Ints
    n_facts: int
    truth: bool

    @cached_property
    def kinds(self) -> tuple[Ints, Ints, Ints]:
        """Body and its truth of every kind of path, and the kind of each path."""
        both = np.stack([self.path_body, -self.path_truth], axis=1)
        distinct, place = np.unique(both, axis=0, return_inverse=True)
        return distinct[:, 0], -distinct[:, 1], place.reshape(-1).astype(np.int64)

    @cached_property
    def helps(self) -> npt.NDArray[np.bool_]:
        """Which bodies speak for the decision alone, so that losing their paths helps."""
        return np.array([sides(self.model, body) == {not self.truth} for body in self.bodies])

    @cached_property
    def monotone(self) -> bool:
        """Whether losing a path never moves the score towards the side of its rules."""
        return is_monotone(self.model, bool((self.path_truth < ONE).any()))

    @cached_property
    def crisp(self) -> bool:
        """Whether all paths are fully true: then a kind is a body, and strengths add up."""
        return bool((self.path_truth == ONE).all())

    def scores(self, counts: Ints) -> Floats:
        """Scores of worlds given by their numbers of paths: a row a world, a column a kind."""
        if self.crisp:
            return score_mean(*self.strengths(counts), self.model.semantics.relaxation)
        body, truth, _ = self.kinds
        world, kind = np.nonzero(counts)
        worlds = Statistics.of(
            self.bodies,
            len(counts),
            body[kind],
            world.astype(np.int32),
            truth[kind].astype(np.int32),
            counts[world, kind],
        )
        return score_targets(self.model, worlds, self._targets(len(counts)))

    def strengths(self, counts: Ints) -> tuple[Floats, Floats]:
        """A and B of worlds of fully true paths, added up in the order of the rules."""
        x = self._weighed(counts)
        up, down = np.zeros(len(counts)), np.zeros(len(counts))
        for weight, negated, column in self._terms:
            side = down if negated else up
            side += weight if column is None else weight * x[:, column]
        return up, down

    @cached_property
    def _terms(self) -> list[tuple[float, bool, int | None]]:
        """Weight, head and body's number of every rule; a prior's body has none."""
        column = {body: k for k, body in enumerate(self.bodies)}
        return [
            (rule.weight, rule.clause.negated, column.get(rule.clause.body))
            for rule in self.model.rules
        ]

    def _weighed(self, counts: Ints) -> Floats:
        """What counts weigh: n, log2(1 + n), or 1 where there is any."""
        if self.model.semantics.counts is Counts.EXISTS:
            return (counts > 0).astype(np.float64)
        return transformed(counts, self.model.semantics.counts)

    def _targets(self, n: int) -> Targets:
        target = self.model.rules[0].clause.target
        zeros = np.zeros(n, dtype=np.int32)
        return Targets(Names.of(["pair"]), Names.of([target]), zeros, zeros, zeros)

    def flips(self, scores: Floats) -> npt.NDArray[np.bool_]:
        """Which scores stand for the other decision."""
        flipped: npt.NDArray[np.bool_] = (scores >= self.model.semantics.threshold) != self.truth
        return flipped

    def left(self, removed: Sequence[int]) -> tuple[Ints, Ints]:
        """Count, by kind, the paths that a removal leaves, and those of them each fact carries."""
        n_kinds, kind = len(self.kinds[0]), self.kinds[2]
        gone, alive = np.zeros(self.n_facts, dtype=np.bool_), np.ones(len(kind), dtype=np.bool_)
        gone[list(removed)] = True
        alive[self.carried[gone[self.fact]]] = False
        living = alive[self.carried]
        cell = self.fact[living] * n_kinds + kind[self.carried[living]]
        carries = np.bincount(cell, minlength=self.n_facts * n_kinds)
        return np.bincount(kind[alive], minlength=n_kinds), carries.reshape(-1, n_kinds)

    def may_flip(self, total: Ints, carries: Ints, size: int) -> npt.NDArray[np.bool_]:
        """Which facts may begin a set of so many, all others behind them, that flips the decision.

        `carries` has a row for every fact that may be taken, in their order. Without `monotone`
        any of them may.
        """
        if not self.monotone:
            return np.ones(len(carries), dtype=np.bool_)
        if not self.crisp:
            return np.full(len(carries), self.flips(self._best_soft(total, carries, size))[0])
        gain = self._gains(total, carries, size)
        behind = np.append(np.maximum.accumulate(gain[::-1])[::-1][1:], 0.0)
        best_others = _largest(gain, size - 1).sum()
        most = gain + np.minimum(best_others, (size - 1) * behind)
        up, down = (side[0] for side in self.strengths(total[np.newaxis]))
        # a hair more than the bound, so that rounding never cuts off a set
        most = most * (1 + 1e-9) + 1e-12 * (up + down)
        up = np.maximum(up - most * self.truth, 0.0)
        down = np.maximum(down - most * (not self.truth), 0.0)
        return self.flips(score_mean(up, down, self.model.semantics.relaxation))

    def _gains(self, total: Ints, carries: Ints, size: int) -> Floats:
        """Bounds, one a fact, whose sum over any set of `size` is at least what the set takes."""
        killed = np.minimum(_largest(carries, size).sum(axis=0), total)
        lost = self._weighed(total) - self._weighed(total - killed)
        slope = self._helping_weights * lost / np.maximum(killed, 1)
        return np.asarray(carries @ slope)

    @cached_property
    def _helping_weights(self) -> Floats:
        """Weight of the rules of every body that helps, 0 for the others."""
        weights = np.zeros(len(self.bodies))
        for weight, _, column in self._terms:
            if column is not None:
                weights[column] += weight
        return weights * self.helps

    def _best_soft(self, total: Ints, carries: Ints, size: int) -> Floats:
        """Score that no set of `size` facts gets past: the truest paths of every rule go first."""
        body = self.kinds[0]
        left = total.copy()
        for k in np.flatnonzero(self.helps).tolist():
            mine = np.flatnonzero(body == k)
            busiest = _largest(carries[:, mine].sum(axis=1), size)
            killed = min(int(busiest.sum()), int(total[mine].sum()))
            before = np.concatenate([[0], np.cumsum(total[mine])[:-1]])
            left[mine] -= np.clip(killed - before, 0, total[mine])
        return self.scores(left[np.newaxis])


def _largest(values: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """The n largest along the first axis, or all where there are fewer."""
    if n <= 0:
        return values[:0]
    return values if n >= len(values) else np.partition(values, len(values) - n, axis=0)[-n:]


def sides(model: RuleModel, body: Body) -> set[bool]:
    """Heads (negated or not) of the rules with weight that have a body."""
    return {
        rule.clause.negated for rule in model.rules if rule.clause.body == body and rule.weight > 0
    }


def is_monotone(model: RuleModel, soft: bool) -> bool:
    """Whether losing a path never moves the score towards the side of its rules.

    It may where one body speaks for and against, and where soft paths share log2(1 + n) or 1:
    there a weak path can take from a strong one.
    """
    shared = soft and model.semantics.counts is not Counts.RAW
    if shared and model.semantics.relaxation is not Relaxation.BOOLEAN:
        return False
    return all(len(sides(model, body)) < 2 for body in model.bodies)
