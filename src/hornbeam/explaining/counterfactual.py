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
from hornbeam.learning.problem import transformed
from hornbeam.rules.clause import Path, Prior
from hornbeam.rules.rule_model import Counts, Relaxation, Rule, Semantics
from hornbeam.scoring.independent_scorer import rule_paths, score_targets


@dataclass(frozen=True, eq=False)
class Removals:
    """A pair's paths and the facts they are made of: scores after any removal of facts.

    Parameters
    ----------
    rules, semantics
        The model; all rules have one target.
    sequences
        The relation sequences of the rules.
    path_sequence, path_body
        For every path its sequence and the truth of its body in millionths.
    fact, carried
        Which facts carry which paths: pairs of a fact's number and a path's, each once.
    n_facts
        Number of facts.
    truth
        The decision that shall flip: true where the score is at least `semantics.threshold`.
    """

    rules: Sequence[Rule]
    semantics: Semantics
    sequences: Sequence[Path]
    path_sequence: Ints
    path_body: Ints
    fact: Ints
    carried: Ints
    n_facts: int
    truth: bool

    @cached_property
    def kinds(self) -> tuple[Ints, Ints, Ints]:
        """Sequence and body truth of every kind of path, and the kind of each path."""
        both = np.stack([self.path_sequence, -self.path_body], axis=1)
        distinct, place = np.unique(both, axis=0, return_inverse=True)
        return distinct[:, 0], -distinct[:, 1], place.reshape(-1).astype(np.int64)

    @cached_property
    def helps(self) -> npt.NDArray[np.bool_]:
        """Which sequences speak for the decision alone, so that losing their paths helps."""
        return np.array([sides(self.rules, path) == {not self.truth} for path in self.sequences])

    @cached_property
    def monotone(self) -> bool:
        """Whether losing a path never moves the score towards the side of its rules."""
        return is_monotone(self.rules, self.semantics, bool((self.path_body < ONE).any()))

    @cached_property
    def crisp(self) -> bool:
        """Whether all paths are fully true: then a kind is a sequence, and strengths add up."""
        return bool((self.path_body == ONE).all())

    def scores(self, counts: Ints) -> Floats:
        """Scores of worlds given by their numbers of paths: a row a world, a column a kind."""
        if self.crisp:
            return score_mean(*self.strengths(counts), self.semantics.relaxation)
        sequence, body, _ = self.kinds
        world, kind = np.nonzero(counts)
        worlds = Statistics.of(
            self.sequences,
            len(counts),
            sequence[kind],
            world.astype(np.int32),
            body[kind].astype(np.int32),
            counts[world, kind],
        )
        return score_targets(self.rules, self.semantics, worlds, self._targets(len(counts)))

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
        """Weight, head and sequence of every rule; a prior has no sequence."""
        column = {path: k for k, path in enumerate(self.sequences)}
        return [
            (
                r.weight,
                r.clause.negated,
                None if isinstance(r.clause, Prior) else column[r.clause.path],
            )
            for r in self.rules
        ]

    def _weighed(self, counts: Ints) -> Floats:
        """What counts weigh: n, log2(1 + n), or 1 where there is any."""
        if self.semantics.counts is Counts.EXISTS:
            return (counts > 0).astype(np.float64)
        return transformed(counts, self.semantics.counts)

    def _targets(self, n: int) -> Targets:
        target = self.rules[0].clause.target
        zeros = np.zeros(n, dtype=np.int32)
        return Targets(Names.of(["pair"]), Names.of([target]), zeros, zeros, zeros)

    def flips(self, scores: Floats) -> npt.NDArray[np.bool_]:
        """Which scores stand for the other decision."""
        flipped: npt.NDArray[np.bool_] = (scores >= self.semantics.threshold) != self.truth
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
        return self.flips(score_mean(up, down, self.semantics.relaxation))

    def _gains(self, total: Ints, carries: Ints, size: int) -> Floats:
        """Bounds, one a fact, whose sum over any set of `size` is at least what the set takes."""
        killed = np.minimum(_largest(carries, size).sum(axis=0), total)
        lost = self._weighed(total) - self._weighed(total - killed)
        slope = self._helping_weights * lost / np.maximum(killed, 1)
        return np.asarray(carries @ slope)

    @cached_property
    def _helping_weights(self) -> Floats:
        """Weight of the rules of every sequence that helps, 0 for the others."""
        weights = np.zeros(len(self.sequences))
        for weight, _, column in self._terms:
            if column is not None:
                weights[column] += weight
        return weights * self.helps

    def _best_soft(self, total: Ints, carries: Ints, size: int) -> Floats:
        """Score that no set of `size` facts gets past: the truest paths of every rule go first."""
        sequence = self.kinds[0]
        left = total.copy()
        for k in np.flatnonzero(self.helps).tolist():
            mine = np.flatnonzero(sequence == k)
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


def sides(rules: Sequence[Rule], path: Path) -> set[bool]:
    """Heads (negated or not) of the rules with weight that walk a sequence."""
    return {
        rule.clause.negated
        for rule in rules
        if not isinstance(rule.clause, Prior) and rule.clause.path == path and rule.weight > 0
    }


def is_monotone(rules: Sequence[Rule], semantics: Semantics, soft: bool) -> bool:
    """Whether losing a path never moves the score towards the side of its rules.

    It may where one sequence speaks for and against, and where soft paths share log2(1 + n) or 1:
    there a weak path can take from a strong one.
    """
    shared = soft and semantics.counts is not Counts.RAW
    if shared and semantics.relaxation is not Relaxation.BOOLEAN:
        return False
    return all(len(sides(rules, path)) < 2 for path in rule_paths(rules))
