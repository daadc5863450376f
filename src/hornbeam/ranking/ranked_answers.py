"""Answers of queries as a table by names, best first."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import numpy as np

from hornbeam.base.arrays import Array, Floats, Positions, run_starts
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.facts.atom_keys import atom_keys, contained
from hornbeam.facts.entity_names import NO_NAMES, EntityNames, labels_in
from hornbeam.facts.table import Facts
from hornbeam.ranking.named_queries import NamedQueries, check_answerable
from hornbeam.ranking.queries import Answers, Queries, Ranker, answered
from hornbeam.ranking.triples import Triples


class FactRanker(Ranker, Protocol):
    """A ranker with the facts over which it ranks."""

    @property
    def relations(self) -> Collection[str]:
        """Relations that it has rules for."""

    @property
    def facts(self) -> Facts:
        """The facts whose ids queries and answers use."""


def ranked_answers(
    ranker: FactRanker,
    named: NamedQueries,
    names: EntityNames = NO_NAMES,
    top: int = 10,
    known: bool = False,
    probabilities: Callable[[Answers], Floats] | None = None,
    progress: Progress = SILENT,
) -> ResultTable:
    """Answer queries; a row per answer, in the order of the queries and then of the ranks.

    The columns are subject, relation, object, score, rank and query (its number, from 1), and
    probability where the ranker has `probabilities` for all answers of a query together. Answers
    that are facts already are left out unless `known`; equal scores share the mean of their ranks.
    Queries name entities by ids or by `names`, without these by those in the facts.
    """
    names = names if len(names) else EntityNames(labels_in(ranker.facts))
    named = named.by_ids(names, ranker.facts)
    check_answerable(named, ranker.facts, ranker.relations, names)
    queries = named.located(ranker.facts)
    found = answered(ranker, queries, progress)
    if not known:
        found = new_answers(found, queries, ranker.facts)
    likely = None if probabilities is None else probabilities(found)
    rank = tied_ranks(found)
    best = found.best(top)
    _report_fewer(best, queries, ranker, top, progress)
    rows = best.query
    first = best.offsets[:-1]
    kept = np.arange(len(rows)) - np.repeat(first - found.offsets[:-1], best.sizes)
    answer = ranker.facts.entities.take(best.entities.tolist())
    asked = [named.names_at(int(i)) for i in range(len(named))]
    asks_subject = named.asks_subject[rows]
    table = ResultTable(
        {
            "subject": _filled(answer, [name[0] for name in asked], rows, asks_subject),
            "relation": [asked[i][1] for i in rows.tolist()],
            "object": _filled(answer, [name[2] for name in asked], rows, ~asks_subject),
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


def _report_fewer(
    best: Answers, queries: Queries, ranker: FactRanker, top: int, progress: Progress
) -> None:
    """Report once that rules propose fewer answers than wanted."""
    with_rules = np.isin(queries.relation, ranker.facts.predicates.find(ranker.relations))
    fewer = int(np.count_nonzero(best.sizes[queries.askable & with_rules] < top))
    if fewer:
        of = "the query" if len(queries) == 1 else f"{fewer:,} of {len(queries):,} queries"
        progress.message(f"Rules propose fewer than {top:,} answers to {of}.")


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
