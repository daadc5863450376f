from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import read_facts
from hornbeam.errors import InputError
from hornbeam.facts.table import Facts
from tests.support.fact_tables import as_dict, as_rows, same_bytes
from tests.support.synthetic import (
    Planted,
    PlantedRule,
    plant_targets,
    planted,
    random_facts,
    write_parquet,
)


def reached(facts: Facts, rule: PlantedRule, start: str) -> set[str]:
    """Entities at the end of the rule's paths, by brute force."""
    edges = list(as_dict(facts))
    here = {start}
    for predicate, inverse in rule.body:
        steps = [(o, s) if inverse else (s, o) for s, p, o in edges if p == predicate]
        here = {o for s, o in steps if s in here}
    return here


def check(data: Planted) -> None:
    """Connections and labels are what the rules say."""
    for i, (subject, _, object_) in enumerate(as_rows(data.labels)):
        assert subject != object_
        for k, rule in enumerate(data.rules):
            assert data.connected[i, k] == (object_ in reached(data.facts, rule, subject))
        positive = [data.connected[i, k] for k, rule in enumerate(data.rules) if rule.positive]
        negative = [data.connected[i, k] for k, rule in enumerate(data.rules) if not rule.positive]
        assert data.ideal[i] == (any(positive) and not any(negative))


@pytest.mark.slow
@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_planted_rules_connect_what_they_claim(seed: int) -> None:
    data = planted(60, 300, 4, 40, seed=seed)
    check(data)
    assert data.connected.any(axis=0).all()
    assert len(set(as_rows(data.labels))) == len(data.labels) == 40


@pytest.mark.slow
def test_given_rules_and_no_noise() -> None:
    rules = [
        PlantedRule((("p0", False), ("p1", True))),
        PlantedRule((("p1", False),), positive=False),
    ]
    data = planted(100, 600, 3, 80, rules=rules, noise=0, seed=4)
    check(data)
    assert data.rules == tuple(rules)
    assert np.array_equal(data.labels.positive, data.ideal)
    assert 0 < data.ideal.sum() < len(data.labels)


def test_noise_turns_labels_round() -> None:
    data = planted(500, 5000, 4, 2000, noise=0.1, seed=0)
    assert 0.07 < np.mean(data.labels.positive != data.ideal) < 0.13


def test_same_seed_same_bytes() -> None:
    one, two, other = planted(seed=1), planted(seed=np.random.default_rng(1)), planted(seed=2)
    assert same_bytes(one.facts, two.facts)
    assert one.rules == two.rules
    assert as_rows(one.labels) == as_rows(two.labels)
    assert np.array_equal(one.labels.truth, two.labels.truth)
    assert not same_bytes(one.facts, other.facts)


@pytest.mark.parametrize(("n_entities", "n_predicates"), [(1, 1), (1000, 11), (100, 70_000)])
def test_parquet_holds_the_same_facts(tmp_path: Path, n_entities: int, n_predicates: int) -> None:
    path = tmp_path / "it's.parquet"
    write_parquet(path, 3000, n_entities, n_predicates, skew=0.5, seed=3)
    facts = random_facts(n_entities, 3000, n_predicates, skew=0.5, seed=3)
    assert same_bytes(read_facts(path), facts)
    assert os.listdir(tmp_path) == [path.name]
    again = tmp_path / "again.parquet"
    write_parquet(again, 3000, n_entities, n_predicates, skew=0.5, seed=3)
    assert again.read_bytes() == path.read_bytes()


def test_tables_equal_what_a_reader_makes_of_them() -> None:
    facts = random_facts(50, 400, 5, seed=0)
    assert same_bytes(read_facts(list(as_dict(facts))), facts)


def test_skew_makes_hubs() -> None:
    even, uneven = (random_facts(1000, 20_000, 2, skew=skew, seed=0) for skew in (0.0, 0.7))
    widest = [int(np.bincount(f.binary.arguments[0]).max()) for f in (even, uneven)]
    assert widest[0] < 60
    assert widest[1] > 200


def test_wrong_sizes_and_rules(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one entity"):
        random_facts(0, 1, 1)
    with pytest.raises(InputError, match="skew"):
        write_parquet(tmp_path / "f.parquet", 1, 1, 1, skew=1.0)
    assert os.listdir(tmp_path) == []
    facts = random_facts(10, 20, 2, seed=0)
    with pytest.raises(InputError, match=r"q\(E1, E2\) -> target\(E1, E2\) connects nothing"):
        plant_targets(facts, [PlantedRule((("q", False),))], 5)
