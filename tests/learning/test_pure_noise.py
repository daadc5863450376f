"""Where facts say nothing of the target, nothing is learned from them: no leak tells the label."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.choices import Sampling
from hornbeam.errors import HornbeamWarning
from hornbeam.facts.negatives import with_negatives
from hornbeam.learning.boost import Boost
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule
from hornbeam.rules.weighing import Counts, Weighing

Triple = tuple[str, str, str]


def world(
    rng: np.random.Generator, per_drug: int, drugs: int = 300, diseases: int = 60, genes: int = 80
) -> tuple[list[Triple], list[Triple]]:
    """Facts, all drawn at random, and one more target fact of every drug to test with."""
    facts, held_out = list[Triple](), list[Triple]()
    for drug in range(drugs):
        first, *rest = rng.choice(diseases, per_drug + 1, replace=False).tolist()
        held_out.append((f"drug{drug}", "treats", f"disease{first}"))
        facts += [(f"drug{drug}", "treats", f"disease{one}") for one in rest]
        bound = rng.choice(genes, rng.integers(1, 4), replace=False).tolist()
        facts += [(f"drug{drug}", "binds", f"gene{gene}") for gene in bound]
    for disease in range(diseases):
        linked = rng.choice(genes, rng.integers(1, 8), replace=False).tolist()
        facts += [(f"disease{disease}", "associated", f"gene{gene}") for gene in linked]
    return facts, held_out


def fresh_pairs(
    facts: list[Triple], held_out: list[Triple], sampling: Sampling, rng: np.random.Generator
) -> hb.Targets:
    """The held-out pairs, and as many false ones, drawn as in training."""
    drawn = with_negatives(hb.read_facts(facts + held_out), ["treats"], 1.0, sampling, rng=rng)
    false = drawn.select(~drawn.positive)
    rows = rng.permutation(len(false))[: len(held_out)].tolist()
    labels = [(*pair, 1.0) for pair in held_out]
    return hb.read_labels(labels + [(*false.names_at(row)[:3], 0.0) for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize("per_drug", [1, 2])
@pytest.mark.parametrize("sampling", ["typed", "frequency"])
def test_noise_is_no_evidence(sampling: Sampling, per_drug: int) -> None:
    """Guessing has a log-loss of log 2 = 0.693; rules that a leak teaches have far more."""
    losses, weights = [], [0.0]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        facts, held_out = world(rng, per_drug)
        evidence, pairs = hb.read_facts(facts), fresh_pairs(facts, held_out, sampling, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HornbeamWarning)
            model = hb.learn(evidence, target="treats", negative_sampling=sampling, seed=seed)
            losses.append(model.evaluate(evidence, pairs).log_loss)
        weights += [rule.weight for rule in model.rules if not rule.clause.is_prior]
    assert np.mean(losses) <= 0.70
    assert max(losses) <= 0.72
    assert max(weights) <= 0.5


def small_world(seed: int, signal: bool) -> tuple[hb.Facts, hb.Targets]:
    """Random facts and 200 random labels; with `signal` the direct links of p are true, mostly."""
    rng = np.random.default_rng(seed)
    n = 40
    drawn = {
        name: {tuple(pair) for pair in rng.integers(n, size=(300, 2)).tolist()} for name in "pq"
    }
    pairs = {tuple(pair) for pair in rng.integers(n, size=(300, 2)).tolist()}
    if signal:
        pairs |= {tuple(pair) for pair in rng.permutation(sorted(drawn["p"]))[:100].tolist()}
    chosen = rng.permutation(sorted(pairs))[:200].tolist()
    truth = [(tuple(pair) in drawn["p"]) ^ (rng.random() < 0.2) for pair in chosen]
    if not signal:
        truth = (rng.random(len(chosen)) < 0.5).tolist()
    facts = [(f"e{a}", name, f"e{b}") for name in drawn for a, b in sorted(drawn[name])]
    labels = [(f"e{a}", "t", f"e{b}", float(y)) for (a, b), y in zip(chosen, truth, strict=True)]
    return hb.read_facts(facts), hb.read_labels(labels)


def boosted(seed: int, signal: bool, max_rules: int | None = None) -> list[Rule]:
    """The rules of boosted trees in addition to the prior."""
    method = Boost(trees=60, patience=10, max_rules=max_rules, seed=seed)
    language = hb.RuleLimits(max_length=2, min_coverage=5)
    model = hb.learn(*small_world(seed, signal), method=method, language=language)
    return [rule for rule in model.rules if not rule.clause.is_prior]


@pytest.mark.slow
def test_boosting_keeps_the_prior_alone_where_labels_are_random() -> None:
    """The least of many held-out losses is below the prior's by chance: that is no gain."""
    assert sum(bool(boosted(seed, signal=False)) for seed in range(20)) <= 1


@pytest.mark.slow
def test_boosting_finds_the_rule_that_labels_follow() -> None:
    """Counts of at most 1 weigh alike by log and by exists: one rule says both."""
    planted = Body((Step("p"),), "t")
    exists, log = (Clause(planted, False, Weighing(way)) for way in (Counts.EXISTS, Counts.LOG))
    for seed in range(8):
        clauses = [rule.clause for rule in boosted(seed, signal=True, max_rules=3)]
        assert exists in clauses
        assert log not in clauses
        assert len(clauses) <= 3


def mirrored_world(seed: int) -> tuple[hb.Facts, hb.Targets]:
    """Random facts, and random labels of 100 pairs in both directions: a symmetric target."""
    rng = np.random.default_rng(seed)
    n = 40
    facts = {
        (f"e{a}", name, f"e{b}")
        for name in "pq"
        for a, b in rng.integers(n, size=(300, 2)).tolist()
    }
    pairs = {(min(a, b), max(a, b)) for a, b in rng.integers(n, size=(150, 2)).tolist() if a != b}
    labels = [
        (f"e{one}", "t", f"e{other}", y)
        for (a, b), y in zip(sorted(pairs)[:100], rng.integers(2, size=100).tolist(), strict=True)
        for one, other in ((a, b), (b, a))
    ]
    return hb.read_facts(sorted(facts)), hb.read_labels(labels)


@pytest.mark.slow
@pytest.mark.parametrize("method", [hb.Joint(), Boost(trees=60, patience=10)], ids=type)
def test_a_mirrored_label_is_no_evidence_in_another_fold(method: hb.Joint | Boost) -> None:
    """A pair and its mirror image have the same counts and label: in two folds they would leak."""
    language = hb.RuleLimits(max_length=2, min_coverage=5)
    kept = 0
    for seed in range(10):
        model = hb.learn(*mirrored_world(seed), method=method, language=language)
        kept += any(not rule.clause.is_prior for rule in model.rules)
    assert kept <= 2
