"""Groundings of any condition for one pair, with their facts.

A path is walked from subject to object, an open or anchored condition or a chain from its argument;
a unary condition is a fact about it; `(A == 'c')` needs no fact. The pair's own fact is never used,
nor, with distinct variables, any path that meets an entity twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Ids, Integers, Ints, ranges
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.number_counts import are_numeric, ends_a_chain, number_of
from hornbeam.counting.snapshot_engine import SnapshotEngine
from hornbeam.explaining.groundings import ChainEnd, PathEnds, cut, first_paths
from hornbeam.explaining.number_groundings import NumberGroundings
from hornbeam.explaining.reason import DatedFact, Fact, Grounding
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE, Atoms, Facts
from hornbeam.graph.adjacency import Graph
from hornbeam.rules.body import Body, Kind, Step, kind_about
from hornbeam.rules.codes import inverse_code, path_codes, step_code
from hornbeam.rules.rule_model import RuleModel

#: Groundings of a chain among which those are looked for whose last entity meets a condition.
MANY = 1 << 20


@dataclass(frozen=True, eq=False)
class FactNumbers:
    """Numbers of the facts of one table: it finds, names and removes facts by number.

    The facts of one argument come first, then those of two, and so on, each table in its own order.
    """

    facts: Facts
    engine: MemoryEngine | None = None  #: of facts with a time, the engine that knows when

    @cached_property
    def _first(self) -> Mapping[int, int]:
        """The first number of every arity."""
        first, numbers = 0, dict[int, int]()
        for arity in sorted(self.facts.atoms):
            numbers[arity] = first
            first += len(self.facts.atoms[arity])
        return numbers

    def about(self, step: Step, entity: int) -> Ints:
        """Numbers of the facts of a unary predicate about an entity: one or none."""
        table = self.facts.atoms.get(1)
        if table is None:
            return np.empty(0, dtype=np.int64)
        predicate = self.facts.predicates.index(step.stated)
        low, high = np.searchsorted(table.arguments[0], [entity, entity + 1]).tolist()
        rows = low + np.flatnonzero(table.predicate[low:high] == predicate)
        return np.asarray(self._first[1] + rows)

    def all_about(self, step: Step) -> tuple[Ids, Ids]:
        """The entities that a unary predicate has facts about, sorted, and their truth values."""
        table = self.facts.atoms.get(1)
        if table is None:
            return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        rows = table.predicate == self.facts.predicates.index(step.stated)
        return table.arguments[0][rows], table.all_millionths[rows]

    def naming(self, entity: int) -> dict[str, Ints]:
        """Numbers of the facts about an entity that are not edges, by predicate."""
        numbers = dict[str, Ints]()
        for arity, table in self.facts.atoms.items():
            if arity == 2:
                continue
            rows = np.flatnonzero(np.any([column == entity for column in table.arguments], axis=0))
            for p in np.unique(table.predicate[rows]).tolist():
                of_predicate = rows[table.predicate[rows] == p]
                numbers[self.facts.predicates[p]] = self._first[arity] + of_predicate
        return numbers

    def along(self, step: Step, here: Integers, there: Integers, which: Integers) -> Ints:
        """Numbers of the facts that lead along a step from each `here` to each `there`.

        Facts of three or more arguments may be parallel: `which` is the index among them, in the
        order of their truth values, then of the table, as in the graph.
        """
        numbers, key, wanted = self._between(step, here, there)
        return np.asarray(numbers[np.searchsorted(key, wanted) + which])

    def all_along(self, step: Step, here: Integers, there: Integers) -> Ints:
        """Numbers of all facts that lead along a step from some `here` to its `there`."""
        numbers, key, wanted = self._between(step, here, there)
        wanted = np.unique(wanted)
        low, high = (np.searchsorted(key, wanted, side=side) for side in ("left", "right"))
        return numbers[ranges(low, high)]

    def _between(self, step: Step, here: Integers, there: Integers) -> tuple[Ints, Ints, Ints]:
        """Numbers of a step's facts sorted by the keys of their ends, these keys, wanted keys."""
        subject, object_ = (there, here) if step.inverse else (here, there)
        table, n = self.facts.atoms[step.arity], len(self.facts.entities)
        rows = self._rows(table, step, np.unique(subject))
        first, second = (table.arguments[place][rows] for place in step.places)
        key = pair_keys(first, second, n)
        value = np.zeros(len(rows)) if table.millionths is None else table.millionths[rows]
        order = np.lexsort((value, key))
        return self._first[step.arity] + rows[order], key[order], pair_keys(subject, object_, n)

    def _rows(self, table: Atoms, step: Step, subjects: Integers) -> Ints:
        """Rows of a table that have the step's predicate and one of the subjects."""
        predicate, place = self.facts.predicates.index(step.stated), step.places[0]
        if place == 0:
            # the table is sorted by its first argument
            column = table.arguments[0]
            low, high = (np.searchsorted(column, subjects, side=side) for side in ("left", "right"))
            rows = ranges(low, high)
            return np.asarray(rows[table.predicate[rows] == predicate])
        same = table.predicate == predicate
        return np.flatnonzero(same & np.isin(table.arguments[place], subjects)).astype(np.int64)

    def named(self, number: int, time: int | None = None) -> Fact:
        """A fact by its names; with a `time`, the event of that time."""
        facts = self.facts
        arity = max(arity for arity, first in self._first.items() if first <= number)
        table, row = facts.atoms[arity], number - self._first[arity]
        truth = 1.0 if table.millionths is None else int(table.millionths[row]) / ONE
        arguments = [facts.entities[int(column[row])] for column in table.arguments]
        predicate = facts.predicates[int(table.predicate[row])]
        if isinstance(self.engine, SnapshotEngine):
            when = self.engine.history(predicate, arguments, time)
            return DatedFact.of_time(Step.along(predicate).predicate, arguments, when)
        return Fact.of(predicate, arguments, truth)

    def without(self, numbers: Integers) -> Facts:
        """The facts except some; entities and predicates keep their ids."""
        left = dict[int, Atoms]()
        for arity, table in self.facts.atoms.items():
            keep = np.ones(len(table), dtype=np.bool_)
            row = numbers - self._first[arity]
            keep[row[(row >= 0) & (row < len(table))]] = False
            if keep.any():
                left[arity] = table.select(keep)
        return replace(self.facts, atoms=left)


