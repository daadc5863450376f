"""Rules with constants, backward rules and frequent answers, as joins.

A property is a step and an entity, or -1 for any. The tables `asked` and `known` are those of
`hornbeam.graphs.sql.walk_queries`; `asked_steps` has the steps of the queries. Every rule that
fires is a row (query, entity, kind, order, hits, predicted): the kinds are those of
`hornbeam.graphs.evidence_kernels`, and three columns of order give the order in which the kernels
there add it, so that sums of floats are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable

from hornbeam.graphs.constants import FREQUENT, MIN_CONFIDENCE, MIN_HITS
from hornbeam.graphs.evidence_kernels import BACKWARD, FORWARD, PATH
from hornbeam.graphs.sql.link_tables import LinkTables
from hornbeam.rules.codes import inverse_code_sql, inverse_sql
from hornbeam.rules.rule_model import SMOOTHING

#: The entity of a property (s, _).
ANY = -1
#: Doubles in both dialects; without an exponent DuckDB reads a decimal.
_MINIMUM, _SMOOTHING = f"{MIN_CONFIDENCE:e}", f"{SMOOTHING:e}"


# --- forward --------------------------------------------------------------------------------------


def properties(tables: LinkTables) -> str:
    """Properties of the sources, by the step of their queries."""
    return (
        "SELECT DISTINCT a.step AS target, l.step, l.other AS entity "  # noqa: S608
        f"FROM {tables.links} AS l JOIN asked AS a ON l.entity = a.source "
        f"UNION ALL SELECT DISTINCT a.step AS target, r.step, {ANY} AS entity "
        f"FROM {tables.runs} AS r JOIN asked AS a ON r.entity = a.source WHERE r.step <> a.step"
    )


def answered(tables: LinkTables) -> str:
    """Answers along the steps of queries, and the number of other answers of their entity."""
    return (
        "SELECT l.entity, l.step AS target, l.other AS answer, r.size - 1 AS others "  # noqa: S608
        f"FROM {tables.links} AS l JOIN asked_steps AS s ON s.step = l.step "
        f"JOIN {tables.runs} AS r ON r.entity = l.entity AND r.step = l.step"
    )


def constant_counts(tables: LinkTables, of_sources: bool) -> str:
    """Per property and answer: the number of entities that have both.

    For the `properties` of sources, or for all properties of entities with answers.
    """
    parts = []
    for table, entity in ((tables.links, "other"), (tables.runs, f"{ANY}")):
        held = f"SELECT entity AS holder, step, {entity} AS entity FROM {table}"  # noqa: S608
        if of_sources:
            held = (
                f"SELECT h.*, p.target FROM ({held}) AS h JOIN properties AS p "  # noqa: S608
                "ON p.step = h.step AND p.entity = h.entity"
            )
        join = "a.target = h.target" if of_sources else "a.target <> h.step OR h.entity >= 0"
        parts.append(
            "SELECT a.target, h.step, h.entity, a.answer, count(*) AS hits, "  # noqa: S608
            "CAST(sum(a.others) AS BIGINT) AS others, min(a.entity) AS first "
            f"FROM ({held}) AS h JOIN answered AS a ON a.entity = h.holder AND ({join}) "
            "GROUP BY a.target, h.step, h.entity, a.answer"
        )
    return " UNION ALL ".join(parts)


def constants() -> str:
    """The rules of `constant_counts` that are above the thresholds."""
    return (
        "SELECT * FROM (SELECT c.target, c.step, c.entity, c.answer, c.first, c.hits, "  # noqa: S608
        "t.queries - c.others AS predicted FROM constant_counts AS c JOIN "
        "(SELECT target, step, entity, CAST(sum(hits) AS BIGINT) AS queries FROM constant_counts "
        "GROUP BY target, step, entity) AS t "
        "ON t.target = c.target AND t.step = c.step AND t.entity = c.entity "
        f"WHERE c.hits >= {MIN_HITS} AND NOT (c.step = c.target AND c.entity = c.answer)) AS r "
        f"WHERE r.hits >= {_MINIMUM} * (r.predicted + {_SMOOTHING})"
    )


def best_constants(most: int) -> str:
    """The rules of the highest confidence per step, in the order of `ConstantRules`."""
    return (
        "SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY r.target ORDER BY "  # noqa: S608
        f"r.hits / (r.predicted + {_SMOOTHING}) DESC, r.hits DESC, "
        f"CASE WHEN r.entity = {ANY} THEN 1 ELSE 0 END, "
        f"CASE WHEN r.entity = {ANY} THEN 0 ELSE r.entity END, "
        f"CASE WHEN r.entity = {ANY} THEN r.step ELSE {inverse_code_sql('r.step')} END, "
        f"r.first, r.answer) AS place FROM constants AS r) AS p WHERE p.place <= {most} "
        "ORDER BY p.target, p.place"
    )


# --- rules that fire ------------------------------------------------------------------------------


def fired_paths() -> str:
    """Path rules, in the order of the trie."""
    return (
        f"SELECT f.query, f.entity, {PATH} AS kind, f.node AS order_1, 0 AS order_2, "  # noqa: S608
        "0 AS order_3, r.hits, r.predicted FROM fired AS f JOIN rules AS r ON r.rule = f.rule"
    )


def fired_forward(tables: LinkTables) -> str:
    """Rules of the sources' properties, in the order of properties."""
    held = (
        f"SELECT a.query, a.step AS target, l.step, l.other AS entity FROM {tables.links} AS l "  # noqa: S608
        f"JOIN asked AS a ON l.entity = a.source UNION ALL SELECT a.query, a.step AS target, "
        f"r.step, {ANY} AS entity FROM {tables.runs} AS r JOIN asked AS a ON r.entity = a.source"
    )
    return (
        f"SELECT h.query, c.answer AS entity, {FORWARD} AS kind, h.step AS order_1, "  # noqa: S608
        "h.entity AS order_2, 0 AS order_3, c.hits, c.predicted "
        f"FROM ({held}) AS h JOIN constants AS c "
        "ON c.target = h.target AND c.step = h.step AND c.entity = h.entity"
    )


