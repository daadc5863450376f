"""The waterfall of an explanation as a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam.base.plots import BLUE, GREY, RED, new_figure
from hornbeam.base.texts import elided, printable
from hornbeam.explaining.waterfall import step_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hornbeam.explaining.waterfall import Waterfall

#: Longest text of a rule beside its bar.
LONGEST = 75
COLOURS = {"for": BLUE, "against": RED, "neutral": GREY}


def waterfall_figure(fall: Waterfall, title: str) -> Figure:
    """A bar per step from the log-odds before it to those after it, and the score at the end."""
    steps = fall.all_steps
    figure, axis = new_figure(1, 1.2 + 0.38 * (len(steps) + 1), 10.0)
    last = len(steps)
    for row, step in enumerate(steps):
        colour = COLOURS[step.side]
        axis.barh(row, step.log_odds, left=step.before, color=colour, height=0.6)
        at = max(step.before, step.after)
        axis.annotate(
            f"{step.log_odds:+.2f}", (at, row), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=8, parse_math=False,
        )  # fmt: skip
        following = row + 1
        axis.plot([step.after] * 2, [row - 0.3, following + 0.3], color=GREY, linewidth=0.8)
    axis.barh(last, fall.total, color=GREY, height=0.6)
    axis.annotate(
        f"{fall.total:+.2f}, score {fall.score:.3f}", (max(fall.total, 0.0), last), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=8,
    )  # fmt: skip
    words = [elided(printable(step_words(step, fall)), LONGEST) for step in steps]
    # dollars in names are no formulas
    axis.set_yticks(range(last + 1), [*words, "together"], fontsize=8, parse_math=False)
    axis.invert_yaxis()
    axis.axvline(0.0, color="black", linewidth=0.8)
    low, high = fall.span
    room = max(high - low, 0.1)
    axis.set_xlim(low - 0.05 * room, high + 0.25 * room)  # room for the figures
    axis.set_xlabel("log-odds")
    axis.set_title(elided(printable(title), LONGEST), parse_math=False)
    return figure
