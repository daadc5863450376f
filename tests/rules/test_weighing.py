from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.language.rule_texts import parse_logical_rules
from hornbeam.rules.weighing import MIN_MEDIAN, Counts, Threshold, Weighing


@given(st.floats(MIN_MEDIAN, MAX_NUMBER), st.integers(1, 10**100))
def test_texts_read_back(x: float, n: int) -> None:
    for weighing in (Weighing(Counts.LOG), Weighing(Counts.SHARE, x)):
        for threshold in (Threshold(float(n)), Threshold(x, share=True)):
            text = f"1: p(A, B) {threshold} -> t(A, B) {weighing}"
            [rule] = parse_logical_rules(text, "model.psl")
            assert rule.weighing is not None
            assert Weighing.from_bracket(rule.weighing) == weighing
            assert Threshold.from_bracket(rule.thresholds[0].threshold) == threshold


@pytest.mark.parametrize("median", [0.0, 1e-320, 9e-101, -1.0, math.nan, math.inf])
def test_medians_are_above_zero(median: float) -> None:
    with pytest.raises(
        ValueError, match=r"median of shares is .*; expected a number of at least 1e-100"
    ):
        Weighing(Counts.SHARE, median)


@pytest.mark.parametrize("bound", [0.0, 0.5, 2.5, -1.0, math.nan, math.inf])
def test_thresholds_of_groundings_are_whole(bound: float) -> None:
    with pytest.raises(ValueError, match="expected a whole number of at least 1"):
        Threshold(bound)


@pytest.mark.parametrize("bound", [-0.5, math.nan, math.inf])
def test_thresholds_of_shares_are_no_less_than_zero(bound: float) -> None:
    with pytest.raises(ValueError, match="expected at least 0"):
        Threshold(bound, share=True)
    assert str(Threshold(0, share=True)) == "[share > 0.0]"
