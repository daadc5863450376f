"""The reasons for one candidate: the rules of every kind that fired for it, with groundings.

The loops of `hornbeam.graphs.evidence_kernels` go over thousands of candidates and keep the best
confidences only. Here every rule that fired for one candidate is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from hornbeam.base.arrays import Ids, Ints
from hornbeam.explaining.reason import Fact, GroundedCondition, Grounding, Reason
from hornbeam.facts.atom_keys import contained
from hornbeam.facts.table import Facts
from hornbeam.graphs.constant_kernels import MIN_CONFIDENCE, MIN_HITS
from hornbeam.graphs.evidence_kernels import MILLION
from hornbeam.graphs.features import SLOT, EvidenceKind
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_text import graph_rule_words, rule_ends, rule_text
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.model_parts import (
    clause_about,
    direction_of,
    property_of,
    step_of,
)
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import known_argument, path_clause
from hornbeam.rules.body import Body, Kind, Step, spelt
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import inverse_code, is_inverse, predicate_of
from hornbeam.rules.rule_model import SMOOTHING

#: Minimum absolute weight for naming a rule that was fitted together with other rules.
MIN_WEIGHT = 1e-3


@dataclass(frozen=True)
class FiredRule:
    """A rule that fired for a candidate, or, with a weight below 0, against it.

    Its body is a walk along `codes` from `start`, the known entity or the candidate, to `end`,
    where None stands for any entity. Rules that are counted individually have hits and predictions;
    rules that are fitted together have a weight.
    """

    kind: EvidenceKind
    clause: Clause
    start: int
    codes: list[int]
    end: int | None
    weight: float | None = None
    hits: int | None = None
    predicted: int | None = None

    def counted(self, hits: int, predicted: int) -> FiredRule:
        """The rule with its counts."""
        return replace(self, hits=int(hits), predicted=int(predicted))

    @property
    def confidence(self) -> float | None:
        """Hits / (predicted + 5) of a counted rule, None for other rules."""
        return None if self.hits is None else self.hits / ((self.predicted or 0) + SMOOTHING)

    @property
    def order(self) -> tuple[float, str]:
        """Sort key of the rules of a kind: the strongest rule first."""
        return -abs(self.confidence or self.weight or 0.0), str(self.clause)


def fired_rules(ranker: MemoryRanker, pool: Pool, row: int) -> dict[EvidenceKind, list[FiredRule]]:
    """All rules that fire for the candidate at a row of a pool of one source, by kind.

    The strongest rules of a kind come first. Rules that are fitted together are left out if their
    weights are near 0.
    """
    asked = _Asked(ranker, int(pool.step[0]), int(pool.source[0]), int(pool.entity[row]))
    fired = list(asked.paths(pool, row))
    if ranker.model.constants:
        fired += asked.forward()
    if ranker.model.backward:
        fired += asked.backward()
    if ranker.evidence.ridge is not None:
        fired += asked.ridge()
    if "linked_together" in ranker.model.features:
        fired += asked.linked()
    if SLOT in ranker.model.features:
        fired += asked.slots()
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


@dataclass(frozen=True, eq=False)
class _Asked:
    """A candidate of a query; its methods list the rules that fire for it, class by class."""

    ranker: MemoryRanker
    step: int
    source: int
    candidate: int

    def _along(self, kind: EvidenceKind, codes: list[int]) -> FiredRule:
        """A rule that leads from the known entity to the candidate, without its figures."""
        predicates = self.ranker.facts.predicates
        path = [step_of(predicates, code) for code in codes]
        relation = predicates[predicate_of(self.step)]
        clause = path_clause(relation, direction_of(self.step), path)
        return FiredRule(kind, clause, self.source, codes, self.candidate)

    def _about(self, kind: EvidenceKind, number: int, of_answer: bool = False) -> FiredRule:
        """A rule about a property of the known entity or of the answer, without its figures.

        The other one, the answer or the known entity, is a constant in the rule.
        """
        facts, (code, end) = self.ranker.facts, property_of(self.ranker.graph, number)
        start, other = self.source, self.candidate
        if of_answer:
            start, other = other, start
        constant = None if end is None else facts.entities[end]
        names = constant, facts.entities[other]
        clause = clause_about(facts.predicates, self.step, code, *names, of_answer)
        return FiredRule(kind, clause, start, [code], end)

    def paths(self, pool: Pool, row: int) -> Iterator[FiredRule]:
        """Path rules; the candidate is at `row` of `pool`."""
        rules = self.ranker.steps[self.step].rules
        fired = self.ranker.firings(rules, pool)
        for number in fired.rule[fired.start[row] : fired.start[row + 1]].tolist():
            codes = [code for code in rules.paths[number].tolist() if code]
            rule = self._along(EvidenceKind.PATH, codes)
            yield rule.counted(rules.hits[number], rules.predicted[number])

    def forward(self) -> Iterator[FiredRule]:
        """Rules t(X, c) <- property of X, for the candidate c and the source's properties."""
        evidence, a = self.ranker.evidence, self.source
        rules = evidence.constants(evidence.common(self.step), np.array([a], dtype=np.int32))
        held = np.isin(rules.property, properties_of(self.ranker.graph, a))
        for row in np.flatnonzero((rules.answer == self.candidate) & held).tolist():
            rule = self._about(EvidenceKind.FORWARD, int(rules.property[row]))
            yield rule.counted(rules.hits[row], rules.predicted[row])

    def backward(self) -> Iterator[FiredRule]:
        """Rules t(a, Y) <- property of Y, for properties that candidate and known answers share."""
        graph, inverse = self.ranker.graph, inverse_code(self.step)
        known = graph.ends(self.source, self.step)
        own = {_property(graph, inverse, self.source), len(graph.links.run_step) + inverse}
        for number in properties_of(graph, self.candidate).tolist():
            if number in own:
                continue
            holders = holders_of(graph, number)
            hits = int(contained(known, holders).sum())  # both ascend
            if hits >= MIN_HITS and hits / (len(holders) + SMOOTHING) >= MIN_CONFIDENCE:
                rule = self._about(EvidenceKind.BACKWARD, number, of_answer=True)
                yield rule.counted(hits, len(holders))

    def ridge(self) -> Iterator[FiredRule]:
        """Rules of the ridge about properties of the known entity, then of the candidate."""
        for of_answer, step, (entity, other) in (
            (False, self.step, (self.source, self.candidate)),
            (True, inverse_code(self.step), (self.candidate, self.source)),
        ):
            target = _property(self.ranker.graph, step, other)
            for number, weight in ridge_weights(self.ranker, entity, target):
                if abs(weight) >= MIN_WEIGHT:
                    yield replace(self._about(EvidenceKind.RIDGE, number, of_answer), weight=weight)

    def linked(self) -> Iterator[FiredRule]:
        """Rules about other links between the known entity and the candidate."""
        graph, weights = self.ranker.graph, self.ranker.evidence.pair_weights
        for code in range(2, len(weights)):
            weight = int(weights[code, self.step]) / MILLION
            if abs(weight) >= MIN_WEIGHT and self.candidate in graph.ends(self.source, code):
                yield replace(self._along(EvidenceKind.LINKED, [code]), weight=weight)

    def slots(self) -> Iterator[FiredRule]:
        """Rules about the relations that the candidate has links of."""
        graph, weights = self.ranker.graph, self.ranker.evidence.slot_weights
        predicates, runs = self.ranker.facts.predicates, graph.links.first_run
        relation, argument = predicates[predicate_of(self.step)], int(not is_inverse(self.step))
        for run in range(int(runs[self.candidate]), int(runs[self.candidate + 1])):
            code = int(graph.links.run_step[run])
            weight = int(weights[code, inverse_code(self.step)]) / MILLION
            if abs(weight) >= MIN_WEIGHT:
                body = Body((step_of(predicates, code),), relation, Kind.OPEN, argument)
                codes, kind = [code], EvidenceKind.SLOT
                yield FiredRule(kind, Clause(body), self.candidate, codes, None, weight)


