"""New links by looking at all pairs."""

from __future__ import annotations

import hornbeam as hb
from hornbeam.base.choices import Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.rules.body import AnyBody, Kind
from hornbeam.scoring.independent_scores import score_targets
from tests.support.brute_force import ONE, Triple
from tests.support.random_rules import ReferenceModel
from tests.support.rich_worlds import ENTITIES, Pair, RichWorld, positive_bodies
from tests.support.worlds import World, targets_of

Scored = list[tuple[str, str, float]]


def expected_links(
    model: ReferenceModel, world: World, target: str, subjects: list[str], score: Score
) -> dict[str, Scored]:
    """Every reached new pair by subject, best first: all pairs are looked at.

    Loops only where some fact of the target is one.
    """
    loops = any(p == target and s == o for s, p, o in world.values)
    entities = sorted({name for s, _, o in world.values for name in (s, o)})
    pairs: list[Triple] = [(s, target, o) for s in subjects for o in entities]
    wanted = [
        pair
        for pair in pairs
        if pair not in world.values
        and (loops or pair[0] != pair[2])
        and model.reaches(world.values, pair)
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


def proposable_pairs(model: hb.Model, world: RichWorld, target: str) -> set[Pair]:
    """Pairs that may be proposed, and facts of which the same is true: every pair is looked at.

    Some rule for the target has a grounding; where it says nothing of an argument, a fact of the
    target has that one in its place, if there are facts; loops only where a fact is one.
    """
    known = [atom[1:] for atom in world.values if atom[0] == target]
    loops = any(s == o for s, o in known)

    def speaks(body: AnyBody, pair: Pair) -> bool:
        bodies = [part.body for part in body.parts]
        mentioned = {b.argument for b in bodies}
        if any(b.kind is Kind.PATH or (b.number and b.number.minus) for b in bodies):
            mentioned = {0, 1}
        stands = all(
            not known or pair[2 * place] in {link[place] for link in known}
            for place in {0, 1} - mentioned
        )
        return stands and world.count(body, pair, model.semantics) > 0

    return {
        (s, target, o)
        for s in ENTITIES
        for o in ENTITIES
        if (loops or s != o) and any(speaks(b, (s, target, o)) for b in positive_bodies(model))
    }


def new_pairs(model: hb.Model, world: RichWorld, target: str) -> list[Pair]:
    """Pairs that may be proposed and are no facts, in their order."""
    found = proposable_pairs(model, world, target)
    return sorted(pair for pair in found if (target, pair[0], pair[2]) not in world.values)
