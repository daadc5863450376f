"""Columns of all rules at once say exactly what rules say one by one."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import score_mean
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Targets
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from hornbeam.scoring import independent_scores
from hornbeam.scoring.independent_scores import (
    CachedCounts,
    RuleLayout,
    score_targets,
    strengths,
    targets_of,
)
from hornbeam.scoring.proposals import grounded_pairs

BODIES = [
    *(Body((Step(name), Step(name, inverse=True)), "t") for name in "pqrsuv"),
    Body((Step("p"),), "t", Kind.OPEN, 0),
    Body((Step("p"),), "t", Kind.OPEN, 1),
]


def clauses() -> list[Clause]:
    """Several ways of counting side by side, conjunctions, thresholds, priors anywhere."""
    ways = [
        None,
        Weighing(Counts.LOG),
        Weighing(Counts.EXISTS),
        Weighing(Counts.SHARE, 0.3),
        Weighing(Counts.RAW),
        Weighing(Counts.SHARE, 0.7),
    ]
    plain = [
        Clause(body, negated=(j + k) % 3 == 1, weighing=way)
        for j, body in enumerate(BODIES)
        for k, way in enumerate(ways)
        if (j + k) % 2
    ]
    both = Conjunction((Part(BODIES[0]), Part(BODIES[1], Threshold(3))))
    shared = Conjunction((Part(BODIES[2], Threshold(0.4, share=True)),))
    others = [Clause(both), prior("t"), Clause(shared, True, Weighing(Counts.LOG))]
    last = [Clause(prior("t").body), prior("other")]
    return [*plain[:5], *others, *plain[5:], *last]


def model_of(rng: np.random.Generator, semantics: Semantics, on: float = 1.0) -> RuleModel:
    some = clauses()
    weights = rng.random(len(some)) * (rng.random(len(some)) < on)
    return RuleModel(tuple(map(Rule, weights.tolist(), some)), semantics)


def counted_at_random(rng: np.random.Generator, n_targets: int, soft: bool) -> Statistics:
    shape = (len(BODIES), n_targets, 2 if soft else 1)
    path, target, half = np.nonzero(rng.random(shape) < 0.3)
    truth = (ONE - half * ONE // 2).astype(np.int32)
    count, share = rng.integers(1, 9, len(path)), rng.random(len(path))
    return Statistics.of(BODIES, n_targets, path, target.astype(np.int32), truth, count, share)


def pairs_of(n_targets: int) -> Targets:
    zeros, names = np.zeros(n_targets, dtype=np.int32), Names.of(["other", "t"])
    predicate = (np.arange(n_targets) % 5 > 0).astype(np.int32)
    return Targets(Names.of("a"), names, predicate, zeros, zeros)


def one_by_one(model: RuleModel, counted: Statistics, pairs: Targets) -> list[Floats]:
    columns = Columns(counted, model.semantics.relaxation)
    sides = [np.zeros(len(pairs)), np.zeros(len(pairs))]
    for rule in model.rules:
        side = sides[int(rule.clause.negated)]
        if rule.clause.is_prior:
            side[targets_of(rule.clause, pairs)] += rule.weight
        else:
            rows, x = columns.of(rule.clause.body, model.counts_of(rule.clause))
            side[rows] += rule.weight * x
    return sides


@pytest.mark.parametrize("counts", [Counts.RAW, Counts.LOG, Counts.EXISTS])
@pytest.mark.parametrize(
    ("relaxation", "soft"),
    [*((relaxation, False) for relaxation in Relaxation), (Relaxation.BOOLEAN, True)],
)
@pytest.mark.parametrize(("n_targets", "at_once"), [(0, 9), (1, 9), (60, 1 << 20), (60, 50)])
def test_they_add_up_to_the_same_bytes(
    counts: Counts,
    relaxation: Relaxation,
    soft: bool,
    n_targets: int,
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(independent_scores, "MAX_ENTRIES", at_once)
    rng = np.random.default_rng(n_targets)
    semantics = Semantics(counts=counts, relaxation=relaxation)
    counted, pairs = counted_at_random(rng, n_targets, soft), pairs_of(n_targets)
    first = model_of(rng, semantics)
    kept = CachedCounts(first, RuleLayout.of(first, BODIES), counted, pairs)
    for on in (1.0, 0.5, 0.0):
        model = model_of(rng, semantics, on)
        expected = one_by_one(model, counted, pairs)
        for found, side in zip(strengths(model, counted, pairs), expected, strict=True):
            assert found.tolist() == side.tolist()
        scores = score_mean(expected[0], expected[1], relaxation).tolist()
        assert score_targets(model, counted, pairs).tolist() == scores
        assert kept.scores(model.rules).tolist() == scores


@pytest.mark.parametrize("soft", [False, True])
def test_they_know_what_rules_reach(soft: bool) -> None:
    rng = np.random.default_rng(3)
    model = model_of(rng, Semantics(relaxation=Relaxation.LINEAR))
    counted, pairs = counted_at_random(rng, 40, soft), pairs_of(40)
    kept = CachedCounts(model, RuleLayout.of(model, BODIES), counted, pairs)
    pulling = np.array(
        [not rule.clause.is_prior and not rule.clause.negated for rule in model.rules]
    )
    for share_on in (0.05, 0.3):
        chosen = pulling & (rng.random(len(pulling)) < share_on)
        bodies = [model.rules[k].clause.body for k in np.flatnonzero(chosen)]
        grounded = grounded_pairs(counted, bodies).values()
        expected = np.any([np.zeros(40, np.bool_), *grounded], axis=0)
        assert kept.grounded(chosen).tolist() == expected.tolist()


def test_soft_groundings_of_continuous_targets_are_scored_one_by_one() -> None:
    rng = np.random.default_rng(4)
    rules = tuple(Rule(1.0 + k, Clause(body)) for k, body in enumerate(BODIES))
    model = RuleModel(rules, Semantics(relaxation=Relaxation.SQUARED))
    counted, pairs = counted_at_random(rng, 30, soft=True), pairs_of(30)
    kept = CachedCounts(model, RuleLayout.of(model, BODIES), counted, pairs)
    heavier = [Rule(2 * rule.weight, rule.clause) for rule in rules]
    expected = score_targets(model.with_rules(heavier), counted, pairs)
    assert kept.scores(heavier).tolist() == expected.tolist()


def test_a_model_without_rules_says_nothing() -> None:
    counted = counted_at_random(np.random.default_rng(5), 3, soft=False)
    up, down = strengths(RuleModel(()), counted, pairs_of(3))
    assert up.tolist() == down.tolist() == [0.0, 0.0, 0.0]
