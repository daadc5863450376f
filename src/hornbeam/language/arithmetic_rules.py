"""Arithmetic rules of PSL, which are linear relations of atoms; and the parts of any rule.

Arithmetic is read as PSL reads it: as many numbers as possible form one coefficient, so that
`2 + 3 * a(A)` is `5 * a(A)`, `a(A) - 1 - 2` is `a(A) - (1 - 2)` and `a(A) / 2 + 3` is `a(A) / 5`.
Parentheses and constants after the atoms are unambiguous; printed rules have both.

The functions at the end list the atoms, literals, constants and variables of any rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal as Literally

from hornbeam.errors import DataError
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Literal,
    LogicalRule,
    Place,
    Term,
    Variable,
    check_weight,
    error_at,
    weight_text,
    weighted_text,
)

ArithmeticOperator = Literally["+", "-", "*", "/"]
#: Maximum number of characters of a rule that a message shows.
MAX_SHOWN = 200


@dataclass(frozen=True)
class Number:
    """A number as a coefficient."""

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"a coefficient is a finite number, not {self.value}")

    def __str__(self) -> str:
        return weight_text(self.value)


@dataclass(frozen=True)
class Cardinality:
    """`|V|`: the number of constants that the summation variable V runs over."""

    variable: str

    def __str__(self) -> str:
        return f"|{self.variable}|"


@dataclass(frozen=True)
class Operation:
    """A sum, difference, product or quotient of two coefficients."""

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
    atom: Atom | None = None

    def __str__(self) -> str:
        if self.atom is None:
            return str(self.coefficient)
        if self.coefficient == Number(1.0):
            return str(self.atom)
        return f"{self.coefficient} * {self.atom}"


@dataclass(frozen=True)
class AllOf:
    """A conjunction of conditions, none of which is a conjunction itself."""

    parts: tuple[Literal | AnyOf, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts, AllOf)

    def __str__(self) -> str:
        return " & ".join(f"({p})" if isinstance(p, AnyOf) else str(p) for p in self.parts)


@dataclass(frozen=True)
class AnyOf:
    """A disjunction of conditions, none of which is a disjunction itself."""

    parts: tuple[Literal | AllOf, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts, AnyOf)

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


#: Only atoms are negated: PSL has no other negation.
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

    Each side has its atoms first and at most one constant, which comes last: before an atom, the
    constant would be read as part of the atom's coefficient. A summation variable may occur only
    once. PSL allows `comparisons` among the atoms. They choose groundings and add nothing to the
    sums, whatever their coefficient. `weight` is None in a hard rule. `squared` is PSL's `^2`.
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
        check_weight(self.weight, self.squared)
        for side in (self.left, self.right):
            if not side or any(summand.atom is None for summand in side[:-1]):
                raise ValueError("a side has atoms, then at most one constant")

    def __str__(self) -> str:
        # Comparisons come before the constant, which would be read as their coefficient.
        atoms = [summand for summand in self.left if summand.atom is not None]
        left = [*atoms, *self.comparisons, *self.left[len(atoms) :]]
        sides = (" + ".join(map(str, side)) for side in (left, self.right))
        core = f" {self.relation} ".join(sides)
        text = weighted_text(core, self.weight, self.squared)
        return "".join([text, *(f" {condition}" for condition in self.filters)])

    @property
    def summands(self) -> tuple[Summand, ...]:
        """Summands of both sides."""
        return (*self.left, *self.right)

    @property
    def atoms(self) -> list[Atom]:
        """Atoms of both sides."""
        return [summand.atom for summand in self.summands if summand.atom is not None]


PslRule = LogicalRule | ArithmeticRule


# --- parts of a rule ------------------------------------------------------------------------------


class RefusedError(Exception):
    """The error of a refused rule that the grammar allows: why it is refused, and the place."""

    def __init__(self, why: str, place: Place | None = None) -> None:
        super().__init__(why)
        self.place = place


def refusal(rule: PslRule, why: str, source: str, place: Place | None = None) -> DataError:
    """The error about a refused rule: its text, why it is refused, and `place` or its own place."""
    text = str(rule)
    shown = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return error_at(place or rule.place, source, f"{why} (the rule is: {shown})")


def unweighted(rule: PslRule) -> str:
    """The text of a rule without its weight; a hard rule keeps its period."""
    return str(rule) if rule.weight is None else core_text(rule)


def core_text(rule: PslRule) -> str:
    """The text of a rule without its weight, or the period of a hard rule."""
    weight = 1.0 if rule.weight is None else rule.weight
    return str(replace(rule, weight=weight)).removeprefix(f"{weight_text(weight)}: ")


def atoms_of(rule: PslRule) -> Iterator[Atom]:
    """Yield the atoms of a rule; atoms of its filters come last."""
    if isinstance(rule, ArithmeticRule):
        yield from rule.atoms
    atoms = (literal.atom for literal in _literals(rule))
    yield from (atom for atom in atoms if isinstance(atom, Atom))


def _literals(rule: PslRule) -> Iterator[Literal]:
    """Yield the literals of a logical rule, or of an arithmetic rule's filters."""
    if isinstance(rule, LogicalRule):
        yield from (*rule.body, *rule.head)
    else:
        for chosen in rule.filters:
            yield from literals_of(chosen.condition)


