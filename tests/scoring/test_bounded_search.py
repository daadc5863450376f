"""The best links by upper bounds are those that scoring everything finds, ties included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.arrays import Floats, Ids
from hornbeam.choices import Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.facts.table import ONE, Facts
from hornbeam.rules.rule_model import Relaxation
from hornbeam.scoring import bounded_search
from hornbeam.scoring.bounded_search import ScoreBounds, best_pairs
from hornbeam.scoring.margins import Margins
from hornbeam.scoring.proposals import scored_pairs, subjects_of, target_reach
from tests.support.kernels import both_ways, kernels_are
from tests.support.rich_worlds import ARITY, ENTITIES, RichWorld, rich_models

Links = list[tuple[int, int, float]]


class Everything:
    """All pairs that rules reach, scored one by one; says how many of them are asked for."""

    def __init__(self, model: hb.Model, facts: Facts, score: Score) -> None:
        self.score, self.bounds = score, ScoreBounds(model.semantics.relaxation, score)
        self.asked, engine = 0, MemoryEngine(facts, threads=1)
        self.subjects, reach = subjects_of(facts, "t"), target_reach(model, facts, "t")
        self.margins = Margins(model, facts, engine, reach)
        blocks = scored_pairs(model, facts, engine, reach, self.subjects, score)
        self.scores = {
            (subject, object_): value
            for _, pairs, found in blocks
            for subject, object_, value in zip(
                pairs.subject.tolist(), pairs.object.tolist(), found.tolist(), strict=True
            )
        }

    def exactly(self, subject: Ids, object_: Ids) -> tuple[Ids, Ids, Floats]:
        self.asked += len(subject)
        pairs = list(zip(subject.tolist(), object_.tolist(), strict=True))
        reached = np.array([pair in self.scores for pair in pairs], dtype=np.bool_)
        scores = np.array([self.scores[pair] for pair in pairs if pair in self.scores])
        return subject[reached], object_[reached], scores

    def found(self, top: int) -> Links:
        best = best_pairs(self.margins, self.exactly, self.subjects, top, self.score)
        columns = best.subject.tolist(), best.object.tolist(), best.score.tolist()
        return list(zip(*columns, strict=True))

    def best(self, top: int) -> Links:
        rows = sorted((-value, *pair) for pair, value in self.scores.items())
        return [(subject, object_, -value) for value, subject, object_ in rows[:top]]


@st.composite
def crowded(draw: st.DrawFn) -> Everything:
    """Many facts and rules, so that most pairs are reached, and some by several rules."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    atoms = [
        (name, *rng.choice(list(ENTITIES), arity).tolist())
        for name, arity in ARITY.items()
        for _ in range(6)
    ]
    models = [draw(rich_models()) for _ in range(3)]
    semantics = replace(models[0].semantics, distinct_variables=False)
    model = hb.Model(tuple(rule for model in models for rule in model.rules), semantics)
    return Everything(model, RichWorld(dict.fromkeys(atoms, ONE)).facts, draw(scores))


scores = st.sampled_from([Score.MEAN, Score.MEAN, Score.MAP])


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@both_ways
@given(everything=crowded(), top=st.integers(1, 8))
@settings(max_examples=40)
def test_they_are_the_best_of_everything(compiled: bool, everything: Everything, top: int) -> None:
    with kernels_are(compiled), pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_search, "FIRST_PAIRS", 0)
        patch.setattr(bounded_search, "MOST_SUBJECTS", 2)
        found = everything.found(top)
    assert found == everything.best(top)


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(everything=crowded())
@settings(max_examples=40)
def test_no_score_is_above_its_bound(everything: Everything) -> None:
    margins, bounds, subjects = everything.margins, everything.bounds, everything.subjects
    subject, object_, margin = margins.above(subjects, -np.inf)
    pairs = zip(subject.tolist(), object_.tolist(), strict=True)
    of_pair = dict(zip(pairs, bounds.of(margin).tolist(), strict=True))
    most = bounds.of(margins.most(subjects))
    of_subject = dict(zip(subjects.tolist(), most.tolist(), strict=True))
    for pair, value in everything.scores.items():
        assert value <= of_pair[pair] <= of_subject[pair[0]]


@pytest.mark.parametrize("relaxation", Relaxation)
@pytest.mark.parametrize("score", Score)
@given(up=st.floats(0, 60), down=st.floats(0, 60), wanted=st.floats(0, 1))
def test_a_bound_covers_all_strengths_of_its_margin(
    relaxation: Relaxation, score: Score, up: float, down: float, wanted: float
) -> None:
    closed = {Score.MEAN: score_mean, Score.MAP: score_map}[score]
    bounds = ScoreBounds(relaxation, score)
    margin = np.array([up - down])
    assert bounds.of(margin + 1e-9)[0] >= closed([up], [down], relaxation)[0]
    floor = bounds.least_margin(wanted, 100.0)
    assert bounds.of(margin)[0] < wanted or margin[0] >= floor


def test_what_cannot_be_among_the_best_is_not_scored() -> None:
    """Of 400 subjects, one has three paths; the others' bounds say that they need no counting."""
    crowd = [(f"a{i}", "p", f"b{i % 20}") for i in range(400)]
    known = [(f"a{i}", "t", "old") for i in range(400)]
    rare = [("a7", relation, "new") for relation in ("p", "q", "r")]
    facts = hb.read_facts([*crowd, *known, *rare])
    rules = "".join(f"1.0: {name}(A, B) -> t(A, B)\n" for name in "pqr")
    everything = Everything(hb.Model.parse(rules + "2.0: !t(A, B)\n"), facts, Score.MEAN)
    assert everything.found(1) == everything.best(1)
    assert everything.asked <= 2 < len(everything.scores)
