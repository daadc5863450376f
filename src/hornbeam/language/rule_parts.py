"""Parts of a rule: its atoms, literals, constants, variables, and the parts of coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hornbeam.errors import DataError
from hornbeam.language.arithmetic_rules import (
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Condition,
    Extreme,
    Number,
    Operation,
    PslRule,
    SumAtom,
    SumVariable,
)
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Literal,
    LogicalRule,
    Place,
    Variable,
    error_at,
)

Argument = Variable | Constant | SumVariable

#: Letters of a rule that a message shows.
MAX_SHOWN = 200


class RefusedError(Exception):
    """Why a rule is refused, and at which place; without one, the whole rule."""

    def __init__(self, why: str, place: Place | None = None) -> None:
        super().__init__(why)
        self.place = place


def refusal(rule: PslRule, why: str, source: str, place: Place | None = None) -> DataError:
    """Error that names a rule, its place (or the given one) and why it is refused."""
    text = str(rule)
    shown = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return error_at(place or rule.place, source, f"{why} (the rule is: {shown})")


def atoms_of(rule: PslRule) -> Iterator[Atom | SumAtom]:
    """Yield the atoms of a rule, those of its filters last."""
    if isinstance(rule, ArithmeticRule):
        yield from rule.atoms
    yield from (one.atom for one in _literals(rule) if isinstance(one.atom, Atom))


def _literals(rule: PslRule) -> Iterator[Literal]:
    """Yield the literals of a logical rule, or of an arithmetic rule's filters."""
    if isinstance(rule, LogicalRule):
        yield from (*rule.body, *rule.head)
    else:
        for one in rule.filters:
            yield from literals_of(one.condition)


def literals_of(condition: Condition) -> Iterator[Literal]:
    """Yield the literals of a filter's condition."""
    if isinstance(condition, Literal):
        yield condition
    else:
        for part in condition.parts:
            yield from literals_of(part)


def constants_of(rule: PslRule) -> set[str]:
    """Constants of a rule."""
    parts: list[Atom | SumAtom | Comparison] = [literal.atom for literal in _literals(rule)]
    if isinstance(rule, ArithmeticRule):
        parts += [*rule.atoms, *rule.comparisons]
    terms = (term for part in parts for term in _terms(part))
    return {term.value for term in terms if isinstance(term, Constant)}


def variables_of(atom: Atom | SumAtom | Comparison) -> set[str]:
    """Variables of an atom or comparison, summation variables aside."""
    return {term.name for term in _terms(atom) if isinstance(term, Variable)}


def _terms(atom: Atom | SumAtom | Comparison) -> Sequence[Argument]:
    return (atom.left, atom.right) if isinstance(atom, Comparison) else atom.arguments


def cardinalities_of(coefficient: Coefficient) -> Iterator[str]:
    """Yield the variables that a coefficient counts."""
    match coefficient:
        case Cardinality(variable):
            yield variable
        case Operation(_, left, right):
            yield from cardinalities_of(left)
            yield from cardinalities_of(right)
        case Extreme(_, arguments):
            for argument in arguments:
                yield from cardinalities_of(argument)


def fixed_value(coefficient: Coefficient) -> float | None:
    """Value of a coefficient without cardinalities; None where it has some or divides by zero."""
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
