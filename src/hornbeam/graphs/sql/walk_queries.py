"""Walks as joins: entities that path rules reach, and parts of a graph to search for paths.

`hornbeam.graphs.evidence_kernels` walks path rules source by source. Here all queries of many
relations walk them together, level by level. `asked` (query, step, source, queries) has one row per
source and step. `trie` (node, parent, code, rule) has the paths of all steps; the parent of a first
node is the negative of the query's step. `reached` has the entities that a query reaches in a node
of the trie, and the `first` entity of the walks there, or `SEVERAL`. A node where a query reaches
too many entities is dropped with its whole subtree.

The search for paths between the ends a and c of a link (`hornbeam.graphs.discovery_kernels`) walks
up to half of a path from either end. So it needs all links of entities near a and c, and no other
links. From a it visits a fixed number of links, in the order of steps and ends; later entities are
left out. The ids in a part are ranks of the graph's ids. So the order of links is the same and the
search finds the same paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints, run_starts
from hornbeam.graphs.evidence_kernels import MAX_PROPOSED, SEVERAL
from hornbeam.graphs.grouped_queries import GroupedQueries, QueriesByStep
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.path_rules import MAX_VISITED_LINKS, PathTable, build_trie
from hornbeam.graphs.sql.link_tables import LinkTables
from hornbeam.graphs.workload import batches
from hornbeam.rules.codes import is_inverse, predicate_of

#: Maximum number of links that are fetched for a part; a part for a single step may have more.
ROWS_OF_PART = 2_000_000
#: Known answers of the queries, and which known answers the queries ask for (`answers`).
KNOWN = (
    "SELECT a.query, l.other AS entity, CASE WHEN w.entity IS NULL THEN 0 ELSE 1 END AS asked "
    "FROM @links AS l JOIN asked AS a ON l.entity = a.source AND l.step = a.step "
    "LEFT JOIN answers AS w ON w.query = a.query AND w.entity = l.other"
)
#: Where walks begin: every query at its source, before the first steps of its step's paths.
STARTS = "SELECT query, source, -step AS node, source AS entity, -1 AS first FROM asked"
#: Entities of `expanded`, at nodes where they are not too many.
KEPT = (
    "SELECT x.query, x.source, x.node, x.entity, "
    f"CASE WHEN x.low = x.high THEN x.low ELSE {SEVERAL} END AS first FROM expanded AS x "
    "JOIN (SELECT query, node FROM expanded GROUP BY query, node "
    f"HAVING count(*) <= {MAX_PROPOSED} AND min(entity) >= 0) AS s "
    "ON s.query = x.query AND s.node = x.node"
)
#: Hits and predictions of every rule, which predicts its proposals minus other known answers.
COUNTS = (
    "SELECT f.rule, CAST(sum(CASE WHEN k.asked = 1 THEN 1 ELSE 0 END) AS BIGINT) AS hits, "
    "CAST(sum(CASE WHEN k.asked IS NULL THEN a.queries ELSE k.asked END) AS BIGINT) AS "
    "predicted FROM fired AS f JOIN asked AS a ON a.query = f.query "
    "LEFT JOIN known AS k ON k.query = f.query AND k.entity = f.entity GROUP BY f.rule"
)


def _joint_trie(paths: Mapping[int, PathTable]) -> tuple[dict[str, Array], int]:
    """The table `trie` of the paths of all steps, and the length of the longest path.

    The numbers of nodes and rules continue from step to step.
    """
    nodes, rules, depth = 0, 0, 0
    parts = [(np.empty(0, dtype=np.int64),) * 3]
    for step, some in paths.items():
        trie = build_trie(step, some, np.zeros(len(some)))
        rule = np.where(trie.rule >= 0, trie.rule + rules, -1)
        parts.append((_parents(trie.depth, step, nodes), trie.step, rule))
        nodes, rules = nodes + len(rule), rules + len(some)
        depth = max(depth, int(trie.depth.max(initial=0)))
    parent, code, rule = map(np.concatenate, zip(*parts, strict=True))
    return {"node": np.arange(nodes), "parent": parent, "code": code, "rule": rule}, depth


def _parents(depth: Ints, step: int, base: int) -> Ints:
    """The parent of every node in preorder; the negative of the step for first nodes."""
    parents = np.full(len(depth), -step, dtype=np.int64)
    for level in range(2, int(depth.max(initial=0)) + 1):
        above = np.maximum.accumulate(np.where(depth == level - 1, np.arange(len(depth)), 0))
        parents[depth == level] = base + above[depth == level]
    return parents


def asked_columns(queries: QueriesByStep) -> tuple[dict[str, Array], dict[str, Array]]:
    """The tables `asked` and `answers`: queries are numbered by step and source."""
    sources = _concatenated(some.sources for some in queries.values())
    sizes = _concatenated(np.diff(some.offsets) for some in queries.values())
    query = np.arange(len(sources), dtype=np.int32)
    step = np.repeat(list(queries), [len(some.sources) for some in queries.values()])
    return (
        {"query": query, "step": step.astype(np.int32), "source": sources, "queries": sizes},
        {
            "query": np.repeat(query, sizes),
            "entity": _concatenated(some.answers for some in queries.values()),
        },
    )


def _concatenated(parts: Iterable[Array]) -> Ids:
    together: Ids = np.concatenate([np.empty(0, np.int32), *parts]).astype(np.int32)
    return together


def walk_paths(tables: LinkTables, paths: Mapping[int, PathTable], queries: QueriesByStep) -> None:
    """Create the tables `fired` and `known`: path rules that fire for queries, and known answers.

    The numbers of rules continue from step to step of `paths`.
    """
    database = tables.database
    (asked, answers), (trie, longest) = asked_columns(queries), _joint_trie(paths)
    for name, columns in (("asked", asked), ("answers", answers), ("trie", trie)):
        database.upload(name, columns)
    tables.create("known", KNOWN)
    database.view("reached_0", STARTS)
    levels = []
    for depth in range(1, longest + 1):
        tables.create("expanded", _expanded(depth))
        tables.create(f"reached_{depth}", KEPT)
        levels.append(_fired(depth))
    # nodes where walks begin are not in the trie: no rule fires there
    database.view("fired", " UNION ALL ".join(levels or [_fired(0)]))


def _expanded(depth: int) -> str:
    """Select the ends of one more step, once per query and node; a long run ends in TOO_MANY."""
    # a walk that came back to its source ends there
    first, on = ("w.other", "") if depth == 1 else ("f.first", " AND r.entity <> r.source")
    frontier = (
        "SELECT r.query, r.source, t.node, t.code, r.entity, r.first "
        f"FROM reached_{depth - 1} AS r JOIN trie AS t ON t.parent = r.node{on}"
    )
    return (
        f"SELECT f.query, f.source, f.node, w.other AS entity, min({first}) AS low, "
        f"max({first}) AS high FROM @walks AS w "
        f"JOIN ({frontier}) AS f ON w.entity = f.entity AND w.step = f.code "
        "GROUP BY f.query, f.source, f.node, w.other"
    )


def _fired(depth: int) -> str:
    """Select the rules that end in the nodes of a level, and the entities that they propose.

    An entity is left out if it is the first entity of all walks to it: these may take the link that
    the query asks for.
    """
    own = " AND r.first <> r.entity" if depth > 1 else ""
    return (
        f"SELECT r.query, r.node, t.rule, r.entity FROM reached_{depth} AS r "
        f"JOIN trie AS t ON t.node = r.node WHERE t.rule >= 0{own}"
    )


# --- parts of a graph -----------------------------------------------------------------------------


def neighbourhoods(
    tables: LinkTables, queries: QueriesByStep, length: int
) -> Iterator[tuple[LinkedGraph, QueriesByStep]]:
    """Parts of the graph that the search for paths visits, each with the queries of its steps."""
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
    for steps in batches(list(queries), [held.get(step, 0) for step in queries], ROWS_OF_PART):
        yield _fetched(tables, {step: queries[step] for step in steps})
    database.drop("pairs", "near")


def _near(prefix: int, suffix: int) -> str:
    """Select the entities whose links the search for paths visits, by step."""
    levels = ["SELECT step, a AS entity FROM pairs", "SELECT step, c AS entity FROM pairs"]
    for end, depth, limited in (("a", prefix, True), ("c", suffix, False)):
        start = f"SELECT number, step, a, c, {end} AS entity FROM pairs"
        for level in range(1, depth):
            start = _next(start, level, limited)
            levels.append(f"SELECT step, entity FROM ({start}) AS x")
    return f"SELECT DISTINCT step, entity FROM ({' UNION ALL '.join(levels)}) AS n"


def _next(before: str, level: int, limited: bool) -> str:
    """Select the entities one step further, but a and c, within the search's limit of links."""
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

    Links that were fetched from both ends occur once.
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
