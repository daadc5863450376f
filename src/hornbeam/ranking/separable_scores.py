"""Scores of all entities as the other argument, for models whose conditions propose many of them.

A condition `p(B, X)` depends on the object alone, so a rule with it proposes the same entities to
every query, most of which have no path to the known argument. Their strengths need not be counted
pair by pair: they are sums of three terms, from conditions on the subject, from conditions on the
object, and from paths, of which the first two are counted once per entity. Only pairs that are
facts of the target are counted one by one, since a pair's own edge is never evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Positions
from hornbeam.base.choices import Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import AnyBody, Body, Step
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.end_conditions import first_unlinked, only_argument
from hornbeam.scoring.independent_scorer import strengths
from hornbeam.scoring.proposals import grounded_for, is_positive
from hornbeam.scoring.reach import Reach

#: Approximate maximum number of pairs in memory at a time.
MAX_PAIRS = 4_000_000


def is_separable(model: RuleModel, facts: Facts, near: int) -> bool:
    """Whether rules of one target propose entities by conditions alone, which add up by argument.

    Not if a rule has conditions on both arguments without a path, if a condition on one argument
    must differ from the other (distinct variables), or if bodies are soft.
    """
    wide = any(is_positive(rule) and only_argument(rule) == 1 - near for rule in model.rules)
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
    score: Score = Score.MEAN

    def blocks(self, starts: Ids) -> Iterator[ProposedBlock]:
        """Proposals for known arguments, a block of them at a time."""
        size = max(1, MAX_PAIRS // len(self.engine.facts.entities))
        for low in range(0, len(starts), size):
            row, end, scores = self._scored(starts[low : low + size])
            yield ProposedBlock(min(low + size, len(starts)), row + low, end, scores)

    def _scored(self, starts: Ids) -> tuple[Positions, Ids, Floats]:
        far_up, far_down, met = self._far
        near_up, near_down = self._near(starts)
        up, down = near_up[:, None] + far_up, near_down[:, None] + far_down
        reached = np.tile(met, (len(starts), 1))
        self._add_paths(starts, up, down, reached)
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

    def _add_paths(self, starts: Ids, up: Floats, down: Floats, reached: Bools) -> None:
        """Add the strengths of rules with paths to the pairs that they connect."""
        rules = self._path_rules
        for row, end, pairs in self._connected(self._paths, starts):
            counted = self.engine.count(pairs, rules.bodies, self.model.language)
            more_up, more_down = strengths(rules, counted, pairs)
            up[row, end] += more_up
            down[row, end] += more_down
            grounded = grounded_for(counted, _positive_bodies(rules))
            reached[row[grounded], end[grounded]] = True

    def _correct_facts(self, starts: Ids, up: Floats, down: Floats, reached: Bools) -> None:
        """Count pairs that are facts of the target one by one, without their own edges."""
        leading = [*_positive_bodies(self._path_rules), *_positive_bodies(self._far_rules)]
        for row, end, pairs in self._connected(self._stated, starts):
            counted = self.engine.count(pairs, self.model.bodies, self.model.language)
            up[row, end], down[row, end] = strengths(self.model, counted, pairs)
            grounded = grounded_for(counted, leading)
            reached[row, end] = False
            reached[row[grounded], end[grounded]] = True

    def _connected(self, reach: Reach, starts: Ids) -> Iterator[tuple[Positions, Ids, Targets]]:
        """Pairs that bodies connect: rows of the starts, entities, and both as targets."""
        for _, start, end in reach.blocks(starts):
            yield np.searchsorted(starts, start), end, self._pairs(start, end)

    @cached_property
    def _paths(self) -> Reach:
        bodies = [rule.clause.body for rule in self._path_rules.rules]
        return Reach(self.engine.with_projections, self.target, bodies, self.near)

    @cached_property
    def _stated(self) -> Reach:
        own = Body((Step(self.target),), self.target)
        return Reach(self.engine.with_projections, self.target, [own], self.near)

    @cached_property
    def _far(self) -> tuple[Floats, Floats, Bools]:
        """Strengths of priors and conditions on the other argument; where a positive one holds."""
        rules = self._far_rules
        all_entities = np.arange(len(self.engine.facts.entities), dtype=np.int32)
        pairs = self._pairs(
            first_unlinked(self.engine.facts, self.target, 1 - self.near), all_entities
        )
        counted = self.engine.count(pairs, rules.bodies, self.model.language)
        up, down = strengths(rules, counted, pairs)
        met = np.zeros(len(all_entities), dtype=np.bool_)
        met[grounded_for(counted, _positive_bodies(rules))] = True
        return up, down, met

    def _near(self, starts: Ids) -> tuple[Floats, Floats]:
        """Strengths of conditions on the known argument."""
        rules, pairs = self._near_rules, self._pairs(starts, self._unlinked[starts])
        return strengths(rules, self.engine.count(pairs, rules.bodies, rules.language), pairs)

    @cached_property
    def _unlinked(self) -> Ids:
        """For every known argument an entity that the target does not link it to."""
        return first_unlinked(self.engine.facts, self.target, self.near)

    def _pairs(self, start: Ids, end: Ids) -> Targets:
        """Pairs of known and proposed entities."""
        subject, object_ = (end, start) if self.near else (start, end)
        return Targets.between(self.engine.facts.entities, self.target, subject, object_)

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


def _positive_bodies(model: RuleModel) -> list[AnyBody]:
    """Bodies of the rules in favour of their target."""
    return [rule.clause.body for rule in model.rules if is_positive(rule)]
