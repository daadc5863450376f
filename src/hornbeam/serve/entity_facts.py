"""Known facts of an entity by predicate: their number, and the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from hornbeam.base.arrays import Ids, run_starts
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.explaining.fact_numbers import FactNumbers
from hornbeam.explaining.reason import Fact
from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.table import Facts
from hornbeam.rules.body import Step
from hornbeam.rules.codes import is_inverse, predicate_of, step_code

#: Maximum number of predicates that are shown, and of facts per predicate.
MAX_GROUPS = 40
FIRST = 8


class KnownEdges(NamedTuple):
    """Facts of one predicate between an entity and `others`, given by ids in increasing order.

    `inverse` where the entity is their object.
    """

    predicate: str
    inverse: bool
    others: Ids


@dataclass(frozen=True)
class EdgeGroup:
    """Facts of one predicate between an entity and others; `inverse` where it is their object."""

    predicate: str
    inverse: bool
    total: int
    first: Sequence[str]


@dataclass(frozen=True)
class NonBinaryGroup:
    """Facts of one predicate about an entity that are not binary; `alone` for unary ones."""

    predicate: str
    alone: bool
    total: int
    first: Sequence[Fact]


class EdgeSource(Protocol):
    """An explorer that lists the facts between entities."""

    @property
    def facts(self) -> Facts:
        """The evidence."""

    @property
    def entity_names(self) -> EntityNames:
        """Names of the entities."""

    def known_edges(self, entity: int) -> Sequence[KnownEdges]:
        """Facts between an entity and others, by predicate and direction."""


def known_edges(engine: MemoryEngine, entity: int) -> list[KnownEdges]:
    """Facts between an entity and one other, by predicate and direction."""
    adjacency, found = engine.graph.forward, list[KnownEdges]()
    low, high = adjacency.offsets[entity : entity + 2].tolist()
    own, others = adjacency.code[low:high], adjacency.neighbour[low:high]
    starts = run_starts(own)
    bounds = [*starts.tolist(), high - low]
    for code, first, last in zip(own[starts].tolist(), bounds, bounds[1:], strict=False):
        step = Step.along(engine.predicates[predicate_of(code)], is_inverse(code))
        if step.arity == 2:
            found.append(KnownEdges(step.predicate, step.inverse, others[first:last]))
    return found


def is_edge(engine: MemoryEngine, subject: str, predicate: str, object_: str) -> bool:
    """Whether a fact links two entities."""
    s, o = (engine.facts.entities.index(name) for name in (subject, object_))
    code = step_code(engine.predicates.index(predicate))
    return min(s, o) >= 0 and o in engine.graph.forward.neighbours(s, code)


def edge_groups(explorer: EdgeSource, entity: int) -> list[EdgeGroup]:
    """The edges of an entity with the first names of each kind."""
    entities = explorer.facts.entities
    return [
        EdgeGroup(one.predicate, one.inverse, len(one.others), entities.take(one.others[:FIRST]))
        for one in explorer.known_edges(entity)[:MAX_GROUPS]
    ]


def other_groups(facts: Facts, entity: int) -> list[NonBinaryGroup]:
    """Facts about an entity alone, or about it and two others or more."""
    numbers = FactNumbers(facts)
    groups = []
    for predicate, found in numbers.naming(entity).items():
        first = [numbers.named(fact) for fact in found[:FIRST].tolist()]
        groups.append(NonBinaryGroup(predicate, len(first[0].arguments) == 1, len(found), first))
    return groups[:MAX_GROUPS]
