"""Evaluation of ranks: filtered MRR and Hits@k of a ranker on test triples, also per relation."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from hornbeam.base.arrays import Bools
from hornbeam.base.choices import FilterTime
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import shown_list
from hornbeam.errors import InputError, warn
from hornbeam.facts.events import Events
from hornbeam.facts.table import Facts
from hornbeam.ranking.filtered_ranks import Ranks, UnitedTriples, filtered_ranks, unite
from hornbeam.ranking.queries import Direction, Queries, Ranker, Triples
from hornbeam.ranking.timed_ranks import timed_places, were_before


@dataclass(frozen=True)
class RelationRanks:
    """Ranks of one relation's queries in one direction."""

    relation: str
    direction: str
    mrr: float
    hits_1: float
    hits_3: float
    hits_10: float
    mean_rank: float
    queries: int


@dataclass(frozen=True)
class RankFigures:
    """Ranks of some of the queries."""

    mrr: float
    hits_1: float
    hits_3: float
    hits_10: float
    mean_rank: float
    queries: int


@dataclass(frozen=True, eq=False)
class GraphEvaluation:
    """Filtered ranks of the true answers of test triples, in both directions.

    Attributes
    ----------
    mrr, hits_1, hits_3, hits_10
        Mean of 1 / rank, and fractions of ranks up to 1, 3 and 10, over all queries; `hits` gives
        them for any number.
    mean_rank
        Mean of the ranks; few bad ones decide it.
    queries
        Two per test triple.
    relations
        The same figures per relation and direction.
    candidates
        Entities of facts, filter and test.
    unknown
        Test triples that name an entity or a relation that the facts do not have.
    in_facts
        Test triples that are among the facts.
    left_out
        Test triples of relations that the model has no rules for; they are not ranked.
    seconds
        Duration of the ranking.
    ranks
        The rank of every query.
    seen, new
        Of test events with times: ranks of those that repeat an earlier event, and of the others.
        None without times, or without such events.
    """

    mrr: float
    hits_1: float
    hits_3: float
    hits_10: float
    mean_rank: float
    queries: int
    relations: tuple[RelationRanks, ...]
    candidates: int
    unknown: int
    in_facts: int
    left_out: int
    seconds: float
    ranks: Ranks
    seen: RankFigures | None = None
    new: RankFigures | None = None

    def as_dict(self) -> dict[str, Any]:
        """All attributes but `ranks` as plain values, for JSON."""
        apart = {"seen": self.seen, "new": self.new}
        names = [field.name for field in fields(self) if field.name not in ("ranks", *apart)]
        relations = [asdict(ranks) for ranks in self.relations]
        figures = {name: asdict(part) for name, part in apart.items() if part is not None}
        return {
            **{name: getattr(self, name) for name in names},
            "macro": self.macro,
            "relations": relations,
            **figures,
        }

    def hits(self, k: int) -> float:
        """The fraction of queries whose true answer has a rank of at most k."""
        if k < 1:
            raise InputError(f"hits at {k}; expected a rank of at least 1")
        return float(np.mean(self.ranks.rank <= k))

    @property
    def macro(self) -> dict[str, float]:
        """The means over relations and directions: a rare relation counts as much as others."""
        names = ("mrr", "hits_1", "hits_3", "hits_10", "mean_rank")
        return {
            name: float(np.mean([getattr(part, name) for part in self.relations])) for name in names
        }

    def to_ranks_table(self) -> ResultTable:
        """One row per query: the triple, what is asked for, the rank, and the number of candidates.

        `ties` are other candidates with the same score; the rank is the mean of theirs. Queries
        that are asked at a time have it behind the triple.
        """
        united, queries, unit = self.ranks.united, self.ranks.queries, self.ranks.unit
        assert queries.answer is not None  # of an evaluation
        subject = np.where(queries.asks_subject, queries.answer, queries.known)
        object_ = np.where(queries.asks_subject, queries.known, queries.answer)
        directions = (Direction.OBJECT.value, Direction.SUBJECT.value)
        asked = queries.time.tolist() if queries.time is not None else []
        times = {"time": [unit.text(time) for time in asked]} if unit is not None else {}
        return ResultTable(
            {
                "subject": [united.entity(i) for i in subject.tolist()],
                "relation": [united.relation(i) for i in queries.relation.tolist()],
                "object": [united.entity(i) for i in object_.tolist()],
                **times,
                "asks": [directions[asks] for asks in queries.asks_subject.tolist()],
                "rank": self.ranks.rank,
                "ties": self.ranks.ties,
                "candidates": self.ranks.candidates,
            }
        )

    def to_table(self) -> ResultTable:
        """Figures by relation and direction, as one table."""
        rows = [asdict(ranks) for ranks in self.relations]
        return ResultTable({name: [row[name] for row in rows] for name in rows[0]})

    def __repr__(self) -> str:
        return (
            f"GraphEvaluation(MRR {self.mrr:.4f}, Hits@1 {self.hits_1:.4f}, Hits@3 "
            f"{self.hits_3:.4f}, Hits@10 {self.hits_10:.4f}, {self.queries:,} queries)"
        )

    def _repr_html_(self) -> str:
        return self.to_table().html(repr(self))


