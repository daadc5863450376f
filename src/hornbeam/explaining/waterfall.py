r"""How the log-odds of a score add up: from the prior, rule by rule, to the total.

Under the Boolean relaxation a pair with strengths A = sum w n+ and B = sum w n- scores

    P(y = 1) = 1 / (1 + exp(-(A - B))),

so its log-odds A - B are the sum of what its rules add. Other relaxations, and pairs that are
inferred together, have no such sum; their reasons say how far the score moves without each rule.

A waterfall shows itself as text and as HTML. The colours of its bars are in their SVG, for
notebooks; the style sheet of a page may change them by class. Blue is for and orange against, which
are distinct without seeing red and green.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hornbeam.base.plots import BLUE, GREY, RED, new_figure
from hornbeam.base.result_table import html_table
from hornbeam.base.texts import elided, printable
from hornbeam.explaining.reason import Reason, by_strength
from hornbeam.rules.rule_words import said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The colour of each side, on a light background.
COLOURS = {"for": "#1f5fa8", "against": "#a8500f", "neutral": "#55615b"}
#: Width of a bar in units of its SVG, which pages stretch, and in characters of a terminal.
SVG_WIDTH, TEXT_WIDTH = 100.0, 24
#: The colours of a plot, and the longest text of a rule beside its bar there.
PLOT_COLOURS, LONGEST = {"for": BLUE, "against": RED, "neutral": GREY}, 75


@dataclass(frozen=True)
class WaterfallStep:
    """What some rules add to the log-odds: one rule, or the rest of them together.

    `before` and `after` are the log-odds on either side of the step.
    """

    reasons: tuple[Reason, ...]
    log_odds: float
    before: float
    after: float

    @property
    def probability(self) -> float:
        """The score by all rules so far."""
        return probability(self.after)

    @property
    def side(self) -> str:
        """Whether it is "for" or "against" the pair, or "neutral"."""
        return "for" if self.log_odds > 0 else "against" if self.log_odds < 0 else "neutral"

    def as_dict(self) -> dict[str, Any]:
        """For JSON; rules by their indices in the model."""
        return {
            "rules": [reason.index for reason in self.reasons],
            "log_odds": self.log_odds,
            "after": self.after,
            "score": self.probability,
        }


@dataclass(frozen=True)
class Waterfall:
    """The steps from log-odds of 0 to those of the score."""

    #: The prior: where every pair starts. Without a prior it adds nothing, and the score is 0.5.
    start: WaterfallStep
    steps: tuple[WaterfallStep, ...]  #: rules with groundings for the pair, the strongest first
    #: The weaker ones together, if there are more than requested.
    rest: WaterfallStep | None

    @property
    def total(self) -> float:
        """The log-odds of the score."""
        return self.all_steps[-1].after

    @property
    def score(self) -> float:
        """The score with these log-odds."""
        return probability(self.total)

    @property
    def all_steps(self) -> tuple[WaterfallStep, ...]:
        """The start, the steps and the rest."""
        rest = () if self.rest is None else (self.rest,)
        return (self.start, *self.steps, *rest)

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest log-odds on the way, 0 among them."""
        on_the_way = [0.0, *(step.after for step in self.all_steps)]
        return min(on_the_way), max(on_the_way)

    def place(self, log_odds: float) -> float:
        """Position of log-odds in the span, from 0 to 1."""
        low, high = self.span
        return (log_odds - low) / (high - low) if high > low else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "start": self.start.as_dict(),
            "steps": [step.as_dict() for step in self.steps],
            "rest": None if self.rest is None else self.rest.as_dict(),
            "total": self.total,
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """The steps from the prior to the score as text, each with its role and its bar."""
        yield "heading", "How the score adds up"
        yield "note", "  log-odds   score"
        for step in self.all_steps:
            figures = f"  {step.log_odds:+8.2f}  {step.probability:6.4f}"
            yield step.side, f"{figures}  {self._bar(step):{TEXT_WIDTH}}  {step_words(step, self)}"
        yield "total", f"  {self.total:+8.2f}  {self.score:6.4f}  together"

    def _bar(self, step: WaterfallStep) -> str:
        """A step as a bar of characters, between the least and the greatest log-odds."""
        ends = sorted((step.before, step.after))
        first, last = (round(TEXT_WIDTH * self.place(end)) for end in ends)
        first = min(first, TEXT_WIDTH - 1)
        return " " * first + "█" * max(last - first, 1)

    def __str__(self) -> str:
        return "\n".join(line for _, line in self.lines())

    def _repr_html_(self) -> str:
        columns = ["adds to the log-odds", "", "score so far", "rule"]
        rows: list[tuple[str, ...]] = [
            (
                f"{step.log_odds:+.2f}",
                waterfall_bar(step, self),
                f"{step.probability:.4f}",
                step_words(step, self),
            )
            for step in self.all_steps
        ]
        rows.append((f"{self.total:+.2f}", "", f"{self.score:.4f}", "together"))
        return html_table("How the score adds up", columns, rows)


