"""Weights of a pair's links for each other, counted in a database; see `pair_weights`."""

from __future__ import annotations

import numpy as np

from hornbeam.counting.sql.database import Database, TableColumns
from hornbeam.graphs.pair_weights import MAX_STEPS, NO_WEIGHTS, pair_weights
from hornbeam.rules.codes import code_limit


def weight_columns(database: Database, links: str, n_predicates: int) -> TableColumns:
    """Nonzero weights of a graph with a table of links, as columns."""
    weights, step_limit = NO_WEIGHTS, code_limit(n_predicates)
    if step_limit <= MAX_STEPS:
        found = database.fetch(
            "SELECT l.step, o.step AS other, count(*) AS pairs "  # noqa: S608
            f"FROM {links} AS l JOIN {links} AS o "
            "ON o.entity = l.entity AND o.other = l.other GROUP BY l.step, o.step"
        )
        shared = np.zeros((step_limit, step_limit), dtype=np.int64)
        shared[found["step"], found["other"]] = found["pairs"]
        weights = pair_weights(shared)
    step, target = np.nonzero(weights)
    return {"step": step, "target": target, "weight": weights[step, target]}
