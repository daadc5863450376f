"""Bodies: what a clause asks of the two arguments of its head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from string import ascii_uppercase

#: Most atoms of a body. The searches are written for up to four, and say so.
MAX_LENGTH = 4
#: Variables of a body in the order of its nodes.
VARIABLES = ascii_uppercase[: MAX_LENGTH + 1]


@dataclass(frozen=True, order=True)
class Step:
    """One atom of a body: a predicate walked forwards, or backwards as its inverse."""

    predicate: str
    inverse: bool = False

    def reversed(self) -> Step:
        """The same atom walked the other way."""
        return Step(self.predicate, not self.inverse)


@dataclass(frozen=True)
class Body:
    """A path of steps between the arguments of a target predicate, or nothing at all.

    A body is the key of a column of counts: how many paths of these steps lead from the subject
    to the object of each target. The empty body has one grounding for every target.
    """

    steps: tuple[Step, ...]
    target: str

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def predicates(self) -> set[str]:
        """The predicates of its atoms."""
        return {step.predicate for step in self.steps}

    @property
    def triples(self) -> list[tuple[str, str, str]]:
        """(variable, predicate, variable) of every atom."""
        return [
            (VARIABLES[i + step.inverse], step.predicate, VARIABLES[i + 1 - step.inverse])
            for i, step in enumerate(self.steps)
        ]

    def atoms(self, identifiers: Mapping[str, str], *, distinct: bool = False) -> list[str]:
        """PSL text of its atoms; names without an identifier stand as they are.

        With `distinct`, all its variables must be different entities.
        """
        texts = [
            f"{identifiers.get(predicate, predicate)}({first}, {second})"
            for first, predicate, second in self.triples
        ]
        if distinct and self.steps:
            nodes = VARIABLES[: len(self) + 1]
            texts += [f"({one} != {other})" for one, other in combinations(nodes, 2)]
        return texts

    @property
    def last_variable(self) -> str:
        """Variable of the target's object; the subject's is the first."""
        return VARIABLES[max(len(self), 1)]
