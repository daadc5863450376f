"""Why a pair scores as it does: what every rule adds, its facts, and what would flip it.

This module has the result; `hornbeam.explaining.explanation_text` formats it as text, and
`hornbeam.explaining.explainer` opens the explainer that makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hornbeam.base.result_table import ResultTable
from hornbeam.errors import InputError
from hornbeam.explaining.explanation_html import explanation_html
from hornbeam.explaining.explanation_text import explanation_lines
from hornbeam.explaining.flips import FLIP, Crossing, FlipStatus
from hornbeam.explaining.known_scores import ScorePlace
from hornbeam.explaining.named_facts import Fact
from hornbeam.explaining.reason import Reason
from hornbeam.explaining.waterfall import Waterfall, waterfall
from hornbeam.rules.rule_words import said

#: Default number of groundings that are listed per condition.
PATHS = 5


def not_among_pairs(subject: str, target: str, object_: str) -> InputError:
    """The error for a pair that is not among those of a collective model."""
    return InputError(
        f"{target}({subject!r}, {object_!r}) is not among the pairs; a collective model "
        "scores the pairs that it is given together: add it to them"
    )


@dataclass(frozen=True)
class Flip:
    """Facts whose removal flips the decision, and the score without them.

    `facts` is empty and `score` the pair's own if no such set is known; `status` is whether there
    is none, or whether the set is known to be the smallest. `place` is that of the score, as in
    `Explanation`.
    """

    status: FlipStatus
    facts: tuple[Fact, ...]
    score: float
    place: ScorePlace | None = None

    def as_dict(self, crossing: Crossing = FLIP) -> dict[str, Any]:
        """For JSON, in the words of a crossing."""
        return {
            "status": self.status.value,
            "meaning": self.status.sentence_about(crossing),
            "facts": [asdict(fact) for fact in self.facts],
            "score": self.score,
            "place": None if self.place is None else self.place.as_dict(),
        }


@dataclass(frozen=True)
class Explanation:
    """A scored pair with its reasons.

    Attributes
    ----------
    subject, predicate, object
        The pair.
    score, map
        Its conditional mean E[y], and its MAP state.
    threshold
        The score from which the model calls a pair true. Where its negatives were sampled it calls
        none so, and this is only the score that a flip crosses.
    reasons
        Every rule of weight above 0 with a grounding (a prior always has one), the strongest
        first: by its log-odds, or by its pull where log-odds are not a sum.
    flip
        What would flip the decision; None if that was not requested.
    unseen
        Names of the pair that no fact has; such pairs are scored by the prior alone.
    alone
        In a collective model of two steps: the belief of its first step about the pair. The rest of
        the score comes from other pairs.
    place
        Where the model's negatives were sampled: the place of the score among those of known links,
        which texts show in place of a decision. None for other models.
    """

    subject: str
    predicate: str
    object: str
    score: float
    map: float
    threshold: float
    reasons: tuple[Reason, ...]
    flip: Flip | None = None
    unseen: tuple[str, ...] = ()
    alone: float | None = None
    place: ScorePlace | None = None

    @property
    def decision(self) -> bool:
        """Whether the score reaches the threshold, from which the model calls a pair true.

        Where negatives were sampled, read `place` instead.
        """
        return self.score >= self.threshold

    @property
    def crossing(self) -> Crossing:
        """How texts say that a removal of facts carries the score over the threshold."""
        return FLIP if self.place is None else Crossing.of_threshold(self.threshold, self.decision)

    @property
    def starting_point(self) -> tuple[Reason, ...]:
        """The priors, from which every pair starts."""
        return tuple(reason for reason in self.reasons if reason.is_prior)

    @property
    def supporting(self) -> tuple[Reason, ...]:
        """Reasons for the pair other than the prior, the strongest first."""
        return self._on_side("for")

    @property
    def opposing(self) -> tuple[Reason, ...]:
        """Reasons against the pair other than the prior, the strongest first."""
        return self._on_side("against")

    @property
    def neutral(self) -> tuple[Reason, ...]:
        """Rules with groundings that do not change the score, since others already saturate it."""
        return self._on_side("neutral")

    def _on_side(self, side: str) -> tuple[Reason, ...]:
        return tuple(one for one in self.reasons if one.side == side and not one.is_prior)

    def waterfall(self, most: int | None = None) -> Waterfall | None:
        """How the log-odds add up: at most `most` rules individually, the rest as one step.

        None where log-odds are not a sum over rules; see `hornbeam.explaining.waterfall`.
        """
        return waterfall(self.reasons, most)

    def to_table(self) -> ResultTable:
        """The reasons: rule, words, weight, count, log-odds, pull and the first grounding.

        Log-odds are NaN where they are not a sum over rules.
        """
        log_odds = [math.nan if one.log_odds is None else one.log_odds for one in self.reasons]
        return ResultTable(
            {
                "rule": [one.rule for one in self.reasons],
                "words": [said(one.words) for one in self.reasons],
                "weight": np.array([one.weight for one in self.reasons]),
                "count": np.array([one.count for one in self.reasons], dtype=np.int64),
                "log_odds": np.array(log_odds),
                "pull": np.array([one.pull for one in self.reasons]),
                "grounding": [str(next(iter(one.groundings), "")) for one in self.reasons],
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "subject": self.subject,
            "predicate": self.predicate,
            "object": self.object,
            "score": self.score,
            "map": self.map,
            "threshold": self.threshold,
            "decision": self.decision,
            "reasons": [reason.as_dict() for reason in self.reasons],
            "waterfall": None if (fall := self.waterfall()) is None else fall.as_dict(),
            "flip": None if self.flip is None else self.flip.as_dict(self.crossing),
            "unseen": list(self.unseen),
            "alone": self.alone,
            "place": None if self.place is None else self.place.as_dict(),
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """Text for a person, line by line, each with its role.

        Roles are "pair", "verdict", "note", "heading", "for", "against", "neutral", "total",
        "path" and "fact".
        """
        return explanation_lines(self)

    def __repr__(self) -> str:
        blank = {"heading": "\n"}
        return "\n".join(blank.get(role, "") + text for role, text in self.lines())

    def _repr_html_(self) -> str:
        return explanation_html(self)
