"""Evidence of rules for queries, by joins, and pools of candidates with features from the evidence.

Rules are path rules, rules with constants and backward rules. A property is a step and an entity,
or ANY for any entity. `hornbeam.graphs.sql.walk_queries` describes the tables `asked`, `known` and
`fired`; `asked_steps` has the steps of the queries. Every rule that fires is a row (query, entity,
kind, order, hits, predicted). The kinds are the classes of `hornbeam.graphs.features`. Three
columns of order give the order in which `hornbeam.graphs.evidence_kernels` adds up rules, so that
sums of floats are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints, pointers
from hornbeam.counting.sql.database import Database
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.graphs.constant_kernels import MIN_CONFIDENCE, MIN_HITS
from hornbeam.graphs.constants import FREQUENT
from hornbeam.graphs.evidence_kernels import gather_fired
from hornbeam.graphs.features import BACKWARD, FORWARD, PATH
from hornbeam.graphs.graph_evidence import CandidateArrays
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.link_arrays import WORTH_COMPILING
from hornbeam.graphs.path_rules import PathRules
from hornbeam.graphs.pools import FurtherCandidates, Pool
from hornbeam.graphs.sql.link_tables import ANY, LinkTables
from hornbeam.graphs.sql.walk_queries import walk_paths
from hornbeam.graphs.workload import batches
from hornbeam.rules.codes import inverse_code_sql, inverse_sql, predicate_of
from hornbeam.rules.rule_model import SMOOTHING

#: Maximum number of rows, of fired rules and candidates, that are fetched at a time.
ROWS = 1_000_000
#: Doubles in both dialects of SQL; a number without an exponent is a decimal in DuckDB.
_MINIMUM, _SMOOTHING = f"{MIN_CONFIDENCE:e}", f"{SMOOTHING:e}"
#: The step of a query walked backwards.
_BACK = inverse_code_sql("a.step")

# --- rules with constants -------------------------------------------------------------------------

#: Properties of the sources, by the step of their queries.
_ASKED_PROPERTIES = (
    "SELECT DISTINCT a.step AS target, h.step, h.entity "
    "FROM @properties AS h JOIN asked AS a ON h.holder = a.source "
    f"WHERE h.step <> a.step OR h.entity <> {ANY}"
)
#: Answers along the steps of queries, and how many other answers the same entity has.
_ANSWERED = (
    "SELECT l.entity, l.step AS target, l.other AS answer, r.size - 1 AS others "
    "FROM @links AS l JOIN asked_steps AS s ON s.step = l.step "
    "JOIN @runs AS r ON r.entity = l.entity AND r.step = l.step"
)
#: The rules of `constant_counts` that are above the thresholds.
_CONSTANTS = (
    "SELECT * FROM (SELECT c.target, c.step, c.entity, c.answer, c.first, c.hits, "
    "t.queries - c.others AS predicted FROM constant_counts AS c JOIN "
    "(SELECT target, step, entity, CAST(sum(hits) AS BIGINT) AS queries FROM constant_counts "
    "GROUP BY target, step, entity) AS t "
    "ON t.target = c.target AND t.step = c.step AND t.entity = c.entity "
    f"WHERE c.hits >= {MIN_HITS} AND NOT (c.step = c.target AND c.entity = c.answer)) AS r "
    f"WHERE r.hits >= {_MINIMUM} * (r.predicted + {_SMOOTHING})"
)


def count_constants(tables: LinkTables, steps: Sequence[int], *, of_sources: bool) -> None:
    """Create the table `constants` of rules with constants.

    With `of_sources`, only rules of properties that sources in `asked` have; else all rules.
    """
    tables.database.upload("asked_steps", {"step": np.array(steps, dtype=np.int32)})
    if of_sources:
        tables.create("asked_properties", _ASKED_PROPERTIES)
    tables.create("answered", _ANSWERED)
    tables.create("constant_counts", _constant_counts(of_sources))
    tables.create("constants", _CONSTANTS)


def _constant_counts(of_sources: bool) -> str:
    """Select, per property and answer, the number of entities that have both.

    With `of_sources`, only for properties of sources; else for all properties.
    """
    held, same = "@properties AS h", f"(a.target <> h.step OR h.entity <> {ANY})"
    if of_sources:
        held += " JOIN asked_properties AS p ON p.step = h.step AND p.entity = h.entity"
        same = "a.target = p.target"
    return (
        "SELECT a.target, h.step, h.entity, a.answer, count(*) AS hits, "
        "CAST(sum(a.others) AS BIGINT) AS others, min(a.entity) AS first "
        f"FROM {held} JOIN answered AS a ON a.entity = h.holder AND {same} "
        "GROUP BY a.target, h.step, h.entity, a.answer"
    )


def best_constants(most: int) -> str:
    """Select `most` rules of the highest confidence per step, in the order of `ConstantRules`."""
    return (
        "SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY r.target ORDER BY "
        f"r.hits / (r.predicted + {_SMOOTHING}) DESC, r.hits DESC, "
        f"CASE WHEN r.entity = {ANY} THEN 1 ELSE 0 END, "
        f"CASE WHEN r.entity = {ANY} THEN 0 ELSE r.entity END, "
        f"CASE WHEN r.entity = {ANY} THEN r.step ELSE {inverse_code_sql('r.step')} END, "
        f"r.first, r.answer) AS place FROM constants AS r) AS p WHERE p.place <= {most} "
        "ORDER BY p.target, p.place"
    )


# --- rules that fire ------------------------------------------------------------------------------

#: Path rules, in the order of the trie.
_FIRED_PATHS = (
    f"SELECT f.query, f.entity, {PATH} AS kind, f.node AS order_1, 0 AS order_2, "
    "0 AS order_3, r.hits, r.predicted FROM fired AS f JOIN rules AS r ON r.rule = f.rule"
)
#: Rules of the sources' properties, in the order of properties.
_FIRED_FORWARD = (
    f"SELECT a.query, c.answer AS entity, {FORWARD} AS kind, h.step AS order_1, "
    "h.entity AS order_2, 0 AS order_3, c.hits, c.predicted "
    "FROM @properties AS h JOIN asked AS a ON h.holder = a.source "
    "JOIN constants AS c ON c.target = a.step AND c.step = h.step AND c.entity = h.entity"
)
#: Properties that at least two known answers of a query share, and their holders.
_SHARED = (
    "SELECT * FROM (SELECT g.query, g.step, g.entity, g.first, g.hits, "
    "coalesce(r.size, h.holders) AS predicted "
    "FROM (SELECT k.query, h.step, h.entity, count(*) AS hits, min(k.entity) AS first "
    "FROM @properties AS h JOIN known AS k ON h.holder = k.entity "
    "JOIN asked AS a ON a.query = k.query "
    f"WHERE NOT (h.step = {_BACK} AND h.entity IN (a.source, {ANY})) "
    "GROUP BY k.query, h.step, h.entity HAVING count(*) >= 2) AS g LEFT JOIN @runs AS r "
    f"ON r.entity = g.entity AND r.step = {inverse_code_sql('g.step')} "
    f"LEFT JOIN @holders AS h ON g.entity = {ANY} AND h.step = g.step) AS s "
    f"WHERE s.hits / (s.predicted + {_SMOOTHING}) >= {_MINIMUM} AND s.predicted <> s.hits"
)
#: Rules of `shared` properties, in the order in which the known answers have them.
_FIRED_BACKWARD = (
    f"SELECT s.query, h.holder AS entity, {BACKWARD} AS kind, s.first AS order_1, "
    "s.step AS order_2, s.entity AS order_3, s.hits, s.predicted "
    "FROM @properties AS h JOIN shared AS s ON h.step = s.step AND h.entity = s.entity"
)


def fire_rules(
    tables: LinkTables,
    settings: GraphSettings,
    rules: Mapping[int, PathRules],
    queries: QueriesByStep,
) -> None:
    """Create the tables `firing` (rules that fire for queries) and `candidates` (of queries)."""
    upload, create = tables.database.upload, tables.create
    walk_paths(tables, {step: some.paths for step, some in rules.items()}, queries)
    upload("asked_steps", {"step": np.array(list(queries), dtype=np.int32)})
    hits, predicted = (
        np.concatenate([getattr(some, name) for some in rules.values()])
        for name in ("hits", "predicted")
    )
    upload("rules", {"rule": np.arange(len(hits)), "hits": hits, "predicted": predicted})
    selects = [_FIRED_PATHS]
    if settings.constants:
        count_constants(tables, list(queries), of_sources=True)
        selects.append(_FIRED_FORWARD)
    if settings.backward:
        create("shared", _SHARED)
        selects.append(_FIRED_BACKWARD)
    union, unknown = " UNION ALL ".join(selects), _unknown("f.query", "f.entity")
    create("firing", f"SELECT f.* FROM ({union}) AS f WHERE {unknown}")
    usual = f"{_FREQUENT} UNION {_BY_SLOTS}" if settings.slots else _FREQUENT
    create("usual", usual)
    create("proposed", _PROPOSED)
    create("slots", _SLOTS if settings.slots else _NO_SLOTS)
    create("candidates", _CANDIDATES)


# --- candidates -----------------------------------------------------------------------------------


def _unknown(query: str, entity: str) -> str:
    """The condition that an entity is not a known answer of a query."""
    known = f"k.query = {query} AND k.entity = {entity}"
    return f"NOT EXISTS (SELECT 1 FROM known AS k WHERE {known})"


#: The most frequent answers of the queries' steps.
_FREQUENT = (
    "SELECT step, entity FROM (SELECT s.step, r.entity, row_number() OVER "
    "(PARTITION BY s.step ORDER BY r.size DESC, r.entity) AS place FROM @runs AS r "
    f"JOIN asked_steps AS s ON r.step = {inverse_code_sql('s.step')}) AS p "
    f"WHERE p.place <= {FREQUENT}"
)
#: The candidates that slots propose for the queries' steps.
_BY_SLOTS = (
    "SELECT b.step, b.entity FROM @slot_answers AS b JOIN asked_steps AS s ON s.step = b.step"
)
#: Entities proposed by rules or for all queries of a step that are not known answers.
_PROPOSED = (
    "SELECT p.query, a.source, a.step, p.entity FROM (SELECT query, entity FROM firing UNION "
    "SELECT a.query, f.entity FROM usual AS f JOIN asked AS a ON a.step = f.step "
    f"WHERE {_unknown('a.query', 'f.entity')}) AS p JOIN asked AS a ON a.query = p.query"
)
#: Slot scores of `proposed` entities, in millionths.
_SLOTS = (
    "SELECT p.step, p.entity, CAST(sum(w.weight) AS BIGINT) AS slot "
    "FROM (SELECT DISTINCT step, entity FROM proposed) AS p JOIN @runs AS r ON r.entity = p.entity "
    f"JOIN @slot_weights AS w ON w.step = r.step AND w.target = {inverse_code_sql('p.step')} "
    "GROUP BY p.step, p.entity"
)
_NO_SLOTS = "SELECT step, entity, 0 AS slot FROM proposed WHERE 1 = 0"
#: The condition that another link leads in the direction of the query.
_SAME = f"{inverse_sql('l.step')} = {inverse_sql('a.step')}"
#: Conditions of other links from a source to a candidate: in the query's direction, against it, of
#: its inverse step.
_LINKED = {
    "along": _SAME,
    "against": f"NOT {_SAME} AND NOT l.step = {_BACK}",
    "reverse": f"l.step = {_BACK}",
}
_SUMS = ", ".join(
    f"CAST(sum(CASE WHEN {condition} THEN 1 ELSE 0 END) AS BIGINT) AS {name}"
    for name, condition in _LINKED.items()
)
#: Columns of `candidates` that count other links, and the sum of their weights.
LINK_COUNTS = (*_LINKED, "together")
#: The entities of `proposed` with their counts.
_CANDIDATES = (
    "SELECT p.query, p.entity, coalesce(r.size, 0) AS answers, d.degree, "
    f"{', '.join(f'coalesce(n.{name}, 0) AS {name}' for name in LINK_COUNTS)}, "
    "coalesce(s.slot, 0) AS slot "
    "FROM proposed AS p JOIN @degrees AS d ON d.entity = p.entity "
    f"LEFT JOIN @runs AS r ON r.entity = p.entity AND r.step = {inverse_code_sql('p.step')} "
    "LEFT JOIN slots AS s ON s.step = p.step AND s.entity = p.entity "
    f"LEFT JOIN (SELECT a.query, l.other AS entity, {_SUMS}, "
    "CAST(sum(coalesce(w.weight, 0)) AS BIGINT) AS together FROM asked AS a "
    "JOIN @links AS l ON l.entity = a.source "
    "LEFT JOIN @pair_weights AS w ON w.step = l.step AND w.target = a.step "
    "WHERE l.step <> a.step GROUP BY a.query, l.other) AS n "
    "ON n.query = p.query AND n.entity = p.entity"
)


# --- pools ----------------------------------------------------------------------------------------


def fired_pools(
    database: Database,
    queries: QueriesByStep,
    links: Ints,
    limit: int,
    fold: int,
    further: bool = False,
) -> list[Pool]:
    """One pool per step, from the tables `firing` and `candidates` of the queries.

    `links` has the number of links of every predicate. At most `limit` candidates of a source are
    described by features; with `further`, the other candidates are listed, too.
    """
    sizes = [len(some.sources) for some in queries.values()]
    sources = np.concatenate([some.sources for some in queries.values()])
    total = np.repeat(links[predicate_of(np.array(list(queries)))], sizes)
    parts = [
        _gathered(database, numbers, sources[numbers], total[numbers], limit, further)
        for numbers in _chunks(database, len(sources))
    ]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    counts, entity, feature, further_counts, beyond = columns
    first = pointers(sizes)
    rows, further_rows = pointers(counts)[first], pointers(further_counts)[first]
    pools = []
    for i, (step, some) in enumerate(queries.items()):
        own, described, rest = (slice(*bounds[i : i + 2]) for bounds in (first, rows, further_rows))
        others = FurtherCandidates(further_counts[own], beyond[rest])
        pools.append(
            Pool.of(step, some, counts[own], entity[described], feature[described], fold, others)
        )
    return pools


def _chunks(database: Database, n_queries: int) -> list[slice]:
    """Ranges of queries to fetch together; a query of more than ROWS rows is a range of its own."""
    rows = np.zeros(n_queries, dtype=np.int64)
    for table in ("firing", "candidates"):
        sizes = database.fetch(f"SELECT query, count(*) AS size FROM {table} GROUP BY query")
        rows[sizes["query"]] += sizes["size"]
    numbers = batches(range(n_queries), rows.tolist(), ROWS)
    return [slice(some[0], some[-1] + 1) for some in numbers]


def _gathered(
    database: Database, numbers: slice, sources: Ids, total: Ints, limit: int, further: bool
) -> Sequence[Array]:
    """The candidates of a range of queries, and their number per query.

    Returns the number of described candidates, these candidates and their features; then the number
    of further candidates, and these candidates.
    """
    where = f"WHERE query >= {numbers.start} AND query < {numbers.stop}"
    listed = database.fetch(
        "SELECT query, entity, answers, degree, along, against, reverse, together, slot "
        f"FROM candidates {where} ORDER BY query, entity"
    )
    fired = database.fetch(
        "SELECT query, entity, kind, hits, predicted FROM firing "
        f"{where} ORDER BY query, entity, kind, order_1, order_2, order_3"
    )
    keys, firing = (pair_keys(table["query"], table["entity"]) for table in (listed, fired))
    rows = np.append(np.searchsorted(firing, keys), len(firing))
    query = np.arange(numbers.start, numbers.stop + 1)
    offsets = np.searchsorted(listed["query"], query)
    own = pair_keys(query[:-1], sources)
    itself = np.where(contained(own, keys), np.searchsorted(keys, own), -1)
    linked = np.stack([listed[name] for name in LINK_COUNTS], axis=1)
    confidence = fired["hits"] / (fired["predicted"] + SMOOTHING)
    n = len(keys)
    prior = np.log((listed["answers"] + 0.5) / (np.repeat(total, np.diff(offsets)) + 1.0))
    run = gather_fired.for_size(len(confidence), WORTH_COMPILING)
    counts, chosen, feature, further_counts, others = run(
        fired["kind"], confidence, -np.log1p(-confidence), rows.astype(np.int64),
        offsets.astype(np.int64), itself, prior, listed["answers"] > 0,
        listed["degree"], linked, listed["slot"], limit, max(n, limit) if further else limit,
        CandidateArrays.of(n, listed=True),
    )  # fmt: skip
    entity = listed["entity"]
    return counts, entity[chosen], feature, further_counts, entity[others]
