"""Filtered ranks of true answers.

A test triple t(a, b) is two queries, (a, t, ?) and (?, t, b). Candidates are all entities of the
facts, the filter and the test, except for other answers that are true in one of the three tables.
Candidates that the ranker does not propose come below all proposed candidates, in an order of the
ranker (`Ranker.others`), or tie. Ties (equal in 12 significant digits) are averaged: the rank is
the mean of the optimistic and the pessimistic rank (PyKEEN calls it realistic). All tables share
one numbering of names: first the names of the facts, then further names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Integers,
    Ints,
    Positions,
    are_ties,
    pointers,
    run_starts,
)
from hornbeam.base.dates import TimeUnit
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.facts.atom_keys import atom_keys, check_key_size, contained, pair_keys
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts
from hornbeam.ranking.queries import Answers, Queries, Ranker, Triples, answered
from hornbeam.rules.codes import code_limit, step_code

#: Maximum and minimum number of distinct queries per batch. Between these limits a batch has at
#: most MAX_ANSWERS answers, even if every entity is proposed.
MAX_QUERIES, MIN_QUERIES, MAX_ANSWERS = 5000, 200, 10_000_000


# --- triples of several tables --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnitedTriples:
    """Triples of the facts and of other tables, in one numbering of their names.

    The ids of the facts are kept; entities and relations that only other tables have are numbered
    after them.
    """

    facts: Facts
    more_entities: Names
    more_relations: Names
    tables: tuple[Triples, ...]

    @property
    def n_entities(self) -> int:
        """Number of entities of all tables."""
        return len(self.facts.entities) + len(self.more_entities)

    @property
    def n_relations(self) -> int:
        """Number of relations of all tables."""
        return len(self.facts.predicates) + len(self.more_relations)

    def entity(self, number: int) -> str:
        """Name of an entity."""
        return _name(self.facts.entities, self.more_entities, number)

    def relation(self, number: int) -> str:
        """Name of a relation."""
        return _name(self.facts.predicates, self.more_relations, number)

    def unseen(self, triples: Triples) -> Bools:
        """Which triples name an entity or a relation that the facts do not have."""
        first = len(self.facts.entities)
        entity = (triples.subject >= first) | (triples.object >= first)
        return entity | (triples.relation >= len(self.facts.predicates))

    def keys(self, triples: Triples) -> Ints:
        """One integer per triple, in the order of subject, relation, object."""
        sizes = self.n_entities, self.n_relations
        return atom_keys(triples.subject, triples.relation, triples.object, *sizes)

    def among(self, triples: Triples, others: Triples) -> Bools:
        """Which triples are also in `others`."""
        return triples.among(others, self.n_entities, self.n_relations)


def unite(facts: Facts, others: Sequence[Facts]) -> UnitedTriples:
    """Number the names of further tables after the names of the facts.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> united = unite(read_facts([("b", "p", "d")]), [read_facts([("a", "p", "b")])])
    >>> [united.entity(i) for i in range(united.n_entities)]
    ['b', 'd', 'a']
    """
    more_entities = _missing([table.entities for table in others], facts.entities)
    more_relations = _missing([table.predicates for table in others], facts.predicates)
    tables = [Triples.of(facts)]
    for table in others:
        entity = _numbers(table.entities, facts.entities, more_entities)
        relation = _numbers(table.predicates, facts.predicates, more_relations)
        own = Triples.of(table)
        tables.append(Triples(relation[own.relation], entity[own.subject], entity[own.object]))
    return UnitedTriples(facts, more_entities, more_relations, tuple(tables))


def _missing(tables: Sequence[Names], known: Names) -> Names:
    """Names of the tables that are not known."""
    return Names.of(
        name
        for names in tables
        for name in names.take(np.flatnonzero(names.translate(known) < 0).tolist())
    )


def _name(known: Names, more: Names, number: int) -> str:
    """The name of a number, known names first."""
    return known[number] if number < len(known) else more[number - len(known)]


def _numbers(names: Names, known: Names, more: Names) -> Ids:
    """Numbers of names: known names have the first numbers, `more` names the next."""
    first, further = names.translate(known), names.translate(more)
    return np.where(first >= 0, first, further + len(known)).astype(np.int32)


# --- ranks ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of every query's true answer, queries for objects first.

    `queries` have the ids of `united`: names that only the test has are numbered after the names of
    the facts. Of every query's `candidates`, the true answer among them, `better` rank above the
    true answer and `ties` rank equal to it. Queries with times are asked in the `unit` of these.
    """

    united: UnitedTriples
    queries: Queries
    better: Ints
    ties: Ints
    candidates: Ints
    unit: TimeUnit | None = None

    @property
    def rank(self) -> Floats:
        """The rank of every true answer, from 1; tied candidates share the mean of their ranks."""
        return np.asarray(1 + self.better + self.ties / 2)


