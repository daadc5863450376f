"""Given rules of a program as columns and as hinges: the same likelihood; kept weights stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.ground_rules import (
    adds_up,
    given_number,
    standing_for,
    with_counted_rules,
    with_ground_rules,
)
from hornbeam.learning.hinge_problem import HingeProblem, hinge_problem
from hornbeam.learning.newton import Newton
from hornbeam.rules.weighing import Counts
from tests.support.problems import labels_of, statistics_of

RULES = 3


def ground_rules(rng: np.random.Generator, y: Floats, squared: bool) -> HingeProblem[str]:
    """Hinges of height 1 of three rules, some on both sides of a target, some repeated."""
    size = 4 * len(y)
    return HingeProblem(
        [f"rule {k}" for k in range(RULES)],
        np.ones(RULES, dtype=np.int64),
        np.full(RULES, squared),
        y,
        rng.integers(0, len(y), size),
        rng.integers(0, RULES, size),
        np.ones(size),
        rng.random(size) < 0.5,
        rng.integers(1, 4, size).astype(np.float64),
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([Relaxation.LINEAR, Relaxation.SQUARED]))
def test_columns_and_hinges_have_the_same_likelihood(seed: int, relaxation: Relaxation) -> None:
    rng = np.random.default_rng(seed)
    counts, y = rng.integers(0, 3, (9, 2)), np.tile([0.0, 1.0], 5)[:9]
    statistics, labels = statistics_of(counts), labels_of(y)
    given_rules = ground_rules(rng, y, relaxation is Relaxation.SQUARED)
    assert adds_up(given_rules, relaxation is Relaxation.SQUARED)
    assert not adds_up(given_rules, relaxation is Relaxation.LINEAR)
    clauses = [standing_for(k, "t") for k in range(RULES)]
    assert [given_number(clause) for clause in clauses] == [0, 1, 2]
    fixed = np.array([np.nan, 0.75, np.nan])
    ways = (Counts.RAW,)
    columns = with_counted_rules(
        CountProblem.of(statistics, labels, ways, relaxation), given_rules, clauses, fixed
    )
    hinges = with_ground_rules(
        hinge_problem(statistics, labels, ways, relaxation), given_rules, clauses, fixed
    )
    assert list(columns.clauses) == list(hinges.clauses)
    for problem in (columns, hinges):
        assert problem.is_own.tolist() == [True] * RULES + [False] * (len(columns.clauses) - RULES)
    weights = rng.random(len(columns.clauses))
    assert columns.log_likelihood(weights) == pytest.approx(hinges.log_likelihood(weights))
    np.testing.assert_allclose(columns.gradient(weights), hinges.gradient(weights), atol=1e-7)
    fits = [Newton().fit(problem, 0.0, 0.1).weights for problem in (columns, hinges)]
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-3)
    assert fits[0][1] == fits[1][1] == 0.75
