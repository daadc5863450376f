r"""The rule language of PSL 2.4: text to rules and back.

Read here are logical rules, weighted or hard, over predicates of any arity:

    0.83: cites(A, B) & mentions(B, C) & (A != C) -> mentions(A, C) ^2
    friends(A, B) -> friends(B, A) .

The grammar is `psl.lark`. A rule may run over several lines; it ends at its period, or where a line
begins that cannot continue it. Constants stand in quotes, with the escapes \\ \' \" \t \n \r, and
hold no line break; a number among the arguments is a constant too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


@dataclass(frozen=True)
class Place:
    """Where something stands in a text; lines and columns count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Variable:
    """A term that stands for any constant."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Constant:
    """A term that stands for itself, an entity's name."""

    value: str

    def __str__(self) -> str:
        return f"'{self.value.translate(_ESCAPES)}'"


Term = Variable | Constant


@dataclass(frozen=True)
class Atom:
    """A predicate over terms."""

    predicate: str
    arguments: tuple[Term, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(map(str, self.arguments))})"


class Operator(StrEnum):
    """What a comparison asks of two terms."""

    EQUAL = "=="
    DIFFERENT = "!="  #: also written `-`
    ORDERED = "%"  #: each unordered pair of different terms once; also written `^`


@dataclass(frozen=True)
class Comparison:
    """Two terms compared."""

    left: Term
    operator: Operator
    right: Term
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Literal:
    """An atom or a comparison, or its negation."""

    atom: Atom | Comparison
    negated: bool = False

    def __str__(self) -> str:
        return f"!{self.atom}" if self.negated else str(self.atom)


@dataclass(frozen=True)
class LogicalRule:
    """A conjunction that implies a disjunction; without a body, the disjunction itself.

    `weight` is None in a hard rule. `squared` is PSL's `^2`.
    """

    weight: float | None
    body: tuple[Literal, ...]
    head: tuple[Literal, ...]
    squared: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.weight is None and self.squared:
            raise ValueError("a hard rule has no exponent")
        if self.weight is not None and not math.isfinite(self.weight):
            raise ValueError(f"a weight is a finite number, not {self.weight}")
        if not self.head:
            raise ValueError("a rule has at least one literal in its head")

    def __str__(self) -> str:
        return rule_text(self)


def weight_text(weight: float) -> str:
    """Shortest text that reads back as the same float; PSL takes no `+` in an exponent.

    Examples
    --------
    >>> weight_text(0.1), weight_text(1e300)
    ('0.1', '1e300')
    """
    return repr(float(weight)).replace("e+", "e")


def rule_text(rule: LogicalRule) -> str:
    """Text of a rule, which parses to the same rule."""
    head = " | ".join(map(str, rule.head))
    implication = f"{' & '.join(map(str, rule.body))} -> {head}" if rule.body else head
    if rule.weight is None:
        return f"{implication} ."
    return f"{weight_text(rule.weight)}: {implication}{' ^2' if rule.squared else ''}"


def parse_rules(text: str, name: str) -> list[LogicalRule]:
    """Rules of a text, in its order.

    Parameters
    ----------
    text
        Rules, comments and blank lines; a byte order mark and any line ends are tolerated.
    name
        What messages call the text: the file's name.

    Raises
    ------
    DataError
        With line and column of the first place that is no logical rule, and what was expected.

    Examples
    --------
    >>> [rule] = parse_rules("0.5: knows(A, B) << knows(B, A) # both ways", "model.psl")
    >>> str(rule)
    '0.5: knows(B, A) -> knows(A, B)'
    """
    # Lark loads when a text is parsed: rules are made, shown and written without it.
    from hornbeam.clauses.parsing import read_rules

    return list(read_rules(unix_lines(text), name))


def unix_lines(text: str) -> str:
    r"""Drop a byte order mark and write `\n` for every line end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
