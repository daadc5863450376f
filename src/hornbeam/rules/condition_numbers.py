"""Conditions on one argument as numbers: the codes of their steps, and what they end in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Ints
from hornbeam.base.progress import Progress
from hornbeam.facts.names import Names
from hornbeam.rules.body import MAX_CHAIN, Body, Kind
from hornbeam.rules.codes import path_codes

#: Kinds of bodies by their number in `Candidates.conditions`.
KINDS = tuple(Kind)
#: Kind, argument and constant of a path among conditions.
PATH_ROW = (KINDS.index(Kind.PATH), 0, -1)


#: A chain leads through hubs if it has more walks than this per entity that it starts from, more
#: entities than this that it ends in, and more than two walks to each of them: parts of a whole are
#: reached once. Such a chain is counted, but neither walked on nor are its ends constants.
HUB_WALKS = 100
#: Maximum number of walks of two steps, and of three, that a search for chains goes from one
#: argument of a target's pairs; walks that come from one entity to one other count as one there.
#: Chains are made longer in the order of how many walks they then have, equal ones together; those
#: beyond this sum are not made longer.
MAX_WALKS = 10_000_000
#: Name of the search for chains in its progress.
WALKING = "Walking chains"


class ConditionNumbers(NamedTuple):
    """Conditions on one argument by numbers, one row each.

    `walk` has the codes of up to `MAX_CHAIN` steps, padded with 0; `fact` is the code of the unary
    fact at its end, 0 without one; `constant` is the id of the entity there, -1 without one.
    """

    number: Ints  #: of the condition among the given ones
    kind: Ints  #: index in `KINDS`
    argument: Ints
    walk: Ints
    fact: Ints
    constant: Ints

    @property
    def code(self) -> Ints:
        """The only code of a condition that is not a chain; 0 without any."""
        return self.walk[:, 0] + self.fact

    @property
    def is_chain(self) -> Bools:
        """Which conditions are chains."""
        return np.asarray(self.kind == KINDS.index(Kind.CHAIN))

    def take(self, rows: Bools) -> ConditionNumbers:
        """The conditions of some rows."""
        return ConditionNumbers(*(column[rows] for column in self))


def condition_numbers(
    numbered: Iterable[tuple[int, Body]], predicates: Names, locate: Callable[[str], int]
) -> ConditionNumbers:
    """The conditions that the facts can ground.

    `locate` gives the id of a constant, -1 where no fact has it.
    """
    rows = []
    for number, body in numbered:
        codes = path_codes(body, predicates)
        constant = -1 if body.constant is None else locate(body.constant)
        if codes is not None and (body.constant is None or constant >= 0):
            length = len(body.walk)
            walk = [*codes[:length], *[0] * (MAX_CHAIN - length)]
            fact = sum(codes[length:])
            kind = KINDS.index(body.kind)
            rows.append((number, kind, body.argument, fact, constant, *walk))
    table = np.array(rows, dtype=np.int64).reshape(-1, 5 + MAX_CHAIN)
    number, kind, argument, fact, constant = table[:, :5].T
    return ConditionNumbers(number, kind, argument, table[:, 5:], fact, constant)


def report_limits(n_hubs: int, n_left: int, progress: Progress) -> None:
    """Report how many chains lead through hubs, and how many have too many walks."""
    if n_hubs:
        progress.message(
            f"{n_hubs:,} chains lead through hubs, by more than {HUB_WALKS} walks per entity: they "
            "were counted, but not made longer, nor with constants at their ends."
        )
    if n_left:
        progress.message(
            f"{n_left:,} chains were counted, but not made longer: that would take more than "
            f"{MAX_WALKS:,} walks. A limit on the fan-out leaves out steps to many entities."
        )
