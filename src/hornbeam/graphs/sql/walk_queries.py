"""Path rules of many queries at once, as joins: entities reached, with hits and predictions.

What `hornbeam.graphs.evidence_kernels` does source by source is done here level by level for all
queries of many relations. `asked` (query, step, source, queries) has one row per source and step;
`trie` (node, parent, code, rule) has the paths of all steps, where the parent of a first node is
the negative of the query's step. `reached` has the entities that a query reaches in a node of the
trie, and the `first` entity of the walks there, or `SEVERAL`. A node where a query reaches too many
entities is dropped with its whole subtree.
"""

from __future__ import annotations

from hornbeam.graphs.evidence_kernels import SEVERAL
from hornbeam.graphs.path_rules import MAX_PROPOSED
from hornbeam.graphs.sql.link_tables import LinkTables

#: Where walks begin: every query at its source, before the first steps of its step's paths.
STARTS = "SELECT query, source, -step AS node, source AS entity, -1 AS first FROM asked"


def frontier(reached: str, depth: int) -> str:
    """Steps to walk next from the entities of the level before."""
    # a walk that came back to its source ends there
    on = "" if depth == 1 else " AND r.entity <> r.source"
    return (
        "SELECT r.query, r.source, t.node, t.code, r.entity, r.first "  # noqa: S608
        f"FROM {reached} AS r JOIN trie AS t ON t.parent = r.node{on}"
    )


def expanded(tables: LinkTables, reached: str, depth: int) -> str:
    """Ends of one more step, each once per query and node; TOO_MANY among them for long runs."""
    first = "w.other" if depth == 1 else "f.first"
    return (
        f"SELECT f.query, f.source, f.node, w.other AS entity, min({first}) AS low, "  # noqa: S608
        f"max({first}) AS high FROM {tables.walks} AS w "
        f"JOIN ({frontier(reached, depth)}) AS f ON w.entity = f.entity AND w.step = f.code "
        "GROUP BY f.query, f.source, f.node, w.other"
    )


def kept() -> str:
    """Entities of `expanded`, at nodes where they are not too many."""
    return (
        "SELECT x.query, x.source, x.node, x.entity, "  # noqa: S608
        f"CASE WHEN x.low = x.high THEN x.low ELSE {SEVERAL} END AS first FROM expanded AS x "
        "JOIN (SELECT query, node FROM expanded GROUP BY query, node "
        f"HAVING count(*) <= {MAX_PROPOSED} AND min(entity) >= 0) AS s "
        "ON s.query = x.query AND s.node = x.node"
    )


def fired(reached: str, depth: int) -> str:
    """Rules that end in the nodes of a level, and what they propose.

    An entity that all walks to it pass first is reached by the link of the query only, and is left
    out.
    """
    own = "" if depth == 1 else " AND r.first <> r.entity"
    return (
        f"SELECT r.query, r.node, t.rule, r.entity FROM {reached} AS r "  # noqa: S608
        f"JOIN trie AS t ON t.node = r.node WHERE t.rule >= 0{own}"
    )


def known(tables: LinkTables) -> str:
    """Known answers of the queries, and which of them the queries ask for (`answers`)."""
    return (
        "SELECT a.query, l.other AS entity, CASE WHEN w.entity IS NULL THEN 0 ELSE 1 END AS asked "  # noqa: S608
        f"FROM {tables.links} AS l JOIN asked AS a ON l.entity = a.source AND l.step = a.step "
        "LEFT JOIN answers AS w ON w.query = a.query AND w.entity = l.other"
    )


def counts() -> str:
    """Hits and predictions of every rule: a query predicts proposals minus other known answers."""
    return (
        "SELECT f.rule, CAST(sum(CASE WHEN k.asked = 1 THEN 1 ELSE 0 END) AS BIGINT) AS hits, "
        "CAST(sum(CASE WHEN k.asked IS NULL THEN a.queries ELSE k.asked END) AS BIGINT) AS "
        "predicted FROM fired AS f JOIN asked AS a ON a.query = f.query "
        "LEFT JOIN known AS k ON k.query = f.query AND k.entity = f.entity GROUP BY f.rule"
    )
