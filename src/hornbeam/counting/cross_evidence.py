"""Search and counts where every fold of the training pairs sees different facts.

`hornbeam.facts.folds` decides which facts a fold sees. All folds share their candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Ints, part_numbers
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.opening import discover_bodies
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.folds import EvidenceFolds
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Candidates, RuleLimits


@dataclass(frozen=True, eq=False)
class FoldedEvidence:
    """Finds and counts bodies for training pairs, each over the facts that its fold sees."""

    folds: EvidenceFolds
    #: Opens an engine over the facts of each fold. Its own facts are not used.
    engine: Engine

    def _opened(self, stage: str, progress: Progress) -> Iterator[tuple[Ints, Targets, Engine]]:
        """Rows and pairs of each fold, with an engine over what it sees."""
        pairs, total = self.folds.pairs, len(self.folds.hidden)
        for k, (rows, facts) in enumerate(self.folds.views()):
            yield rows, pairs.select(rows), self.engine.over(facts)
            progress.advance(stage, k + 1, total)

    def discover(self, language: RuleLimits, *, progress: Progress = SILENT) -> Discovery:
        """Find candidates over all facts, and keep those with groundings for enough pairs.

        A pair counts the groundings over the facts that its fold sees. Each fold sees a subset of
        the facts, so the search over all facts misses no candidate.
        """
        pairs, whole = self.folds.pairs, self.engine.over(self.folds.facts)
        discovery = discover_bodies(
            whole, pairs, replace(language, top=None), statistics=False, progress=progress,
            own_facts_expected=True,
        )  # fmt: skip
        candidates = discovery.candidates
        counted = self.count(pairs, candidates.bodies, language, progress=progress)
        seen = _with_seen_figures(candidates, counted, pairs)
        rows = seen.pruned(language)
        return replace(
            discovery, candidates=seen.take(rows), statistics=counted.only(rows), own_edges=0
        )

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count bodies for `targets`, which must be the training pairs."""
        assert targets is self.folds.pairs
        parts = [
            (rows, engine.count(pairs, bodies, language))
            for rows, pairs, engine in self._opened("Counting fold by fold", progress)
        ]
        return Statistics.united(len(targets), parts)


def _with_seen_figures(candidates: Candidates, counted: Statistics, pairs: Targets) -> Candidates:
    """Candidates with their coverage and counts over the facts that the folds see.

    With soft facts the figures over all facts are kept: rows do not show which paths round to true.
    """
    if counted.body_truth is not None:
        return candidates
    body = part_numbers(counted.indptr)
    paths = np.zeros(len(candidates), dtype=np.int64)
    np.add.at(paths, body, counted.count)
    true = np.bincount(body, pairs.positive[counted.target], len(candidates)).astype(np.int64)
    return replace(candidates, coverage=np.diff(counted.indptr), coverage_true=true, paths=paths)
