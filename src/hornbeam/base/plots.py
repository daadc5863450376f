"""Figures for notebooks, drawn by matplotlib where it is installed (an optional extra)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hornbeam.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width and height of a plot, in inches; colours for true, for false, and of reference lines.
WIDTH, HEIGHT = 4.2, 3.8
BLUE, RED, GREY = "#2a6fb0", "#c0504d", "#9a9a9a"


def new_figure(columns: int, height: float = HEIGHT, width: float = WIDTH) -> tuple[Figure, Any]:
    """A figure with plots side by side, and their axes; it belongs to no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plotting", "plots") from None
    figure = Figure(figsize=(columns * width, height), layout="constrained")
    axes = figure.subplots(1, columns)
    for axis in axes if columns > 1 else [axes]:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes
