"""Facts as a graph whose rules can be counted: in memory, or wherever an engine keeps them."""

from __future__ import annotations

from hornbeam.counting.engine import Engine
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.memory_graph import MemoryGraph

#: Files, frames, tuples or `Facts`; or an engine of `open_duckdb` or `open_spark`.
GraphInput = Input | Facts | Engine


def open_graph(facts: GraphInput, settings: GraphSettings) -> GraphCounter:
    """Read a graph into memory; where an engine has it, leave it there."""
    from hornbeam.counting.sql.sql_engine import SqlEngine
    from hornbeam.graphs.sql.sql_graph import SqlGraph

    if isinstance(facts, SqlEngine):
        return SqlGraph.of(facts, settings)
    return MemoryGraph.of(as_facts(facts), settings)
