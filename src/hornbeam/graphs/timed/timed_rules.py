"""Rules of a graph with time: what was counted of them by the age of the latest fact of the body.

    0.2143: consult(X, Y) -> meet(X, Y) [88 of 405; 1 day: 40 of 60, 7 days: 30 of 95, ever: 18 of
    250]

The rule was right 40 of the 60 times that the latest fact of its body was up to 1 day old, and 30
of the 95 times that it was older, up to 7 days. The first two figures are their sums.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.facts.names import Names
from hornbeam.graphs.model_parts import direction_of, step_of
from hornbeam.graphs.ranking_model import RelationRules, path_clause, path_of
from hornbeam.graphs.timed.time_scale import TimeScale
from hornbeam.graphs.timed.timed_kernels import MIN_TIMED_HITS, MOST
from hornbeam.graphs.timed.timeline import RuleTable
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import predicate_of, step_code
from hornbeam.rules.rule_model import SMOOTHING, CountedRule

#: The bracket of a rule with ages: hits, predictions, and the same by age.
_BRACKET = re.compile(r"(.* \[\d+ of \d+); ([^\]]+)\]", re.ASCII)
_COUNTS = re.compile(r"(\d+) of (\d+)", re.ASCII)


@dataclass(frozen=True)
class TimedRule(CountedRule):
    """A rule with one atom in the body; `by_age` has hits and predictions for every age."""

    by_age: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of_ages(cls, clause: Clause, by_age: Sequence[tuple[int, int]]) -> TimedRule:
        """The rule of a clause with what was counted of it by age."""
        hits, predicted = (sum(counts) for counts in zip(*by_age, strict=True))
        return cls(hits / (predicted + SMOOTHING), clause, hits, predicted, 0.0, tuple(by_age))

    def confidence_at(self, age: int) -> float:
        """The confidence at the place of an age: (hits + 5 parent) / (predicted + 5).

        The parent is the confidence over all ages.
        """
        hits, predicted = self.by_age[age]
        return min((hits + SMOOTHING * self.confidence) / (predicted + SMOOTHING), MOST)

    def bracket_text(self, scale: TimeScale) -> str:
        """The bracket after the rule's text; ages without predictions are left out."""
        ages = ", ".join(
            f"{scale.age_text(place)}: {hits} of {predicted}"
            for place, (hits, predicted) in enumerate(self.by_age)
            if predicted
        )
        return f"[{self.hits} of {self.predicted}; {ages}]"


def plain_line(line: str, scale: TimeScale) -> tuple[str, tuple[tuple[int, int], ...]] | None:
    """A rule's line without its ages, and its counts by age; None for any other line.

    Raises
    ------
    ValueError
        Where an age is none of the scale, or counts are missing.
    """
    match = _BRACKET.fullmatch(line)
    if match is None:
        return None
    places = {scale.age_text(place): place for place in range(scale.n_ages)}
    by_age = [(0, 0)] * scale.n_ages
    for part in match[2].split(", "):
        age, _, counts = part.partition(": ")
        found = _COUNTS.fullmatch(counts)
        if age not in places or found is None:
            expected = ", ".join(places)
            raise ValueError(f"{part!r} is no count of an age; expected one of {expected}")
        by_age[places[age]] = int(found[1]), int(found[2])
    return f"{match[1]}]", tuple(by_age)


def rules_of_table(predicates: Names, step: int, table: RuleTable) -> tuple[TimedRule, ...]:
    """The rules of a step that fire, the best first."""
    hits, predicted = table.hits.sum(axis=1), table.predicted.sum(axis=1)
    codes = np.flatnonzero(hits >= MIN_TIMED_HITS)
    sure = hits[codes] / (predicted[codes] + SMOOTHING)
    relation, direction = predicates[predicate_of(step)], direction_of(step)
    return tuple(
        TimedRule.of_ages(
            path_clause(relation, direction, (step_of(predicates, code),)),
            list(zip(table.hits[code].tolist(), table.predicted[code].tolist(), strict=True)),
        )
        for code in codes[np.lexsort((codes, -hits[codes], -sure))].tolist()
    )


def numbered_rules(part: RelationRules, numbers: Mapping[str, int]) -> dict[int, TimedRule]:
    """The rules of a relation by the step in their body, as far as the facts have it."""
    found = dict[int, TimedRule]()
    for rule in part.rules:
        [step] = path_of(rule, part.direction)
        if step.predicate in numbers and isinstance(rule, TimedRule):
            found[step_code(numbers[step.predicate], step.inverse)] = rule
    return found


def table_of_rules(rules: Mapping[int, TimedRule], n_relations: int, scale: TimeScale) -> RuleTable:
    """The counts of rules as the sweep reads them."""
    table = RuleTable.empty(n_relations, scale)
    for code, rule in rules.items():
        for age, (hits, predicted) in enumerate(rule.by_age):
            table.hits[code, age], table.predicted[code, age] = hits, predicted
    return table