def filtered_ranks(
    ranker: Ranker, united: UnitedTriples, test: Triples, progress: Progress = SILENT
) -> Ranks:
    """Rank the true answers of test triples in both directions.

    Parameters
    ----------
    ranker
        Proposes answers.
    united
        All tables whose triples are known: facts, filters and the test itself.
    test
        Triples to rank, all of which are in one of the tables.
    """
    queries = Queries.both_ways(test.relation, test.subject, test.object)
    assert queries.answer is not None
    true, asked, answer = KnownAnswers.of(united), in_facts(queries, united), queries.answer
    number = pair_keys(queries.step, queries.known, united.n_entities)
    places = np.empty((3, len(queries)), dtype=np.int64)
    for batch in answered_batches(ranker, asked, number, united.n_entities, progress):
        numbers, rows, group = number[batch.distinct], batch.rows, batch.group
        *counts, is_proposed = true.places(numbers, batch.found, group, answer[rows])
        places[:, rows] = counts
        missed = rows[~is_proposed]
        places[:2, missed] = _ordered_below(
            ranker, united, true, asked.select(batch.distinct), numbers, batch.found,
            group[~is_proposed], answer[missed], places[:2, missed],
        )  # fmt: skip
    return Ranks(united, queries, *places)


class AnsweredBatch(NamedTuple):
    """Answers of distinct queries, and all queries that these answer.

    `distinct` and `rows` are places among all queries, `group` has the place of the query of each
    of the `rows` in `distinct` and in `found`.
    """

    distinct: Positions
    found: Answers
    rows: Positions
    group: Positions