@dataclass(frozen=True, eq=False)
class FoundGroundings:
    """Groundings of one body, one row each: `nodes`, numbers of `facts`, and a truth.

    Truths are in millionths, above 0. Facts in an order of time have a time each.
    """

    nodes: Ids
    facts: Ints
    truth: Ids
    times: Ints | None = None

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
        return FactNumbers(self.facts, self.engine)

    @property
    def hides_facts(self) -> bool:
        """Whether the fan-out limit keeps some facts from being walked in either direction."""
        return len(self.graph.forward.code) < len(self.engine.graph.forward.code)

    def is_numeric(self, body: Body) -> bool:
        """Whether numbers ground a body, not facts."""
        return bool(are_numeric([body], self.engine.numbers, self.engine.predicates)[0])

    def first(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> FoundGroundings:
        """The first groundings of a body in the order of their nodes; both entities are known.

        The body has predicates and a constant that the facts have.
        """
        if body.is_ordered:
            return self._in_order(body, subject, object_, limit, progress)
        if self.is_numeric(body) and ends_a_chain(body):
            return self._ending_in_numbers(body, subject, object_, limit, progress)
        if self.is_numeric(body):
            n = len(NumberGroundings(self.facts, body, subject, object_).values())
            n = min(n, 1 if body.steps else limit)
            here = self.facts.entities.index(object_ if body.argument else subject)
            return FoundGroundings(
                np.full((n, 1), here, dtype=np.int32),
                np.empty((n, 0), dtype=np.int64),
                np.full(n, ONE, dtype=np.int32),
            )
        ends = self._ends(body, subject, object_)
        if body.walk:
            return self._paths(body, ends, limit, progress)
        here = ends.source
        if not body.steps:
            return FoundGroundings(
                np.full((1, 1), here, dtype=np.int32),
                np.empty((1, 0), dtype=np.int64),
                np.full(1, ONE, dtype=np.int32),
            )
        return self._unary(body.steps[0], here, limit)

    def _in_order(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress
    ) -> FoundGroundings:
        """Groundings of a path whose atoms were true in an order."""
        engine = self.engine
        assert isinstance(engine, SnapshotEngine)
        found = self.first(body.unordered(), subject, object_, MANY, progress)
        held, times = engine.in_order(body.steps, found.nodes.astype(np.int64))
        rows = np.flatnonzero(held)[:limit]
        return FoundGroundings(
            found.nodes[rows], found.facts[rows], found.truth[rows], times.T[rows]
        )

    def _ending_in_numbers(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress
    ) -> FoundGroundings:
        """Groundings of a chain whose last entity has values that meet its condition."""
        steps = body.steps if body.number is not None else body.walk
        walked = replace(body, steps=steps, kind=kind_about(steps, None), number=None)
        found = self.first(walked, subject, object_, MANY, progress)
        times = [len(self.numbers_at(body, node).values()) for node in found.nodes[:, -1].tolist()]
        n = np.minimum(times, 1) if body.number is None else np.array(times, dtype=np.int64)
        rows = np.repeat(np.arange(len(found)), n)[:limit]
        return FoundGroundings(found.nodes[rows], found.facts[rows], found.truth[rows])

    def numbers_at(self, body: Body, entity: int) -> NumberGroundings:
        """The values of an entity that meet the condition at the end of a chain."""
        name = self.facts.entities[entity]
        alone = Body((), body.target, Kind.NUMBERS, number=number_of(body))
        return NumberGroundings(self.facts, alone, name, name)

    def with_numbers(
        self, body: Body, found: FoundGroundings, named: Sequence[Grounding]
    ) -> tuple[Grounding, ...]:
        """Groundings of a chain that ends in a number, each with the value of its last entity."""
        before = Counter[tuple[str, ...]]()
        groundings = list[Grounding]()
        for end, grounding in zip(found.nodes[:, -1].tolist(), named, strict=True):
            values = self.numbers_at(body, end).named(MANY)
            value = values[before[grounding.entities]].facts
            before[grounding.entities] += 1
            groundings.append(replace(grounding, facts=(*grounding.facts, *value)))
        return tuple(groundings)

    def cut(self, body: Body, subject: str, object_: str) -> Ints:
        """Numbers of facts without which a body has no grounding; empty if it needs no fact."""
        if len(body.steps) == 1 and not body.is_path:
            every = len(self.graph.forward.code)
            return np.unique(self.first(body, subject, object_, every).facts)
        at, here, there = cut(self.graph, self._codes(body), self._ends(body, subject, object_))
        facts = self.numbers.all_along(body.steps[at], here, there)
        return np.setdiff1d(facts, self._own(body.target, subject, object_))

    def named(self, found: FoundGroundings) -> tuple[Grounding, ...]:
        """Groundings by their names."""
        none = [None] * found.facts.shape[1]
        times = [none] * len(found) if found.times is None else found.times.tolist()
        return tuple(
            Grounding(
                tuple(self.facts.entities.take(nodes)),
                tuple(map(self.numbers.named, facts.tolist(), at)),
                int(truth) / ONE,
            )
            for nodes, facts, truth, at in zip(
                found.nodes, found.facts, found.truth, times, strict=True
            )
        )

    def _ends(self, body: Body, subject: str, object_: str) -> PathEnds:
        """Where a path starts and ends, or a condition on one argument."""
        here, there = map(self.facts.entities.index, (subject, object_))
        own = step_code(self.engine.predicates.index(body.target))
        if body.is_path:
            return PathEnds(here, there, own)
        if body.argument == 1:
            here, there, own = there, here, inverse_code(own)
        return PathEnds(here, there, own, self._chain_end(body, here))

    def _chain_end(self, body: Body, here: int) -> ChainEnd:
        """Where a condition on one argument, the node `here`, ends."""
        if body.constant is not None:
            constant = self.facts.entities.index(body.constant)
            return ChainEnd(np.array([constant], dtype=np.int32), is_constant=True)
        if len(body.walk) == len(body.steps):
            return ChainEnd(None)
        nodes, truth = self.numbers.all_about(body.steps[-1])
        if body.head_arity == 1 and body.steps[-1].predicate == body.target:
            # the own fact of a target on one entity is unary
            nodes, truth = nodes[nodes != here], truth[nodes != here]
        return ChainEnd(nodes, truth)

    def _own(self, target: str, subject: str, object_: str) -> Ints:
        """The number of the pair's own fact, if any."""
        if 2 not in self.facts.atoms:
            return np.empty(0, dtype=np.int64)
        ends = (np.array([self.facts.entities.index(name)]) for name in (subject, object_))
        return self.numbers.all_along(Step(target), *ends)

    def _codes(self, body: Body) -> list[int]:
        codes = path_codes(body, self.engine.predicates)
        assert codes is not None
        return codes[: len(body.walk)]

    def _paths(self, body: Body, ends: PathEnds, limit: int, progress: Progress) -> FoundGroundings:
        nodes, edges, truth = first_paths(
            self.graph, self._codes(body), ends, self.distinct, limit, progress
        )
        facts = np.empty((len(nodes), len(body.steps)), dtype=np.int64)
        for k, step in enumerate(body.walk if len(nodes) else ()):
            here, there = nodes[:, k], nodes[:, k + 1]
            facts[:, k] = self.numbers.along(step, here, there, self._which(here, edges[:, k]))
        for step in body.steps[len(body.walk) :]:
            for node in np.unique(nodes[:, -1]).tolist():
                facts[nodes[:, -1] == node, -1] = self.numbers.about(step, node)
        return FoundGroundings(nodes, facts, truth)

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

    def _unary(self, step: Step, here: int, limit: int) -> FoundGroundings:
        facts = self.numbers.about(step, here)[:limit]
        values = self.facts.atoms[1].millionths
        truth = np.full(len(facts), ONE, dtype=np.int32) if values is None else values[facts]
        nodes = np.full((len(facts), 1), here, dtype=np.int32)
        return FoundGroundings(nodes, facts.reshape(-1, 1), truth)
