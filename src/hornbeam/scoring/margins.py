"""Margins of all pairs of an entity at once, so that only the best need be counted one by one.

Pairs are found from one of their arguments, the start: the subject, or the object. The margin of a
pair is A - B, what its rules add for the link less what they add against it. It is a sum of

    near(a)         rules whose conditions are about the start, and priors
    far(b)          rules whose conditions are about the other end
    term(a, b)      rules with a path, or with conditions on both ends

A condition on one argument is a column over entities (`hornbeam.scoring.margin_terms`); a path's
groundings and shares come for all ends together by walking from the start, common first steps
once. Where a rule has two paths, the second one's groundings are not known at the end of the first:
they are bounded by all that the start may have, and a rule against the link is left out. So margins
are upper bounds, and exact except for that and for rounding, which `SLACK` covers.

Soft facts and distinct variables only reduce groundings: where every fact is wholly true and
variables may coincide, a rule has as many groundings, each at least as true. So a model and facts
like that (`bounding_model`) bound what rules for the link add; those against it are left out there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, pointers, ranges
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.table import Facts
from hornbeam.rules.body import free_argument
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts
from hornbeam.scoring import margin_kernels as kernels
from hornbeam.scoring.margin_kernels import PairBounds
from hornbeam.scoring.margin_terms import (
    EndConditions,
    TermBuilder,
    WalkBounds,
    positive_bodies,
    walked_graph,
)

#: Fraction of all strengths in a margin: far more than its rounding error.
SLACK = 1e-11
#: Pairs of one call of the kernel, beyond those that two subjects may have.
ROOM = 1 << 16
#: Edges to walk above which compiling pays.
WORTH_COMPILING = 20_000


def is_plain(model: RuleModel, facts: Facts) -> bool:
    """Whether facts are 0/1 and variables may coincide, so that walks find exact counts."""
    return not (facts.soft or model.semantics.distinct_variables)


def bounding_model(model: RuleModel, engine: MemoryEngine) -> tuple[RuleModel, MemoryEngine]:
    """A model and an engine over 0/1 facts that score no pair lower, variables free to coincide.

    Returns `model` and `engine` themselves where `is_plain`.
    """
    facts, semantics = engine.facts, model.semantics
    if is_plain(model, facts):
        return model, engine
    rules = [rule for rule in model.rules if rule.clause.is_prior or not rule.clause.negated]
    values = [rule for rule in model.rules if model.counts_of(rule.clause).counts is Counts.Z]
    rules += [rule for rule in values if rule.clause.negated]
    model = replace(model.with_rules(rules), semantics=replace(semantics, distinct_variables=False))
    if not facts.soft:
        return model, engine
    true = {arity: replace(table, millionths=None) for arity, table in facts.atoms.items()}
    return model, engine.over(replace(facts, atoms=true))


@dataclass(frozen=True, eq=False)
class Margins:
    """Upper bounds on the margins of new pairs of one target, from their argument `near`.

    Model and engine are those of `bounding_model`; the rules are those of the target.
    """

    model: RuleModel
    engine: MemoryEngine
    target: str
    types: ArgumentTypes
    near: int = 0  #: 0 to start from subjects, 1 from objects

    def above(self, starts: Ids, floor: float) -> PairBounds:
        """Pairs that are not facts and whose margin may reach `floor`.

        All that some rule for the target may have groundings for is among them, if it fits.
        """
        trie, n = self._rules.trie, len(self.engine.facts.entities)
        edges = int(np.diff(self._walks.offsets)[starts].sum()) + len(starts)
        without_path = len(starts) * n * int(trie.first[1])
        run = kernels.margins_above.choose(edges * len(trie.step) + without_path, WORTH_COMPILING)
        scratch = kernels.MarginScratch.of(int(trie.depth.max()) + 1, n)
        room, next_row = PairBounds.of(2 * n + ROOM), 0
        parts = [[column[:0] for column in room]]
        while next_row < len(starts):
            next_row, size = run(
                self._walks, trie, self._rules.arrays, self._ends, SLACK, starts, next_row, floor,
                scratch, room,
            )  # fmt: skip
            parts.append([column[:size].copy() for column in room])
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        found = PairBounds(*columns)
        return found.take(self.types.fits(self.target, *self.ordered(found.start, found.end)))

    def most(self, starts: Ids) -> Floats:
        """Upper bound on the margins of each start, whatever the end."""
        ends, n = self._ends, len(self.engine.facts.entities)
        pull = sum((term.most(self._bounds) for term in self._rules.terms if term.weight > 0),
                   start=np.zeros(n))  # fmt: skip
        strength = pull + ends.near_strength + ends.far_strength.max(initial=0.0)
        bound: Floats = pull + ends.near + ends.far.max(initial=-np.inf) + 2 * SLACK * strength
        return bound[starts]

    def by_ends(self, start: Ids, end: Ids) -> tuple[Floats, Floats]:
        """A and B of new pairs by priors and rules with conditions on one argument alone."""
        near, far = (conditions.strengths for conditions in self._conditions)
        return near[0][start] + far[0][end], near[1][start] + far[1][end]

    def grounded_by_ends(self, start: Ids, end: Ids) -> dict[int | None, Bools]:
        """Which new pairs have a grounding of a rule for the target about one argument alone.

        By the argument that the rule leaves free; see `hornbeam.scoring.proposals.proposable`.
        """
        return {self.near: self._meeting[1][end], 1 - self.near: self._meeting[0][start]}

    def facts_of(self, starts: Ids) -> tuple[Ids, Ids]:
        """Starts and ends of the target's facts."""
        offsets, known = self._known
        low, high = offsets[starts], offsets[starts + 1]
        return np.repeat(starts, high - low), known[ranges(low, high)]

    def ordered(self, start: Ids, end: Ids) -> tuple[Ids, Ids]:
        """Subjects and objects of pairs from starts to ends, or the other way round."""
        return (end, start) if self.near else (start, end)

    @property
    def ends_by_conditions(self) -> int:
        """Maximum number of ends that conditions alone may give a start."""
        return int(np.diff(self._ends.first_led_to).max())

    @cached_property
    def _walks(self) -> kernels.WalkedGraph:
        return walked_graph(self.model, self.engine, self.near)

    @cached_property
    def _bounds(self) -> WalkBounds:
        return WalkBounds(self._walks)

    @cached_property
    def _conditions(self) -> tuple[EndConditions, EndConditions]:
        known = self.model, self.engine, self.target
        return EndConditions(*known, self.near), EndConditions(*known, 1 - self.near)

    @cached_property
    def _rules(self) -> TermBuilder:
        return TermBuilder(self.model, self.engine.predicates, self._conditions, self._bounds)

    @cached_property
    def _known(self) -> tuple[Ints, Ids]:
        """The ends of the target's facts by start: where each start's begin, and the ends."""
        links = self.engine.with_projections.links(self.target)
        start, end = links[self.near], links[1 - self.near]
        order = np.argsort(start, kind="stable")
        return pointers(np.bincount(start, minlength=len(self.engine.facts.entities))), end[order]

    @cached_property
    def _ends(self) -> kernels.EndMargins:
        """Margins by conditions on either end, and the ends that they lead to, best first."""
        near, far = (end.strengths for end in self._conditions)
        margin, strength = far[0] - far[1], far[0] + far[1]
        bound = margin + SLACK * strength
        # rules about the end alone lead from `starts` to `ends`, those about the start alone from
        # `other_starts` to `other_ends`
        starts, ends = self._standing(0), self._meeting[1]
        other_starts, other_ends = self._meeting[0], self._standing(1)
        led_to = [
            objects[np.argsort(-bound[objects], kind="stable")]
            for objects in map(np.flatnonzero, (ends & False, ends, other_ends, ends | other_ends))
        ]
        return kernels.EndMargins(
            near[0] - near[1], near[0] + near[1], margin, strength,
            starts + 2 * other_starts.astype(np.int64),
            pointers(np.array([len(objects) for objects in led_to])),
            np.concatenate(led_to).astype(np.int32), *self._known,
        )  # fmt: skip

    @cached_property
    def _meeting(self) -> tuple[Bools, Bools]:
        """Which entities meet rules for the target about the start alone, or the end alone."""
        met = np.zeros((2, len(self.engine.facts.entities)), dtype=np.bool_)
        for body in positive_bodies(self.model):
            for conditions, entities in zip(self._conditions, met, strict=True):
                factor = conditions.factor(body.parts)
                if factor is not None and free_argument(body) == 1 - conditions.argument:
                    entities |= factor > 0
        return met[0], met[1]

    def _standing(self, end: int) -> Bools:
        """Which entities may be starts (0) or ends (1) for rules without a condition on them."""
        standing = self.types.standing(self.target, self._conditions[end].argument)
        return np.ones(len(self.engine.facts.entities), np.bool_) if standing is None else standing
