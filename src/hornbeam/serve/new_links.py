"""New links of one entity: the pairs that rules connect, and how they score.

Counts do not depend on weights. So the pairs of an entity are counted once and cached, and an edit
of the rules only scores again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets
from hornbeam.graph.adjacency import Graph
from hornbeam.model import Model
from hornbeam.rules.body import Body, free_argument
from hornbeam.rules.codes import path_codes, reversed_sequence, step_code
from hornbeam.rules.rule_model import Rule
from hornbeam.scoring.cached_counts import CachedCounts
from hornbeam.scoring.margins import Margins, bounding_model, is_plain
from hornbeam.scoring.proposable import proposable
from hornbeam.scoring.rule_columns import RuleLayout, weights_of
from hornbeam.serve.links import largest
from hornbeam.serve.walk import (
    DEAD_END,
    NO_WEIGHTS,
    StepSequences,
    StepWeights,
    WalkArrays,
    ends_of,
    neighbours,
)

#: Maximum number of pairs to count with the engine: those connected by most paths.
MAX_COUNTED = 5000


@dataclass(frozen=True, eq=False)
class TargetRules:
    """Rules of one target.

    Parameters
    ----------
    members, model
        The numbers of the rules in the whole model, and a model of them alone.
    bodies
        The conditions of all rules.
    paths, wanted
        The conditions that are paths, and which of them are in bodies for the target.
    forward, backward
        The paths as sequences of steps from either end.
    layout
        Where the columns of the rules are.
    supporting_rules
        Which rules have a body and are for the target, by the argument that they leave free.
    """

    members: Sequence[int]
    model: Model
    bodies: Sequence[Body]
    paths: Sequence[Body]
    wanted: Bools
    forward: StepSequences
    backward: StepSequences
    layout: RuleLayout
    supporting_rules: Mapping[int | None, Bools]

    @classmethod
    def of(cls, model: Model, target: str, predicates: Names) -> TargetRules:
        """Prepare the rules of a target over facts of these predicates."""
        members = [i for i, rule in enumerate(model.rules) if rule.clause.target == target]
        of_target = model.of_target(target)
        clauses, bodies = [rule.clause for rule in of_target.rules], of_target.bodies
        paths = [body for body in bodies if body.is_path]
        codes = [path_codes(body, predicates) or DEAD_END for body in paths]
        positive = [not clause.is_prior and not clause.negated for clause in clauses]
        bodies_for = [
            clause.body for clause, is_for in zip(clauses, positive, strict=True) if is_for
        ]
        wanted = {part.body for body in bodies_for for part in body.parts}
        free = np.array([free_argument(clause.body) for clause in clauses], dtype=object)
        return cls(
            members,
            of_target,
            bodies,
            paths,
            np.array([body in wanted for body in paths], dtype=np.bool_),
            StepSequences.of(codes),
            StepSequences.of([reversed_sequence(steps) for steps in codes]),
            RuleLayout.of(of_target, bodies),
            {place: np.array(positive, np.bool_) & (free == place) for place in (None, 0, 1)},
        )

    @property
    def paths_only(self) -> bool:
        """Whether all conditions are paths, so that walks find and count all there is."""
        return len(self.paths) == len(self.bodies)

    def kept(self, pairs: Targets, counted: Statistics) -> CachedCounts:
        """Counts of pairs, to be scored by these rules."""
        return CachedCounts(self.model, self.layout, counted, pairs)


@dataclass(frozen=True, eq=False)
class CountedPairs:
    """New pairs of an entity that a rule for the target connects, and their counts.

    `forward` is whether the entity is their subject, `left_out` the number of further pairs that
    were not counted.
    """

    kept: CachedCounts
    forward: bool
    left_out: int

    @property
    def size(self) -> int:
        """Its size in a cache: rows."""
        return self.kept.size + 100


@dataclass(frozen=True, eq=False)
class NewLinkFinder:
    """Follows the rules of one model from single entities; `types` limit what is proposed."""

    engine: MemoryEngine
    model: Model
    types: ArgumentTypes
    #: Cached results of `_margins_of`.
    _margins: dict[tuple[str, bool], Margins] = field(default_factory=dict, init=False, repr=False)

    @property
    def facts(self) -> Facts:
        """The evidence."""
        return self.engine.facts

    @property
    def graph(self) -> Graph:
        """The graph that the model's rules walk."""
        return self.engine.limited_graph(self.model.semantics.max_fanout)

    @cached_property
    def arrays(self) -> WalkArrays:
        """The arrays in which walks count."""
        return WalkArrays(self.graph.n_entities, len(self.weights.forward) > 0)

    @cached_property
    def walks_count(self) -> bool:
        """Whether walks find all counts that scores need."""
        return is_plain(self.model, self.facts)

    @cached_property
    def weights(self) -> StepWeights:
        """Factors of shares per step, if rules need shares and walks find them."""
        if not (self.model.language.shares and self.walks_count):
            return NO_WEIGHTS
        counter = self.engine.share_counter(self.model.language.max_fanout)
        return StepWeights(counter.step_weights, counter.steps_back)

    @cached_property
    def by_target(self) -> dict[str, TargetRules]:
        """The rules of every target."""
        predicates = self.engine.predicates
        return {
            target: TargetRules.of(self.model, target, predicates) for target in self.model.targets
        }

    def _margins_of(self, target: str, forward: bool) -> Margins:
        """Finds what rules for a target lead to from an entity.

        Weights may be edited, so all of these rules have the same here.
        """
        key = target, forward
        if key not in self._margins:
            rules = self.by_target[target].model.rules
            even = [Rule(1.0, rule.clause) for rule in rules if not rule.clause.negated]
            bounding = bounding_model(self.model.with_rules(even), self.engine)
            self._margins[key] = Margins(*bounding, target, self.types, 0 if forward else 1)
        return self._margins[key]

    def connected(self, target: str, entity: int, forward: bool) -> CountedPairs:
        """Follow every rule of a target from its subject, or backwards from its object."""
        rules = self.by_target[target]
        if not (rules.paths_only and self.walks_count):
            return self._counted(target, entity, forward)
        graph = self.graph if forward else self.graph.reversed
        weights = self.weights if forward else self.weights.reversed
        walks = rules.forward if forward else rules.backward
        code = step_code(self.engine.predicates.index(target), inverse=not forward)
        known = neighbours(self.engine.graph.forward, entity, code)
        ends = ends_of(graph, weights, entity, walks, rules.wanted, known, self.arrays)
        counted = Statistics(
            rules.bodies, len(ends.nodes), ends.indptr, ends.place, ends.paths,
            share=ends.share if self.model.language.shares else None,
        )  # fmt: skip
        pairs = _pairs(self.facts, target, entity, ends.nodes, forward)
        return CountedPairs(rules.kept(pairs, counted), forward, 0)

    def best(
        self, found: CountedPairs, rules: Sequence[Rule], top: int
    ) -> tuple[Targets, Floats, int]:
        """The best new pairs under the current weights, their scores, and the number of new pairs.

        Only pairs that `proposable` allows count; ties go by name.
        """
        pairs, target = found.kept.pairs, found.kept.pairs.predicates[0]
        of_target = self.by_target[target]
        target_rules = [rules[i] for i in of_target.members]
        weighty = weights_of(target_rules) > 0
        grounded = {
            free: found.kept.grounded(supporting & weighty)
            for free, supporting in of_target.supporting_rules.items()
        }
        may = proposable(self.types, target, pairs.subject, pairs.object, grounded)
        rows = np.flatnonzero(may)
        scores = found.kept.scores(target_rules)
        # the pairs are in the order of names, so the first of equal ones come first
        best = rows[largest(scores[rows], top)]
        return pairs.select(best), scores[best], len(rows)

    def _counted(self, target: str, entity: int, forward: bool) -> CountedPairs:
        """Count the pairs that may be reached; if they are many, only the best connected."""
        start = np.array([entity], dtype=np.int32)
        found = self._margins_of(target, forward).above(start, -np.inf)
        best = np.argsort(-found.margin, kind="stable")[:MAX_COUNTED]
        pairs = _pairs(self.facts, target, entity, np.sort(found.end[best]), forward)
        rules = self.by_target[target]
        counted = self.engine.count(pairs, rules.bodies, self.model.language)
        return CountedPairs(rules.kept(pairs, counted), forward, len(found.end) - len(pairs))


def _pairs(facts: Facts, target: str, entity: int, others: Ids, forward: bool) -> Targets:
    here = np.full(len(others), entity, dtype=np.int32)
    subject, object_ = (here, others) if forward else (others, here)
    return Targets.between(facts.entities, target, subject, object_)
