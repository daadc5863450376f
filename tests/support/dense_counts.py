"""Counts as a matrix, for comparisons."""

from __future__ import annotations

import numpy as np

from hornbeam.base.arrays import Ints, part_numbers
from hornbeam.counting.statistics import Statistics


def dense(statistics: Statistics) -> Ints:
    """Counts as a (targets, bodies) array; for small tables and 0/1 facts only."""
    table = np.zeros((statistics.n_targets, len(statistics.bodies)), dtype=np.int64)
    table[statistics.target, part_numbers(statistics.indptr)] = statistics.count
    return table
