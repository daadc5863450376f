r"""The rule language of PSL 2.4: text to rules and back.

Rules are weighted or hard, logical or arithmetic, over predicates of any arity:

    0.83: cites(A, B) & mentions(B, C) & (A != C) -> mentions(A, C) ^2
    friends(A, B) -> friends(B, A) .
    0.5: likes(A, +B) / |B| <= outgoing(A) ^2 {B: item(B) & !hidden(B)}
    category(A, +C) = 1 .

Rules of model files may have brackets, which are Hornbeam's own (see `hornbeam.language.brackets`):

    0.8: (cites(A, X) & cites(X, B)) [n >= 3] & paper(B) -> cites(A, B) [log]

The grammar is `psl.lark`. A rule may run over several lines; it ends at its period (and filters),
or where a line begins that cannot continue it. Constants are in quotes, with the escapes \\ \' \"
\t \n \r, and hold no line break; a number among the arguments is a constant too.

Here are terms, atoms and logical rules; `hornbeam.language.arithmetic_rules` has the others, and
`hornbeam.language.rule_texts` reads texts.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import StrEnum

from hornbeam.language.brackets import (
    Bracket,
    CountedBracket,
    ThresholdSpan,
    check_spans,
    with_thresholds,
)
from hornbeam.language.places import Place

_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A term that stands for any constant."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A term that stands for itself, an entity's name."""

    value: str

    def __str__(self) -> str:
        return f"'{self.value.translate(_ESCAPES)}'"


Term = Variable | Constant


def unescaped(text: str) -> str:
    """The name that a constant's text stands for, quotes and escapes removed."""
    return re.sub(r"\\(.)", lambda escape: _UNESCAPED.get(escape[1], escape[1]), text[1:-1])


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate over terms."""

    predicate: str
    arguments: tuple[Term, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(map(str, self.arguments))})"


class Operator(StrEnum):
    """How a comparison relates two terms."""

    EQUAL = "=="
    DIFFERENT = "!="  #: also written `-`
    ORDERED = "%"  #: each unordered pair of different terms once; also written `^`


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms compared."""

    left: Term
    operator: Operator
    right: Term
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or a comparison, or its negation."""

    atom: Atom | Comparison
    negated: bool = False

    def __str__(self) -> str:
        return f"!{self.atom}" if self.negated else str(self.atom)


@dataclass(frozen=True, slots=True)
class LogicalRule:
    """A conjunction that implies a disjunction; without a body, the disjunction itself.

    `weight` is None in a hard rule. `squared` is PSL's `^2`. The rules of a model may have a way of
    counting, thresholds, which do not overlap and are in their order, and what was counted.
    """

    weight: float | None
    body: tuple[Literal, ...]
    head: tuple[Literal, ...]
    squared: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)
    weighing: Bracket | None = None
    thresholds: tuple[ThresholdSpan, ...] = ()
    counted: CountedBracket | None = None

    def __post_init__(self) -> None:
        check_weight(self.weight, self.squared)
        if not self.head:
            raise ValueError("a rule has at least one literal in its head")
        if self.weighing is not None and self.weighing.is_threshold:
            raise ValueError(f"{self.weighing} is a threshold; a rule has a way of counting")
        check_spans(self.thresholds, len(self.body))

    def __str__(self) -> str:
        head = " | ".join(map(str, self.head))
        body = " & ".join(with_thresholds(list(map(str, self.body)), self.thresholds))
        core = f"{body} -> {head}" if self.body else head
        brackets = (self.weighing, self.counted)
        core = " ".join([core, *(str(one) for one in brackets if one is not None)])
        return weighted_text(core, self.weight, self.squared)


def check_weight(weight: float | None, squared: bool) -> None:
    """Refuse weights that are not numbers, and exponents of hard rules."""
    if weight is None and squared:
        raise ValueError("a hard rule has no exponent")
    if weight is not None and not math.isfinite(weight):
        raise ValueError(f"a weight is a finite number, not {weight}")


def weight_text(weight: float) -> str:
    """Shortest text that reads back as the same float; PSL takes no `+` in an exponent.

    Examples
    --------
    >>> weight_text(0.1), weight_text(1e300)
    ('0.1', '1e300')
    """
    return repr(float(weight)).replace("e+", "e")


def weighted_text(core: str, weight: float | None, squared: bool) -> str:
    """The text of a rule with its weight and exponent, or with the period of a hard one."""
    if weight is None:
        return f"{core} ."
    return f"{weight_text(weight)}: {core}{' ^2' if squared else ''}"
