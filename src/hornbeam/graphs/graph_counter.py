"""The protocol `GraphCounter`: finds and counts the rules of a whole graph, wherever it is stored.

`hornbeam.graphs.memory_graph` holds the links in arrays, `hornbeam.graphs.sql.sql_graph` leaves
them in a database. Both return the same integers, and features of the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from hornbeam.base.arrays import Bools, Ids, Ints
from hornbeam.facts.names import Names
from hornbeam.graphs.graph_settings import GraphPlan
from hornbeam.graphs.grouped_queries import GroupedQueries, QueriesByStep
from hornbeam.graphs.linked_graph import GraphSize
from hornbeam.graphs.path_rules import PathRules, PathTable
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import LinkedShares
from hornbeam.graphs.softmax import Firings
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Triples
from hornbeam.rules.rule_model import CountedRule


class GraphCounter(Protocol):
    """Finds and counts the rules of one graph.

    Results for which the time limit leaves no time are missing.
    """

    @property
    def size(self) -> GraphSize:
        """How large the graph is."""

    @property
    def predicates(self) -> Names:
        """Names of all predicates of the facts."""

    @property
    def ridge_penalty(self) -> float | None:
        """The penalty of the ridge class, None where constants are not fitted together."""

    def with_chosen_ridge(self, plan: GraphPlan, work: Workload) -> GraphCounter:
        """The same graph with the ridge penalty chosen by hidden links, if time allows."""

    def without_ridge(self) -> GraphCounter:
        """The same graph, whose constants are not fitted together."""

    @property
    def links_by_predicate(self) -> Ints:
        """Number of links of every predicate."""

    def n_walks(self, length: int) -> float:
        """Number of walks of so many links, whatever their relations; 1 counts both directions."""

    @property
    def holders_by_step(self) -> Ints:
        """Number of entities with links along each step."""

    @property
    def canonical_steps(self) -> Ids:
        """For every step the smallest step with the same links; see `linked_graph`."""

    def located(self, names: Names) -> Ids:
        """Ids of the entities with the given names, -1 for names that no fact has."""

    def linked_shares(self, held: Triples | None = None) -> LinkedShares:
        """Fractions of pairs that have a further link; see `LinkedShares`."""

    def holds(self, triples: Triples) -> Bools:
        """Which triples the graph has."""

    def sampled(
        self, steps: Sequence[int], most: int | None, seed: int, purpose: int
    ) -> dict[int, GroupedQueries]:
        """Links along steps as queries; of each relation a sample of at most `most` links."""

    def discover(
        self, steps: Sequence[int], plan: GraphPlan, portion: Portion
    ) -> dict[int, PathTable]:
        """Per step, the paths of canonical steps that most often connect the ends of its links."""

    def count(
        self, paths: Mapping[int, PathTable], queries: QueriesByStep, portion: Portion
    ) -> dict[int, PathRules]:
        """Hits and predictions of paths, by step; a step for which no time is left has no rules."""

    def pools(
        self,
        rules: Mapping[int, PathRules],
        queries: QueriesByStep,
        limit: int,
        fold: int,
        portion: Portion,
    ) -> list[Pool]:
        """Pools of at most `limit` candidates per source, with their features."""

    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates of a pool of the rules' step."""

    def best_constants(
        self, steps: Sequence[int], portion: Portion
    ) -> dict[int, tuple[CountedRule, ...]]:
        """Per step, the rules with constants that have the highest confidence."""

    def hidden_folds(self, plan: GraphPlan) -> Iterator[tuple[GraphCounter, GraphCounter]]:
        """Pairs of graphs: the graph without a fold, and that fold alone; see `grouped_queries`."""
