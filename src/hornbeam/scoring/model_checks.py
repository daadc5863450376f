"""Reads pairs for a model, and checks a model against the evidence (errors and warnings)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.base.progress import Progress
from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import check_targets
from hornbeam.errors import InputError, UnknownTargetError, warn
from hornbeam.facts.names import Names
from hornbeam.facts.reading.readers import Input, as_labels, as_pairs
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body, Part
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts


class HasTargets(Protocol):
    """A model of either kind: it has rules for these predicates."""

    @property
    def targets(self) -> list[str]:
        """The predicates, in the order of their names."""


def one_target(model: HasTargets, target: str | None) -> str:
    """The target of that name, or the only one."""
    if target is None and len(model.targets) == 1:
        return model.targets[0]
    if target is None:
        known = ", ".join(model.targets[:10]) + ", ..." * (len(model.targets) > 10)
        raise InputError(f"the model has several targets; name one by `target`: {known}")
    if target not in model.targets:
        raise UnknownTargetError(target, model.targets)
    return target


def named_atom(model: HasTargets, pair: Sequence[str], target: str | None) -> tuple[str, str, str]:
    """Subject, predicate and object of a pair that may leave out the predicate."""
    if isinstance(pair, str) or len(pair) not in (2, 3):
        raise InputError(
            f"{pair!r} is not a pair; expected (subject, object) or (subject, predicate, object)"
        )
    return pair[0], one_target(model, pair[1] if len(pair) == 3 else target), pair[-1]


def pairs_for(model: HasTargets, given: Input) -> Targets:
    """Pairs in any form; those without a predicate are of the one target that a model has."""
    return as_pairs(given, model.targets[0] if len(model.targets) == 1 else None)


def labels_for(model: HasTargets, given: Input) -> Targets:
    """Labels in any form; those without a predicate are of the one target that a model has."""
    return as_labels(given, model.targets[0] if len(model.targets) == 1 else None)


def check_arities(model: RuleModel, engine: Engine) -> None:
    """Refuse facts whose predicates have other numbers of arguments than in the rules."""
    check_targets(engine, model.targets)
    for step in sorted({step for body in model.bodies for step in body.steps}):
        known = engine.predicates.index(step.predicate) >= 0
        arity = engine.not_binary.get(step.predicate, 2)
        if known and arity != step.arity:
            raise InputError(
                f"{step.predicate!r} has {step.arity} argument{'s' * (step.arity != 1)} in the "
                f"rules and {arity} in the facts; expected the same number"
            )


def warn_of_missing_names(model: RuleModel, engine: Engine) -> None:
    """Warn about rules over predicates, or constants, that the facts do not have."""
    check_arities(model, engine)
    _warn_of_missing_predicates(model, engine)
    _warn_of_missing_constants(model, engine)


def _warn_of_missing_predicates(model: RuleModel, engine: Engine) -> None:
    used = set[str]().union(*(body.predicates for body in model.bodies))
    used -= set(model.believed)
    missing = sorted(name for name in used if engine.predicates.index(name) < 0)
    if missing:
        warn(
            f"the facts have no predicate {', '.join(map(repr, missing))}; "
            "its rules have no groundings"
        )


def collective_path(clause: Clause) -> Body:
    """The path of a rule of a collective model, empty for a prior; any other rule is refused.

    Its ground clauses contain several pairs at once, each of them counted as it is.
    """
    part, *others = clause.body.parts or (Part(Body((), clause.target)),)
    plain = clause.weighing is None or clause.weighing.counts is Counts.RAW
    path = part.body.is_path and all(step.arity == 2 for step in part.body.steps)
    if others or part.threshold is not None or not plain or not path:
        raise InputError(
            "a collective model takes rules of one path between the two arguments, with raw "
            f"counts, and not this one: {clause}"
        )
    return part.body


def check_collective(model: RuleModel) -> None:
    """Refuse rules that a collective model cannot have."""
    counts = model.semantics.counts
    if counts is not Counts.RAW:
        raise InputError(
            f"a collective model has raw counts, not {counts.value}: its ground clauses "
            "contain several pairs at once"
        )
    for rule in model.rules:
        collective_path(rule.clause)


def _warn_of_missing_constants(model: RuleModel, engine: Engine) -> None:
    used = sorted({body.constant for body in model.bodies if body.constant is not None})
    if not used:
        return
    names = Names.of(used)
    located = engine.locate(names)
    missing = [name for name, entity in zip(names, located.tolist(), strict=True) if entity < 0]
    if missing:
        shown = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
        warn(f"no fact has {shown}; conditions on such constants have no groundings")


def warn_of_other_targets(model: RuleModel, pairs: Targets) -> None:
    """Warn about pairs of predicates that have no rule."""
    others = sorted(set(pairs.predicates) - set(model.targets))
    if others:
        shown = ", ".join(map(repr, others[:10]))
        shown += f" and {len(others) - 10:,} others" if len(others) > 10 else ""
        rules = ", ".join(map(repr, model.targets))
        warn(f"the model has no rule for {shown}, only for {rules}; such pairs score 0.5")


def report_unseen(model: RuleModel, located: Ids, pairs: Targets, progress: Progress) -> None:
    """Report how many pairs have an entity that no fact has, and how they are scored.

    `located` are the ids of the pairs' entities in the evidence, -1 where it lacks them.
    """
    unknown = located < 0
    unseen = int(np.count_nonzero(unknown[pairs.subject] | unknown[pairs.object]))
    if unseen:
        subject = "1 pair names" if unseen == 1 else f"{unseen:,} pairs name"
        others = " and by the other pairs" if model.semantics.collective else ""
        scored = "it scores" if unseen == 1 else "they score"
        progress.message(f"{subject} an entity that no fact has; {scored} by the prior{others}.")
