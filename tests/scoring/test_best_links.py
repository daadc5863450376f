"""The best links by upper bounds are those that scoring everything finds, ties included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import Ids
from hornbeam.base.choices import Relaxation, Score
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.table import ONE, Facts
from hornbeam.rules.weighing import Counts
from hornbeam.scoring import proposals
from hornbeam.scoring.best_links import BestPairs, ScoreBounds, ScoredPairs
from hornbeam.scoring.proposals import Proposer, subjects_of
from tests.support.kernels import both_ways, kernels_are
from tests.support.rich_worlds import ARITY, ENTITIES, RichWorld, rich_models

Links = list[tuple[int, int, float]]


@dataclass(frozen=True, eq=False)
class LookingUp(Proposer):
    """Looks scores up instead of counting."""

    look_up: Callable[[Ids, Ids], ScoredPairs] = field(kw_only=True)

    def scored(self, start: Ids, end: Ids) -> ScoredPairs:
        return self.look_up(start, end)


class Everything:
    """All pairs that rules reach, scored one by one; says how many of them are asked for."""

    def __init__(self, model: hb.Model, facts: Facts, score: Score) -> None:
        self.score, self.bounds = score, ScoreBounds(model.semantics.relaxation, score)
        self.asked, engine = 0, MemoryEngine(facts, threads=1)
        self.subjects, n = subjects_of(facts, "t"), len(facts.entities)
        known_of = (model, engine, "t", ArgumentTypes(facts))
        proposer = Proposer(*known_of, score=score)
        self.search = LookingUp(*known_of, score=score, look_up=self.score_ids)
        self.margins = proposer.margins
        known = set(zip(*(ends.tolist() for ends in facts.links("t")), strict=True))
        ends = np.arange(n, dtype=np.int32)
        scored = proposer.scored(np.repeat(self.subjects, n), np.tile(ends, len(self.subjects)))
        self.scores = {
            (subject, object_): value
            for subject, object_, value in zip(*(column.tolist() for column in scored), strict=True)
            if (subject, object_) not in known
        }

    def score_ids(self, subject: Ids, object_: Ids) -> ScoredPairs:
        self.asked += len(subject)
        pairs = list(zip(subject.tolist(), object_.tolist(), strict=True))
        reached = np.array([pair in self.scores for pair in pairs], dtype=np.bool_)
        scores = np.array([self.scores[pair] for pair in pairs if pair in self.scores])
        return ScoredPairs(subject[reached], object_[reached], scores)

    def found(self, top: int, per_subject: bool = False) -> Links:
        search = self.search.best_of_each if per_subject else self.search.best_of_all
        best = search(self.subjects, top)
        return list(zip(best.start.tolist(), best.end.tolist(), best.score.tolist(), strict=True))

    def best(self, top: int, per_subject: bool = False) -> Links:
        rows = sorted((-value, *pair) for pair, value in self.scores.items())
        if per_subject:
            of_each = ([row for row in rows if row[1] == s][:top] for s in self.subjects.tolist())
            return [(s, o, -value) for some in of_each for value, s, o in some]
        return [(subject, object_, -value) for value, subject, object_ in rows[:top]]


@st.composite
def crowded(draw: st.DrawFn) -> Everything:
    """Many facts and rules, so that most pairs are reached, and some by several rules.

    One in three has soft facts, and one in three distinct variables.
    """
    soft = draw(st.integers(0, 2)) == 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    atoms = [
        (name, *rng.choice(list(ENTITIES), arity).tolist())
        for name, arity in ARITY.items()
        for _ in range(6)
    ]
    first = draw(rich_models())
    semantics = replace(first.semantics, distinct_variables=draw(st.integers(0, 2)) == 0)
    models = [first, draw(rich_models()), draw(rich_models())]
    rules = [rule for model in models for rule in model.rules]
    if soft or semantics.distinct_variables:  # standardised numbers are refused there
        rules = [rule for rule in rules if first.counts_of(rule.clause).counts is not Counts.Z]
    model = hb.Model(tuple(rules), semantics)
    values = rng.choice([250_000, 500_000, 900_000, ONE], len(atoms)).tolist() if soft else ()
    world = dict(zip(atoms, values, strict=True)) if soft else dict.fromkeys(atoms, ONE)
    return Everything(model, RichWorld(world).facts, draw(scores))


scores = st.sampled_from([Score.MEAN, Score.MEAN, Score.MAP])


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@both_ways
@given(everything=crowded(), top=st.integers(1, 8), per_subject=st.booleans())
@settings(max_examples=30)
def test_they_are_the_best_of_everything(
    compiled: bool, everything: Everything, top: int, per_subject: bool
) -> None:
    with kernels_are(compiled), pytest.MonkeyPatch.context() as patch:
        for first in ("FIRST_PAIRS", "FIRST_OF_EACH"):
            patch.setattr(proposals, first, 0)
        for size in ("MAX_SUBJECTS", "SUBJECTS_OF_EACH"):
            patch.setattr(proposals, size, 2)
        found = everything.found(top, per_subject)
    assert found == everything.best(top, per_subject)


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(everything=crowded())
@settings(max_examples=20)
def test_no_score_is_above_its_bound(everything: Everything) -> None:
    margins, bounds, subjects = everything.margins, everything.bounds, everything.subjects
    subject, object_, margin, _ = margins.above(subjects, -np.inf)
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
    floor = bounds.least_margins(np.array([wanted]), 100.0)[0]
    assert bounds.of(margin)[0] < wanted or margin[0] >= floor


pairs = st.tuples(st.integers(0, 3), st.integers(0, 3))


def pairs_of(scores: dict[tuple[int, int], float]) -> ScoredPairs:
    """Pairs with their scores as arrays."""
    ends = np.array(list(scores), dtype=np.int32).reshape(-1, 2).T
    return ScoredPairs(ends[0], ends[1], np.array(list(scores.values())))


@given(
    st.dictionaries(pairs, st.sampled_from([0.25, 0.5, 0.75]), max_size=8),
    st.integers(1, 5),
    st.sampled_from([0.25, 0.5, 0.75]),
    st.booleans(),
)
def test_exactly_what_would_enter_the_best_may(
    some: dict[tuple[int, int], float], top: int, bound: float, per_subject: bool
) -> None:
    """Also of pairs whose bound is the least score: there subject and object decide."""
    best = BestPairs(top, per_subject).with_pairs(pairs_of(some))
    others = [pair for pair in product(range(4), range(4)) if pair not in some]
    enters = []
    for pair in others:
        after = best.with_pairs(pairs_of({pair: bound})).pairs
        enters.append(pair in set(zip(after.start.tolist(), after.end.tolist(), strict=True)))
    subject, object_ = np.array(others, dtype=np.int32).T
    bounds = np.full(len(others), bound)
    assert best.may_include(bounds, subject, object_).tolist() == enters
    # a subject alone may do what any of its pairs may
    assert (best.may_include(bounds, subject) >= np.array(enters)).all()
    last = np.full(1, 4, dtype=np.int32)  # a subject after all others
    assert best.may_include(bounds[:1], last).all() == (bound > best.least(last)).all()


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


def test_of_every_subject_only_what_may_be_its_best_is_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten subjects with thirty pairs each, of which three have more than one path."""
    paths = [(f"a{i}", "p", f"b{j}") for i in range(10) for j in range(30)]
    known = [(f"a{i}", "t", "old") for i in range(10)]
    strong = [(f"a{i}", "q", f"b{j}") for i in range(10) for j in (3, 9, 27)]
    facts = hb.read_facts([*paths, *known, *strong])
    rules = "1.0: p(A, B) -> t(A, B)\n1.0: q(A, B) -> t(A, B)\n2.0: !t(A, B)\n"
    everything = Everything(hb.Model.parse(rules), facts, Score.MEAN)
    monkeypatch.setattr(proposals, "FIRST_OF_EACH", 0)
    assert everything.found(3, per_subject=True) == everything.best(3, per_subject=True)
    assert everything.asked == 10 * 3 < len(everything.scores)
