"""Predictions of models as tables: scores of pairs, and the best new links.

Large sets of pairs are scored in blocks, with bounded memory (`scored_batches`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.entity_names import EntityNames, labels_in
from hornbeam.facts.reading.name_files import as_names
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring import model_checks as checks
from hornbeam.scoring.independent_scorer import score_targets
from hornbeam.scoring.proposals import best_new_links, subjects_of
from hornbeam.scoring.scorer import open_scorer

if TYPE_CHECKING:
    from hornbeam.counting.sql.sql_engine import SqlEngine

#: Pairs counted at once; each block costs the engine a pass over the facts.
BLOCK = 500_000


def score_pairs(
    model: RuleModel,
    engine: Engine,
    pairs: Input,
    names: Input | None = None,
    score: Score | str = Score.MEAN,
    progress: Progress = SILENT,
) -> ResultTable:
    """Score pairs in their order; entities by ids or by names."""
    wanted, called = checks.pairs_for(model, pairs), as_names(names)
    wanted = wanted.renamed(called.entities(wanted.entities, engine.locate))
    checks.warn_of_missing_names(model, engine)
    checks.warn_of_other_targets(model, wanted)
    scorer = open_scorer(model, engine)
    checks.report_unseen(model, scorer.locate(wanted.entities), wanted, progress)
    scores = scorer.scores(wanted, Score(score), progress)
    return scored_table(wanted, scores, None if names is None else called)


def propose_links(
    model: RuleModel,
    engine: MemoryEngine,
    counter: Engine,
    target: str | None = None,
    names: Input | None = None,
    *,
    subjects: Sequence[str] | None = None,
    top: int = 20,
    per_subject: bool = False,
    score: Score | str = Score.MEAN,
    progress: Progress = SILENT,
) -> ResultTable:
    """Find the best new links of a target; see `hornbeam.scoring.proposable`.

    The engine's graph is walked; `counter` counts the proposed links over the same facts.
    """
    known, name = engine.facts, checks.one_target(model, target)
    called = None if names is None else as_names(names)
    checks.warn_of_missing_names(model, engine)
    pairs, scores = best_new_links(
        model,
        engine,
        counter,
        name,
        subjects_of(known, name, _entities(subjects, called, known)),
        top=top,
        per_subject=per_subject,
        score=Score(score),
        types=ArgumentTypes(known, called),
        progress=progress,
    )
    return scored_table(pairs, scores, called)


def _entities(
    subjects: Sequence[str] | None, names: EntityNames | None, known: Facts
) -> Sequence[str] | None:
    """Ids of subjects that are given by ids or names; without `names` by the names in the facts."""
    if subjects is None:
        return None
    called = names or EntityNames(labels_in(known))
    return [called.known_entity(name, known.entities, "subject") for name in subjects]


def scored_table(pairs: Targets, scores: Floats, names: Input | None = None) -> ResultTable:
    """Subject, predicate, object and score of every pair; with `names`, those of both ends."""
    columns = pairs.to_table().columns
    links = {name: columns[name] for name in ("subject", "predicate", "object")}
    return with_names(ResultTable({**links, "score": scores}), names)


def with_names(table: ResultTable, names: Input | None) -> ResultTable:
    """A table of links with the names of subject and object as last columns."""
    if names is None:
        return table
    called = as_names(names)
    return table.with_columns(
        {f"{end}_name": [*map(called.named, table[end])] for end in ("subject", "object")}
    )


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
    checks.warn_of_missing_names(model, engine)
    checks.report_unseen(model, engine.locate(pairs.entities), pairs, progress)
    batches = scored_batches(engine, model, pairs, score, progress)
    engine.database.write_parquet(os.fspath(path), batches)
