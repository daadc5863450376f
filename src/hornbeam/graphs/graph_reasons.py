"""The reasons for one candidate: the rules of every kind that fired for it, with groundings.

The loops of `hornbeam.graphs.evidence_kernels` go over thousands of candidates and keep the best
confidences only. Here every rule that fired for one candidate is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Ints
from hornbeam.explaining.reason import Fact, GroundedCondition, Grounding, Reason
from hornbeam.facts.atom_keys import contained
from hornbeam.facts.table import Facts
from hornbeam.graphs.constant_kernels import MIN_CONFIDENCE, MIN_HITS
from hornbeam.graphs.evidence_kernels import MILLION
from hornbeam.graphs.features import EvidenceKind
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_text import graph_rule_words, rule_ends, rule_text
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.model_parts import (
    clause_about,
    direction_of,
    named_constant,
    property_of,
    step_of,
)
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import known_argument, path_clause
from hornbeam.rules.body import Kind, Step, spelt
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import inverse_code, predicate_of
from hornbeam.rules.rule_model import SMOOTHING, CountedRule

#: The minimum weight of a rule that was fitted together with others for it to be named.
MIN_WEIGHT = 1e-3


@dataclass(frozen=True)
class FiredRule:
    """A rule that fired for a candidate, or, with a weight below 0, against it.

    Its body is a walk along `codes` from `start`, which is the known entity or the candidate, to
    `end`; None is any entity. Rules that are counted individually have a confidence; those fitted
    together have a weight.
    """

    kind: EvidenceKind
    clause: Clause
    start: int
    codes: list[int]
    end: int | None
    confidence: float | None = None
    hits: int | None = None
    predicted: int | None = None
    weight: float | None = None

    @classmethod
    def counted(
        cls, kind: EvidenceKind, rule: CountedRule, walk: tuple[int, list[int], int | None]
    ) -> FiredRule:
        """A rule with a confidence."""
        return cls(kind, rule.clause, *walk, rule.confidence, rule.hits, rule.predicted)

    @property
    def order(self) -> tuple[float, str]:
        """What rules of a kind are sorted by: the strongest first."""
        figure = self.weight if self.confidence is None else self.confidence
        return -abs(figure or 0.0), str(self.clause)


def fired_rules(ranker: MemoryRanker, pool: Pool, row: int) -> dict[EvidenceKind, list[FiredRule]]:
    """All rules that fire for the candidate at a row of a pool of one source.

    They are grouped by kind, the strongest first. Of the constants that are fitted together,
    weights near 0 are left out.
    """
    step, source, candidate = int(pool.step[0]), int(pool.source[0]), int(pool.entity[row])
    fired = list(_paths(ranker, pool, row))
    if ranker.model.constants:
        fired += _forward(ranker, step, source, candidate)
    if ranker.model.backward:
        fired += _backward(ranker, step, source, candidate)
    if ranker.evidence.ridge is not None:
        fired += _ridge_rules(ranker, step, source, candidate)
    if "linked_together" in ranker.model.features:
        fired += _linked(ranker, step, source, candidate)
    groups: dict[EvidenceKind, list[FiredRule]] = {}
    for rule in sorted(fired, key=lambda rule: rule.order):
        groups.setdefault(rule.kind, []).append(rule)
    return groups


def as_reason(ranker: MemoryRanker, pool: Pool, fired: FiredRule, paths: int) -> Reason:
    """A fired rule as a reason, with the number of its groundings and the first `paths` of them."""
    facts, graph, source = ranker.facts, ranker.graph, int(pool.source[0])
    walks = Walks(graph, fired.start, fired.end, fired.codes)
    direction, identifiers = direction_of(int(pool.step[0])), ranker.model.identifiers
    known = known_argument(direction)
    is_path = fired.kind in (EvidenceKind.PATH, EvidenceKind.LINKED)
    body, _ = fired.clause.atoms(*rule_ends(direction))
    steps = [step_of(facts.predicates, code) for code in fired.codes]
    condition = GroundedCondition(
        " & ".join(spelt(literal, identifiers) for literal in body),
        Kind.PATH if is_path else Kind.OPEN if fired.end is None else Kind.ANCHORED,
        known if fired.start == source else 1 - known,
        walks.number,
        tuple(_grounding(facts, steps, walk) for walk in islice(walks, paths)),
        steps=len(steps),
    )
    return Reason(
        None,
        rule_text(fired.clause, direction, identifiers),
        fired.weight,
        condition.count,
        conditions=(condition,),
        words=graph_rule_words(fired.clause, direction),
        confidence=fired.confidence,
        hits=fired.hits,
        predicted=fired.predicted,
    )


def _grounding(facts: Facts, steps: list[Step], walk: list[int]) -> Grounding:
    entities = tuple(facts.entities[entity] for entity in walk)
    ends = (entities[i : i + 2][:: -1 if step.inverse else 1] for i, step in enumerate(steps))
    return Grounding(
        entities,
        tuple(Fact.of(step.predicate, pair) for step, pair in zip(steps, ends, strict=True)),
    )


# --- paths ----------------------------------------------------------------------------------------


def _paths(ranker: MemoryRanker, pool: Pool, row: int) -> Iterator[FiredRule]:
    step, source, candidate = int(pool.step[0]), int(pool.source[0]), int(pool.entity[row])
    facts, rules = ranker.facts, ranker.steps[step].rules
    fired = ranker.firings(rules, pool)
    for number in fired.rule[fired.start[row] : fired.start[row + 1]].tolist():
        codes = [code for code in rules.paths[number].tolist() if code]
        rule = CountedRule.of(
            _path_clause(facts, step, codes), int(rules.hits[number]), int(rules.predicted[number])
        )
        walk = source, codes, candidate
        yield FiredRule.counted(EvidenceKind.PATH, rule, walk)


def _path_clause(facts: Facts, step: int, codes: list[int]) -> Clause:
    relation = facts.predicates[predicate_of(step)]
    path = [step_of(facts.predicates, code) for code in codes]
    return path_clause(relation, direction_of(step), path)


class Walks:
    """The walks from a to c by some steps, as rules take them; by one step to any end if c is None.

    A walk never returns to a, and its first step does not lead to c unless it is the only one.
    Entities that lead to c are found first, backwards, so that no walk is started in vain.
    """

    def __init__(self, graph: LinkedGraph, a: int, c: int | None, codes: list[int]) -> None:
        self.graph, self.start, self.codes = graph, a, codes
        #: Per step the entities that it may lead to.
        self.leading = [set(graph.ends(a, codes[0]).tolist()) if c is None else {c}]
        for code in reversed(codes[1:]):
            before = {
                int(v) for end in self.leading[-1] for v in graph.ends(end, inverse_code(code))
            }
            self.leading.append(before - {a})
        self.leading.reverse()
        if len(codes) > 1 and c is not None:
            self.leading[0].discard(c)

    def _next(self, entity: int, depth: int) -> Iterator[int]:
        """Where a walk may continue after some steps, ascending."""
        ends = self.graph.ends(entity, self.codes[depth]).tolist()
        return (end for end in ends if end in self.leading[depth])

    def __iter__(self) -> Iterator[list[int]]:
        """Entities along every walk, in the order of their ids."""

        def walks(at: int, depth: int) -> Iterator[list[int]]:
            if depth == len(self.codes):
                yield [at]
                return
            for end in self._next(at, depth):
                for rest in walks(end, depth + 1):
                    yield [at, *rest]

        return walks(self.start, 0)

    @property
    def number(self) -> int:
        """How many walks there are, counted entity by entity without walking them all."""
        reached = {self.start: 1}
        for depth in range(len(self.codes)):
            further: Counter[int] = Counter()
            for entity, walks in reached.items():
                for end in self._next(entity, depth):
                    further[end] += walks
            reached = dict(further)
        return sum(reached.values())


# --- constants ------------------------------------------------------------------------------------


def properties_of(graph: LinkedGraph, entity: int) -> Ints:
    """Numbers of the properties that an entity has: (s, d) for every link, (s, _) per step."""
    links = graph.links
    runs = slice(int(links.first_run[entity]), int(links.first_run[entity + 1]))
    low, high = (
        links.run_start[links.first_run[entity]],
        links.run_start[links.first_run[entity + 1]],
    )
    own = links.property[low:high].astype(np.int64)
    return np.unique(np.append(own, len(links.run_step) + links.run_step[runs].astype(np.int64)))


def holders_of(graph: LinkedGraph, number: int) -> Ids:
    """Entities that have a property."""
    links = graph.links
    if number >= len(links.run_step):
        return graph.holders(number - len(links.run_step))
    return links.end[links.run_start[number] : links.run_start[number + 1]]


def _forward(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[FiredRule]:
    """The rules t(X, c) <- property of X, for the properties of a."""
    facts, graph = ranker.facts, ranker.graph
    evidence = ranker.evidence
    rules = evidence.constants(evidence.common(step), np.array([a], dtype=np.int32))
    fired: Bools = (rules.answer == c) & np.isin(rules.property, properties_of(graph, a))
    for row in np.flatnonzero(fired).tolist():
        rule = named_constant(graph, facts, rules, row)
        code, end = property_of(graph, int(rules.property[row]))
        yield FiredRule.counted(EvidenceKind.FORWARD, rule, (a, [code], end))


def _backward(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[FiredRule]:
    """The rules t(a, Y) <- property of Y, for the properties of c that known answers of a share."""
    graph = ranker.graph
    known = graph.ends(a, step)
    own = {_property(graph, inverse_code(step), a), len(graph.links.run_step) + inverse_code(step)}
    for number in properties_of(graph, c).tolist():
        if number in own:
            continue
        holders = holders_of(graph, number)
        hits = int(contained(known, holders).sum())  # both ascend
        confidence = hits / (len(holders) + SMOOTHING)
        if hits >= MIN_HITS and confidence >= MIN_CONFIDENCE:
            code, end = property_of(graph, number)
            yield FiredRule(
                EvidenceKind.BACKWARD, _about_answers(ranker, step, a, number), c, [code], end,
                confidence, hits, len(holders),
            )  # fmt: skip


def _property(graph: LinkedGraph, step: int, entity: int) -> int:
    """Number of the property 'linked to an entity by a step', -1 if no entity has it."""
    return int(graph.run_of(np.array([entity]), inverse_code(step))[0])


def _about_answers(ranker: MemoryRanker, step: int, a: int, number: int) -> Clause:
    """The clause t(a, Y) <- property of Y."""
    facts = ranker.facts
    code, entity = property_of(ranker.graph, number)
    answer = 1 - known_argument(direction_of(step))
    constant = None if entity is None else facts.entities[entity]
    return clause_about(facts.predicates, step, answer, code, constant, facts.entities[a])


# --- links of the pair, fitted together --------------------------------------------------------


def _linked(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[FiredRule]:
    """Rules of the other links between the two."""
    graph, facts, weights = ranker.graph, ranker.facts, ranker.evidence.pair_weights
    for code in range(2, len(weights)):
        weight = int(weights[code, step]) / MILLION
        if abs(weight) >= MIN_WEIGHT and c in graph.ends(a, code):
            clause = _path_clause(facts, step, [code])
            yield FiredRule(EvidenceKind.LINKED, clause, a, [code], c, weight=weight)


# --- constants fitted together --------------------------------------------------------------------


def _ridge_rules(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[FiredRule]:
    """Rules of the ridge about the known argument and the answer."""
    facts, graph, known = ranker.facts, ranker.graph, known_argument(direction_of(step))
    for number, weight in ridge_weights(ranker, a, _property(graph, step, c)):
        code, end = property_of(graph, number)
        assert end is not None
        if abs(weight) >= MIN_WEIGHT:
            names = facts.entities[end], facts.entities[c]
            clause = clause_about(facts.predicates, step, known, code, *names)
            yield FiredRule(EvidenceKind.RIDGE, clause, a, [code], end, weight=weight)
    for number, weight in ridge_weights(ranker, c, _property(graph, inverse_code(step), a)):
        code, end = property_of(graph, number)
        if abs(weight) >= MIN_WEIGHT:
            clause = _about_answers(ranker, step, a, number)
            yield FiredRule(EvidenceKind.RIDGE, clause, c, [code], end, weight=weight)


def ridge_weights(ranker: MemoryRanker, entity: int, target: int) -> list[tuple[int, float]]:
    """Properties of an entity, with their weights for the property `target` (none if that is -1).

    With the matrices of `hornbeam.graphs.ridge` the weight of property i for property j is
    B_ij = x_i^T A x_j / (1 - x_j^T A x_j); over the properties of an entity that lacks j they add
    up to l times its score.
    """
    ridge, graph = ranker.evidence.ridge, ranker.graph
    if ridge is None or target < 0:
        return []
    column = ridge.inverse[:, holders_of(graph, target)].sum(axis=1, dtype=np.float64)
    numbers = properties_of(graph, entity)
    return [
        (number, float(column[holders_of(graph, number)].sum() / ridge.denominators[target]))
        for number in numbers[numbers < len(graph.links.run_step)].tolist()
        if number != target
    ]
