"""Groundings prepared for drawing: nodes in columns between subject and object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.reason import Fact, GroundedCondition, Grounding, Reason
from hornbeam.rules.body import Kind

#: Maximum number of entities that are drawn per step.
MAX_NODES = 7
#: Columns that a condition on one argument leaves empty, so that its entities are near it.
EMPTY_COLUMNS = 2


@dataclass(frozen=True)
class DrawnGrounding:
    """A grounding from left to right: names of nodes, and the facts between them.

    `backwards` flags the facts that point to the left.
    """

    nodes: tuple[str, ...]
    facts: tuple[Fact, ...]
    backwards: tuple[bool, ...]

    @classmethod
    def of(cls, condition: GroundedCondition, grounding: Grounding) -> DrawnGrounding:
        """Convert a grounding; a condition on the object is reversed, so that it ends there."""
        nodes, facts, inverse = grounding.entities, grounding.facts, grounding.inverse
        if len(nodes) == len(facts):  # the last fact is about the last node alone, or its value
            nodes, inverse = (*nodes, facts[-1].object or facts[-1].predicate), (*inverse, False)
        if condition.kind is Kind.PATH or condition.argument == 0:
            return cls(nodes, facts, inverse)
        return cls(nodes[::-1], facts[::-1], tuple(not step for step in reversed(inverse)))


@dataclass(frozen=True)
class DrawnGroundings:
    """The groundings of a condition that are drawn, and their columns between the ends.

    Node k of a grounding is in column `offset` + k of `columns`; `inner` nodes exclude the ends.
    """

    reason: Reason
    condition: GroundedCondition
    drawn: Sequence[DrawnGrounding]
    columns: int
    offset: int
    inner: range

    @classmethod
    def of(
        cls, reason: Reason, condition: GroundedCondition, most_nodes: int = MAX_NODES
    ) -> DrawnGroundings:
        """The groundings in their order; a grounding is left out if a column has no room for it."""
        columns, offset = max(condition.steps, 1), 0
        inner = range(1, columns)
        if condition.kind is not Kind.PATH:
            on_object, n = condition.argument == 1, condition.steps
            columns, offset = n + EMPTY_COLUMNS, EMPTY_COLUMNS * on_object
            inner = range(0, n) if on_object else range(1, n + 1)
        kept: list[DrawnGrounding] = []
        for grounding in condition.groundings:
            more = [*kept, DrawnGrounding.of(condition, grounding)]
            if all(len({grounding.nodes[k] for grounding in more}) <= most_nodes for k in inner):
                kept = more
        return cls(reason, condition, kept, columns, offset, inner)

    def is_entity(self, k: int) -> bool:
        """Whether node k is an entity, and not the predicate of a unary fact or a value."""
        first, on_object = self.condition.groundings[0], self.condition.argument == 1
        ends_in_fact = len(first.entities) == len(first.facts)
        return not (ends_in_fact and k == (0 if on_object else len(first.facts)))

    @property
    def layers(self) -> list[list[str]]:
        """Names of the inner nodes per step, each name once, in the order of the groundings."""
        return [
            list(dict.fromkeys(grounding.nodes[k] for grounding in self.drawn)) for k in self.inner
        ]

    @property
    def ordered_layers(self) -> list[list[str]]:
        """The layers, nodes sorted by the mean position of their neighbours in the layer before."""
        ordered = self.layers[:1]
        for k, layer in zip(self.inner[1:], self.layers[1:], strict=True):
            place = {name: i for i, name in enumerate(ordered[-1])}
            places: dict[str, list[int]] = {name: [] for name in layer}
            for grounding in self.drawn:
                places[grounding.nodes[k]].append(place[grounding.nodes[k - 1]])
            ordered.append(sorted(layer, key=lambda name: sum(places[name]) / len(places[name])))
        return ordered

    @property
    def hidden(self) -> int:
        """Number of groundings that are not drawn."""
        return self.condition.count - len(self.drawn)


def strongest_groundings(
    explained: Explanation, most_bands: int, most_nodes: int = MAX_NODES
) -> tuple[list[DrawnGroundings], int]:
    """Groundings to draw for the strongest rules, and the number of rules left out.

    A rule is drawn with all its conditions, each a band, or not at all; at least one rule is drawn.
    Of several rules with the same groundings on the same side, only the strongest is drawn.
    """
    reasons = dict[tuple[object, ...], Reason]()
    for reason in explained.reasons:
        if reason.groundings:
            groundings = (condition.groundings for condition in reason.conditions)
            reasons.setdefault((reason.side, *groundings), reason)
    by_rule = [
        [
            DrawnGroundings.of(reason, condition, most_nodes)
            for condition in reason.conditions
            if condition.groundings and not condition.values
        ]
        for reason in reasons.values()
    ]
    sizes = accumulate(map(len, by_rule))
    n_drawn = max(sum(size <= most_bands for size in sizes), 1)
    return list(chain(*by_rule[:n_drawn])), max(len(by_rule) - n_drawn, 0)
