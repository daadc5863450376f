"""Rules of whole graphs by hand."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.graphs.ranking_model import constant_clause, known_argument, path_clause
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.rules.rule_model import CountedRule


def path_rule(
    relation: str,
    direction: Direction,
    path: Sequence[Step],
    hits: int,
    predicted: int,
    own_weight: float = 0.0,
) -> CountedRule:
    """A path from the known argument to the answer."""
    return CountedRule.of(path_clause(relation, direction, path), hits, predicted, own_weight)


def constant_rule(
    relation: str,
    direction: Direction,
    step: Step,
    constant: str | None,
    answer: str,
    hits: int,
    predicted: int,
) -> CountedRule:
    """The answer is an entity if `step` links the known argument to `constant`, or to any."""
    known = known_argument(direction)
    clause = constant_clause(relation, known, step, constant, answer)
    return CountedRule.of(clause, hits, predicted)
