"""Collective inference against the energy of every ground clause, enumerated."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod, Relaxation, Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.hlmrf.exact import Exact
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts
from hornbeam.scoring import linked_clauses as linked
from hornbeam.scoring.collective_scorer import CollectiveState, as_variables, infer_pairs
from hornbeam.scoring.linked_clauses import weighted
from tests.support.collective_worlds import RELAXATIONS, RULES, Energy, at, chain, models
from tests.support.worlds import World, worlds

MAP = CollectiveMethod.MAP


def inferred(
    rules: Sequence[Rule], world: World, relaxation: Relaxation, distinct: bool = False
) -> CollectiveState:
    return infer_pairs(
        RuleModel(
            tuple(rules),
            Semantics(relaxation=relaxation, collective=MAP, distinct_variables=distinct),
        ),
        MemoryEngine(world.facts, 1),
        world.targets,
    )


@given(worlds(max_facts=7), models(), RELAXATIONS, st.booleans(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_rows_add_up_to_the_energy_of_all_ground_clauses(
    world: World, rules: list[Rule], relaxation: Relaxation, distinct: bool, seed: int
) -> None:
    state = inferred(rules, world, relaxation, distinct)
    energy = Energy(rules, world, relaxation, distinct)
    rng = np.random.default_rng(seed)
    n = len(world.labels)
    for y in (rng.random(n), rng.integers(0, 2, n).astype(np.float64)):
        expected = energy(at(state, y))
        assert state.potentials.objective(y) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(worlds(max_facts=7), models(), st.booleans(), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_counts_by_rule_are_weighed_like_the_rules(
    world: World, rules: list[Rule], distinct: bool, seed: int
) -> None:
    """Counted once, without looking at weights, they serve models of any weights."""
    unweighted = tuple(replace(rule, weight=0.0) for rule in rules)
    semantics = Semantics(collective=MAP, distinct_variables=distinct)
    pairs = as_variables(
        RuleModel(unweighted, semantics), MemoryEngine(world.facts, 1), world.targets
    )
    counted = pairs.count_by_rule(RuleModel(unweighted, semantics))
    assert (counted.weight >= 1).all()
    y = np.random.default_rng(seed).random(len(pairs.atoms))
    for k in range(len(rules)):
        only = RuleModel((*unweighted[:k], rules[k], *unweighted[k + 1 :]), semantics)
        expected = pairs.ground(only).objective(y)
        assert weighted(counted, only).objective(y) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(worlds(max_facts=4), models(longest=4), st.integers(0, 99))
@settings(max_examples=6, deadline=None)
def test_bodies_of_four_atoms(world: World, rules: list[Rule], seed: int) -> None:
    state = inferred(rules, world, Relaxation.LINEAR)
    y = np.random.default_rng(seed).random(len(world.labels))
    expected = Energy(rules, world, Relaxation.LINEAR)(at(state, y))
    assert state.potentials.objective(y) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(worlds(max_facts=7), models(), RELAXATIONS)
@settings(max_examples=25, deadline=None)
def test_the_map_state_is_optimal(world: World, rules: list[Rule], relaxation: Relaxation) -> None:
    state = inferred(rules, world, relaxation)
    assert np.all(state.state[state.linked.stated] == 1.0)
    exact = Exact().solve(state.potentials)
    if not state.linked.stated.any():
        best = exact.objective
        assert state.potentials.objective(state.state) == pytest.approx(best, rel=1e-3, abs=1e-3)
    # whoever stands among the facts is held at 1, and nobody else can improve alone
    own = state.own_scores(Score.MAP)
    for i in np.flatnonzero(~state.linked.stated).tolist():
        moved = state.state.copy()
        moved[i] = own[i]
        better = state.potentials.objective(moved)
        assert state.potentials.objective(state.state) <= better + 2e-3 * (1 + better)


NODES = (np.arange(4000) + 0.5) / 4000


@given(worlds(max_facts=6), models(), RELAXATIONS)
@settings(max_examples=12, deadline=None)
def test_scores_are_conditional_means(
    world: World, rules: list[Rule], relaxation: Relaxation
) -> None:
    state = inferred(rules, world, relaxation)
    scores = state.scores()
    boolean = relaxation is Relaxation.BOOLEAN
    y = np.array([0.0, 1.0]) if boolean else NODES
    assume(len(world.labels) <= 5)
    for k, pair in enumerate(Energy(rules, world, relaxation).pairs):
        i = int(state.linked.place[k])
        shift = np.tile(state.state, (len(y), 1))
        shift[:, i] = y
        potentials = state.potentials
        hinge = np.maximum(potentials.matrix @ shift.T + potentials.constant[:, None], 0.0)
        power = 2 if relaxation is Relaxation.SQUARED else 1
        energy = potentials.weight @ hinge**power
        density = np.exp(energy.min() - energy)
        mean = float(density @ y / density.sum())
        assert scores[k] == pytest.approx(mean, abs=1e-5), pair


@pytest.mark.parametrize("relaxation", list(Relaxation))
def test_support_is_handed_on(relaxation: Relaxation) -> None:
    """No path of facts leads from a to d: only what is believed of other pairs speaks for it."""
    world = chain()
    state = inferred(RULES, world, relaxation)
    value = at(state, state.state)
    assert value["a", "t", "d"] > 0.5
    scores = dict(zip(value, state.own_scores(Score.MEAN), strict=True))
    assert scores["a", "t", "d"] > 0.5
    closed = hb.Model(tuple(RULES), Semantics(relaxation=relaxation))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = closed.predict(world.facts, world.targets)["score"]
    assert alone[world.labels.index((("a", "t", "d"), 0))] < 0.5


def test_labels_of_the_pairs_are_not_looked_at() -> None:
    world = chain()
    told = replace(world, labels=[(pair, 1_000_000) for pair, _ in world.labels])
    one, other = (inferred(RULES, w, Relaxation.LINEAR).scores() for w in (world, told))
    np.testing.assert_array_equal(one, other)


def test_repeated_pairs_and_any_number_of_threads_score_the_same() -> None:
    world = chain()
    twice = replace(world, labels=[*world.labels, *world.labels[:2]])
    semantics = Semantics(relaxation=Relaxation.SQUARED, collective=MAP)
    model = RuleModel(tuple(RULES), semantics)
    single, double = (
        infer_pairs(model, MemoryEngine(w.facts, threads), w.targets).scores()
        for w, threads in ((world, 1), (twice, 2))
    )
    np.testing.assert_array_equal(double[: len(single)], single)
    np.testing.assert_array_equal(double[len(single) :], single[:2])


def test_a_pair_without_groundings_scores_one_half() -> None:
    world = replace(chain(), labels=[*chain().labels, (("x", "u", "y"), 0)])
    for relaxation in Relaxation:
        state = inferred(RULES, world, relaxation)
        assert state.scores()[-1] == 0.5
        assert state.scores(Score.MAP)[-1] == 0.5


def test_a_stated_pair_is_true_for_others_and_no_evidence_for_itself() -> None:
    world = World(
        {("a", "t", "b"): 1_000_000}, [(("a", "t", "b"), 0), (("b", "t", "a"), 0)]
    )  # fmt: skip
    rules = [Rule(2.0, Clause(Body((Step("t", inverse=True),), "t"))), Rule(0.1, prior("t"))]
    for relaxation in Relaxation:
        state = inferred(rules, world, relaxation)
        assert state.linked.stated[state.linked.place].tolist() == [True, False]
        value = at(state, state.state)
        assert value["a", "t", "b"] == 1.0
        assert value["b", "t", "a"] > 0.9
        itself, other = state.scores()
        assert itself < 0.9 < state.scores(Score.MAP)[1]
        assert other > 0.6


def test_what_collective_models_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    world = chain()

    def infer(**changed: object) -> CollectiveState:
        semantics = replace(Semantics(collective=MAP), **changed)  # type: ignore[arg-type]
        return infer_pairs(
            RuleModel(tuple(RULES), semantics), MemoryEngine(world.facts), world.targets
        )

    with pytest.raises(InputError, match="raw counts, not log"):
        infer(counts=Counts.LOG)
    with pytest.raises(InputError, match="`max_fanout`"):
        infer(max_fanout=2)
    monkeypatch.setattr(linked, "MAX_ROWS", 1)
    with pytest.raises(InputError, match="score fewer pairs at a time"):
        infer()


def test_means_of_heads_are_a_fixed_point_for_every_pair() -> None:
    """Pairs that no rule leads to are at rest at once; the others move until they are, too."""
    facts = [(ends[0], "p", ends[1]) for ends in ["ab", "bc", "cd"]]
    pairs = [(ends[0], "t", ends[1]) for ends in ["ab", "bc", "cd", "ac", "bd", "ad", "da"]]
    model = hb.Model.parse(
        '# hornbeam: {"collective": "map-heads"}\n2: p(A, B) & t(B, C) -> t(A, C)\n'
        "1.5: p(A, B) -> t(A, B)\n0.7: !t(A, B)\n"
    )
    state = model.map_state(facts, pairs)
    np.testing.assert_allclose(state.own_scores(Score.MEAN), state.state, atol=1e-5)
    assert state.solved.status.name == "CONVERGED"


def test_rules_for_and_against_heads_meet_where_a_plain_iteration_does() -> None:
    """Heads are moved by their bodies' means alone, up by one rule and down by the other."""
    facts = [("a", "p", "b"), ("b", "p", "c"), ("a", "q", "c"), ("c", "q", "d"), ("c", "r", "d")]
    pairs = [(one, "t", "d") for one in "abc"]
    model = hb.Model.parse(
        '# hornbeam: {"collective": "map-heads"}\n2: p(A, B) & t(B, C) -> t(A, C)\n'
        "3: q(A, B) & t(B, C) -> !t(A, C)\n1.5: r(A, B) -> t(A, B)\n0.7: !t(A, B)\n"
    )

    def mean(pull: float) -> float:
        return float(1 / (1 + np.exp(-pull)))

    c = mean(1.5 - 0.7)
    b = mean(2 * c - 0.7)
    a = mean(2 * b - 3 * c - 0.7)
    np.testing.assert_allclose(model.predict(facts, pairs)["score"], [a, b, c], atol=1e-4)