def shared(tables: LinkTables) -> str:
    """Properties that at least two known answers of a query share, and their holders."""
    back = inverse_code_sql("a.step")
    props = (
        "SELECT k.query, l.step, l.other AS entity, k.entity AS answer "  # noqa: S608
        f"FROM {tables.links} AS l JOIN known AS k ON l.entity = k.entity "
        f"JOIN asked AS a ON a.query = k.query "
        f"WHERE NOT (l.step = {back} AND l.other = a.source) "
        f"UNION ALL SELECT k.query, r.step, {ANY} AS entity, k.entity AS answer "
        f"FROM {tables.runs} AS r JOIN known AS k ON r.entity = k.entity "
        f"JOIN asked AS a ON a.query = k.query WHERE r.step <> {back}"
    )
    grouped = (
        "SELECT query, step, entity, count(*) AS hits, min(answer) AS first "  # noqa: S608
        f"FROM ({props}) AS p GROUP BY query, step, entity HAVING count(*) >= 2"
    )
    return (
        "SELECT * FROM (SELECT g.query, g.step, g.entity, g.first, g.hits, "  # noqa: S608
        "coalesce(r.size, h.holders) AS predicted "
        f"FROM ({grouped}) AS g LEFT JOIN {tables.runs} AS r "
        f"ON r.entity = g.entity AND r.step = {inverse_code_sql('g.step')} "
        f"LEFT JOIN {tables.holders} AS h ON g.entity = {ANY} AND h.step = g.step) AS s "
        f"WHERE s.hits / (s.predicted + {_SMOOTHING}) >= {_MINIMUM} AND s.predicted <> s.hits"
    )


