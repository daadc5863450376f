"""The one definition of which pairs may be proposed as new links; every search is held to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from hornbeam.base.arrays import Bools, Integers
from hornbeam.counting.columns import Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.rules.body import AnyBody, free_argument
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.weighing import Counts, Weighing

#: Which pairs have a grounding of some rule for the target, by the argument that the rule leaves
#: free (None where it has conditions on both).
GroundedPairs = Mapping[int | None, Bools]


def proposable(
    types: ArgumentTypes,
    target: str,
    subject: Integers,
    object_: Integers,
    grounded: GroundedPairs,
) -> Bools:
    """Which pairs may be proposed; whether they are facts already is for callers to look at.

    A pair may be proposed if it is not a fact, some rule for its relation has a grounding for it,
    an argument on which that rule has no condition occurs in its place in a known link, both
    arguments have types that known links have in their places, and they are the same entity only
    where a known link is such a loop.

    Without any known link an argument may be any entity, and so it may where types are not known. A
    rule against the relation never adds a pair. Known links are facts and, in the explorer, true
    labels.

    Subjects, objects and the masks of `grounded` are broadcast against each other.
    """
    may: Bools = np.zeros(1, dtype=np.bool_)
    for free, mask in grounded.items():
        standing = None if free is None else types.standing(target, free)
        may = may | (mask if standing is None else mask & standing[(object_ if free else subject)])
    return may & types.fits(target, subject, object_)


def is_positive(rule: Rule) -> bool:
    """Whether a rule with a body and some weight is for its target."""
    return not rule.clause.is_prior and not rule.clause.negated and rule.weight > 0


def positive_bodies(model: RuleModel) -> list[AnyBody]:
    """Bodies of the rules in favour of their target."""
    return [rule.clause.body for rule in model.rules if is_positive(rule)]


def grounded_pairs(counted: Statistics, bodies: Iterable[AnyBody]) -> GroundedPairs:
    """Which of the counted pairs have a grounding of one of the bodies, by their free argument."""
    columns, exists = Columns(counted), Weighing(Counts.EXISTS)
    grounded: dict[int | None, Bools] = {}
    for body in bodies:
        mask = grounded.setdefault(free_argument(body), np.zeros(counted.n_targets, dtype=np.bool_))
        mask[columns.of(body, exists)[0]] = True
    return grounded
