"""The reasons for one candidate: the rules of every class that fired for it.

The loops of `hornbeam.graphs.evidence_kernels` go over thousands of candidates and keep the best
confidences only. Here every rule that fired for one candidate is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Ints
from hornbeam.facts.atom_keys import contained
from hornbeam.facts.table import Facts
from hornbeam.graphs.constants import MIN_CONFIDENCE, MIN_HITS
from hornbeam.graphs.evidence_kernels import MILLION
from hornbeam.graphs.graph_text import entity_text, rule_atom, rule_head, rule_text
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.memory_ranker import MemoryRanker
from hornbeam.graphs.model_parts import direction_of, named_constant, property_of, step_of
from hornbeam.graphs.path_rules import SMOOTHING
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import ConstantRule, CountedRule, GraphRule
from hornbeam.rules.codes import inverse_code, predicate_of

Triple = tuple[str, str, str]

#: Maximum number of properties shown with their ridge weights, and the minimum weight to show.
RIDGE_SHOWN, MIN_WEIGHT = 5, 1e-3


class EvidenceKind(StrEnum):
    """Kinds of evidence that a score is the sum of."""

    PATH = "paths"
    FORWARD = "constants forward"
    BACKWARD = "constants backward"
    RIDGE = "constants together"
    OVERALL = "all rules"
    LINKED = "other links between the two"
    PRIOR = "how common the answer is"

    @classmethod
    def of_feature(cls, name: str) -> EvidenceKind:
        """The kind that a feature of the ranking belongs to."""
        prefixes = {
            "path_": cls.PATH,
            "forward_": cls.FORWARD,
            "backward_": cls.BACKWARD,
            "ridge_": cls.RIDGE,
            "linked_": cls.LINKED,
        }
        for prefix, kind in prefixes.items():
            if name.startswith(prefix):
                return kind
        return cls.OVERALL if name in ("best", "noisy_or") else cls.PRIOR


@dataclass(frozen=True)
class GraphReason:
    """A reason for an answer, or, with a weight below 0, against it: a rule that fired.

    Rules that are counted one by one have a confidence; those fitted together have a weight.
    `groundings` are the first ones of a path between the two entities, as triples.
    """

    kind: EvidenceKind
    rule: str
    confidence: float | None = None
    hits: int | None = None
    predicted: int | None = None
    weight: float | None = None
    groundings: tuple[tuple[Triple, ...], ...] = ()


def reasons_for(
    ranker: MemoryRanker, pool: Pool, row: int, groundings: int = 3
) -> tuple[GraphReason, ...]:
    """All rules that fire for the candidate at a row of a pool of one source, the best first.

    From the constants that are fitted together, those of the largest weights are taken.
    """
    step, source, candidate = int(pool.step[0]), int(pool.source[0]), int(pool.entity[row])
    found = list(_paths(ranker, pool, row, groundings))
    if ranker.model.constants:
        found += _forward(ranker, step, source, candidate)
    if ranker.model.backward:
        found += _backward(ranker, step, source, candidate)
    found.sort(key=lambda reason: (-(reason.confidence or 0.0), reason.rule))
    if ranker.evidence.ridge is not None:
        found += _ridge_reasons(ranker, step, source, candidate)
    if "linked_together" in ranker.model.features:
        found += _linked(ranker, step, source, candidate)
    return tuple(found)


# --- paths ----------------------------------------------------------------------------------------


def _paths(ranker: MemoryRanker, pool: Pool, row: int, most: int) -> Iterator[GraphReason]:
    step = int(pool.step[0])
    facts, rules = ranker.facts, ranker.steps[step].rules
    fired = ranker.firings(rules, pool)
    for number in fired.rule[fired.start[row] : fired.start[row + 1]].tolist():
        codes = [code for code in rules.paths[number].tolist() if code]
        rule = GraphRule(
            tuple(step_of(facts.predicates, code) for code in codes),
            int(rules.hits[number]),
            int(rules.predicted[number]),
        )
        walks = connecting_walks(ranker.graph, int(pool.source[0]), int(pool.entity[row]), codes)
        shown = tuple(_triples(facts, codes, walk) for walk in islice(walks, most))
        yield _counted(EvidenceKind.PATH, facts, step, rule, shown)


def _counted(
    kind: EvidenceKind,
    facts: Facts,
    step: int,
    rule: CountedRule,
    groundings: tuple[tuple[Triple, ...], ...] = (),
) -> GraphReason:
    """A rule with a confidence as a reason."""
    text = _text(facts, step, rule)
    return GraphReason(
        kind, text, rule.confidence, rule.hits, rule.predicted, groundings=groundings
    )


def _text(facts: Facts, step: int, rule: CountedRule) -> str:
    return rule_text(facts.predicates[predicate_of(step)], direction_of(step), rule)


def connecting_walks(graph: LinkedGraph, a: int, c: int, codes: list[int]) -> Iterator[list[int]]:
    """Entities along every walk from a to c by some steps, as rules take them.

    A walk never returns to a, and its first step does not lead to c unless it is the only one.
    Entities that lead to c are found first, backwards, so that no walk is started in vain.
    """
    leading = [{c}]
    for code in reversed(codes[1:]):
        before = {int(v) for end in leading[-1] for v in graph.ends(end, inverse_code(code))}
        leading.append(before - {a})
    leading.reverse()
    if len(codes) > 1:
        leading[0].discard(c)

    def walks(at: int, depth: int) -> Iterator[list[int]]:
        if depth == len(codes):
            yield [at]
            return
        for end in graph.ends(at, codes[depth]).tolist():
            if end in leading[depth]:
                for rest in walks(end, depth + 1):
                    yield [at, *rest]

    return walks(a, 0)


def _triples(facts: Facts, codes: list[int], walk: list[int]) -> tuple[Triple, ...]:
    named = [facts.entities[v] for v in walk]
    triples = []
    for i, code in enumerate(codes):
        step = step_of(facts.predicates, code)
        ends = named[i : i + 2][::-1] if step.inverse else named[i : i + 2]
        triples.append((ends[0], step.predicate, ends[1]))
    return tuple(triples)


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


def _forward(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[GraphReason]:
    """The rules t(X, c) <- property of X, for the properties of a."""
    facts, graph = ranker.facts, ranker.graph
    rules = ranker.evidence.constants(step, np.array([a], dtype=np.int32))
    fired: Bools = (rules.answer == c) & np.isin(rules.property, properties_of(graph, a))
    for row in np.flatnonzero(fired).tolist():
        yield _counted(EvidenceKind.FORWARD, facts, step, named_constant(graph, facts, rules, row))


def _backward(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[GraphReason]:
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
            rule = _about_answers(ranker, step, a, number)
            yield GraphReason(EvidenceKind.BACKWARD, rule, confidence, hits, len(holders))


def _property(graph: LinkedGraph, step: int, entity: int) -> int:
    """Number of the property 'linked to an entity by a step', -1 if no entity has it."""
    return int(graph.run_of(np.array([entity]), inverse_code(step))[0])


def _about_answers(ranker: MemoryRanker, step: int, a: int, number: int) -> str:
    """A rule t(a, Y) <- property of Y as text."""
    facts = ranker.facts
    code, entity = property_of(ranker.graph, number)
    relation, known = facts.predicates[predicate_of(step)], entity_text(facts.entities[a])
    head = rule_head(relation, direction_of(step), known=known)
    constant = "_" if entity is None else entity_text(facts.entities[entity])
    return f"{head} <- {rule_atom(step_of(facts.predicates, code), 'Y', constant)}"


# --- links of the pair, fitted together --------------------------------------------------------


def _linked(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[GraphReason]:
    """Rules of the other links between the two, those of the largest weights."""
    graph, facts, weights = ranker.graph, ranker.facts, ranker.evidence.pair_weights
    found = []
    for code in range(2, len(weights)):
        weight = int(weights[code, step]) / MILLION
        if abs(weight) >= MIN_WEIGHT and c in graph.ends(a, code):
            rule = GraphRule((step_of(facts.predicates, code),), 0, 0)
            found.append((weight, _text(facts, step, rule)))
    found.sort(key=lambda one: (-abs(one[0]), one[1]))
    for weight, text in found[:RIDGE_SHOWN]:
        yield GraphReason(EvidenceKind.LINKED, text, weight=weight)


# --- constants fitted together --------------------------------------------------------------------


def _ridge_reasons(ranker: MemoryRanker, step: int, a: int, c: int) -> Iterator[GraphReason]:
    """Rules of the ridge about the known argument and the answer, of the largest weights."""
    facts, graph = ranker.facts, ranker.graph
    found = []
    for number, weight in ridge_weights(ranker, a, _property(graph, step, c)):
        code, entity = property_of(graph, number)
        assert entity is not None
        rule = ConstantRule(
            step_of(facts.predicates, code), facts.entities[entity], facts.entities[c], 0, 0
        )
        found.append((weight, _text(facts, step, rule)))
    for number, weight in ridge_weights(ranker, c, _property(graph, inverse_code(step), a)):
        found.append((weight, _about_answers(ranker, step, a, number)))
    found.sort(key=lambda one: (-abs(one[0]), one[1]))
    for weight, text in found[:RIDGE_SHOWN]:
        if abs(weight) < MIN_WEIGHT:
            break
        yield GraphReason(EvidenceKind.RIDGE, text, weight=weight)


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
