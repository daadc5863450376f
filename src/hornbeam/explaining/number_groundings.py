"""Groundings of conditions on numbers by name, and what they say in words.

(born(A) - born(B) < -6574 days)
born of 'ann' is 1931-05-04, 24.3 years before born of 'bob', 1955-08-10 (the rule asks for more
than 18 years before)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.dates import date_text
from hornbeam.counting.number_counts import holds, number_of
from hornbeam.explaining.reason import Fact, Grounding
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Facts
from hornbeam.language.syntax import Bound, Operator, Unit
from hornbeam.rules.body import Body
from hornbeam.rules.number_conditions import NumberCondition
from hornbeam.rules.rule_words import Phrase, PhraseRole, Words, asked_words
from hornbeam.rules.weighing import Counts, Weighing

#: Days from which on a difference of dates is said in years, and the mean length of a year.
MANY_DAYS, YEAR = 730.0, 365.2425


@dataclass(frozen=True)
class ValueGrounding:
    """A value that grounds a condition on a number, or a pair of values with their difference."""

    here: str
    there: str
    value: float
    subtracted: float | None = None


@dataclass(frozen=True, eq=False)
class NumberGroundings:
    """The groundings of one body that is about numbers, for one pair."""

    facts: Facts
    body: Body
    subject: str
    object: str

    @property
    def number(self) -> NumberCondition:
        """What the body asks of numbers."""
        return number_of(self.body)

    def values(self) -> list[ValueGrounding]:
        """The values that meet the condition, in their order."""
        ends = (self.subject, self.object)
        here, there = ends[self.body.argument], ends[1 - self.body.argument]
        number, numbers = self.number, self.facts.numbers
        first = _values_of(numbers, number.attribute, self.facts.entities.index(here))
        if number.minus is None:
            return [ValueGrounding(here, there, v) for v in first if _meets(number, v)]
        second = _values_of(numbers, number.minus, self.facts.entities.index(there))
        return [
            ValueGrounding(here, there, v, w)
            for v in first
            for w in second
            if _meets(number, abs(v - w) if number.absolute else v - w)
        ]

    def named(self, limit: int) -> tuple[Grounding, ...]:
        """The first groundings; a value is the object of a fact."""
        number, groundings = self.number, []
        # to have a value is one grounding, whatever the number of values
        for found in self.values()[: min(limit, 1) if self.body.steps else limit]:
            facts = [self._fact(found.here, number.attribute, found.value)]
            if number.minus is not None and found.subtracted is not None:
                facts.append(self._fact(found.there, number.minus, found.subtracted))
            groundings.append(Grounding((found.here,), tuple(facts)))
        return tuple(groundings)

    def _fact(self, entity: str, attribute: str, value: float) -> Fact:
        return Fact(entity, attribute, value_text(value, attribute in self.facts.numbers.dates))

    def words(self, weighing: Weighing) -> Words:
        """The first grounding in words, what the rule asks for, and how many more there are."""
        values, number = self.values(), self.number
        if not values:
            return ()
        first = values[0]
        dated = number.attribute in self.facts.numbers.dates
        is_text = f" is {value_text(first.value, dated)}"
        words = [*_of(number.attribute, first.here), Phrase(is_text)]
        difference = first.value
        if number.minus is not None and first.subtracted is not None:
            difference = first.value - first.subtracted
            words.append(Phrase(f", {_apart(difference, dated)} "))
            words += [*_of(number.minus, first.there)]
            words.append(Phrase(f", {value_text(first.subtracted, dated)}"))
            difference = abs(difference) if number.absolute else difference
        words.append(Phrase(f" ({_asked(number, difference, dated, weighing)})"))
        more = len(values) - 1
        return (*words, *([Phrase(f", and {more:,} more")] if more else []))


def value_text(value: float, dated: bool) -> str:
    """A value as it is read: a date, or a number in its shortest form."""
    return date_text(value) if dated else str(Bound(value))


def span_text(days: float) -> str:
    """A number of days in words.

    Examples
    --------
    >>> span_text(30.0), span_text(6574.0)
    ('30 days', '18 years')
    """
    if days < MANY_DAYS:
        return f"{days:g} day{'s' * (days != 1)}"
    return f"{days / YEAR:.1f}".removesuffix(".0") + " years"


def _values_of(numbers: Numbers, attribute: str, entity: int) -> list[float]:
    entities, values = numbers.values_of(attribute)
    found: list[float] = values[entities == entity].tolist()
    return found


def _meets(number: NumberCondition, value: float) -> bool:
    return bool(holds(number, np.array([value]))[0])


def _of(attribute: str, entity: str) -> Words:
    predicate = Phrase(attribute, PhraseRole.PREDICATE)
    return predicate, Phrase(" of "), Phrase(f"'{entity}'", PhraseRole.ENTITY)


def _apart(difference: float, dated: bool) -> str:
    """How far a value is from another one."""
    if difference == 0.0:
        return "the same as"
    side = ("after" if dated else "above") if difference > 0 else ("before" if dated else "below")
    return f"{_amount(abs(difference), dated)} {side}"


def _amount(amount: float, dated: bool) -> str:
    return span_text(amount) if dated else f"{amount:.6g}"


def _asked(number: NumberCondition, value: float, dated: bool, weighing: Weighing) -> str:
    """What a rule asks of a value, or where a standardised value stands."""
    if number.bound is None and weighing.counts is Counts.Z:
        z = (value - weighing.mean) / weighing.deviation
        mean = (
            date_text(weighing.mean) if dated and number.minus is None else f"{weighing.mean:.6g}"
        )
        return f"{abs(z):.2g} deviations {'above' if z >= 0 else 'below'} the mean {mean}"
    if number.bound is None:
        return "the rule asks for a value"
    bound, least = number.bound.value, number.operator is Operator.AT_LEAST
    if number.minus is None:
        return f"the rule asks for {asked_words(number)}"
    span = _amount(abs(bound), dated or number.bound.unit is Unit.DAYS)
    if number.absolute:
        return f"the rule asks for {f'{span} or more' if least else f'less than {span}'} apart"
    after, before = ("after", "before") if dated else ("above", "below")
    if bound > 0:
        return f"the rule asks for {f'{span} or more' if least else f'less than {span}'} {after}"
    if bound < 0:
        return f"the rule asks for {f'at most {span}' if least else f'more than {span}'} {before}"
    return f"the rule asks for {f'not {before}' if least else before}"
