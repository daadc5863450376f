"""The parts of a score, their reasons (rules), and the groundings of reasons by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Any, TypeVar, cast

from hornbeam.base.texts import printable
from hornbeam.rules.body import Kind
from hornbeam.rules.rule_words import Phrase, Words, said, with_shown_names

#: The parts of a score by rules with weights: priors, rules for a pair, against it, and others.
PRIORS, FOR, AGAINST, NEUTRAL = "starting point", "for", "against", "without effect on the score"
#: Marks fields that name entities; see `renamed`.
NAMED = {"names": "entities"}

T = TypeVar("T")


@dataclass(frozen=True)
class Fact:
    """A fact by its names, as in the data, with its truth value.

    A fact about one entity has no object; one of three or more arguments has `others` after its
    first two.
    """

    subject: str = field(metadata=NAMED)
    predicate: str = field(metadata=NAMED)
    object: str | None = field(default=None, metadata=NAMED)
    truth: float = 1.0
    others: tuple[str, ...] = field(default=(), metadata=NAMED)

    @classmethod
    def of(cls, predicate: str, arguments: Sequence[str], truth: float = 1.0) -> Fact:
        """The fact of a predicate about some entities."""
        subject, *rest = arguments
        return cls(subject, predicate, rest[0] if rest else None, truth, tuple(rest[1:]))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The entities that it is about."""
        objects = () if self.object is None else (self.object,)
        return (self.subject, *objects, *self.others)

    @property
    def atom(self) -> str:
        """As an atom, `p(a, b)`."""
        return f"{self.predicate}({', '.join(self.arguments)})"

    @property
    def is_edge(self) -> bool:
        """Whether it is about two entities."""
        return len(self.arguments) == 2

    @property
    def figures(self) -> str:
        """What texts show after the predicate: a truth value below 1."""
        return _soft(self.truth)

    def __str__(self) -> str:
        text = f"{self.subject}  {self.predicate}  {self.object}" if self.is_edge else self.atom
        return printable(text) + self.figures


@dataclass(frozen=True)
class DatedFact(Fact):
    """A fact at a time, as the facts write it, or how often it was true and when last."""

    time: str = ""

    @classmethod
    def of_time(cls, predicate: str, arguments: Sequence[str], time: str) -> DatedFact:
        """The fact of a predicate about one entity or two at a time."""
        subject, *object_ = arguments
        return cls(subject, predicate, object_[0] if object_ else None, time=time)

    @property
    def figures(self) -> str:
        """What texts show after the predicate: the time."""
        return f" ({self.time})"


@dataclass(frozen=True)
class Grounding:
    """One grounding of a condition: the entities it passes, and its facts in walking order.

    A path passes the entities from subject to object; an open or anchored condition or a chain is a
    path from its argument; a unary one has its argument alone. The last fact may be about the last
    entity alone. `truth` is the truth of the body, 1 - sum (1 - x) over the facts' truth values x.
    """

    entities: tuple[str, ...] = field(metadata=NAMED)
    facts: tuple[Fact, ...]
    truth: float = 1.0

    @cached_property
    def inverse(self) -> tuple[bool, ...]:
        """Which facts are walked from a later to an earlier argument."""
        steps = zip(self.facts, self.entities, self.entities[1:], strict=False)
        return tuple(
            fact.arguments.index(here) > fact.arguments.index(there) for fact, here, there in steps
        )

    def __str__(self) -> str:
        if len(self.entities) == 1:
            return " & ".join(str(fact) for fact in self.facts)
        text, n = self.entities[0], len(self.inverse)
        for fact, there, inverse in zip(self.facts, self.entities[1:], self.inverse, strict=False):
            name = (fact.predicate if fact.is_edge else fact.atom) + fact.figures
            text += f" <-{name}- {there}" if inverse else f" -{name}-> {there}"
        return " & ".join([printable(text), *map(str, self.facts[n:])])