def evaluate_ranks(
    ranker: Ranker,
    facts: Facts,
    test: Facts,
    also_known: Sequence[Facts] = (),
    *,
    relations: Collection[str] | None = None,
    progress: Progress = SILENT,
) -> GraphEvaluation:
    """Rank the true answers of test triples among all entities.

    Parameters
    ----------
    ranker
        Proposes answers from the facts.
    test
        True triples; triples with values below 0.5 are left out.
    also_known
        Further triples that are not wrong answers, such as the triples of a validation set.
    relations
        The relations to rank triples of: those that the ranker has rules for. None for all.

    Raises
    ------
    hornbeam.errors.InputError
        Where there is no test triple to rank.
    """
    began = time.perf_counter()
    united = unite(facts, [test, *also_known])
    triples = united.tables[1]
    if not len(triples):
        raise InputError("the test has no true fact of two arguments; expected at least one")
    chosen = triples.select(_of_relations(united, triples, relations))
    _warn_of_same_tables(united)
    unknown = int(np.count_nonzero(united.unseen(chosen)))
    in_facts = int(np.count_nonzero(united.among(chosen, united.tables[0])))
    _report(unknown, in_facts, len(triples) - len(chosen), progress)
    ranks = filtered_ranks(ranker, united, chosen, progress)
    return GraphEvaluation(
        *_figures(ranks, slice(None)),
        relations=_by_relation(ranks),
        candidates=united.n_entities,
        unknown=unknown,
        in_facts=in_facts,
        left_out=len(triples) - len(chosen),
        seconds=time.perf_counter() - began,
        ranks=ranks,
    )


def evaluate_events(
    ranker: Ranker,
    whole: Facts,
    test: Facts,
    history: Events,
    repeated: int,
    unknown: int,
    *,
    relations: Collection[str],
    filter_time: FilterTime,
    progress: Progress = SILENT,
) -> GraphEvaluation:
    """Rank the true answers of test events among all entities; see `timed_places`.

    Parameters
    ----------
    ranker
        Answers queries by the ids of `whole`, at their time.
    whole
        Facts, filter and test: all that is known to be true.
    test
        The test, whose names `whole` has.
    history
        The events that the ranker sees, each after its time.
    repeated, unknown
        Number of test events among the facts, and of those with a name that the facts lack.
    """
    began = time.perf_counter()
    if whole.events is None or test.events is None or not len(test.events):
        raise InputError("the test has no fact of two arguments; expected at least one")
    moved = test.events.moved(
        test.entities.translate(whole.entities), test.predicates.translate(whole.predicates)
    )
    pairs = moved.select(moved.object >= 0)
    chosen = pairs.select(np.isin(pairs.predicate, whole.predicates.find(relations)))
    if not len(chosen):
        raise _no_fact_of(relations)
    left_out = len(pairs) - len(chosen)
    _report(unknown, repeated, left_out, progress)
    sizes = len(whole.entities), len(whole.predicates)
    queries = Queries.both_ways(*chosen.columns)
    known = whole.events.select(whole.events.object >= 0)
    better, ties, candidates = timed_places(ranker, queries, known, sizes[0], filter_time, progress)
    united, unit = unite(whole, [test]), whole.events.unit
    ranks = Ranks(united, queries, better, ties, candidates, unit)
    seen = np.tile(were_before(chosen, history, *sizes), 2)
    return GraphEvaluation(
        *_figures(ranks, slice(None)),
        relations=_by_relation(ranks),
        candidates=sizes[0],
        unknown=unknown,
        in_facts=repeated,
        left_out=left_out,
        seconds=time.perf_counter() - began,
        ranks=ranks,
        seen=RankFigures(*_figures(ranks, seen)) if seen.any() else None,
        new=RankFigures(*_figures(ranks, ~seen)) if not seen.all() else None,
    )


