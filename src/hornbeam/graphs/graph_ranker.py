"""A model of a graph over facts: ranked answers, their probabilities, and the reasons for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from hornbeam.arrays import Floats, Ids, Ints, pointers, ranges
from hornbeam.compiled import announced
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.reading.name_files import as_names
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graphs.asked import as_queries
from hornbeam.graphs.asked_links import unasked
from hornbeam.graphs.calibration import log_odds, probabilities
from hornbeam.graphs.graph_evidence import Classes, GraphEvidence
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.model_parts import numbered_rules
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.pools import Pool, firings_of, pool_of
from hornbeam.graphs.queries import Answers, Direction, Queries
from hornbeam.graphs.ranked_answers import ranked_answers
from hornbeam.graphs.ranking import GraphEvaluation, evaluate_ranks
from hornbeam.graphs.ranking_fit import columns_of
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.ridge import MOST_ENTITIES, Ridge
from hornbeam.graphs.softmax import Firings, fired_scores, linear_scores
from hornbeam.graphs.workload import Workload
from hornbeam.progress import SILENT, Progress
from hornbeam.result_table import ResultTable
from hornbeam.rules.codes import step_code
from hornbeam.scoring.scored_links import with_names

#: Sources of one relation and direction that are answered at a time.
PART = 512
#: Relations and directions whose constants are kept for further queries.
REMEMBERED = 64


class PoolSource(Protocol):
    """Gathers the candidates of sources, wherever the links are."""

    def pool(self, rules: PathRules, sources: Ids, limit: int) -> Pool:
        """At most `limit` candidates of every source along the rules' step."""

    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates."""


@dataclass(frozen=True, eq=False)
class MemoryPools:
    """Candidates from links in memory; see `PoolSource`."""

    evidence: GraphEvidence
    leave_out_linked: bool

    def pool(self, rules: PathRules, sources: Ids, limit: int) -> Pool:
        """At most `limit` candidates of every source along the rules' step."""
        asked = unasked(sources)
        return pool_of(self.evidence, rules, asked, limit, leave_out_linked=self.leave_out_linked)

    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates."""
        return firings_of(self.evidence.graph, rules, pool)


@dataclass(frozen=True, eq=False)
class GraphRanker:
    """Answers queries by a model, from facts.

    Parameters
    ----------
    model
        What was learned.
    facts
        The graph to answer from: train's, or any other with the model's relations.
    leave_out_linked
        Never propose what is linked to the known argument already, by any relation. That is
        knowledge of how some data sets were split (`LinkedShares`), and no part of comparable
        figures.
    threads
        Threads to use; one per core by default.
    shared
        The evidence of another ranker of the model over the same facts, not to be made anew.
    source
        Where candidates come from, if not from the facts; these then have the names, and what is
        known of the answers that are looked for. Types of entities are not heeded there.
    """

    model: RankingModel
    facts: Facts
    leave_out_linked: bool = False
    threads: int | None = None
    shared: GraphEvidence | None = field(default=None, repr=False)
    source: PoolSource | None = field(default=None, repr=False)
    _rules: dict[int, tuple[PathRules, Floats]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rules", numbered_rules(self.model, self.facts))

    @cached_property
    def graph(self) -> LinkedGraph:
        """The facts as a graph."""
        if self.source is not None:
            raise InputError("the links stay in a database, and this needs them in memory")
        return LinkedGraph.of(self.facts) if self.shared is None else self.shared.graph

    @cached_property
    def evidence(self) -> GraphEvidence:
        """The graph and, where the model has it and the graph is not too large, its ridge."""
        if self.shared is not None:
            return self.shared
        ridge = None
        if self.model.ridge is not None and self.graph.n_entities <= MOST_ENTITIES:
            ridge = Ridge.fit(self.graph, self.model.ridge)
            assert len(ridge.rest)
        classes = Classes(self.model.constants, self.model.backward)
        return GraphEvidence(self.graph, ridge, classes, REMEMBERED)

    @cached_property
    def _pools(self) -> PoolSource:
        if self.source is not None:
            return self.source
        # before threads ask for them
        assert len(self.graph.links.first_run)
        assert self.evidence.pair_weights is not None
        return MemoryPools(self.evidence, self.leave_out_linked)

    def without_linked(self) -> GraphRanker:
        """The same with `leave_out_linked`; nothing is counted again."""
        return GraphRanker(self.model, self.facts, True, self.threads, self.evidence)

    @cached_property
    def _weights(self) -> dict[int, Floats]:
        numbers = {name: number for number, name in enumerate(self.facts.predicates)}
        return {
            step_code(numbers[part.relation], part.direction is Direction.SUBJECT): np.array(
                self.model.weights if part.weights is None else part.weights
            )
            for part in self.model.relations
            if part.relation in numbers
        }

    def rank(
        self,
        queries: Input,
        *,
        top: int = 10,
        names: Input | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:
        """The best new answers of queries by names; see `hornbeam.graphs.asked.read_queries`."""
        asked, types = as_queries(queries), None
        if self.source is None:  # it has all facts, which say what stands where
            types = ArgumentTypes(self.facts, as_names(names))
        # known answers are no candidates, so that none has to be looked for
        found = ranked_answers(
            self, asked, top, known=True, probabilities=self.probabilities, types=types,
            progress=progress,
        )  # fmt: skip
        return with_names(found, names)

    def evaluate(
        self,
        test: Input,
        filter: Input | None = None,  # noqa: A002
        progress: Progress = SILENT,
    ) -> GraphEvaluation:
        """Rank the answers of true triples among all entities; see `evaluate_ranks`."""
        further = [] if filter is None else [as_facts(filter)]
        relations = {part.relation for part in self.model.relations}
        return evaluate_ranks(
            self, self.facts, as_facts(test), further, relations=relations, progress=progress
        )

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """The candidates of every query, best first; all others tie below them.

        Known answers, those among the facts, are no candidates. A query whose entity or relation
        the facts or the model lack has none.
        """
        pool, score, place = self._asked(queries, progress)
        sizes = np.append(np.diff(pool.offsets), 0)[place]
        starts = pool.offsets[place]  # of a query without a source: the end
        rows = ranges(starts, starts + sizes)
        return Answers(pointers(sizes), pool.entity[rows], score[rows])

    def probabilities(self, answers: Answers) -> Floats:
        """How likely every answer is right, by the model's calibration."""
        z = log_odds(np.asarray(answers.offsets, dtype=np.int64), answers.scores)
        return probabilities(z, self.model.calibration)

    def knows(self, step: int) -> bool:
        """Whether the model has a section for a step."""
        return step in self._rules

    @property
    def steps(self) -> list[int]:
        """Steps that the model has sections for and the facts have relations of, ascending."""
        return sorted(self._rules)

    def weights_of(self, step: int) -> Floats:
        """Weights of the model's features for a step."""
        return self._weights[step]

    def rules_of(self, step: int) -> tuple[PathRules, Floats]:
        """Path rules of a step in the ids of the facts, and their own weights."""
        return self._rules[step]

    def scored(self, step: int, sources: Ids) -> tuple[Pool, Floats]:
        """The candidates of some sources of one step, with the model's features and scores."""
        rules, weights = self._rules[step]
        pool = self._pools.pool(rules, sources, self.model.pool)
        pool = replace(pool, feature=_columns(pool, columns_of(self.model.features)))
        score = linear_scores(pool.feature, self._weights[step])
        if weights.any():
            score += fired_scores(self._pools.firings(rules, pool), weights)
        return pool, score

    def _asked(self, queries: Queries, progress: Progress) -> tuple[Pool, Floats, Ints]:
        """Ranked pools of the distinct sources, and the source of every query (the last: none)."""
        step = step_code(queries.relation.astype(np.int64)) + queries.asks_subject
        known = np.array([code in self._rules for code in step.tolist()], dtype=np.bool_)
        known &= (queries.known >= 0) & (queries.relation >= 0)
        key: Ints = step.astype(np.int64) * len(self.facts.entities) + queries.known
        distinct = np.unique(key[known])
        parts = self._parts(distinct)
        work = Workload(progress, "Ranking answers", threads=self.threads)
        with announced(progress):
            assert self._pools is not None  # before threads ask for it
            found = work.each(self._ranked, parts, [len(part[1]) + 5.0 for part in parts], 1.0)
        done = [one for one in found if one is not None]
        place = np.where(known, np.searchsorted(distinct, key), len(distinct))
        if not done:
            nothing = np.empty(0, dtype=np.int32)
            return _empty_pool(nothing), np.empty(0), place
        pool = Pool.concatenated([one for one, _ in done])
        return pool, np.concatenate([score for _, score in done]), place

    def _parts(self, distinct: Ints) -> list[tuple[int, Ids]]:
        step, source = np.divmod(distinct, max(len(self.facts.entities), 1))
        parts = []
        for one in np.unique(step).tolist():
            sources = source[step == one].astype(np.int32)
            parts += [(one, sources[i : i + PART]) for i in range(0, len(sources), PART)]
        return parts

    def _ranked(self, part: tuple[int, Ids]) -> tuple[Pool, Floats]:
        """The pool of some sources of one step, best candidates first, without its features."""
        step, sources = part
        pool, score = self.scored(step, sources)
        of = np.repeat(np.arange(len(sources)), np.diff(pool.offsets))
        order = np.lexsort((pool.entity, -score, of))
        ranked = Pool(
            pool.step, pool.source, pool.offsets, pool.entity[order], pool.feature[:, :0],
            pool.truth, pool.missed, pool.fold,
        )  # fmt: skip
        return ranked, score[order]


def _columns(pool: Pool, columns: Ints) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Features of a pool; those of a ridge that the graph is too large for are 0."""
    wide = np.zeros((len(pool.entity), len(columns)), dtype=np.float32)
    there = columns < pool.feature.shape[1]
    wide[:, there] = pool.feature[:, columns[there]]
    return wide


def _empty_pool(nothing: Ids) -> Pool:
    offsets = np.zeros(1, dtype=np.int64)
    empty = np.empty((0, 0), dtype=np.float32)
    truth, missed = np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.int64)
    return Pool(nothing, nothing, offsets, nothing, empty, truth, missed, nothing)
