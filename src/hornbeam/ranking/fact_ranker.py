"""Rankers: a model of either kind over facts answers queries by names, and ranks the answers.

`RuleRanker` is the ranker of rule models; `hornbeam.graphs.graph_ranker` has the rankers of whole
graphs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np

from hornbeam.base.arrays import Array, Bools, Floats, Ids, Positions, Singles, pointers, run_starts
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.atom_keys import atom_keys, contained
from hornbeam.facts.entity_names import EntityNames, labels_in
from hornbeam.facts.known import with_targets
from hornbeam.facts.names import Names
from hornbeam.facts.reading.readers import Input, as_facts, as_names
from hornbeam.facts.table import Facts, Targets
from hornbeam.ranking.named_queries import NamedQueries, as_queries, check_answerable
from hornbeam.ranking.queries import Answers, Queries, answered
from hornbeam.ranking.rank_evaluation import GraphEvaluation, evaluate_ranks
from hornbeam.rules.codes import is_inverse, predicate_of
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.best_links import ScoredPairs
from hornbeam.scoring.independent_scores import score_targets
from hornbeam.scoring.model_checks import refuse_time, warn_of_missing_names
from hornbeam.scoring.proposals import Proposer
from hornbeam.scoring.scored_links import with_names

#: Number of queries whose scores of all entities are computed at a time.
SCORED = 256


class EntityScores(NamedTuple):
    """Scores of all entities as answers: one row of `values` per query, one column per entity.

    The row of a query that names an entity that no fact has is NaN.
    """

    values: Singles
    entities: Names


@dataclass(frozen=True, eq=False)
class FactRanker(ABC):
    """A model over facts, ready to answer queries; see `hornbeam.ranking.queries.Ranker`.

    Queries and answers have the ids of `facts`; `types` say which answers fit a relation.
    """

    facts: Facts
    types: ArgumentTypes

    #: Whether the method `answers` returns answers that are facts already.
    proposes_facts: ClassVar[bool] = True
    #: Whether facts may be answers again, at another time.
    repeats: ClassVar[bool] = False

    @property
    @abstractmethod
    def relations(self) -> Collection[str]:
        """Relations that the model has rules for."""

    @abstractmethod
    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """Every proposed answer of every query, best first; `others` orders the entities below."""

    def others(self, step: int, source: int) -> Floats | None:
        """Scores that order entities that are not proposed; None where these tie."""
        return None

    @abstractmethod
    def every_score(self, queries: Queries, progress: Progress = SILENT) -> Floats:
        """Scores of all entities as answers, one row per query; see `scores`."""

    @abstractmethod
    def with_facts(self, new: Input) -> FactRanker:
        """The same ranker over the facts and new ones, as if they had been read together."""

    def has_one_answer(self, step: int, source: int) -> bool:
        """Whether a query has at most one answer, which is among the facts."""
        return False

    def probabilities(self, answers: Answers) -> Floats | None:
        """Probability of every answer, from all answers of its query; None for models without."""
        return None

    def listing(self, top: int | None) -> Self:
        """A ranker that need not propose more than the best `top` answers of a query, None all."""
        return self

    def named(self, names: EntityNames) -> Self:
        """The same ranker, which also knows the types of entities that `names` give."""
        return replace(self, types=replace(self.types, names=names)) if names.types else self

    def rank(
        self,
        queries: Input | NamedQueries,
        *,
        top: int = 10,
        known: bool = False,
        names: Input | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:
        """The best answers of queries, in the order of the queries and then of the ranks.

        The columns are subject, relation, object, score, rank and query (its number, from 1), and
        probability where the model has probabilities. Answers that are facts already are left out
        unless `known` is true. Equal scores share the mean of their ranks. Queries name entities by
        ids or by `names`, by default the names in the facts (`hornbeam.ranking.named_queries`).
        """
        if known and not (self.proposes_facts or self.repeats):
            raise InputError("a model of a whole graph gives new answers only: leave out `known`")
        called = as_names(names)
        ranker, facts = self.named(called).listing(top), self.facts
        asked = self._asked(queries, called)
        located = asked.located(facts)
        found = answered(ranker, located, progress)
        if self.proposes_facts and not (known or self.repeats):
            found = new_answers(found, located, facts)
        likely, rank = self.probabilities(found), tied_ranks(found)
        best = found.best(top)
        _report_fewer(best, located, self, top, progress)
        rows = best.query
        kept = np.arange(len(rows)) - np.repeat(best.offsets[:-1] - found.offsets[:-1], best.sizes)
        answer = facts.entities.take(best.entities.tolist())
        given = [asked.names_at(row) for row in range(len(asked))]
        times = None if located.time is None else asked.rows.times
        asks_subject = asked.asks_subject[rows]
        table = ResultTable(
            {
                "subject": _filled(answer, [query[0] for query in given], rows, asks_subject),
                "relation": [given[row][1] for row in rows.tolist()],
                "object": _filled(answer, [query[2] for query in given], rows, ~asks_subject),
                "score": best.scores,
                "rank": rank[kept],
                "query": rows + 1,
                **({} if times is None else {"time": [times[row] for row in rows.tolist()]}),
                **({} if likely is None else {"probability": likely[kept]}),
            }
        )
        return table if names is None else with_names(table, called)

    def scores(
        self,
        queries: Input | NamedQueries,
        *,
        names: Input | None = None,
        progress: Progress = SILENT,
    ) -> EntityScores:
        """Scores of all entities as answers of every query, to mix with those of other models.

        A rule model scores every pair as `predict` does. A model of a whole graph scores every
        entity: those that its rules propose, below them all other candidates, and lowest those that
        are no candidates because they are known answers, or because their types do not fit.
        """
        blocks = list(self.score_blocks(queries, names=names, progress=progress))
        return EntityScores(np.concatenate([block.values for block in blocks]), blocks[0].entities)

    def score_blocks(
        self,
        queries: Input | NamedQueries,
        *,
        rows: int = SCORED,
        names: Input | None = None,
        progress: Progress = SILENT,
    ) -> Iterator[EntityScores]:
        """The `scores` of successive queries, at most `rows` of them at a time."""
        called, facts = as_names(names), self.facts
        located, ranker = self._asked(queries, called).located(facts), self.named(called)
        for low in range(0, max(len(located), 1), rows):
            block = located.select(np.arange(low, min(low + rows, len(located))))
            part = PartOfWork(progress, "Scoring answers", low, len(block), len(located))
            values = np.full((len(block), len(facts.entities)), np.nan, dtype=np.float32)
            values[block.askable] = ranker.every_score(block.select(block.askable), part)
            part.finish()
            yield EntityScores(values, facts.entities)

    def _asked(self, queries: Input | NamedQueries, names: EntityNames) -> NamedQueries:
        """Queries by the ids of the facts; the names in the facts serve if there are no others."""
        labels = names if len(names) else EntityNames(labels_in(self.facts))
        asked = as_queries(queries).by_ids(labels, self.facts)
        check_answerable(asked, self.facts, self.relations, labels)
        return asked

    def evaluate(
        self,
        test: Input,
        filter: Input | None = None,  # noqa: A002
        progress: Progress = SILENT,
    ) -> GraphEvaluation:
        """Rank the answers of true triples among all entities; see `evaluate_ranks`."""
        further = [] if filter is None else [as_facts(filter)]
        return evaluate_ranks(
            self, self.facts, as_facts(test), further, relations=self.relations, progress=progress
        )


def _filled(answer: list[str], given: list[str], rows: Positions, is_answer: Array) -> list[str]:
    """One argument of every row: the answer where the query asks for it, else the query's own."""
    return [
        name if wanted else given[row]
        for name, row, wanted in zip(answer, rows.tolist(), is_answer.tolist(), strict=True)
    ]