def waterfall(reasons: Sequence[Reason], most: int | None = None) -> Waterfall | None:
    """The waterfall of reasons; None if one of them has no log-odds.

    `most` is the number of rules that get a step of their own.

    Examples
    --------
    >>> prior = Reason(0, "!t(A, B)", 1.0, 1, -0.1, log_odds=-1.0, is_prior=True)
    >>> rule = Reason(1, "p(A, B) -> t(A, B)", 2.0, 2, 0.5, log_odds=4.0)
    >>> fall = waterfall([rule, prior])
    >>> [step.after for step in fall.all_steps], round(fall.score, 3)
    ([-1.0, 3.0], 0.953)
    """
    if any(reason.log_odds is None for reason in reasons):
        return None
    priors = tuple(reason for reason in reasons if reason.is_prior)
    others = sorted((reason for reason in reasons if not reason.is_prior), key=by_strength)
    # a rest of one rule would take as much space as the rule itself
    shown = len(others) if most is None or len(others) <= most + 1 else most
    groups = [priors, *((reason,) for reason in others[:shown])]
    rest = tuple(others[shown:])
    steps, before, so_far = list[WaterfallStep](), 0.0, list[float]()
    for group in [*groups, rest] if rest else groups:
        own = [reason.log_odds for reason in group if reason.log_odds is not None]
        so_far += own
        # sums are rounded once, so that they do not depend on the order of the rules
        after = math.fsum(so_far)
        steps.append(WaterfallStep(group, math.fsum(own), before, after))
        before = after
    last = steps.pop() if rest else None
    return Waterfall(steps[0], tuple(steps[1:]), last)


def step_words(step: WaterfallStep, fall: Waterfall) -> str:
    """The caption of a step of a waterfall."""
    if step is fall.start and not step.reasons:
        return "no prior: every pair starts at 0.5"
    if step is fall.rest:
        return f"{len(step.reasons):,} weaker rules together"
    return printable(" ".join(said(reason.words) for reason in step.reasons))


def waterfall_bar(step: WaterfallStep, fall: Waterfall) -> Markup:
    """A step as a small SVG; the vertical line is at log-odds 0, a score of 0.5."""
    ends = sorted((step.before, step.after))
    first, last, zero = (1 + (SVG_WIDTH - 2) * fall.place(end) for end in (*ends, 0.0))
    return Markup(
        f'<svg class="waterfall-bar" viewBox="0 0 {SVG_WIDTH:g} 12" preserveAspectRatio="none" '
        'width="160" height="12" aria-hidden="true" focusable="false">'
        f'<line class="zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="12" stroke="#9aa39e" '
        'vector-effect="non-scaling-stroke"/>'
        f'<rect class="{step.side}" fill="{COLOURS[step.side]}" x="{first:.2f}" y="1" '
        f'width="{max(last - first, 0.6):.2f}" height="10"/></svg>'
    )


def probability(log_odds: float) -> float:
    """The probability with these log-odds.

    Examples
    --------
    >>> probability(0.0), probability(-1000.0), probability(1000.0)
    (0.5, 0.0, 1.0)
    """
    if log_odds >= 0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    small = math.exp(log_odds)
    return small / (1.0 + small)


def waterfall_figure(fall: Waterfall, title: str) -> Figure:
    """A bar per step from the log-odds before it to those after it, and the score at the end."""
    steps = fall.all_steps
    figure, axis = new_figure(1, 1.2 + 0.38 * (len(steps) + 1), 10.0)
    last = len(steps)
    for row, step in enumerate(steps):
        colour = PLOT_COLOURS[step.side]
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
    # over the whole figure: long names do not fit over the bars alone
    figure.suptitle(elided(printable(title), LONGEST), parse_math=False)
    return figure
