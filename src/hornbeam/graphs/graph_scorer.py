"""Scores of given triples by a model of a whole graph, as answers of their object queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.errors import warn
from hornbeam.facts.atom_keys import atom_keys, contained, pair_keys
from hornbeam.facts.reading.readers import Input, as_names, as_pairs
from hornbeam.facts.table import Facts, Targets
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.ranking.queries import Queries
from hornbeam.ranking.triples import Triples
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
