"""Facts as a graph to learn from and to rank by: in memory, or in an engine's database."""

from __future__ import annotations

from hornbeam.counting.engine import Engine
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.memory_graph import MemoryGraph
from hornbeam.graphs.memory_ranker import MemoryRanker
from hornbeam.graphs.ranking_model import RankingModel

#: Files, frames, tuples or `Facts`; or an engine of `open_duckdb` or `open_spark`.
GraphInput = Input | Facts | Engine


def open_graph(facts: GraphInput, settings: GraphSettings) -> GraphCounter:
    """Read a graph into memory, or leave it in the database of an engine."""
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
    from hornbeam.graphs.sql.sql_ranker import SqlRanker

    ranker: GraphRanker
    if isinstance(facts, SqlEngine):
        ranker = SqlRanker.of(model, facts, test)
    else:
        ranker = MemoryRanker.of(model, as_facts(facts), threads=threads)
    return ranker.without_linked() if leave_out_linked else ranker
