"""Conjunctions over soft facts mean one thing everywhere: Łukasiewicz over all of their atoms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import Relaxation, Score
from hornbeam.counting import columns
from hornbeam.counting.columns import GroundClauses, conjoined
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.sql.duckdb_engine import duckdb_engine
from hornbeam.facts.table import ONE
from hornbeam.rules.clause import prior
from hornbeam.rules.rule_model import Rule
from hornbeam.scoring.scored_links import pair_scores
from tests.support.random_rules import Hinge, energy, mean_by_quadrature
from tests.support.rich_worlds import (
    ENTITIES,
    SOFT,
    RichWorld,
    hinges_of,
    pairs_of,
    rich_models,
    rich_worlds,
)

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")

PAIRS = [(subject, "t", object_) for subject in "ab" for object_ in ENTITIES]


def check_state(hinges: list[Hinge], relaxation: Relaxation, state: float, within: float) -> None:
    """A MAP state has the least energy of all states; that of a tie may be any."""
    p = 2 if relaxation is Relaxation.SQUARED else 1
    states = np.append(np.linspace(0, 1, 201), [height for _, height, _ in hinges])
    if relaxation is Relaxation.BOOLEAN:
        states = np.array([0.0, 1.0])
    assert energy(hinges, np.array([state]), p)[0] <= energy(hinges, states, p).min() + within


def check_scores(model: hb.Model, world: RichWorld, engine: Engine) -> None:
    pairs = pairs_of(*PAIRS)
    means, maps = (pair_scores(model, engine, pairs, score) for score in (Score.MEAN, Score.MAP))
    relaxation = model.semantics.relaxation
    for pair, mean, state in zip(PAIRS, means.tolist(), maps.tolist(), strict=True):
        hinges = hinges_of(model, world, pair)
        assert mean == pytest.approx(mean_by_quadrature(hinges, relaxation), abs=1e-9)
        check_state(hinges, relaxation, state, 1e-9)


@given(world=rich_worlds(SOFT), model=rich_models())
@settings(max_examples=30)
def test_scores_are_those_of_the_definition(world: RichWorld, model: hb.Model) -> None:
    check_scores(model, world, MemoryEngine(world.facts, threads=1))


@pytest.mark.slow
@given(world=rich_worlds(SOFT), model=rich_models())
@settings(max_examples=6)
def test_a_database_scores_by_the_definition(world: RichWorld, model: hb.Model) -> None:
    check_scores(model, world, duckdb_engine(world.facts, threads=1))


@pytest.mark.slow
@given(world=rich_worlds(SOFT), model=rich_models())
@settings(max_examples=15)
def test_an_exported_model_infers_what_it_predicts(
    tmp_path_factory: pytest.TempPathFactory, world: RichWorld, model: hb.Model
) -> None:
    # a program has a rule at least
    model = hb.Model((*model.rules, Rule(0.3, prior("t"))), model.semantics)
    folder = tmp_path_factory.mktemp("export") / "program"
    found = hb.infer(model.export(world.facts, pairs_of(*PAIRS), folder), solver="exact")
    states = dict(zip(found.atoms("t"), found.values("t").tolist(), strict=True))
    for pair in PAIRS:
        hinges = hinges_of(model, world, pair)
        check_state(hinges, model.semantics.relaxation, states[pair[0], pair[2]], 1e-4)


def test_beliefs_are_combined_as_facts_are() -> None:
    """Not multiplied: of beliefs m in two other pairs a conjunction has m + m - 1."""
    model = hb.Model.parse(
        '# hornbeam: {"collective": "two-step"}\n'
        "2: believed_t(A, X) & believed_t(Y, B) -> t(A, B)\n"
        "1: p(A, B) -> believed_t(A, B)\n"
    )
    facts = hb.read_facts([("a", "p", "c"), ("d", "p", "b"), ("a", "q", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c"), ("d", "t", "b")])
    believed = 1 / (1 + np.exp(-1.0))
    found = model.explain(facts, ("a", "b"), pairs=pairs)
    [reason] = found.reasons
    assert reason.log_odds == pytest.approx(2 * (2 * believed - 1), abs=1e-5)
    assert model.predict(facts, pairs)["score"][0] == pytest.approx(found.score)


@st.composite
def ground_clauses(draw: st.DrawFn) -> GroundClauses:
    truth = st.sampled_from([1, 300_000, 500_000, 700_000, 999_999, ONE])
    number = st.integers(1, 9)
    rows = draw(st.dictionaries(st.tuples(st.integers(0, 3), truth), number, max_size=12))
    target, truths = np.array(sorted(rows), dtype=np.int32).reshape(-1, 2).T
    return GroundClauses(target, truths, np.array([rows[key] for key in sorted(rows)], np.float64))


@given(one=ground_clauses(), other=ground_clauses(), most=st.sampled_from([1, 3, 1 << 22]))
def test_truths_are_combined_and_numbers_multiply(
    one: GroundClauses, other: GroundClauses, most: int
) -> None:
    wanted = dict[tuple[int, int], float]()
    for target, truth, number in zip(*one, strict=True):
        for also, second, times in zip(*other, strict=True):
            both = int(truth) + int(second) - ONE
            if target == also and both > 0:
                key = int(target), both
                wanted[key] = wanted.get(key, 0.0) + number * times
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MAX_COMBINED", most)
        found = conjoined(one, other)
    rows = zip(found.target.tolist(), found.truth.tolist(), found.number.tolist(), strict=True)
    assert [((target, truth), number) for target, truth, number in rows] == sorted(wanted.items())