def literals_of(condition: Condition) -> Iterator[Literal]:
    """The literals of a filter's condition."""
    return (part for part in nested(condition) if isinstance(part, Literal))


def constants_of(rule: PslRule) -> set[str]:
    """Constants of a rule."""
    parts: list[Atom | Comparison] = [literal.atom for literal in _literals(rule)]
    if isinstance(rule, ArithmeticRule):
        parts += [*rule.atoms, *rule.comparisons]
    terms = (term for part in parts for term in _terms(part))
    return {term.value for term in terms if isinstance(term, Constant)}


def variables_of(atom: Atom | Comparison) -> set[str]:
    """Variables of an atom or comparison, without summation variables."""
    return {term.name for term in _terms(atom) if isinstance(term, Variable)}


def rule_variables(rule: PslRule) -> list[str]:
    """Variables of a rule in alphabetical order, without summation variables and filters."""
    if isinstance(rule, ArithmeticRule):
        return sorted(set[str]().union(*map(variables_of, rule.atoms)))
    return sorted(set[str]().union(*(variables_of(one.atom) for one in _literals(rule))))


def _terms(atom: Atom | Comparison) -> Sequence[Term]:
    return (atom.left, atom.right) if isinstance(atom, Comparison) else atom.arguments


def cardinalities_of(coefficient: Coefficient) -> Iterator[str]:
    """The summation variables that a coefficient counts."""
    return (part.variable for part in nested(coefficient) if isinstance(part, Cardinality))


def nested(whole: Coefficient | Condition) -> Iterator[Coefficient | Condition]:
    """Yield a coefficient or condition and its parts at any depth, in the order of the text."""
    yield whole
    for part in operands(whole):
        yield from nested(part)


def operands(whole: Coefficient | Condition) -> Sequence[Coefficient | Condition]:
    """The parts of a coefficient or condition, one level deep."""
    match whole:
        case Operation():
            return (whole.left, whole.right)
        case Extreme():
            return whole.arguments
        case AllOf() | AnyOf():
            return whole.parts
    return ()


def fixed_value(coefficient: Coefficient) -> float | None:
    """Value of a coefficient; None if it contains a cardinality or divides by zero."""
    match coefficient:
        case Number(value):
            return value
        case Operation(operator, left, right):
            first, second = fixed_value(left), fixed_value(right)
            if first is None or second is None or (operator == "/" and second == 0):
                return None
            values = {"+": first + second, "-": first - second, "*": first * second}
            return values[operator] if operator != "/" else first / second
        case Extreme(function, arguments):
            found = [value for value in map(fixed_value, arguments) if value is not None]
            choose = min if function == "Min" else max
            return choose(found) if len(found) == len(arguments) else None
    return None
