"""Waterfalls: log-odds add up to the score exactly, however many rules are put together."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import Relaxation
from hornbeam.explaining.reason import Reason
from hornbeam.explaining.waterfall import probability, waterfall, waterfall_bar
from hornbeam.rules.clause import prior
from hornbeam.rules.rule_model import Rule
from tests.support.brute_force import ONE, Triple
from tests.support.random_rules import ReferenceModel, rule_models
from tests.support.worlds import CRISP, SOFT, World, entities_of, worlds

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")

MOST = st.sampled_from([None, 0, 1, 2, 5])


@st.composite
def cases(draw: st.DrawFn) -> tuple[World, ReferenceModel, Triple]:
    """A world of certain or soft facts, a model of the Boolean relaxation, and a pair."""
    world = draw(worlds(draw(st.sampled_from([CRISP, SOFT])), 12))
    drawn = draw(rule_models("t"))
    semantics = replace(drawn.semantics, relaxation=Relaxation.BOOLEAN)
    names = st.sampled_from([*entities_of(world), "unseen"])
    weightless = Rule(0.0, prior("t"))
    return (
        world,
        ReferenceModel((*drawn.rules, weightless), semantics),
        (draw(names), "t", draw(names)),
    )


@given(case=cases(), most=MOST)
def test_log_odds_add_up_to_the_score(
    case: tuple[World, ReferenceModel, Triple], most: int | None
) -> None:
    world, drawn, pair = case
    model = hb.Model(drawn.rules, drawn.semantics)
    found = model.explain(world.facts, pair, paths=0, flip=False)
    fall = found.waterfall(most)
    assert fall is not None
    if all(value == ONE for value in world.values.values()):
        # by the definition: every ground clause adds its weight, negated where its head is
        hinges = drawn.hinges(world.values, pair)
        stated = math.fsum(-weight if negated else weight for weight, _, negated in hinges)
        assert fall.total == pytest.approx(stated, abs=1e-9)
    assert fall.score == pytest.approx(found.score, abs=1e-12)
    steps = fall.all_steps
    assert [step.before for step in steps] == [0.0, *(step.after for step in steps[:-1])]
    for step in steps:
        assert step.after == pytest.approx(step.before + step.log_odds, abs=1e-12)
    assert sorted(one.rule for step in steps for one in step.reasons) == sorted(
        reason.rule for reason in found.reasons
    )
    assert all(reason.is_prior for reason in fall.start.reasons)
    assert most is None or len(fall.steps) <= most + 1


@given(parts=st.lists(st.floats(-50, 50), max_size=8), most=MOST)
@example(parts=[2.2e-313], most=None)
def test_the_total_does_not_depend_on_what_is_put_together(
    parts: list[float], most: int | None
) -> None:
    reasons = [
        Reason(k, "r", 1.0, 1, part, log_odds=part, is_prior=k == 0) for k, part in enumerate(parts)
    ]
    fall = waterfall(reasons, most)
    assert fall is not None
    assert fall.total == math.fsum(parts)
    low, high = fall.span
    assert low <= 0 <= high
    for step in fall.all_steps:
        assert low <= min(step.before, step.after) <= max(step.before, step.after) <= high
        assert "nan" not in waterfall_bar(step, fall)


@pytest.mark.parametrize("relaxation", [Relaxation.LINEAR, Relaxation.SQUARED])
def test_other_relaxations_say_that_there_is_no_sum(relaxation: Relaxation) -> None:
    model = hb.Model.parse("2: p(A, B) -> t(A, B)\n1: !t(A, B)\n")
    model = hb.Model(model.rules, replace(model.semantics, relaxation=relaxation))
    found = model.explain(hb.read_facts([("a", "p", "b")]), ("a", "b"))
    assert found.waterfall() is None
    assert found.as_dict()["waterfall"] is None
    assert "Log-odds are not a sum over rules here" in str(found)
    assert "How the score adds up" not in found._repr_html_()


def test_a_notebook_escapes_what_the_data_say() -> None:
    model = hb.Model.parse("2: p(A, B) -> t(A, B)\n1: !t(A, B)\n")
    page = model.explain(hb.read_facts([("<b>", "p", "&")]), ("<b>", "&"))._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt; t &amp;: score 0.7311" in page
    assert page.count("<svg") == 2


def test_probabilities_of_far_log_odds_are_no_overflow() -> None:
    assert [probability(x) for x in (-1e308, 0.0, 1e308)] == [0.0, 0.5, 1.0]


def test_it_shows_itself_as_lines_and_in_notebooks() -> None:
    rules = hb.Model.parse("2: p(A, B) -> t(A, B)\n1: !t(A, B)\n")
    fall = rules.explain([("<a>", "p", "b")], ("<a>", "b")).waterfall()
    assert fall is not None
    assert "How the score adds up" in str(fall)
    assert "+1.00  0.7311  together" in str(fall)
    # the prior takes the log-odds from 0 to -1, the rule from -1 to 1
    assert [line.count("█") for line in str(fall).splitlines() if "█" in line] == [12, 24]
    shown = fall._repr_html_()
    assert shown.count("<tr>") == 1 + 2 + 1
    assert shown.count('<td style="text-align:left">') == 3 * 4
