"""The default engine: the graph in memory, the search in compiled kernels on every core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Ids, Ints, pointers
from hornbeam.base.compiled import announced
from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.counting.engine import Discovery, LastLookup
from hornbeam.counting.memory.chains import ChainCounter
from hornbeam.counting.memory.condition_rows import ConditionCounts, FoundConditions
from hornbeam.counting.memory.conditions import ConditionCounter, counts_all, unary_facts
from hornbeam.counting.memory.pair_walks import paths_between
from hornbeam.counting.memory.parallel import Rows, SpareWorkers, concatenated
from hornbeam.counting.memory.path_search import LocatedPairs, PathSearch, path_rows
from hornbeam.counting.memory.shares import ShareCounter
from hornbeam.counting.number_counts import are_numeric, count_with_numbers
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.growth import Growth, grow
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Facts, Targets
from hornbeam.graph.adjacency import Adjacency, Graph, with_projections
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.candidates import Candidates, RuleLimits, unary_predicates
from hornbeam.rules.codes import WALKING, condition_numbers, path_codes, report_limits, step_code

#: Target pairs by their predicates.
Located = dict[str, LocatedPairs]
#: Codes of the steps of paths, by target predicate and the index of the body.
PathCodes = dict[str, dict[int, list[int]]]


@dataclass(frozen=True, eq=False)
class MemoryEngine:
    """Path search over facts held in memory."""

    #: The evidence. Binary atoms are edges, those of more arguments one per pair of arguments.
    facts: Facts
    #: Worker threads, all cores by default. Their number does not change any result.
    threads: int = field(default_factory=worker_threads)
    #: Graphs and share counters by fan-out limit.
    _limited: dict[int | None, Graph] = field(default_factory=dict, init=False, repr=False)
    _share_counters: dict[int | None, ShareCounter] = field(
        default_factory=dict, init=False, repr=False
    )
    #: Arrays of walks that have ended; see `_borrowed_numbers`.
    _spare_numbers: list[tuple[Ints, Ints, Ints]] = field(
        default_factory=list, init=False, repr=False
    )

    def over(self, facts: Facts) -> MemoryEngine:
        """An engine with the same threads over other facts; see `Engine.over`."""
        own = self.facts
        is_twin = facts.atoms is own.atoms and facts.numbers is own.numbers
        return self if is_twin else MemoryEngine(facts, self.threads)

    def with_facts(self, new: Facts) -> MemoryEngine:
        """An engine over the facts and new ones."""
        return self.grown(grow(self.facts, new))

    def grown(self, growth: Growth) -> MemoryEngine:
        """An engine over facts that grew; its graph and shares move along where that is exact."""
        engine = MemoryEngine(replace(growth.facts), self.threads)
        if growth.is_plain and "graph" in vars(self):
            graph, new_edges = self.graph.grown(growth)
            vars(engine)["graph"] = graph
            if None in self._share_counters:
                counter = self._share_counters[None].grown(graph, new_edges)
                engine._share_counters[None] = counter
        return engine

    @cached_property
    def with_projections(self) -> Facts:
        """The facts that the graph is built from, with projections of wider atoms."""
        return with_projections(self.facts)

    @cached_property
    def graph(self) -> Graph:
        """The whole graph, built once."""
        return Graph.of(self.with_projections)

    @cached_property
    def _unary(self) -> Adjacency:
        return unary_facts(self.with_projections)

    @cached_property
    def _last(self) -> LastLookup[Names, Ids]:
        return LastLookup()

    @cached_property
    def _last_codes(self) -> LastLookup[Sequence[Body], PathCodes]:
        return LastLookup()

    @cached_property
    def _spare(self) -> SpareWorkers:
        return SpareWorkers(self.graph.n_entities)

    @property
    def predicates(self) -> Names:
        """Names of the predicates and of projections; see `Engine.predicates`."""
        return self.with_projections.predicates

    @property
    def not_binary(self) -> Mapping[str, int]:
        """Arity of the predicates that are not binary."""
        return self.facts.not_binary

    @property
    def numbers(self) -> Numbers:
        """Numbers of the entities; see `Engine.numbers`."""
        return self.facts.numbers

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""
        return self._last.found(names, self.facts.locate)

    def discover(
        self,
        targets: Targets,
        language: RuleLimits,
        *,
        statistics: bool = True,
        progress: Progress = SILENT,
    ) -> Discovery:
        """Find every body that has groundings for targets; see `Engine.discover`."""
        located = self._located(targets)
        search = self._path_search(language)
        searched = located.values() if language.searches_paths else ()
        groups = [search.group_of(pairs) for pairs in searched]
        with announced(progress):
            paths = search.discover(groups, statistics, progress)
        everything = search.candidates(groups, paths, tuple(targets.predicates))
        everything = replace(everything, unary=targets.unary)
        parts = list[Rows](path_rows(paths))
        if language.conditions:
            everything, cells = self._with_conditions(everything, located, language, progress)
            parts += cells
        rows = everything.pruned(language)
        kept = everything.take(rows)
        whole = counts_all(language.conditions, language.min_coverage)
        return Discovery(
            targets,
            kept,
            self._table(kept, rows, parts, located, len(targets), language) if statistics else None,
            found=int(np.count_nonzero(everything.coverage)) if whole else None,
            own_edges=sum(int(pairs.own.sum()) for pairs in located.values()),
            unseen=len(targets) - sum(len(pairs) for pairs in located.values()),
        )

    def _with_conditions(
        self,
        paths: Candidates,
        located: Located,
        language: RuleLimits,
        progress: Progress,
    ) -> tuple[Candidates, list[Rows]]:
        """Candidates of all kinds, and the rows of those that are not paths."""
        parts, n_hubs, n_left = list[Rows](), 0, 0
        everything = paths.beside_conditions(self.facts.entities, unary_predicates(self.not_binary))
        singles, chains = self._condition_counters(language)
        units = 200 * len(located)  # percents of either argument
        walking = PartOfWork(progress, WALKING, 0, units, units)
        for head, pairs in enumerate(located.values()):
            found = [singles.found(pairs, language.conditions, language.min_coverage)]
            if Kind.CHAIN in language.conditions:
                part = walking.part(head, head + 1, len(located))
                more = chains.found(pairs, language.chain_atoms, language.min_coverage, part)
                found.append(more.conditions)
                n_hubs, n_left = n_hubs + more.n_hubs, n_left + more.n_left
            conditions = FoundConditions.united(found)
            counts = conditions.counts.true()
            parts.append(_cell_rows(counts, pairs, counts.condition + len(everything)))
            everything = everything.followed_by(conditions.candidates(pairs, head, everything))
        report_limits(n_hubs, n_left, progress)
        return everything, parts

    def _condition_counters(self, language: RuleLimits) -> tuple[ConditionCounter, ChainCounter]:
        """Counters of conditions of one fact, and of chains."""
        graph = self.limited_graph(language.max_fanout)
        distinct = language.distinct_variables
        return (
            ConditionCounter(graph.forward, self._unary, graph.n_codes, distinct),
            ChainCounter(self.graph, graph.forward, self._unary, distinct),
        )

    def _table(
        self,
        kept: Candidates,
        rows: Ints,
        parts: list[Rows],
        located: Located,
        n_targets: int,
        language: RuleLimits,
    ) -> Statistics:
        """The sparse table of the kept candidates, from the rows of the same search."""
        body, target, truth, count = concatenated(parts)
        place = np.full(max(int(body.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1)
        place[rows] = np.arange(len(rows))
        body = place[body]
        keep = body >= 0
        bodies = kept.bodies
        table = Statistics.of(bodies, n_targets, body[keep], target[keep], truth[keep], count[keep])
        if not language.shares:
            return table
        return self._with_shares(table, self._path_codes(bodies), located, language)

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given bodies for the targets; see `Engine.count`."""
        if (numeric := are_numeric(bodies, self.numbers, self.predicates)).any():
            return count_with_numbers(self, numeric, targets, bodies, language, progress)
        located = self._located(targets)
        codes = self._last_codes.found(bodies, self._path_codes)
        with announced(progress):
            if len(targets) == 1 and self._walks_count(bodies, language, located):
                table = self._counted_by_walks(bodies, language, located, codes)
            else:
                table = self._searched(targets, bodies, language, located, codes, progress)
        return self._with_shares(table, codes, located, language) if language.shares else table

    def _walks_count(self, bodies: Sequence[Body], language: RuleLimits, located: Located) -> bool:
        """Whether walks count the bodies: all are paths, facts are 0/1, and no target is a fact."""
        crisp = not len(self.graph.forward.value)
        plain = crisp and not language.distinct_variables and all(body.is_path for body in bodies)
        return plain and not any(pairs.own.any() for pairs in located.values())

    def _counted_by_walks(
        self, bodies: Sequence[Body], language: RuleLimits, located: Located, codes: PathCodes
    ) -> Statistics:
        """Count the paths of one target by walks that meet."""
        graph, counts = self.limited_graph(language.max_fanout), np.zeros(len(bodies), np.int64)
        for name, pairs in located.items():
            if len(pairs) and name in codes:
                known = codes[name]
                steps = np.array([code for path in known.values() for code in path], np.int64)
                bounds = pointers(np.array([len(path) for path in known.values()], np.int64))
                numbers, nodes = np.zeros(len(known), np.int64), self._borrowed_numbers()
                graph.walked_by(paths_between)(
                    graph.forward, graph.backward, pairs.subject[0], pairs.object[0], steps, bounds,
                    numbers, *nodes,
                )  # fmt: skip
                self._spare_numbers.append(nodes)
                counts[list(known)] = numbers
        some = counts > 0
        target = np.zeros(int(some.sum()), dtype=np.int32)
        return Statistics(bodies, 1, pointers(some), target, counts[some])

    def _borrowed_numbers(self) -> tuple[Ints, Ints, Ints]:
        """Arrays of zeros by node, which a walk leaves zero again."""
        try:
            return self._spare_numbers.pop()
        except IndexError:
            front, back, spare = np.zeros((3, self.graph.n_entities), dtype=np.int64)
            return front, back, spare

    def _searched(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        located: Located,
        codes: PathCodes,
        progress: Progress,
    ) -> Statistics:
        """Count the given bodies by a search for all targets together."""
        longest = max((len(body) for body in bodies if body.is_path), default=1)
        language = replace(language, max_length=longest)
        search, parts = self._path_search(language), list[Rows]()
        for name, pairs in located.items():
            if name in codes:
                parts.append(search.count(search.group_of(pairs), codes[name], progress))
            conditions = [
                (i, body)
                for i, body in enumerate(bodies)
                if body.target == name and not body.is_path
            ]
            if conditions:
                wanted = condition_numbers(conditions, self.predicates, self.facts.entities.index)
                singles, chains = self._condition_counters(language)
                for counter, rows in ((singles, ~wanted.is_chain), (chains, wanted.is_chain)):
                    counts = counter.counted(wanted.take(rows), pairs)
                    parts.append(_cell_rows(counts, pairs, counts.condition))
        return Statistics.of(bodies, len(targets), *concatenated(parts))

    def _path_codes(self, bodies: Sequence[Body]) -> PathCodes:
        """Codes of the paths that the facts may have."""
        by_target: PathCodes = {}
        for i, body in enumerate(bodies):
            if body.is_path and (codes := path_codes(body, self.predicates)):
                by_target.setdefault(body.target, {})[i] = codes
        return by_target

    def _with_shares(
        self, table: Statistics, codes: PathCodes, located: Located, language: RuleLimits
    ) -> Statistics:
        """The table with the shares of its paths."""
        share = np.zeros(len(table.count))
        counter = self.share_counter(language.max_fanout)
        for name, pairs in located.items():
            if name in codes:
                counter.add(share, table, codes[name], pairs, language.distinct_variables)
        return replace(table, share=share)

    def share_counter(self, max_fanout: int | None) -> ShareCounter:
        """The share counter of a fan-out limit, cached with the degrees at every edge."""
        counters = self._share_counters
        if max_fanout not in counters:
            counters[max_fanout] = ShareCounter(self.limited_graph(max_fanout), self.graph)
        return counters[max_fanout]

    def limited_graph(self, max_fanout: int | None) -> Graph:
        """The graph under a fan-out limit, built once; the whole one for None."""
        limited = self._limited
        if max_fanout not in limited:
            limited[max_fanout] = self.graph.limited(max_fanout)
        return limited[max_fanout]

    def _path_search(self, language: RuleLimits) -> PathSearch:
        graph = self.limited_graph(language.max_fanout)
        return PathSearch(graph, self.predicates, language, self.threads, self._spare)

    def _located(self, targets: Targets) -> Located:
        """The targets whose entities have facts, by predicate."""
        to_node = self.locate(targets.entities)
        return {name: self._pairs(targets, to_node, p) for p, name in enumerate(targets.predicates)}

    def _pairs(self, targets: Targets, to_node: Ids, predicate: int) -> LocatedPairs:
        rows = np.flatnonzero(targets.predicate == predicate)
        subject, object_ = to_node[targets.subject[rows]], to_node[targets.object[rows]]
        seen = (subject >= 0) & (object_ >= 0)
        rows, subject, object_ = rows[seen], subject[seen], object_[seen]
        name = targets.predicates[predicate]
        own, positive = self.facts.have(name, subject, object_), targets.positive[rows]
        return LocatedPairs(
            rows, subject, object_, positive.astype(np.int64), own,
            step_code(self.predicates.index(name)),
        )  # fmt: skip


def _cell_rows(cells: ConditionCounts, pairs: LocatedPairs, condition: Ints) -> Rows:
    """Rows (body, target, truth, count) of conditions."""
    target = pairs.row[cells.row].astype(np.int32)
    return condition, target, cells.truth.astype(np.int32), cells.count
