"""Symmetric targets: a body and its mirror image share one weight, so both are counted."""

from __future__ import annotations

from dataclasses import replace

from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import BodyCounter, Discovery
from hornbeam.facts.table import Targets
from hornbeam.rules.candidates import RuleLimits


def with_mirrors(
    found: Discovery,
    counter: BodyCounter,
    labels: Targets,
    language: RuleLimits,
    progress: Progress = SILENT,
) -> Discovery:
    """Count also the mirror images of candidates whose mirror image is not a candidate."""
    if found.statistics is None:
        return found
    bodies = set(found.statistics.bodies)
    missing = [body.mirror for body in found.statistics.bodies if body.mirror not in bodies]
    if not missing:
        return found
    more = counter.count(labels, missing, language, progress=progress)
    return replace(found, statistics=found.statistics.followed_by(more))