class Walks:
    """The walks of a rule from a to c along `codes`; if c is None, of one step to any end.

    A walk never returns to a, and its first step does not lead to c unless it is the only step.
    First the entities that lead to c are listed, backwards, so that no walk is started in vain.
    """

    def __init__(self, graph: LinkedGraph, a: int, c: int | None, codes: list[int]) -> None:
        self.graph, self.start, self.codes = graph, a, codes
        #: Per step, the entities that the step may lead to.
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
        """Entities that a walk may reach next from an entity at `depth`, ascending."""
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


# --- properties of entities -----------------------------------------------------------------------


def properties_of(graph: LinkedGraph, entity: int) -> Ints:
    """Numbers of an entity's properties: (s, d) per link, (s, _) per step with links."""
    links = graph.links
    runs = slice(int(links.first_run[entity]), int(links.first_run[entity + 1]))
    low, high = links.run_start[links.first_run[entity : entity + 2]]
    own = links.property[low:high].astype(np.int64)
    return np.unique(np.append(own, len(links.run_step) + links.run_step[runs].astype(np.int64)))


def holders_of(graph: LinkedGraph, number: int) -> Ids:
    """Entities that have a property."""
    links = graph.links
    if number >= len(links.run_step):
        return graph.holders(number - len(links.run_step))
    return links.end[links.run_start[number] : links.run_start[number + 1]]


def _property(graph: LinkedGraph, step: int, entity: int) -> int:
    """Number of the property 'linked to `entity` by `step`', -1 if no entity has the property."""
    return int(graph.run_of(np.array([entity]), inverse_code(step))[0])


def ridge_weights(ranker: MemoryRanker, entity: int, target: int) -> list[tuple[int, float]]:
    """Properties of an entity, with their weights for the property `target`; none if that is -1.

    With the matrices of `hornbeam.graphs.ridge` the weight of property i for property j is
    B_ij = x_i^T A x_j / (1 - x_j^T A x_j). The weights of all properties of an entity that lacks j
    add up to l times its score by `Ridge.scores`.
    """
    ridge, graph = ranker.evidence.ridge, ranker.graph
    if ridge is None or target < 0:
        return []
    column = ridge.column(target).astype(np.float64)
    numbers = properties_of(graph, entity)
    return [
        (number, float(column[holders_of(graph, number)].sum() / ridge.denominators[target]))
        for number in numbers[numbers < len(graph.links.run_step)].tolist()
        if number != target
    ]
