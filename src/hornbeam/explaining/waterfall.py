r"""How the log-odds of a score add up: from the prior, rule by rule, to the total.

Under the Boolean relaxation a pair with strengths A = sum w n+ and B = sum w n- scores

    P(y = 1) = 1 / (1 + exp(-(A - B))),

so its log-odds A - B are the sum of what its rules add. Other relaxations, and pairs that are
inferred together, have no such sum; their reasons say how far the score moves without each rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hornbeam.explaining.reason import Reason, by_strength


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

    def __str__(self) -> str:
        from hornbeam.explaining.explanation_text import waterfall_lines

        return "\n".join(line for _, line in waterfall_lines(self))

    def _repr_html_(self) -> str:
        from hornbeam.explaining.explanation_html import waterfall_html

        return waterfall_html(self)


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
