"""Mutated inputs: read as defined or refused with one message. `make fuzz` has many more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.robustness.fuzz import CORPUS
from tests.support.mutations import TARGETS, Target, check, mutated, oracle_labels

#: Readers that start a database for every input get fewer.
FEW, MANY = 40, 150


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_mutated_inputs(target: Target, tmp_path: Path) -> None:
    rng = random.Random(15)
    number = MANY if target.name in ("model", "rules", "trace") else FEW
    accepted = sum(check(target, mutated(rng, target), tmp_path) for _ in range(number))
    assert accepted < number


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_is_mutated_is_valid(target: Target, tmp_path: Path) -> None:
    assert check(target, target.seed, tmp_path)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*-*")), ids=lambda path: path.name)
def test_past_findings(path: Path, tmp_path: Path) -> None:
    file = path.name.partition("-")[2]
    [target] = [one for one in TARGETS if one.file == file]
    check(target, path.read_bytes(), tmp_path)


def test_the_oracle_by_hand() -> None:
    assert oracle_labels(b"a\tt\tb\t1\n", "\t") == {("a", "t", "b"): 1.0}
    assert oracle_labels(b'"a,b",t, "c""d" ,0.5\n', ",") == {("a,b", "t", 'c"d'): 0.5}
    for wrong in (b'"a" "b",t,c,1\n', b'"a"b,t,c,1\n', b'"a,t,c,1\n', b"a,t,c\n", b"a,t,,1\n"):
        assert oracle_labels(wrong, ",") is None
    for wrong in (b"a\tt\tb\t2\n", b"a\tt\tb\tx\n", b"a\tt\tb\t1\r\nb\tt\ta\t1\n", b"\xff\n"):
        assert oracle_labels(wrong, "\t") is None
