"""Counting one pair at a time, as explanations ask for it, without starting threads.

The engine is made for many targets at once; what it sets up for a search costs more than the few
paths of one pair. Where facts are 0/1 and variables may coincide, walks that meet between the two
entities count the same. Everything else goes to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Language
from hornbeam.rules.codes import step_code
from hornbeam.serve.predictions import Reacher
from hornbeam.serve.walk import neighbours, paths_between


@dataclass(frozen=True, eq=False)
class PairCounter(MemoryEngine):
    """The engine, with a short cut for single pairs and the paths of a model's target."""

    reacher: Reacher = field(kw_only=True)

    def __post_init__(self) -> None:
        # one graph for both: this takes the cached property's place
        vars(self).update(graph=self.reacher.engine.graph)

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given sequences for the targets; see `Engine.count`."""
        pair = self._plain_pair(targets, language)
        plan = self.reacher.plans.get(targets.predicates[int(targets.predicate[0])])
        if pair is None or plan is None or list(plan.bodies) != list(bodies):
            return super().count(targets, bodies, language, progress=progress)
        reacher = self.reacher
        counts = paths_between(reacher.graph, *pair, plan.forth, reacher.counters)
        some = counts > 0
        indptr = np.concatenate([[0], np.cumsum(some)])
        zeros = np.zeros(int(indptr[-1]), dtype=np.int32)
        return Statistics(bodies, 1, indptr, zeros, counts[some])

    def _plain_pair(self, targets: Targets, language: Language) -> tuple[int, int] | None:
        """Ids of a single pair of known entities that is no fact itself; None where not plain."""
        if len(targets) != 1 or self.facts.soft or language.distinct_variables:
            return None
        subject, object_ = (
            self.facts.entities.index(targets.entities[int(column[0])])
            for column in (targets.subject, targets.object)
        )
        if min(subject, object_) < 0:
            return None
        predicate = targets.predicates[int(targets.predicate[0])]
        own = step_code(self.facts.predicates.index(predicate))
        is_fact = object_ in neighbours(self.graph.forward, subject, own)
        return None if is_fact else (subject, object_)
