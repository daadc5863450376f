"""New links: follow the rules forward from subjects instead of scoring every pair.

Which pairs may be proposed is defined in `hornbeam.scoring.proposable`; `Reach` finds a superset.
The best of all subjects, or of each, are found without scoring all of these
(`hornbeam.scoring.bounded_search`, `hornbeam.scoring.best_of_each`); what is scored is counted
exactly like any other pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hornbeam.base.arrays import Floats, Ids
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.names import unknown_entity
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.best_of_each import best_of_each
from hornbeam.scoring.bounded_search import best_pairs
from hornbeam.scoring.independent_scorer import score_targets
from hornbeam.scoring.margins import Margins, bounding_model
from hornbeam.scoring.proposable import grounded_pairs, positive_bodies, proposable
from hornbeam.scoring.reach import Reach


def best_new_links(
    model: RuleModel,
    engine: MemoryEngine,
    counter: Engine,
    target: str,
    subjects: Ids,
    *,
    top: int,
    per_subject: bool = False,
    score: Score = Score.MEAN,
    types: ArgumentTypes,
    progress: Progress = SILENT,
) -> tuple[Targets, Floats]:
    """Find the best `top` pairs, overall or of every subject, that are not facts yet.

    The engine's graph is walked, and the pairs that are found are counted by `counter`. Only pairs
    that `proposable` allows come out, under the rules' own variables, thresholds and fan-out limit.
    Best first, ties by subject and object; by subject first where `per_subject`.
    """
    if model.semantics.collective:
        raise InputError("a collective model scores pairs together and proposes none: give `pairs`")
    of_target, entities = model.of_target(target), engine.facts.entities
    reach = target_reach(of_target, engine, target, types)

    def score_ids(subject: Ids, object_: Ids) -> tuple[Ids, Ids, Floats]:
        pairs = Targets.between(entities, target, subject, object_)
        pairs, found = _scored(of_target, counter, reach, pairs, score)
        return pairs.subject, pairs.object, found

    margins = Margins(*bounding_model(of_target, engine), reach)
    search = best_of_each if per_subject else best_pairs
    best = search(margins, score_ids, subjects, top, score, progress)
    return Targets.between(entities, target, best.subject, best.object), best.score


def target_reach(
    model: RuleModel, engine: MemoryEngine, target: str, types: ArgumentTypes, near: int = 0
) -> Reach:
    """Where the positive rules of a target lead, from subjects or, with `near` 1, from objects."""
    bodies = positive_bodies(model.of_target(target))
    return Reach(engine.with_projections, target, bodies, types, near)


def scored_pairs(
    model: RuleModel,
    engine: MemoryEngine,
    reach: Reach,
    starts: Ids,
    score: Score = Score.MEAN,
) -> Iterator[tuple[int, Targets, Floats]]:
    """Score the pairs that may be proposed, facts among them, a block of starts at a time.

    Comes with the number of starts done. The model's rules are those of the reach's target.
    """
    for done, start, end in reach.blocks(starts):
        subject, object_ = (end, start) if reach.near else (start, end)
        pairs = Targets.between(engine.facts.entities, reach.target, subject, object_)
        yield done, *_scored(model, engine, reach, pairs, score)


def _scored(
    model: RuleModel, counter: Engine, reach: Reach, pairs: Targets, score: Score
) -> tuple[Targets, Floats]:
    """The pairs that may be proposed, and their scores."""
    counted = counter.count(pairs, model.bodies, model.language)
    grounded = grounded_pairs(counted, reach.bodies)
    may = proposable(reach.types, reach.target, pairs.subject, pairs.object, grounded)
    return pairs.select(np.flatnonzero(may)), score_targets(model, counted, pairs, score)[may]


def subjects_of(facts: Facts, target: str, names: Sequence[str] | None = None) -> Ids:
    """Entities to propose links for: those named, else the target's known subjects, else all."""
    if names is not None:
        found = facts.entities.find(names)
        if (found < 0).any():
            unknown = names[int(np.argmax(found < 0))]
            raise unknown_entity(unknown, facts.entities, "subject")
        return np.unique(found)
    known = np.unique(facts.links(target)[0])
    return known.astype(np.int32) if len(known) else np.arange(len(facts.entities), dtype=np.int32)
