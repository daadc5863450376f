"""Path rules of many queries at once, as joins: entities reached, with hits and predictions.

What `hornbeam.graphs.evidence_kernels` does source by source is done here level by level for all
queries of many relations. `asked` (query, step, source, queries) has one row per source and step;
`trie` (node, parent, code, rule) has the paths of all steps, where the parent of a first node is
the negative of the query's step. `reached` has the entities that a query reaches in a node of the
trie, and the `first` entity of the walks there, or `SEVERAL`. A node where a query reaches too many
entities is dropped with its whole subtree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints
from hornbeam.graphs.evidence_kernels import MAX_PROPOSED, SEVERAL
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.path_rules import PathTable, build_trie
from hornbeam.graphs.sql.link_tables import LinkTables

#: Known answers of the queries, and which of them the queries ask for (`answers`).
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
#: Hits and predictions of every rule: a query predicts proposals minus other known answers.
COUNTS = (
    "SELECT f.rule, CAST(sum(CASE WHEN k.asked = 1 THEN 1 ELSE 0 END) AS BIGINT) AS hits, "
    "CAST(sum(CASE WHEN k.asked IS NULL THEN a.queries ELSE k.asked END) AS BIGINT) AS "
    "predicted FROM fired AS f JOIN asked AS a ON a.query = f.query "
    "LEFT JOIN known AS k ON k.query = f.query AND k.entity = f.entity GROUP BY f.rule"
)


def _joint_trie(paths: Mapping[int, PathTable]) -> tuple[dict[str, Array], int]:
    """The table `trie` of the paths of all steps, and the length of the longest path.

    Nodes and rules are numbered on from step to step.
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
    """The parent of every node; the negative of the step for first nodes."""
    ancestors = [-step]
    parents = np.empty(len(depth), dtype=np.int64)
    for node, level in enumerate(depth.tolist()):
        del ancestors[level:]
        parents[node] = ancestors[-1]
        ancestors.append(base + node)
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
    """Create the tables `fired` and `known`: the paths that queries fire, and known answers.

    The rules that fire are numbered on from step to step of `paths`.
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
    # nodes of starts are not in the trie: no rule fires there
    database.view("fired", " UNION ALL ".join(levels or [_fired(0)]))


def _expanded(depth: int) -> str:
    """Ends of one more step, each once per query and node; TOO_MANY among them for long runs."""
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
    """Rules that end in the nodes of a level, and what they propose.

    An entity that all walks to it pass first is reached by the link of the query only, and is left
    out.
    """
    own = " AND r.first <> r.entity" if depth > 1 else ""
    return (
        f"SELECT r.query, r.node, t.rule, r.entity FROM reached_{depth} AS r "
        f"JOIN trie AS t ON t.node = r.node WHERE t.rule >= 0{own}"
    )
