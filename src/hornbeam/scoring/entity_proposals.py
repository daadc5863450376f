"""New links of single entities under weights that change: counted once, scored again.

Counts do not depend on weights, so the explorer keeps the pairs of an entity and their counts.
Where facts are 0/1, variables may coincide and all conditions are paths, one walk from the entity
finds the pairs and all their counts: it carries one count per node and merges at every step. (From
a hundred thousand nodes and a million facts it takes 0.7 ms of CPU, and counting the same pairs
one by one with the engine 19 ms.) Otherwise `Margins` finds the pairs and the engine counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, largest, part_numbers, pointers
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.table import Targets
from hornbeam.rules.body import free_argument
from hornbeam.rules.codes import path_codes, reversed_sequence, step_code
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.independent_scores import CachedCounts, RuleLayout, weights_of
from hornbeam.scoring.margin_kernels import WalkedGraph, walk_ends
from hornbeam.scoring.margin_terms import walked_graph
from hornbeam.scoring.margins import is_plain
from hornbeam.scoring.proposals import Proposer, proposable

#: Maximum number of pairs to count with the engine: those connected by most paths.
MAX_COUNTED = 5000
#: The only step of a sequence that leads nowhere: 0 is never a code.
DEAD_END = [0]


@dataclass(frozen=True, eq=False)
class EntityProposer:
    """Proposes pairs of one target from their argument `near`: subjects (0) or objects (1).

    Parameters
    ----------
    model
        The rules of all targets, whose weights may change.
    engine, target, types
        The evidence, what is proposed, and the types of arguments that known links have.
    """

    model: RuleModel
    engine: MemoryEngine
    target: str
    types: ArgumentTypes
    near: int
    #: Arrays of walks that have ended; see `_borrowed_sums`.
    _spare_sums: list[tuple[Floats, Floats, Ids]] = field(
        default_factory=list, init=False, repr=False
    )

    def counted(self, entity: int) -> CachedCounts:
        """Follow every rule from an entity, and count the pairs that are not facts."""
        return self._walked(entity) if self._walks_count else self._counted(entity)

    def best(
        self, counted: CachedCounts, rules: Sequence[Rule], top: int
    ) -> tuple[Targets, Floats, int]:
        """The best pairs under the weights of `rules`, their scores, and how many pairs there are.

        Only pairs that `proposable` allows count; ties go by name.
        """
        own_rules = [rules[i] for i in self._members]
        weighty, pairs = weights_of(own_rules) > 0, counted.pairs
        grounded = {
            free: counted.grounded(supporting & weighty)
            for free, supporting in self._supporting_rules.items()
        }
        may = proposable(self.types, self.target, pairs.subject, pairs.object, grounded)
        rows, scores = np.flatnonzero(may), counted.scores(own_rules)
        # the pairs are in the order of names, so the first of equal ones come first
        best = rows[largest(scores[rows], top)]
        return pairs.select(best), scores[best], len(rows)

    def _walked(self, entity: int) -> CachedCounts:
        """Pairs and counts by walks along all paths; pairs of rules against the target are out."""
        (steps, bounds), walks, graph = self._sequences, self._walks, self.engine.graph
        n, sums = graph.n_entities, self._borrowed_sums()
        indptr, ends, paths, shares = graph.walked_by(walk_ends)(
            walks, steps, bounds, np.int32(entity), *sums
        )
        self._spare_sums.append(sums)
        sequence, own = part_numbers(indptr), self.engine.predicates.index(self.target)
        new = np.zeros(n, dtype=np.bool_)
        new[ends[self._supporting_bodies[sequence]]] = True
        new[graph.forward.neighbours(entity, step_code(own, self.near == 1))] = False
        nodes, rows = np.flatnonzero(new).astype(np.int32), np.flatnonzero(new[ends])
        place = np.empty(n, dtype=np.int32)  # read at the new ends alone
        place[nodes] = np.arange(len(nodes))
        sizes = np.bincount(sequence[rows], minlength=len(bounds) - 1)
        statistics = Statistics(
            self._rules.bodies, len(nodes), pointers(sizes), place[ends[rows]],
            paths[rows].astype(np.int64), share=shares[rows] if self._rules.shares else None,
        )  # fmt: skip
        return CachedCounts(self._rules, self._layout, statistics, self._pairs(entity, nodes))

    def _borrowed_sums(self) -> tuple[Floats, Floats, Ids]:
        """Arrays of zeros for the sums of one walk, by steps taken and node.

        A walk leaves its arrays zero again, so later walks use them without the cost of new pages.
        """
        try:
            return self._spare_sums.pop()
        except IndexError:
            by_level = (
                int(np.diff(self._sequences[1]).max(initial=0)) + 1,
                self.engine.graph.n_entities,
            )
            of_shares = by_level if len(self._walks.weight) else (1, 0)
            return np.zeros(by_level), np.zeros(of_shares), np.zeros(by_level, dtype=np.int32)

    def _counted(self, entity: int) -> CachedCounts:
        """Pairs by their bounds, counted by the engine; if they are many, the best connected."""
        bounds, rules = (
            self._proposer.margins.above(np.array([entity], np.int32), -np.inf),
            self._rules,
        )
        best = np.argsort(-bounds.margin, kind="stable")[:MAX_COUNTED]
        pairs = self._pairs(entity, np.sort(bounds.end[best]))
        counts = self.engine.count(pairs, rules.bodies, rules.language)
        return CachedCounts(rules, self._layout, counts, pairs, len(bounds.end) - len(pairs))

    def _pairs(self, entity: int, ends: Ids) -> Targets:
        return self._proposer.pairs(np.full_like(ends, entity), ends)

    @cached_property
    def _members(self) -> list[int]:
        """Numbers of the target's rules in the whole model."""
        rules = enumerate(self.model.rules)
        return [i for i, rule in rules if rule.clause.target == self.target]

    @cached_property
    def _rules(self) -> RuleModel:
        """The rules of the target."""
        return self.model.of_target(self.target)

    @cached_property
    def _layout(self) -> RuleLayout:
        return RuleLayout.of(self._rules, self._rules.bodies)

    @cached_property
    def _supporting_rules(self) -> Mapping[int | None, Bools]:
        """Which rules have a body and are for the target, by the argument that they leave free."""
        clauses = [rule.clause for rule in self._rules.rules]
        free = np.array([free_argument(clause.body) for clause in clauses], dtype=object)
        supporting = np.array([not (c.is_prior or c.negated) for c in clauses], dtype=np.bool_)
        by_argument = {argument: supporting & (free == argument) for argument in (None, 0, 1)}
        return {argument: rules for argument, rules in by_argument.items() if rules.any()}

    @cached_property
    def _proposer(self) -> Proposer:
        """Finds pairs by rules for the target; weights may change, so all have the same here."""
        even = [Rule(1.0, rule.clause) for rule in self._rules.rules if not rule.clause.negated]
        model = self._rules.with_rules(even)
        return Proposer(model, self.engine, self.target, self.types, self.near)

    @cached_property
    def _walks_count(self) -> bool:
        """Whether walks find all pairs and counts that scores need."""
        return is_plain(self.model, self.engine.facts) and all(
            body.is_path for body in self._rules.bodies
        )

    @cached_property
    def _walks(self) -> WalkedGraph:
        return walked_graph(self._rules, self.engine, self.near)

    @cached_property
    def _sequences(self) -> tuple[Ints, Ints]:
        """The paths of all rules as steps from the argument `near`, and where each path begins."""
        predicates = self.engine.predicates
        codes = [path_codes(body, predicates) or DEAD_END for body in self._rules.bodies]
        if self.near:
            codes = [reversed_sequence(steps) for steps in codes]
        steps = np.array([code for steps in codes for code in steps], dtype=np.int64)
        return steps, pointers(np.array([len(steps) for steps in codes], dtype=np.int64))

    @cached_property
    def _supporting_bodies(self) -> Bools:
        """Which bodies are in rules for the target: others propose nothing."""
        supporting = {
            part.body
            for clause in (rule.clause for rule in self._rules.rules)
            if not (clause.is_prior or clause.negated)
            for part in clause.body.parts
        }
        return np.array([body in supporting for body in self._rules.bodies], dtype=np.bool_)
