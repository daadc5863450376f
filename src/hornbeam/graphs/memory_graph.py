"""A graph in memory: kernels find and count rules, one relation and direction at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Ints
from hornbeam.counting.opening import facts_or_database
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.names import Names
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Facts
from hornbeam.graph.link_hashes import CHOOSING, DISCOVERING, LinkHash
from hornbeam.graphs.constants import any_entity_rules, constant_rules
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_evidence import GraphEvidence
from hornbeam.graphs.graph_settings import GraphPlan, GraphSettings, inverse_seconds
from hornbeam.graphs.grouped_queries import (
    GroupedQueries,
    QueriesByStep,
    hidden_folds,
    queries_of_links,
    sampled_links,
)
from hornbeam.graphs.linked_graph import (
    GraphSize,
    LinkedGraph,
    canonical_links,
    canonical_steps,
    n_walks,
)
from hornbeam.graphs.linked_pairs import linked_shares
from hornbeam.graphs.model_parts import best_constants
from hornbeam.graphs.path_rules import PathRules, PathTable, counted_rules, discover_paths
from hornbeam.graphs.pools import Pool, firings_of, pool_of
from hornbeam.graphs.ranking_model import LinkedShares
from hornbeam.graphs.ridge import (
    DEFAULT_PENALTY,
    LINKS_PER_RELATION,
    MAX_ENTITIES_TO_CHOOSE,
    PENALTIES,
    choose_penalty,
    fitted_ridge,
    has_few_nodes,
)
from hornbeam.graphs.softmax import Firings
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Triples
from hornbeam.rules.codes import is_inverse, predicate_of, step_code
from hornbeam.rules.rule_model import CountedRule

#: Number of sources per work item, between two checks of the time limit.
SOURCES_PER_ITEM = 2_000
#: Fraction of the time limit in which the ridge's inverses must be computed.
RIDGE_UNTIL = 0.8


@dataclass(frozen=True, eq=False)
class MemoryGraph:
    """Links of facts in arrays; see `hornbeam.graphs.graph_counter.GraphCounter`."""

    facts: Facts
    graph: LinkedGraph
    settings: GraphSettings
    types: ArgumentTypes  #: which candidates fit a relation, as answers of the model must
    ridge_penalty: float | None = None

    @classmethod
    def of(cls, facts: Facts, settings: GraphSettings) -> MemoryGraph:
        """Take the binary facts that round to true; a graph of too many properties has no ridge."""
        graph = LinkedGraph.of(facts)
        has_ridge = settings.ridge and has_few_nodes(graph)
        penalty = DEFAULT_PENALTY if has_ridge else None
        return cls(facts, graph, settings, ArgumentTypes(facts), penalty)

    @property
    def size(self) -> GraphSize:
        """How large the graph is."""
        return self.graph.size

    @property
    def predicates(self) -> Names:
        """Names of all predicates of the facts."""
        return self.facts.predicates

    def with_chosen_ridge(self, plan: GraphPlan, work: Workload) -> MemoryGraph:
        """The same graph, with the penalty by which the ridge ranks the first hidden fold best.

        There is no ridge if its inverses would take longer than the remaining time.
        """
        if self.ridge_penalty is None:
            return self
        is_chosen = self.graph.n_entities <= MAX_ENTITIES_TO_CHOOSE
        inverses = plan.extent.hidden + 1 + (len(PENALTIES) if is_chosen else 0)
        if inverses * inverse_seconds(self.size) > work.left(RIDGE_UNTIL):
            work.progress.message(
                "Constants are not fitted together: the time limit is too short for it."
            )
            return replace(self, ridge_penalty=None)
        if not is_chosen:
            if fitted_ridge(self.graph, self.ridge_penalty) is not None:
                return self
            work.progress.message(
                "Constants are not fitted together: too many of the graph's entities are linked to "
                "each other by what they share."
            )
            return replace(self, ridge_penalty=None)
        rest, hidden = next(self.hidden_folds(plan))
        steps = range(2, self.graph.step_limit)
        queries = hidden.sampled(steps, LINKS_PER_RELATION, plan.seed, CHOOSING)
        return replace(self, ridge_penalty=choose_penalty(rest.graph, queries))

    def without_ridge(self) -> MemoryGraph:
        """The same graph, whose constants are not fitted together."""
        self.graph.kept.pop("ridge", None)
        return replace(self, ridge_penalty=None)

    @cached_property
    def links_by_predicate(self) -> Ints:
        """Number of links of every predicate."""
        return np.bincount(self.graph.predicate, minlength=self.graph.n_predicates)

    def n_walks(self, length: int) -> float:
        """Number of walks of so many links, whatever their relations; 1 counts both directions."""
        return n_walks(self.graph, length)

    @property
    def holders_by_step(self) -> Ints:
        """Number of entities with links along each step."""
        return np.diff(self.graph.links.first_holder)

    @property
    def canonical_steps(self) -> Ids:
        """For every step the smallest step with the same links."""
        return canonical_steps(self.graph)

    def located(self, names: Names) -> Ids:
        """Ids of the entities with the given names, -1 for names that no fact has."""
        return names.translate(self.facts.entities)

    def linked_shares(self, held: Triples | None = None) -> LinkedShares:
        """Fractions of pairs that have a further link."""
        return linked_shares(self.graph, held)

    def holds(self, triples: Triples) -> Bools:
        """Which triples the graph has."""
        graph = self.graph
        own = Triples(graph.predicate.astype(np.int32), graph.subject, graph.object)
        return triples.among(own, graph.n_entities, graph.n_predicates)

    def sampled(
        self, steps: Sequence[int], most: int | None, seed: int, purpose: int
    ) -> dict[int, GroupedQueries]:
        """Links along steps as queries; of each relation a sample of at most `most` links."""
        found: dict[int, GroupedQueries] = {}
        for predicate in sorted({predicate_of(step) for step in steps}):
            hashes = LinkHash.of(seed, purpose, predicate)
            subject, object_ = sampled_links(self.graph, predicate, most, hashes)
            for step in (step_code(predicate), step_code(predicate, inverse=True)):
                found[step] = queries_of_links(step, subject, object_)
        return {step: found[step] for step in steps}

    def discover(
        self, steps: Sequence[int], plan: GraphPlan, portion: Portion
    ) -> dict[int, PathTable]:
        """Per step, the paths of canonical steps that most often connect the ends of its links."""
        sampled = self.sampled(steps, plan.extent.sampled, plan.seed, DISCOVERING)
        links = canonical_links(self.graph.links, plan.canonical)
        sizes = [len(sampled[step].sources) + 10.0 for step in steps]

        def paths_of(step: int) -> PathTable:
            return discover_paths(links, step, sampled[step], plan)

        return dict(portion.each(paths_of, steps, sizes))

    def count(
        self, paths: Mapping[int, PathTable], queries: QueriesByStep, portion: Portion
    ) -> dict[int, PathRules]:
        """Hits and predictions of paths, by step."""
        self.graph.prepare()
        return counted_rules(self.graph, paths, queries, portion)

    def pools(
        self,
        rules: Mapping[int, PathRules],
        queries: QueriesByStep,
        limit: int,
        fold: int,
        portion: Portion,
    ) -> list[Pool]:
        """Pools of at most `limit` candidates per source, with their features."""
        evidence = GraphEvidence(self.graph, self.ridge_penalty, self.settings)
        evidence.prepare()
        if self.ridge_penalty is not None:
            portion.work.advance(portion.preparation)

        def gathered(part: tuple[int, GroupedQueries]) -> Pool:
            step, asked = part
            return self._fitting(pool_of(evidence, rules[step], asked, limit, fold), step)

        parts = [(step, part) for step in rules for part in queries[step].parts(SOURCES_PER_ITEM)]
        sizes = [len(asked.sources) + 10.0 for _, asked in parts]
        return [pool for _, pool in portion.each(gathered, parts, sizes)]

    def _fitting(self, pool: Pool, step: int) -> Pool:
        """The candidates of one step whose types fit its relation: only such are answers, too."""
        known = np.repeat(pool.source, np.diff(pool.offsets))
        ends = (pool.entity, known) if is_inverse(step) else (known, pool.entity)
        relation = self.predicates[predicate_of(step)]
        fit = self.types.fitting_types(relation, *ends)
        return pool if fit.all() else pool.without_candidates(~fit)

    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates of a pool of the rules' step."""
        return firings_of(self.graph, rules, pool)

    def best_constants(
        self, steps: Sequence[int], portion: Portion
    ) -> dict[int, tuple[CountedRule, ...]]:
        """Per step, the rules with constants that have the highest confidence."""

        def best_of(step: int) -> tuple[CountedRule, ...]:
            rules = constant_rules(self.graph, step).and_then(any_entity_rules(self.graph, step))
            return best_constants(self.graph, self.facts, rules)

        return dict(portion.each(best_of, steps, [1.0] * len(steps)))

    def hidden_folds(self, plan: GraphPlan) -> Iterator[tuple[MemoryGraph, MemoryGraph]]:
        """Pairs of graphs: the graph without a fold, and that fold alone."""
        for rest, hidden in hidden_folds(self.graph, plan):
            yield replace(self, graph=rest), replace(self, graph=hidden)


def open_graph(facts: Input, settings: GraphSettings) -> GraphCounter:
    """Read a graph into memory, or leave it in the database of an engine."""
    known = facts_or_database(facts)
    if isinstance(known, Facts):
        return MemoryGraph.of(known, settings)
    from hornbeam.graphs.sql.sql_graph import SqlGraph

    return SqlGraph.of(known, settings)
