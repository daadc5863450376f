"""How large a graph is: what decides on the length of paths and on how much is counted."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.rules.codes import code_limit


@dataclass(frozen=True)
class GraphSize:
    """Numbers of facts, entities and predicates; links per entity that has any, both ways."""

    facts: int
    entities: int
    predicates: int
    mean_links: float

    @property
    def step_limit(self) -> int:
        """The least number above every step."""
        return code_limit(self.predicates)
