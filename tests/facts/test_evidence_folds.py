"""What training pairs may see of the target relation: never their own fact, else all alike."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import Ints
from hornbeam.base.choices import Sampling
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.folds import FOLDS, EvidenceFolds, assign_evidence_folds
from hornbeam.facts.known import with_targets
from hornbeam.facts.negatives import origins, with_negatives
from hornbeam.labelled_search import FoldedEvidence
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.rule_model import Semantics
from tests.support.dense_counts import dense
from tests.support.rich_worlds import RichWorld

SEEDS = st.integers(0, 2**32 - 1)
SAMPLINGS = st.sampled_from(get_args(Sampling))
Triple = tuple[str, str, str]


def random_facts(rng: np.random.Generator, symmetric: bool = False) -> list[Triple]:
    """Facts of a target with popular and rare entities, and of another predicate."""
    n = int(rng.integers(5, 12))
    popular = rng.dirichlet(np.full(n, 0.7))
    pairs = {tuple(rng.choice(n, 2, p=popular).tolist()) for _ in range(int(rng.integers(4, 40)))}
    others = {tuple(rng.choice(n, 2).tolist()) for _ in range(20)}
    mirrors = {(b, a) for a, b in pairs} if symmetric else set()
    facts = [(f"e{a}", "t", f"e{b}") for a, b in pairs | mirrors]
    return sorted(facts + [(f"e{a}", "p", f"e{b}") for a, b in others])


def triples(pairs: hb.Targets) -> list[Triple]:
    return [pairs.names_at(i)[:3] for i in range(len(pairs))]


def seen(facts: hb.Facts) -> set[Triple]:
    table = facts.binary
    return set(
        zip(
            facts.entities.take(table.arguments[0]),
            facts.predicates.take(table.predicate),
            facts.entities.take(table.arguments[1]),
            strict=True,
        )
    )


def sampled(
    seed: int, sampling: Sampling, symmetric: bool = False
) -> tuple[list[Triple], EvidenceFolds, Ints]:
    """Facts, their folds with drawn negatives, and what these were drawn from."""
    rng = np.random.default_rng(seed)
    facts = random_facts(rng, symmetric)
    table = hb.read_facts(facts)
    pairs = with_negatives(table, ["t"], 1.0, sampling, rng=rng)
    origin = origins(pairs, sampling, rng)
    return facts, assign_evidence_folds(table, pairs, rng, origin, symmetric), origin


def some_world(seed: int) -> bool:
    """Whether negatives can be had of a random world."""
    facts = random_facts(np.random.default_rng(seed))
    target = [(s, o) for s, p, o in facts if p == "t"]
    subjects, objects = {s for s, _ in target}, {o for _, o in target}
    return len(subjects) * len(objects) > 2 * len(target)


DRAWN = SEEDS.filter(some_world)
IGNORED = pytest.mark.filterwarnings("ignore:only")


@IGNORED
@settings(max_examples=20)
@given(DRAWN, SAMPLINGS, st.booleans())
def test_no_pair_sees_its_own_fact_nor_its_mirror(
    seed: int, sampling: Sampling, symmetric: bool
) -> None:
    _, folds, _ = sampled(seed, sampling, symmetric)
    named, rows = triples(folds.pairs), []
    for mine, facts in folds.views():
        visible = seen(facts)
        rows += mine.tolist()
        for s, p, o in (named[i] for i in mine.tolist()):
            assert (s, p, o) not in visible
            assert not (symmetric and (o, p, s) in visible and (o, p, s) in named)
    assert sorted(rows) == list(range(len(named)))
    assert len(folds.hidden) <= FOLDS


@IGNORED
@settings(max_examples=20)
@given(DRAWN, SAMPLINGS, st.booleans())
def test_negatives_share_the_fold_of_what_they_were_drawn_from(
    seed: int, sampling: Sampling, symmetric: bool
) -> None:
    _, folds, origin = sampled(seed, sampling, symmetric)
    pairs = folds.pairs
    assert pairs.positive[origin].all()
    assert (origin[pairs.positive] == np.flatnonzero(pairs.positive)).all()
    assert (folds.fold == folds.fold[origin]).all()
    kept_subject = pairs.subject == pairs.subject[origin]
    assert (kept_subject | (pairs.object == pairs.object[origin])).all()


@IGNORED
@settings(max_examples=20)
@given(DRAWN, SAMPLINGS, st.booleans())
def test_a_drawn_pair_misses_a_fact_at_each_end_that_has_one(
    seed: int, sampling: Sampling, symmetric: bool
) -> None:
    facts, folds, _ = sampled(seed, sampling, symmetric)
    target = {fact for fact in facts if fact[1] == "t"}
    named = triples(folds.pairs)
    for rows, view in folds.views():
        missing = target - seen(view)
        for pair in (named[i] for i in rows.tolist()):
            for place in (0, 2):
                if any(fact[place] == pair[place] for fact in target):
                    assert any(fact[place] == pair[place] for fact in missing)


@IGNORED
@settings(max_examples=20)
@given(DRAWN, SAMPLINGS)
def test_all_but_the_targets_own_facts_are_seen(seed: int, sampling: Sampling) -> None:
    facts, folds, _ = sampled(seed, sampling)
    others = {fact for fact in facts if fact[1] != "t"}
    for _, view in folds.views():
        assert others <= seen(view) <= set(facts)


@given(SEEDS, st.booleans())
def test_target_facts_that_are_no_training_pair_are_always_seen(seed: int, symmetric: bool) -> None:
    rng = np.random.default_rng(seed)
    facts = random_facts(rng)
    n = 12
    labels = {
        (f"e{a}", "t", f"e{b}"): float(rng.random() < 0.5)
        for a, b in rng.integers(0, n, (15, 2)).tolist()
        if (f"e{a}", "t", f"e{b}") not in facts
    }
    pairs = hb.read_labels([(*pair, y) for pair, y in labels.items()])
    true = {pair for pair, y in labels.items() if y}
    table = with_targets(hb.read_facts(facts), pairs.select(pairs.positive))
    folds = assign_evidence_folds(table, pairs, rng, symmetric=symmetric)
    mirrors = {(o, p, s) for s, p, o in true} if symmetric else set()
    named = triples(pairs)
    for rows, view in folds.views():
        visible = seen(view)
        assert set(facts) - true - mirrors <= visible
        assert visible <= set(facts) | true
        assert not visible & {named[i] for i in rows.tolist()}


def test_new_entities_stay_new() -> None:
    """Where subjects have target facts as training pairs only, a fold hides all of a subject."""
    rng = np.random.default_rng(0)
    labels = [
        (f"film{k}", "t", f"user{u}", float(u % 2))
        for k in range(30)
        for u in rng.choice(40, 4, replace=False).tolist()
    ]
    pairs = hb.read_labels(labels)
    facts = [("film0", "p", "film1")]
    facts += [(f"old{k}", "t", f"user{u}") for k in range(5) for u in range(40)]
    table = with_targets(hb.read_facts(facts), pairs.select(pairs.positive))
    folds = assign_evidence_folds(table, pairs, rng)
    for rows, view in folds.views():
        films = set(pairs.entities.take(pairs.subject[rows]))
        assert not films & {s for s, p, _ in seen(view) if p == "t"}


@pytest.mark.slow
@pytest.mark.parametrize("sampling", get_args(Sampling))
def test_origins_have_the_chances_of_the_drawing(sampling: Sampling) -> None:
    """By Bayes: a true pair is drawn, a coin flipped, and the other end replaced."""
    rng = np.random.default_rng(4)
    facts = hb.read_facts(random_facts(rng))
    pairs = with_negatives(facts, ["t"], 1.0, sampling, rng=rng)
    n, true = len(facts.entities), np.flatnonzero(pairs.positive)
    subject, object_ = pairs.subject, pairs.object
    replacement = []
    for end in (subject[true], object_[true]):
        pools: dict[str, np.ndarray] = {
            "uniform": np.arange(n), "typed": np.unique(end), "frequency": end
        }  # fmt: skip
        pool = pools[sampling]
        replacement.append(np.bincount(pool, minlength=n) / len(pool))
    times = 2000
    draws = np.stack([origins(pairs, sampling, rng) for _ in range(times)])
    for i in np.flatnonzero(~pairs.positive).tolist():
        keeps_subject = (subject[true] == subject[i]) * replacement[1][object_[i]]
        keeps_object = (object_[true] == object_[i]) * replacement[0][subject[i]]
        chance = (keeps_subject + keeps_object) / (keeps_subject + keeps_object).sum()
        share = np.bincount(draws[:, i], minlength=len(pairs))[true] / times
        error = np.sqrt(chance * (1 - chance) / times)
        assert (np.abs(share - chance) <= 5 * error + 1e-12).all()


BODIES = [
    Body((Step("t"),), "t"),
    Body((Step("t", inverse=True),), "t"),
    Body((Step("p"),), "t"),
    Body((Step("t"), Step("t", inverse=True), Step("t")), "t"),
    Body((Step("p"), Step("t")), "t"),
    Body((Step("t"),), "t", Kind.OPEN, 0),
    Body((Step("t", inverse=True),), "t", Kind.OPEN, 1),
]


@IGNORED
@settings(max_examples=20)
@given(DRAWN, SAMPLINGS, st.booleans())
def test_counts_over_folds_are_those_of_each_pair_in_its_own_view(
    seed: int, sampling: Sampling, symmetric: bool
) -> None:
    facts, folds, _ = sampled(seed, sampling, symmetric)
    language = hb.RuleLimits(max_length=3, min_coverage=1, shares=True)
    counted = FoldedEvidence(folds, MemoryEngine(folds.facts, 1), language).count(BODIES)
    shares = np.zeros((len(folds.pairs), len(BODIES)))
    column = np.repeat(np.arange(len(BODIES)), np.diff(counted.indptr))
    assert counted.share is not None
    shares[counted.target, column] = counted.share
    matrix, named = dense(counted), triples(folds.pairs)
    world = RichWorld({(p, s, o): 1_000_000 for s, p, o in facts})
    for i, pair in enumerate(named):
        gone = triples(folds.hidden[int(folds.fold[i])])
        mine = world.without([(p, s, o) for s, p, o in gone])
        for c, body in enumerate(BODIES):
            assert matrix[i, c] == len(mine.groundings(body, pair, Semantics()))
            if body.kind is Kind.PATH:
                assert shares[i, c] == pytest.approx(mine.share(body, pair, Semantics()))


@IGNORED
@settings(max_examples=20)
@given(DRAWN, SAMPLINGS)
def test_candidates_of_all_folds_have_the_sums_of_their_figures(
    seed: int, sampling: Sampling
) -> None:
    _, folds, _ = sampled(seed, sampling)
    language = hb.RuleLimits(max_length=2, min_coverage=2, bodies=(Kind.PATH, Kind.OPEN))
    found = FoldedEvidence(folds, MemoryEngine(folds.facts, 1), language).discover()
    assert found.statistics is not None
    matrix = dense(found.statistics)
    true = folds.pairs.positive
    for k, candidate in enumerate(found.candidates):
        column = matrix[:, list(found.statistics.bodies).index(candidate.body)]
        assert candidate.coverage == (column > 0).sum() >= 2, str(k)
        assert candidate.coverage_true == (column[true] > 0).sum()
        assert candidate.paths == column.sum()


@IGNORED
@settings(max_examples=20)
@given(DRAWN, SAMPLINGS)
def test_several_targets_have_folds_of_their_own(seed: int, sampling: Sampling) -> None:
    """A pair sees all facts of the other target, and of its own what it would see of it alone."""
    rng = np.random.default_rng(seed)
    table = hb.read_facts(random_facts(rng))
    pairs = with_negatives(table, ["t", "p"], 1.0, sampling, rng=rng)
    origin = origins(pairs, sampling, rng)
    assert (pairs.predicate[origin] == pairs.predicate).all()
    assert pairs.positive[origin].all()
    assigned = assign_evidence_folds(table, pairs, rng, origin)
    everything = seen(table)
    for rows, view in assigned.views():
        if not len(rows):
            continue
        [own] = {triple[1] for triple in triples(pairs.select(rows))}
        hidden = everything - seen(view)
        assert {predicate for _, predicate, _ in hidden} <= {own}
        true = rows[pairs.positive[rows]]
        assert set(triples(pairs.select(true))) <= hidden
    assert (assigned.fold[origin] == assigned.fold).all()
