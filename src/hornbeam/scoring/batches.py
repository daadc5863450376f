"""Scores large sets of pairs in blocks, with bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Engine
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.errors import InputError
from hornbeam.facts.table import Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.independent_scorer import score_targets
from hornbeam.scoring.model_checks import report_unseen, warn_of_missing_names

#: Pairs counted at once; each block costs the engine a pass over the facts.
BLOCK = 500_000


def scored_batches(
    engine: Engine,
    model: RuleModel,
    pairs: Targets,
    score: Score = Score.MEAN,
    progress: Progress = SILENT,
    block: int = BLOCK,
) -> Iterator[Mapping[str, np.ndarray[Any, Any]]]:
    """Columns subject, predicate, object, score of the pairs, in their order."""
    if model.semantics.collective:
        raise InputError(
            'a collective model scores pairs together, in memory: use `engine="memory"`'
        )
    bodies, language = model.bodies, model.language
    names = np.array(list(pairs.entities), dtype=object)
    predicates = np.array(list(pairs.predicates), dtype=object)
    # an empty list of pairs is one empty block, so that there is something to write
    for start in range(0, max(len(pairs), 1), block):
        some = pairs.select(np.arange(start, min(start + block, len(pairs))))
        counted = engine.count(some, bodies, language)
        yield {
            "subject": names[some.subject],
            "predicate": predicates[some.predicate],
            "object": names[some.object],
            "score": score_targets(model, counted, some, score),
        }
        progress.advance("Scoring pairs", start + len(some), len(pairs))


def write_scores(
    engine: SqlEngine,
    model: RuleModel,
    pairs: Targets,
    path: str | os.PathLike[str],
    score: Score = Score.MEAN,
    progress: Progress = SILENT,
) -> None:
    """Score pairs in their order into Parquet that the engine writes, block by block.

    The columns are subject, predicate, object and score.
    """
    warn_of_missing_names(model, engine)
    report_unseen(model, engine.locate(pairs.entities), pairs, progress)
    batches = scored_batches(engine, model, pairs, score, progress)
    engine.database.write_parquet(os.fspath(path), batches)
