r"""The rule language of PSL 2.4: text to rules and back.

Rules are weighted or hard, logical or arithmetic, over predicates of any arity:

    0.83: cites(A, B) & mentions(B, C) & (A != C) -> mentions(A, C) ^2
    friends(A, B) -> friends(B, A) .
    0.5: likes(A, +B) / |B| <= outgoing(A) ^2 {B: item(B) & !hidden(B)}
    category(A, +C) = 1 .

Rules of model files may have brackets, which are Hornbeam's own. They say what PSL cannot express:

    0.8: (cites(A, X) & cites(X, B)) [n >= 3] & paper(B) -> cites(A, B) [log]
    0.66: neighbour(X, A) & in_subregion(A, Y) -> in_subregion(X, Y) [88 of 129]

They may also compare numbers and dates, or standardise them:

    0.4: (year(A) - year(B) < 3) & (born(A) >= 1931-05-04) -> knows(A, B)
    0.3: year(A) & (B == 'PG') -> rating(A, B) [z / 1987.2 12.4]

The grammar is `psl.lark`. A rule may run over several lines. It ends at its period (and filters),
or before a line that cannot continue it. Constants are in quotes, with the escapes \\ \' \"
\t \n \r, and have no line break. A number among the arguments is a constant too.

This module has terms, atoms and logical rules. `hornbeam.language.arithmetic_rules` has arithmetic
rules, and `hornbeam.language.rule_texts` reads texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal as Literally
from typing import NamedTuple

from hornbeam.base.dates import date_text
from hornbeam.errors import DataError
from hornbeam.language.time_brackets import NO_TIME, TimeCondition, time_text

_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r"}

BracketOperator = Literally["", "/", ">=", ">"]


class Place(NamedTuple):
    """A position in a text; lines and columns count from 1."""

    line: int
    column: int


def error_at(place: Place | None, name: str, problem: str) -> DataError:
    """Make an error at a place (if known) of a text; `name` is the text's name in messages."""
    line, column = (place.line, place.column) if place else (None, None)
    return DataError(name, problem, line=line, column=column)


@dataclass(frozen=True, slots=True)
class Variable:
    """A term that stands for any constant."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A term that stands for one entity, by its name."""

    value: str

    def __str__(self) -> str:
        return f"'{self.value.translate(_ESCAPES)}'"


@dataclass(frozen=True, slots=True)
class SumVariable:
    """An argument `+V` in an arithmetic rule: the atoms of all constants V are added up."""

    name: str

    def __str__(self) -> str:
        return f"+{self.name}"


#: Only atoms of arithmetic rules have summation variables.
Term = Variable | Constant | SumVariable


