"""Codes of steps: a predicate walked forwards or backwards as one number.

A step along predicate id p has the code 2(p+1), its inverse 2(p+1)+1. So `code ^ 1` reverses a step
(only kernels write it so), and 0 is never a code: it pads shorter sequences, and stands for an
unknown predicate, of id -1. All that walks the graph takes its codes from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar, overload

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ints, Keys, Unsigned
from hornbeam.base.progress import Progress
from hornbeam.facts.names import Names
from hornbeam.rules.body import MAX_CHAIN, MAX_LENGTH, Body, Kind

#: A code or a predicate id, or an array of them.
Code = TypeVar("Code", int, Array)


def step_code(predicate: Code, inverse: Code | bool = False) -> Code:
    """Code of a step along a predicate, by its id."""
    return 2 * (predicate + 1) + inverse


def predicate_of(code: Code) -> Code:
    """Id of the predicate of a code."""
    return code // 2 - 1


@overload
def is_inverse(code: int) -> bool: ...
@overload
def is_inverse(code: Array) -> Bools: ...
def is_inverse(code: int | Array) -> bool | Bools:
    """Whether a code walks its predicate backwards."""
    return code % 2 == 1


def inverse_code(code: Code) -> Code:
    """Code of the reversed step; 0, which is not a code, stays 0.

    Examples
    --------
    >>> code = step_code(3, inverse=True)
    >>> code, predicate_of(code), inverse_code(code) == step_code(3)
    (9, 3, True)
    """
    return code ^ (code > 0)


def reversed_sequence(codes: Sequence[int]) -> list[int]:
    """Codes of the same path walked from its other end."""
    return [inverse_code(code) for code in reversed(codes)]


def code_limit(n_predicates: int) -> int:
    """Exclusive upper bound of the codes of `n_predicates` predicates."""
    return step_code(n_predicates)


def path_codes(body: Body, predicates: Names) -> list[int] | None:
    """Codes of a body's steps, None where the facts lack one of its predicates."""
    ids, relations = predicates.ids_by_name, [step.relation for step in body.steps]
    if not all(relation in ids for relation in relations):
        return None
    return [step_code(ids[r], step.inverse) for r, step in zip(relations, body.steps, strict=True)]


def from_subject(codes: Array, flipped: bool) -> Array:
    """Rows of codes as sequences from subject to object, padded with 0 at the end.

    The rows have their codes in order, zeros anywhere between them; `flipped` if they were walked
    from the object.
    """
    if flipped:
        codes = inverse_code(codes)[:, ::-1]
    order = np.argsort(codes == 0, axis=1, kind="stable")
    return np.take_along_axis(codes, order, axis=1)


def key_bits(max_length: int) -> int:
    """Bits that a code may take so that a whole sequence fits into 64."""
    return 64 // max(max_length, 3)


def sequence_key(codes: Sequence[int], bits: int) -> int:
    """A sequence as one number, the last code in the lowest bits."""
    key = 0
    for code in codes:
        key = (key << bits) | code
    return key


def sequence_keys(codes: Array, bits: int) -> Keys:
    """`sequence_key` of every row."""
    keys = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        keys = (keys << np.uint64(bits)) | column.astype(np.uint64)
    return keys


def codes_of_keys(keys: Keys, bits: int, max_length: int) -> Unsigned:
    """Rows of the codes of `sequence_key`, padded with 0 in front."""
    mask = np.uint64((1 << bits) - 1)
    shifts = [np.uint64(bits * k) for k in reversed(range(max_length))]
    return np.stack([(keys >> shift) & mask for shift in shifts], axis=1).astype(np.uint32)


def step_code_sql(predicate: str, inverse: bool) -> str:
    """`step_code` in SQL, of a column of predicate ids."""
    return f"2 * {predicate} + {step_code(0, inverse)}"


def inverse_sql(code: str) -> str:
    """`is_inverse` in SQL, of a column of codes: 1 or 0."""
    return f"{code} % 2"


def inverse_code_sql(code: str) -> str:
    """`inverse_code` in SQL, of a column of codes; not every dialect has ^ for exclusive or."""
    return f"{code} + 1 - 2 * ({inverse_sql(code)})"


# a sequence of the longest length must leave codes enough bits for tens of thousands of predicates
assert key_bits(MAX_LENGTH) >= 16


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
