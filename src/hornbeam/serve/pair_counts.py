"""Counting one pair at a time, as explanations ask for it, without starting threads.

The engine is made for many targets at once; what it sets up for a search costs more than the few
paths of one pair. Where facts are 0/1 and variables may coincide, a walk from the end with fewer
facts counts the same. Everything else goes to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hornbeam.clauses.candidates import Language
from hornbeam.clauses.clause import Path
from hornbeam.facts.table import ONE, Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.serve.walk import neighbours, walk_all
from hornbeam.statistics.graph import Graph
from hornbeam.statistics.memory import MemoryEngine
from hornbeam.statistics.table import Statistics


@dataclass(frozen=True, eq=False)
class PairCounter(MemoryEngine):
    """The engine, with a short cut for single pairs; `walked` has the model's fan-out limit."""

    walked: Graph | None = field(default=None, kw_only=True)

    def count(
        self,
        targets: Targets,
        paths: Sequence[Path],
        language: Language,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given sequences for the targets; see `Engine.count`."""
        pair = self._plain_pair(targets, language)
        if pair is None or self.walked is None:
            return super().count(targets, paths, language, progress=progress)
        subject, object_ = pair
        degree = np.diff(self.graph.forward.offsets)
        known = [(j, codes) for j, path in enumerate(paths) if (codes := self._codes(path))]
        numbers = np.array([j for j, _ in known], dtype=np.int64)
        if degree[subject] <= degree[object_]:
            ends, wanted = walk_all(self.walked.forward, subject, [c for _, c in known]), object_
        else:
            turned = [[code ^ 1 for code in reversed(codes)] for _, codes in known]
            ends, wanted = walk_all(self.walked.backward, object_, turned), subject
        mine = ends.node == wanted
        zero, one = np.zeros(mine.sum(), dtype=np.int32), np.full(mine.sum(), ONE, dtype=np.int32)
        return Statistics.of(paths, 1, numbers[ends.walk[mine]], zero, one, ends.paths[mine])

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
        own = 2 * (self.facts.predicates.index(predicate) + 1)
        is_fact = object_ in neighbours(self.graph.forward, subject, own)
        return None if is_fact else (subject, object_)
