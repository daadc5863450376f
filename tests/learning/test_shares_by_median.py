"""Shares are weighed by the median of their rule's shares."""

from __future__ import annotations

import math

import numpy as np

from hornbeam.counting.columns import ColumnArrays
from hornbeam.learning.body_clauses import shares_by_median
from hornbeam.rules.body import Body, Step
from hornbeam.rules.weighing import Counts, Weighing


def path(predicate: str) -> Body:
    return Body((Step(predicate),), "t")


def test_a_share_of_the_median_weighs_one() -> None:
    """Two columns of one group have one median; without shares above 0 it is 1."""
    bodies = [path("p"), path("q"), path("r")]
    shares = ColumnArrays(
        np.array([0, 2, 3, 4]), np.array([0, 1, 0, 2]), np.array([0.25, 0.75, 4.0, 0.0])
    )
    weighed, scales = shares_by_median(bodies, shares, np.array([0, 0, 2]))
    expected = [math.log2(1 + share / 0.75) for share in (0.25, 0.75, 4.0)]
    assert weighed.x.tolist() == [*np.round(expected, 9).tolist(), 0.0]
    assert weighed.x[1] == 1.0
    assert scales == {
        (Counts.SHARE, body): Weighing(Counts.SHARE, median)
        for body, median in zip(bodies, (0.75, 0.75, 1.0), strict=True)
    }
