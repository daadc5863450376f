"""Facts as a graph to learn and to rank by: in memory, or wherever an engine keeps them."""

from __future__ import annotations

from hornbeam.counting.engine import Engine
from hornbeam.errors import InputError
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.memory_graph import MemoryGraph
from hornbeam.graphs.ranking_model import RankingModel

#: Files, frames, tuples or `Facts`; or an engine of `open_duckdb` or `open_spark`.
GraphInput = Input | Facts | Engine


def open_graph(facts: GraphInput, settings: GraphSettings) -> GraphCounter:
    """Read a graph into memory; where an engine has it, leave it there."""
    from hornbeam.counting.sql.sql_engine import SqlEngine
    from hornbeam.graphs.sql.sql_graph import SqlGraph

    if isinstance(facts, SqlEngine):
        return SqlGraph.of(facts, settings)
    return MemoryGraph.of(as_facts(facts), settings)


def open_ranker(
    model: RankingModel,
    facts: GraphInput,
    *,
    test: Facts | None = None,
    leave_out_linked: bool = False,
    threads: int | None = None,
) -> GraphRanker:
    """A model over facts or an engine of `open_duckdb`, for the queries of a `test` or others.

    Raises
    ------
    hornbeam.errors.InputError
        Where an engine does not offer it.
    """
    from hornbeam.counting.sql.sql_engine import SqlEngine
    from hornbeam.graphs.sql.answered_facts import SqlPools, facts_about
    from hornbeam.graphs.sql.sql_graph import SqlGraph

    if not isinstance(facts, SqlEngine):
        return GraphRanker(model, as_facts(facts), leave_out_linked, threads)
    graph = SqlGraph.of(facts, GraphSettings(model.constants, model.backward))
    if graph.only_counts:
        raise InputError("Spark answers no queries: give the facts in memory, or by DuckDB")
    if leave_out_linked:
        raise InputError("`leave_out_linked` needs facts in memory")
    if model.ridge is not None:
        raise InputError(
            "the model fits constants together, which a database does not: learn it there, or give "
            "the facts in memory"
        )
    # one query at a time is answered by one connection
    return GraphRanker(model, facts_about(graph, test), threads=1, source=SqlPools(graph))
