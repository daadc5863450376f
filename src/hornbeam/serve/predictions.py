"""New links of one entity: what the rules reach from it, and how the links score.

Counts do not depend on weights. So what an entity reaches is counted once and kept, and an edit of
the rules only scores again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Floats, Ids
from hornbeam.counting.memory.graph import Graph
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets
from hornbeam.model import Model
from hornbeam.rules.body import Body
from hornbeam.rules.codes import path_codes, step_code, turned_sequence
from hornbeam.rules.rule_model import Rule
from hornbeam.scoring.independent_scorer import score_targets
from hornbeam.serve.links import largest
from hornbeam.serve.walk import NOWHERE, CodeSequences, Ends, NodeCounters, ends_of, neighbours

#: Where paths have to be counted one by one, only the pairs that most paths connect are scored.
MOST_COUNTED = 2000


@dataclass(frozen=True, eq=False)
class Reach:
    """New pairs of an entity that a rule for the target connects, and their counts.

    `left_out` is the number of further pairs that were not counted.
    """

    pairs: Targets
    statistics: Statistics
    left_out: int

    @property
    def size(self) -> int:
        """How much a cache holds of it: rows."""
        return len(self.pairs) + len(self.statistics.count) + 100


@dataclass(frozen=True, eq=False)
class TargetPlan:
    """The rules of one target, laid out for walking: looking up paths by name costs time.

    `members` are the numbers of its rules; `column` says which body each of them has, -1 for a
    prior; `pulls_up` which of them connect pairs that they speak for. `forth` and `back` are the
    paths from either end.
    """

    members: Sequence[int]
    bodies: Sequence[Body]
    column: npt.NDArray[np.int64]
    pulls_up: npt.NDArray[np.bool_]
    forth: CodeSequences
    back: CodeSequences

    def speaking(self, rules: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which paths some of the given rules speak for."""
        speaks = np.zeros(len(self.bodies), dtype=np.bool_)
        speaks[self.column[self.pulls_up & rules]] = True
        return speaks


@dataclass(frozen=True, eq=False)
class Reacher:
    """Follows the rules of one model from single entities."""

    facts: Facts
    engine: MemoryEngine
    model: Model

    @cached_property
    def graph(self) -> Graph:
        """What the model's rules walk."""
        limit = self.model.semantics.max_fanout
        return self.engine.graph if limit is None else self.engine.graph.limited(limit)

    @cached_property
    def counters(self) -> NodeCounters:
        """Where walks count."""
        return NodeCounters(self.graph.n_entities)

    @cached_property
    def plans(self) -> dict[str, TargetPlan]:
        """A plan for every target."""
        return {target: self._plan(target) for target in self.model.targets}

    def _plan(self, target: str) -> TargetPlan:
        rules = self.model.rules
        members = [i for i, rule in enumerate(rules) if rule.clause.target == target]
        bodies = self.model.of_target(target).bodies
        column = {body: j for j, body in enumerate(bodies)}
        clauses = [rules[i].clause for i in members]
        codes = [path_codes(body, self.facts.predicates) or NOWHERE for body in bodies]
        return TargetPlan(
            members,
            bodies,
            np.array([column.get(clause.body, -1) for clause in clauses]),
            np.array([not clause.is_prior and not clause.negated for clause in clauses]),
            CodeSequences.of(codes),
            CodeSequences.of([turned_sequence(steps) for steps in codes]),
        )

    def reach(self, target: str, entity: int, forward: bool) -> Reach:
        """Follow every rule of a target from its subject, or backwards from its object."""
        plan = self.plans[target]
        graph = self.graph if forward else self.graph.reversed
        walks = plan.forth if forward else plan.back
        wanted = plan.speaking(np.ones(len(plan.members), dtype=np.bool_))
        known = self._known(target, entity, forward)
        ends = ends_of(graph.forward, entity, walks, wanted, known, self.counters)
        if self.facts.soft or self.model.language.distinct_variables:
            return self._counted(target, entity, forward, plan.bodies, ends)
        counted = Statistics(plan.bodies, len(ends.nodes), ends.indptr, ends.place, ends.paths)
        return Reach(_pairs(self.facts, target, entity, ends.nodes, forward), counted, 0)

    def best(self, reach: Reach, rules: Sequence[Rule], top: int) -> tuple[Targets, Floats, int]:
        """The best new pairs under the rules as they are weighted now, scores, and how many.

        Only pairs that a positive rule of positive weight connects count; ties go by name.
        """
        plan, counted = self.plans[reach.pairs.predicates[0]], reach.statistics
        mine = self.model.with_rules(rules[i] for i in plan.members)
        speaks = plan.speaking(np.array([rule.weight > 0 for rule in mine.rules]))
        spoken_for = np.zeros(len(reach.pairs), dtype=np.bool_)
        spoken_for[counted.target[np.repeat(speaks, np.diff(counted.indptr))]] = True
        reached = np.flatnonzero(spoken_for)
        scores = score_targets(mine, counted, reach.pairs)
        # the pairs are in the order of names, so the first of equal ones come first
        best = reached[largest(scores[reached], top)]
        return reach.pairs.select(best), scores[best], len(reached)

    def _counted(
        self, target: str, entity: int, forward: bool, bodies: Sequence[Body], ends: Ends
    ) -> Reach:
        """Count path by path what the walk has reached; where that is much, the best connected."""
        walked = np.bincount(ends.place, ends.paths, len(ends.nodes))
        kept = np.sort(ends.nodes[np.argsort(-walked, kind="stable")[:MOST_COUNTED]])
        pairs = _pairs(self.facts, target, entity, kept, forward)
        # with names of its own: a table of all entities would be translated as a whole
        used, ids = np.unique(np.append(kept, entity), return_inverse=True)
        own = Names.from_sorted_chunks([self.facts.entities.take(used)])
        others = ids[:-1].astype(np.int32)
        here = np.full(len(kept), ids[-1], dtype=np.int32)
        sides = (here, others) if forward else (others, here)
        small = Targets(own, pairs.predicates, pairs.predicate, *sides)
        counted = self.engine.count(small, bodies, self.model.language)
        return Reach(pairs, counted, len(ends.nodes) - len(kept))

    def _known(self, target: str, entity: int, forward: bool) -> Ids:
        code = step_code(self.facts.predicates.index(target), inverse=not forward)
        return neighbours(self.engine.graph.forward, entity, code)


def _pairs(facts: Facts, target: str, entity: int, others: Ids, forward: bool) -> Targets:
    here = np.full(len(others), entity, dtype=np.int32)
    subject, object_ = (here, others) if forward else (others, here)
    predicate = np.zeros(len(others), dtype=np.int32)
    return Targets(facts.entities, Names.of([target]), predicate, subject, object_)
