"""The part of a graph that the search for paths visits, fetched from a database.

The search between the ends a and c of a link (`hornbeam.graphs.discovery_kernels`) walks up to half
of a path from either end, so it needs all links of the entities near them and no others. From a it
visits a fixed number of links, in the order of steps and ends; entities after these are left out.
The ids of a part are the ranks of those of the graph, so that the order of links is the same and
the search finds the same paths.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hornbeam.base.arrays import Ids, run_starts
from hornbeam.graphs.grouped_queries import GroupedQueries, QueriesByStep
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.path_rules import MAX_VISITED_LINKS
from hornbeam.graphs.sql.link_tables import LinkTables
from hornbeam.graphs.sql.walk_queries import asked_columns
from hornbeam.graphs.workload import batches
from hornbeam.rules.codes import is_inverse, predicate_of

#: Maximum number of links that are fetched at a time; a single relation may have more.
ROWS = 2_000_000


def neighbourhoods(
    tables: LinkTables, queries: QueriesByStep, length: int
) -> Iterator[tuple[LinkedGraph, QueriesByStep]]:
    """Parts of the graph that the search for paths visits, and the queries of some steps there."""
    database = tables.database
    asked, answers = asked_columns(queries)
    place = answers["query"]
    step = asked["step"][place]
    pairs = {"number": np.arange(len(place), dtype=np.int32), "step": step}
    database.upload("pairs", {**pairs, "a": asked["source"][place], "c": answers["entity"]})
    tables.create("near", _near((length + 1) // 2, length // 2))
    sizes = tables.fetch(
        "SELECT n.step, CAST(sum(d.degree) AS BIGINT) AS size "
        "FROM @degrees AS d JOIN near AS n ON n.entity = d.entity GROUP BY n.step"
    )
    held = dict(zip(sizes["step"].tolist(), sizes["size"].tolist(), strict=True))
    for steps in batches(list(queries), [held.get(step, 0) for step in queries], ROWS):
        yield _fetched(tables, {step: queries[step] for step in steps})
    database.drop("pairs", "near")


def _near(prefix: int, suffix: int) -> str:
    """Entities whose links the search for the paths of a step visits."""
    levels = ["SELECT step, a AS entity FROM pairs", "SELECT step, c AS entity FROM pairs"]
    for end, depth, limited in (("a", prefix, True), ("c", suffix, False)):
        start = f"SELECT number, step, a, c, {end} AS entity FROM pairs"
        for level in range(1, depth):
            start = _next(start, level, limited)
            levels.append(f"SELECT step, entity FROM ({start}) AS x")
    return f"SELECT DISTINCT step, entity FROM ({' UNION ALL '.join(levels)}) AS n"


def _next(before: str, level: int, limited: bool) -> str:
    """Entities one step further, other than a and c, as far as the search's limit of links."""
    path = "".join(f", x.s{k}, x.e{k}" for k in range(1, level))
    order = "".join(f"s{k}, e{k}, " for k in range(1, level))
    walked = (
        f"SELECT x.number, x.step, x.a, x.c{path}, l.step AS s{level}, l.other AS e{level}, "
        "l.other AS entity, d.degree FROM @links AS l "
        f"JOIN ({before}) AS x ON l.entity = x.entity "
        "JOIN @degrees AS d ON d.entity = l.other "
        "WHERE l.other <> x.a AND l.other <> x.c"
    )
    if not limited:
        return walked
    window = (
        f"sum(degree) OVER (PARTITION BY number ORDER BY {order}s{level}, e{level} "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - degree"
    )
    return (
        f"SELECT * FROM (SELECT w.*, {window} AS looked FROM ({walked}) AS w) AS y "
        f"WHERE y.looked < {MAX_VISITED_LINKS}"
    )


def _fetched(tables: LinkTables, queries: QueriesByStep) -> tuple[LinkedGraph, QueriesByStep]:
    """The links near some queries as a graph with ids of its own, and the queries by these ids.

    Links that were found from both ends occur once.
    """
    listed = ", ".join(map(str, queries))
    near = f"SELECT DISTINCT entity FROM near WHERE step IN ({listed})"
    links = tables.fetch(
        "SELECT l.entity, l.step, l.other FROM @links AS l "
        f"JOIN ({near}) AS n ON n.entity = l.entity"
    )
    entity, step, other = (links[name] for name in ("entity", "step", "other"))
    back = is_inverse(step)
    subject, object_ = np.where(back, other, entity), np.where(back, entity, other)
    predicate = predicate_of(step).astype(np.int32)
    order = np.lexsort((object_, predicate, subject))
    once = order[run_starts(subject[order], predicate[order], object_[order])]
    entities, ids = np.unique([subject[once], object_[once]], return_inverse=True)
    ends = ids.reshape(2, -1).astype(np.int32)
    graph = LinkedGraph(len(entities), tables.n_predicates, ends[0], predicate[once], ends[1])

    def local(ids: Ids) -> Ids:
        return np.searchsorted(entities, ids).astype(np.int32)

    return graph, {
        step: GroupedQueries(local(some.sources), some.offsets, local(some.answers))
        for step, some in queries.items()
    }