def fired_backward(tables: LinkTables) -> str:
    """Rules of `shared` properties, in the order in which the known answers have them."""
    columns = (
        f"{BACKWARD} AS kind, s.first AS order_1, s.step AS order_2, s.entity AS order_3, "
        "s.hits, s.predicted"
    )
    return (
        f"SELECT s.query, l.other AS entity, {columns} FROM {tables.links} AS l "  # noqa: S608
        f"JOIN shared AS s ON l.entity = s.entity AND l.step = {inverse_code_sql('s.step')} "
        f"UNION ALL SELECT s.query, r.entity, {columns} FROM {tables.runs} AS r "
        f"JOIN (SELECT * FROM shared AS x WHERE x.entity = {ANY}) AS s ON r.step = s.step"
    )


def firing(selects: Iterable[str]) -> str:
    """All rules that fire for entities other than known answers."""
    union = " UNION ALL ".join(selects)
    return f"SELECT f.* FROM ({union}) AS f WHERE {_unknown('f.query', 'f.entity')}"  # noqa: S608


# --- candidates -----------------------------------------------------------------------------------


def frequent(tables: LinkTables) -> str:
    """The most frequent answers of the queries' steps."""
    return (
        "SELECT step, entity FROM (SELECT s.step, r.entity, row_number() OVER "  # noqa: S608
        f"(PARTITION BY s.step ORDER BY r.size DESC, r.entity) AS place FROM {tables.runs} AS r "
        f"JOIN asked_steps AS s ON r.step = {inverse_code_sql('s.step')}) AS p "
        f"WHERE p.place <= {FREQUENT}"
    )


def linked(tables: LinkTables) -> str:
    """Other links from the sources: in the query's direction, against it, of its inverse step.

    And the sum of their weights.
    """
    same = f"{inverse_sql('l.step')} = {inverse_sql('a.step')}"
    own = f"l.step = {inverse_code_sql('a.step')}"
    sums = (
        f"CAST(sum(CASE WHEN {condition} THEN 1 ELSE 0 END) AS BIGINT) AS {name}"
        for name, condition in (
            ("along", same),
            ("against", f"NOT {same} AND NOT {own}"),
            ("reverse", own),
        )
    )
    return (
        f"SELECT a.query, l.other AS entity, {', '.join(sums)}, "  # noqa: S608
        "CAST(sum(coalesce(w.weight, 0)) AS BIGINT) AS together FROM asked AS a "
        f"JOIN {tables.links} AS l ON l.entity = a.source "
        f"LEFT JOIN {tables.pair_weights} AS w ON w.step = l.step AND w.target = a.step "
        "WHERE l.step <> a.step "
        "GROUP BY a.query, l.other"
    )


def candidates(tables: LinkTables) -> str:
    """Entities proposed by rules or frequency that are not known answers, with their counts."""
    proposed = (
        "SELECT query, entity FROM firing UNION SELECT a.query, f.entity FROM frequent AS f "  # noqa: S608
        f"JOIN asked AS a ON a.step = f.step WHERE {_unknown('a.query', 'f.entity')}"
    )
    return (
        "SELECT p.query, p.entity, coalesce(r.size, 0) AS answers, d.degree, "  # noqa: S608
        "coalesce(n.along, 0) AS along, coalesce(n.against, 0) AS against, "
        "coalesce(n.reverse, 0) AS reverse, coalesce(n.together, 0) AS together "
        f"FROM ({proposed}) AS p JOIN asked AS a ON a.query = p.query "
        f"JOIN {tables.degrees} AS d ON d.entity = p.entity "
        f"LEFT JOIN {tables.runs} AS r "
        f"ON r.entity = p.entity AND r.step = {inverse_code_sql('a.step')} "
        f"LEFT JOIN ({linked(tables)}) AS n ON n.query = p.query AND n.entity = p.entity"
    )


def _unknown(query: str, entity: str) -> str:
    """Whether an entity is not a known answer of a query."""
    return (
        "NOT EXISTS (SELECT 1 FROM known AS k "  # noqa: S608
        f"WHERE k.query = {query} AND k.entity = {entity})"
    )
