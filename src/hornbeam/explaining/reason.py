"""The contribution of one rule to the score of a pair."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hornbeam.explaining.named_facts import Fact, GroundedCondition, Grounding
from hornbeam.rules.rule_words import Words, said


@dataclass(frozen=True)
class Reason:
    """The contribution of one rule to the score of a pair.

    Attributes
    ----------
    index
        Index of the rule in the model.
    rule
        Its text in the model file, without weight.
    weight
        Its weight.
    count
        How many groundings its body has, those of its conditions multiplied; a condition with a
        threshold counts once (1 for a prior, which needs none). Over soft facts only combinations
        of a truth above 0 count, as all atoms together have it.
    pull
        The score minus the score of the model without this rule: above 0 it is for the pair. Pulls
        are computed by scoring again. A score is not a sum over rules, so pulls do not add up to
        it.
    conditions
        The conditions of its body, with their own counts and first groundings; none for a prior.
    linked_pairs
        In a collective model: the other pairs, with their MAP values, of ground clauses that lower
        this pair's score (for instance because it is in their body).
    words
        The rule as a sentence.
    log_odds
        What it adds to the log-odds of the score: its weight times what its groundings count,
        negated for a rule against. None where log-odds are not a sum over rules: they are under the
        Boolean relaxation, for pairs that are scored independently.
    is_prior
        Whether it applies to every pair, and so is where scores start from.
    """

    index: int
    rule: str
    weight: float
    count: int
    pull: float
    conditions: tuple[GroundedCondition, ...] = ()
    linked_pairs: tuple[Fact, ...] = ()
    words: Words = ()
    log_odds: float | None = None
    is_prior: bool = False

    @property
    def strength(self) -> float:
        """What it is sorted by: its log-odds, or its pull if these are None."""
        return self.pull if self.log_odds is None else self.log_odds

    @property
    def side(self) -> str:
        """Whether it is "for" or "against" the pair, or "neutral" if it has no effect."""
        return "for" if self.strength > 0 else "against" if self.strength < 0 else "neutral"

    @property
    def groundings(self) -> tuple[Grounding, ...]:
        """The first groundings of its conditions, one condition after the other."""
        return tuple(one for condition in self.conditions for one in condition.groundings)

    @property
    def figures(self) -> str:
        """How many groundings there are, in words."""
        if len(self.conditions) == 1:
            return self.conditions[0].figures
        if self.is_prior:
            return "needs no path"
        return "1 grounding" if self.count == 1 else f"{self.count:,} groundings"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rule": self.rule,
            "words": said(self.words),
            "weight": self.weight,
            "count": self.count,
            "pull": self.pull,
            "log_odds": self.log_odds,
            "prior": self.is_prior,
            "index": self.index,
            "groundings": [asdict(grounding) for grounding in self.groundings],
            "conditions": [condition.as_dict() for condition in self.conditions],
            "beside": [asdict(fact) for fact in self.linked_pairs],
        }


def by_strength(reason: Reason) -> tuple[float, int]:
    """What reasons are sorted by: the strongest first."""
    return -abs(reason.strength), reason.index
