"""Groundings of any condition for one pair, with their facts.

A path is walked from subject to object, an open or anchored condition is one step from its
argument, a unary one a fact about it; `(A == 'c')` needs no fact. The pair's own fact is never
used, nor, with distinct variables, any path that meets an entity twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Ids, Ints
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.explaining.fact_numbers import FactNumbers
from hornbeam.explaining.groundings import PathEnds, cut, first_paths
from hornbeam.explaining.reason import Grounding
from hornbeam.facts.table import ONE, Facts
from hornbeam.graph.adjacency import Graph
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.codes import inverse_code, path_codes, step_code
from hornbeam.rules.rule_model import RuleModel


@dataclass(frozen=True, eq=False)
class FoundGroundings:
    """Groundings of one body, one row each: `nodes`, numbers of `facts`, and a truth.

    Truths are in millionths, above 0.
    """

    nodes: Ids
    facts: Ints
    truth: Ids

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, eq=False)
class GroundingFinder:
    """Finds groundings over the facts of one engine."""

    engine: MemoryEngine
    max_fanout: int | None
    distinct: bool  #: no two variables on one entity

    @classmethod
    def of(cls, model: RuleModel, engine: MemoryEngine) -> GroundingFinder:
        """The finder for the rules of a model."""
        return cls(engine, model.semantics.max_fanout, model.semantics.distinct_variables)

    @property
    def facts(self) -> Facts:
        """The evidence."""
        return self.engine.facts

    @property
    def graph(self) -> Graph:
        """The graph under the fan-out limit."""
        return self.engine.limited_graph(self.max_fanout)

    @cached_property
    def numbers(self) -> FactNumbers:
        """The facts by their numbers."""
        return FactNumbers(self.facts)

    @property
    def hides_facts(self) -> bool:
        """Whether the fan-out limit keeps some facts from being walked in either direction."""
        return len(self.graph.forward.code) < len(self.engine.graph.forward.code)

    def first(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> FoundGroundings:
        """The first groundings of a body in the order of their nodes; both entities are known.

        The body has predicates and a constant that the facts have.
        """
        ends = self._ends(body.target, subject, object_)
        if body.is_path:
            return self._paths(body.steps, self._codes(body), ends, limit, progress)
        here = ends.source if body.argument == 0 else ends.sink
        if not body.steps:
            return FoundGroundings(
                np.full((1, 1), here, dtype=np.int32),
                np.empty((1, 0), dtype=np.int64),
                np.full(1, ONE, dtype=np.int32),
            )
        if body.kind is Kind.UNARY:
            return self._unary(body.steps[0], here, limit)
        return self._single_steps(body, ends, limit)

    def cut(self, body: Body, subject: str, object_: str) -> Ints:
        """Numbers of facts without which a body has no grounding; empty if it needs no fact."""
        ends = self._ends(body.target, subject, object_)
        if not body.is_path:
            every = len(self.graph.forward.code)
            return np.unique(self.first(body, subject, object_, every).facts)
        at, here, there = cut(self.graph, self._codes(body), ends)
        facts = self.numbers.all_along(body.steps[at], here, there)
        return np.setdiff1d(facts, self._own(body.target, ends))

    def named(self, found: FoundGroundings) -> tuple[Grounding, ...]:
        """Groundings by their names."""
        return tuple(
            Grounding(
                tuple(self.facts.entities.take(nodes)),
                tuple(self.numbers.named(fact) for fact in facts.tolist()),
                int(truth) / ONE,
            )
            for nodes, facts, truth in zip(found.nodes, found.facts, found.truth, strict=True)
        )

    def _ends(self, target: str, subject: str, object_: str) -> PathEnds:
        names = self.facts.entities
        own = step_code(self.engine.predicates.index(target))
        return PathEnds(names.index(subject), names.index(object_), own)

    def _own(self, target: str, ends: PathEnds) -> Ints:
        """The number of the pair's own fact, if any."""
        if 2 not in self.facts.atoms:
            return np.empty(0, dtype=np.int64)
        source, sink = (np.array([node]) for node in (ends.source, ends.sink))
        return self.numbers.all_along(Step(target), source, sink)

    def _codes(self, body: Body) -> list[int]:
        codes = path_codes(body, self.engine.predicates)
        assert codes is not None
        return codes

    def _paths(
        self,
        steps: Sequence[Step],
        codes: Sequence[int],
        ends: PathEnds,
        limit: int,
        progress: Progress,
    ) -> FoundGroundings:
        found = first_paths(self.graph, codes, ends, self.distinct, limit, progress)
        facts = np.empty((len(found), len(steps)), dtype=np.int64)
        for k, step in enumerate(steps if len(found) else ()):
            here, there = found.nodes[:, k], found.nodes[:, k + 1]
            which = self._which(here, found.edges[:, k])
            facts[:, k] = self.numbers.along(step, here, there, which)
        return FoundGroundings(found.nodes, facts, found.truth)

    def _which(self, node: Ids, edge: Ints) -> Ints:
        """Index of each edge among its parallel edges, from 0."""
        offsets, neighbour, code, _ = self.graph.forward
        which = np.zeros(len(edge), dtype=np.int64)
        going = np.ones(len(edge), dtype=np.bool_)
        while True:
            before = edge - which - 1
            going &= before >= offsets[node]
            going &= (neighbour[before] == neighbour[edge]) & (code[before] == code[edge])
            if not going.any():
                return which
            which += going

    def _single_steps(self, body: Body, ends: PathEnds, limit: int) -> FoundGroundings:
        """Steps from one argument: to any entity, or to the constant."""
        here, there, own = ends.source, ends.sink, ends.own_code
        if body.argument == 1:
            here, there, own = there, here, inverse_code(own)
        [step], [code] = body.steps, self._codes(body)
        edge, to = self._edges(here, code), self.graph.forward.neighbour
        if body.constant is not None:
            edge = edge[to[edge] == self.facts.entities.index(body.constant)]
        elif self.distinct:
            # a constant is not a variable, X is one
            edge = edge[(to[edge] != here) & (to[edge] != there)]
        if code == own or (here == there and code == inverse_code(own)):
            edge = edge[to[edge] != there]
        edge = edge[:limit]
        nodes = np.stack([np.full(len(edge), here, dtype=np.int32), to[edge]], axis=1)
        which = self._which(nodes[:, 0], edge)
        facts = self.numbers.along(step, nodes[:, 0], nodes[:, 1], which)
        value = self.graph.forward.value
        truth = value[edge] if len(value) else np.full(len(edge), ONE, dtype=np.int32)
        return FoundGroundings(nodes, facts.reshape(-1, 1), truth)

    def _edges(self, node: int, code: int) -> Ints:
        """Indices of the edges of a code from a node."""
        offsets, _, codes, _ = self.graph.forward
        low, high = int(offsets[node]), int(offsets[node + 1])
        first, last = np.searchsorted(codes[low:high], [code, code + 1]).tolist()
        return np.arange(low + first, low + last)

    def _unary(self, step: Step, here: int, limit: int) -> FoundGroundings:
        facts = self.numbers.about(step, here)[:limit]
        values = self.facts.atoms[1].millionths
        truth = np.full(len(facts), ONE, dtype=np.int32) if values is None else values[facts]
        nodes = np.full((len(facts), 1), here, dtype=np.int32)
        return FoundGroundings(nodes, facts.reshape(-1, 1), truth)
