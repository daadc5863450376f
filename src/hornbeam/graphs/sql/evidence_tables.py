"""Evidence of rules for queries, table by table; see `walk_queries` and `constant_queries`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.sql import constant_queries, walk_queries
from hornbeam.graphs.sql.link_tables import LinkTables
from hornbeam.graphs.sql.path_tries import PathTries, asked_columns


def walk_paths(tables: LinkTables, tries: PathTries, queries: QueriesByStep) -> None:
    """Create the tables `fired` and `known`: the paths that queries fire, and known answers."""
    database = tables.database
    asked, answers = asked_columns(queries)
    for name, columns in (("asked", asked), ("answers", answers), ("trie", tries.columns)):
        database.upload(name, columns)
    database.create("known", walk_queries.known(tables))
    database.view("reached_0", walk_queries.STARTS)
    levels = []
    for depth in range(1, tries.depth + 1):
        before = f"reached_{depth - 1}"
        database.create("expanded", walk_queries.expanded(tables, before, depth))
        database.create(f"reached_{depth}", walk_queries.kept())
        levels.append(walk_queries.fired(f"reached_{depth}", depth))
    empty = walk_queries.fired("reached_0", 1)  # nodes of starts are not in the trie
    database.view("fired", " UNION ALL ".join(levels) or empty)


def count_constants(tables: LinkTables, steps: Sequence[int], *, of_sources: bool) -> None:
    """Create the table `constants` of rules with constants.

    Those of the properties of the sources in `asked`, or all.
    """
    database = tables.database
    database.upload("asked_steps", {"step": np.array(steps, dtype=np.int32)})
    if of_sources:
        database.create("properties", constant_queries.properties(tables))
    database.create("answered", constant_queries.answered(tables))
    database.create("constant_counts", constant_queries.constant_counts(tables, of_sources))
    database.create("constants", constant_queries.constants())


def fire_rules(
    tables: LinkTables,
    settings: GraphSettings,
    rules: Mapping[int, PathRules],
    queries: QueriesByStep,
) -> None:
    """Create the tables `firing` and `candidates`: rules that fire for queries, and answers."""
    database = tables.database
    walk_paths(tables, PathTries.of({step: some.paths for step, some in rules.items()}), queries)
    database.upload("asked_steps", {"step": np.array(list(queries), dtype=np.int32)})
    hits, predicted = (
        np.concatenate([getattr(some, name) for some in rules.values()])
        for name in ("hits", "predicted")
    )
    number = np.arange(len(hits))
    database.upload("rules", {"rule": number, "hits": hits, "predicted": predicted})
    selects = [constant_queries.fired_paths()]
    if settings.constants:
        count_constants(tables, list(queries), of_sources=True)
        selects.append(constant_queries.fired_forward(tables))
    if settings.backward:
        database.create("shared", constant_queries.shared(tables))
        selects.append(constant_queries.fired_backward(tables))
    database.create("firing", constant_queries.firing(selects))
    database.create("frequent", constant_queries.frequent(tables))
    database.create("candidates", constant_queries.candidates(tables))
