"""Why a pair scores as it does: the pull of every rule, its facts, and what would flip it.

This module says what an explanation is and how it reads; `hornbeam.explaining.explainer` opens
what makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hornbeam.explaining.flips import FlipStatus
from hornbeam.explaining.named_facts import Fact, Grounding, MetCondition
from hornbeam.printable import printable
from hornbeam.result_table import html_table

#: Groundings of every condition that are named unless more are asked for.
PATHS = 5


@dataclass(frozen=True)
class Reason:
    """The part that one rule has in the score of the pair.

    Attributes
    ----------
    index
        Place of the rule in the model.
    rule
        Its text in the model file, without weight.
    weight
        Its weight.
    count
        How many groundings its body has, those of its conditions multiplied; a condition with a
        threshold counts once (1 for a prior, which needs none).
    pull
        The score minus the score of the model without this rule: above 0 it is for the pair.
        Pulls are computed by scoring again. A score is no sum of its rules' parts, so pulls do
        not add up to it.
    conditions
        The conditions of its body, with their own counts and first groundings; none for a prior.
    linked_pairs
        In a collective model: other pairs of ground clauses that push this one down, be it that
        this one stands in their bodies, with their MAP values.
    """

    index: int
    rule: str
    weight: float
    count: int
    pull: float
    conditions: tuple[MetCondition, ...] = ()
    linked_pairs: tuple[Fact, ...] = ()

    @property
    def groundings(self) -> tuple[Grounding, ...]:
        """The first groundings of its conditions, one condition after the other."""
        return tuple(one for condition in self.conditions for one in condition.groundings)

    @property
    def figures(self) -> str:
        """How many groundings there are, in words."""
        if len(self.conditions) == 1:
            return self.conditions[0].figures
        if "->" not in self.rule:
            return "needs no path"
        return "1 grounding" if self.count == 1 else f"{self.count:,} groundings"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rule": self.rule,
            "weight": self.weight,
            "count": self.count,
            "pull": self.pull,
            "index": self.index,
            "groundings": [asdict(grounding) for grounding in self.groundings],
            "conditions": [condition.as_dict() for condition in self.conditions],
            "beside": [asdict(fact) for fact in self.linked_pairs],
        }


@dataclass(frozen=True)
class Flip:
    """Facts whose removal flips the decision, and the score without them.

    `facts` is empty and `score` the pair's own where no such set is known; `status` says whether
    there is none, or how far the set can be trusted to be the smallest.
    """

    status: FlipStatus
    facts: tuple[Fact, ...]
    score: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "status": self.status.value,
            "meaning": self.status.sentence,
            "facts": [asdict(fact) for fact in self.facts],
            "score": self.score,
        }


@dataclass(frozen=True)
class Explanation:
    """A scored pair with its reasons, the strongest pull first.

    Attributes
    ----------
    subject, predicate, object
        The pair.
    score, map
        Its conditional mean E[y], and its MAP state.
    threshold
        The score from which the model calls a pair true.
    reasons
        Every rule of weight above 0 with a grounding (a prior always has one).
    flip
        What would flip the decision; None where that was not asked for.
    unseen
        Names of the pair that no fact has; such pairs are scored by the prior alone.
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

    @property
    def decision(self) -> bool:
        """Whether the model calls the pair true."""
        return self.score >= self.threshold

    @property
    def supporting(self) -> tuple[Reason, ...]:
        """Reasons for the pair, the strongest first."""
        return tuple(reason for reason in self.reasons if reason.pull > 0)

    @property
    def opposing(self) -> tuple[Reason, ...]:
        """Reasons against the pair, the strongest first."""
        return tuple(reason for reason in self.reasons if reason.pull < 0)

    @property
    def neutral(self) -> tuple[Reason, ...]:
        """Grounded rules that move nothing, where others have made the score sure."""
        return tuple(reason for reason in self.reasons if reason.pull == 0)

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
            "flip": None if self.flip is None else self.flip.as_dict(),
            "unseen": list(self.unseen),
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """Text for a person, line by line, each with its role.

        Roles are "pair", "verdict", "note", "heading", "for", "against", "neutral", "path", "fact".
        """
        yield "pair", printable(f"{self.subject}  {self.predicate}  {self.object}")
        answer = f"{'true' if self.decision else 'false'} (true from {self.threshold:.4g})"
        yield "verdict", f"score {self.score:.4g}, so {answer}; MAP state {self.map:.4g}"
        for name in self.unseen:
            yield "note", f"no fact has {printable(repr(name))}: only the prior can speak"
        if not self.reasons:
            yield "note", "no rule speaks about this pair: it scores a half"
        for heading, role, reasons in (
            ("For", "for", self.supporting),
            ("Against", "against", self.opposing),
            ("Without effect on the score", "neutral", self.neutral),
        ):
            if reasons:
                yield "heading", heading
            for reason in reasons:
                yield role, f"  {_signed(reason.pull):7}  {printable(reason.rule)}"
                yield from _evidence_lines(reason)
        if self.flip is not None:
            yield from _flip_lines(self.flip, self.decision)

    def __str__(self) -> str:
        blank = {"heading": "\n"}
        return "\n".join(blank.get(role, "") + text for role, text in self.lines())

    def _repr_html_(self) -> str:
        title = (
            f"{self.subject} {self.predicate} {self.object}: score {self.score:.4g}, "
            f"{'true' if self.decision else 'false'} (true from {self.threshold:.4g})"
        )
        rows = [
            (
                _signed(reason.pull),
                reason.rule,
                f"{reason.weight:.4g}",
                f"{reason.count:,}",
                str(reason.groundings[0]) if reason.groundings else "",
            )
            for reason in (*self.supporting, *self.opposing, *self.neutral)
        ]
        table = html_table(title, ["pull", "rule", "weight", "count", "first grounding"], rows)
        if self.flip is None:
            return table
        status = f"What would flip it ({self.flip.status.value})"
        facts = [
            (fact.subject, fact.predicate, ", ".join(fact.arguments[1:]))
            for fact in self.flip.facts
        ]
        return table + html_table(status, ["subject", "predicate", "object"], facts)


def _signed(pull: float) -> str:
    """A pull with its sign; a tiny one still shows where it goes."""
    return f"{pull:+.0e}" if 0 < abs(pull) < 5e-5 else f"{pull:+.4f}"


def _evidence_lines(reason: Reason) -> Iterator[tuple[str, str]]:
    """Weight and groundings of a rule, below it."""
    indent = " " * 11
    yield "note", f"{indent}weight {reason.weight:.4g}, {reason.figures}"
    several = len(reason.conditions) > 1
    for condition in reason.conditions:
        if several:
            yield "note", f"{indent}{printable(condition.text)}: {condition.figures}"
        inner = indent + "  " * several
        for grounding in condition.groundings:
            yield "path", inner + str(grounding)
        if condition.unnamed:
            yield "note", f"{inner}... and {condition.unnamed:,} more"
    for fact in reason.linked_pairs:
        yield "path", f"{indent}together with the pair {fact}"


def _flip_lines(flip: Flip, decision: bool) -> Iterator[tuple[str, str]]:
    yield "heading", "What would flip it"
    if not flip.facts:
        yield "note", f"  {flip.status.sentence}"
        return
    many = "this fact" if len(flip.facts) == 1 else f"these {len(flip.facts):,} facts"
    after = f"{flip.score:.4g}, so {'false' if decision else 'true'}"
    yield "note", f"  without {many} the score is {after} ({flip.status.sentence})"
    for fact in flip.facts:
        yield "fact", f"    {fact}"