def answered_batches(
    ranker: Ranker, queries: Queries, key: Ints, n_entities: int, progress: Progress
) -> Iterator[AnsweredBatch]:
    """Answer queries by ascending `key`; queries that share one are answered once."""
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = pointers(np.bincount(group, minlength=len(first)))
    work = PartOfWork(progress, "Ranking answers", 0, len(queries), len(queries))
    size = min(max(MAX_ANSWERS // max(n_entities, 1), MIN_QUERIES), MAX_QUERIES)
    for low in range(0, len(first), size):
        distinct = first[low : low + size]
        high = low + len(distinct)
        rows = order[starts[low] : starts[high]]
        part = work.part(low, high, len(first))
        found = answered(ranker, queries.select(distinct), part)
        yield AnsweredBatch(distinct, found, rows, group[rows] - low)
        part.finish()


def in_facts(queries: Queries, united: UnitedTriples) -> Queries:
    """Queries with the ids of the facts, which a ranker knows; all other ids become -1."""
    known = np.where(queries.known < len(united.facts.entities), queries.known, -1)
    relation = np.where(queries.relation < len(united.facts.predicates), queries.relation, -1)
    asks_subject, time = queries.asks_subject, queries.time
    return Queries(relation.astype(np.int32), known.astype(np.int32), asks_subject, time=time)


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """True answers of queries: sorted keys of (number of the query, answer).

    The number of a query is the key of (step, known), or any other. Queries have the order of their
    numbers, so that look-ups are close to each other in memory.
    """

    keys: Ints
    n_entities: int

    @classmethod
    def of(cls, united: UnitedTriples) -> KnownAnswers:
        """The known answers that all triples of all tables give."""
        n = united.n_entities
        check_key_size(n, code_limit(united.n_relations))
        keys = list[Ints]()
        for table in united.tables:
            forth, back = (step_code(table.relation, inverse) for inverse in (False, True))
            keys.append(pair_keys(pair_keys(forth, table.subject, n), table.object, n))
            keys.append(pair_keys(pair_keys(back, table.object, n), table.subject, n))
        ordered = np.sort(np.concatenate(keys))
        return cls(ordered[run_starts(ordered)], n)

    def places(
        self, numbers: Ints, found: Answers, group: Integers, answer: Integers
    ) -> tuple[Ints, Ints, Ints, Bools]:
        """How many candidates are better than each true answer, how many tie, how many there are.

        `group[i]` is the row of the query of `answer[i]` in `numbers` and `found`. The last array
        says which true answers are proposed; all that are not proposed tie.
        """
        _check_order(found)
        scores = _tied(found)
        keys = pair_keys(numbers[found.query], found.entities, self.n_entities)
        open_ = ~contained(keys, self.keys)
        wanted = pair_keys(numbers[group], answer, self.n_entities)
        own = _looked_up(wanted, keys[~open_], scores[~open_])
        kept = scores[open_]
        ends = pointers(np.bincount(found.query[open_], minlength=len(numbers)))
        low, high = ends[group], ends[group + 1]
        candidates = self._candidates(numbers)[group]
        is_proposed = ~np.isnan(own)
        better = np.where(is_proposed, _count(kept, low, high, own, ties=False), high - low)
        as_good = _count(kept, low, high, own, ties=True)
        ties = np.where(is_proposed, as_good, candidates - 1) - better
        return better, ties, candidates, is_proposed

    def of_query(self, number: int) -> Ids:
        """The known answers of the query of a number."""
        first = number * self.n_entities
        low, high = np.searchsorted(self.keys, [first, first + self.n_entities])
        return np.asarray(self.keys[low:high] - first, dtype=np.int32)

    def _candidates(self, numbers: Ints) -> Ints:
        """Number of candidates per query: one true answer, and all entities but known answers."""
        first = pair_keys(numbers, np.zeros(len(numbers), dtype=np.int32), self.n_entities)
        low, high = np.searchsorted(self.keys, np.stack([first, first + self.n_entities]))
        return np.asarray(self.n_entities - (high - low) + 1)


def _ordered_below(
    ranker: Ranker, united: UnitedTriples, true: KnownAnswers, asked: Queries, numbers: Ints,
    found: Answers, group: Positions, answer: Ids, places: Ints,
) -> Ints:  # fmt: skip
    """Order true answers that are not proposed, as the ranker orders such entities.

    `places` has their numbers of better and of tied candidates where they all tie.
    """
    places = places.copy()
    for row in np.unique(group[asked.askable[group]]).tolist():
        score = ranker.others(int(asked.step[row]), int(asked.known[row]))
        if score is None:
            continue
        same = np.flatnonzero(group == row)
        score = np.append(score, np.full(len(united.more_entities), -np.inf))
        own = score[answer[same], np.newaxis]
        score[found.entities[found.offsets[row] : found.offsets[row + 1]]] = np.nan
        score[true.of_query(int(numbers[row]))] = np.nan
        places[0, same] += np.count_nonzero(score > own, axis=1)
        places[1, same] = np.count_nonzero(score == own, axis=1)
    return places


def _looked_up(wanted: Ints, keys: Ints, values: Floats) -> Floats:
    """The values of the `wanted` keys, NaN for wanted keys that `keys` does not have."""
    order = np.argsort(keys)
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(len(keys) - 1, 0))
    at = np.append(order, 0)[at]
    return np.where(np.append(keys, -1)[at] == wanted, np.append(values, np.nan)[at], np.nan)


def _tied(found: Answers) -> Floats:
    """Scores of answers; tied answers of a query all get the score of the first tied answer."""
    starts = np.append(True, ~are_ties(found.scores))[: len(found.scores)]
    starts[found.offsets[:-1][np.diff(found.offsets) > 0]] = True
    return np.asarray(found.scores[starts][np.cumsum(starts) - 1])


def _check_order(found: Answers) -> None:
    rising = np.flatnonzero(np.diff(found.scores) > 0.0) + 1
    if not contained(rising, found.offsets).all():
        raise ValueError("a ranker's answers must be sorted, best first")


def _count(scores: Floats, low: Ints, high: Ints, value: Floats, *, ties: bool) -> Ints:
    """Number of falling scores in low:high above a value (with `ties`, or equal), by bisection."""
    start, low, high = low, low.copy(), high.copy()
    while (low < high).any():
        middle = np.minimum((low + high) // 2, len(scores) - 1)
        above = scores[middle] >= value if ties else scores[middle] > value
        searching = low < high
        low = np.where(searching & above, middle + 1, low)
        high = np.where(searching & ~above, middle, high)
    return low - start
