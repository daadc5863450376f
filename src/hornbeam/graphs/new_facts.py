"""The most probable new facts of a graph by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ids, Integers
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import did_you_mean
from hornbeam.errors import InputError
from hornbeam.facts.entity_names import EntityNames, labels_in
from hornbeam.facts.reading.readers import Input, as_names
from hornbeam.graphs.memory_ranker import MemoryRanker
from hornbeam.ranking.queries import Queries, answered
from hornbeam.rules.codes import step_code
from hornbeam.scoring.scored_links import with_names


class NewFact(NamedTuple):
    """A fact that the model believes, with the rank of its object among its subject's answers."""

    subject: str
    predicate: str
    object: str
    score: float
    probability: float
    rank: int


def new_facts(
    ranker: MemoryRanker,
    *,
    relations: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    top: int = 10,
    per_subject: bool = False,
    names: Input | None = None,
    progress: Progress = SILENT,
) -> ResultTable:
    """The `top` most probable new facts per relation, for its known subjects or the given ones.

    With `per_subject`, the `top` facts of every subject, by subject. The columns are subject,
    predicate, object, score, probability and rank: that of the object among the answers of its
    subject. Scores are comparable among the answers of one subject only, probabilities among all.
    """
    facts, called = ranker.facts, as_names(names)
    ranker = replace(ranker.named(called), listed=top)
    there = sorted(ranker.relations)
    for name in relations or ():
        if name not in there:
            hint = did_you_mean(name, there)
            raise InputError(f"the model has no rules for the relation {name!r}.{hint}")
    given = None
    if subjects is not None:
        meant = called if len(called) else EntityNames(labels_in(facts))
        ids = [meant.known_entity(name, facts.entities, "subject") for name in subjects]
        given = facts.entities.find(ids)
    rows: list[NewFact] = []
    for name in relations or there:
        predicate = facts.predicates.index(name)
        if predicate >= 0:
            known = ranker.graph.holders(step_code(predicate)) if given is None else given
            rows += _best_of(ranker, predicate, known, top, per_subject, progress)
    columns = {name: [getattr(row, name) for row in rows] for name in NewFact._fields}
    return with_names(ResultTable(columns), None if names is None else called)


def _best_of(
    ranker: MemoryRanker,
    predicate: int,
    known: Ids,
    top: int,
    per_subject: bool,
    progress: Progress,
) -> list[NewFact]:
    """The most probable new facts of one relation, or of every subject."""
    facts = ranker.facts
    queries = Queries(np.full_like(known, predicate), known, np.zeros(len(known), dtype=np.bool_))
    found = answered(ranker, queries, progress)
    likely, query = ranker.probabilities(found), found.query
    place = np.arange(len(query)) - found.offsets[query]
    if per_subject:
        chosen: Integers = np.flatnonzero(place < top)
        chosen = chosen[np.argsort(known[query[chosen]], kind="stable")]
    else:
        chosen = np.lexsort((found.entities, known[query], -likely))[:top]
    return [
        NewFact(facts.entities[s], facts.predicates[predicate], facts.entities[o], score, p, r)
        for s, o, score, p, r in zip(
            known[query[chosen]].tolist(), found.entities[chosen].tolist(),
            found.scores[chosen].tolist(), likely[chosen].tolist(), (place[chosen] + 1).tolist(),
            strict=True,
        )
    ]  # fmt: skip
