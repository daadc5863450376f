"""Scores of triples by a model of a whole graph: of given triples, and of new facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Integers, places_in_runs
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import did_you_mean, shown_list
from hornbeam.errors import InputError, warn
from hornbeam.facts.entity_names import NO_NAMES, EntityNames, wanted_ends
from hornbeam.facts.reading.readers import Input, as_names, as_pairs
from hornbeam.facts.table import Targets
from hornbeam.graphs.graph_ranker import GraphRanker, MemoryRanker
from hornbeam.graphs.timed.timed_ranker import TimedRanker
from hornbeam.ranking.queries import Queries, Triples, answered
from hornbeam.rules.codes import inverse_code, step_code
from hornbeam.scoring.scored_links import scored_table, with_names

#: A ranker of a graph, without or with times.
AnyRanker = GraphRanker | TimedRanker
#: Number of queries that are answered at a time; all of their answers are in memory.
QUERIES = 1024
#: Fraction of a functional relation's known subjects whose slot scores are lower than usual.
ATYPICAL = 0.1
#: Columns of new facts; the rank is the object's rank among the answers of its subject.
NEW_FACT = ("subject", "predicate", "object", "score", "probability", "rank")


@dataclass(frozen=True, eq=False)
class GraphScorer:
    """A model over facts that scores given triples.

    The triple (a, t, b) has the score and the probability that b has among the answers of
    (a, t, ?), whether a rule proposes it or not (`FactRanker.scores`). A triple of a name or a
    relation that is not known has the score NaN and the probability 0.
    """

    ranker: AnyRanker

    def with_facts(self, new: Input) -> GraphScorer:
        """The same scorer over the facts and new ones."""
        return replace(self, ranker=self.ranker.with_facts(new))

    def predict(
        self, pairs: Input, *, names: Input | None = None, progress: Progress = SILENT
    ) -> ResultTable:
        """Score triples, in their order; they name entities by ids or by `names`.

        Triples that are facts in memory are removed from the facts first, all at once.
        """
        facts, called = self.ranker.facts, as_names(names)
        relations = sorted(self.ranker.relations)
        triples = as_pairs(pairs, relations[0] if len(relations) == 1 else None)
        triples = triples.renamed(
            called.entities(triples.entities, lambda asked: asked.translate(facts.entities)),
            called.relations(triples.predicates, relations),
        )
        self._warn_of_other_relations(triples)
        scorer = GraphScorer(self.ranker.named(called))
        score, probability = scorer.scores(triples, progress)
        unscored = int(np.count_nonzero(np.isnan(score)))
        if unscored:
            progress.message(
                f"{unscored:,} of {len(triples):,} triples name an entity or a relation that the "
                "facts or the model lack: these have no score, and the probability 0."
            )
        table = scored_table(triples, score).with_columns({"probability": probability})
        return with_names(table, None if names is None else called)

    def scores(self, triples: Targets, progress: Progress = SILENT) -> tuple[Floats, Floats]:
        """Scores and probabilities of triples."""
        facts = self.ranker.facts
        entity = triples.entities.translate(facts.entities)
        asked = Triples(
            triples.predicates.translate(facts.predicates)[triples.predicate],
            entity[triples.subject],
            entity[triples.object],
        )
        named = (asked.relation >= 0) & (asked.subject >= 0) & (asked.object >= 0)
        score, probability = np.full(len(triples), np.nan), np.zeros(len(triples))
        asked = asked.select(named)
        known = asked.among_facts(facts)
        ranker = self.ranker
        if known.any():
            n = int(np.count_nonzero(known))
            progress.message(
                f"{n:,} of the triples {'is' if n == 1 else 'are'} among the facts: all are scored "
                "as if none of them were."
            )
            ranker = ranker.without_facts(asked.select(known))
        score[named], probability[named] = _answers_of(ranker, asked, progress)
        return score, probability

    def _warn_of_other_relations(self, triples: Targets) -> None:
        others = sorted(set(triples.predicates) - set(self.ranker.relations))
        if others:
            shown = shown_list(map(repr, others))
            warn(f"the model has no rules for {shown}; such triples have no score")


def _answers_of(ranker: AnyRanker, asked: Triples, progress: Progress) -> tuple[Floats, Floats]:
    """Score and probability of every object as an answer of its query."""
    score, probability = np.full(len(asked), np.nan), np.zeros(len(asked))
    there = np.flatnonzero(np.isin(step_code(asked.relation.astype(np.int64)), list(ranker.steps)))
    order = there[np.lexsort((asked.subject[there], asked.relation[there]))]
    for low in range(0, len(order), QUERIES):  # equal queries are answered once
        rows = order[low : low + QUERIES]
        part = PartOfWork(progress, "Scoring triples", low, len(rows), len(order))
        asks_subject = np.zeros(len(rows), dtype=np.bool_)
        queries = Queries(asked.relation[rows], asked.subject[rows], asks_subject)
        found = ranker.answers(queries, part)
        score[rows], probability[rows] = ranker.scores_of(queries, found, asked.object[rows])
        part.finish()
    return score, probability


# --- new facts ------------------------------------------------------------------------------------


def new_facts(
    ranker: MemoryRanker | TimedRanker,
    *,
    relations: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    objects: Sequence[str] | None = None,
    top: int = 10,
    per_subject: bool = False,
    names: EntityNames | None = None,
    progress: Progress = SILENT,
) -> ResultTable:
    """The `top` most probable new facts per relation, of its usual subjects or of `subjects`.

    With `per_subject`, the `top` facts of every subject, by subject. The columns are subject,
    predicate, object, score, probability and rank, the object's rank among the answers of its
    subject. Scores are comparable only among the answers of one subject, probabilities among all.
    If `objects` alone are given, facts are answers of queries for the subjects of these, and the
    rank is that of the subject; with subjects, too, they are the only answers.
    """
    facts, called = ranker.facts, NO_NAMES if names is None else names
    given, only, asks_subject = wanted_ends(facts, called, subjects, objects, per_subject)
    ranker = ranker.named(called).listing(top if only is None else None)
    there = sorted(ranker.relations)
    relations = [called.relation(name, there) for name in relations or ()]
    for name in relations:
        if name not in there:
            hint = did_you_mean(name, there)
            raise InputError(f"the model has no rules for the relation {name!r}.{hint}")
    columns: dict[str, list[Any]] = {name: [] for name in NEW_FACT}
    for name in relations or there:
        predicate = facts.predicates.index(name)
        if predicate >= 0:
            known = _usual_subjects(ranker, predicate) if given is None else given
            queries = Queries(
                np.full_like(known, predicate), known, np.full(len(known), asks_subject)
            )
            best = _best_of(ranker, queries, only, top, per_subject, progress)
            for column, values in zip(columns.values(), best, strict=True):
                column += values
    return with_names(ResultTable(columns), names)


def _usual_subjects(ranker: MemoryRanker | TimedRanker, predicate: int) -> Ids:
    """The subjects whose new facts are wanted: the known subjects of a relation.

    Known subjects of a functional relation get no new facts. There they are the entities without a
    link of the relation, and with a slot score that known subjects have, too.
    """
    step = step_code(predicate)
    known = ranker.graph.holders(step)
    if isinstance(ranker, TimedRanker) or not ranker.model.slots or not len(known):
        return known
    if step not in ranker.steps or not ranker.steps[step].functional:
        return known
    scores = ranker.slot_scores(inverse_code(step))
    usual = scores >= np.quantile(scores[known], ATYPICAL)
    usual[known] = False
    return np.flatnonzero(usual).astype(np.int32)


def _best_of(
    ranker: MemoryRanker | TimedRanker,
    queries: Queries,
    only: Ids | None,
    top: int,
    per_subject: bool,
    progress: Progress,
) -> tuple[list[Any], ...]:
    """The most probable of the answers, or of those that are in `only`, as columns."""
    facts = ranker.facts
    found = answered(ranker, queries, progress)
    likely, query = ranker.probabilities(found), found.query
    place = np.arange(len(query)) - found.offsets[query]
    known = queries.known[query]
    chosen: Integers = np.arange(len(query))
    if only is not None:
        chosen = np.flatnonzero(np.isin(found.entities, only))
    if per_subject:
        chosen = chosen[places_in_runs(query[chosen]) < top]
        chosen = chosen[np.argsort(known[chosen], kind="stable")]
    else:
        order = np.lexsort((found.entities[chosen], known[chosen], -likely[chosen]))
        chosen = chosen[order[:top]]
    ends = [facts.entities.take(ids[chosen].tolist()) for ids in (known, found.entities)]
    if queries.asks_subject.any():
        ends.reverse()
    return (
        ends[0],
        facts.predicates.take(queries.relation[query[chosen]].tolist()),
        ends[1],
        found.scores[chosen].tolist(),
        likely[chosen].tolist(),
        (place[chosen] + 1).tolist(),
    )