@dataclass(frozen=True)
class GroundedCondition:
    """One condition of a rule's body with its groundings for a pair."""

    text: str  #: its PSL text, with its threshold where it has one
    #: What it is, and for all but paths whether it is about the subject (0) or the object (1).
    kind: Kind
    argument: int
    count: int  #: how many groundings it has for the pair
    #: The first of them, in the order of their entities' names.
    groundings: tuple[Grounding, ...] = ()
    share: float | None = None  #: the share of its paths, if the rule uses it
    steps: int = 1  #: facts per grounding; 0 for `(A == 'c')`
    values: Words = ()  #: of a condition on numbers: the values, and what the rule asks for

    @property
    def unit(self) -> str:
        """The word for one grounding."""
        return "path" if self.kind in (Kind.PATH, Kind.CHAIN) else "fact"

    @property
    def figures(self) -> str:
        """How many groundings there are, in words; of numbers the values."""
        if self.values:
            return said(self.values)
        if not self.steps:
            return "needs no fact"
        text = f"1 {self.unit}" if self.count == 1 else f"{self.count:,} {self.unit}s"
        return text if self.share is None else f"{text}, share {self.share:.4g}"

    @property
    def unnamed(self) -> int:
        """Number of groundings that are not listed; 0 where none is listed."""
        return self.count - len(self.groundings) if self.groundings else 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "condition": self.text,
            "kind": self.kind.value,
            "argument": None if self.kind is Kind.PATH else self.argument,
            "count": self.count,
            "share": self.share,
            "groundings": [asdict(grounding) for grounding in self.groundings],
            **({"values": said(self.values)} if self.values else {}),
        }


@dataclass(frozen=True)
class Reason:
    """The contribution of one rule to the score of a pair.

    A rule of a rule model has a weight, a pull and often log-odds. A rule of a whole graph has
    either a confidence with its hits and predictions, or a weight that was fitted together with
    those of other rules. Figures that a rule does not have are None.

    Attributes
    ----------
    index
        Index of the rule in the model; None for a rule of a whole graph.
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
    confidence, hits, predicted
        How often its predictions are right: hits / (predictions + 5), hits, and predictions.
    """

    index: int | None
    rule: str
    weight: float | None
    count: int
    pull: float | None = None
    conditions: tuple[GroundedCondition, ...] = ()
    linked_pairs: tuple[Fact, ...] = ()
    words: Words = ()
    log_odds: float | None = None
    is_prior: bool = False
    confidence: float | None = None
    hits: int | None = None
    predicted: int | None = None

    @property
    def strength(self) -> float:
        """What it is sorted by: the first that it has of log-odds, pull, weight and confidence."""
        figures = (self.log_odds, self.pull, self.weight, self.confidence)
        return next((figure for figure in figures if figure is not None), 0.0)

    @property
    def side(self) -> str:
        """Whether it is "for" or "against" the pair, or "neutral" if it has no effect."""
        return "for" if self.strength > 0 else "against" if self.strength < 0 else "neutral"

    @property
    def groundings(self) -> tuple[Grounding, ...]:
        """The first groundings of its conditions, one condition after the other."""
        return tuple(
            grounding for condition in self.conditions for grounding in condition.groundings
        )

    @property
    def figure(self) -> str:
        """The figure that texts show before a reason: its pull, its confidence or its weight."""
        if self.pull is not None:
            return signed_pull(self.pull)
        return f"{self.weight:+.3f}" if self.confidence is None else f"{self.confidence:.3f}"

    @property
    def origin(self) -> str:
        """Where the figure comes from: a weight, or how often the rule was right."""
        if self.pull is not None:
            return f"weight {self.weight:.4g}"
        if self.confidence is None:
            return "weight fitted together with others"
        return f"right {self.hits:,} of {self.predicted:,} times"

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
            "confidence": self.confidence,
            "hits": self.hits,
            "predicted": self.predicted,
            "count": self.count,
            "pull": self.pull,
            "log_odds": self.log_odds,
            "prior": self.is_prior,
            "index": self.index,
            "groundings": [asdict(grounding) for grounding in self.groundings],
            "conditions": [condition.as_dict() for condition in self.conditions],
            "beside": [asdict(fact) for fact in self.linked_pairs],
        }


