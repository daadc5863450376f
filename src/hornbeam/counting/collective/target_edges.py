"""Targets as edges: the graph of facts and of targets that stand for facts.

In collective models a body may hold targets, so the graph that is walked has more edges than the
facts, and may have more entities.
"""

from __future__ import annotations

from hornbeam.counting.opening import Evidence, facts_in_memory
from hornbeam.errors import InputError
from hornbeam.facts.table import Facts
from hornbeam.rules.body import Body, Step

#: Ends the name of a relation of false targets: no name of the data contains a TAB.
FALSE = "\tfalse"


def collective_evidence(evidence: Evidence, engine: str = "memory") -> Facts:
    """The facts that a collective model works on, which must be in memory."""
    return facts_in_memory(
        evidence,
        'collective models run on facts in memory: use `engine="memory"`, or leave out '
        "`collective`",
        engine,
    )


def collective_facts(evidence: Evidence, max_fanout: int | None, engine: str = "memory") -> Facts:
    """Give the facts for recursive rules, or refuse what these do not take."""
    known = collective_evidence(evidence, engine)
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
