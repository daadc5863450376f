"""The list of ground rules against trying every substitution."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.language.arithmetic_rules import rule_variables
from hornbeam.language.rule_texts import parse_rules
from hornbeam.programs.grounding.ground import ground, kind_and_signs
from hornbeam.programs.grounding.listed_rules import SORTED, listed_rules
from hornbeam.programs.program_rules import normal_rules
from tests.support.brute_grounding import Ground, World, ground_by_brute_force
from tests.support.ground_worlds import ARITHMETIC, LOGICAL, program_data, variables_of, worlds


def distances(one: Ground, state: dict[object, float]) -> list[float]:
    """The distances of a ground rule's rows; a weighted equation has two."""
    form = one.constant + sum(c * state[key] for c, key in one.literals)
    kind, signs = kind_and_signs(one.rule)
    return [abs(form) if kind.name == "EQUAL" else max(0.0, sign * form) for sign in signs]


@settings(max_examples=60)
@given(text=st.sampled_from(LOGICAL + ARITHMETIC), world=worlds(), seed=st.integers(0, 2**32 - 1))
def test_the_list_is_that_of_every_substitution(text: str, world: World, seed: int) -> None:
    closed = [name for name, is_closed in world.closed.items() if is_closed]
    rules = [one for rule in parse_rules(text, "test") for one in normal_rules(rule, {})]
    program = ground(rules, program_data(world), closed, missing_is_false=True)
    keys = variables_of(world)
    state = np.random.default_rng(seed).random(len(keys)).round(2)
    by_key: dict[object, float] = dict(zip(keys, state.tolist(), strict=True))
    expected = Counter(
        round(distance, 6)
        for rule in rules
        for one in ground_by_brute_force(rule, world)
        for distance in distances(one, by_key)
    )
    with listed_rules(program, state, closed, missing_is_false=True, texts=True) as connection:
        rows = connection.execute(SORTED).fetchall()
    assert Counter(round(row[2], 6) for row in rows) == expected
    assert len(rows) == program.counts.sum()
    for cost, weight, distance, satisfaction, number, ground_text in rows:
        rule = rules[number - 1]
        assert weight == rule.weight
        assert not np.signbit(distance)
        assert satisfaction == pytest.approx(max(0.0, 1.0 - distance), abs=1e-9)
        if rule.weight is None:
            assert cost is None
        else:
            assert cost == pytest.approx(rule.weight * distance ** (1 + rule.squared), abs=1e-9)
        # its text, read again, is one ground rule of the same distance
        [read] = parse_rules(
            f"{ground_text} ." if weight is None else f"{weight}: {ground_text}", "test"
        )
        assert not rule_variables(read)
        if "|C|" in text:  # PSL counts the constants of a closed predicate before substitution
            continue
        [again] = ground_by_brute_force(read, world)
        assert any(abs(distance - other) < 1e-9 for other in distances(again, by_key))
    costs = [np.inf if row[0] is None and row[2] > 1e-3 else row[0] or 0.0 for row in rows]
    assert costs == sorted(costs, reverse=True)


@settings(max_examples=25)
@given(world=worlds(), seed=st.integers(0, 2**32 - 1), text=st.sampled_from(LOGICAL + ARITHMETIC))
def test_random_variables_and_coefficients_give_the_form(
    world: World, seed: int, text: str
) -> None:
    closed = [name for name, is_closed in world.closed.items() if is_closed]
    rules = [one for rule in parse_rules(text, "test") for one in normal_rules(rule, {})]
    program = ground(rules, program_data(world), closed, missing_is_false=True)
    state, other = np.random.default_rng(seed).random((2, program.potentials.n_variables))
    forms = []
    for values in (state, other):
        with listed_rules(program, values, closed, missing_is_false=True, texts=False) as found:
            rows = found.execute(
                "SELECT rule, arguments, sign(coefficients[1]) AS sign, form, variables, "
                "coefficients FROM listed ORDER BY rule, arguments, sign"
            ).fetchall()
        forms.append([row[3] for row in rows])
    for (_, _, _, _, variables, coefficients), before, after in zip(rows, *forms, strict=True):
        literals = [(v, a) for v, a in zip(variables, coefficients, strict=True) if v >= 0]
        assert literals
        moved = sum(a * (other[v] - state[v]) for v, a in literals)
        assert after - before == pytest.approx(moved, abs=1e-9)


def test_less_memory_than_the_texts_need_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{i:0640d}" for i in range(100)]
    predicates = {
        "P/1": {"observations": [[name, i / 100] for i, name in enumerate(names)]},
        "T/1": {"targets": [[name] for name in names]},
    }
    program = tmp_path / "wide.json"
    rules = ["1: P(A) & T(B) -> T(A)", "0.5: !T(A)"]
    program.write_text(json.dumps({"rules": rules, "predicates": predicates}))
    inference = hb.infer(program)
    written = []
    for memory in ("256MB", "12MB", "1MB"):
        monkeypatch.setattr("hornbeam.programs.grounding.listed_rules.TEXT_MEMORY", memory)
        inference.save_ground_rules(tmp_path / "ground.tsv")
        written.append((tmp_path / "ground.tsv").read_bytes())
    assert written[0] == written[1] == written[2]
    assert written[0].count(b"\n") == 1 + inference.as_dict()["ground_rules"]
