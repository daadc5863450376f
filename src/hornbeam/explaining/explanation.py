"""Why a pair scores or a triple ranks as it does: the one explanation of both kinds of models.

A score is the sum of parts, a part has reasons, and a reason has groundings by name. This module
has the result; `hornbeam.explaining.explanation_views` shows it, and
`hornbeam.explaining.explainer` opens the explainer that makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.arrays import Array
from hornbeam.base.result_table import ResultTable
from hornbeam.errors import InputError
from hornbeam.explaining.explanation_views import explanation_html, explanation_lines
from hornbeam.explaining.flips import FLIP, Crossing, Flip
from hornbeam.explaining.known_scores import ScorePlace
from hornbeam.explaining.reason import (
    AGAINST,
    FOR,
    NAMED,
    NEUTRAL,
    PRIORS,
    Reason,
    ScorePart,
    by_strength,
    renamed,
)
from hornbeam.explaining.waterfall import Waterfall, waterfall, waterfall_figure
from hornbeam.facts.entity_names import EntityNames
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_words import said

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

#: Version of the JSON of `Explanation.as_dict`.
SCHEMA = 1
#: Figures of reasons, as columns of a table.
FIGURES = ("weight", "count", "log_odds", "pull", "confidence", "hits", "predicted")
#: Default number of groundings that are listed per condition.
PATHS = 5


@dataclass(frozen=True)
class HigherAnswer:
    """An answer that ranks above the explained one, with its strongest reasons."""

    answer: str = field(metadata=NAMED)
    rank: float
    probability: float
    reasons: tuple[Reason, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        reasons = [reason.as_dict() for reason in self.reasons]
        return {
            "answer": self.answer,
            "rank": self.rank,
            "probability": self.probability,
            "reasons": reasons,
        }


@dataclass(frozen=True)
class ExplainedScore:
    """A score, and the parts that add up to it.

    Attributes
    ----------
    score
        The score of a pair; of an answer the probability that it is right.
    parts
        What it is the sum of, the largest part first, in log-odds. The parts of a pair's score add
        up to its log-odds (`total`); those of an answer to how far its ranking score is above that
        of the mean candidate of the query.
    asks
        Of an answer: which argument the query asks for.
    rank, candidates
        Of an answer: its rank among all entities that are not known answers, None if no rule
        proposes it; and the number of proposed answers.
    above
        Of an answer: the best answers above it.
    """

    score: float
    parts: tuple[ScorePart, ...]
    asks: Direction | None = None
    rank: float | None = None
    candidates: int = 0
    above: tuple[HigherAnswer, ...] = ()

    @property
    def probability(self) -> float:
        """The score, which is a probability."""
        return self.score

    @property
    def total(self) -> float | None:
        """The sum of the parts; None where the log-odds of a score are not a sum."""
        values = [part.value for part in self.parts if part.value is not None]
        return math.fsum(values) if len(values) == len(self.parts) else None

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of all parts: of a pair the strongest first, of an answer part by part.

        Confidences and weights, which answers have, cannot be compared across parts.
        """
        return tuple(reason for _, reason in self.reasons_in_parts)

    @cached_property
    def reasons_in_parts(self) -> tuple[tuple[str, Reason], ...]:
        """The name of its part before every reason, in the order of `reasons`."""
        rows = [(part.name, reason) for part in self.parts for reason in part.reasons]
        if self.asks is None:
            rows.sort(key=lambda row: by_strength(row[1]))
        return tuple(rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: every reason names its part."""
        return {
            "score": self.score,
            "parts": {part.name: part.value for part in self.parts},
            "reasons": [
                {"part": part, "kind": part, **reason.as_dict()}
                for part, reason in self.reasons_in_parts
            ],
        }

    def ranking_as_dict(self) -> dict[str, Any]:
        """For JSON, with the rank and the answers above."""
        return {
            "asks": self.asks,
            "rank": self.rank,
            "candidates": self.candidates,
            "probability": self.score,
            **self.as_dict(),
            "above": [answer.as_dict() for answer in self.above],
        }


@dataclass(frozen=True)
class Explanation:
    """A scored pair, or a triple that was ranked as an answer, with its reasons.

    Attributes
    ----------
    subject, predicate, object
        The pair.
    directions
        Its score with the parts and reasons of it. A model of a whole graph has such a score per
        query that the triple answers; `score`, `parts`, `reasons` and `rank` are those of the
        first.
    map
        The MAP state of a pair. None for a triple, as are the threshold, flip, and place.
    threshold
        The score from which the model calls a pair true. Where its negatives were sampled it calls
        none so, and this is only the score that a flip crosses.
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
    is_fact
        Whether a triple is among the facts; it was removed from them for the explanation.
    unary
        Whether the target is on one entity, which is then both subject and object.
    """

    subject: str = field(metadata=NAMED)
    predicate: str = field(metadata=NAMED)
    object: str = field(metadata=NAMED)
    directions: tuple[ExplainedScore, ...]
    map: float | None = None
    threshold: float | None = None
    flip: Flip | None = None
    unseen: tuple[str, ...] = field(default=(), metadata=NAMED)
    alone: float | None = None
    place: ScorePlace | None = None
    is_fact: bool = False
    unary: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """Subject, predicate and object; a target on one entity has no object."""
        return (self.subject, self.predicate, self.object)[: 2 if self.unary else 3]

    @property
    def relation(self) -> str:
        """The predicate, by its name in graphs."""
        return self.predicate

    @property
    def is_ranked(self) -> bool:
        """Whether it is a triple that was ranked as an answer, and no scored pair."""
        return self.directions[0].asks is not None

    @property
    def score(self) -> float:
        """The conditional mean E[y] of a pair; of an answer the probability that it is right."""
        return self.directions[0].score

    @property
    def parts(self) -> tuple[ScorePart, ...]:
        """What the score is the sum of, the largest part first."""
        return self.directions[0].parts

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of all parts; see `ExplainedScore.reasons`.

        A pair's are all rules of weight above 0 with a grounding (a prior always has one), the
        strongest first: by log-odds, or by pull where log-odds are not a sum. An answer's are the
        best rules of each part.
        """
        return self.directions[0].reasons

    @property
    def rank(self) -> float | None:
        """The rank of an answer; None for a pair, and if no rule proposes the answer."""
        return self.directions[0].rank

    @property
    def decision(self) -> bool | None:
        """Whether the score reaches the threshold, from which the model calls a pair true.

        Where negatives were sampled, read `place` instead. None for a triple.
        """
        return None if self.threshold is None else self.score >= self.threshold

    @property
    def crossing(self) -> Crossing:
        """How texts say that a removal of facts carries the score over the threshold."""
        if self.place is None or self.threshold is None:
            return FLIP
        return Crossing.of_threshold(self.threshold, self.score >= self.threshold)

    @property
    def starting_point(self) -> tuple[Reason, ...]:
        """The priors, from which every pair starts."""
        return self._of_part(PRIORS)

    @property
    def supporting(self) -> tuple[Reason, ...]:
        """Reasons for the pair other than the prior, the strongest first."""
        return self._of_part(FOR)

    @property
    def opposing(self) -> tuple[Reason, ...]:
        """Reasons against the pair other than the prior, the strongest first."""
        return self._of_part(AGAINST)

    @property
    def neutral(self) -> tuple[Reason, ...]:
        """Rules with groundings that do not change the score, since others already saturate it."""
        return self._of_part(NEUTRAL)

    def _of_part(self, name: str) -> tuple[Reason, ...]:
        return tuple(reason for part in self.parts if part.name == name for reason in part.reasons)

    def in_names(self, names: EntityNames) -> Explanation:
        """The explanation with names instead of ids; the texts of rules stay."""
        return renamed(self, names.shown) if len(names) else self

    @property
    def mentioned(self) -> list[str]:
        """The ids of all entities and relations in the explanation, some of them repeatedly."""
        ids = list[str]()

        def noted(entity: str) -> str:
            ids.append(entity)
            return entity

        renamed(self, noted)
        return ids

    def waterfall(self, most: int | None = None) -> Waterfall | None:
        """How the log-odds add up: at most `most` rules individually, the rest as one step.

        None where log-odds are not a sum over rules; see `hornbeam.explaining.waterfall`.
        """
        return None if self.is_ranked else waterfall(self.reasons, most)

    def plot(self, most: int | None = 12) -> Plot:
        """The waterfall of log-odds as a figure of matplotlib, with at most `most` rules.

        It needs matplotlib: `pip install 'hornbeam[plots]'`.
        """
        fall = self.waterfall(most)
        if fall is None:
            raise InputError(
                "no waterfall: log-odds are no sum over rules here; `to_table()` has the reasons"
            )
        return waterfall_figure(fall, " ".join(self.words))

    def to_table(self) -> ResultTable:
        """The reasons: rule, words, figures, the first grounding, and the part that each is of.

        For a triple, the column `asks` has the argument that the query asks for. A figure that no
        rule has gets no column; one that some rules do not have is None there.
        """
        rows = [
            (direction.asks, part, reason)
            for direction in self.directions
            for part, reason in direction.reasons_in_parts
        ]
        reasons = [reason for _, _, reason in rows]
        figures: dict[str, Sequence[Any] | Array] = {}
        for name in FIGURES:
            values = [getattr(reason, name) for reason in reasons]
            if None not in values:
                figures[name] = np.array(values)
            elif set(values) != {None}:
                figures[name] = values
        return ResultTable(
            {
                "rule": [reason.rule for reason in reasons],
                "words": [said(reason.words) for reason in reasons],
                **figures,
                "grounding": [str(next(iter(reason.groundings), "")) for reason in reasons],
                **({"asks": [str(asks) for asks, _, _ in rows]} if self.is_ranked else {}),
                "part": [part for _, part, _ in rows],
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `docs/howto/reasons.md` describes the keys."""
        ranked = self.directions if self.is_ranked else ()
        return {
            "schema": SCHEMA,
            "subject": self.subject,
            "predicate": self.predicate,
            "relation": self.predicate,
            "object": None if self.unary else self.object,
            "map": self.map,
            "threshold": self.threshold,
            "decision": self.decision,
            **self.directions[0].as_dict(),
            "waterfall": None if (fall := self.waterfall()) is None else fall.as_dict(),
            "flip": None if self.flip is None else self.flip.as_dict(self.crossing),
            "unseen": list(self.unseen),
            "alone": self.alone,
            "place": None if self.place is None else self.place.as_dict(),
            "is_fact": self.is_fact,
            "rank": self.rank,
            "directions": [direction.ranking_as_dict() for direction in ranked],
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
