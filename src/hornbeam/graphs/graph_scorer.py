"""Scores of triples by a model of a whole graph: of given ones, and of new facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import did_you_mean
from hornbeam.errors import InputError, warn
from hornbeam.facts.atom_keys import atom_keys, contained, pair_keys
from hornbeam.facts.entity_names import EntityNames, labels_in
from hornbeam.facts.reading.readers import Input, as_names, as_pairs
from hornbeam.facts.table import Facts, Targets
from hornbeam.graphs.graph_ranker import GraphRanker, MemoryRanker
from hornbeam.ranking.queries import Queries, Triples, answered
from hornbeam.rules.codes import step_code
from hornbeam.scoring.scored_links import scored_table, with_names

#: Queries that are answered at a time: all of their answers are in memory.
QUERIES = 1024


@dataclass(frozen=True, eq=False)
class GraphScorer:
    """A model over facts that scores given triples.

    The triple (a, t, b) has the score and the probability that b has among the answers of
    (a, t, ?). A triple that no rule proposes has the score NaN and the probability 0.
    """

    ranker: GraphRanker

    def predict(
        self, pairs: Input, *, names: Input | None = None, progress: Progress = SILENT
    ) -> ResultTable:
        """Score triples, in their order; entities by ids or by `names`.

        Triples that are among facts in memory are taken out of them first, all at once.
        """
        facts, called = self.ranker.facts, as_names(names)
        relations = sorted(self.ranker.relations)
        triples = as_pairs(pairs, relations[0] if len(relations) == 1 else None)
        triples = triples.renamed(
            called.entities(triples.entities, lambda asked: asked.translate(facts.entities))
        )
        self._warn_of_other_relations(triples)
        scorer = GraphScorer(self.ranker.named(called))
        score, probability = scorer.scores(triples, progress)
        unscored = int(np.count_nonzero(np.isnan(score)))
        if unscored:
            progress.message(
                f"No rule proposes {unscored:,} of {len(triples):,} triples: these have no score, "
                "and the probability 0."
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
        known = _among(asked, facts)
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
            shown = ", ".join(map(repr, others[:10])) + (", ..." if len(others) > 10 else "")
            warn(f"the model has no rules for {shown}; such triples have no score")


def _among(asked: Triples, facts: Facts) -> Bools:
    """Which triples are facts."""
    n, n_relations = len(facts.entities), len(facts.predicates)
    keys = [
        atom_keys(table.subject, table.relation, table.object, n, n_relations)
        for table in (asked, Triples.of(facts))
    ]
    return contained(keys[0], np.sort(keys[1]))


def _answers_of(ranker: GraphRanker, asked: Triples, progress: Progress) -> tuple[Floats, Floats]:
    """Score and probability of every object among the answers of its query; NaN and 0 if absent."""
    n_entities = max(len(ranker.facts.entities), 1)
    same = pair_keys(asked.relation, asked.subject, n_entities)
    _, first, group = np.unique(same, return_index=True, return_inverse=True)
    score, probability = np.full(len(asked), np.nan), np.zeros(len(asked))
    for low in range(0, len(first), QUERIES):
        high = min(low + QUERIES, len(first))
        part = PartOfWork(progress, "Scoring triples", low, high - low, len(first))
        chosen = first[low:high]
        queries = Queries(
            asked.relation[chosen], asked.subject[chosen], np.zeros(len(chosen), dtype=np.bool_)
        )
        found = ranker.answers(queries, part)
        likely = ranker.probabilities(found)
        answer = pair_keys(found.query, found.entities, n_entities)
        order = np.argsort(answer)
        rows = np.flatnonzero((group >= low) & (group < high))
        wanted = pair_keys(group[rows] - low, asked.object[rows], n_entities)
        place = np.searchsorted(answer, wanted, sorter=order)
        proposed = place < len(answer)
        proposed[proposed] = answer[order[place[proposed]]] == wanted[proposed]
        answers = order[place[proposed]]
        score[rows[proposed]] = found.scores[answers]
        probability[rows[proposed]] = likely[answers]
        part.finish()
    return score, probability


# --- new facts ------------------------------------------------------------------------------------


class NewFact(NamedTuple):
    """A fact that the model believes, with the rank of its object among its subject's answers."""

    subject: str
    predicate: str
    object: str
    score: float
    probability: float
    rank: int


def new_facts(
    ranker: MemoryRanker,
    *,
    relations: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    top: int = 10,
    per_subject: bool = False,
    names: Input | None = None,
    progress: Progress = SILENT,
) -> ResultTable:
    """The `top` most probable new facts per relation, for its known subjects or the given ones.

    With `per_subject`, the `top` facts of every subject, by subject. The columns are subject,
    predicate, object, score, probability and rank: that of the object among the answers of its
    subject. Scores are comparable among the answers of one subject only, probabilities among all.
    """
    facts, called = ranker.facts, as_names(names)
    ranker = replace(ranker.named(called), listed=top)
    there = sorted(ranker.relations)
    for name in relations or ():
        if name not in there:
            hint = did_you_mean(name, there)
            raise InputError(f"the model has no rules for the relation {name!r}.{hint}")
    given = None
    if subjects is not None:
        meant = called if len(called) else EntityNames(labels_in(facts))
        ids = [meant.known_entity(name, facts.entities, "subject") for name in subjects]
        given = facts.entities.find(ids)
    rows: list[NewFact] = []
    for name in relations or there:
        predicate = facts.predicates.index(name)
        if predicate >= 0:
            known = ranker.graph.holders(step_code(predicate)) if given is None else given
            rows += _best_of(ranker, predicate, known, top, per_subject, progress)
    columns = {name: [getattr(row, name) for row in rows] for name in NewFact._fields}
    return with_names(ResultTable(columns), None if names is None else called)


def _best_of(
    ranker: MemoryRanker,
    predicate: int,
    known: Ids,
    top: int,
    per_subject: bool,
    progress: Progress,
) -> list[NewFact]:
    """The most probable new facts of one relation, or of every subject."""
    facts = ranker.facts
    queries = Queries(np.full_like(known, predicate), known, np.zeros(len(known), dtype=np.bool_))
    found = answered(ranker, queries, progress)
    likely, query = ranker.probabilities(found), found.query
    place = np.arange(len(query)) - found.offsets[query]
    if per_subject:
        chosen: Integers = np.flatnonzero(place < top)
        chosen = chosen[np.argsort(known[query[chosen]], kind="stable")]
    else:
        chosen = np.lexsort((found.entities, known[query], -likely))[:top]
    return [
        NewFact(facts.entities[s], facts.predicates[predicate], facts.entities[o], score, p, r)
        for s, o, score, p, r in zip(
            known[query[chosen]].tolist(), found.entities[chosen].tolist(),
            found.scores[chosen].tolist(), likely[chosen].tolist(), (place[chosen] + 1).tolist(),
            strict=True,
        )
    ]  # fmt: skip
