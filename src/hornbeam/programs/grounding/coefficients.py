"""Coefficients of arithmetic rules with cardinalities, worked out for many ground rules at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from hornbeam.arrays import Floats
from hornbeam.language.arithmetic_rules import Cardinality, Coefficient, Extreme, Number, Operation

OPERATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def coefficient_values(coefficient: Coefficient, cardinalities: Mapping[str, Floats]) -> Floats:
    """Value of a coefficient in every ground rule; `cardinalities` has |V| of each.

    Where it divides by zero the value is not finite.
    """
    match coefficient:
        case Number():
            return np.float64(coefficient.value)  # type: ignore[return-value]
        case Cardinality():
            return cardinalities[coefficient.variable]
        case Extreme():
            values = [coefficient_values(part, cardinalities) for part in coefficient.arguments]
            choose = np.minimum if coefficient.function == "Min" else np.maximum
            return reduce(choose, values)
        case Operation():
            left = coefficient_values(coefficient.left, cardinalities)
            right = coefficient_values(coefficient.right, cardinalities)
            with np.errstate(divide="ignore", invalid="ignore"):
                return OPERATIONS[coefficient.operator](left, right)
