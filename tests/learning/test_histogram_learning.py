"""Histograms give the piecewise learner the very weights that the whole table of counts gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.sql.duckdb_engine import duckdb_engine
from hornbeam.errors import InputError
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.histogram_learning import learn_from_histograms, screen
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import learn_rules
from hornbeam.learning.ppll import Ppll
from hornbeam.rules.candidates import Language
from hornbeam.rules.rule_model import Counts, Relaxation, Semantics
from tests.support.synthetic import planted
from tests.support.worlds import World

LANGUAGE = Language(min_coverage=5)
DATA = planted(n_entities=150, n_facts=900, n_predicates=5, n_targets=300, seed=3)


@pytest.fixture(scope="module")
def small():  # noqa: ANN201
    """A discovery that may bring 2,000 rows of counts to Python, and brings histograms."""
    engine = replace(duckdb_engine(DATA.facts), max_rows=2000)
    return engine, engine.discover(DATA.labels, LANGUAGE)


@pytest.fixture(scope="module")
def whole():  # noqa: ANN201
    return MemoryEngine(DATA.facts).discover(DATA.labels, LANGUAGE)


def test_a_table_too_long_comes_as_histograms(small, whole) -> None:  # noqa: ANN001
    found = small[1]
    assert found.statistics is None
    histograms, table = found.histograms, whole.statistics
    assert list(histograms.bodies) == list(table.bodies)
    assert histograms.n_rows == len(table.count) > 2000
    label = DATA.labels.millionths
    for c in range(len(table.bodies)):
        rows, groups = table.column(c), histograms.column(c)
        keys = np.stack([table.count[rows], label[table.target[rows]]])
        distinct, size = np.unique(keys, axis=1, return_counts=True)
        assert (np.stack([histograms.count[groups], histograms.label[groups]]) == distinct).all()
        assert (histograms.size[groups] == size).all()


@pytest.mark.parametrize("counts", list(Counts))
@pytest.mark.parametrize("relaxation", list(Relaxation))
@pytest.mark.parametrize("learner", [Ppll(), Ppll(prior_inside=False, length_penalty=0.5)])
def test_ppll_learns_the_same_rules(small, whole, counts, relaxation, learner) -> None:  # noqa: ANN001
    expected = learn_rules(whole.statistics, DATA.labels, learner, counts, relaxation, Semantics())
    found = screen(small[1].histograms, DATA.labels, learner, counts, relaxation)
    # sums in another order: the last digits of a weight may differ
    assert {rule.clause: rule.weight for rule in found.rules} == pytest.approx(
        {rule.clause: rule.weight for rule in expected.rules}, rel=1e-9
    )


@pytest.mark.parametrize("learner", [Joint(strengths=5), Greedy(max_rules=2)])
def test_others_learn_from_what_ppll_keeps_and_say_so(small, learner) -> None:  # noqa: ANN001
    engine, found = small
    messages = []

    class Told:
        def message(self, text: str) -> None:
            messages.append(text)

        def advance(self, stage: str, done: int, total: int) -> None:
            pass

    counted = []

    def count(paths):  # noqa: ANN001, ANN202
        counted.extend(paths)
        return engine.count(DATA.labels, paths, LANGUAGE)

    learned = learn_from_histograms(
        found.histograms, DATA.labels, learner, Counts.RAW, Relaxation.BOOLEAN, Semantics(),
        False, count, Told(),
    )  # fmt: skip
    name = type(learner).__name__.lower()
    assert any("too many to hold" in text and f"{name} learns from" in text for text in messages)
    assert learned.trace["screening"]["kept"] == len(counted) < len(found.histograms.bodies)
    kept = {rule.clause.body for rule in learned.rules if not rule.clause.is_prior}
    assert kept <= set(counted)
    assert len(engine.count(DATA.labels, counted, LANGUAGE).count) <= engine.max_rows


def test_nothing_fits_at_all(small) -> None:  # noqa: ANN001
    histograms = replace(small[1].histograms, max_rows=1)
    with pytest.raises(InputError, match='use `method="ppll"`'):
        learn_from_histograms(
            histograms, DATA.labels, Joint(), Counts.RAW, Relaxation.BOOLEAN, Semantics(),
            False, lambda paths: pytest.fail("nothing to count"),
        )  # fmt: skip


def test_soft_facts_have_no_histograms() -> None:
    world = World({("a", "p", "b"): 700_000}, [(("a", "t", "b"), 1_000_000)])
    engine = replace(duckdb_engine(world.facts), max_rows=0)
    with pytest.raises(InputError, match="truth values between 0 and 1"):
        engine.discover(world.targets, Language(1, 1))
