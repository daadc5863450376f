"""Histograms give the piecewise learner the very weights that the whole table of counts gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hornbeam.base.choices import Relaxation
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.sql.duckdb_engine import duckdb_engine
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.counting.statistics import Histograms, Statistics
from hornbeam.errors import InputError
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import Learner
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.rule_learning import _most_useful, learn_from_histograms, screen_bodies
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.rule_model import Semantics
from hornbeam.rules.weighing import Counts
from tests.support.problems import learned_rules
from tests.support.recorded_progress import RecordedProgress
from tests.support.synthetic import Planted, planted
from tests.support.worlds import World

#: Two hundred bodies: all of them are fitted one by one in most tests.
LANGUAGE = RuleLimits(min_coverage=8)
#: Rows of counts that may come to Python, which is fewer than these bodies have.
ROWS = 1000


@cache
def data() -> Planted:
    """Facts and labels that some of their paths explain."""
    return planted(n_entities=150, n_facts=900, n_predicates=5, n_targets=300, seed=3)


@pytest.fixture(scope="module")
def small() -> tuple[SqlEngine, Histograms]:
    """A discovery that may bring `ROWS` rows of counts to Python, and brings histograms."""
    engine = replace(duckdb_engine(data().facts), max_rows=ROWS)
    found = engine.discover(data().labels, LANGUAGE)
    assert found.statistics is None
    assert found.histograms is not None
    return engine, found.histograms


@pytest.fixture(scope="module")
def whole() -> Statistics:
    found = MemoryEngine(data().facts).discover(data().labels, LANGUAGE).statistics
    assert found is not None
    return found


def test_a_table_too_long_comes_as_histograms(
    small: tuple[SqlEngine, Histograms], whole: Statistics
) -> None:
    histograms, table = small[1], whole
    assert list(histograms.bodies) == list(table.bodies)
    assert histograms.n_rows == len(table.count) > ROWS
    label = data().labels.millionths
    assert label is not None
    for c in range(len(table.bodies)):
        rows, groups = table.column(c), histograms.column(c)
        keys = np.stack([table.count[rows], label[table.target[rows]]])
        distinct, size = np.unique(keys, axis=1, return_counts=True)
        assert (np.stack([histograms.count[groups], histograms.label[groups]]) == distinct).all()
        assert (histograms.size[groups] == size).all()


#: Ways of counting that histograms serve.
OF_COUNTS = (Counts.RAW, Counts.LOG, Counts.EXISTS)
#: All of them and all relaxations with each of two settings, none together twice.
SETTINGS = [
    *((Ppll(), *both) for both in zip(OF_COUNTS, Relaxation, strict=True)),
    *(
        (Ppll(prior_inside=False, length_penalty=0.5), *both)
        for both in zip(OF_COUNTS[1:] + OF_COUNTS[:1], Relaxation, strict=True)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "counts", "relaxation"), SETTINGS)
def test_ppll_learns_the_same_rules(
    small: tuple[SqlEngine, Histograms],
    whole: Statistics,
    counts: Counts,
    relaxation: Relaxation,
    learner: Ppll,
) -> None:
    expected = learned_rules(whole, data().labels, learner, counts, relaxation)
    rules, _ = screen_bodies(small[1], data().labels, learner, counts, relaxation)
    # sums in another order: the last digits of a weight may differ
    assert {rule.clause: rule.weight for rule in rules} == pytest.approx(
        {rule.clause: rule.weight for rule in expected.model.rules}, rel=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("learner", [Joint(strengths=5), Greedy(max_rules=2)])
def test_others_learn_from_what_ppll_keeps_and_say_so(
    small: tuple[SqlEngine, Histograms], learner: Learner
) -> None:
    engine, histograms = small
    progress, counted = RecordedProgress(), list[Body]()

    def count(paths: Sequence[Body]) -> Statistics:
        counted.extend(paths)
        return engine.count(data().labels, paths, LANGUAGE)

    learned = learn_from_histograms(
        histograms, data().labels, learner, (Counts.RAW,), Semantics(), False, count, progress
    )  # fmt: skip
    assert any(
        "too many to hold" in text and f"{learner.name} learns from" in text
        for text in progress.messages
    )
    assert learned.fit.screening is not None
    assert learned.fit.screening.kept == len(counted) < len(histograms.bodies)
    kept = {rule.clause.body for rule in learned.model.rules if not rule.clause.is_prior}
    assert kept <= set(counted)
    assert len(engine.count(data().labels, counted, LANGUAGE).count) <= engine.max_rows


def test_bodies_of_most_gain_are_kept_and_none_without(
    small: tuple[SqlEngine, Histograms],
) -> None:
    _, histograms = small
    gains = np.zeros(len(histograms.bodies))
    gains[[4, 2, 7]] = 1.0, 3.0, -1.0
    rows = [int(histograms.size[histograms.column(c)].sum()) for c in range(len(gains))]
    of_two = replace(histograms, max_rows=rows[2] + rows[4])
    assert _most_useful(replace(histograms, max_rows=sum(rows)), gains) == [2, 4]
    assert _most_useful(of_two, gains) == [2, 4]
    assert _most_useful(replace(of_two, max_rows=of_two.max_rows - 1), gains) == [2]
    with pytest.raises(InputError, match="no body that ppll keeps"):
        _most_useful(replace(of_two, max_rows=rows[2] - 1), gains)


def test_some_bodies_keep_their_groups(small: tuple[SqlEngine, Histograms]) -> None:
    _, histograms = small
    members = np.array([4, 2, 7])
    some = histograms.only(members)
    assert some.bodies == [histograms.bodies[k] for k in members]
    for k, member in enumerate(members.tolist()):
        here, there = some.column(k), histograms.column(member)
        for column in ("count", "label", "size"):
            expected = getattr(histograms, column)[there]
            np.testing.assert_array_equal(getattr(some, column)[here], expected)


def test_conditions_have_histograms_too() -> None:
    language = replace(LANGUAGE, max_length=1, bodies=tuple(Kind)[:4], min_coverage=20)
    table = MemoryEngine(data().facts).discover(data().labels, language).statistics
    engine = replace(duckdb_engine(data().facts), max_rows=1)
    histograms = engine.discover(data().labels, language).histograms
    assert histograms is not None
    assert table is not None
    assert list(histograms.bodies) == list(table.bodies)
    assert {body.kind for body in table.bodies} >= {Kind.PATH, Kind.OPEN}
    size = [histograms.size[histograms.column(c)].sum() for c in range(len(table.bodies))]
    assert size == np.diff(table.indptr).tolist()


@pytest.mark.slow
def test_shares_are_of_what_counts_keep(small: tuple[SqlEngine, Histograms]) -> None:
    """Joint gets shares beside counts; ppll alone would have none to learn from."""
    engine, histograms = small
    ways = (Counts.LOG, Counts.SHARE)
    language = replace(LANGUAGE, shares=True)
    arguments = (Semantics(), False, lambda paths: engine.count(data().labels, paths, language))
    learned = learn_from_histograms(histograms, data().labels, Joint(strengths=5), ways, *arguments)
    assert learned.model.shares
    with pytest.raises(InputError, match="have no shares"):
        learn_from_histograms(histograms, data().labels, Ppll(), (Counts.SHARE,), *arguments)


@pytest.mark.slow
def test_nothing_fits_at_all(small: tuple[SqlEngine, Histograms]) -> None:
    histograms = replace(small[1], max_rows=1)
    with pytest.raises(InputError, match='use `method="ppll"`'):
        learn_from_histograms(
            histograms, data().labels, Joint(), (Counts.RAW,), Semantics(), False,
            lambda paths: pytest.fail("nothing to count"),
        )  # fmt: skip


def test_soft_facts_have_no_histograms() -> None:
    world = World({("a", "p", "b"): 700_000}, [(("a", "t", "b"), 1_000_000)])
    engine = replace(duckdb_engine(world.facts), max_rows=0)
    with pytest.raises(InputError, match="truth values between 0 and 1"):
        engine.discover(world.targets, RuleLimits(1, 1))
