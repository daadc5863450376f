"""Random ground programs for the tests of MAP inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from hornbeam.hlmrf.potentials import PotentialKind, Potentials

Row = tuple[PotentialKind, float, dict[int, float], float]  # kind, weight, coefficients, constant


def program(n_variables: int, rows: Sequence[Row], offset: float = 0.0) -> Potentials:
    """Put rows together."""
    sizes = [len(literals) for _, _, literals, _ in rows]
    return Potentials(
        n_variables,
        np.cumsum([0, *sizes]),
        np.array([v for _, _, literals, _ in rows for v in literals], dtype=np.int32),
        np.array([a for _, _, literals, _ in rows for a in literals.values()], dtype=np.float64),
        np.array([constant for *_, constant in rows], dtype=np.float64),
        np.array([weight for _, weight, _, _ in rows], dtype=np.float64),
        np.array([kind for kind, *_ in rows], dtype=np.uint8),
        np.arange(len(rows), dtype=np.int32),
        offset,
    )


@st.composite
def programs(
    draw: st.DrawFn,
    kinds: Sequence[PotentialKind] = tuple(PotentialKind),
    feasible: bool = True,
    most_variables: int = 6,
    most_literals: int = 4,
) -> Potentials:
    """Programs of up to a dozen rows; feasible ones have a planted state that meets them."""
    n = draw(st.integers(1, most_variables))
    planted = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    rows: list[Row] = []
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(kinds))
        variables = draw(st.lists(st.integers(0, n - 1), max_size=most_literals, unique=True))
        literals = {v: draw(st.sampled_from([1.0, -1.0, 0.5, 2.0, -3.0])) for v in variables}
        constant = draw(st.integers(-8, 8)) / 4
        if feasible and kind >= PotentialKind.AT_MOST:
            value = sum(a * planted[v] / 4 for v, a in literals.items())
            constant = -value - (
                draw(st.integers(0, 2)) / 4 if kind == PotentialKind.AT_MOST else 0.0
            )
        weight = (
            0.0
            if kind >= PotentialKind.AT_MOST
            else draw(st.sampled_from([0.0, 0.3, 1.0, 1.0, 7.0]))
        )
        rows.append((kind, weight, literals, constant))
    return program(n, rows, offset=draw(st.sampled_from([0.0, 2.5])))


def synthetic(rows: int, squared: bool, seed: int = 0) -> Potentials:
    """Many hinges of three literals, about ten a variable."""
    rng = np.random.default_rng(seed)
    n = max(3 * rows // 10, 3)
    first = rng.integers(n, size=(rows, 1))
    variable = (first + np.cumsum(rng.integers(1, n // 3 + 1, size=(rows, 3)), axis=1)) % n
    coefficient = rng.choice([-1.0, 1.0], size=(rows, 3))
    return Potentials(
        n,
        np.arange(0, 3 * rows + 1, 3),
        variable.ravel().astype(np.int32),
        coefficient.ravel(),
        rng.uniform(-0.5, 0.5, rows) - coefficient.sum(axis=1) / 2,
        rng.uniform(0, 1, rows),
        np.full(rows, PotentialKind.SQUARED if squared else PotentialKind.LINEAR, dtype=np.uint8),
        np.zeros(rows, dtype=np.int32),
    )
