"""Answers of queries as a table by names, best first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from hornbeam.base.arrays import Array, Bools, Floats, Positions, run_starts
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.atom_keys import atom_keys, contained
from hornbeam.facts.table import Facts
from hornbeam.ranking.named_queries import NamedQueries, report_unknown
from hornbeam.ranking.queries import Answers, Queries, Ranker, answered
from hornbeam.ranking.triples import Triples


class FactRanker(Ranker, Protocol):
    """A ranker with the facts over which it ranks."""

    @property
    def facts(self) -> Facts:
        """The facts whose ids queries and answers use."""


def ranked_answers(
    ranker: FactRanker,
    named: NamedQueries,
    top: int = 10,
    known: bool = False,
    probabilities: Callable[[Answers], Floats] | None = None,
    types: ArgumentTypes | None = None,
    progress: Progress = SILENT,
) -> ResultTable:
    """Answer queries; a row per answer, in the order of the queries and then of the ranks.

    The columns are subject, relation, object, score, rank and query (its number, from 1), and
    probability where the ranker has `probabilities` for all answers of a query together. Answers
    that are facts already are left out unless `known`, and so are those that do not fit the
    relation; equal scores share the mean of their ranks.
    """
    queries = named.located(ranker.facts)
    report_unknown(queries, progress)
    found = answered(ranker, queries, progress)
    if not known:
        found = new_answers(found, queries, ranker.facts)
    likely = None if probabilities is None else probabilities(found)
    if types is not None:
        fit = fitting(found, queries, types)
        found, likely = found.where(fit), None if likely is None else likely[fit]
    rank = tied_ranks(found)
    best = found.best(top)
    rows = best.query
    first = best.offsets[:-1]
    kept = np.arange(len(rows)) - np.repeat(first - found.offsets[:-1], best.sizes)
    answer = ranker.facts.entities.take(best.entities.tolist())
    names = [named.names_at(int(i)) for i in range(len(named))]
    asks_subject = named.asks_subject[rows]
    table = ResultTable(
        {
            "subject": _filled(answer, [name[0] for name in names], rows, asks_subject),
            "relation": [names[i][1] for i in rows.tolist()],
            "object": _filled(answer, [name[2] for name in names], rows, ~asks_subject),
            "score": best.scores,
            "rank": rank[kept],
            "query": rows + 1,
        }
    )
    return table if likely is None else table.with_columns({"probability": likely[kept]})


def _filled(answer: list[str], given: list[str], rows: Positions, is_answer: Array) -> list[str]:
    """One argument of every row: the answer where the query asks for it, else the given one."""
    return [
        one if wanted else given[row]
        for one, row, wanted in zip(answer, rows.tolist(), is_answer.tolist(), strict=True)
    ]


def new_answers(found: Answers, queries: Queries, facts: Facts) -> Answers:
    """Leave out answers that are true facts."""
    triples, n, n_relations = Triples.of(facts), len(facts.entities), len(facts.predicates)
    # facts are sorted, and so are their keys
    stated = atom_keys(triples.subject, triples.relation, triples.object, n, n_relations)
    query = found.query
    known, relation = queries.known[query], queries.relation[query]
    asks_subject = queries.asks_subject[query]
    subject = np.where(asks_subject, found.entities, known)
    object_ = np.where(asks_subject, known, found.entities)
    return found.where(~contained(atom_keys(subject, relation, object_, n, n_relations), stated))


def fitting(found: Answers, queries: Queries, types: ArgumentTypes) -> Bools:
    """Which answers have an argument type that occurs among the relation's facts.

    Loops only if the relation has some among its facts.
    """
    query, fit = found.query, np.ones(len(found.entities), dtype=np.bool_)
    relation, asks_subject = queries.relation[query], queries.asks_subject[query]
    loop = found.entities == queries.known[query]
    for p, asks in set(zip(queries.relation.tolist(), queries.asks_subject.tolist(), strict=True)):
        if p < 0:
            continue
        rows, name = (relation == p) & (asks_subject == asks), types.facts.predicates[p]
        allowed = types.allowed(name, 0 if asks else 1)
        if allowed is not None:
            fit[rows] = allowed[found.entities[rows]]
        if not types.has_loops(name):
            fit[rows] &= ~loop[rows]
    return fit


def tied_ranks(found: Answers) -> Array:
    """Ranks of answers among those of their query, from 1; equal scores share the mean.

    Examples
    --------
    >>> scores = np.array([0.9, 0.5, 0.5, 0.7])
    >>> tied_ranks(Answers(np.array([0, 3, 4]), np.arange(4, dtype=np.int32), scores)).tolist()
    [1.0, 2.5, 2.5, 1.0]
    """
    query, place = found.query, np.arange(len(found.entities))
    if not len(place):
        return np.empty(0)
    starts = run_starts(query, found.scores)
    ends = np.append(starts[1:], len(place))
    mean = (starts + ends - 1) / 2
    return np.repeat(mean, ends - starts) - found.offsets[query] + 1
