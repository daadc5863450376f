"""Facts as a graph to learn from and to rank by: in memory, or in an engine's database."""

from __future__ import annotations

from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import facts_or_database
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.memory_graph import MemoryGraph
from hornbeam.graphs.memory_ranker import MemoryRanker
from hornbeam.graphs.ranking_model import RankingModel

#: Files, frames, tuples or `Facts`; or an open engine.
GraphInput = Input | Facts | Engine


def open_graph(facts: GraphInput, settings: GraphSettings) -> GraphCounter:
    """Read a graph into memory, or leave it in the database of an engine."""
    known = facts_or_database(facts)
    if isinstance(known, Facts):
        return MemoryGraph.of(known, settings)
    from hornbeam.graphs.sql.sql_graph import SqlGraph

    return SqlGraph.of(known, settings)


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
    ranker: GraphRanker
    known = facts_or_database(facts)
    if isinstance(known, Facts):
        ranker = MemoryRanker.of(model, known, threads=threads)
    else:
        from hornbeam.graphs.sql.sql_ranker import SqlRanker

        ranker = SqlRanker.of(model, known, test)
    return ranker.without_linked() if leave_out_linked else ranker
