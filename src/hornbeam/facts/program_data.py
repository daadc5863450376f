"""The atoms of a PSL program as tables of ids, ready for grounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.facts.names import Ids, Names


@dataclass(frozen=True, eq=False)
class AtomTable:
    """Atoms of one predicate: one column of ids an argument; `value` None where all are 1."""

    arguments: tuple[Ids, ...]
    value: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.arguments[0])


@dataclass(frozen=True, eq=False)
class PredicateTables:
    """What is known and asked of one predicate."""

    arity: int
    observed: AtomTable
    targets: AtomTable
    truth: AtomTable


@dataclass(frozen=True, eq=False)
class ProgramData:
    """Every predicate's atoms over one table of constants."""

    names: Names
    predicates: Mapping[str, PredicateTables]
