"""Charts are well-formed SVG that says in words what it shows, whatever the numbers."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from hornbeam.reporting.charts import (
    POINTS,
    Axis,
    Series,
    bar_chart,
    column_chart,
    interval_bar,
    line_chart,
    log_axis,
    number_axis,
    thinned,
    unit_axis,
)

SVG = "{http://www.w3.org/2000/svg}"
FLOATS = st.floats(-1e6, 1e6)


def parsed(chart: Markup) -> ElementTree.Element:
    """Parse a chart as XML, so that an unescaped letter would show."""
    root = ElementTree.fromstring(str(chart).replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))
    if root.get("role") == "img":
        ids = root.get("aria-labelledby", "").split()
        named = {element.get("id"): element.text for element in root.iter()}
        assert all(named[name] for name in ids)
    assert not root.findall(f".//{SVG}script")
    for element in root.iter():
        assert not [name for name in element.attrib if name == "style" or name.startswith("on")]
    return root


@given(FLOATS, FLOATS)
def test_axes_hold_what_they_were_made_for(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    axis = number_axis("x", low, high)
    slack = 1e-9 * (abs(low) + abs(high) + 1)
    assert axis.low <= low + slack
    assert axis.high >= high - slack
    assert 2 <= len(axis.ticks) <= 8
    assert -slack <= axis.share(low) <= axis.share(high) <= 1 + slack


def test_a_logarithmic_axis_has_powers_of_ten() -> None:
    axis = log_axis("strength", 0.0005, 0.7)
    assert [text for _, text in axis.ticks] == ["0.001", "0.01", "0.1"]
    assert axis.share(0.0005) == 0
    assert axis.share(0.7) == pytest.approx(1)
    assert Axis("x", 1.0, 1.0, ()).share(1.0) == 0.5


@given(st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_a_thinned_curve_keeps_its_ends_and_shape(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.random(n)), np.sort(rng.random(n))
    thin_x, thin_y = thinned(x, y)
    assert len(thin_x) <= POINTS + 2
    if n:
        assert (thin_x[0], thin_y[0], thin_x[-1], thin_y[-1]) == (x[0], y[0], x[-1], y[-1])
        scale_x, scale_y = np.ptp(x) or 1.0, np.ptp(y) or 1.0
        apart = np.hypot(
            (x[:, None] - np.array(thin_x)) / scale_x, (y[:, None] - np.array(thin_y)) / scale_y
        )
        assert apart.min(axis=1).max() <= 2 / POINTS + 1e-9


def test_names_are_escaped_in_every_chart() -> None:
    nasty = '<script>alert(1)</script>"&'
    ends = np.array([0.0, 1.0])
    series = [Series(ends, ends), Series(ends, 1 - ends, "two", dots=True)]
    drawn = [
        line_chart("a", nasty, nasty, unit_axis(nasty), unit_axis(nasty), series, diagonal=True,
                   marked=[(0.5, "mark")]),
        column_chart("b", nasty, nasty, nasty, nasty, [nasty], [(nasty, "one", [1.0])]),
        bar_chart("c", nasty, nasty, [(nasty, 1.0, nasty)]),
    ]  # fmt: skip
    for chart in drawn:
        root = parsed(chart)
        texts = [element.text for element in root.iter()]
        assert nasty in texts
    parsed(interval_bar(0.2, 0.5, 0.9, "one"))


def test_bars_are_as_high_as_their_numbers() -> None:
    root = parsed(column_chart("c", "t", "d", "x", "y", ["a", "b"], [("", "one", [1.0, 3.0])]))
    heights = [float(r.get("height", "0")) for r in root.iter(f"{SVG}rect")]
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.2)


def test_empty_charts_are_charts() -> None:
    for chart in (
        column_chart("c", "t", "d", "x", "y", [], []),
        bar_chart("c", "t", "d", []),
        line_chart("c", "t", "d", unit_axis("x"), unit_axis("y"), []),
    ):
        root = parsed(chart)
        assert [title.text for title in root.iter(f"{SVG}title")] == ["t"]
        assert not [*root.iter(f"{SVG}rect"), *root.iter(f"{SVG}polyline")]
