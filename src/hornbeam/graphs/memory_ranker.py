"""A model over facts in memory, where the reasons for answers can be found, too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.atom_keys import atom_keys
from hornbeam.facts.table import Atoms, Facts
from hornbeam.graphs.graph_evidence import GraphEvidence, UsedRuleClasses
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.grouped_queries import no_queries
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.model_parts import numbered_model
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.pools import Pool, firings_of, pool_of
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.ridge import MAX_ENTITIES
from hornbeam.graphs.softmax import Firings
from hornbeam.ranking.triples import Triples

#: Number of relations and directions whose constants are cached for further queries.
REMEMBERED = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryRanker(GraphRanker):
    """Answers queries from links in arrays; see `GraphRanker`.

    `evidence` has the graph and, if the model has one and the graph is not too large, its ridge.
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
        penalty = model.ridge if graph.n_entities <= MAX_ENTITIES else None
        classes = UsedRuleClasses(model.constants, model.backward)
        evidence = GraphEvidence(graph, penalty, classes, REMEMBERED)
        steps = numbered_model(model, facts.predicates)
        return cls(
            model, facts, ArgumentTypes(facts), steps, threads, evidence=evidence,
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
        """A ranker over the other facts, whose rules are counted anew."""
        facts, table = self.facts, self.facts.binary
        sizes = len(facts.entities), len(facts.predicates)
        hidden = atom_keys(triples.subject, triples.relation, triples.object, *sizes)
        subject, object_ = table.arguments
        kept = ~np.isin(atom_keys(subject, table.predicate, object_, *sizes), hidden)
        rest = Atoms(
            table.predicate[kept],
            (subject[kept], object_[kept]),
            None if table.millionths is None else table.millionths[kept],
        )
        ranker = MemoryRanker.of(
            self.model, replace(facts, atoms={**facts.atoms, 2: rest}), threads=self.threads,
            leave_out_linked=self.leave_out_linked,
        )  # fmt: skip
        types = replace(ranker.types, names=self.types.names)
        return replace(ranker, types=types, listed=self.listed)

    def prepare(self) -> None:
        """Compute what all queries share, once, before several threads need it."""
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
