"""Margins of all pairs of a subject at once, so that only the best need be counted one by one.

The margin of a pair is A - B, what its rules add for the link less what they add against it. It is
a sum of

    near(a)         rules whose conditions are about the subject, and priors
    far(b)          rules whose conditions are about the object
    term(a, b)      rules with a path, or with conditions on both ends

and a path's groundings and shares come for all objects together by walking forward from the
subject, common first steps once. Where a rule has two paths, the second one's groundings are not
known at the end of the first: they are bounded by all that the subject may have, and a rule against
the link is left out. So margins are upper bounds, and exact except for that and for rounding, which
`SLACK` covers.

Soft facts and distinct variables only reduce groundings: where every fact is wholly true and
variables may coincide, a rule has as many groundings, each at least as true. So a model and facts
like that (`bounding_model`) bound what rules for the link add; those against it are left out there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, Ids, pointers
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring import margin_kernels as kernels
from hornbeam.scoring.end_conditions import EndConditions
from hornbeam.scoring.margin_terms import TermBuilder
from hornbeam.scoring.reach import Reach
from hornbeam.scoring.walk_bounds import WalkBounds

#: Fraction of all strengths in a margin: far more than its rounding error.
SLACK = 1e-11
#: Pairs of one call of the kernel, beyond those that two subjects may have.
ROOM = 1 << 16
#: Edges to walk above which compiling pays.
WORTH_COMPILING = 20_000


def bounding_model(model: RuleModel, engine: MemoryEngine) -> tuple[RuleModel, MemoryEngine]:
    """A model and an engine over 0/1 facts that score no pair lower, variables free to coincide.

    They are the given ones where these are like that already.
    """
    facts, semantics = engine.facts, model.semantics
    if not facts.soft and not semantics.distinct_variables:
        return model, engine
    rules = [rule for rule in model.rules if rule.clause.is_prior or not rule.clause.negated]
    model = replace(model.with_rules(rules), semantics=replace(semantics, distinct_variables=False))
    if not facts.soft:
        return model, engine
    true = {arity: replace(table, millionths=None) for arity, table in facts.atoms.items()}
    return model, engine.over(replace(facts, atoms=true))


@dataclass(frozen=True, eq=False)
class Margins:
    """Upper bounds on the margins of new pairs of one target.

    Model and engine are those of `bounding_model`; the rules are those of the reach's target.
    """

    model: RuleModel
    engine: MemoryEngine
    reach: Reach

    def above(self, subjects: Ids, floor: float) -> tuple[Ids, Ids, Floats]:
        """Pairs that are not facts and whose margin may reach `floor`: subject, object and margin.

        All that some rule for the target may have groundings for is among them.
        """
        edges = int(np.diff(self._walks.offsets)[subjects].sum()) + len(subjects)
        trie, n = self._rules.trie, len(self.engine.facts.entities)
        run = kernels.margins_above.choose(edges * len(trie.step), WORTH_COMPILING)
        scratch = kernels.MarginScratch.of(int(trie.depth.max()) + 1, n)
        room, next_row = kernels.MarginPairs.of(2 * n + ROOM), 0
        parts = [[column[:0] for column in room]]
        while next_row < len(subjects):
            next_row, size = run(
                self._walks, trie, self._rules.arrays, self._ends, SLACK, subjects, next_row, floor,
                scratch, room,
            )  # fmt: skip
            parts.append([column[:size].copy() for column in room])
        row, end, margin = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        kept = self.reach.fit(subjects[row], end)
        return subjects[row[kept]], end[kept], margin[kept]

    def most(self, subjects: Ids) -> Floats:
        """Upper bound on the margins of each subject, whatever the object."""
        ends, n = self._ends, len(self.engine.facts.entities)
        pull = sum((term.most(self._bounds, n) for term in self._rules.terms if term.weight > 0),
                   start=np.zeros(n))  # fmt: skip
        strength = pull + ends.near_strength + ends.far_strength.max(initial=0.0)
        bound: Floats = pull + ends.near + ends.far.max(initial=-np.inf) + 2 * SLACK * strength
        return bound[subjects]

    @property
    def ends_by_conditions(self) -> int:
        """Maximum number of objects that conditions alone may give a subject."""
        return int(np.diff(self._ends.first_led_to).max())

    @cached_property
    def _bounds(self) -> WalkBounds:
        return WalkBounds(self.engine, self.model.semantics.max_fanout)

    @cached_property
    def _conditions(self) -> tuple[EndConditions, EndConditions]:
        known = self.model, self.engine, self.reach.target
        return EndConditions(*known, 0), EndConditions(*known, 1)

    @cached_property
    def _rules(self) -> TermBuilder:
        return TermBuilder(self.model, self.engine.predicates, self._conditions, self._bounds)

    @cached_property
    def _walks(self) -> kernels.MarginGraph:
        """The graph, and the objects of the target's facts by subject."""
        n = len(self.engine.facts.entities)
        subject, object_ = self.reach.facts.links(self.reach.target)
        order = np.argsort(subject, kind="stable")
        offsets, neighbour, code, _ = self._bounds.graph.forward
        weight = self._bounds.step_weights if self.model.shares else np.ones(len(code))
        known = pointers(np.bincount(subject, minlength=n))
        return kernels.MarginGraph(offsets, neighbour, code, weight, known, object_[order])

    @cached_property
    def _ends(self) -> kernels.EndMargins:
        """Margins by conditions on both ends, and the objects that they lead to, best first."""
        near, far = (end.strengths() for end in self._conditions)
        margin, strength = far[0] - far[1], far[0] + far[1]
        bound = margin + SLACK * strength
        (starts, ends), (other_starts, other_ends) = self.reach.by_conditions
        led_to = [
            objects[np.argsort(-bound[objects], kind="stable")]
            for objects in map(np.flatnonzero, (ends & False, ends, other_ends, ends | other_ends))
        ]
        return kernels.EndMargins(
            near[0] - near[1], near[0] + near[1], margin, strength,
            starts + 2 * other_starts.astype(np.int64),
            pointers(np.array([len(objects) for objects in led_to])),
            np.concatenate(led_to).astype(np.int32),
        )  # fmt: skip
