"""Conditions on numbers: what a body says about attributes of its entities.

| text | its groundings |
|---|---|
| `(year(A) >= 1990)` | values of A's attribute from 1990 on |
| `(year(A) - year(B) < 3)` | pairs of a value of A and a value of B |
| `(abs(lat(A) - lat(B)) < 2)` | the same, whatever the sign of the difference |
| `year(A)`, `(year(A) - year(B))` | all values, which `[z / mean deviation]` standardises |

An entity without a value of an attribute has no grounding, so every comparison is false. Whether it
has a value is a condition of its own, `has_year(A)`: a unary predicate that numbers ground, unless
the facts have a predicate of that name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hornbeam.facts.numbers import Numbers
from hornbeam.language.syntax import Bound, Constant, NumberTest, Operator, Term, Unit

#: Begins the name of the unary predicate of entities that have a value of an attribute.
HAS = "has_"


@dataclass(frozen=True)
class NumberCondition:
    """An attribute of an entity, or its difference with one of the other argument, and a bound.

    Without a bound it is the value itself.

    Examples
    --------
    >>> from hornbeam.language.syntax import Variable
    >>> recent = NumberCondition("year", operator=Operator.AT_LEAST, bound=Bound(1990.0))
    >>> str(recent.test(Variable("A"), Variable("B")))
    '(year(A) >= 1990)'
    """

    attribute: str
    minus: str | None = None  #: attribute of the other argument, which is subtracted
    absolute: bool = False
    operator: Operator = Operator.VALUE
    bound: Bound | None = None

    @classmethod
    def of(cls, test: NumberTest, attribute: str, minus: str | None) -> NumberCondition:
        """The condition of a comparison whose attributes have these names."""
        return cls(attribute, minus, test.absolute, test.operator, test.bound)

    @property
    def is_value(self) -> bool:
        """Whether it is a value, which is compared with nothing."""
        return self.bound is None

    @property
    def attributes(self) -> set[str]:
        """The attributes that it is about."""
        return {self.attribute} if self.minus is None else {self.attribute, self.minus}

    @property
    def value(self) -> NumberCondition:
        """The value that it compares."""
        return replace(self, operator=Operator.VALUE, bound=None)

    def compared(self, operator: Operator, bound: Bound) -> NumberCondition:
        """The same value compared with a bound."""
        return replace(self, operator=operator, bound=bound)

    @property
    def swapped(self) -> NumberCondition:
        """An absolute difference written from its other end."""
        assert self.minus is not None
        return replace(self, attribute=self.minus, minus=self.attribute)

    def test(self, here: Term, there: Term) -> NumberTest:
        """Its text's comparison between the entity that has the attribute and the other one."""
        right = there if self.minus is not None else Constant(str(self.bound or ""))
        return NumberTest(
            here, self.operator, right, None, self.attribute, self.minus, self.absolute, self.bound
        )

    def problem(self, numbers: Numbers) -> str | None:
        """What is wrong if dates are compared as numbers, or numbers as dates; None if nothing."""
        first, *others = sorted(self.attributes, key=lambda name: name in numbers.dates)
        if any(numbers.attributes.index(name) < 0 for name in (first, *others)):
            return None
        dated = first in numbers.dates
        if others and (others[0] in numbers.dates) != dated:
            return f"{first!r} is a number and {others[0]!r} a date; expected two of a kind"
        unit = Unit.NUMBER if not dated else Unit.DATE if self.minus is None else Unit.DAYS
        if self.bound is None or self.bound.unit is unit:
            return None
        kind = "date" if dated else "number"
        example = {Unit.NUMBER: "", Unit.DATE: " such as 1931-05-04", Unit.DAYS: " in days"}[unit]
        between = "a difference of dates" if unit is Unit.DAYS else f"a {kind}"
        return f"{first!r} is a {kind}; expected {between}{example}, found {self.bound}"

    def implies(self, other: NumberCondition) -> bool:
        """Whether every value that meets it meets the other condition on the same value."""
        if self.bound is None or other.bound is None or self.operator is not other.operator:
            return False
        if self.value != other.value:
            return False
        first, second = self.bound.value, other.bound.value
        return first >= second if self.operator is Operator.AT_LEAST else first <= second


def attribute_of(predicate: str) -> str | None:
    """The attribute that a unary predicate says to have a value; None for other predicates.

    Examples
    --------
    >>> attribute_of("has_year"), attribute_of("student")
    ('year', None)
    """
    return predicate.removeprefix(HAS) if predicate.startswith(HAS) else None
