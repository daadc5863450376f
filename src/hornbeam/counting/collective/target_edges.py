"""Targets as edges: the graph of facts and of targets that stand for facts.

In collective models a body may hold targets, so the graph that is walked has more edges than the
facts, and may have more entities.
"""

from __future__ import annotations

import numpy as np

from hornbeam.arrays import run_starts
from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import facts_in_memory
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.ordering import sort_edges
from hornbeam.facts.table import Atoms, Facts, Targets
from hornbeam.rules.body import Body, Step

#: Ends the name of a relation of false targets: no name of the data contains a TAB.
FALSE = "\tfalse"


def collective_facts(
    facts: Facts | Engine, max_fanout: int | None, engine: str = "memory"
) -> Facts:
    """Give the facts, or refuse what collective models do not take."""
    known = facts_in_memory(
        facts,
        'collective models run on facts in memory: use `engine="memory"`, or leave out '
        "`collective`",
        engine,
    )
    if known.binary.millionths is not None:
        raise InputError(
            "collective models take facts that are true or absent, and some of these have truth "
            "values between 0 and 1: round the facts, or leave out `collective`"
        )
    if max_fanout is not None:
        raise InputError(
            "a fan-out limit depends on the end where a walk begins, and collective models walk "
            "from every atom of a rule: leave out `max_fanout` or `collective`"
        )
    return known


def with_targets(facts: Facts, targets: Targets, suffix: str = "") -> Facts:
    """Facts and, as true facts of `predicate + suffix`, the targets.

    The entities are those of the facts and of the targets. Only binary facts are kept.
    """
    missing = np.flatnonzero(targets.entities.translate(facts.entities) < 0).tolist()
    entities = facts.entities
    if missing:
        entities = Names.of([*entities, *targets.entities.take(missing)])
    names = [name + suffix for name in targets.predicates]
    predicates = Names.of([*facts.predicates, *names])
    atoms = facts.binary
    known = facts.predicates.translate(predicates)[atoms.predicate]
    predicate = np.append(known, predicates.find(names)[targets.predicate]).astype(np.int32)
    from_facts, from_targets = (table.entities.translate(entities) for table in (facts, targets))
    subject, object_ = (
        np.append(from_facts[one], from_targets[other])
        for one, other in zip(atoms.arguments, (targets.subject, targets.object), strict=True)
    )
    predicate, (subject, object_), _ = sort_edges(
        predicate, [subject, object_], None, len(entities)
    )
    first = run_starts(predicate, subject, object_)
    united = Atoms(predicate[first], (subject[first], object_[first]))
    return Facts(entities, predicates, {2: united} if len(united) else {})


def closing_walk(body: Body, place: int, head: Step) -> list[tuple[Step, int]]:
    """What is left of a ground clause, a closed walk, without the body atom at a place.

    It leads from the subject to the object of that atom; `head` is the step for the head. Each
    step comes with its own place in the clause, that of the head being `len(body)`.
    """
    before = [(body.steps[k].reversed(), k) for k in reversed(range(place))]
    after = [(body.steps[k].reversed(), k) for k in reversed(range(place + 1, len(body)))]
    walk = [*before, (head, len(body)), *after]
    if body.steps[place].inverse:
        walk = [(step.reversed(), k) for step, k in reversed(walk)]
    return walk
