"""From rules that fired in a database to pools of candidates with features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints, pointers
from hornbeam.counting.sql.database import Database
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.graphs.evidence_kernels import gather_fired
from hornbeam.graphs.graph_evidence import CandidateArrays
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.linked_graph import WORTH_COMPILING
from hornbeam.graphs.pools import FurtherCandidates, Pool
from hornbeam.graphs.sql.evidence_queries import LINK_COUNTS
from hornbeam.graphs.workload import batches
from hornbeam.rules.rule_model import SMOOTHING

#: Maximum number of rows of fired rules and candidates that are fetched at a time.
ROWS = 1_000_000


def fired_pools(
    database: Database,
    queries: QueriesByStep,
    totals: Ints,
    limit: int,
    fold: int,
    further: bool = False,
) -> list[Pool]:
    """One pool per step, from the tables `firing` and `candidates` of the queries.

    `totals` has the number of links along every step, `limit` is the maximum number of candidates
    of a source that are described; `further` lists the others too.
    """
    sizes = [len(some.sources) for some in queries.values()]
    sources = np.concatenate([some.sources for some in queries.values()])
    total = np.repeat(totals[list(queries)], sizes)
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
    """Ranges of queries that are fetched together; a query of more than ROWS rows alone."""
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

    Number of described candidates, they and their features; number of further ones, and they.
    """
    where = f"WHERE query >= {numbers.start} AND query < {numbers.stop}"
    listed = database.fetch(
        "SELECT query, entity, answers, degree, along, against, reverse, together "
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
        listed["degree"], linked, limit, max(n, limit) if further else limit,
        CandidateArrays.of(n, listed=True),
    )  # fmt: skip
    entity = listed["entity"]
    return counts, entity[chosen], feature, further_counts, entity[others]
