"""The rules of one target, with ids in place of names, prepared once for walking and scoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.model import Model
from hornbeam.rules.body import Body, free_argument
from hornbeam.rules.codes import path_codes, reversed_sequence
from hornbeam.scoring.cached_counts import CachedCounts
from hornbeam.scoring.rule_columns import RuleLayout
from hornbeam.serve.walk import DEAD_END, StepSequences


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
        positive = [not one.is_prior and not one.negated for one in clauses]
        supporting = [one.body for one, is_for in zip(clauses, positive, strict=True) if is_for]
        wanted = {part.body for body in supporting for part in body.parts}
        free = [free_argument(clause.body) for clause in clauses]
        supporting_rules = {
            place: np.array(
                [is_for and one == place for one, is_for in zip(free, positive, strict=True)],
                dtype=np.bool_,
            )
            for place in (None, 0, 1)
        }
        return cls(
            members,
            of_target,
            bodies,
            paths,
            np.array([body in wanted for body in paths], dtype=np.bool_),
            StepSequences.of(codes),
            StepSequences.of([reversed_sequence(steps) for steps in codes]),
            RuleLayout.of(of_target, bodies),
            supporting_rules,
        )

    @property
    def paths_only(self) -> bool:
        """Whether all conditions are paths, so that walks find and count all there is."""
        return len(self.paths) == len(self.bodies)

    def kept(self, pairs: Targets, counted: Statistics) -> CachedCounts:
        """Counts of pairs, to be scored by these rules."""
        return CachedCounts(self.model, self.layout, counted, pairs)
