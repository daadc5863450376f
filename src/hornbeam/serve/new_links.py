"""New links of one entity: the pairs that rules connect, and how they score.

Counts do not depend on weights. So the pairs of an entity are counted once and kept, and an edit of
the rules only scores again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.arrays import Bools, Floats, Ids, Ints
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
from hornbeam.serve.walk import NOWHERE, Ends, StepSequences, WalkArrays, ends_of, neighbours

#: Where paths have to be counted one by one, only the pairs that most paths connect are scored.
MOST_COUNTED = 2000


@dataclass(frozen=True, eq=False)
class CountedPairs:
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
class TargetRules:
    """The rules of one target, laid out for walking: looking up paths by name costs time.

    `members` are the numbers of its rules; `column` is the body of each of them, -1 for a prior;
    `positive` says which of them are rules for the target with a body. `forward` and `backward`
    are the bodies as sequences of steps from either end.
    """

    members: Sequence[int]
    bodies: Sequence[Body]
    column: Ints
    positive: Bools
    forward: StepSequences
    backward: StepSequences

    def supporting(self, rules: Bools) -> Bools:
        """Which bodies have a positive rule among the given ones."""
        supports = np.zeros(len(self.bodies), dtype=np.bool_)
        supports[self.column[self.positive & rules]] = True
        return supports


@dataclass(frozen=True, eq=False)
class NewLinkFinder:
    """Follows the rules of one model from single entities."""

    engine: MemoryEngine
    model: Model

    @property
    def facts(self) -> Facts:
        """The evidence."""
        return self.engine.facts

    @cached_property
    def graph(self) -> Graph:
        """What the model's rules walk."""
        limit = self.model.semantics.max_fanout
        return self.engine.graph if limit is None else self.engine.graph.limited(limit)

    @cached_property
    def arrays(self) -> WalkArrays:
        """Where walks count."""
        return WalkArrays(self.graph.n_entities)

    @cached_property
    def by_target(self) -> dict[str, TargetRules]:
        """The rules of every target."""
        return {target: self._rules_of(target) for target in self.model.targets}

    def _rules_of(self, target: str) -> TargetRules:
        rules = self.model.rules
        members = [i for i, rule in enumerate(rules) if rule.clause.target == target]
        bodies = self.model.of_target(target).bodies
        column = {body: j for j, body in enumerate(bodies)}
        clauses = [rules[i].clause for i in members]
        codes = [path_codes(body, self.facts.predicates) or NOWHERE for body in bodies]
        return TargetRules(
            members,
            bodies,
            np.array([column.get(clause.body, -1) for clause in clauses]),
            np.array([not clause.is_prior and not clause.negated for clause in clauses]),
            StepSequences.of(codes),
            StepSequences.of([turned_sequence(steps) for steps in codes]),
        )

    def connected(self, target: str, entity: int, forward: bool) -> CountedPairs:
        """Follow every rule of a target from its subject, or backwards from its object."""
        rules = self.by_target[target]
        graph = self.graph if forward else self.graph.reversed
        walks = rules.forward if forward else rules.backward
        wanted = rules.supporting(np.ones(len(rules.members), dtype=np.bool_))
        known = self._known(target, entity, forward)
        ends = ends_of(graph.forward, entity, walks, wanted, known, self.arrays)
        if self.facts.soft or self.model.language.distinct_variables:
            return self._counted(target, entity, forward, rules.bodies, ends)
        counted = Statistics(rules.bodies, len(ends.nodes), ends.indptr, ends.place, ends.paths)
        return CountedPairs(_pairs(self.facts, target, entity, ends.nodes, forward), counted, 0)

    def best(
        self, found: CountedPairs, rules: Sequence[Rule], top: int
    ) -> tuple[Targets, Floats, int]:
        """The best new pairs under the rules as they are weighted now, scores, and how many.

        Only pairs that a positive rule of positive weight connects count; ties go by name.
        """
        of_target, counted = self.by_target[found.pairs.predicates[0]], found.statistics
        mine = self.model.with_rules(rules[i] for i in of_target.members)
        supporting = of_target.supporting(np.array([rule.weight > 0 for rule in mine.rules]))
        supported = np.zeros(len(found.pairs), dtype=np.bool_)
        supported[counted.target[np.repeat(supporting, np.diff(counted.indptr))]] = True
        rows = np.flatnonzero(supported)
        scores = score_targets(mine, counted, found.pairs)
        # the pairs are in the order of names, so the first of equal ones come first
        best = rows[largest(scores[rows], top)]
        return found.pairs.select(best), scores[best], len(rows)

    def _counted(
        self, target: str, entity: int, forward: bool, bodies: Sequence[Body], ends: Ends
    ) -> CountedPairs:
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
        return CountedPairs(pairs, counted, len(ends.nodes) - len(kept))

    def _known(self, target: str, entity: int, forward: bool) -> Ids:
        code = step_code(self.facts.predicates.index(target), inverse=not forward)
        return neighbours(self.engine.graph.forward, entity, code)


def _pairs(facts: Facts, target: str, entity: int, others: Ids, forward: bool) -> Targets:
    here = np.full(len(others), entity, dtype=np.int32)
    subject, object_ = (here, others) if forward else (others, here)
    predicate = np.zeros(len(others), dtype=np.int32)
    return Targets(facts.entities, Names.of([target]), predicate, subject, object_)
