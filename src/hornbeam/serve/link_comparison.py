"""Two links side by side: the effect of every rule on either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.reason import Reason


@dataclass(frozen=True)
class ComparedRule:
    """A rule and its reason on either link, None where it has no grounding."""

    first: Reason | None
    second: Reason | None

    @property
    def reason(self) -> Reason:
        """The first reason of the two that exists."""
        found = self.first or self.second
        assert found is not None
        return found

    @property
    def difference(self) -> float:
        """How much larger its effect on the first link is."""
        return (self.first.strength if self.first else 0.0) - (
            self.second.strength if self.second else 0.0
        )


@dataclass(frozen=True)
class LinkComparison:
    """Two explained links; `rules` have the larger differences first, priors before all.

    Where `adds_up`, the effects of rules are log-odds, which add up to those of the scores.
    """

    first: Explanation
    second: Explanation
    rules: Sequence[ComparedRule]
    adds_up: bool


def compare_links(first: Explanation, second: Explanation) -> LinkComparison:
    """Compare two links rule by rule."""
    left, right = ({one.index: one for one in found.reasons} for found in (first, second))
    rules = [ComparedRule(left.get(k), right.get(k)) for k in dict.fromkeys([*left, *right])]
    rules.sort(key=lambda rule: (not rule.reason.is_prior, -abs(rule.difference)))
    adds_up = first.waterfall() is not None and second.waterfall() is not None
    return LinkComparison(first, second, rules, adds_up)
