"""Functional predicates: Python functions and built-in similarities, called once where needed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.programs.similarities import Similarity
from tests.support.commands import hornbeam_

CONSTANTS = ("ann", "anna", "bob")
RULES = (
    "1: Named(A, N) & Named(B, M) & Like(N, M) -> Same(A, B) ^2",
    "2: Like(N, M) & Named(A, N) & Named(B, M) & (A != B) -> !Same(A, B)",
    "1: Named(A, N) & Same(A, B) -> Like(N, 'bob')",
    "1: Same(A, B) & !Like(A, B) -> Same(B, A)",
    "3: Same(A, B) & Like(A, B) & Like(B, A) -> Named(A, B)",
    "Same(A, B) + 0.5 * Like(B, A) <= 1.5 .",
    "1: Same(A, +B) - 2 * Like(A, 'ann') <= 0 ^2",
    "1: Named(A, N) & Like(A, N) -> Named(N, A)",  # no open atom: never called
)
VALUES = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def write_program(folder: Path, rules: list[str], predicates: dict[str, Any]) -> Path:
    path = folder / "program.json"
    path.write_text(json.dumps({"rules": rules, "predicates": predicates}))
    return path


def rows_of(atoms: Mapping[Any, float]) -> list[list[str]]:
    return [[*names, str(value)] for names, value in atoms.items()]


@given(
    st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True),
    st.dictionaries(st.tuples(st.sampled_from(CONSTANTS), st.sampled_from(CONSTANTS)), VALUES),
    st.lists(VALUES, min_size=9, max_size=9),
    st.booleans(),
)
def test_a_function_is_the_table_of_its_values(
    tmp_path_factory: pytest.TempPathFactory,
    rules: list[str],
    named: dict[tuple[str, str], float],
    values: list[float],
    declared: bool,
) -> None:
    folder = tmp_path_factory.mktemp("functions")
    pairs = list(product(CONSTANTS, repeat=2))
    table = dict(zip(pairs, values, strict=True))
    predicates: dict[str, Any] = {
        "Named/2": {"observations": rows_of(named)},
        "Same/2": {"targets": [list(pair) for pair in pairs]},
    }
    like = {"Like/2": {"observations": rows_of(table)}}
    expected = hb.infer(write_program(folder, rules, predicates | like)).ground
    calls = Counter[tuple[str, str]]()

    def function(first: str, second: str) -> float:
        calls[first, second] += 1
        return table[first, second]

    if declared:
        predicates |= {"Like/2": {"function": "org.example.JavaCode"}}
    program = write_program(folder, rules, predicates)
    found = hb.infer(program, functions={"like" if declared else "Like": function}).ground
    assert max(calls.values(), default=1) == 1
    assert found.counts.tolist() == expected.counts.tolist()
    for name in ("indptr", "variable", "coefficient", "constant", "weight", "kind", "rule"):
        assert np.array_equal(getattr(found.potentials, name), getattr(expected.potentials, name))


def people(folder: Path, function: str | None = None, **more: object) -> Path:
    similar = {"function": function} if function else {}
    return write_program(
        folder,
        ["1: Named(A, N) & Named(B, M) & Similar(N, M) & (A != B) -> Same(A, B)", "!Same(A, A) ."],
        {
            "Named/2": {"observations": [["1", "Jon Snow"], ["2", "John Snow"], ["3", "Arya"]]},
            "Similar/2": similar | more,
            "Same/2": {"targets": [[a, b] for a in "123" for b in "123"]},
        },
    )


def test_only_needed_tuples_are_called(tmp_path: Path) -> None:
    calls = []

    def similar(first: str, second: str) -> bool:
        calls.append((first, second))
        return {first, second} == {"Jon Snow", "John Snow"}

    program = hb.read_program(people(tmp_path))
    found = hb.infer(program, functions={"Similar": similar})
    names = ("Jon Snow", "John Snow", "Arya")
    assert sorted(calls) == sorted(pair for pair in product(names, names) if len({*pair}) == 2)
    same = dict(zip(found.atoms("Same"), found.values("Same"), strict=True))
    assert same["1", "2"] == same["2", "1"] == 1.0
    assert same["1", "1"] == 0.0
    assert int(found.ground.counts.sum()) == 5  # the tuples of value 0 make no ground rule


@pytest.mark.parametrize(
    ("name", "expected"),
    [("levenshtein", 8 / 9), ("jaro-winkler", 0.9703704), ("jaccard", 1 / 3)],
)
def test_a_program_names_a_similarity(tmp_path: Path, name: str, expected: float) -> None:
    program = people(tmp_path, name)
    found = hb.infer(program)
    table = found.ground.data.predicates["Similar"].observed
    names = [found.ground.data.names.take(ids) for ids in table.arguments]
    values = dict(zip(zip(*names, strict=True), table.values, strict=True))
    assert values["Jon Snow", "John Snow"] == pytest.approx(expected)
    assert values["Jon Snow", "John Snow"] == values["John Snow", "Jon Snow"]
    shown = hornbeam_("infer", program, "--json")
    assert shown.json["ground_rules"] == int(found.ground.counts.sum())


@pytest.mark.parametrize("similarity", Similarity)
@given(first=st.text(), second=st.text())
def test_similarities_are_from_0_to_1_and_symmetric(
    similarity: Similarity, first: str, second: str
) -> None:
    function = similarity.function
    assert 0.0 <= function(first, second) <= 1.0
    assert function(first, first) == 1.0
    assert function(first, second) == pytest.approx(function(second, first))


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(InputError, match=r"levenshtein.*pip install 'hornbeam\[similarity\]'"):
        hb.read_program(people(tmp_path, "levenshtein"))
    assert hb.infer(people(tmp_path, "jaccard")).found.objective == pytest.approx(0.0)


def fails(first: str, second: str) -> float:
    raise KeyError(first)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: 1.5, r"gave 1\.5 for Similar\('.+', '.+'\); expected a number from 0 to 1"),
        (lambda a, b: -0.1, r"gave -0\.1 for"),
        (lambda a, b: float("nan"), "gave nan for"),
        (lambda a, b: "0.5", "gave '0.5' for"),
        (lambda a, b: None, "gave None for"),
        (fails, r"failed at Similar\('.+', '.+'\): KeyError: '.+'"),
        (lambda a: 1.0, "TypeError"),
        (0.5, "expected a function"),
    ],
)
def test_wrong_values_are_refused(
    tmp_path: Path, function: Callable[..., float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        hb.infer(people(tmp_path), functions={"Similar": function})


def test_wrong_declarations_are_refused(tmp_path: Path) -> None:
    java = people(tmp_path, "org.example.Similarity")
    with pytest.raises(InputError, match=r"org\.example\.Similarity.*levenshtein.*functions="):
        hb.infer(java)
    shown = hornbeam_("infer", java)
    assert shown.code == 2
    assert "jaro-winkler" in shown.stderr
    both = people(tmp_path, "jaccard", observations=[["a", "b"]])
    with pytest.raises(InputError, match=r"program\.json: .*'Similar' has a function and atoms"):
        hb.infer(both)
    with pytest.raises(InputError, match=r"'Named' has a function and atoms"):
        hb.infer(people(tmp_path), functions={"Named": fails})
    for read in (people(tmp_path), hb.read_program(people(tmp_path))):
        with pytest.raises(InputError, match=r"'Simlar', which is no predicate of .*program\.json"):
            hb.infer(read, functions={"Simlar": fails})
    unary = write_program(
        tmp_path, ["1: S(A) & T(A) -> !T(A)"], {"S/1": {"function": "jaccard"}, "T/1": {}}
    )
    with pytest.raises(InputError, match="expected the arity 2"):
        hb.infer(unary)


@pytest.mark.parametrize(
    "rule",
    [
        "1: Similar(A, B) -> Same(A, B)",
        "1: Named(A, N) & Similar(N, M) -> Same(A, A)",
        "Same(A, A) <= Similar(A, B) .",
        "Same(A, A) <= Similar(A, +B) .",
        "Same(A, +B) <= 1 . {B: Similar(A, B)}",
    ],
)
def test_a_function_limits_no_variable(tmp_path: Path, rule: str) -> None:
    declared = {"Named/2": {}, "Similar/2": {"function": "jaccard"}, "Same/2": {"targets": []}}
    with pytest.raises(InputError, match=r"program\.json, line 1, column \d+: "):
        hb.read_program(write_program(tmp_path, [rule], declared))


def test_calls_that_would_explode_are_refused(tmp_path: Path) -> None:
    names = [[str(i), f"name {i}"] for i in range(60)]
    rules = ["1: Named(A, N) & Named(B, M) & Similar(N, M) -> Same(A, B)"]
    predicates = {
        "Named/2": {"observations": names},
        "Similar/2": {"function": "jaccard"},
        "Same/2": {"targets": [[a, b] for a, _ in names for b, _ in names]},
    }
    with pytest.raises(InputError, match="grounding would explode"):
        hb.infer(write_program(tmp_path, rules, predicates), max_ground_rules=1000)


def test_weights_are_learned_with_functions(tmp_path: Path) -> None:
    path = people(tmp_path)
    document = json.loads(path.read_text())
    document["rules"] = [document["rules"][0], "1: !Same(A, B)"]
    pairs = [(a, b) for a in "123" for b in "123"]
    same = [[a, b, str(int({a, b} == {"1", "2"}))] for a, b in pairs]
    document["predicates"]["Same/2"]["truth"] = same
    path.write_text(json.dumps(document))
    functions = {"Similar": lambda a, b: 0.9 if "Snow" in a and "Snow" in b else 0.2}
    called = hb.learn_weights(hb.read_program(path, "learn", functions))
    names = ("Jon Snow", "John Snow", "Arya")
    table = [[a, b, str(functions["Similar"](a, b))] for a in names for b in names]
    document["predicates"]["Similar/2"] = {"observations": table}
    path.write_text(json.dumps(document))
    assert called.rules == hb.learn_weights(path).rules
    assert (called.rules[0].weight or 0.0) > 1.0
