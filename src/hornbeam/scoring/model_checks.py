"""Reads pairs for a model, and checks a model against the evidence (errors and warnings)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from hornbeam.base.progress import Progress
from hornbeam.base.texts import NUMBER, counted_list, shown_list
from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import check_targets
from hornbeam.counting.snapshot_engine import SnapshotEngine
from hornbeam.errors import InputError, UnknownTargetError, warn
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.events import warn_of_no_past
from hornbeam.facts.names import Names
from hornbeam.facts.reading.readers import Input, as_labels, as_pairs
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body, Part
from hornbeam.rules.clause import Clause
from hornbeam.rules.number_conditions import HAS
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts


class HasTargets(Protocol):
    """A model of either kind: it has rules for these predicates."""

    @property
    def targets(self) -> list[str]:
        """The predicates, in the order of their names."""

    @property
    def target_arities(self) -> dict[str, int]:
        """The predicates with the number of their arguments."""


def one_target(model: HasTargets, target: str | None) -> str:
    """The target of that name, or the only one."""
    if target is None and len(model.targets) == 1:
        return model.targets[0]
    if target is None:
        known = shown_list(model.targets)
        raise InputError(f"the model has several targets; name one by `target`: {known}")
    if target not in model.targets:
        raise UnknownTargetError(target, model.targets)
    return target


def named_atom(
    model: HasTargets, pair: Sequence[str], target: str | None, names: EntityNames = NO_NAMES
) -> tuple[str, str, str]:
    """Subject, predicate and object of a pair that may leave out the predicate.

    A target on one entity is given by the entity, with the predicate after it or without; its
    subject is also its object.
    """
    words = [pair] if isinstance(pair, str) else list(pair)
    unary = {name for name, arity in model.target_arities.items() if arity == 1}
    if len(words) == 2 and names.relation(words[1], unary) in unary and target in (None, words[1]):
        words, target = words[:1], words[1]
    elif len(words) == 3:
        words, target = [words[0], words[2]], words[1]
    if len(words) != 2 and not (unary and len(words) == 1):
        expected = "expected (subject, object) or (subject, predicate, object)"
        raise InputError(f"{pair!r} is not a pair; {expected}")
    name = one_target(model, target and names.relation(target, model.targets))
    if not (words[0] == words[-1] if name in unary else len(words) == 2):
        about = "one entity; expected (entity,) or (entity, predicate)"
        about = about if name in unary else "pairs; expected (subject, object)"
        raise InputError(f"{pair!r} was given, and {name!r} is about {about}")
    return words[0], name, words[-1]


def pairs_for(model: HasTargets, given: Input, names: EntityNames = NO_NAMES) -> Targets:
    """Pairs in any form; those without a predicate are of the one target that a model has.

    Relations may be given by names.
    """
    pairs = as_pairs(given, model.targets[0] if len(model.targets) == 1 else None)
    pairs = pairs.renamed({}, names.relations(pairs.predicates, model.targets))
    return _with_arities_of(model, pairs)


def labels_for(model: HasTargets, given: Input) -> Targets:
    """Labels in any form; those without a predicate are of the one target that a model has."""
    labels = as_labels(given, model.targets[0] if len(model.targets) == 1 else None)
    return _with_arities_of(model, labels)


def _with_arities_of(model: HasTargets, pairs: Targets) -> Targets:
    """Pairs as they are if their predicates have as many arguments as in the model.

    Pairs without labels may be rows of a target on one entity with its truth value, which was read
    as their object.
    """
    arities = model.target_arities
    for name in pairs.predicates:
        expected = arities.get(name)
        if expected in (None, pairs.arities[name]):
            continue
        rows = pairs.predicate == pairs.predicates.index(name)
        if expected == 1 and pairs.millionths is None and _hold_truths(pairs.select(rows)):
            object_ = np.where(rows, pairs.subject, pairs.object)
            pairs = replace(pairs, object=object_, unary=pairs.unary | {name})
            continue
        about = ["one entity", "pairs"]
        row = "entity, predicate" if expected == 1 else "subject, predicate, object"
        raise InputError(
            f"{name!r} is about {about[expected == 2]} in the model, and about "
            f"{about[expected == 1]} here; expected {row}"
        )
    return pairs


def _hold_truths(pairs: Targets) -> bool:
    """Whether the names of all objects are truth values."""
    names = [pairs.entities[o] for o in np.unique(pairs.object).tolist()]
    return all(NUMBER.fullmatch(name) and 0.0 <= float(name) <= 1.0 for name in names)


def check_arities(model: RuleModel, engine: Engine) -> None:
    """Refuse facts whose predicates have other numbers of arguments than in the rules.

    An attribute that the rules compare is a number, not a relation.
    """
    check_targets(engine, model.target_arities)
    _check_numbers(model, engine)
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
    if isinstance(engine, SnapshotEngine):
        engine = engine.timed  # its own facts are relations that rules ask for
    check_time(model, engine)
    check_arities(model, engine)
    _warn_of_missing_predicates(model, engine)
    _warn_of_missing_constants(model, engine)


def refuse_time(model: RuleModel, doing: str) -> None:
    """Refuse what a model over facts with a time does not do."""
    if model.semantics.time is not None:
        raise InputError(
            f"a model over facts with a time scores pairs at a time, and {doing}: give `pairs`"
        )


def check_time(model: RuleModel, engine: Engine) -> None:
    """Refuse facts without a time for a model over time, and the other way round."""
    unit, facts = model.semantics.time, engine.facts
    known = None if facts is None or facts.events is None else facts.events.unit
    if unit is not None and known is None:
        raise InputError(
            f"the model is over facts with a time (its unit is the {unit}), and these have none: "
            "name the column by `time`"
        )
    if unit is None and known is not None:
        raise InputError("the model was learned from facts without a time: leave out `time`")
    if unit is not known:
        raise InputError(f"times are {unit}s in the model and {known}s in the facts")
    if unit is not None:
        for step in {step for body in model.bodies for step in body.steps}:
            step.when.span(unit)


def _check_numbers(model: RuleModel, engine: Engine) -> None:
    """Refuse comparisons where the facts have no numbers, others, or a relation instead of them."""
    for number in (body.number for body in model.bodies if body.number is not None):
        if problem := number.problem(engine.numbers):
            raise InputError(f"{problem} in a rule")
    used = sorted(set[str]().union(*(body.attributes for body in model.bodies)))
    missing = [name for name in used if engine.numbers.attributes.index(name) < 0]
    for name in missing:
        if engine.predicates.index(name) >= 0:
            raise InputError(
                f"{name!r} is a relation of the facts, and the rules compare it as a number; "
                "expected an attribute that `numbers` or `dates` give"
            )
    names = ", ".join(map(repr, missing))
    if missing and not len(engine.numbers):
        raise InputError(
            f"the rules compare {names}, and the facts have no numbers: give them by `numbers`, "
            "dates by `dates`"
        )


def _warn_of_missing_predicates(model: RuleModel, engine: Engine) -> None:
    used = set[str]().union(*(body.predicates for body in model.bodies))
    used -= {*model.believed, *(model.targets if model.semantics.collective else ())}
    used -= {HAS + name for name in engine.numbers.attributes}
    compared = set[str]().union(*(body.attributes for body in model.bodies))
    unknown = sorted(name for name in compared if engine.numbers.attributes.index(name) < 0)
    if unknown:
        names = ", ".join(map(repr, unknown))
        warn(f"the numbers have no attribute {names}; its comparisons have no groundings")
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
        shown = shown_list(map(repr, missing))
        warn(f"no fact has {shown}; conditions on such constants have no groundings")


def warn_of_other_targets(model: RuleModel, pairs: Targets) -> None:
    """Warn about pairs of predicates that have no rule."""
    others = sorted(set(pairs.predicates) - set(model.targets))
    if others:
        shown, rules = counted_list(map(repr, others)), ", ".join(map(repr, model.targets))
        warn(f"the model has no rule for {shown}, only for {rules}; such pairs score 0.5")


def report_unseen(model: RuleModel, engine: Engine, pairs: Targets, progress: Progress) -> None:
    """Report how many pairs have an entity that no fact has, or are asked before the first fact."""
    events = None if engine.facts is None else engine.facts.events
    # times of another unit are refused where pairs are counted
    if pairs.time is not None and events is not None and pairs.unit is events.unit:
        warn_of_no_past(events, pairs.time, ("pair", "pairs"))
    unknown = engine.locate(pairs.entities) < 0
    unseen = int(np.count_nonzero(unknown[pairs.subject] | unknown[pairs.object]))
    if unseen:
        subject = "1 pair names" if unseen == 1 else f"{unseen:,} pairs name"
        others = " and by the other pairs" if model.semantics.collective else ""
        scored = "it scores" if unseen == 1 else "they score"
        progress.message(f"{subject} an entity that no fact has; {scored} by the prior{others}.")
