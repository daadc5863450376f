"""Scores of all entities as the other argument, for models whose conditions propose many of them.

A rule with a condition on one argument alone, such as `p(B, X)`, proposes the same entities to many
queries, and most of them have no path to the known argument. Their strengths need not be counted
pair by pair: they are sums of three terms, from conditions on the subject, from conditions on the
object, and from paths, of which the first two are counted once per entity. Only pairs that are
facts of the target are counted one by one, since a pair's own edge is never evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Positions
from hornbeam.base.choices import Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import AnyBody, Body, Step, free_argument
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.end_conditions import first_unlinked, only_argument
from hornbeam.scoring.independent_scorer import strengths
from hornbeam.scoring.proposable import grounded_pairs, positive_bodies, proposable
from hornbeam.scoring.reach import Reach

#: Approximate maximum number of pairs in memory at a time.
MAX_PAIRS = 4_000_000


def is_separable(model: RuleModel, facts: Facts) -> bool:
    """Whether rules of one target propose pairs by one argument alone, and add up by argument.

    Not if a rule has conditions on both arguments without a path, if a condition on one argument
    must differ from the other (distinct variables), or if bodies are soft.
    """
    wide = any(free_argument(body) is not None for body in positive_bodies(model))
    apart = all(_has_path(rule) or only_argument(rule) is not None for rule in model.rules)
    return wide and apart and not facts.soft and not model.semantics.distinct_variables


class ProposedBlock(NamedTuple):
    """Entities proposed to some known arguments, the best of each argument first.

    `row` is the argument's position among all known arguments, and `done` the number of these that
    are finished.
    """

    done: int
    row: Integers
    entity: Ids
    score: Floats


@dataclass(frozen=True, eq=False)
class SeparableScores:
    """Scores of pairs of one target from known arguments to all entities.

    `near` is 0 where subjects are known, 1 where objects are; the rules are those of the target.
    """

    model: RuleModel
    engine: MemoryEngine
    target: str
    near: int
    types: ArgumentTypes
    score: Score = Score.MEAN

    def blocks(self, starts: Ids) -> Iterator[ProposedBlock]:
        """Proposals for known arguments, a block of them at a time."""
        size = max(1, MAX_PAIRS // len(self.engine.facts.entities))
        for low in range(0, len(starts), size):
            row, end, scores = self._scored(starts[low : low + size])
            yield ProposedBlock(min(low + size, len(starts)), row + low, end, scores)

    def _scored(self, starts: Ids) -> tuple[Positions, Ids, Floats]:
        (far_up, far_down, far_met), (near_up, near_down, near_met) = self._far, self._near(starts)
        up, down = near_up[:, None] + far_up, near_down[:, None] + far_down
        connected = np.zeros(up.shape, dtype=np.bool_)
        self._add_paths(starts, up, down, connected)
        ends = np.arange(up.shape[1], dtype=np.int32)
        subject, object_ = self._ordered(starts[:, None], ends[None, :])
        grounded = {None: connected, self.near: far_met[None, :], 1 - self.near: near_met[:, None]}
        reached = proposable(self.types, self.target, subject, object_, grounded)
        self._correct_facts(starts, up, down, reached)
        closed_form = score_map if self.score is Score.MAP else score_mean
        scores = np.full(up.shape, -np.inf)
        scores[reached] = closed_form(up[reached], down[reached], self.model.semantics.relaxation)
        order = np.argsort(-scores, axis=1, kind="stable")
        sizes = np.count_nonzero(reached, axis=1)
        row = np.repeat(np.arange(len(starts)), sizes)
        first = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        end = order[row, first]
        return row, end.astype(np.int32), scores[row, end]

    def _add_paths(self, starts: Ids, up: Floats, down: Floats, connected: Bools) -> None:
        """Add the strengths of rules with paths to the pairs that they connect.

        Those that a rule for the target connects are set in `connected`.
        """
        rules = self._path_rules
        for row, end, pairs in self._connected(self._paths, starts):
            counted = self.engine.count(pairs, rules.bodies, self.model.language)
            more_up, more_down = strengths(rules, counted, pairs)
            up[row, end] += more_up
            down[row, end] += more_down
            grounded = grounded_pairs(counted, positive_bodies(rules)).get(None, False)
            connected[row, end] = grounded

    def _correct_facts(self, starts: Ids, up: Floats, down: Floats, reached: Bools) -> None:
        """Count pairs that are facts of the target one by one, without their own edges."""
        leading = positive_bodies(self.model)
        for row, end, pairs in self._connected(self._stated, starts):
            counted = self.engine.count(pairs, self.model.bodies, self.model.language)
            up[row, end], down[row, end] = strengths(self.model, counted, pairs)
            reached[row, end] = proposable(
                self.types, self.target, pairs.subject, pairs.object,
                grounded_pairs(counted, leading),
            )  # fmt: skip

    def _connected(self, reach: Reach, starts: Ids) -> Iterator[tuple[Positions, Ids, Targets]]:
        """Pairs that bodies connect: rows of the starts, entities, and both as targets."""
        for _, start, end in reach.blocks(starts):
            yield np.searchsorted(starts, start), end, self._pairs(start, end)

    @cached_property
    def _paths(self) -> Reach:
        bodies = [rule.clause.body for rule in self._path_rules.rules]
        return self._reach(bodies)

    @cached_property
    def _stated(self) -> Reach:
        own = Body((Step(self.target),), self.target)
        return self._reach([own])

    def _reach(self, bodies: Sequence[AnyBody]) -> Reach:
        return Reach(self.engine.with_projections, self.target, bodies, self.types, self.near)

    @cached_property
    def _far(self) -> tuple[Floats, Floats, Bools]:
        """Strengths of priors and conditions on the other argument; where a positive one holds."""
        others = first_unlinked(self.engine.facts, self.target, 1 - self.near)
        return self._counted(self._far_rules, others, np.arange(len(others), dtype=np.int32))

    def _near(self, starts: Ids) -> tuple[Floats, Floats, Bools]:
        """Strengths of conditions on the known argument; where a positive one holds."""
        return self._counted(self._near_rules, starts, self._unlinked[starts])

    def _counted(self, rules: RuleModel, start: Ids, end: Ids) -> tuple[Floats, Floats, Bools]:
        """Strengths of rules for pairs, and which pairs have a grounding of a positive one."""
        pairs = self._pairs(start, end)
        counted = self.engine.count(pairs, rules.bodies, self.model.language)
        met = np.zeros(len(pairs), dtype=np.bool_)
        for mask in grounded_pairs(counted, positive_bodies(rules)).values():
            met |= mask
        return *strengths(rules, counted, pairs), met

    @cached_property
    def _unlinked(self) -> Ids:
        """For every known argument an entity that the target does not link it to."""
        return first_unlinked(self.engine.facts, self.target, self.near)

    def _pairs(self, start: Ids, end: Ids) -> Targets:
        """Pairs of known and proposed entities."""
        subject, object_ = self._ordered(start, end)
        return Targets.between(self.engine.facts.entities, self.target, subject, object_)

    def _ordered(self, start: Ids, end: Ids) -> tuple[Ids, Ids]:
        """Subjects and objects of pairs."""
        return (end, start) if self.near else (start, end)

    @cached_property
    def _path_rules(self) -> RuleModel:
        return self.model.with_rules(rule for rule in self.model.rules if _has_path(rule))

    @cached_property
    def _far_rules(self) -> RuleModel:
        priors = [rule for rule in self.model.rules if rule.clause.is_prior]
        return self.model.with_rules([*priors, *self._conditions(1 - self.near)])

    @cached_property
    def _near_rules(self) -> RuleModel:
        return self.model.with_rules(self._conditions(self.near))

    def _conditions(self, argument: int) -> list[Rule]:
        """Rules with conditions on one argument only."""
        rules = (rule for rule in self.model.rules if not rule.clause.is_prior)
        return [rule for rule in rules if only_argument(rule) == argument]


def _has_path(rule: Rule) -> bool:
    return any(part.body.is_path for part in rule.clause.body.parts)
