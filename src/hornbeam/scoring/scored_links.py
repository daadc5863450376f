"""Predictions of models as tables: scores of pairs, and the best new links."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.entity_names import EntityNames, labels_in
from hornbeam.facts.reading.name_files import as_names
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring import model_checks as checks
from hornbeam.scoring.proposals import best_new_links, subjects_of
from hornbeam.scoring.scorer import open_scorer


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
    """Ids of subjects given by ids or names, without these by those in the facts."""
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
