"""Conditions on time in rules: their text is read back, and their words say the span."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

import hornbeam as hb
from hornbeam.base.dates import TimeUnit
from hornbeam.errors import DataError, InputError
from hornbeam.language.time_brackets import EVER, TimeCondition
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.rules.rule_words import rule_words, said
from hornbeam.rules.weighing import Counts, Threshold, Weighing

SUFFIX = st.sampled_from(["", "s", "h", "d"])
CONDITIONS = st.one_of(
    st.just(EVER),
    st.builds(TimeCondition, st.just("last"), st.integers(1, 10**9), SUFFIX, st.integers(1, 99)),
    st.builds(TimeCondition, st.just("decay"), st.integers(1, 10**9), SUFFIX),
    st.builds(TimeCondition, st.just("ever"), at_least=st.integers(1, 99)),
)


@given(
    CONDITIONS, CONDITIONS, st.booleans(), st.booleans(),
    st.sampled_from([(0, 0), (0, -1), (1, 0)]),
)  # fmt: skip
def test_rules_over_time_are_read_back(
    first: TimeCondition, second: TimeCondition, inverse: bool, two: bool, afters: tuple[int, int]
) -> None:
    steps = (Step("p q", inverse, when=first), Step("r", when=second))
    path = Body(tuple(replace(s, after=n) for s, n in zip(steps, afters, strict=True)), "t")
    open_one = Body((Step("p q", inverse, when=second),), "t", Kind.OPEN, 1)
    unary = Body((Step("s", arity=1, when=first),), "t", Kind.UNARY)
    parts = (Part(path, Threshold(3)), Part(open_one), Part(unary, Threshold(2)))
    body = Conjunction(parts) if two else path
    clause = Clause(body, inverse, Weighing(Counts.LOG))
    model = hb.Model((Rule(0.5, clause),), Semantics(time=TimeUnit.SECOND))
    again = hb.Model.parse(model.text)
    assert again.rules == model.rules
    assert again.semantics == model.semantics
    assert [Step.along(s.relation, s.inverse) for s in path.steps] == [*path.steps]
    assert path.mirror.mirror == path


WORDS = {
    "v(A, B) [last 30d] -> v(A, B)": "If A v B in the last 30 days, then A v B.",
    "v(A, X) [last 1d, n >= 3] -> v(A, B)": "If A has v 3 or more times in the last 1 day, "
    "then A v B.",
    "v(A, B) [decay 12h] -> v(A, B)": "If A v B lately (half as much every 12 hours), then A v B.",
    "v(A, B) -> !v(A, B)": "If A v B, then not A v B.",
    "v(A, B) & w(B, C) [last 3d] [after v] -> v(A, C)": "If A v B and later B w C in the last 3 "
    "days, then A v C.",
    "v(A, B) [after w] & w(B, C) -> v(A, C)": "If A v B and earlier B w C, then A v C.",
    "v(A, B) [ever, n >= 2] -> v(A, B)": "If A v B 2 or more times, then A v B.",
}


@pytest.mark.parametrize(("text", "words"), WORDS.items())
def test_words_say_the_span(text: str, words: str) -> None:
    model = hb.Model.parse(f'# hornbeam: {{"time": "second"}}\n1: {text}\n')
    assert said(rule_words(model.rules[0].clause)) == words
    assert model.clause_texts == [text.replace("X", "C")]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("p(A, X) & q(X, B) [after r] -> t(A, B)", "line 2, column 14.*no atom beside q"),
        ("p(A, X) & q(X, Y) [after p] & p(Y, B) -> t(A, B)", "names both atoms beside q"),
        ("p(A, X) [after q] & q(X, B) [after p] -> t(A, B)", "each come after the other"),
        ("p(A, X) & q(X, B) [before p] -> t(A, B)", r"\[before p\] is no order; expected \[after"),
        ("p(A, X) & q(X, 'b') [after p] -> t(A, B)", "expected it on a path"),
        ("(p(A, X) & q(X, B)) [after p] -> t(A, B)", "stands behind 2 atoms"),
        ("p(A, X) & q(X, B) [after p] [after p] -> t(A, B)", "or behind another such bracket"),
        ("p(A, X) & q(X, B) -> t(A, B) [after p]", "stands in the head"),
        ("p(A, X) & q(X, B) [after p] -> t(A, B) [share / 0.5]", "shares are for"),
    ],
)
def test_a_wrong_order_is_one_message(rule: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        hb.Model.parse(f'# hornbeam: {{"time": "day"}}\n1: {rule}\n')
    if "head" not in message:
        with pytest.raises(DataError):
            hb.Model.parse(f"1: {rule}\n")


def test_spans_are_those_of_the_facts() -> None:
    assert TimeCondition("last", 2, "d").span(TimeUnit.SECOND) == 172_800
    assert TimeCondition("last", 2, "d").span(TimeUnit.DAY) == 2
    assert TimeCondition("last", 2).span(TimeUnit.STEP) == 2
    for suffix, unit in (("d", TimeUnit.STEP), ("h", TimeUnit.DAY)):
        with pytest.raises(InputError, match="expected"):
            TimeCondition("last", 2, suffix).span(unit)
