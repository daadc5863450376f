"""Charts as SVG text: a few small functions, no library, no script.

Colours come from the page's style sheet by class, so a chart follows light, dark and print. Every
chart carries a title and a description for people who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from hornbeam.base.arrays import Floats

#: Width and height of a chart, and its margins, in its own units; pages scale it.
WIDTH, HEIGHT = 340, 256
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 26, 44
#: Curves with more points are thinned: a screen does not show more distinct points.
POINTS = 400
#: Maximum number of points of a curve with a tooltip.
SPOTS = 25
#: The range of an axis is widened if it is smaller, so that the axis has round ticks.
SMALLEST_RANGE = 1e-300


@dataclass(frozen=True)
class Axis:
    """One axis: its name, its ends, its ticks as (value, text), and whether it is logarithmic."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Position of a value between the ends, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5


@dataclass(frozen=True, eq=False)
class Series:
    """A curve; `style` is its class in the style sheet: "one", "two", "three" or "reference"."""

    x: Floats
    y: Floats
    style: str = "one"
    dots: bool = False


def unit_axis(label: str) -> Axis:
    """Axis from 0 to 1."""
    return Axis(label, 0.0, 1.0, tuple((k / 4, f"{k / 4:g}") for k in range(5)))


def number_axis(label: str, low: float, high: float) -> Axis:
    """Axis with round ticks around the given ends."""
    if high - low < SMALLEST_RANGE:
        low, high = low - 0.5, high + 0.5
    unit = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if (high - low) / (unit * k) <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = tuple((k * step, f"{k * step:,.6g}") for k in range(first, last + 1))
    return Axis(label, ticks[0][0], ticks[-1][0], ticks)


def log_axis(label: str, low: float, high: float) -> Axis:
    """Logarithmic axis with a tick at every power of ten between the ends."""
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return Axis(label, low, high, tuple((10.0**k, f"{10.0**k:g}") for k in powers), True)


def line_chart(
    name: str,
    title: str,
    description: str,
    x_axis: Axis,
    y_axis: Axis,
    series: Sequence[Series],
    *,
    diagonal: bool = False,
    marked: Sequence[tuple[float, str]] = (),
) -> Markup:
    """Draw curves over two axes; `name` is the chart's identifier, unique on a page.

    The `diagonal` is the line of chance or of perfect calibration. `marked` are vertical lines,
    each given by its x and its style.
    """
    parts = [*_frame(x_axis, y_axis)]
    if diagonal:
        parts.append(_line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, TOP, "reference"))
    for x, style in marked:
        at = _x(x_axis, x)
        parts.append(_line(at, HEIGHT - BOTTOM, at, TOP, style))
    for curve in series:
        parts += _curve(curve, x_axis, y_axis)
    return _svg(name, title, description, parts, HEIGHT)


def column_chart(
    name: str,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    columns: Sequence[str],
    groups: Sequence[tuple[str, str, Sequence[float]]],
) -> Markup:
    """Draw vertical bars: in every column one bar per group; a group is (name, style, heights)."""
    highest = max((max(heights, default=0.0) for _, _, heights in groups), default=0.0)
    y_axis = number_axis(y_label, 0.0, highest or 1.0)
    every = max(1, math.ceil(len(columns) / 10))
    ticks = tuple((k + 0.5, text) for k, text in enumerate(columns) if k % every == 0)
    x_axis = Axis(x_label, 0.0, float(len(columns) or 1), ticks)
    parts = [*_frame(x_axis, y_axis, upright=False)]
    slot = (WIDTH - LEFT - RIGHT) / max(len(columns), 1)
    wide = 0.8 * slot / max(len(groups), 1)
    for g, (label, style, heights) in enumerate(groups):
        for k, height in enumerate(heights):
            top = _y(y_axis, height)
            what = f"{label}: " if label else ""
            parts.append(
                _rect(LEFT + k * slot + 0.1 * slot + g * wide, top, wide,
                      HEIGHT - BOTTOM - top, style,
                      f"{what}{height:,.4g} {y_label} at {x_label} {columns[k]}")
            )  # fmt: skip
    parts += _legend([(label, style) for label, style, _ in groups if label])
    return _svg(name, title, description, parts, HEIGHT)


def bar_chart(
    name: str, title: str, description: str, bars: Sequence[tuple[str, float, str]]
) -> Markup:
    """Draw horizontal bars, one per row: (label, value, value as text)."""
    largest = max((value for _, value, _ in bars), default=0.0) or 1.0
    row, parts = 34, list[Markup]()
    for k, (label, value, shown) in enumerate(bars):
        top = 6 + k * row
        parts.append(_text(4, top + 10, label, "start"))
        wide = max(1.0, (WIDTH - 90) * value / largest)
        parts.append(_rect(4, top + 15, wide, 10, "one", f"{label}: {shown}"))
        parts.append(_text(10 + wide, top + 24, shown, "start"))
    return _svg(name, title, description, parts, 10 + row * max(len(bars), 1))


