"""Many small worlds in one: a search costs a database the same for all of them."""

from __future__ import annotations

import numpy as np

from tests.support.brute_force import ONE
from tests.support.worlds import PREDICATES, TARGETS, World


def many_worlds(number: int, soft: bool, seed: int) -> World:
    """Disjoint random worlds of up to six entities, self-loops and targets that are facts."""
    rng = np.random.default_rng(seed)
    values, labels = {}, {}
    for w in range(number):
        size = int(rng.integers(1, 7))

        def draw(names: tuple[str, ...], w: int = w, size: int = size) -> tuple[str, str, str]:
            s, o = rng.integers(size, size=2)
            return f"w{w}e{s}", str(rng.choice(names)), f"w{w}e{o}"

        mine = [draw(PREDICATES) for _ in range(int(rng.integers(1, 14)))]
        for fact in mine:
            values[fact] = int(rng.integers(1, ONE + 1)) if soft and rng.random() < 0.7 else ONE
        for _ in range(int(rng.integers(1, 6))):
            target = mine[rng.integers(len(mine))] if rng.random() < 0.4 else draw(TARGETS)
            labels[target] = int(rng.integers(2)) * ONE
        labels["unseen", "t", f"w{w}e0"] = 0
    return World(values, list(labels.items()))
