r"""The rule language of PSL 2.4: text to rules and back.

Rules are weighted or hard, logical or arithmetic, over predicates of any arity:

    0.83: cites(A, B) & mentions(B, C) & (A != C) -> mentions(A, C) ^2
    friends(A, B) -> friends(B, A) .
    0.5: likes(A, +B) / |B| <= outgoing(A) ^2 {B: item(B) & !hidden(B)}
    category(A, +C) = 1 .

Rules of model files may have brackets, which are Hornbeam's own (see `hornbeam.language.brackets`):

    0.8: (cites(A, X) & cites(X, B)) [n >= 3] & paper(B) -> cites(A, B) [log]

The grammar is `psl.lark`. A rule may run over several lines; it ends at its period (and filters),
or where a line begins that cannot continue it. Constants stand in quotes, with the escapes \\ \' \"
\t \n \r, and hold no line break; a number among the arguments is a constant too.

Arithmetic is read as PSL reads it: as many numbers as possible form one coefficient, so that
`2 + 3 * a(A)` is `5 * a(A)`, `a(A) - 1 - 2` is `a(A) - (1 - 2)` and `a(A) / 2 + 3` is `a(A) / 5`.
Parentheses and constants behind the atoms say what is meant; printed rules have both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal as Literally
from typing import NamedTuple

from hornbeam.errors import DataError
from hornbeam.language.brackets import Bracket, ThresholdSpan, with_thresholds

_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\t": r"\t", "\n": r"\n", "\r": r"\r"})

ArithmeticOperator = Literally["+", "-", "*", "/"]


class Place(NamedTuple):
    """Where something stands in a text; lines and columns count from 1."""

    line: int
    column: int


def error_at(place: Place | None, name: str, problem: str) -> DataError:
    """Make an error at a place (if known) of the text that messages call `name`."""
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
    """A term that stands for itself, an entity's name."""

    value: str

    def __str__(self) -> str:
        return f"'{self.value.translate(_ESCAPES)}'"


Term = Variable | Constant


@dataclass(frozen=True, slots=True)
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
    counting and thresholds, which do not overlap and stand in their order.
    """

    weight: float | None
    body: tuple[Literal, ...]
    head: tuple[Literal, ...]
    squared: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)
    weighing: Bracket | None = None
    thresholds: tuple[ThresholdSpan, ...] = ()

    def __post_init__(self) -> None:
        _check_weight(self.weight, self.squared)
        if not self.head:
            raise ValueError("a rule has at least one literal in its head")
        if self.weighing is not None and self.weighing.is_threshold:
            raise ValueError(f"{self.weighing} is a threshold; a rule has a way of counting")
        end = 0
        for span in self.thresholds:
            if not (
                end <= span.start < span.stop <= len(self.body) and span.threshold.is_threshold
            ):
                raise ValueError("thresholds stand behind literals of the body, in their order")
            end = span.stop

    def __str__(self) -> str:
        return rule_text(self)


@dataclass(frozen=True)
class SumVariable:
    """An argument `+V`: the atoms of all constants that stand there are added up."""

    name: str

    def __str__(self) -> str:
        return f"+{self.name}"


@dataclass(frozen=True)
class SumAtom:
    """A predicate over terms and summation variables: one atom, or a sum of atoms."""

    predicate: str
    arguments: tuple[Variable | Constant | SumVariable, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Number:
    """A coefficient that is written as it is."""

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"a coefficient is a finite number, not {self.value}")

    def __str__(self) -> str:
        return weight_text(self.value)


@dataclass(frozen=True)
class Cardinality:
    """`|V|`: over how many constants the summation variable V runs."""

    variable: str

    def __str__(self) -> str:
        return f"|{self.variable}|"


@dataclass(frozen=True)
class Operation:
    """Two coefficients added, subtracted, multiplied or divided."""

    operator: ArithmeticOperator
    left: Coefficient
    right: Coefficient

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Extreme:
    """The lesser or the greater of two coefficients."""

    function: Literally["Min", "Max"]
    arguments: tuple[Coefficient, ...]

    def __post_init__(self) -> None:
        if len(self.arguments) != 2:
            raise ValueError(f"@{self.function} has two arguments, not {len(self.arguments)}")

    def __str__(self) -> str:
        return f"@{self.function}[{', '.join(map(str, self.arguments))}]"


Coefficient = Number | Cardinality | Operation | Extreme


@dataclass(frozen=True)
class Summand:
    """A coefficient times an atom; without an atom, a constant."""

    coefficient: Coefficient
    atom: SumAtom | None = None

    def __str__(self) -> str:
        if self.atom is None:
            return str(self.coefficient)
        if self.coefficient == Number(1.0):
            return str(self.atom)
        return f"{self.coefficient} * {self.atom}"


@dataclass(frozen=True)
class AllOf:
    """All of several conditions; none of them is a conjunction itself."""

    parts: tuple[Literal | AnyOf, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts, AllOf)

    def __str__(self) -> str:
        return " & ".join(f"({p})" if isinstance(p, AnyOf) else str(p) for p in self.parts)


@dataclass(frozen=True)
class AnyOf:
    """One of several conditions; none of them is a disjunction itself."""

    parts: tuple[Literal | AllOf, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts, AnyOf)

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


#: Negations stand before atoms only: PSL knows no other.
Condition = Literal | AllOf | AnyOf


def _check_parts(parts: tuple[Condition, ...], kind: type) -> None:
    if len(parts) < 2 or any(isinstance(part, kind) for part in parts):
        raise ValueError(f"a {kind.__name__} has two or more parts, and none of its own kind")


@dataclass(frozen=True)
class Filter:
    """`{V: condition}`: the summation variable V runs over constants that meet the condition."""

    variable: str
    condition: Condition

    def __str__(self) -> str:
        return f"{{{self.variable}: {self.condition}}}"


class Relation(StrEnum):
    """How both sides of an arithmetic rule compare."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="