def new_answers(found: Answers, queries: Queries, facts: Facts) -> Answers:
    """Leave out answers that are facts, of whatever truth."""
    table, n, n_relations = facts.binary, len(facts.entities), len(facts.predicates)
    subject, object_ = table.arguments
    # facts are sorted, and so are their keys
    stated = atom_keys(subject, table.predicate, object_, n, n_relations)
    own = found.triples(queries)
    keys = atom_keys(own.subject, own.relation, own.object, n, n_relations)
    return found.where(~contained(keys, stated))


def _report_fewer(
    best: Answers, queries: Queries, ranker: FactRanker, top: int, progress: Progress
) -> None:
    """Report once that rules propose fewer answers than wanted, or that none is possible."""
    one = np.zeros(len(queries), dtype=np.bool_)
    for row in np.flatnonzero(queries.askable & (best.sizes == 0)).tolist():
        one[row] = ranker.has_one_answer(int(queries.step[row]), int(queries.known[row]))
    if one.any():
        name = ranker.facts.predicates[int(queries.relation[one.argmax()])]
        of = "The query has its" if len(queries) == 1 else f"{_of(one, queries)} have their"
        progress.message(
            f"{of} one answer among the facts, so none is proposed: {name!r} is functional."
        )
    with_rules = np.isin(queries.relation, ranker.facts.predicates.find(ranker.relations))
    fewer = queries.askable & with_rules & (best.sizes < top) & ~one
    if fewer.any():
        of = "the query" if len(queries) == 1 else _of(fewer, queries)
        progress.message(f"Rules propose fewer than {top:,} answers to {of}.")


