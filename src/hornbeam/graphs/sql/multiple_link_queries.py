"""Fractions of pairs that are linked by more than one relation, counted in a database."""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.graphs.ranking_model import LinkedShares
from hornbeam.graphs.sql.link_tables import LinkTables


def linked_shares(
    tables: LinkTables, facts: int, subject: Ids | None = None, object_: Ids | None = None
) -> LinkedShares:
    """As `hornbeam.graphs.multiple_links` in memory, for a graph of `facts` facts."""
    pairs = (
        "SELECT LEAST(subject, object) AS low, GREATEST(subject, object) AS high, "  # noqa: S608
        f"count(*) AS links FROM {tables.triples} "
        "GROUP BY LEAST(subject, object), GREATEST(subject, object)"
    )
    twice = tables.number(
        "SELECT CAST(coalesce(sum(links), 0) AS BIGINT) AS n "  # noqa: S608
        f"FROM ({pairs}) AS p WHERE links > 1"
    )
    train = float(twice / max(facts, 1))
    if subject is None or object_ is None or not len(subject):
        return LinkedShares(train)
    low, high = np.minimum(subject, object_), np.maximum(subject, object_)
    tables.database.upload("held_pairs", {"low": low, "high": high})
    linked = tables.number(
        f"SELECT count(*) AS n FROM ({pairs}) AS p JOIN held_pairs AS h "  # noqa: S608
        "ON h.low = p.low AND h.high = p.high"
    )
    return LinkedShares(train, float(linked / len(subject)))