@dataclass(frozen=True)
class ArithmeticRule:
    """A linear relation of atoms.

    Each side has its atoms first and at most one constant, which stands last: in front of an atom
    it would be read as part of the atom's coefficient. A variable may stand once only as a
    summation variable. PSL lets `comparisons` stand among the atoms; they choose groundings and add
    nothing to the sums, whatever their coefficient. `weight` is None in a hard rule. `squared` is
    PSL's `^2`.
    """

    weight: float | None
    left: tuple[Summand, ...]
    relation: Relation
    right: tuple[Summand, ...]
    filters: tuple[Filter, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    squared: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_weight(self.weight, self.squared)
        for side in (self.left, self.right):
            if not side or any(summand.atom is None for summand in side[:-1]):
                raise ValueError("a side has atoms, then at most one constant")

    def __str__(self) -> str:
        return rule_text(self)

    @property
    def summands(self) -> tuple[Summand, ...]:
        """Summands of both sides."""
        return (*self.left, *self.right)

    @property
    def atoms(self) -> list[SumAtom]:
        """Atoms of both sides."""
        return [summand.atom for summand in self.summands if summand.atom is not None]


PslRule = LogicalRule | ArithmeticRule


def _check_weight(weight: float | None, squared: bool) -> None:
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


def rule_text(rule: PslRule) -> str:
    """Text of a rule, which parses to the same rule."""
    if isinstance(rule, ArithmeticRule):
        # Comparisons stand before the constant, which would be read as their coefficient.
        atoms = [summand for summand in rule.left if summand.atom is not None]
        left = [*atoms, *rule.comparisons, *rule.left[len(atoms) :]]
        sides = (" + ".join(map(str, side)) for side in (left, rule.right))
        core, filters = f" {rule.relation} ".join(sides), [f" {one}" for one in rule.filters]
    else:
        head = " | ".join(map(str, rule.head))
        body = " & ".join(with_thresholds(list(map(str, rule.body)), rule.thresholds))
        core = f"{body} -> {head}" if rule.body else head
        core = core if rule.weighing is None else f"{core} {rule.weighing}"
        filters = []
    if rule.weight is None:
        text = f"{core} ."
    else:
        text = f"{weight_text(rule.weight)}: {core}{' ^2' if rule.squared else ''}"
    return "".join([text, *filters])


def parse_rules(text: str, name: str) -> list[PslRule]:
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
        With line and column of the first place that is no rule, and what was expected.

    Examples
    --------
    >>> [rule] = parse_rules("0.5: knows(A, B) << knows(B, A) # both ways", "program.psl")
    >>> str(rule)
    '0.5: knows(B, A) -> knows(A, B)'
    >>> [rule] = parse_rules("1 - friend(A, +B) / 2 >= 0 .", "program.psl")
    >>> str(rule)
    '(-1.0 / 2.0) * friend(A, +B) + 1.0 >= 0.0 .'
    """
    # Lark loads when a text is parsed: rules are made, shown and written without it.
    from hornbeam.language.parsing import read_rules

    return list(read_rules(unix_lines(text), name))


def parse_logical_rules(text: str, name: str) -> list[LogicalRule]:
    """Rules of a text that holds logical rules only, as model files do; see `parse_rules`.

    They may have brackets: ways of counting behind rules, thresholds behind atoms and groups.

    Raises
    ------
    DataError
        Also where an arithmetic rule stands.

    Examples
    --------
    >>> text = "1: (a(A, X) & b(X, B)) [n >= 3] & c(B) -> t(A, B) [share / 0.0123] ^2"
    >>> [rule] = parse_logical_rules(text, "model.psl")
    >>> str(rule.weighing), str(rule.thresholds[0].threshold)
    ('[share / 0.0123]', '[n >= 3]')
    """
    from hornbeam.language.parsing import read_rules

    rules = []
    for rule in read_rules(unix_lines(text), name, brackets=True):
        if isinstance(rule, ArithmeticRule):
            problem = (
                f"'{rule.relation}' makes this an arithmetic rule, and only logical rules are "
                f"read here (the rule is: {rule})"
            )
            raise error_at(rule.place, name, problem)
        rules.append(rule)
    return rules


def unix_lines(text: str) -> str:
    r"""Drop a byte order mark and write `\n` for every line end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