def interval_bar(low: float, value: float, high: float, style: str) -> Markup:
    """Draw an interval of shares, beside a text that says the same in words."""
    return Markup(
        '<svg class="interval" viewBox="0 0 100 10" width="100" height="10" aria-hidden="true">'
        '<rect class="track" y="3" width="100" height="4" rx="2"/>'
        '<rect class="bar {}" x="{:.1f}" y="3" width="{:.1f}" height="4" rx="2"/>'
        '<circle class="dot {}" cx="{:.1f}" cy="5" r="4"/></svg>'
    ).format(style, 4 + 92 * low, 92 * (high - low), style, 4 + 92 * value)


def thinned(x: Floats, y: Floats) -> tuple[list[float], list[float]]:
    """Drop points of a monotone curve that are too close together to be distinguished."""
    if len(x) <= POINTS:
        return x.tolist(), y.tolist()
    span = np.hypot(np.diff(x) / (np.ptp(x) or 1.0), np.diff(y) / (np.ptp(y) or 1.0))
    place = np.floor(np.concatenate([[0.0], np.cumsum(span)]) * POINTS / 2)
    keep = np.append(place[1:] != place[:-1], True)
    keep[0] = True
    return x[keep].tolist(), y[keep].tolist()


def _curve(curve: Series, x_axis: Axis, y_axis: Axis) -> Iterator[Markup]:
    """A line, its dots if it has any, and spots spread over it with their values as tooltips."""
    values = list(zip(*thinned(curve.x, curve.y), strict=True))
    points = [(_x(x_axis, x), _y(y_axis, y)) for x, y in values]
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield Markup('<polyline class="curve {}" points="{}"/>').format(curve.style, text)
    for at in points if curve.dots else ():
        dot = Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="3.5"/>')
        yield dot.format(curve.style, *at)
    if curve.style == "reference":
        return
    shown = {round(k) for k in np.linspace(0, len(values) - 1, min(SPOTS, len(values)))}
    for k in sorted(shown):
        x, y = values[k]
        said = f"{x_axis.label} {x:.3g}, {y_axis.label} {y:.3g}"
        spot = Markup('<circle class="spot" cx="{:.1f}" cy="{:.1f}" r="7" data-say="{}"/>')
        yield spot.format(*points[k], said)


def _x(axis: Axis, value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.share(value)


def _frame(x_axis: Axis, y_axis: Axis, upright: bool = True) -> list[Markup]:
    """Grid, ticks and names of both axes; without `upright` no vertical grid lines."""
    bottom = HEIGHT - BOTTOM
    parts = []
    for value, text in x_axis.ticks:
        at = _x(x_axis, value)
        if upright:
            parts.append(_line(at, TOP, at, bottom, "grid"))
        parts.append(_text(at, bottom + 15, text, "middle"))
    for value, text in y_axis.ticks:
        at = _y(y_axis, value)
        parts.append(_line(LEFT, at, WIDTH - RIGHT, at, "grid"))
        parts.append(_text(LEFT - 6, at + 4, text, "end"))
    parts.append(_line(LEFT, bottom, WIDTH - RIGHT, bottom, "axis"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_axis.label, "middle", "name"))
    parts.append(_text(4, 13, y_axis.label, "start", "name"))
    return parts


def _legend(entries: Sequence[tuple[str, str]]) -> list[Markup]:
    """Names of the groups, at the top right."""
    if len(entries) < 2:
        return []
    parts = []
    at = float(WIDTH - RIGHT)
    for name, style in reversed(entries):
        at -= 6.6 * len(name)
        parts.append(_text(at, 13, name, "start"))
        at -= 16
        parts.append(_rect(at, 6, 11, 7, style))
        at -= 10
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    return Markup(
        '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
    ).format(style, x1, y1, x2, y2)  # fmt: skip


def _rect(x: float, y: float, width: float, height: float, style: str, tooltip: str = "") -> Markup:
    """A bar, with a `tooltip` if that is not empty."""
    hover = Markup(' data-say="{}"').format(tooltip) if tooltip else ""
    return Markup(
        '<rect class="bar {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"{}/>'
    ).format(style, x, y, width, height, hover)


def _text(x: float, y: float, text: str, anchor: str, style: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        style, x, y, anchor, text
    )


def _svg(name: str, title: str, description: str, parts: Sequence[Markup], height: float) -> Markup:
    return Markup(
        '<svg class="chart" role="img" viewBox="0 0 {} {:g}" aria-labelledby="{n}-t {n}-d">'
        '<title id="{n}-t">{}</title><desc id="{n}-d">{}</desc>{}</svg>'
    ).format(WIDTH, height, title, description, Markup("").join(parts), n=escape(name))
