"""From trees to clauses, exactly: a tree is a sum of products of conditions.

With [x >= c] for 1 where column x reaches the cut c, a node with children L (below it) and R is

    f = L + [x >= c] (R - L),

and so on downwards. Products of conditions on one column keep the larger cut. The result is a
constant and, for every set of up to three conditions, a weight: that of a conjunction for the
target or, where it is below 0, against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.learning.trees import SLACK, Tree
from hornbeam.rules.body import AnyBody, Body, Conjunction, Part, simplest
from hornbeam.rules.weighing import Counts, Threshold, Weighing

#: Columns with the number of the cut that is reached, sorted; none for the constant.
Monomial = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Feature:
    """The meaning of a column of a booster: the groundings of a body, or its share."""

    body: Body
    share: bool

    def part(self, cut: float) -> Part:
        """The condition that the feature is at least a value."""
        if self.share:
            # a model's threshold on shares is strict
            return Part(self.body, Threshold(float(cut) * (1.0 - SLACK), share=True))
        if self.body.is_fixed:
            return Part(self.body)  # at most one grounding
        return Part(self.body, Threshold(cut))

    def graded(self, x: Floats) -> Weighing | None:
        """How the body weighs without a cut, given its entries."""
        if self.share:
            return Weighing(Counts.SHARE, float(np.median(x)))
        return None if self.body.is_fixed else Weighing(Counts.LOG)


def polynomial(trees: Iterable[Tree]) -> dict[Monomial, float]:
    """Weights of all monomials of a sum of trees; the constant is that of ()."""
    total: dict[Monomial, float] = defaultdict(float)
    for tree in trees:
        for monomial, weight in _expanded(tree, 0).items():
            total[monomial] += weight
    return dict(total)


def _expanded(tree: Tree, node: int) -> dict[Monomial, float]:
    if tree.column[node] < 0:
        return {(): float(tree.value[node])}
    below, above = _expanded(tree, 2 * node + 1), _expanded(tree, 2 * node + 2)
    condition = (int(tree.column[node]), int(tree.cut[node]))
    found: dict[Monomial, float] = defaultdict(float, below)
    for sign, side in ((1.0, above), (-1.0, below)):
        for monomial, weight in side.items():
            found[_times(monomial, condition)] += sign * weight
    return found


def _times(monomial: Monomial, condition: tuple[int, int]) -> Monomial:
    cuts = dict(monomial)
    column, cut = condition
    cuts[column] = max(cut, cuts.get(column, cut))
    return tuple(sorted(cuts.items()))


def body_of(
    monomial: Monomial, features: Sequence[Feature], cuts: Sequence[Floats]
) -> tuple[AnyBody, Weighing | None]:
    """The body of a monomial, and how its groundings weigh.

    Where all conditions only require groundings, the conjunction has `[exists]` once instead of
    `[n >= 1]` everywhere.
    """
    parts = tuple(features[column].part(cuts[column][cut - 1]) for column, cut in monomial)
    bounds = [part.threshold for part in parts]
    if all(bound is None for bound in bounds):
        return simplest(parts), None
    if all(bound is None or bound == Threshold(1.0) for bound in bounds):
        return simplest([Part(part.body) for part in parts]), Weighing(Counts.EXISTS)
    return Conjunction(parts), None


def mirrored(monomial: Monomial, mirror: Mapping[int, int]) -> Monomial:
    """The monomial of the pair with subject and object swapped."""
    return tuple(sorted((mirror[column], cut) for column, cut in monomial))
