"""Symmetric targets: where t(a, b) says t(b, a), a body and its mirror share one weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hornbeam.counting.engine import Discovery, PathCounter
from hornbeam.counting.opening import Evidence
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.table import Facts, Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.candidates import Language

#: Share of a relation's edges that must have their mirror image.
NEARLY_ALL = 0.95
#: Edges from which on that share can be judged.
ENOUGH = 20


def is_symmetric(facts: Evidence, labels: Targets) -> bool:
    """Whether nearly every edge of the one target has its mirror image.

    Judged by the target's facts, or by the true labels where it has few of them: labels often
    name an unordered pair once.
    """
    if len(labels.predicates) != 1 or not isinstance(facts, Facts):
        return False
    mine = facts.binary.predicate == facts.predicates.index(labels.predicates[0])
    subject, object_ = (column[mine] for column in facts.binary.arguments)
    n = len(facts.entities)
    if len(subject) < ENOUGH:
        subject, object_ = labels.subject[labels.positive], labels.object[labels.positive]
        n = len(labels.entities)
    if len(subject) < ENOUGH:
        return False
    edges = np.sort(pair_keys(subject, object_, n))
    mirrored = contained(pair_keys(object_, subject, n), edges)
    return bool(mirrored.mean() > NEARLY_ALL)


def with_mirrors(
    found: Discovery,
    counter: PathCounter,
    labels: Targets,
    language: Language,
    progress: Progress = SILENT,
) -> Discovery:
    """Count also the mirrors of the candidates that are none themselves."""
    if found.statistics is None:
        return found
    bodies = set(found.statistics.bodies)
    missing = [body.mirror for body in found.statistics.bodies if body.mirror not in bodies]
    if not missing:
        return found
    more = counter.count(labels, missing, language, progress=progress)
    return replace(found, statistics=found.statistics.followed_by(more))
