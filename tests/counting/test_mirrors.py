"""Symmetric targets are noticed, and a body and its mirror share one weight."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.opening import open_engine
from hornbeam.facts.known import MIN_EDGES, is_symmetric
from hornbeam.labelled_search import with_mirrors
from hornbeam.learning.count_problem import CountProblem
from hornbeam.rules.body import AnyBody, Kind
from hornbeam.rules.weighing import Counts
from tests.support.dense_counts import dense

LABELS = hb.read_labels([("a", "t", "b", 1.0), ("b", "t", "c", 0.0)])


def chain(n: int, mirrored: int, name: str = "t") -> list[tuple[str, str, str]]:
    """So many edges, of which some have their mirror image."""
    edges = [(f"x{k}", name, f"y{k}") for k in range(n)]
    return edges + [(o, p, s) for s, p, o in edges[:mirrored]]


@pytest.mark.parametrize(
    ("edges", "symmetric"),
    [
        (chain(10, 10), True),
        (chain(9, 9), False),  # 18 edges are too few to judge
        (chain(40, 40), True),
        (chain(40, 39), True),  # 78 of 79
        (chain(40, 20), False),
        (chain(40, 0), False),
        (chain(40, 40, "other"), False),
        ([(f"x{k}", "t", f"x{k}") for k in range(MIN_EDGES)], True),
    ],
)
def test_a_target_is_symmetric_by_its_facts(
    edges: list[tuple[str, str, str]], symmetric: bool
) -> None:
    assert is_symmetric(hb.read_facts([*edges, ("a", "p", "b")]), LABELS) is symmetric


@pytest.mark.parametrize("mirrored", [0, 40])
def test_without_facts_the_true_labels_decide(mirrored: int) -> None:
    facts = hb.read_facts([("a", "p", "b")])
    labels = [(*edge, 1.0) for edge in chain(40, mirrored)]
    # false pairs say nothing
    labels += [(f"y{k}", "t", f"z{k}", 0.0) for k in range(100)]
    assert is_symmetric(facts, hb.read_labels(labels)) is (mirrored == 40)


def test_of_several_targets_none_is() -> None:
    labels = [(*edge, 1.0) for name in "tu" for edge in chain(40, 40, name)]
    assert not is_symmetric(hb.read_facts(chain(40, 40)), hb.read_labels(labels))


def mirrored(found: Discovery, engine: Engine, language: hb.RuleLimits) -> Discovery:
    return with_mirrors(found, lambda bodies: engine.count(found.targets, bodies, language))


def world(seed: int) -> tuple[hb.Facts, hb.Targets]:
    rng = np.random.default_rng(seed)
    facts = {
        (f"e{a}", "pq"[k % 2], f"e{b}") for k, (a, b) in enumerate(rng.integers(0, 12, (60, 2)))
    }
    labels = {
        (f"e{a}", "t", f"e{b}"): float(rng.random() < 0.5) for a, b in rng.integers(0, 12, (30, 2))
    }
    return hb.read_facts(sorted(facts)), hb.read_labels([(*k, y) for k, y in labels.items()])


@pytest.mark.parametrize("kind", [Kind.OPEN, Kind.CHAIN])
@pytest.mark.parametrize("seed", range(5))
def test_every_body_has_its_mirror_counted(seed: int, kind: Kind) -> None:
    """The mirror's count for (a, b) is the body's count for (b, a)."""
    facts, labels = world(seed)
    language = hb.RuleLimits(max_length=2, min_coverage=4, bodies=(Kind.PATH, kind), shares=True)
    engine = open_engine(facts, "memory", 1)
    found = mirrored(hb.counting.discover(engine, labels, language), engine, language)
    assert found.statistics is not None
    bodies = list(found.statistics.bodies)
    assert len(set(bodies)) == len(bodies)
    assert kind in {body.kind for body in bodies}
    assert {body.mirror for body in bodies} == set(bodies)
    swapped = hb.read_pairs([(o, p, s) for s, p, o, *_ in map(labels.names_at, range(len(labels)))])
    order = [
        [*map(swapped.names_at, range(len(swapped)))].index((o, p, s))
        for s, p, o, *_ in map(labels.names_at, range(len(labels)))
    ]
    exchanged = dense(engine.count(swapped, bodies, language))[order]
    matrix = dense(found.statistics)
    for c, body in enumerate(bodies):
        np.testing.assert_array_equal(matrix[:, bodies.index(body.mirror)], exchanged[:, c])
    assert mirrored(found, engine, language) is found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", [Counts.RAW, Counts.LOG, Counts.EXISTS])
def test_tied_columns_are_the_sums_of_a_body_and_its_mirror(way: Counts, seed: int) -> None:
    facts, labels = world(seed)
    language = hb.RuleLimits(max_length=2, min_coverage=4, bodies=(Kind.PATH, Kind.OPEN))
    engine = open_engine(facts, "memory", 1)
    found = mirrored(hb.counting.discover(engine, labels, language), engine, language).statistics
    assert found is not None

    def columns(problem: CountProblem) -> dict[AnyBody, np.ndarray]:
        table = dict[AnyBody, np.ndarray]()
        for k, clause in enumerate(problem.clauses):
            if not clause.is_prior and not clause.negated:
                rows, x = problem.column(k)
                table[clause.body] = np.bincount(rows, x, len(labels))
        return table

    apart = columns(CountProblem.of(found, labels, (way,), symmetric=True, tied=False))
    tied = columns(CountProblem.of(found, labels, (way,), symmetric=True))
    assert set(apart) == set(found.bodies)
    for one in found.bodies:
        assert (one in tied) + (one.mirror in tied) == (2 if one == one.mirror else 1)
    for body, x in tied.items():
        whole = apart[body] if body.mirror == body else apart[body] + apart[body.mirror]
        np.testing.assert_allclose(x, whole)
