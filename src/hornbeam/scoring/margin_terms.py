"""Rules as terms: what the kernel of `hornbeam.scoring.margins` adds up at the ends of paths.

A condition on one argument is a column over entities (`EndConditions`): it adds the same to all
pairs of an entity. A pair's own edge is not evidence for it, so a condition may count one fact less
for a pair that is linked. Every entity is therefore counted in a pair with an entity that the
target does not link it to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Positions, places_in_runs, pointers, run_starts
from hornbeam.counting.columns import Columns, weighed
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import AnyBody, Body, Part, free_argument
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import path_codes, reversed_sequence
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from hornbeam.scoring import margin_kernels as kernels
from hornbeam.scoring.independent_scores import strengths

#: Tolerance of thresholds on shares, which engines agree on to nine digits.
SHARE_SLACK = 1e-8
#: The kernel's numbers of the ways of counting.
WAYS = {
    Counts.RAW: kernels.RAW,
    Counts.LOG: kernels.LOG,
    Counts.EXISTS: kernels.EXISTS,
    Counts.SHARE: kernels.BY_MEDIAN,
    Counts.Z: kernels.RAW,
}
#: A factor of next to nothing: a value that adds nothing still grounds its rule.
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class EndConditions:
    """Conditions of rules on the subject (`argument` 0) or object (1) of one target."""

    model: RuleModel
    engine: MemoryEngine
    target: str
    argument: int
    #: Factors by conditions and by how their value is standardised; a cache.
    _factors: dict[tuple[tuple[Part, ...], Weighing | None], Floats] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def strengths(self) -> tuple[Floats, Floats]:
        """A and B of rules on this end alone, for every entity; priors are with subjects."""
        rules = (rule for rule in self.model.rules if only_argument(rule) == self.argument)
        return strengths(self.model.with_rules(rules), self._columns.statistics, self._pairs)

    def factor(self, parts: Sequence[Part], clause: Clause | None = None) -> Floats | None:
        """For every entity the factor of a body's conditions on this end in its groundings.

        None where the body has no condition on this end. Facts are true or absent here, so that a
        condition has one row per entity. Given the clause of a standardised value, its factor is an
        upper bound of what the value adds: a value on the other side adds next to nothing.
        """
        here = tuple(p for p in parts if p.body.only_argument == self.argument)
        weighing = None if clause is None else clause.weighing
        if here and (here, weighing) not in self._factors:
            product = np.ones(len(self.engine.facts.entities))
            for part in here:
                grounded = self._columns.grounded_part(part)
                if clause is not None and weighing is not None and part.body.is_value:
                    grounded = self._columns.standardised(part.body, weighing)
                    sign = -1.0 if clause.negated else 1.0
                    grounded = grounded._replace(number=np.maximum(sign * grounded.number, TINY))
                factor = np.zeros(len(product))
                factor[grounded.target] = grounded.number
                product *= factor
            self._factors[here, weighing] = product
        return self._factors.get((here, weighing))

    @cached_property
    def _pairs(self) -> Targets:
        facts = self.engine.facts
        all_entities = np.arange(len(facts.entities), dtype=np.int32)
        others = first_unlinked(facts, self.target, self.argument)
        subject, object_ = (others, all_entities) if self.argument else (all_entities, others)
        return Targets.between(facts.entities, self.target, subject, object_)

    @cached_property
    def _columns(self) -> Columns:
        bodies = [body for body in self.model.bodies if body.only_argument == self.argument]
        return Columns(self.engine.count(self._pairs, bodies, self.model.language))


def only_argument(rule: Rule) -> int | None:
    """The only argument that a rule depends on, 0 for priors; None if it depends on both.

    A standardised value beside facts is bounded like a rule on both: with fewer groundings than
    those that are counted here, it may add more.
    """
    weighing, beside = rule.clause.weighing, any(p.body.steps for p in rule.clause.body.parts)
    if beside and weighing is not None and weighing.counts is Counts.Z:
        return None
    free = 1 if rule.clause.is_prior else free_argument(rule.clause.body)
    return None if free is None else 1 - free


def positive_bodies(model: RuleModel) -> list[AnyBody]:
    """Bodies of the rules with some weight in favour of their target."""
    return [
        rule.clause.body
        for rule in model.rules
        if not rule.clause.is_prior and not rule.clause.negated and rule.weight > 0
    ]


def first_unlinked(facts: Facts, target: str, argument: int) -> Ids:
    """For every entity as that argument: the first entity that the target does not link it to.

    That pair has no edge of its own, so conditions on the argument add what they add with any
    other unlinked entity. The result is 0 for an entity that is linked to all.
    """
    links, n = facts.links(target), len(facts.entities)
    here, there = links[argument], links[1 - argument]
    order = np.lexsort((there, here))
    here, there = here[order], there[order]
    # neighbours ascend: while the k-th equals k there is no gap, so their number is the first gap
    first_gap = np.bincount(here, there == places_in_runs(here), n).astype(np.int32)
    return np.where(first_gap < n, first_gap, 0).astype(np.int32)


def walked_graph(model: RuleModel, engine: MemoryEngine, near: int) -> kernels.WalkedGraph:
    """The graph that rules walk from the argument `near`, with weights if they count shares."""
    fanout, weight = model.semantics.max_fanout, np.empty(0)
    graph = engine.limited_graph(fanout)
    edges = graph.backward if near else graph.forward
    if model.shares:
        weight = engine.share_counter(fanout).weights(edges)
    return kernels.WalkedGraph(*edges[:3], weight)


@dataclass(frozen=True, eq=False)
class WalkBounds:
    """How many groundings, or what share, a path may have at most from every entity."""

    edges: kernels.WalkedGraph
    #: Edges of a code, and the nodes that these leave; a cache.
    _of_code: dict[int, tuple[Positions, Positions]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def n_entities(self) -> int:
        """Number of nodes."""
        return len(self.edges.offsets) - 1

    def groundings(self, codes: Sequence[int]) -> Floats:
        """The most groundings of a path from every entity to any other.

        n(a, b) is the sum over a's first steps to u of n'(u, b), and the greatest of a sum is at
        most the sum of the greatest.
        """
        return self._most(codes, np.ones(len(self.edges.code)))

    def shares(self, codes: Sequence[int]) -> Floats:
        """The greatest share of a path from every entity to any other.

        It is at most 1: the matrix of a step's weights has no singular value above that.
        """
        return np.minimum(self._most(codes, self.edges.weight), 1.0)

    def _most(self, codes: Sequence[int], weight: Floats) -> Floats:
        *first, last = codes
        edges, node = self._leaving(last)
        most: Floats = np.zeros(self.n_entities)
        if len(edges):  # parallel edges follow each other, and are added up
            starts = run_starts(node, self.edges.neighbour[edges])
            np.maximum.at(most, node[starts], np.add.reduceat(weight[edges], starts))
        for code in reversed(first):
            edges, node = self._leaving(code)
            ahead = weight[edges] * most[self.edges.neighbour[edges]]
            most = np.bincount(node, ahead, self.n_entities).astype(np.float64)
        return most

    def _leaving(self, code: int) -> tuple[Positions, Positions]:
        if code not in self._of_code:
            edges = np.flatnonzero(self.edges.code == code)
            self._of_code[code] = edges, np.searchsorted(self.edges.offsets, edges, "right") - 1
        return self._of_code[code]


@dataclass(frozen=True, eq=False)
class MarginTerm:
    """A rule with a path, or with conditions on both ends."""

    weight: float  #: at most 0 where the rule is against its target
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
        return self.threshold.bound * (1.0 - SHARE_SLACK if self.threshold.share else 1.0)

    def most(self, walks: WalkBounds) -> Floats:
        """For every start the most that it may add to a pair."""
        x = np.ones(walks.n_entities) if self.near is None else self.near
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
    """Makes terms of a model's rules, and of these the arrays of the kernel.

    `ends` are the conditions on the argument that walks start from, and on the other.
    """

    model: RuleModel
    predicates: Names
    ends: tuple[EndConditions, EndConditions]
    walks: WalkBounds

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
        terms, n = self.terms, self.walks.n_entities
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
        sequences = list[Sequence[int]]()
        for part in paths:
            codes = path_codes(part.body, self.predicates)
            if codes is None:
                return None
            sequences.append(reversed_sequence(codes) if self.ends[0].argument else codes)
        weighing = self.model.counts_of(clause)
        value = clause if weighing.counts is Counts.Z else None
        near, far = (end.factor(parts, value) for end in self.ends)
        differences = [part.body for part in parts if part.body.number and not part.body.is_path]
        differences = [body for body in differences if body.only_argument is None]
        for body in differences:
            groundings = self._value_pairs(body, clause, weighing)
            near, far = (
                more if known is None else known * more
                for known, more in zip((near, far), groundings, strict=True)
            )
        for part, sequence in zip(paths[1:], sequences[1:], strict=True):
            most = self.walks.groundings(sequence)
            most = most if part.threshold is None else np.minimum(most, 1.0)
            near = most if near is None else near * most
        threshold = paths[0].threshold if paths else None
        weight = -rule.weight if clause.negated and value is None else rule.weight
        may_lack = len(paths) > 1 or differences or (threshold is not None and threshold.share)
        if weight < 0.0 and may_lack:
            weight = 0.0  # it may have fewer groundings than here: only the pair is known
        return MarginTerm(
            weight, weighing, tuple(sequences[0] if paths else ()), threshold,
            near, far,
        )  # fmt: skip

    def _value_pairs(self, body: Body, clause: Clause, weighing: Weighing) -> tuple[Floats, Floats]:
        """Factors of both ends whose product bounds what a difference of numbers adds.

        They are the numbers of values; where these are standardised, times the most that one pair
        of values can add.
        """
        number, numbers = body.number, self.ends[0].engine.numbers
        assert number is not None
        assert number.minus is not None
        names = (number.attribute, number.minus)
        values = [numbers.values_of(name) for name in names]
        n = self.walks.n_entities
        sizes = [np.bincount(entity, minlength=n).astype(np.float64) for entity, _ in values]
        if number.is_value and all(len(value) for _, value in values):
            (low, high), (other_low, other_high) = ((v.min(), v.max()) for _, v in values)
            ends = np.array([low - other_high, high - other_low])
            ends = np.append(np.abs(ends), 0.0) if number.absolute else ends
            z = (ends - weighing.mean) / weighing.deviation
            sizes[0] *= max(float((-z if clause.negated else z).max()), TINY)
        near = sizes if body.argument == self.ends[0].argument else sizes[::-1]
        return near[0], near[1]


def _stacked(factors: Sequence[Floats | None], n_entities: int) -> tuple[list[int], Floats]:
    """The row of every factor, -1 where there is none, and the distinct ones as rows."""
    distinct = {id(factor): factor for factor in factors if factor is not None}
    row = {key: k for k, key in enumerate(distinct)}
    rows = np.array(list(distinct.values()), dtype=np.float64).reshape(-1, n_entities)
    return [row.get(id(factor), -1) for factor in factors], rows
