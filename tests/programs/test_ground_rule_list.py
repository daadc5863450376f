"""Ground rules by rule and by atom: figures, values of atoms, and pulls that balance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.programs.ground_rule_list import GroundRuleList, ShownGroundRule
from hornbeam.programs.inference import Inference
from hornbeam.programs.inferred_atoms import InferredAtom, InferredAtoms

NAMES = ("ann", "bob", "cy")
RULES = (
    "2: Knows(A, B) -> Likes(A, B) ^2",
    "1.5: Knows(A, B) & Likes(B, C) -> Likes(A, C)",
    "0.5: Likes(A, B) -> Likes(B, A) ^2",
    "0.7: !Likes(A, B)",
    "1: Likes(A, B) + Likes(B, A) <= 1.2",
    "0.4: Likes(A, +B) = 1.5 ^2",
    "0.3: Likes(A, +B) / 2 >= 0.6",
    "1: Near(A, B, C) -> Likes(A, C)",
)


def write(folder: Path, rules: list[str], values: list[float], options: Any = None) -> Path:  # noqa: ANN401
    """A program of three people, all of whose pairs are targets."""
    pairs = [(a, b) for a in NAMES for b in NAMES]
    knows = [[*pair, str(value)] for pair, value in zip(pairs, values, strict=True)]
    document = {
        "rules": rules,
        "predicates": {
            "Knows/2": {"observations": knows},
            "Near/3": {"observations": [["ann", "bob", "cy"], ["cy", "cy", "bob", "0.5"]]},
            "Likes/2": {
                "targets": [list(pair) for pair in pairs],
                "truth": [["ann", "bob", "1"], ["bob", "cy", "0"], ["cy", "cy", "0.5"]],
            },
        },
        "options": options or {},
    }
    path = folder / "program.json"
    path.write_text(json.dumps(document))
    return path


@contextmanager
def listed(inference: Inference) -> Iterator[GroundRuleList]:
    with inference.listed_rules(texts=False) as connection:
        yield GroundRuleList(InferredAtoms(inference), connection)


@settings(max_examples=40)
@given(
    rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=5, unique=True),
    values=st.lists(st.sampled_from([0.0, 0.3, 0.8, 1.0]), min_size=9, max_size=9),
)
def test_the_pulls_of_the_optimum_balance(
    tmp_path_factory: pytest.TempPathFactory, rules: list[str], values: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("pulls")
    inference = hb.infer(write(folder, rules, values), solver="exact")
    state, potentials = inference.found.state, inference.ground.potentials
    with listed(inference) as ground:
        figures = ground.figures
        assert sum(one.cost or 0.0 for one in figures) == pytest.approx(
            inference.found.objective, abs=1e-6
        )
        assert [one.ground_rules for one in figures] == inference.ground.counts.tolist()
        for variable in range(len(state)):
            pulls = ground.pulls(variable, 1000)
            net = pulls.pull_up - pulls.pull_down
            if state[variable] < 1 - 1e-3:  # else the bound holds it
                assert net - pulls.hold_down <= 1e-2
            if state[variable] > 1e-3:
                assert net + pulls.hold_up >= -1e-2
            # a violated ground rule changes the objective as its pull says
            for one in (*pulls.up, *pulls.down):
                assert one.pull
                assert (one.pull > 0) == (one in pulls.up)
            moved = state.copy()
            # a step far above the solver's tolerance, by which a form may be off its edge
            step = 1e-3 if state[variable] < 0.5 else -1e-3
            moved[variable] += step
            change = potentials.objective(moved) - potentials.objective(state)
            held = pulls.hold_down if step > 0 else pulls.hold_up
            assert change / step == pytest.approx(-net + np.sign(step) * held, abs=3e-2)
            assert pulls.counts == (len(pulls.up), len(pulls.down), 0)


def test_a_ground_rule_shows_its_atoms_with_their_values(tmp_path: Path) -> None:
    rules = [RULES[1], RULES[5], RULES[7]]
    inference = hb.infer(write(tmp_path, rules, [0.8] * 9), solver="exact")
    with listed(inference) as ground:
        for number in range(3):
            shown = ground.ground_rules(number, 0, 100)
            assert len(shown) == inference.ground.counts[number]
            assert {one.rule for one in shown} == {number}
            for one in shown:
                check_distance(one, number)
        all_rules = ground.ground_rules(None, 0, 1000)
        costs = [one.cost for one in all_rules if one.cost is not None]
        assert costs == sorted(costs, reverse=True)
        assert ground.ground_rules(None, 5, 3) == all_rules[5:8]
        assert not ground.violated_constraints(10)


def check_distance(one: ShownGroundRule, number: int) -> None:
    """A distance follows from the values that stand behind the atoms."""
    atoms = [part for part in one.parts if isinstance(part, InferredAtom)]
    values = [atom.value for atom in atoms]
    if number == 0:
        assert one.text.startswith("Knows(")
        assert one.distance == pytest.approx(max(0.0, values[0] + values[1] - 1 - values[2]))
        assert [atom.variable is None for atom in atoms] == [True, False, False]
    elif number == 1:
        assert "+B) = 1.5" in one.text
        assert not atoms  # a sum has no single atoms
    else:
        assert len(atoms[0].arguments) == 3
        assert one.distance == pytest.approx(max(0.0, values[0] - values[1]))


def test_hard_rules_hold_and_tie(tmp_path: Path) -> None:
    rules = [RULES[0], "Likes(A, B) = Likes(B, A) .", "Likes(A, A) <= 0.4 ."]
    values = [1.0 if a <= b else 0.0 for a in NAMES for b in NAMES]
    inference = hb.infer(write(tmp_path, rules, values), solver="exact")
    with listed(inference) as ground:
        atom = ground.atoms.find("Likes", ("ann", "ann"))
        assert atom is not None
        assert atom.value == pytest.approx(0.4)
        assert atom.variable is not None
        pulls = ground.pulls(atom.variable, 10)
        assert [one.pull for one in pulls.up] == [pytest.approx(2 * 2 * 0.6)]
        assert [(one.pull, one.holds, one.text) for one in pulls.down] == [
            (None, True, "Likes('ann', 'ann') <= 0.4")
        ]
        assert not pulls.tied  # Likes('ann', 'ann') = itself says nothing
        other = ground.atoms.find("Likes", ("ann", "bob"))
        assert other is not None
        assert other.variable is not None
        tied = ground.pulls(other.variable, 10).tied
        assert sorted(one.text for one in tied) == [
            "Likes('ann', 'bob') = Likes('bob', 'ann')",
            "Likes('bob', 'ann') = Likes('ann', 'bob')",
        ]
        assert [one.violated for one in ground.figures if one.weight is None] == [0, 0]


def test_the_most_violated_constraints_come_first(tmp_path: Path) -> None:
    rules = ["9: Knows(A, B) -> Likes(A, B)", "Likes(A, +B) <= 1 .", "Likes(A, B) <= 0.9 ."]
    options = {"admmreasoner.maxiterations": "1", "admmreasoner.stepsize": "0.01"}
    path = write(tmp_path, rules, [1.0] * 9, options)
    inference = hb.infer(path, solver="admm")
    with listed(inference) as ground:
        shown = ground.violated_constraints(2)
        assert [one.rule for one in shown] == [1, 1]
        assert shown[0].distance >= shown[1].distance > 0.1
        broken = sum(one.violated for one in ground.figures if one.weight is None)
        assert len(ground.violated_constraints(100)) == broken
        assert ground.ground_rules(None, 0, 2)[0].cost is None


def test_atoms_are_found_by_their_names(tmp_path: Path) -> None:
    inference = hb.infer(write(tmp_path, [RULES[0], RULES[3]], [0.3, 1, 0, 0, 1, 0, 1, 0, 0.8]))
    atoms = InferredAtoms(inference)
    values = dict(zip(inference.atoms("Likes"), inference.values("Likes"), strict=True))
    for pair, value in values.items():
        found = atoms.find("Likes", pair)
        assert found is not None
        assert (found.value, found.arguments) == (value, pair)
        assert found.variable is not None
        assert atoms.target(found.variable) == found
    assert atoms.find("Knows", ("ann", "ann")) == InferredAtom("Knows", ("ann", "ann"), 0.3)
    assert atoms.find("Knows", ("ann", "nobody")) == InferredAtom("Knows", ("ann", "nobody"), 0.0)
    assert atoms.find("Knows", ("ann",)) is None
    assert atoms.find("Hates", ("ann", "bob")) is None
    truth = {one.arguments: one.truth for one in atoms.targets("Likes", "", False, 0, 9)[0]}
    assert {pair: value for pair, value in truth.items() if value is not None} == {
        ("ann", "bob"): 1.0, ("bob", "cy"): 0.0, ("cy", "cy"): 0.5
    }  # fmt: skip
    by_error, total = atoms.targets("", "cy", True, 0, 2)
    assert (total, {one.arguments for one in by_error}) == (5, {("bob", "cy"), ("cy", "cy")})
    by_value = [one.value for one in atoms.targets("", "", False, 0, 9)[0]]
    assert by_value == sorted(values.values(), reverse=True)
    [(name, some, number), *_] = atoms.observed("cy", 2)
    assert (name, len(some), number) == ("Knows", 2, 5)
