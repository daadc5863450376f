"""From ids to names: rules of all relations as parts of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts
from hornbeam.graphs.constants import ConstantRules
from hornbeam.graphs.features import EvidenceKind
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.path_rules import PathRules, path_table
from hornbeam.graphs.ranking_fit import FittedRanking
from hornbeam.graphs.ranking_model import (
    RankingModel,
    RelationRules,
    constant_clause,
    path_clause,
    path_of,
)
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import inverse_code, is_inverse, predicate_of, step_code
from hornbeam.rules.provenance import significant
from hornbeam.rules.rule_model import CountedRule

#: Number of rules with constants that a model shows per relation and direction.
SHOWN = 10


def step_of(predicates: Names, code: int) -> Step:
    """The step that a code stands for."""
    return Step(predicates[predicate_of(code)], is_inverse(code))


def direction_of(code: int) -> Direction:
    """Which argument a query along a step asks for."""
    return Direction.SUBJECT if is_inverse(code) else Direction.OBJECT


def property_of(graph: LinkedGraph, number: int) -> tuple[int, int | None]:
    """Step and entity of a property; None for any entity."""
    links = graph.links
    if number >= len(links.run_step):
        return number - len(links.run_step), None
    return inverse_code(int(links.run_step[number])), links.entity_of(number)


def relation_rules(
    predicates: Names,
    rules: Mapping[int, PathRules],
    constants: Mapping[int, tuple[CountedRule, ...]],
    ranking: FittedRanking,
    own: Mapping[int, Floats],
    queries: Ints,
    parts: Mapping[int, Mapping[EvidenceKind, float]],
    functional: Collection[int],
) -> tuple[RelationRules, ...]:
    """All rules with names in place of ids, per relation and direction, the best rules first."""
    return tuple(
        RelationRules(
            predicates[predicate_of(step)],
            direction_of(step),
            int(queries[step]),
            _path_rules(predicates, rules[step], own.get(step)),
            constants.get(step, ()),
            tuple(significant(ranking.by_step[step]).tolist()) if step in ranking.by_step else None,
            tuple((kind.value, lift) for kind, lift in parts.get(step, {}).items()),
            step in functional,
        )
        for step in sorted(rules)
    )


def _path_rules(
    predicates: Names, rules: PathRules, weights: Floats | None
) -> tuple[CountedRule, ...]:
    names = {code: step_of(predicates, code) for code in np.unique(rules.paths).tolist() if code}
    own = np.zeros(len(rules.hits)) if weights is None else significant(weights)
    order = np.lexsort((-rules.hits, -rules.confidence))
    relation, direction = predicates[predicate_of(rules.step)], direction_of(rules.step)
    return tuple(
        CountedRule.of(
            path_clause(
                relation, direction, [names[code] for code in rules.paths[row].tolist() if code]
            ),
            int(rules.hits[row]),
            int(rules.predicted[row]),
            float(own[row]),
        )
        for row in order.tolist()
    )


def clause_about(
    predicates: Names,
    step: int,
    code: int,
    constant: str | None,
    other: str,
    of_answer: bool = False,
) -> Clause:
    """The clause of a condition on the known argument of a step's relation, or on the answer.

    The step `code` links that argument to `constant`, or to any entity if that is None. The other
    argument is the entity `other`.
    """
    relation, argument = predicates[predicate_of(step)], int(is_inverse(step) != of_answer)
    return constant_clause(relation, argument, step_of(predicates, code), constant, other)


def best_constants(
    graph: LinkedGraph, facts: Facts, rules: ConstantRules
) -> tuple[CountedRule, ...]:
    """The rules with constants that have the highest confidence."""
    found = list[CountedRule]()
    for row in np.lexsort((-rules.hits, -rules.confidence))[:SHOWN].tolist():
        code, entity = property_of(graph, int(rules.property[row]))
        constant = None if entity is None else facts.entities[entity]
        answer = facts.entities[int(rules.answer[row])]
        clause = clause_about(facts.predicates, rules.step, code, constant, answer)
        found.append(CountedRule.of(clause, int(rules.hits[row]), int(rules.predicted[row])))
    return tuple(found)


class StepModel(NamedTuple):
    """Rules and weights of a model for one step, in the ids of facts.

    They are path rules, one weight per path rule, and the weights of the model's features. Along a
    `functional` step an entity has one link at most.
    """

    rules: PathRules
    rule_weights: Floats
    weights: Floats
    functional: bool = False


def numbered_model(model: RankingModel, predicates: Names) -> dict[int, StepModel]:
    """Rules and weights of a model by step, ascending, for the relations that the facts have.

    Rules with relations that the facts lack are dropped.
    """
    numbers = {name: number for number, name in enumerate(predicates)}
    found = {}
    for part in model.relations:
        if part.relation not in numbers:
            continue
        target = step_code(numbers[part.relation], part.direction is Direction.SUBJECT)
        rules = [rule for rule in part.rules if rule.clause.body.predicates <= numbers.keys()]
        paths = [path_of(rule, part.direction) for rule in rules]
        codes = [[step_code(numbers[s.predicate], s.inverse) for s in path] for path in paths]
        found[target] = StepModel(
            PathRules(
                target,
                path_table(codes, model.max_length),
                np.array([rule.hits for rule in rules], dtype=np.int64),
                np.array([rule.predicted for rule in rules], dtype=np.int64),
            ),
            np.array([rule.own_weight for rule in rules]),
            np.array(model.weights if part.weights is None else part.weights),
            part.functional,
        )
    return dict(sorted(found.items()))
