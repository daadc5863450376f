"""A graph to answer queries from, with statistics that are counted once per step and cached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hornbeam.base.arrays import Bools, Floats, Ids, Ints
from hornbeam.facts.growth import Growth
from hornbeam.graphs.constants import (
    ChangedRules,
    ConstantRules,
    ConstantTable,
    answer_frequencies,
    any_entity_rules,
    constant_rules,
)
from hornbeam.graphs.features import EVIDENCE_SHAPE, LINKED
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.linked_pairs import NO_WEIGHTS, graph_pair_weights
from hornbeam.graphs.path_rules import PathRules, Trie, TrieWalk
from hornbeam.graphs.ridge import Ridge, fitted_ridge
from hornbeam.graphs.slots import (
    SLOT_PENALTY,
    entities_by_steps,
    graph_slot_weights,
    proposed_entities,
    slot_scores,
    weights_for,
)
from hornbeam.rules.body import MAX_PATH

#: For at most this many sources, rules with constants are counted for these sources alone. So are
#: they for larger batches of a step until these had `SOME_SOURCES` in all. After that they are
#: counted for all sources of the step, if they can be cached.
FEW_SOURCES, SOME_SOURCES = 8, 64
#: Number of relations and directions whose constants are cached for further queries.
REMEMBERED = 64
#: Scratch arrays have room for a graph that is larger by this fraction, one in `ROOM`.
ROOM = 64


class CandidateArrays(NamedTuple):
    """The `size[0]` candidates `listed` of a source, and the evidence of each class of rules."""

    evidence: Floats
    listed: Ids
    is_listed: Bools
    size: Ints

    @classmethod
    def of(cls, n: int, *, listed: bool = False) -> CandidateArrays:
        """Arrays for the candidates 0 to n - 1 without evidence; all are listed, or none."""
        return cls(
            np.zeros((n, *EVIDENCE_SHAPE)),
            np.empty(n, dtype=np.int32),
            np.full(n, listed),
            np.zeros(1, dtype=np.int64),
        )


class PropertyArrays(NamedTuple):
    """The `size[0]` properties `listed` of known answers, and how many answers share each."""

    shared: Ids
    listed: Ints
    size: Ints


class GatherScratch(NamedTuple):
    """Arrays that a kernel fills and clears for every source; one set per working thread.

    The arrays have at least one element per entity or property, and some more, so that they serve a
    graph that grew, too. Allocating them for a single query would take longer than answering it.
    """

    walk: TrieWalk
    found: CandidateArrays
    properties: PropertyArrays
    strength: Floats
    is_known: Bools
    linked: Ints
    slot: Ints

    @classmethod
    def of(cls, graph: LinkedGraph) -> GatherScratch:
        """Allocate the arrays for a graph."""
        n, n_properties = (size + size // ROOM for size in sizes_of(graph))
        properties = PropertyArrays(
            np.zeros(n_properties, dtype=np.int32),
            np.empty(n_properties, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )
        return cls(
            TrieWalk.of(n, MAX_PATH),
            CandidateArrays.of(n),
            properties,
            np.zeros(n),
            np.zeros(n, dtype=np.bool_),
            np.zeros((n, len(LINKED)), dtype=np.int64),
            np.zeros(n, dtype=np.int64),
        )

    def serves(self, graph: LinkedGraph) -> bool:
        """Whether the arrays are large enough for a graph."""
        n, n_properties = sizes_of(graph)
        return len(self.strength) >= n and len(self.properties.shared) >= n_properties


def sizes_of(graph: LinkedGraph) -> tuple[int, int]:
    """Numbers of entities and of properties."""
    return graph.n_entities, len(graph.links.run_step) + graph.step_limit


class StepTables(NamedTuple):
    """Tables of one step: its rules, and the statistics that describe an answer.

    `log_share[k]` is the prior of an entity that is the answer of k links. `weights` has the
    weights of a pair's links for each other (`hornbeam.graphs.linked_pairs`), `slots` those of the
    steps of an answer (`hornbeam.graphs.slots`). `usual` are candidates of every query: the most
    frequent answers, and the entities that slots propose.
    """

    trie: Trie
    constants: ConstantTable
    has_backward: bool
    usual: Ids
    log_share: Floats
    degree: Ints
    weights: Ints
    slots: Ints


class StepStatistics(NamedTuple):
    """Statistics that all queries of one step share, independent of their sources."""

    any_entity_rules: ConstantRules
    usual: Ids
    log_share: Floats


@dataclass(frozen=True, eq=False)
class CountedSteps:
    """What was counted of steps so far: constants, other statistics, and sources counted alone.

    `before` has the rules of any entity that were counted before the graph grew. `free` are scratch
    arrays that no thread uses.
    """

    constants: dict[int, ConstantTable] = field(default_factory=dict)
    common: dict[int, StepStatistics] = field(default_factory=dict)
    alone: dict[int, int] = field(default_factory=dict)
    before: dict[int, ChangedRules] = field(default_factory=dict)
    free: list[GatherScratch] = field(default_factory=list)

    def grown(self, growth: Growth, before: LinkedGraph, graph: LinkedGraph) -> CountedSteps:
        """The counts that a growth leaves; both graphs borrow the same scratch arrays."""
        nothing = np.empty(0, dtype=np.int64)
        rules = {
            step: ChangedRules(known.any_entity_rules, nothing)
            for step, known in list(self.common.items())
        }
        changed = [known.grown(growth, before, graph) for known in (self.before | rules).values()]
        return CountedSteps(before={known.rules.step: known for known in changed}, free=self.free)


@dataclass(frozen=True, eq=False)
class GraphEvidence:
    """A graph that queries are answered from.

    Constants are fitted together if there is a `penalty`. `settings` say which other classes of
    rules are used. `remembered` is the number of steps whose rules with constants are cached for
    further queries.
    """

    graph: LinkedGraph
    penalty: float | None = None
    settings: GraphSettings = field(default_factory=GraphSettings)
    remembered: int = 0
    counted: CountedSteps = field(default_factory=CountedSteps, repr=False)

    @classmethod
    def remembering(
        cls, graph: LinkedGraph, penalty: float | None, settings: GraphSettings
    ) -> GraphEvidence:
        """Evidence for further queries: what they count lives as long as the graph does."""
        counted = graph.kept.setdefault(f"counted {settings}", CountedSteps())
        return cls(graph, penalty, settings, REMEMBERED, counted)

    def prepare(self) -> None:
        """Compute the arrays that all queries share, once, before several threads need them."""
        self.graph.prepare()
        _ = self.ridge, self.pair_weights, self.slot_weights
        if self.ridge is not None:
            _ = self.graph.run_keys  # by which the ridge finds runs

    @cached_property
    def ridge(self) -> Ridge | None:
        """The constants fitted together, None without a penalty or for too large a graph."""
        return None if self.penalty is None else fitted_ridge(self.graph, self.penalty)

    @cached_property
    def pair_weights(self) -> Ints:
        """Weights of the links of a pair for each other."""
        return graph_pair_weights(self.graph)

    @cached_property
    def slot_weights(self) -> Ints:
        """Weights of the steps of an entity for each other; none if slots are not used."""
        used = self.settings.slots
        return graph_slot_weights(self.graph, SLOT_PENALTY) if used else NO_WEIGHTS

    def slot_scores(self, step: int) -> Ints:
        """Slot scores of all entities as answers along a step, in millionths."""
        return slot_scores(self._steps_of_entities, weights_for(self.slot_weights, step))

    @cached_property
    def _steps_of_entities(self) -> sparse.csr_array:
        """Which steps every entity has links along."""
        return entities_by_steps(self.graph)

    def common(self, step: int) -> StepStatistics:
        """Statistics of a step, which do not depend on the sources of queries."""
        found = self.counted.common.get(step)
        if found is None:
            has_rules = self.settings.constants
            rules = ConstantRules.none(step)
            if has_rules:
                rules = any_entity_rules(self.graph, step, self.counted.before.get(step))
            frequent, log_share = answer_frequencies(self.graph, step)
            usual = frequent
            if len(self.slot_weights):
                usual = np.union1d(frequent, proposed_entities(self.slot_scores(step)))
            found = StepStatistics(rules, usual, log_share)
        if self.remembered:  # small, however many steps are queried
            self.counted.common[step] = found
            self.counted.before.pop(step, None)
        return found

    def constants(self, common: StepStatistics, sources: Ids | None = None) -> ConstantRules:
        """Rules with constants of a step; with `sources`, rules with s(X, d) for `sources` only."""
        rules = common.any_entity_rules
        if not self.settings.constants:
            return rules
        return constant_rules(self.graph, rules.step, sources).and_then(rules)

    def tables(self, rules: PathRules, sources: Ids) -> StepTables:
        """Tables of the rules' step; with constants of all sources if cached, else of `sources`."""
        step, common, counted = rules.step, self.common(rules.step), self.counted
        constants = counted.constants.get(step)
        alone = counted.alone.get(step, 0) + len(sources)
        few = len(sources) <= FEW_SOURCES or alone <= SOME_SOURCES
        if constants is None and (few or not self.remembered):
            constants = self.constants(common, sources).table
            counted.alone[step] = alone if len(sources) > FEW_SOURCES else alone - len(sources)
        elif constants is None:
            constants = self.constants(common).table
            for oldest in list(counted.constants)[: len(counted.constants) + 1 - self.remembered]:
                counted.constants.pop(oldest, None)
            counted.constants[step] = constants
        return StepTables(
            rules.trie, constants, self.settings.backward, common.usual, common.log_share,
            self.graph.degree, self.pair_weights, weights_for(self.slot_weights, step),
        )  # fmt: skip

    @contextmanager
    def scratch(self) -> Iterator[GatherScratch]:
        """Borrow scratch arrays for the `with` block; no other thread gets them."""
        try:
            scratch = self.counted.free.pop()
        except IndexError:
            scratch = None
        if scratch is None or not scratch.serves(self.graph):
            scratch = GatherScratch.of(self.graph)
        yield scratch
        self.counted.free.append(scratch)