def _of(some: Bools, queries: Queries) -> str:
    return f"{np.count_nonzero(some):,} of {len(queries):,} queries"


def tied_ranks(found: Answers) -> Array:
    """Ranks of answers among all answers of their query, from 1; equal scores share the mean.

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


# --- rule models ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RuleRanker(FactRanker):
    """The ranker of a rule model.

    A query's answers are the other arguments of its pairs that are facts or may be proposed
    (`hornbeam.scoring.proposals.proposable`).
    """

    model: RuleModel
    engine: MemoryEngine
    score: Score = Score.MEAN

    @classmethod
    def of(cls, model: RuleModel, engine: MemoryEngine, *, score: Score = Score.MEAN) -> RuleRanker:
        """A ranker over an engine's facts; targets that the facts lack become predicates."""
        refuse_time(model, "answers no queries")
        warn_of_missing_names(model, engine)
        if model.semantics.collective:
            raise InputError(
                "a collective model scores pairs together and ranks no answers: evaluate it on "
                "`labels`"
            )
        for name, arity in model.target_arities.items():
            if arity == 1:
                raise InputError(
                    f"{name!r} is about one entity, and queries ask for one end of a pair: "
                    "`propose` finds the entities that are most likely to be so, and `evaluate` "
                    "compares their scores with `labels`"
                )
        facts = engine.facts
        missing = [name for name in model.targets if facts.predicates.index(name) < 0]
        if missing:
            none = np.empty(0, dtype=np.int32)
            facts = with_targets(
                facts, Targets(facts.entities, Names.of(missing), none, none, none)
            )
        return cls(facts, ArgumentTypes(facts), model, engine.over(facts), score)

    def with_facts(self, new: Input) -> RuleRanker:
        """The same ranker over the facts and new ones; what was prepared moves along."""
        return RuleRanker.of(self.model, self.engine.with_facts(as_facts(new)), score=self.score)

    @property
    def relations(self) -> Sequence[str]:
        """Relations that the model has rules for."""
        return self.model.targets

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """Answers of every query, best first."""
        rows, parts = list[Positions](), list[Answers]()
        for step in np.unique(queries.step).tolist():
            same = queries.step == step
            rows.append(np.flatnonzero(same))
            starts, place = np.unique(queries.known[same], return_inverse=True)
            part = PartOfWork(progress, "Following rules", sum(map(len, rows[:-1])), len(rows[-1]),
                              len(queries))  # fmt: skip
            parts.append(self._from(step, starts, part).take(place))
            part.finish()
        back = np.argsort(np.concatenate([np.empty(0, np.int64), *rows]))
        return Answers.concatenated([*parts, Answers.none(0)]).take(back)

    def every_score(self, queries: Queries, progress: Progress = SILENT) -> Floats:
        """Scores of all entities as answers, one row per query: those of `predict`."""
        everyone = np.arange(len(self.facts.entities), dtype=np.int32)
        values = np.empty((len(queries), len(everyone)))
        for row, (step, known) in enumerate(zip(queries.step, queries.known, strict=True)):
            proposer = self._proposer(int(step))
            pairs = proposer.pairs(np.full_like(everyone, known), everyone)
            counted = self.engine.count(pairs, proposer.model.bodies, self.model.language)
            values[row] = score_targets(proposer.model, counted, pairs, self.score)
            progress.advance("Scoring answers", row + 1, len(queries))
        return values

    def _from(self, step: int, starts: Ids, progress: Progress) -> Answers:
        """Answers of the queries along one step whose known arguments are `starts`."""
        blocks = list[ScoredPairs]()
        for done, pairs in self._proposer(step).links_from(starts):
            order = np.lexsort((pairs.end, -pairs.score, pairs.start))
            blocks.append(pairs.take(order))
            progress.advance("Following rules", done, len(starts))
        found = ScoredPairs.concatenated(blocks)
        sizes = np.bincount(np.searchsorted(starts, found.start), minlength=len(starts))
        return Answers(pointers(sizes), found.end, found.score)

    def _proposer(self, step: int) -> Proposer:
        """The proposer along one step, made at first use."""
        if step not in self._proposers:
            target, near = self.facts.predicates[predicate_of(step)], int(is_inverse(step))
            rules = self.model.of_target(target)
            made = Proposer(rules, self.engine, target, self.types, near, self.score)
            self._proposers[step] = made
        return self._proposers[step]

    @cached_property
    def _proposers(self) -> dict[int, Proposer]:
        return {}
