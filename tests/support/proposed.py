"""New links by looking at all pairs."""

from __future__ import annotations

import hornbeam as hb
from hornbeam.base.choices import Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.scoring.independent_scorer import score_targets
from tests.support.brute_force import ONE, Triple
from tests.support.random_rules import ReferenceModel
from tests.support.rich_worlds import (
    ENTITIES,
    Pair,
    RichWorld,
    positive_bodies,
)
from tests.support.worlds import World, targets_of

Scored = list[tuple[str, str, float]]


def expected_links(
    model: ReferenceModel, world: World, target: str, subjects: list[str], score: Score
) -> dict[str, Scored]:
    """Every reached new pair by subject, best first: all pairs are looked at."""
    entities = sorted({name for s, _, o in world.values for name in (s, o)})
    pairs: list[Triple] = [(s, target, o) for s in subjects for o in entities]
    wanted = [
        pair for pair in pairs if pair not in world.values and model.reaches(world.values, pair)
    ]
    if not wanted:
        return {}
    targets = targets_of([(pair, ONE) for pair in wanted])
    engine = MemoryEngine(world.facts, threads=1)
    counted = engine.count(targets, model.bodies, model.language)
    found = score_targets(model, counted, targets, score)
    links: dict[str, Scored] = {}
    for (s, _, o), value in zip(wanted, found.tolist(), strict=True):
        links.setdefault(s, []).append((s, o, value))
    return {s: sorted(rows, key=lambda row: (-row[2], row[1])) for s, rows in links.items()}


def with_groundings(model: hb.Model, world: RichWorld, target: str, given: int = 0) -> set[Pair]:
    """New pairs that a rule speaks for, looked for from the subject (0) or the object (1) given.

    What speaks of that one alone counts only where no rule asks of the other.
    """
    pulling, asking = positive_bodies(model, given)
    known = {atom[2 - given] for atom in world.values if atom[0] == target}
    return {
        (s, target, o)
        for s in ENTITIES
        for o in ENTITIES
        if (asking or (s, o)[1 - given] in known)
        and (target, s, o) not in world.values
        and any(world.count(body, (s, target, o), model.semantics) for body in asking or pulling)
    }
