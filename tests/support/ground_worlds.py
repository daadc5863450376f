"""Small worlds of atoms over six predicates, and rules of every kind about them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hornbeam.facts.names import Names
from hornbeam.programs.program_data import AtomTable, PredicateTables, ProgramData
from tests.support.brute_grounding import Key, World

ARITIES = {"P": 1, "Q": 2, "R": 2, "S": 2, "T": 2, "U": 1}
OPEN = {"S", "T", "U"}
CONSTANTS = ["a", "b", "c"]


def program_data(world: World) -> ProgramData:
    """Lay the atoms of a world out as tables."""
    names = Names.of(world.constants)

    def table(keys: list[Key], values: list[float] | None = None) -> AtomTable:
        arity = ARITIES[keys[0][0]] if keys else 0
        columns = [names.find(arguments[k] for _, arguments in keys) for k in range(arity)]
        empty = np.empty(0, dtype=np.int32)
        return AtomTable(
            tuple(columns) if keys else (empty, empty),
            None if values is None else np.array(values, dtype=np.float64),
        )

    predicates = {}
    for name, arity in ARITIES.items():
        observed = sorted(key for key in world.observed if key[0] == name)
        targets = sorted(key for key in world.targets if key[0] == name)
        values = [world.observed[key] for key in observed]
        empty = table([])
        predicates[name] = PredicateTables(
            arity,
            table(observed, None if all(v == 1.0 for v in values) else values),
            table(targets),
            empty,
        )
    return ProgramData(names, predicates)


def variables_of(world: World) -> list[Key]:
    """The open atoms in the order of their numbers."""
    return [key for name in ARITIES for key in sorted(world.targets) if key[0] == name]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Every atom observed, open, or absent; closed predicates have no open atoms."""
    observed: dict[Key, float] = {}
    targets: set[Key] = set()
    soft = draw(st.booleans())
    values = st.sampled_from([0.0, 0.3, 0.7, 1.0] if soft else [1.0])
    for name, arity in ARITIES.items():
        places: list[tuple[str, ...]] = [(c,) for c in CONSTANTS]
        if arity == 2:
            places = [(c, d) for c in CONSTANTS for d in CONSTANTS]
        for arguments in places:
            kind = draw(st.sampled_from(["absent", "observed", "open"]))
            if kind == "open" and name in OPEN:
                targets.add((name, arguments))
            elif kind != "absent":
                observed[name, arguments] = draw(values)
    return World(CONSTANTS, observed, frozenset(targets), {n: n not in OPEN for n in ARITIES})


LOGICAL = [
    "1.5: Q(A, B) & R(B, C) -> T(A, C) ^2",
    "0.5: T(A, B) & T(B, C) -> T(A, C)",
    "2: T(A, B) -> !S(A, B) ^2",
    "1: Q(A, B) & !R(A, B) & (A != B) -> T(A, B) | S(B, A)",
    "1: !T(A, B)",
    "3: T(A, B) & T(B, A) & (A % B) -> Q(A, B) ^2",
    "1: S(A, B) & T(A, B) & (A == 'b') -> U(B)",
    "0.7: T(A, A) & P(A) -> U(A)",
    "1: T('a', B) & Q(B, 'nowhere') -> S('a', B)",
    "T(A, B) & S(A, B) -> U(A) .",
    "1: P(A) & U(A) & S(A, B) -> !T(A, B) | !T(B, A) ^2",
    "1: P(A) -> !U(A) | (A == 'c')",
    "1: T(A, B) -> U(A) | (A % B)",
    "1: T(A, B) & !(A % B) -> Q(A, B)",
]
ARITHMETIC = [
    "1: T(A, B) + S(A, B) <= 1 ^2",
    "T(A, B) = S(A, B) .",
    "2: T(A, B) = Q(A, B)",
    "1: 2 * T(A, B) - 0.5 * S(B, A) >= R(A, B) + 0.25 ^2",
    "T(A, +B) <= 1 .",
    "1.5: T(A, +B) = 1 ^2",
    "1: T(+A, +B) >= 2",
    "1: T(A, +B) / |B| <= U(A) ^2 {B: Q(A, B)}",
    "1: @Max[|B|, 1] * U(A) >= T(A, +B) {B: Q(A, B) & !P(B)}",
    "1: T(A, +B) <= R(A, +C) / @Max[|C|, 1] + 1 {B: P(B) | Q(B, B)}",
    "0.5: U(A) >= 0.3 * R(A, +C) {C: (A != C)}",
    "1: S('a', +B) + U(C) <= 1.5",
    "1: |C| * U(A) <= Q(A, +C)",
]
