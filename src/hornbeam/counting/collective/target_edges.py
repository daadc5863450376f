"""Targets as edges: the graph of facts and of targets that are treated as facts.

In collective models a body may hold targets, so the graph that is walked has more edges than the
facts, and may have more entities.
"""

from __future__ import annotations

from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.rules.body import Body, Step

#: Suffix of a relation of false targets; no name of the data contains a TAB.
FALSE = "\tfalse"


def collective_engine(engine: Engine) -> MemoryEngine:
    """Return `engine` if it is the engine in memory; a collective model takes no other."""
    if isinstance(engine, MemoryEngine):
        return engine
    raise InputError(
        'collective models run on facts in memory: use `engine="memory"`, or leave out `collective`'
    )


def recursive_engine(engine: Engine, max_fanout: int | None) -> MemoryEngine:
    """The engine in memory for recursive rules; soft facts and a fan-out limit are refused."""
    in_memory = collective_engine(engine)
    if in_memory.facts.binary.millionths is not None:
        raise InputError(
            "collective models take facts that are true or absent, and some of these facts have "
            "truth values between 0 and 1: round the facts, or leave out `collective`"
        )
    if max_fanout is not None:
        raise InputError(
            "a fan-out limit depends on the end where a walk begins, and collective models walk "
            "from every atom of a rule: leave out `max_fanout` or `collective`"
        )
    return in_memory


def closing_walk(body: Body, place: int, head: Step) -> list[tuple[Step, int]]:
    """The rest of a ground clause, a closed walk, without the body atom at a place.

    The walk leads from the subject to the object of that atom; `head` is the step for the head.
    Each step comes with its place in the clause; the place of the head is `len(body)`.
    """
    before = [(body.steps[k].reversed(), k) for k in reversed(range(place))]
    after = [(body.steps[k].reversed(), k) for k in reversed(range(place + 1, len(body)))]
    walk = [*before, (head, len(body)), *after]
    if body.steps[place].inverse:
        walk = [(step.reversed(), k) for step, k in reversed(walk)]
    return walk
