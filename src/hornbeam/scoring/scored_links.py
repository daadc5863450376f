"""Predictions of rule models: scores of pairs, the best new links, and both as tables.

Large sets of pairs are scored in blocks, with bounded memory (`scored_batches`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.collective.believed_pairs import BelievedPairs, pair_density
from hornbeam.counting.engine import BodyCounter, Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import collective_engine, grown_engine
from hornbeam.errors import InputError, warn
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.entity_names import NO_NAMES, EntityNames, wanted_ends
from hornbeam.facts.reading.readers import Input, as_names
from hornbeam.facts.table import Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring import model_checks as checks
from hornbeam.scoring.collective_scorer import infer_pairs
from hornbeam.scoring.independent_scores import score_targets
from hornbeam.scoring.proposals import Proposer, subjects_of

if TYPE_CHECKING:
    from hornbeam.counting.sql.sql_engine import SqlEngine

#: Tolerances before a warning: factor of pairs per entity, difference in the share of lone pairs.
MAX_DENSITY_RATIO, MAX_SHARE_DIFFERENCE = 2.0, 0.15
#: Minimum number of pairs to estimate pairs per entity.
MIN_PAIRS = 20
#: Pairs counted at once; each block costs the engine a pass over the facts.
BLOCK = 500_000


def pair_scores(
    model: RuleModel,
    engine: Engine,
    pairs: Targets,
    score: Score = Score.MEAN,
    progress: Progress = SILENT,
) -> Floats:
    """Scores of the pairs in their order.

    A collective model scores all pairs together. In one of two steps, the first step scores every
    pair alone. Its scores become evidence as beliefs, and the second step scores every pair by its
    counts over facts and beliefs, in closed form.
    """
    counter: BodyCounter = engine
    if model.semantics.two_steps:
        in_memory = collective_engine(engine)
        warn_of_other_pairs(model, pairs)
        counter = first_step_beliefs(model, in_memory, pairs, progress)
    elif model.semantics.collective:
        return infer_pairs(model, engine, pairs, progress).scores(score)
    counted = counter.count(pairs, model.bodies, model.language, progress=progress)
    return score_targets(model, counted, pairs, score)


def first_step_beliefs(
    model: RuleModel, engine: MemoryEngine, pairs: Targets, progress: Progress = SILENT
) -> BelievedPairs:
    """Beliefs: the scores of all pairs by the first step."""
    means = pair_scores(model.first_step, engine, pairs, progress=progress)
    return BelievedPairs(engine, pairs, means, model.symmetric)


def warn_of_other_pairs(model: RuleModel, pairs: Targets) -> None:
    """Warn where pairs are distributed differently from those of training."""
    trained = model.semantics.asked
    if trained is None or not len(pairs):
        return
    scored = pair_density(pairs)
    differences = [
        f"{given:.3g} pairs per {end} (in training {known:.3g})"
        for end, given, known in (
            ("subject", scored.per_subject, trained.per_subject),
            ("object", scored.per_object, trained.per_object),
        )
        if len(pairs) >= MIN_PAIRS
        and not known / MAX_DENSITY_RATIO <= given <= known * MAX_DENSITY_RATIO
    ]
    if abs(scored.alone - trained.alone) > MAX_SHARE_DIFFERENCE:
        share = f"{scored.alone:.0%} of the pairs share no end with another"
        differences.append(f"{share} (in training {trained.alone:.0%})")
    if differences:
        warn(
            f"these pairs are not distributed as those of training: {', '.join(differences)}. "
            "Rules about other pairs may mislead the model; a plain model scores every pair alone"
        )


@dataclass(frozen=True, eq=False)
class RuleScorer:
    """A rule model over an engine, ready to score pairs."""

    model: RuleModel
    engine: Engine
    score: Score = Score.MEAN

    def with_facts(self, new: Input) -> RuleScorer:
        """The same scorer over the facts and new ones, as if they had been read together.

        What was prepared from the facts moves along, so this takes a small part of the time.
        """
        return replace(self, engine=grown_engine(self.engine, new))

    @cached_property
    def _checked(self) -> None:
        """Compare the names of rules with those of the facts once: neither changes."""
        checks.warn_of_missing_names(self.model, self.engine)

    def predict(
        self, pairs: Input, *, names: Input | None = None, progress: Progress = SILENT
    ) -> ResultTable:
        """Score pairs, in their order; entities by ids or by `names`. See `Model.predict`."""
        model, engine = self.model, self.engine
        called = as_names(names)
        wanted = checks.pairs_for(model, pairs, called)
        wanted = wanted.renamed(called.entities(wanted.entities, engine.locate))
        _ = self._checked
        checks.warn_of_other_targets(model, wanted)
        checks.report_unseen(model, engine, wanted, progress)
        scores = pair_scores(model, engine, wanted, self.score, progress)
        sampled = model.semantics.sampled_negatives is not None
        is_probability = self.score is Score.MEAN and not sampled
        probability = scores if is_probability else np.full(len(scores), np.nan)
        table = scored_table(wanted, scores).with_columns({"probability": probability})
        return with_names(table, None if names is None else called)


def propose_links(
    model: RuleModel,
    engine: MemoryEngine,
    counter: Engine,
    target: str | None = None,
    names: EntityNames | None = None,
    *,
    subjects: Sequence[str] | None = None,
    objects: Sequence[str] | None = None,
    top: int = 20,
    per_subject: bool = False,
    score: Score | str = Score.MEAN,
    progress: Progress = SILENT,
) -> ResultTable:
    """Find the best new links of a target; see `hornbeam.scoring.proposals.proposable`.

    The engine's graph is walked; `counter` counts the proposed links over the same facts. Best
    first, ties by subject and object; by subject first where `per_subject`. If `objects` alone are
    given, rules are followed backward from these, and ties are by object and subject.
    """
    known, called = engine.facts, names or NO_NAMES
    name = checks.one_target(model, target and called.relation(target, model.targets))
    checks.warn_of_missing_names(model, engine)
    given, ends, backward = wanted_ends(known, names, subjects, objects, per_subject)
    if model.semantics.collective:
        raise InputError("a collective model scores pairs together and proposes none: give `pairs`")
    if per_subject and model.target_arities[name] == 1:
        raise InputError(f"`per_subject` is for links, and {name!r} is about one entity")
    if objects is not None and model.target_arities[name] == 1:
        raise InputError(f"{name!r} is about one entity: give `subjects`, not `objects`")
    starts = subjects_of(known, name) if given is None else given
    types = ArgumentTypes(known, names)
    proposer = Proposer(
        model.of_target(name), engine, name, types, int(backward), Score(score), counter, ends
    )
    search = proposer.best_of_each if per_subject else proposer.best_of_all
    best = search(starts, top, progress)
    links = scored_table(proposer.pairs(best.start, best.end), best.score)
    return with_names(links, names)


def scored_table(pairs: Targets, scores: Floats) -> ResultTable:
    """Subject, predicate, object and score of every pair; without objects where all lack one."""
    links = replace(pairs, millionths=None).to_table().columns
    return ResultTable({**links, "score": scores})


def with_names(table: ResultTable, names: EntityNames | None) -> ResultTable:
    """A table of links with the names, if any, of subject and object as last columns."""
    if names is None:
        return table
    ends = [end for end in ("subject", "object") if end in table.names]
    return table.with_columns(
        {
            f"{end}_name": [None if name is None else names.named(name) for name in table[end]]
            for end in ends
        }
    )


def scored_batches(
    engine: Engine,
    model: RuleModel,
    pairs: Targets,
    score: Score = Score.MEAN,
    progress: Progress = SILENT,
    block: int = BLOCK,
) -> Iterator[Mapping[str, np.ndarray[Any, Any]]]:
    """Columns subject, predicate, object, score of the pairs, in their order.

    Without objects if all targets are on one entity.
    """
    if model.semantics.collective:
        raise InputError(
            'a collective model scores pairs together, in memory: use `engine="memory"`'
        )
    bodies, language = model.bodies, model.language
    names = np.array(list(pairs.entities), dtype=object)
    predicates = np.array(list(pairs.predicates), dtype=object)
    on_one_entity = pairs.unary.issuperset(pairs.predicates)
    # an empty list of pairs is one empty block, so that there is something to write
    for start in range(0, max(len(pairs), 1), block):
        part = pairs.select(np.arange(start, min(start + block, len(pairs))))
        counted = engine.count(part, bodies, language)
        ends = {"subject": names[part.subject], "predicate": predicates[part.predicate]}
        if not on_one_entity:
            ends["object"] = names[part.object]
            ends["object"][part.on_one] = None
        yield {**ends, "score": score_targets(model, counted, part, score)}
        progress.advance("Scoring pairs", start + len(part), len(pairs))


def write_scores(
    engine: SqlEngine,
    model: RuleModel,
    pairs: Targets,
    path: str | os.PathLike[str],
    score: Score = Score.MEAN,
    progress: Progress = SILENT,
) -> None:
    """Score pairs in their order into Parquet that the engine writes, block by block.

    The columns are subject, predicate, object and score; see `scored_batches`.
    """
    pairs = checks.pairs_for(model, pairs)
    checks.warn_of_missing_names(model, engine)
    checks.report_unseen(model, engine, pairs, progress)
    batches = scored_batches(engine, model, pairs, score, progress)
    engine.database.write_parquet(os.fspath(path), batches)