def renamed(value: T, shown: Callable[[str], str]) -> T:
    """A fact, reason or explanation with other names; the texts of rules stay.

    Names of entities and relations are in the fields marked with `NAMED`, and in words of rules.

    Examples
    --------
    >>> names = {"Q90": "Paris", "P17": "in", "Q142": "France"}
    >>> print(renamed(Fact("Q90", "P17", "Q142"), names.__getitem__))
    Paris  in  France
    """

    def changed(part: object, is_entity: bool = False) -> object:
        if isinstance(part, Phrase):
            return with_shown_names((part,), shown)[0]
        if isinstance(part, tuple):
            items = tuple([changed(item, is_entity) for item in part])
            same = all(after is before for after, before in zip(items, part, strict=True))
            return part if same else items
        if isinstance(part, str):
            return shown(part) if is_entity else part
        if not is_dataclass(part) or isinstance(part, type):
            return part
        own = dict[str, object]()
        for name, names_entities in _marked_fields(type(part)):
            before = getattr(part, name)
            after = changed(before, names_entities)
            if after is not before:
                own[name] = after
        return replace(part, **own) if own else part

    return cast("T", changed(value))


@cache
def _marked_fields(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """The fields of a dataclass, each with whether it is marked with `NAMED`."""
    return tuple((own_field.name, "names" in own_field.metadata) for own_field in fields(kind))


def signed_pull(pull: float) -> str:
    """A pull with its sign, which a tiny one keeps."""
    return f"{pull:+.0e}" if 0 < abs(pull) < 5e-5 else f"{pull:+.4f}"


def by_strength(reason: Reason) -> tuple[float, int, str]:
    """What reasons are sorted by: the strongest first."""
    return -abs(reason.strength), reason.index or 0, reason.rule


@dataclass(frozen=True)
class ScorePart:
    """A part of a score: how much it adds, and its reasons, the strongest first.

    `value` is in log-odds, and None where the log-odds of a score are not a sum.
    """

    name: str
    value: float | None
    reasons: tuple[Reason, ...] = ()


def largest_first(parts: Iterable[ScorePart]) -> tuple[ScorePart, ...]:
    """Parts by how much they raise or lower the score; those without a value in their order."""
    return tuple(sorted(parts, key=lambda part: -abs(part.value or 0.0)))


def parts_of(reasons: Sequence[Reason]) -> tuple[ScorePart, ...]:
    """The parts of a score by rules with weights; parts without reasons are left out.

    Examples
    --------
    >>> prior = Reason(0, "!t(A, B)", 1.0, 1, -0.1, log_odds=-1.0, is_prior=True)
    >>> rule = Reason(1, "p(A, B) -> t(A, B)", 2.0, 2, 0.5, log_odds=4.0)
    >>> [(part.name, part.value) for part in parts_of([prior, rule])]
    [('for', 4.0), ('starting point', -1.0)]
    """
    names = {"for": FOR, "against": AGAINST, "neutral": NEUTRAL}
    groups: dict[str, list[Reason]] = {name: [] for name in (PRIORS, *names.values())}
    for reason in sorted(reasons, key=by_strength):
        groups[PRIORS if reason.is_prior else names[reason.side]].append(reason)
    adds_up = all(reason.log_odds is not None for reason in reasons)
    return largest_first(
        ScorePart(
            name,
            math.fsum(reason.log_odds or 0.0 for reason in group) if adds_up else None,
            tuple(group),
        )
        for name, group in groups.items()
        if group
    )


def _soft(truth: float) -> str:
    return f" [{truth:.6g}]" if truth < 1.0 else ""
