"""Two links side by side: the effect of every rule on either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.reason import Reason


@dataclass(frozen=True)
class ComparedRule:
    """A rule and its reason on either link, None where it has no grounding."""

    here: Reason | None
    there: Reason | None

    @property
    def reason(self) -> Reason:
        """The first reason of the two that exists."""
        found = self.here or self.there
        assert found is not None
        return found

    @property
    def difference(self) -> float:
        """How much larger its effect on the first link is."""
        return (self.here.strength if self.here else 0.0) - (
            self.there.strength if self.there else 0.0
        )


@dataclass(frozen=True)
class LinkComparison:
    """Two explained links; `rules` have the larger differences first, priors before all.

    Where `adds_up`, the effects of rules are log-odds, which add up to those of the scores.
    """

    here: Explanation
    there: Explanation
    rules: Sequence[ComparedRule]
    adds_up: bool


def compare_links(here: Explanation, there: Explanation) -> LinkComparison:
    """Compare two links rule by rule."""
    mine, theirs = ({one.index: one for one in found.reasons} for found in (here, there))
    rules = [ComparedRule(mine.get(k), theirs.get(k)) for k in dict.fromkeys([*mine, *theirs])]
    rules.sort(key=lambda rule: (not rule.reason.is_prior, -abs(rule.difference)))
    adds_up = here.waterfall() is not None and there.waterfall() is not None
    return LinkComparison(here, there, rules, adds_up)