def unescaped(text: str) -> str:
    """The name that a constant's text stands for, quotes and escapes removed."""
    return re.sub(r"\\(.)", lambda escape: _UNESCAPED.get(escape[1], escape[1]), text[1:-1])


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate over terms; with summation variables it is a sum of atoms."""

    predicate: str
    arguments: tuple[Term, ...]
    place: Place | None = field(default=None, compare=False, repr=False)
    when: TimeCondition = NO_TIME  #: Hornbeam's extension of PSL, in models only
    after: str = ""  #: the predicate of a neighbour on a path that was true before, likewise

    @property
    def has_time(self) -> bool:
        """Whether brackets say when it was true."""
        return self.when != NO_TIME or bool(self.after)

    def __str__(self) -> str:
        arguments = ", ".join(map(str, self.arguments))
        return f"{self.predicate}({arguments}){time_text(self.when, self.after)}"


class Operator(StrEnum):
    """How a comparison relates two terms."""

    EQUAL = "=="
    DIFFERENT = "!="  #: also written `-`
    ORDERED = "%"  #: each unordered pair of different terms once; also written `^`
    AT_LEAST = ">="  #: of numbers only, see `NumberTest`
    BELOW = "<"  #: of numbers only
    VALUE = ""  #: of numbers only: nothing is compared


class Unit(StrEnum):
    """What a bound is written in."""

    NUMBER = "number"
    DATE = "date"  #: the bound is a number of days, and written as an ISO date
    DAYS = "days"  #: the bound is a difference of dates


@dataclass(frozen=True, slots=True)
class Bound:
    """What a number is compared with.

    Examples
    --------
    >>> str(Bound(1990.0)), str(Bound(-14123.0, Unit.DATE)), str(Bound(30.0, Unit.DAYS))
    ('1990', '1931-05-03', '30 days')
    """

    value: float
    unit: Unit = Unit.NUMBER

    def __str__(self) -> str:
        if self.unit is Unit.DATE:
            return date_text(self.value)
        number = weight_text(self.value).removesuffix(".0")
        return f"{number} days" if self.unit is Unit.DAYS else number


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two terms."""

    left: Term
    operator: Operator
    right: Term
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True, slots=True)
class NumberTest(Comparison):
    """A comparison of a number with a bound, Hornbeam's extension of PSL; or the number itself.

    The number is the `attribute` of the entity `left`, or its difference with the attribute `minus`
    of the entity `right`. `right` is the bound's text where there is no difference. Without a
    bound, the operator is `VALUE`.

    Examples
    --------
    >>> one, other = Variable("A"), Variable("B")
    >>> str(NumberTest(one, Operator.BELOW, other, None, "lat", "lat", True, Bound(2.5)))
    '(abs(lat(A) - lat(B)) < 2.5)'
    """

    attribute: str = ""
    minus: str | None = None
    absolute: bool = False
    bound: Bound | None = None

    def __str__(self) -> str:
        value = f"{self.attribute}({self.left})"
        if self.minus is not None:
            value = f"{value} - {self.minus}({self.right})"
            value = f"abs({value})" if self.absolute else value
        if self.bound is not None:
            return f"({value} {self.operator} {self.bound})"
        return f"({value})" if self.minus is not None and not self.absolute else value


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or a comparison, or its negation."""

    atom: Atom | Comparison
    negated: bool = False

    def __str__(self) -> str:
        return f"!{self.atom}" if self.negated else str(self.atom)


@dataclass(frozen=True)
class Bracket:
    """A bracket after a rule or after some of its literals, Hornbeam's extension of PSL.

    A way of counting is a name, or a name divided by a number: `[log]`, `[share / 0.0123]`. That of
    standardised numbers has mean and deviation, `[z / 1987.2 12.4]`. A
    threshold compares a name with a number: `[n >= 25]`, `[share > 0.012]`.
    """

    name: str
    operator: BracketOperator = ""
    number: float | None = None
    place: Place | None = field(default=None, compare=False, repr=False)
    second: float | None = None  #: a second number

    def __post_init__(self) -> None:
        if bool(self.operator) != (self.number is not None):
            raise ValueError("a bracket has an operator and a number, or neither")
        if self.number is not None and not math.isfinite(self.number):
            raise ValueError(f"the number in a bracket is finite, not {self.number}")

    @property
    def is_threshold(self) -> bool:
        """Whether the bracket compares, which makes it a threshold."""
        return self.operator in (">=", ">")

    def __str__(self) -> str:
        if self.number is None:
            return f"[{self.name}]"
        # a whole number as it is counted, 25 and not 25.0
        numbers = [self.number, *([] if self.second is None else [self.second])]
        texts = [repr(float(number)).removesuffix(".0") for number in numbers]
        return f"[{self.name} {self.operator} {' '.join(texts)}]"


@dataclass(frozen=True)
class CountedBracket:
    """The bracket of a rule's counted figures: `[88 of 129]`, `[88 of 129, weight -0.5]`.

    The rule proposed `predicted` answers of queries, and `hits` of them were right. `weight` is the
    number that the ranking adds for the rule alone.
    """

    hits: int
    predicted: int
    weight: float = 0.0
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        own = f", weight {weight_text(self.weight)}" if self.weight else ""
        return f"[{self.hits} of {self.predicted}{own}]"


@dataclass(frozen=True)
class ThresholdSpan:
    """A threshold after the literals from `start` to before `stop` of a body."""

    start: int
    stop: int
    threshold: Bracket


@dataclass(frozen=True, slots=True)
class LogicalRule:
    """A conjunction that implies a disjunction; without a body, the disjunction itself.

    `weight` is None in a hard rule. `squared` is PSL's `^2`. Only rules of models have brackets:
    `weighing` is the way of counting, `thresholds` are in the order of the text and do not overlap,
    and `counted` has the counted figures.
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
        _check_spans(self.thresholds, len(self.body))

    def __str__(self) -> str:
        head = " | ".join(map(str, self.head))
        body = " & ".join(_with_thresholds(list(map(str, self.body)), self.thresholds))
        core = f"{body} -> {head}" if self.body else head
        brackets = (self.weighing, self.counted)
        core = " ".join([core, *(str(bracket) for bracket in brackets if bracket is not None)])
        return weighted_text(core, self.weight, self.squared)


def check_weight(weight: float | None, squared: bool) -> None:
    """Refuse weights that are not finite, and exponents of hard rules."""
    if weight is None and squared:
        raise ValueError("a hard rule has no exponent")
    if weight is not None and not math.isfinite(weight):
        raise ValueError(f"a weight is a finite number, not {weight}")


def weight_text(weight: float) -> str:
    """Shortest text that reads back as the same float, without `+` in an exponent, as in PSL.

    Examples
    --------
    >>> weight_text(0.1), weight_text(1e300)
    ('0.1', '1e300')
    """
    return repr(float(weight)).replace("e+", "e")


def weighted_text(core: str, weight: float | None, squared: bool) -> str:
    """The text of a rule with its weight and exponent, or with the period of a hard rule."""
    if weight is None:
        return f"{core} ."
    return f"{weight_text(weight)}: {core}{' ^2' if squared else ''}"


def _check_spans(thresholds: Sequence[ThresholdSpan], n_literals: int) -> None:
    """Raise ValueError for thresholds that follow no literals, overlap, or compare nothing."""
    end = 0
    for span in thresholds:
        within = end <= span.start < span.stop <= n_literals
        if not within or not span.threshold.is_threshold:
            raise ValueError("thresholds stand behind literals of the body, in their order")
        end = span.stop


def _with_thresholds(literals: Sequence[str], thresholds: Sequence[ThresholdSpan]) -> Iterator[str]:
    """Yield texts of literals; a threshold and the literals of its span form one text."""
    end = 0
    for span in thresholds:
        yield from literals[end : span.start]
        text = " & ".join(literals[span.start : span.stop])
        several = span.stop - span.start > 1
        yield f"({text}) {span.threshold}" if several else f"{text} {span.threshold}"
        end = span.stop
    yield from literals[end:]
