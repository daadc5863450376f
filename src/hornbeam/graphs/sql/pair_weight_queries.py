"""What links of a pair weigh for each other, counted in a database; see `pair_weights`."""

from __future__ import annotations

import numpy as np

from hornbeam.arrays import Ints
from hornbeam.graphs.pair_weights import MOST_STEPS, NO_WEIGHTS, pair_weights
from hornbeam.graphs.sql.link_tables import LinkTables


def put_pair_weights(tables: LinkTables, step_limit: int) -> Ints:
    """Fit the weights of a graph, and put those that are not 0 into `tables.pair_weights`."""
    weights = NO_WEIGHTS
    if step_limit <= MOST_STEPS:
        found = tables.database.fetch(
            "SELECT l.step, o.step AS other, count(*) AS pairs "  # noqa: S608
            f"FROM {tables.links} AS l JOIN {tables.links} AS o "
            "ON o.entity = l.entity AND o.other = l.other GROUP BY l.step, o.step"
        )
        shared = np.zeros((step_limit, step_limit), dtype=np.int64)
        shared[found["step"], found["other"]] = found["pairs"]
        weights = pair_weights(shared)
    step, target = np.nonzero(weights)
    columns = {"step": step, "target": target, "weight": weights[step, target]}
    tables.database.upload(tables.pair_weights, columns)
    return weights
