"""A graph in a database: the same rules and the same counts as in memory, by joins.

Queries of many relations are answered together, as many as `PAIRS` allows. That bounds the rows
that the database holds at a time (it may spill them to disk), and the rows that are fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, pairwise
from threading import RLock

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Ints, part_numbers, pointers
from hornbeam.counting.sql.database import Database
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.counting.statistics import ROW_BYTES
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.table import HALF
from hornbeam.graph.link_hashes import DISCOVERING, LinkHash
from hornbeam.graphs.graph_settings import GraphPlan, GraphSettings
from hornbeam.graphs.grouped_queries import (
    GroupedQueries,
    QueriesByStep,
    no_queries,
    queries_of_links,
)
from hornbeam.graphs.linked_graph import GraphSize, canonical_links
from hornbeam.graphs.model_parts import SHOWN, clause_about
from hornbeam.graphs.path_rules import PathRules, PathTable, discover_paths
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import LinkedShares
from hornbeam.graphs.softmax import Firings
from hornbeam.graphs.sql.evidence_queries import (
    best_constants,
    count_constants,
    fire_rules,
    fired_pools,
)
from hornbeam.graphs.sql.link_tables import LinkTables
from hornbeam.graphs.sql.walk_queries import COUNTS, neighbourhoods, walk_paths
from hornbeam.graphs.workload import Portion, Result, Workload, batches
from hornbeam.ranking.queries import Triples
from hornbeam.rules.body import Step
from hornbeam.rules.codes import inverse_code, predicate_of
from hornbeam.rules.rule_model import CountedRule

#: Maximum sources times rules that are counted at a time; maximum sources with candidates gathered.
PAIRS, SOURCES = 500_000, 5_000
#: Maximum links of the relations whose rules with constants are counted at a time.
LINKS = 500_000
#: Bytes of database memory that the limits above need; with less memory the limits are lowered.
ROOM = 500_000_000
NOT_ON_SPARK = "whole graphs are not for Spark: give the facts in memory, or by `open_duckdb`"


@dataclass(frozen=True, eq=False)
class SqlGraph:
    """Links of facts in a database; see `hornbeam.graphs.graph_counter.GraphCounter`."""

    engine: SqlEngine
    predicates: Names
    tables: LinkTables
    settings: GraphSettings
    lock: RLock = field(default_factory=RLock)
    numbers: Iterator[int] = field(default_factory=count)

    ridge_penalty = None

    @classmethod
    def of(cls, engine: SqlEngine, settings: GraphSettings) -> SqlGraph:
        """Take the binary facts that round to true.

        Raises
        ------
        hornbeam.errors.InputError
            Where the engine is Spark's: a graph is many small joins, a second each on Spark.
        """
        if engine.database.distributed:
            raise InputError(NOT_ON_SPARK)
        predicates = engine.predicates
        select = f"SELECT subject, predicate, object FROM facts WHERE value >= {HALF}"
        if any(arity > 2 for arity in engine.not_binary.values()):
            # projections are no links
            predicates = Names.of(name for name in predicates if Step.along(name).arity == 2)
            old = predicates.translate(engine.predicates)
            new = np.arange(len(predicates), dtype=np.int32)
            engine.database.upload("renumbered", {"old": old, "new": new})
            select = (
                "SELECT f.subject, r.new AS predicate, f.object FROM facts AS f "
                f"JOIN renumbered AS r ON r.old = f.predicate WHERE f.value >= {HALF}"
            )
        tables = LinkTables(engine.database, "graph", len(predicates))
        tables.make("triples", select, stored=False)
        return cls(engine, predicates, tables, settings)

    @property
    def database(self) -> Database:
        """Where the links are."""
        return self.engine.database

    @cached_property
    def size(self) -> GraphSize:
        """How large the graph is."""
        linked = self.tables.number("SELECT count(*) AS n FROM @degrees")
        entities = (
            self.tables.number("SELECT count(*) AS n FROM entity_ids")
            if self.engine.entities is None
            else len(self.engine.entities)
        )
        facts = int(self.links_by_predicate.sum())
        return GraphSize(facts, entities, len(self.predicates), 2 * facts / max(linked, 1))

    @cached_property
    def links_by_predicate(self) -> Ints:
        """Number of links of every predicate."""
        found = self.tables.fetch(
            "SELECT predicate, count(*) AS n FROM @triples GROUP BY predicate"
        )
        return _scattered(found["predicate"], found["n"], len(self.predicates))

    def n_walks(self, length: int) -> float:
        """Number of walks of so many links, whatever their relations; 1 counts both directions."""
        walks = "SELECT entity, CAST(count(*) AS DOUBLE) AS walks FROM @links GROUP BY entity"
        for _ in range(length - 1):
            walks = (
                "SELECT l.entity, sum(w.walks) AS walks FROM @links AS l "
                f"JOIN ({walks}) AS w ON w.entity = l.other GROUP BY l.entity"
            )
        return float(self.tables.fetch(f"SELECT sum(walks) AS n FROM ({walks}) AS w")["n"][0])

    @cached_property
    def holders_by_step(self) -> Ints:
        """Number of entities with links along each step."""
        found = self.tables.fetch("SELECT step, holders FROM @holders")
        return _scattered(found["step"], found["holders"], self.size.step_limit)

    @cached_property
    def canonical_steps(self) -> Ids:
        """For every step the smallest step with the same links."""
        steps = np.arange(2, self.size.step_limit)
        sizes, holders = self.links_by_predicate[predicate_of(steps)], self.holders_by_step
        figures = np.stack([sizes, holders[steps], holders[inverse_code(steps)]], axis=1)
        _, alike = np.unique(figures, axis=0, return_inverse=True)
        with self.lock:
            self.database.upload("step_figures", {"step": steps, "alike": alike.reshape(-1)})
            # number of links that two steps share, for steps with the same figures
            found = self.tables.fetch(
                "SELECT l.step, m.step AS other, count(*) AS n FROM step_figures AS f "
                "JOIN @links AS l ON l.step = f.step JOIN @links AS m "
                "ON m.entity = l.entity AND m.other = l.other AND m.step < l.step "
                "JOIN step_figures AS g ON g.step = m.step AND g.alike = f.alike "
                "GROUP BY l.step, m.step"
            )
        same = found["n"] == sizes[found["step"] - 2]
        canonical = np.arange(self.size.step_limit, dtype=np.int32)
        np.minimum.at(canonical, found["step"][same], found["other"][same].astype(np.int32))
        return canonical

    def with_chosen_ridge(self, plan: GraphPlan, work: Workload) -> SqlGraph:
        """The same graph: a graph in a database has no ridge."""
        return self

    def without_ridge(self) -> SqlGraph:
        """The same graph: a graph in a database has no ridge."""
        return self

    def links(self, relation: str) -> tuple[Ids, Ids]:
        """Subjects and objects of a relation's links; none if the relation is unknown."""
        predicate = self.predicates.index(relation)
        found = self.tables.fetch(
            f"SELECT subject, object FROM @triples WHERE predicate = {predicate}"
        )
        return found["subject"].astype(np.int32), found["object"].astype(np.int32)

    def located(self, names: Names) -> Ids:
        """Ids of the entities with the given names, -1 for names that no fact has."""
        return self.engine.locate(names)

    def linked_shares(self, held: Triples | None = None) -> LinkedShares:
        """Fractions of pairs that have a further link."""
        return self.tables.linked_shares(self.size.facts, held)

    def holds(self, triples: Triples) -> Bools:
        """Which triples the graph has."""
        columns = {
            "subject": triples.subject,
            "predicate": triples.relation,
            "object": triples.object,
        }
        self.database.upload("asked_triples", {**columns, "place": np.arange(len(triples))})
        same = " AND ".join(f"t.{name} = a.{name}" for name in columns)
        found = self.tables.fetch(
            f"SELECT a.place FROM asked_triples AS a JOIN @triples AS t ON {same}"
        )
        held = np.zeros(len(triples), dtype=np.bool_)
        held[found["place"]] = True
        return held

    # --- rules ------------------------------------------------------------------------------------

    def sampled(
        self, steps: Sequence[int], most: int | None, seed: int, purpose: int
    ) -> dict[int, GroupedQueries]:
        """Links along steps as queries; of each relation a sample of at most `most` links."""
        predicates = sorted({predicate_of(step) for step in steps})
        sizes = self.links_by_predicate[predicates]
        wanted = int(sizes.max(initial=0)) if most is None else most
        hashes = {predicate: LinkHash.of(seed, purpose, predicate) for predicate in predicates}
        found = self.tables.sample(hashes, sizes.tolist(), wanted)
        of = {step: np.flatnonzero(found["predicate"] == predicate_of(step)) for step in steps}
        return {
            step: queries_of_links(step, found["subject"][rows], found["object"][rows])
            for step, rows in of.items()
        }

    def discover(
        self, steps: Sequence[int], plan: GraphPlan, portion: Portion
    ) -> dict[int, PathTable]:
        """Per step, the paths of canonical steps that most often connect the ends of its links."""
        canonical, found = plan.canonical, dict[int, PathTable]()
        sampled = self.sampled(steps, plan.extent.sampled, plan.seed, DISCOVERING)
        dropped = np.flatnonzero(canonical != np.arange(len(canonical)))
        tables = self.tables.without_steps(dropped.tolist())
        for near, queries in neighbourhoods(tables, sampled, plan.length):
            if portion.work.expired(portion.until):
                break
            links = canonical_links(near.links, canonical)

            def one(step: int) -> PathTable:
                return discover_paths(links, step, queries[step], plan)  # noqa: B023

            share = portion.share * len(queries) / len(steps)
            ones = [1.0] * len(queries)
            found.update(Portion(portion.work, share).each(one, list(queries), ones))
        return found

    def count(
        self, paths: Mapping[int, PathTable], queries: QueriesByStep, portion: Portion
    ) -> dict[int, PathRules]:
        """Hits and predictions of paths, by step."""
        sizes = {step: len(some) * len(queries[step].sources) for step, some in paths.items()}

        def one(steps: list[int]) -> list[PathRules]:
            some_paths = {step: paths[step] for step in steps}
            walk_paths(self.tables, some_paths, {step: queries[step] for step in steps})
            counts = self.database.fetch(COUNTS)
            first = pointers([len(some) for some in some_paths.values()])
            figures = [
                _scattered(counts["rule"], counts[name], int(first[-1]))
                for name in ("hits", "predicted")
            ]
            return [
                PathRules(step, paths[step], *(column[low:high] for column in figures))
                for step, (low, high) in zip(steps, pairwise(first), strict=True)
            ]

        steps = [step for step, some in paths.items() if len(some)]
        done = self._each(one, steps, sizes, PAIRS, portion)
        none = {step: PathRules.none(step, some.shape[1]) for step, some in paths.items()}
        return none | {rules.step: rules for some in done for rules in some}

    # --- candidates -------------------------------------------------------------------------------

    def pools(
        self,
        rules: Mapping[int, PathRules],
        queries: QueriesByStep,
        limit: int,
        fold: int,
        portion: Portion,
        further: bool = False,
    ) -> list[Pool]:
        """Pools of at most `limit` candidates per source with features; `further` adds the rest."""

        def one(steps: list[int]) -> list[Pool]:
            some = {step: queries[step] for step in steps}
            fire_rules(self.tables, self.settings, {step: rules[step] for step in steps}, some)
            return fired_pools(self.database, some, self.links_by_predicate, limit, fold, further)

        steps = [step for step in rules if len(queries[step].sources)]
        sizes = {step: len(queries[step].sources) for step in steps}
        done = self._each(one, steps, sizes, SOURCES, portion)
        return [pool for some in done for pool in some]

    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates of a pool of the rules' step."""
        chosen: dict[str, Array] = {
            "query": part_numbers(pool.offsets),
            "entity": pool.entity,
            "place": np.arange(len(pool.entity)),
        }
        with self.lock:
            queries = {rules.step: no_queries(pool.source)}
            walk_paths(self.tables, {rules.step: rules.paths}, queries)
            self.database.upload("chosen", chosen)
            found = self.database.fetch(
                "SELECT c.place, f.rule FROM fired AS f JOIN chosen AS c "
                "ON c.query = f.query AND c.entity = f.entity ORDER BY c.place, f.node"
            )
        sizes = np.bincount(found["place"], minlength=len(pool.entity))
        return Firings(pointers(sizes), found["rule"].astype(np.int32))

    def best_constants(
        self, steps: Sequence[int], portion: Portion
    ) -> dict[int, tuple[CountedRule, ...]]:
        """Per step, the rules with constants that have the highest confidence."""
        sizes = {step: int(self.links_by_predicate[predicate_of(step)]) for step in steps}

        def one(some: list[int]) -> dict[int, tuple[CountedRule, ...]]:
            count_constants(self.tables, some, of_sources=False)
            rows = self.database.fetch(best_constants(SHOWN))
            ids = np.concatenate([rows["entity"], rows["answer"]]).astype(np.int32)
            names, places = self.engine.named(ids)
            rows["entity"], rows["answer"] = np.split(places, 2)
            columns = ("target", "step", "entity", "answer", "hits", "predicted")
            listed = zip(*(rows[name].tolist() for name in columns), strict=True)
            best: dict[int, list[CountedRule]] = {step: [] for step in some}
            for target, step, entity, answer, hits, predicted in listed:
                constant = names[entity] if entity >= 0 else None
                clause = clause_about(self.predicates, target, step, constant, names[answer])
                best[target].append(CountedRule.of(clause, hits, predicted))
            return {step: tuple(rules) for step, rules in best.items()}

        done = self._each(one, steps, sizes, LINKS, portion)
        return {step: rules for some in done for step, rules in some.items()}

    # --- folds ------------------------------------------------------------------------------------

    def hidden_folds(self, plan: GraphPlan) -> Iterator[tuple[SqlGraph, SqlGraph]]:
        """Pairs of graphs: the graph without a fold, and that fold alone."""
        present = np.flatnonzero(self.links_by_predicate).tolist()
        hashes = {p: LinkHash.of_fold(plan.seed, p, plan.canonical) for p in present}
        for number in range(plan.extent.hidden):
            rest, hidden = (
                self.tables.of_fold(
                    f"part_{next(self.numbers)}", hashes, plan.extent.folds, number, hide
                )
                for hide in (False, True)
            )
            yield replace(self, tables=rest), replace(self, tables=hidden)

    def _each(
        self,
        one: Callable[[list[int]], Result],
        steps: Sequence[int],
        sizes: Mapping[int, int],
        most: int,
        portion: Portion,
    ) -> list[Result]:
        """Results of batches of steps, one by one; batches for which no time is left are missing.

        The sizes of a batch add up to no more than `most`, or less if the database has less memory
        than `ROOM`.
        """
        allowed = int(most * min(self.engine.max_rows * ROW_BYTES / ROOM, 1.0))
        parts = batches(steps, [sizes[step] for step in steps], allowed)
        weights = [sum(sizes[step] for step in part) + 10.0 for part in parts]
        return [result for _, result in portion.each(one, parts, weights, threads=1)]


def _scattered(place: Ints, values: Ints, size: int) -> Ints:
    """Values at their places, 0 elsewhere."""
    out = np.zeros(size, dtype=np.int64)
    out[place] = values
    return out
