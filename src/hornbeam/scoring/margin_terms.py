"""Rules as terms: what the kernel of `hornbeam.scoring.margins` adds up at the ends of paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, pointers
from hornbeam.counting.columns import weighed
from hornbeam.facts.names import Names
from hornbeam.rules.body import Part
from hornbeam.rules.codes import path_codes
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from hornbeam.scoring import margin_kernels as kernels
from hornbeam.scoring.end_conditions import EndConditions, only_argument
from hornbeam.scoring.walk_bounds import WalkBounds

#: Tolerance of thresholds on shares, which engines agree on to nine digits.
SHARE_SLACK = 1e-8

WAYS = {
    Counts.RAW: kernels.RAW,
    Counts.LOG: kernels.LOG,
    Counts.EXISTS: kernels.EXISTS,
    Counts.SHARE: kernels.BY_MEDIAN,
}


@dataclass(frozen=True, eq=False)
class MarginTerm:
    """A rule with a path, or with conditions on both ends."""

    weight: float  #: below 0 where the rule is against its target
    weighing: Weighing
    codes: tuple[int, ...]  #: steps of its path; none where it has conditions only
    threshold: Threshold | None  #: on the groundings of the path
    #: A factor per entity, None where it is 1.
    near: Floats | None
    far: Floats | None

    @property
    def kind(self) -> int:
        """Number of what the path gives, as in the kernel."""
        if self.threshold is not None:
            return kernels.ABOVE_SHARE if self.threshold.share else kernels.FROM_COUNT
        alone = self.near is None and self.far is None
        share = alone and self.weighing.counts is Counts.SHARE
        return kernels.SHARE if share else kernels.GROUNDINGS

    @property
    def bound(self) -> float:
        """The threshold; one on shares is lowered a little, so that the margin stays a bound."""
        if self.threshold is None:
            return 0.0
        slack = SHARE_SLACK if self.threshold.share else 0.0
        return self.threshold.bound * (1.0 - math.copysign(slack, self.weight))

    def most(self, walks: WalkBounds, n_entities: int) -> Floats:
        """For every subject the most that it may add to a pair."""
        x = np.ones(n_entities) if self.near is None else self.near
        if self.far is not None:
            x = x * self.far.max(initial=0.0)
        if self.codes and self.kind == kernels.SHARE:
            x = x * walks.shares(self.codes)
        elif self.codes:
            groundings = walks.groundings(self.codes)
            x = x * (groundings > 0 if self.threshold else groundings)
        return self.weight * np.where(x > 0, weighed(x, self.weighing), 0.0)


@dataclass(frozen=True, eq=False)
class TermBuilder:
    """Makes terms of a model's rules, and of these the arrays of the kernel."""

    model: RuleModel
    predicates: Names
    ends: tuple[EndConditions, EndConditions]
    walks: WalkBounds
    _factors: dict[tuple[int, tuple[Part, ...]], Floats] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def terms(self) -> list[MarginTerm]:
        """Terms in the order of their sequences, without those that the facts cannot ground."""
        found = (self._term(rule) for rule in self.model.rules if only_argument(rule) is None)
        return sorted((term for term in found if term is not None), key=lambda term: term.codes)

    @cached_property
    def trie(self) -> kernels.StepTrie:
        """The sequences of the terms by their common beginnings."""
        sequences = [term.codes for term in self.terms]
        prefixes = sorted({(), *(c[:k] for c in sequences for k in range(1, len(c) + 1))})
        place = {prefix: i for i, prefix in enumerate(prefixes)}
        sizes = np.zeros(len(prefixes), dtype=np.int64)
        for sequence in sequences:
            sizes[place[sequence]] += 1
        return kernels.StepTrie(
            np.array([len(prefix) for prefix in prefixes], dtype=np.int64),
            np.array([prefix[-1] if prefix else 0 for prefix in prefixes], dtype=np.int64),
            pointers(sizes),
        )

    @cached_property
    def arrays(self) -> kernels.TermColumns:
        """The terms as columns, and the distinct factors of both ends."""
        terms, n = self.terms, self.walks.graph.n_entities
        near, near_factor = _stacked([term.near for term in terms], n)
        far, far_factor = _stacked([term.far for term in terms], n)
        return kernels.TermColumns(
            np.array([term.weight for term in terms], dtype=np.float64),
            np.array([term.kind for term in terms], dtype=np.int64),
            np.array([term.bound for term in terms], dtype=np.float64),
            np.array([WAYS[term.weighing.counts] for term in terms], dtype=np.int64),
            np.array([term.weighing.median for term in terms], dtype=np.float64),
            np.array(near, dtype=np.int64),
            np.array(far, dtype=np.int64),
            near_factor,
            far_factor,
        )

    def _term(self, rule: Rule) -> MarginTerm | None:
        clause, parts = rule.clause, rule.clause.body.parts
        paths = [part for part in parts if part.body.is_path]
        sequences = [path_codes(part.body, self.predicates) for part in paths]
        if None in sequences or (clause.negated and len(paths) > 1):
            return None
        near, far = (
            self._factor(
                argument,
                tuple(p for p in parts if p not in paths and p.body.argument == argument),
            )
            for argument in (0, 1)
        )
        for part, codes in zip(paths[1:], sequences[1:], strict=True):
            most = self.walks.groundings(codes or ())
            most = most if part.threshold is None else np.minimum(most, 1.0)
            near = most if near is None else near * most
        return MarginTerm(
            -rule.weight if clause.negated else rule.weight,
            self.model.counts_of(clause),
            tuple(sequences[0] or ()) if paths else (),
            paths[0].threshold if paths else None,
            near,
            far,
        )

    def _factor(self, argument: int, parts: tuple[Part, ...]) -> Floats | None:
        """The factor of conditions on an end, cached."""
        if not parts:
            return None
        if (argument, parts) not in self._factors:
            self._factors[argument, parts] = self.ends[argument].factor(parts)
        return self._factors[argument, parts]


def _stacked(factors: Sequence[Floats | None], n_entities: int) -> tuple[list[int], Floats]:
    """The row of every factor, -1 where there is none, and the distinct ones as rows."""
    distinct = {id(factor): factor for factor in factors if factor is not None}
    row = {key: k for k, key in enumerate(distinct)}
    rows = np.array(list(distinct.values()), dtype=np.float64).reshape(-1, n_entities)
    return [row.get(id(factor), -1) for factor in factors], rows
