"""Ranks by the definition, candidate by candidate; and a ranker that is a table of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Integers, pointers
from hornbeam.base.progress import SILENT, Progress
from hornbeam.facts.table import Facts
from hornbeam.ranking.queries import Answers, Queries

Triple = tuple[str, str, str]
#: Scores of proposed answers, by (relation, known, asks_subject).
Scores = Mapping[tuple[str, str, bool], Mapping[str, float]]


def collected_answers(n_queries: int, query: Integers, entities: Ids, scores: Floats) -> Answers:
    """Answers from rows in any order: by query, best score first, ties by entity."""
    order = np.lexsort((entities, -scores, query))
    sizes = np.bincount(query, minlength=n_queries)
    return Answers(pointers(sizes), entities[order], scores[order])


@dataclass(frozen=True, eq=False)
class TableRanker:
    """Proposes what a table says, and orders other entities by a table of all relations."""

    facts: Facts
    scores: Scores
    below: Mapping[str, float] | None = None

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        assert queries.askable.all()
        rows = []
        columns = (queries.relation.tolist(), queries.known.tolist(), queries.asks_subject.tolist())
        for i, (p, e, asks_subject) in enumerate(zip(*columns, strict=True)):
            key = (self.facts.predicates[p], self.facts.entities[e], asks_subject)
            for name, score in self.scores.get(key, {}).items():
                rows.append((i, self.facts.entities.index(name), score))
        query, entity, scores = np.array(rows, dtype=float).reshape(-1, 3).T
        return collected_answers(
            len(queries), query.astype(np.int64), entity.astype(np.int32), scores
        )

    def others(self, step: int, source: int) -> Floats | None:
        if self.below is None:
            return None
        return np.array([self.below.get(name, -np.inf) for name in self.facts.entities])


def naive_ranks(
    scores: Scores,
    train: Iterable[Triple],
    also_known: Iterable[Triple],
    test: Iterable[Triple],
    below: Mapping[str, float] | None = None,
) -> dict[tuple[Triple, bool], tuple[int, int]]:
    """Optimistic and pessimistic filtered rank of every test triple in both directions."""
    train, also_known, test = set(train), set(also_known), set(test)
    true = train | also_known | test
    ranked = {name for s, _, o in train for name in (s, o)}
    answerable = {p for _, p, _ in train}
    entities = {name for s, _, o in true for name in (s, o)}
    found = {}
    for s, p, o in test:
        for asks_subject in (False, True):
            known, answer = (o, s) if asks_subject else (s, o)
            proposed = scores.get((p, known, asks_subject), {})
            ordered = below if p in answerable and known in ranked else {}
            place = {name: (0, score) for name, score in (ordered or {}).items() if name in ranked}
            place |= {name: (1, score) for name, score in proposed.items()}
            mine = place.get(answer, (0, -np.inf))
            better = as_good = 0
            for candidate in entities:
                triple = (candidate, p, o) if asks_subject else (s, p, candidate)
                if candidate == answer or triple in true:
                    continue
                score = place.get(candidate, (0, -np.inf))
                better += score > mine
                as_good += score >= mine
            found[(s, p, o), asks_subject] = (better + 1, as_good + 1)
    return found
