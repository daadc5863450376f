"""Search and counts where every fold of the training pairs sees other facts.

See `hornbeam.facts.evidence_folds` for what a fold sees. Candidates are those of all folds
together, with the sums of their figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hornbeam.arrays import Ints
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.opening import open_engine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.evidence_folds import EvidenceFolds
from hornbeam.facts.table import ONE, Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Candidates, Language

#: Columns of candidates that add up over folds.
FIGURES = ("coverage", "coverage_true", "paths")


@dataclass(frozen=True, eq=False)
class FoldedEvidence:
    """Finds and counts bodies for training pairs, each over the facts that its fold sees."""

    folds: EvidenceFolds
    engine: str = "memory"
    threads: int | None = None

    def _opened(self, stage: str, progress: Progress) -> Iterator[tuple[Ints, Targets, Engine]]:
        """Rows and pairs of each fold, with an engine over what it sees."""
        pairs, total = self.folds.pairs, len(self.folds.hidden)
        for k, (rows, facts) in enumerate(self.folds.views()):
            yield rows, pairs.select(rows), open_engine(facts, self.engine, self.threads)
            progress.advance(stage, k + 1, total)

    def discover(self, language: Language, *, progress: Progress = SILENT) -> Discovery:
        """Find the candidates of all folds together, and count them."""
        everything = replace(language, min_coverage=1, top=None)
        found = [
            engine.discover(pairs, everything, statistics=False)
            for _, pairs, engine in self._opened("Searching fold by fold", progress)
        ]
        united = _united([one.candidates for one in found])
        kept = united.take(united.pruned(language))
        bodies = kept.bodies
        return Discovery(
            kept,
            self.count(self.folds.pairs, bodies, language, progress=progress),
            found=int(np.count_nonzero(united.coverage)),
            own_edges=sum(one.own_edges for one in found),
            unseen=sum(one.unseen for one in found),
        )

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count bodies for the training pairs, which are the only targets there are."""
        assert targets is self.folds.pairs
        parts = [
            (rows, engine.count(pairs, bodies, language))
            for rows, pairs, engine in self._opened("Counting fold by fold", progress)
        ]
        return _table(bodies, len(targets), parts)


def _table(
    bodies: Sequence[Body], n_targets: int, parts: Sequence[tuple[Ints, Statistics]]
) -> Statistics:
    """One table from those of the folds, whose targets have other numbers."""
    number = np.arange(len(bodies))
    body = [np.repeat(number, np.diff(table.indptr)) for _, table in parts]
    target = [rows[table.target] for rows, table in parts]
    truth = [
        np.full(len(table.count), ONE, dtype=np.int32)
        if table.body_truth is None
        else table.body_truth
        for _, table in parts
    ]
    shares = [table.share for _, table in parts if table.share is not None]
    return Statistics.of(
        bodies,
        n_targets,
        np.concatenate(body),
        np.concatenate(target).astype(np.int32),
        np.concatenate(truth),
        np.concatenate([table.count for _, table in parts]),
        np.concatenate(shares) if shares else None,
    )


def _united(parts: Sequence[Candidates]) -> Candidates:
    """Equal candidates of several searches as one, with the sums of their figures."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.followed_by(part)
    columns = [whole.target, *whole.steps.T]
    if whole.conditions is not None:
        conditions = whole.conditions
        columns += [conditions.kind, conditions.argument, conditions.constant]
    rows = np.stack([column.astype(np.int64) for column in columns], axis=1)
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    sums: dict[str, Any] = {name: np.zeros(len(first), dtype=np.int64) for name in FIGURES}
    for name, total in sums.items():
        np.add.at(total, group, getattr(whole, name))
    return replace(whole.take(first), **sums)
