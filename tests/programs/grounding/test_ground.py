"""Grounding against trying every substitution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.hlmrf.potentials import PotentialKind
from hornbeam.language.rule_texts import parse_rules
from hornbeam.programs.grounding.ground import GroundProgram, ground
from hornbeam.programs.program_rules import normal_rules
from tests.support.brute_grounding import World, ground_by_brute_force
from tests.support.ground_worlds import ARITHMETIC, LOGICAL, program_data, variables_of, worlds


def grounded(rule: str, world: World) -> GroundProgram:
    closed = [name for name, is_closed in world.closed.items() if is_closed]
    rules = [one for written in parse_rules(rule, "test") for one in normal_rules(written, {})]
    return ground(rules, program_data(world), closed, missing_is_false=True)


@pytest.mark.parametrize("text", LOGICAL + ARITHMETIC)
@settings(max_examples=10)
@given(world=worlds(), seed=st.integers(0, 2**32 - 1))
def test_costs_and_counts_are_those_of_every_substitution(
    text: str, world: World, seed: int
) -> None:
    [rule] = parse_rules(text, "test")
    expected = list(ground_by_brute_force(rule, world))
    program = grounded(text, world)
    potentials, keys = program.potentials, variables_of(world)
    assert potentials.n_variables == len(keys)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        state = rng.random(len(keys)).round(int(rng.integers(3)))
        by_key = dict(zip(keys, state.tolist(), strict=True))
        costs = [one.cost(by_key) for one in expected]
        if rule.weight is None:
            worst = potentials.violations(state).max(initial=0.0)
            assert worst == pytest.approx(max(costs, default=0.0), abs=1e-8)
            assert set(potentials.kind.tolist()) <= {PotentialKind.AT_MOST, PotentialKind.EQUAL}
        else:
            assert potentials.objective(state) == pytest.approx(sum(costs), abs=1e-7)
    sides = 2 if rule.weight is not None and getattr(rule, "relation", None) == "=" else 1
    assert program.counts.sum() == sides * len(expected)
