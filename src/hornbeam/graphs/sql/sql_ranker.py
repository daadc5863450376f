"""Ranking by a graph in a database: names, known answers, candidates of sources.

Names of all entities are fetched, so that answers have the ids of the graph. Of its links, only
known answers of a test's queries, and links that tell types of arguments, are fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Ids, Integers, Ints
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.entity_names import TYPES, is_class
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts, narrow_type
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.grouped_queries import no_queries
from hornbeam.graphs.model_parts import numbered_model
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.softmax import Firings
from hornbeam.graphs.sql.sql_graph import SqlGraph
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Triples
from hornbeam.rules.codes import inverse_code

#: Number of names that are fetched at a time.
CHUNK = 1_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class SqlRanker(GraphRanker):
    """Answers queries from links in a database, by one thread; see `GraphRanker`."""

    graph: SqlGraph

    @classmethod
    def of(cls, model: RankingModel, engine: SqlEngine, test: Facts | None = None) -> SqlRanker:
        """Leave the links in the database; known answers of a test's queries are fetched.

        Raises
        ------
        hornbeam.errors.InputError
            Where the engine is Spark's, or the model has a ridge.
        """
        settings = GraphSettings(model.constants, model.backward, slots=model.slots)
        graph = SqlGraph.of(engine, settings)
        if model.ridge is not None:
            raise InputError(
                "the model fits constants together, which a database does not: learn it there, or "
                "give the facts in memory"
            )
        # a connection runs one select at a time
        facts, steps = facts_about(graph, test), numbered_model(model, graph.predicates)
        return cls(facts, types_about(graph, facts.entities), model, steps, threads=1, graph=graph)

    def without_linked(self) -> SqlRanker:
        """Always an error: a database does not leave out linked candidates."""
        raise InputError("`leave_out_linked` needs facts in memory")

    def without_facts(self, triples: Triples) -> SqlRanker:
        """The ranker itself: the facts of a database are always known."""
        return self

    def prepare(self) -> None:
        """Nothing to do: tables are created at first use."""

    def pool(self, rules: PathRules, sources: Ids, further: bool = False) -> Pool:
        """Candidates of every source along the rules' step; see `GraphRanker.pool`."""
        queries, portion = {rules.step: no_queries(sources)}, Portion(Workload(), 1.0)
        limit = self.model.pool
        (pool,) = self.graph.pools({rules.step: rules}, queries, limit, 0, portion, further)
        return pool

    def slot_scores(self, step: int) -> Ints:
        """Slot scores of all entities as answers along a step, in millionths."""
        found = self.graph.tables.fetch(
            "SELECT r.entity, CAST(sum(w.weight) AS BIGINT) AS slot FROM @runs AS r "
            f"JOIN @slot_weights AS w ON w.step = r.step AND w.target = {inverse_code(step)} "
            "GROUP BY r.entity"
        )
        scores = np.zeros(len(self.facts.entities), dtype=np.int64)
        scores[found["entity"]] = found["slot"]
        return scores

    def left_out(self, step: int, source: int) -> Ids:
        """Known answers of a query."""
        found = self.graph.tables.fetch(
            f"SELECT other FROM @links WHERE entity = {int(source)} AND step = {int(step)}"
        )
        return found["other"].astype(np.int32)

    def firings(self, rules: PathRules, pool: Pool) -> Firings:
        """Which path rules fire for which candidates."""
        return self.graph.firings(rules, pool)


def facts_about(graph: SqlGraph, test: Facts | None) -> Facts:
    """The names of a graph, and the triples that answer the queries of a test."""
    entities = graph.engine.entities
    if entities is None:
        entities = Names.from_sorted_chunks(_names(graph))
    if test is None:
        return Facts(entities, graph.predicates, {})
    triples = Triples.of(test)
    relation = test.predicates.translate(graph.predicates)[triples.relation]
    located = test.entities.translate(entities)
    ends = {"subject": located[triples.subject], "object": located[triples.object]}
    graph.database.upload("asked_triples", {**ends, "predicate": relation})
    # triples that share the relation and the known argument with a triple of the test
    select = " UNION ".join(
        "SELECT t.subject, t.predicate, t.object FROM @triples AS t "
        f"JOIN (SELECT DISTINCT {end}, predicate FROM asked_triples) AS a "
        f"ON a.{end} = t.{end} AND a.predicate = t.predicate"
        for end in ends
    )
    found = graph.tables.fetch(f"{select} ORDER BY 1, 2, 3")
    triples_found = (found[name] for name in ("predicate", "subject", "object"))
    return Facts(entities, graph.predicates, {2: _atoms(graph.predicates, *triples_found)})


def types_about(graph: SqlGraph, entities: Names) -> ArgumentTypes:
    """Which arguments fit relations; their links are fetched relation by relation."""
    predicates = graph.engine.predicates
    typed = [name for name in TYPES if predicates.index(name) >= 0]
    classes = [p for p, name in enumerate(predicates) if is_class(name)]
    atoms = dict[int, Atoms]()
    if typed:
        links = [graph.links(name) for name in typed]
        of = np.repeat(predicates.find(typed), [len(subject) for subject, _ in links])
        atoms[2] = _atoms(predicates, of, *map(np.concatenate, zip(*links, strict=True)))
    if classes:
        found = graph.database.fetch(
            "SELECT predicate, entity FROM unary_facts "
            f"WHERE predicate IN ({', '.join(map(str, classes))})"
        )
        atoms[1] = _atoms(predicates, found["predicate"], found["entity"])
    return ArgumentTypes(Facts(entities, predicates, atoms), stored_links=graph.links)


def _atoms(predicates: Names, predicate: Integers, *arguments: Integers) -> Atoms:
    """A table of atoms in the types of facts."""
    ends = tuple(ids.astype(np.int32) for ids in arguments)
    return Atoms(predicate.astype(narrow_type(len(predicates))), ends)


def _names(graph: SqlGraph) -> Iterator[list[str]]:
    for start in range(0, graph.size.entities, CHUNK):
        found = graph.database.fetch(
            f"SELECT name FROM entity_ids WHERE id >= {start} AND id < {start + CHUNK} ORDER BY id"
        )
        yield found["name"].tolist()
