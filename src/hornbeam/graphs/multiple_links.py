"""Fractions of pairs that are linked by more than one relation, in train and in held-out facts."""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.ranking_model import LinkedShares


def linked_shares(
    graph: LinkedGraph, subject: Ids | None = None, object_: Ids | None = None
) -> LinkedShares:
    """Fraction of train's pairs with a further link, in either direction, and of held-out pairs."""
    low, high = np.minimum(graph.subject, graph.object), np.maximum(graph.subject, graph.object)
    keys = pair_keys(low, high, graph.n_entities)
    pairs, counts = np.unique(keys, return_counts=True)
    train = float(counts[counts > 1].sum() / max(len(keys), 1))
    if subject is None or object_ is None or not len(subject):
        return LinkedShares(train)
    low, high = np.minimum(subject, object_), np.maximum(subject, object_)
    held = contained(pair_keys(low, high, graph.n_entities), pairs)
    return LinkedShares(train, float(held.mean()))
