"""Whoever counts, with however many threads, in whatever order: the same counts and model."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from tests.support.agreement import NamedWorld, differences, learned, read_world, worlds

pytestmark = pytest.mark.slow

WORLDS = tuple(worlds())


def _hold_together(world: NamedWorld) -> None:
    """Every engine, number of threads and order of rows learns the same, to the byte."""
    first = learned(world)
    assert first["counts"]
    assert learned(world.permuted(1), threads=8) == first
    assert learned(world.permuted(2), "duckdb", threads=2) == first


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_engines_threads_and_orders_agree(world: NamedWorld) -> None:
    _hold_together(world)


@pytest.mark.shared
def test_they_agree_on_shared_data(shared_data: Path) -> None:
    fold = shared_data / "srl_uwcse" / "fold0"
    world = read_world("uwcse", fold / "train_observed.tsv", fold / "train.tsv", "ppll")
    _hold_together(world)


def test_what_differs_is_said() -> None:
    one = {"a": learned(WORLDS[3])}
    assert not list(differences(one, copy.deepcopy(one)))
    near, far, counted = (copy.deepcopy(one) for _ in range(3))
    near["a"]["weights"][0] += 1e-11
    assert not list(differences(one, near))
    far["a"]["weights"][0] += 1e-8
    [said] = differences(one, far)
    assert "weighs" in said
    clause = next(iter(counted["a"]["counts"]))
    counted["a"]["counts"][clause][0] += 1
    assert list(differences(one, counted)) == ["a: counts"]
    assert list(differences(one, {})) == ["worlds: ['a']"]
