"""Conditions on numbers: their text is read back exactly, and equal meanings merge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.dates import DAYS, date_text, day_number
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.counting.number_counts import holds
from hornbeam.language.syntax import Bound, Operator, Unit
from hornbeam.rules.body import Body, Conjunction, Kind, Part, simplest
from hornbeam.rules.clause import Clause
from hornbeam.rules.model_file import model_text, parse_model
from hornbeam.rules.number_conditions import NumberCondition
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics

OPERATORS = st.sampled_from([Operator.AT_LEAST, Operator.BELOW])
NAMES = st.sampled_from(["year", "a b", "q\"u'o[te] & (A)", "Ärger", "has_year", "t", "1st", "abs"])
FINITE = st.floats(-MAX_NUMBER, MAX_NUMBER).map(lambda number: number + 0.0)


@st.composite
def conditions(draw: st.DrawFn) -> NumberCondition:
    """Comparisons of numbers and of dates, of one argument and of both."""
    minus = draw(st.none() | NAMES)
    dated = draw(st.booleans())
    if dated:
        bound = Bound(float(draw(st.integers(*DAYS))), Unit.DAYS if minus else Unit.DATE)
    else:
        bound = Bound(draw(FINITE | st.sampled_from([0.1 + 0.2, 2.0**53, 0.0, 1e-300, 1990.0])))
    absolute = minus is not None and draw(st.booleans())
    return NumberCondition(draw(NAMES), minus, absolute, draw(OPERATORS), bound)


@given(conditions(), st.integers(0, 1))
def test_the_text_of_a_condition_is_read_back_to_the_bit(
    condition: NumberCondition, argument: int
) -> None:
    body = Body((), "t", Kind.NUMBERS, 0 if condition.absolute else argument, number=condition)
    model = RuleModel((Rule(0.5, Clause(simplest([Part(body)]))),), Semantics())
    text = model_text(model)
    [rule] = parse_model(text, "model").rules
    [part] = rule.clause.body.parts
    assert part.body.number is not None
    assert part.body.number.bound == condition.bound
    assert (rule, model_text(parse_model(text, "model"))) == (model.rules[0], text)


@given(st.lists(st.tuples(OPERATORS, st.integers(-3, 3)), min_size=1, max_size=3))
def test_equal_meanings_merge_and_no_others(tests: list[tuple[Operator, int]]) -> None:
    """What is left of comparisons of one value holds for the same values, and none is needless."""
    given_conditions = [NumberCondition("x", None, False, way, Bound(float(b))) for way, b in tests]
    parts = [Part(Body((), "t", Kind.NUMBERS, 0, number=one)) for one in given_conditions]
    body = simplest(parts)
    left = [part.body.number for part in body.parts]
    values = np.arange(-4.0, 4.5, 0.5)

    def met(some: list[NumberCondition]) -> list[bool]:
        return [all(bool(holds(one, values)[k]) for one in some) for k in range(len(values))]

    kept = [one for one in left if one is not None]
    assert met(kept) == met(given_conditions)
    assert len({one.operator for one in kept}) == len(kept)
    assert isinstance(body, Conjunction) == (len(kept) > 1)


@pytest.mark.parametrize("day", ["0001-01-01", "1900-02-28", "1968-02-29", "1969-12-31"])
def test_dates_before_1970_and_leap_days(day: str) -> None:
    assert date_text(day_number(day)) == day
    assert str(Bound(day_number(day), Unit.DATE)) == day
