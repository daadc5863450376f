"""The size of a graph, which decides on the length of paths and on how much is counted."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.rules.codes import code_limit


@dataclass(frozen=True)
class GraphSize:
    """Numbers of facts, entities and predicates; mean links of linked entities, both directions."""

    facts: int
    entities: int
    predicates: int
    mean_links: float

    @property
    def step_limit(self) -> int:
        """The smallest number above every step."""
        return code_limit(self.predicates)
