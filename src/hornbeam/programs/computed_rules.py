"""Rules that PSL cannot express: their columns, counted here, as observed predicates.

A rule of weight w adds w x (1 - y)^p or w x y^p to the energy of a pair, where its groundings weigh
x. Truth values of PSL end at 1 and move the knee of a hinge instead of its weight, so x must be
part of the weight: it is written as a sum of *addends*, of which each pair has some,

    w * 3.17: rule_7(A, B, '3.17') -> t(A, B)

Where a rule has few distinct x, these are its addends and every pair has one. Where it has many, as
shares have, addends are powers of two, and every x is their sum to `BITS` binary digits, so that
A and B, and the MAP state with them, agree to a few millionths.

Where bodies are soft and targets continuous, a pair has several hinges, each with its own height b,
which is the truth of its atoms. They are told apart by their heights, a last argument:

    w * 3.17: rule_7(A, B, '3.17', C) -> t(A, B)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.language.syntax import Atom, Constant, Literal, LogicalRule, weight_text
from hornbeam.learning.hinge_problem import HingeRows
from hornbeam.rules.body import variables
from hornbeam.rules.rule_model import Rule

#: Distinct values up to which each is an addend.
MAX_VALUES = 64
#: Significant binary digits of other values.
BITS = 17


@dataclass(frozen=True, eq=False)
class Addends:
    """Numbers as sums: `rows[i]` are the numbers that have `values[i]` as one of their addends."""

    values: Floats
    rows: tuple[Ints, ...]

    @classmethod
    def of(cls, x: Floats) -> Addends:
        """Write positive numbers as sums of addends.

        Examples
        --------
        >>> addends = Addends.of(np.array([1.0, 3.5, 1.0]))
        >>> addends.values.tolist(), [some.tolist() for some in addends.rows]
        ([1.0, 3.5], [[0, 2], [1]])
        """
        values, which = np.unique(x, return_inverse=True)
        if len(values) <= MAX_VALUES:
            return cls(values, tuple(np.flatnonzero(which == k) for k in range(len(values))))
        mantissa, exponent = np.frexp(x)
        digits = np.round(np.ldexp(mantissa, BITS)).astype(np.int64)
        lowest = exponent - BITS
        powers = [
            (power, some)
            for power in range(int(lowest.min()), int(exponent.max()) + 1)
            if len(some := _digit(digits, power - lowest))
        ]
        return cls(np.array([2.0**power for power, _ in powers]), tuple(some for _, some in powers))


def _digit(digits: Ints, place: Ints) -> Ints:
    """Positions of the numbers whose binary digit at a place of their own is 1."""
    inside = (place >= 0) & (place <= BITS)
    return np.flatnonzero(inside & (digits >> np.clip(place, 0, BITS) & 1 == 1))


@dataclass(frozen=True, eq=False)
class ComputedRule:
    """A rule, the predicate that stands for its body, and its hinges at the pairs."""

    rule: Rule
    predicate: str
    hinges: HingeRows

    @cached_property
    def addends(self) -> Addends:
        """The numbers of the hinges as sums."""
        return Addends.of(self.hinges.number)

    @cached_property
    def soft(self) -> bool:
        """Whether some hinge is lower than 1."""
        return bool((self.hinges.height < 1.0).any())

    @property
    def arity(self) -> int:
        """Arity of the predicate: the pair, the addend where there are several, a soft height."""
        return 2 + (len(self.addends.values) > 1) + self.soft

    def psl_rules(self, head: str, squared: bool) -> Iterator[LogicalRule]:
        """One rule per addend."""
        names = variables()
        ends = next(names), next(names)
        height = (next(names),) if self.soft else ()
        negated = self.rule.clause.negated
        values = self.addends.values.tolist()
        for value in values:
            addend = (Constant(weight_text(value)),) if len(values) > 1 else ()
            body = Literal(Atom(self.predicate, (*ends, *addend, *height)))
            yield LogicalRule(
                self.rule.weight * value, (body,), (Literal(Atom(head, ends), negated),), squared
            )

    def columns(self) -> tuple[Ints, list[list[str]]]:
        """Row of the pair, and texts of further arguments and the truth, of every observed atom."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self.addends.rows])
        values = self.addends.values.tolist()
        texts = np.repeat([weight_text(value) for value in values], [*map(len, self.addends.rows)])
        addend = [texts.tolist()] if len(values) > 1 else []
        height = [f"{value:.6f}" for value in self.hinges.height[rows].tolist()]
        return self.hinges.target[rows], [*addend, *([height, height] if self.soft else [])]
