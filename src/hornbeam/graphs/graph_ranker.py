"""Rankers by a model of a graph: ranked answers of queries over facts, and their probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, Singles, pointers
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.data_summaries import summary_of_facts
from hornbeam.errors import HornbeamNote, InputError, warn
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.atom_keys import atom_keys, pair_keys
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graphs.evidence_kernels import MILLION
from hornbeam.graphs.features import columns_of
from hornbeam.graphs.graph_evidence import GraphEvidence
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.grouped_queries import no_queries
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.model_parts import StepModel, numbered_model
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.pools import FurtherCandidates, Pool, firings_of, pool_of
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.softmax import Firings, fired_scores, linear_scores
from hornbeam.graphs.softmax_ranker import BELOW_POOL, SoftmaxRanker, best_first
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Answers, Queries, Triples
from hornbeam.ranking.rank_evaluation import GraphEvaluation
from hornbeam.rules.codes import inverse_code, is_inverse, predicate_of

#: Number of sources of one relation and direction that are answered at a time.
PART = 512
#: Number of relations and directions whose slot scores of all entities are cached.
SLOTS = 8


@dataclass(frozen=True, eq=False)
class GraphRanker(SoftmaxRanker):
    """Answers queries by a model: a `MemoryRanker` from arrays, a `SqlRanker` from a database.

    Parameters
    ----------
    facts, types
        The graph to answer from: the training graph, or any other with the model's relations. Of a
        database, `facts` have the names, and the known answers of a test's queries.
    model
        The learned model.
    steps
        Rules and weights of every step whose relation the facts have, by ascending step.
    listed
        Wanted number of answers per query: the model's pool, then the next best candidates up to
        this number. None lists all answers that rules propose.
    """

    steps: Mapping[int, StepModel]
    listed: int | None = None
    _slot_scores: dict[int, Ints] = field(default_factory=dict, repr=False)

    @abstractmethod
    def without_linked(self) -> GraphRanker:
        """The same ranker without candidates that any relation links to the known argument.

        Leaving them out uses knowledge of how some data sets were split (`LinkedShares`), so
        figures of this ranker are not comparable with others.
        """

    def with_facts(self, new: Input) -> GraphRanker:
        """The same ranker over the facts and new ones, as if they had been read together."""
        raise InputError(
            "a ranker over a database takes no new facts: add them to the database, or read the "
            "facts into memory"
        )

    @abstractmethod
    def without_facts(self, triples: Triples) -> GraphRanker:
        """A ranker that does not know the facts `triples`; a database always knows all its facts.

        Types of arguments are then those of the other facts.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Compute the arrays that all queries share, once, before several threads need them."""

    @abstractmethod
    def pool(self, rules: PathRules, sources: Ids, further: bool = False) -> Pool:
        """Candidates of every source along the rules' step, at most as many as the model allows.

        With `further`, the candidates beyond that number are added without features.
        """

    @abstractmethod
    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates."""

    @abstractmethod
    def slot_scores(self, step: int) -> Ints:
        """Slot scores of all entities as answers along a step, in millionths."""

    @abstractmethod
    def left_out(self, step: int, source: int) -> Ids:
        """Entities that are no candidates of a query: known answers, or all linked entities."""

    def listing(self, top: int | None) -> Self:
        """A ranker that lists at least `top` answers of a query, if rules propose so many."""
        return replace(self, listed=top)

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """The fitting candidates of every query, best first; `others` orders the entities below.

        Known answers, those among the facts, are not candidates. A query has no candidates if the
        facts lack its entity, or the facts or the model lack its relation.
        """
        step = queries.step
        known = np.array([code in self.steps for code in step.tolist()], dtype=np.bool_)
        known &= (queries.known >= 0) & (queries.relation >= 0)
        key = pair_keys(step, queries.known, len(self.facts.entities))
        distinct = np.unique(key[known])
        parts = self._parts(distinct)
        work = Workload(progress, "Ranking answers", threads=self.threads)
        with announced(progress):
            self.prepare()
            sizes = [len(sources) + 5.0 for _, sources in parts]
            done = [part for _, part in Portion(work, 1.0).each(self._ranked, parts, sizes)]
        place = np.where(known, np.searchsorted(distinct, key), len(distinct))
        return Answers.concatenated([*done, Answers.none(1)]).take(place)

    def has_one_answer(self, step: int, source: int) -> bool:
        """Whether the relation is functional in this direction, and the facts have the answer."""
        relation = self.facts.predicates[predicate_of(step)]
        is_functional = step in self.steps and self.steps[step].functional
        return is_functional and bool(self.types.linked(relation, int(is_inverse(step)))[source])

    def evaluate(
        self,
        test: Input,
        filter: Input | None = None,  # noqa: A002
        progress: Progress = SILENT,
    ) -> GraphEvaluation:
        """Rank the answers of true triples; notes a validation set that is not given to filter."""
        test, learned = as_facts(test), self.model.provenance
        held = None if learned is None else learned.labels
        if filter is None and held is not None and held != summary_of_facts(test):
            warn(
                f"the model was learned with {held.number:,} validation facts, which count as "
                "wrong answers here: give them as `filter`",
                HornbeamNote,
            )
        return super().evaluate(test, filter, progress)

    def scored(self, step: int, sources: Ids, further: bool = False) -> tuple[Pool, Floats]:
        """The candidates of sources of one step, with the model's features and scores.

        For `further` see `pool`.
        """
        model = self.steps[step]
        pool = self.pool(model.rules, sources, further)
        pool = replace(pool, feature=_columns(pool, columns_of(self.model.features)))
        score = linear_scores(pool.feature, model.weights)
        if model.rule_weights.any():
            score += fired_scores(self.firings(model.rules, pool), model.rule_weights)
        return pool, score

    def _parts(self, distinct: Ints) -> list[tuple[int, Ids]]:
        of_query, source = np.divmod(distinct, max(len(self.facts.entities), 1))
        parts = []
        for step in np.unique(of_query).tolist():
            sources = source[of_query == step].astype(np.int32)
            parts += [(step, sources[i : i + PART]) for i in range(0, len(sources), PART)]
        return parts

    def _ranked(self, part: tuple[int, Ids]) -> Answers:
        """The fitting candidates of sources of one step, best first."""
        step, sources = part
        wants_more = self.listed is None or self.listed > self.model.pool
        pool, score = self.scored(step, sources, wants_more)
        found = best_first(pool, score)
        found = found if pool.further is None else _with_further(found, pool.further)
        found = found.where(self.fit(step, sources[found.query], found.entities))
        return found if self.listed is None else found.best(max(self.listed, self.model.pool))

    def others(self, step: int, source: int) -> Floats | None:
        """Scores that order the entities that are not in the pool of a query: the slot scores.

        An entity that is no candidate, a known answer or one that does not fit, has -inf.
        """
        if not self.model.slots:
            return None
        everyone = np.arange(len(self.facts.entities), dtype=np.int32)
        scores = self._slots_of(step, np.full_like(everyone, source), everyone)
        scores[self.left_out(step, source)] = -np.inf
        return scores

    def order_of(self, queries: Queries, answers: Ids) -> Floats:
        """Slot scores of an answer per query."""
        order = np.full(len(queries), -np.inf)
        for step in np.unique(queries.step).tolist():
            same = queries.step == step
            order[same] = self._slots_of(step, queries.known[same], answers[same])
        return order

    def _slots_of(self, step: int, sources: Ids, answers: Ids) -> Floats:
        """Slot scores of answers; -inf where they do not fit."""
        scores = np.zeros(len(answers))
        if self.model.slots:
            if step not in self._slot_scores:
                for oldest in list(self._slot_scores)[: len(self._slot_scores) + 1 - SLOTS]:
                    self._slot_scores.pop(oldest, None)
                self._slot_scores[step] = self.slot_scores(step)
            scores = self._slot_scores[step][answers] / MILLION
        return np.where(self.fit(step, sources, answers), scores, -np.inf)

    def fit(self, step: int, sources: Ids, answers: Ids) -> Bools:
        """Which answers fit their sources along a step; see `proposals.proposable`.

        Where the relation is functional, neither end has a link of the relation already.
        """
        relation = self.facts.predicates[predicate_of(step)]
        subject, object_ = (answers, sources) if is_inverse(step) else (sources, answers)
        fit = self.types.fits(relation, subject, object_)
        for along, ends in ((step, sources), (inverse_code(step), answers)):
            if along in self.steps and self.steps[along].functional:
                fit &= ~self.types.linked(relation, int(is_inverse(along)))[ends]
        return fit


