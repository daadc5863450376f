"""What speaks for an answer: the rules that propose it, and what each feature adds to its score."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hornbeam.arrays import Ids, Ints
from hornbeam.graphs.constants import LEAST_CONFIDENCE
from hornbeam.graphs.graph_model import ConstantRule, GraphRule
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.graph_text import quoted, rule_head, rule_text
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.model_parts import direction_of, property_of, step_of
from hornbeam.graphs.path_rules import MOST_PROPOSED, SMOOTHING
from hornbeam.graphs.queries import Direction, Queries
from hornbeam.graphs.ridge import Ridge
from hornbeam.rules.codes import is_inverse, predicate_of, step_code

#: Reasons of the ridge class that are listed per direction.
RIDGE_REASONS = 10


class RuleClass(StrEnum):
    """Classes of rules."""

    PATH = "path"
    FORWARD = "forward"
    BACKWARD = "backward"
    RIDGE = "ridge"


@dataclass(frozen=True)
class RuleReason:
    """A rule that proposes an answer.

    `groundings` counts its paths from the known argument to the answer (1 for rules with
    constants); `weight` is a path rule's own, or what a property adds to a ridge score.
    """

    kind: RuleClass
    rule: str
    confidence: float | None
    hits: int | None
    predicted: int | None
    groundings: int
    weight: float = 0.0


@dataclass(frozen=True)
class FeatureShare:
    """A feature of an answer, its weight, and what both add to the score."""

    feature: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        """Weight x value."""
        return self.weight * self.value


@dataclass(frozen=True)
class AnswerReasons:
    """Why an answer stands where it does.

    `rank` is its place among the candidates of the query, None where it is none of them (or known
    already); `above` are the entities ranked before it.
    """

    relation: str
    direction: Direction
    known: str
    answer: str
    rank: int | None
    score: float | None
    probability: float | None
    above: tuple[str, ...]
    rules: tuple[RuleReason, ...]
    features: tuple[FeatureShare, ...]


def reasons_for(
    ranker: GraphRanker, subject: str, relation: str, object_: str, direction: Direction
) -> AnswerReasons:
    """Collect what speaks for a triple, asked for in one direction.

    Raises
    ------
    KeyError
        Where the facts lack a name, or the model has no such relation.
    """
    facts = ranker.facts
    known, answer = (subject, object_) if direction is Direction.OBJECT else (object_, subject)
    a, c, p = (
        facts.entities.index(known),
        facts.entities.index(answer),
        facts.predicates.index(relation),
    )
    step = step_code(p, direction is Direction.SUBJECT)
    for number, name in ((a, known), (c, answer), (p, relation)):
        if number < 0:
            raise KeyError(name)
    if not ranker.knows(step):
        raise KeyError(relation)
    query = Queries(
        np.array([p], dtype=np.int32),
        np.array([a], dtype=np.int32),
        np.array([direction is Direction.SUBJECT]),
    )
    found = ranker.answers(query)
    places = np.flatnonzero(found.entities == c)
    rank = score = probability = None
    above = tuple(facts.entities.take(found.entities[:20]))
    if len(places):
        rank = int(places[0]) + 1
        score = float(found.scores[places[0]])
        probability = float(ranker.probabilities(found)[places[0]])
        above = tuple(facts.entities.take(found.entities[: places[0]]))
    rules = [
        *path_reasons(ranker, step, a, c),
        *forward_reasons(ranker, step, a, c),
        *backward_reasons(ranker, step, a, c),
        *ridge_reasons(ranker, step, a, c),
    ]
    features = ranker.features_of(step, a, c)
    shares = tuple(FeatureShare(name, value, weight) for name, value, weight in features)
    return AnswerReasons(
        relation, direction, known, answer, rank, score, probability, above, tuple(rules), shares
    )


def path_reasons(ranker: GraphRanker, step: int, a: int, c: int) -> list[RuleReason]:
    """Path rules that lead from a to c, the most confident first."""
    rules, weights = ranker.path_rules(step)
    relation, direction = ranker.facts.predicates[predicate_of(step)], direction_of(step)
    reasons = []
    for row in np.argsort(-rules.confidence, kind="stable").tolist():
        codes = [code for code in rules.paths[row].tolist() if code]
        groundings = count_groundings(ranker.graph, codes, a, c)
        if groundings:
            path = tuple(step_of(ranker.facts, code) for code in codes)
            rule = GraphRule(path, int(rules.hits[row]), int(rules.predicted[row]))
            text = rule_text(relation, direction, rule)
            reasons.append(
                RuleReason(
                    RuleClass.PATH,
                    text,
                    rule.confidence,
                    rule.hits,
                    rule.predicted,
                    groundings,
                    float(weights[row]),
                )
            )
    return reasons


def count_groundings(graph: LinkedGraph, codes: list[int], a: int, c: int) -> int:
    """Paths from a to c that never pass a again and whose first entity is not c.

    0 too where a rule says nothing, because it proposes more than `MOST_PROPOSED` answers.
    """
    reached = {a}
    walks: Counter[int] = Counter({a: 1})
    for depth, code in enumerate(codes, start=1):
        following: Counter[int] = Counter()
        everything: set[int] = set()
        for x in sorted(reached):
            if depth > 1 and x == a:
                continue
            ends = graph.ends(x, code).tolist()
            everything.update(ends)
            if walks[x]:
                for y in ends:
                    following[y] += walks[x]
        if depth == 1 and len(codes) > 1:
            following.pop(c, None)
        if len(everything) > MOST_PROPOSED:
            return 0
        reached, walks = everything, following
    return walks[c]


def forward_reasons(ranker: GraphRanker, step: int, a: int, c: int) -> list[RuleReason]:
    """Rules t(X, c) <- property of X that a meets."""
    graph = ranker.graph
    rules = ranker.evidence.constants(step)
    held = _properties(graph, a)
    reasons = []
    for row in np.flatnonzero((rules.answer == c) & np.isin(rules.property, held)).tolist():
        code, entity = property_of(graph, int(rules.property[row]))
        rule = ConstantRule(
            step_of(ranker.facts, code),
            None if entity is None else ranker.facts.entities[entity],
            ranker.facts.entities[c],
            int(rules.hits[row]),
            int(rules.predicted[row]),
        )
        text = rule_text(ranker.facts.predicates[predicate_of(step)], direction_of(step), rule)
        reasons.append(
            RuleReason(RuleClass.FORWARD, text, rule.confidence, rule.hits, rule.predicted, 1)
        )
    return sorted(reasons, key=lambda reason: (-(reason.confidence or 0.0), reason.rule))


def backward_reasons(ranker: GraphRanker, step: int, a: int, c: int) -> list[RuleReason]:
    """Rules t(a, Y) <- property of Y, shared by at least two known answers, that c meets."""
    if not ranker.model.backward:
        return []
    graph = ranker.graph
    known = graph.ends(a, step)
    held = _properties(graph, c)
    own = graph.run_of(np.array([a]), step)[0]
    shared: Counter[int] = Counter()
    for other in known.tolist():
        shared.update(_properties(graph, other).tolist())
    reasons = []
    for number in held.tolist():
        code, entity = property_of(graph, number)
        hits = shared[number]
        if hits < 2 or number == own or (entity is None and code == step ^ 1):
            continue
        holders = len(graph.holders(code) if entity is None else graph.ends(entity, code ^ 1))
        confidence = hits / (holders + SMOOTHING)
        if confidence >= LEAST_CONFIDENCE:
            text = _backward_text(ranker, step, a, code, entity)
            reasons.append(RuleReason(RuleClass.BACKWARD, text, confidence, hits, holders, 1))
    return sorted(reasons, key=lambda reason: (-(reason.confidence or 0.0), reason.rule))


def ridge_reasons(ranker: GraphRanker, step: int, a: int, c: int) -> list[RuleReason]:
    """The properties that add most to the ridge scores, forward (of a) and backward (of c).

    Property p adds x_p^T A x_j / (1 - x_j^T A x_j) to the prediction of j: the weight of the rule
    j <- p. All of them together are l times `Ridge.scores`, as (X X^T) A = I - l A.
    """
    ridge, graph = ranker.evidence.ridge, ranker.graph
    if ridge is None:
        return []
    reasons = []
    for holder, target, ahead in ((a, (c, step ^ 1), True), (c, (a, step), False)):
        run = int(graph.run_of(np.array([target[0]]), target[1])[0])
        if run < 0:
            continue
        properties = _linked_properties(graph, holder)
        added = _added(ridge, properties, run)
        for i in np.argsort(-np.abs(added), kind="stable")[:RIDGE_REASONS].tolist():
            code, entity = property_of(graph, int(properties[i]))
            if ahead:
                rule = ConstantRule(
                    step_of(ranker.facts, code), ranker.facts.entities[entity or 0],
                    ranker.facts.entities[c], 0, 0,
                )  # fmt: skip
                relation = ranker.facts.predicates[predicate_of(step)]
                text = rule_text(relation, direction_of(step), rule)
            else:
                text = _backward_text(ranker, step, a, code, entity)
            reasons.append(RuleReason(RuleClass.RIDGE, text, None, None, None, 1, float(added[i])))
    return reasons


def _added(
    ridge: Ridge, properties: Ints, run: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    links = ridge.graph.links
    target = links.end[links.run_start[run] : links.run_start[run + 1]]
    row = ridge.inverse[target].sum(axis=0, dtype=np.float64) / ridge.rest[run]
    return np.array(
        [
            0.0 if p == run else row[links.end[links.run_start[p] : links.run_start[p + 1]]].sum()
            for p in properties.tolist()
        ]
    )


def _backward_text(ranker: GraphRanker, step: int, a: int, code: int, entity: int | None) -> str:
    import json

    facts = ranker.facts
    known = json.dumps(facts.entities[a], ensure_ascii=False)
    there = "_" if entity is None else json.dumps(facts.entities[entity], ensure_ascii=False)
    head = rule_head(facts.predicates[predicate_of(step)], direction_of(step))
    head = head.replace("(X, Y)", f"({known}, Y)").replace("(Y, X)", f"(Y, {known})")
    terms = (there, "Y") if is_inverse(code) else ("Y", there)
    return f"{head} <- {quoted(facts.predicates[predicate_of(code)])}({', '.join(terms)})"


def _linked_properties(graph: LinkedGraph, entity: int) -> Ints:
    """Numbers of the properties (s, d) of an entity."""
    links = graph.links
    runs = links.first_run[entity], links.first_run[entity + 1]
    found: Ids = links.property[links.run_start[runs[0]] : links.run_start[runs[1]]]
    return found.astype(np.int64)


def _properties(graph: LinkedGraph, entity: int) -> Ints:
    """Numbers of all properties of an entity."""
    links = graph.links
    steps = links.run_step[links.first_run[entity] : links.first_run[entity + 1]]
    return np.concatenate([_linked_properties(graph, entity), len(links.run_step) + steps])
