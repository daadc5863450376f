"""A graph to answer queries from, with the statistics that are counted once per step and cached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints
from hornbeam.graphs.constants import (
    AnswerFrequencies,
    ConstantRules,
    ConstantTable,
    answer_frequencies,
    any_entity_rules,
    constant_rules,
)
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.linked_pairs import graph_pair_weights
from hornbeam.graphs.path_rules import TrieWalk
from hornbeam.graphs.ridge import Ridge
from hornbeam.rules.body import MAX_PATH

#: Up to this many sources, rules with constants are counted for these alone; for more, for all
#: sources of the step.
FEW_SOURCES = 8


@dataclass(frozen=True)
class UsedRuleClasses:
    """Which classes of rules are used in addition to paths."""

    constants: bool = True
    backward: bool = True


class CandidateArrays(NamedTuple):
    """The `size[0]` candidates `listed` of a source, and the evidence of each class of rules."""

    evidence: Floats
    listed: Ids
    is_listed: Bools
    size: Ints


class PropertyArrays(NamedTuple):
    """The `size[0]` properties `listed` of known answers, and how many answers share each."""

    shared: Ids
    listed: Ints
    size: Ints


class GatherScratch(NamedTuple):
    """Arrays that a kernel fills and clears for every source; one set per working thread.

    They have an element per entity or property, so allocating them for a single query would take
    longer than answering it.
    """

    walk: TrieWalk
    found: CandidateArrays
    properties: PropertyArrays
    strength: Floats
    is_known: Bools
    linked: Ints

    @classmethod
    def of(cls, graph: LinkedGraph) -> GatherScratch:
        """Allocate the arrays for a graph."""
        n = graph.n_entities
        n_properties = len(graph.links.run_step) + graph.step_limit
        one = np.zeros(1, dtype=np.int64)
        found = CandidateArrays(
            np.zeros((n, 3, 5)), np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.bool_), one
        )
        properties = PropertyArrays(
            np.zeros(n_properties, dtype=np.int32),
            np.empty(n_properties, dtype=np.int64),
            one.copy(),
        )
        walk = TrieWalk.of(n, MAX_PATH)
        is_known, linked = np.zeros(n, dtype=np.bool_), np.zeros((n, 4), dtype=np.int64)
        return cls(walk, found, properties, np.zeros(n), is_known, linked)


class StepTables(NamedTuple):
    """Rules with constants and frequencies for queries of one step."""

    constants: ConstantTable
    frequencies: AnswerFrequencies


class StepStatistics(NamedTuple):
    """What all queries of one step share, independent of their sources."""

    any_entity_rules: ConstantRules
    frequencies: AnswerFrequencies


@dataclass(frozen=True, eq=False)
class GraphEvidence:
    """A graph that queries are answered from.

    Its constants are fitted together if there is a `penalty`; `remembered` is the number of steps
    whose tables are cached for further queries.
    """

    graph: LinkedGraph
    penalty: float | None = None
    classes: UsedRuleClasses = UsedRuleClasses()
    remembered: int = 0
    _tables: dict[int, StepTables] = field(default_factory=dict, repr=False)
    _common: dict[int, StepStatistics] = field(default_factory=dict, repr=False)
    _free: list[GatherScratch] = field(default_factory=list, repr=False)

    def prepare(self) -> None:
        """Compute what all queries share, once, before several threads need it."""
        self.graph.prepare()
        _ = self.ridge, self.pair_weights
        if self.ridge is not None:
            _ = self.graph.run_keys  # by which the ridge finds runs

    @cached_property
    def ridge(self) -> Ridge | None:
        """The constants fitted together."""
        return None if self.penalty is None else Ridge.fit(self.graph, self.penalty)

    @cached_property
    def pair_weights(self) -> Ints:
        """Weights of the links of a pair for each other."""
        return graph_pair_weights(self.graph)

    def constants(self, step: int, sources: Ids | None = None) -> ConstantRules:
        """Rules with constants of a step: all, or all with s(X, _) and those of given sources."""
        return self._rules(step, sources, self.common(step))

    def common(self, step: int) -> StepStatistics:
        """Statistics of a step, which do not depend on the sources of queries."""

        def made() -> StepStatistics:
            has_rules = self.classes.constants
            rules = any_entity_rules(self.graph, step) if has_rules else ConstantRules.none(step)
            return StepStatistics(rules, answer_frequencies(self.graph, step))

        found = self._common.get(step) or made()
        if self.remembered:  # small, however many steps are queried
            self._common[step] = found
        return found

    def tables(self, step: int, sources: Ids) -> StepTables:
        """Tables for queries of a step; for `sources` alone unless further queries may come."""

        def made(some: Ids | None = None) -> StepTables:
            common = self.common(step)
            return StepTables(self._rules(step, some, common).table, common.frequencies)

        found = self._tables.get(step)
        if found is None and (len(sources) <= FEW_SOURCES or not self.remembered):
            return made(sources)
        if found is None:
            found = made()
            for oldest in list(self._tables)[: len(self._tables) + 1 - self.remembered]:
                self._tables.pop(oldest, None)
            self._tables[step] = found
        return found

    def _rules(self, step: int, sources: Ids | None, common: StepStatistics) -> ConstantRules:
        if not self.classes.constants:
            return ConstantRules.none(step)
        return constant_rules(self.graph, step, sources).and_then(common.any_entity_rules)

    @contextmanager
    def scratch(self) -> Iterator[GatherScratch]:
        """Borrow scratch arrays exclusively for the block."""
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = GatherScratch.of(self.graph)
        yield scratch
        self._free.append(scratch)
