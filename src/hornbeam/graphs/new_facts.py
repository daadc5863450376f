"""The best new facts of a graph: what a model believes most that no fact says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.arrays import Ids, Integers
from hornbeam.errors import InputError
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.queries import Queries, answered
from hornbeam.progress import SILENT, Progress
from hornbeam.result_table import ResultTable
from hornbeam.rules.codes import step_code


def new_facts(
    ranker: GraphRanker,
    *,
    relations: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    top: int = 10,
    progress: Progress = SILENT,
) -> ResultTable:
    """The `top` likeliest new facts of every relation, of its subjects or of given ones.

    The columns are subject, relation, object, probability and rank: that of the object among the
    answers of its subject.
    """
    facts, model = ranker.facts, ranker.model
    there = sorted({part.relation for part in model.relations})
    for name in relations or ():
        if name not in there:
            raise InputError(f"the model has no rules for the relation {name!r}")
    given = None
    if subjects is not None:
        given = np.array([_entity(ranker, name) for name in subjects], dtype=np.int32)
    columns: dict[str, list[object]] = {
        name: [] for name in ("subject", "relation", "object", "probability", "rank")
    }
    for name in relations or there:
        predicate = facts.predicates.index(name)
        if predicate < 0:
            continue
        known = ranker.graph.holders(step_code(predicate)) if given is None else given
        best = _best_of(ranker, predicate, known, top, progress)
        for column, values in zip(columns.values(), best, strict=True):
            column += values
    return ResultTable(columns)


def _entity(ranker: GraphRanker, name: str) -> int:
    found = ranker.facts.entities.index(name)
    if found < 0:
        raise InputError(f"no fact has the entity {name!r}")
    return found


def _best_of(
    ranker: GraphRanker, predicate: int, known: Ids, top: int, progress: Progress
) -> tuple[list[str], list[str], list[str], list[float], list[int]]:
    """Columns of the likeliest new facts of one relation."""
    facts = ranker.facts
    queries = Queries(np.full_like(known, predicate), known, np.zeros(len(known), dtype=np.bool_))
    found = answered(ranker, queries, progress)
    likely, query = ranker.probabilities(found), found.query
    chosen: Integers = np.lexsort((found.entities, known[query], -likely))[:top]
    return (
        facts.entities.take(known[query[chosen]].tolist()),
        [facts.predicates[predicate]] * len(chosen),
        facts.entities.take(found.entities[chosen].tolist()),
        likely[chosen].tolist(),
        (chosen - found.offsets[query[chosen]] + 1).tolist(),
    )
