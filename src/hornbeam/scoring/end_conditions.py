"""Contributions of conditions on one argument: once per entity, for all values of the other.

A pair's own edge is not evidence for it, so a condition on one end may count one fact less for
a pair that is linked. Every entity is therefore counted in a pair with one that the target does not
link it to: its counts are the same with all others that the target does not link it to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, Ids, run_starts
from hornbeam.counting.columns import Columns
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import Part, free_argument
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.independent_scorer import strengths


@dataclass(frozen=True, eq=False)
class EndConditions:
    """Conditions of rules on the subject (`argument` 0) or object (1) of one target."""

    model: RuleModel
    engine: MemoryEngine
    target: str
    argument: int

    @cached_property
    def strengths(self) -> tuple[Floats, Floats]:
        """A and B of rules on this end alone, for every entity; priors are with subjects."""
        rules = (rule for rule in self.model.rules if only_argument(rule) == self.argument)
        return strengths(self.model.with_rules(rules), self._columns.statistics, self._pairs)

    def conditions(self, parts: Sequence[Part]) -> list[Part]:
        """Those parts of a body that are conditions on this end."""
        return [p for p in parts if not p.body.is_path and p.body.argument == self.argument]

    def factor(self, parts: Sequence[Part]) -> Floats:
        """For every entity the factor of a body's conditions on this end in its groundings.

        Facts are true or absent here, so that a condition has one row per entity.
        """
        product = np.ones(len(self.engine.facts.entities))
        for part in self.conditions(parts):
            grounded = self._columns.grounded_part(part)
            factor = np.zeros(len(product))
            factor[grounded.target] = grounded.number
            product *= factor
        return product

    @cached_property
    def _pairs(self) -> Targets:
        facts = self.engine.facts
        all_entities = np.arange(len(facts.entities), dtype=np.int32)
        others = first_unlinked(facts, self.target, self.argument)
        subject, object_ = (others, all_entities) if self.argument else (all_entities, others)
        return Targets.between(facts.entities, self.target, subject, object_)

    @cached_property
    def _columns(self) -> Columns:
        bodies = [
            body
            for body in self.model.bodies
            if not body.is_path and body.argument == self.argument
        ]
        return Columns(self.engine.count(self._pairs, bodies, self.model.language))


def only_argument(rule: Rule) -> int | None:
    """The only argument that a rule depends on, 0 for priors; None if it depends on both."""
    free = 1 if rule.clause.is_prior else free_argument(rule.clause.body)
    return None if free is None else 1 - free


def first_unlinked(facts: Facts, target: str, argument: int) -> Ids:
    """For every entity in a place the first that the target does not link it to.

    That pair has no edge of its own, so that conditions on the one place add what they add with any
    other unlinked entity; 0 for an entity that is linked to all.
    """
    links, n = facts.links(target), len(facts.entities)
    here, there = links[argument], links[1 - argument]
    order = np.lexsort((there, here))
    here, there = here[order], there[order]
    starts = run_starts(here) if len(here) else np.empty(0, dtype=np.int64)
    sizes = np.diff(np.append(starts, len(here)))
    # neighbours ascend: while the k-th equals k there is no gap, so their number is the first gap
    in_place = there == np.arange(len(here)) - np.repeat(starts, sizes)
    first_gap = np.bincount(here, in_place, n).astype(np.int32)
    return np.where(first_gap < n, first_gap, 0).astype(np.int32)