def _with_further(found: Answers, further: FurtherCandidates) -> Answers:
    """Answers of a pool, then further candidates, each scored a little below the previous one."""
    query = np.repeat(np.arange(len(found)), further.sizes)
    place = np.arange(len(query)) - np.repeat(pointers(further.sizes)[:-1], further.sizes)
    # a query with further candidates has candidates in its pool, the worst of them last
    score = found.scores[found.offsets[1:][query] - 1] - BELOW_POOL - np.log1p(place)
    order = np.argsort(np.concatenate([found.query, query]), kind="stable")
    return Answers(
        found.offsets + pointers(further.sizes),
        np.concatenate([found.entities, further.entity])[order],
        np.concatenate([found.scores, score])[order],
    )


def _columns(pool: Pool, columns: Ints) -> Singles:
    """Features of a pool; the ridge's features are 0 if the graph is too large for a ridge."""
    wide = np.zeros((len(pool.entity), len(columns)), dtype=np.float32)
    present = columns < pool.feature.shape[1]
    wide[:, present] = pool.feature[:, columns[present]]
    return wide


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryRanker(GraphRanker):
    """Answers queries from links in arrays; see `GraphRanker`.

    `evidence` has the graph, and a ridge if the model has one and the graph is not too large.
    """

    evidence: GraphEvidence = field(repr=False)
    leave_out_linked: bool = False

    @classmethod
    def of(
        cls,
        model: RankingModel,
        facts: Facts,
        *,
        threads: int | None = None,
        leave_out_linked: bool = False,
    ) -> MemoryRanker:
        """Take the binary facts that round to true; nothing is counted before the first query."""
        graph = LinkedGraph.of(facts)
        settings = GraphSettings(model.constants, model.backward, slots=model.slots)
        evidence = GraphEvidence.remembering(graph, model.ridge, settings)
        steps = numbered_model(model, facts.predicates)
        return cls(
            facts, ArgumentTypes(facts), model, steps, threads=threads, evidence=evidence,
            leave_out_linked=leave_out_linked,
        )  # fmt: skip

    @property
    def graph(self) -> LinkedGraph:
        """The facts as a graph."""
        return self.evidence.graph

    def without_linked(self) -> MemoryRanker:
        """The same ranker with `leave_out_linked`; nothing is counted again."""
        return replace(self, leave_out_linked=True)

    def without_facts(self, triples: Triples) -> MemoryRanker:
        """A ranker over the other facts, which counts constants anew; itself if none is removed."""
        facts, table = self.facts, self.facts.binary
        sizes = len(facts.entities), len(facts.predicates)
        hidden = atom_keys(triples.subject, triples.relation, triples.object, *sizes)
        subject, object_ = table.arguments
        kept = ~np.isin(atom_keys(subject, table.predicate, object_, *sizes), hidden)
        if kept.all():
            return self
        return self._over(replace(facts, atoms={**facts.atoms, 2: table.select(kept)}))

    def with_facts(self, new: Input) -> MemoryRanker:
        """The same ranker over the facts and new ones, which counts constants anew."""
        return self._over(self.facts + as_facts(new))

    def _over(self, facts: Facts) -> MemoryRanker:
        """The same ranker over other facts."""
        ranker = MemoryRanker.of(
            self.model, facts, threads=self.threads, leave_out_linked=self.leave_out_linked
        )
        types = replace(ranker.types, names=self.types.names)
        return replace(ranker, types=types, listed=self.listed)

    def prepare(self) -> None:
        """Compute the arrays that all queries share, once, before several threads need them."""
        self.evidence.prepare()

    def pool(self, rules: PathRules, sources: Ids, further: bool = False) -> Pool:
        """Candidates of every source along the rules' step; see `GraphRanker.pool`."""
        return pool_of(
            self.evidence, rules, no_queries(sources), self.model.pool,
            leave_out_linked=self.leave_out_linked, further=further,
        )  # fmt: skip

    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates."""
        return firings_of(self.graph, rules, pool)

    def slot_scores(self, step: int) -> Ints:
        """Slot scores of all entities as answers along a step, in millionths."""
        return self.evidence.slot_scores(step)

    def left_out(self, step: int, source: int) -> Ids:
        """Entities that are no candidates of a query: known answers, or all linked entities."""
        if not self.leave_out_linked:
            return self.graph.ends(source, step)
        links = self.graph.links
        low, high = links.run_start[links.first_run[[source, source + 1]]]
        return links.end[low:high]
