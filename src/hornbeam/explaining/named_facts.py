"""Facts and groundings by their names, and their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hornbeam.base.texts import printable
from hornbeam.rules.body import Kind


@dataclass(frozen=True)
class Fact:
    """A fact by its names, as in the data, with its truth value.

    A fact about one entity has no object; one of three or more arguments has `others` after its
    first two.
    """

    subject: str
    predicate: str
    object: str | None = None
    truth: float = 1.0
    others: tuple[str, ...] = ()

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

    def __str__(self) -> str:
        text = f"{self.subject}  {self.predicate}  {self.object}" if self.is_edge else self.atom
        return printable(text) + _soft(self.truth)


@dataclass(frozen=True)
class Grounding:
    """One grounding of a condition: the entities it passes, and its facts in walking order.

    A path passes the entities from subject to object; an open or anchored condition is a path of
    one step from its argument; a unary one has its argument alone. `truth` is the truth of the
    body, 1 - sum (1 - x) over the facts' truth values x.
    """

    entities: tuple[str, ...]
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
        text = self.entities[0]
        for fact, there, inverse in zip(self.facts, self.entities[1:], self.inverse, strict=True):
            name = (fact.predicate if fact.is_edge else fact.atom) + _soft(fact.truth)
            text += f" <-{name}- {there}" if inverse else f" -{name}-> {there}"
        return printable(text)


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

    @property
    def figures(self) -> str:
        """How many groundings there are, in words."""
        if not self.steps:
            return "needs no fact"
        unit = "path" if self.kind is Kind.PATH else "fact"
        text = f"1 {unit}" if self.count == 1 else f"{self.count:,} {unit}s"
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
        }


def _soft(truth: float) -> str:
    return f" [{truth:.6g}]" if truth < 1.0 else ""