def _of_relations(
    united: UnitedTriples, triples: Triples, relations: Collection[str] | None
) -> Bools:
    """Which triples are of the given `relations`; all triples if `relations` is None."""
    if relations is None:
        return np.ones(len(triples), dtype=np.bool_)
    wanted = [i for i in range(united.n_relations) if united.relation(i) in relations]
    chosen = np.isin(triples.relation, wanted)
    if not chosen.any():
        raise _no_fact_of(relations)
    return chosen


def _no_fact_of(relations: Collection[str]) -> InputError:
    """The error where no test triple is of the relations of the model."""
    named = shown_list(sorted(relations), 5)
    return InputError(f"the test has no fact of {named}, which the model has rules for")


def _warn_of_same_tables(united: UnitedTriples) -> None:
    """Warn if a filter has the same triples as the test."""
    test, *filters = (np.unique(united.keys(table)) for table in united.tables[1:])
    if any(np.array_equal(test, other) for other in filters):
        warn(
            "the filter has the same facts as the test: a model that was tuned on them has seen "
            "the test"
        )


def _report(unknown: int, in_facts: int, left_out: int, progress: Progress) -> None:
    if in_facts:
        warn(
            f"{'1 test fact is' if in_facts == 1 else f'{in_facts:,} test facts are'} among the "
            "facts too: known facts are not a fair test"
        )
    if unknown:
        named = "1 test fact names" if unknown == 1 else f"{unknown:,} test facts name"
        progress.message(
            f"{named} an entity or a relation that no fact has; such answers tie below all that "
            "are proposed."
        )
    if left_out:
        progress.message(
            "1 test fact is of a relation that the model has no rules for; it is left out."
            if left_out == 1
            else f"{left_out:,} test facts are of relations that the model has no rules for; they "
            "are left out."
        )


def _by_relation(ranks: Ranks) -> tuple[RelationRanks, ...]:
    """Figures of each relation, sorted by name; queries for objects before those for subjects."""
    found = []
    for relation in np.unique(ranks.queries.relation).tolist():
        rows = ranks.queries.relation == relation
        for asks_subject in (False, True):
            figures = _figures(ranks, rows & (ranks.queries.asks_subject == asks_subject))
            direction = Direction.SUBJECT if asks_subject else Direction.OBJECT
            found.append(RelationRanks(ranks.united.relation(relation), direction.value, *figures))
    return tuple(sorted(found, key=lambda ranks: ranks.relation))


def _figures(ranks: Ranks, rows: Bools | slice) -> tuple[float, float, float, float, float, int]:
    """MRR, Hits@1, 3 and 10 and mean rank of the queries at `rows`, and the number of queries."""
    rank = ranks.rank[rows]
    hits_1, hits_3, hits_10 = (float(np.mean(rank <= k)) for k in (1, 3, 10))
    mrr, mean_rank = float(np.mean(1.0 / rank)), float(np.mean(rank))
    return mrr, hits_1, hits_3, hits_10, mean_rank, len(rank)
