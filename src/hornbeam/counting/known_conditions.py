"""Given conditions by ids, as every engine looks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.facts.names import Names
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import KINDS
from hornbeam.rules.codes import path_codes


def condition_columns(
    numbered: Iterable[tuple[int, Body]], predicates: Names, locate: Callable[[str], int]
) -> Ints:
    """Number, kind, argument, code and constant of the conditions that the facts can ground.

    One row each, with a column per condition. `locate` gives the id of a constant, -1 where no
    fact has it.
    """
    found = []
    for number, body in numbered:
        codes = path_codes(body, predicates)
        constant = -1 if body.constant is None else locate(body.constant)
        if codes is not None and (body.constant is None or constant >= 0):
            code = codes[0] if codes else 0
            found.append((number, KINDS.index(body.kind), body.argument, code, constant))
    return np.array(found, dtype=np.int64).reshape(-1, 5).T
