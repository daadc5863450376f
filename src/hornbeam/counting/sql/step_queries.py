"""Steps as SQL: facts in both directions, degrees of nodes, and weights of steps.

A step (origin, code, destination) is a fact walked forwards or backwards; codes are those of
`hornbeam.rules.codes`. The weight of a step, 1 / sqrt(out-degree x in-degree) of its relation, is
the same both ways, and is stored with every fact.
"""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.rules.codes import step_code_sql

#: Code of a fact's predicate, walked forwards and backwards.
FORWARDS, BACKWARDS = (step_code_sql("predicate", inverse) for inverse in (False, True))


def every_step(facts: str, names: Sequence[str], further: str = "") -> str:
    """Every fact of a table as a step, forwards and backwards.

    `names` are those of the columns of origin, code and destination.
    """
    origin, code, destination = names
    return (
        f"SELECT subject AS {origin}, {FORWARDS} AS {code}, object AS {destination}{further} "
        f"FROM {facts} UNION ALL "
        f"SELECT object AS {origin}, {BACKWARDS} AS {code}, subject AS {destination}{further} "
        f"FROM {facts}"
    )


def all_steps(weighed: bool = False) -> str:
    """Every step, with its value and, if `weighed`, its weight."""
    facts, further = ("weighed_facts", ", value, weight") if weighed else ("facts", ", value")
    return every_step(facts, ("origin", "code", "destination"), further)


#: Number of steps that leave (or, which is the same, reach) every node.
DEGREES = f"SELECT origin AS node, count(*) AS degree FROM ({all_steps()}) AS s GROUP BY origin"
#: Number of steps of each code that leave every node.
CODE_DEGREES = (
    f"SELECT origin AS node, code, count(*) AS degree FROM ({all_steps()}) AS s "
    "GROUP BY origin, code"
)
#: Facts with the weight of a step along them.
WEIGHED_FACTS = (
    "SELECT f.subject, f.predicate, f.object, f.value, "
    "1 / sqrt(CAST(s.degree AS DOUBLE) * o.degree) AS weight "
    "FROM facts AS f "
    f"JOIN code_degrees AS s ON s.node = f.subject AND s.code = {FORWARDS} "
    f"JOIN code_degrees AS o ON o.node = f.object AND o.code = {BACKWARDS}"
)


def allowed_steps(limited: bool, weighed: bool = False) -> str:
    """Every step that may be walked; if `limited`, without those of `wide`."""
    if not limited:
        return all_steps(weighed)
    return (
        f"SELECT s.* FROM ({all_steps(weighed)}) AS s WHERE NOT EXISTS "
        "(SELECT 1 FROM wide AS w WHERE w.origin = s.origin AND w.code = s.code)"
    )


def join_hint(broadcast: bool, *tables: str) -> str:
    """For Spark: every worker gets these tables, or else the last is hashed, never sorted."""
    if broadcast:
        return f"/*+ BROADCAST({', '.join(tables)}) */ "
    return f"/*+ SHUFFLE_HASH({tables[-1]}) */ "


def coverage_figures(table: str, keys: str, sure: str | None, hint: str, min_coverage: int) -> str:
    """Select every body of enough coverage, by its `keys`: targets, true targets, groundings.

    For soft values, `sure` is the condition that a row of the table rounds to true.
    """
    rows = table
    if sure is not None:
        rows = (
            f"(SELECT target, {keys}, sum(paths) AS paths FROM {table} WHERE {sure} "
            f"GROUP BY target, {keys})"
        )
    return (
        f"SELECT {hint}t.predicate, {keys}, count(*) AS coverage, "
        "CAST(sum(t.positive) AS BIGINT) AS coverage_true, CAST(sum(c.paths) AS BIGINT) AS paths "
        f"FROM {rows} AS c JOIN targets AS t ON t.target = c.target "
        f"GROUP BY t.predicate, {keys} HAVING count(*) >= {int(min_coverage)}"
    )


def of_known(table: str, known: str, key: Sequence[str]) -> str:
    """FROM clause: counts in a table (c) of the bodies that a table of known ones (k) numbers."""
    same = " AND ".join(f"k.{name} = c.{name}" for name in key)
    return (
        f"FROM {table} AS c JOIN targets AS t ON t.target = c.target JOIN {known} AS k "
        f"ON k.predicate = t.predicate AND {same}"
    )


def histogram(counts_of_known: str) -> str:
    """How many targets have each (path, count, label), for 0/1 facts; see `of_known`."""
    return (
        "SELECT k.path, c.paths, t.label, count(*) AS size "
        f"{counts_of_known} GROUP BY k.path, c.paths, t.label"
    )


def wide_nodes(max_fanout: int) -> str:
    """Select (origin, code) of the steps that a fan-out limit forbids."""
    return (
        f"SELECT origin, code FROM ({all_steps()}) AS s GROUP BY origin, code "
        f"HAVING count(*) > {int(max_fanout)}"
    )
