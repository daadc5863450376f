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
#: Number of columns for a condition on one argument, so that its entities are near that argument.
SIDE_COLUMNS = 3


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
        if condition.kind is Kind.UNARY:
            nodes, inverse = (*nodes, facts[0].predicate), (False,)
        if condition.kind is Kind.PATH or condition.argument == 0:
            return cls(nodes, facts, inverse)
        return cls(nodes[::-1], facts, tuple(not step for step in inverse))


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
            on_object = condition.argument == 1
            columns, offset = SIDE_COLUMNS, (SIDE_COLUMNS - 1) * on_object
            inner = range(0, 1) if on_object else range(1, 2)
        kept: list[DrawnGrounding] = []
        for grounding in condition.groundings:
            more = [*kept, DrawnGrounding.of(condition, grounding)]
            if all(len({grounding.nodes[k] for grounding in more}) <= most_nodes for k in inner):
                kept = more
        return cls(reason, condition, kept, columns, offset, inner)

    @property
    def has_entities(self) -> bool:
        """Whether the inner nodes are entities, and not the predicate of a unary atom."""
        return self.condition.kind is not Kind.UNARY

    @property
    def unit(self) -> str:
        """The word for one grounding."""
        return "path" if self.condition.kind is Kind.PATH else "fact"

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
            if condition.groundings
        ]
        for reason in reasons.values()
    ]
    sizes = accumulate(map(len, by_rule))
    n_drawn = max(sum(size <= most_bands for size in sizes), 1)
    return list(chain(*by_rule[:n_drawn])), max(len(by_rule) - n_drawn, 0)
