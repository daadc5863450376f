"""The atoms of a PSL program as tables of ids, ready for grounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints
from hornbeam.facts.names import Names


@dataclass(frozen=True, eq=False)
class AtomTable:
    """Atoms of one predicate: one column of ids per argument; `value` is None where all are 1."""

    arguments: tuple[Ids, ...]
    value: Floats | None = None

    def __len__(self) -> int:
        return len(self.arguments[0])

    @property
    def values(self) -> Floats:
        """Truth value of every atom."""
        return np.ones(len(self)) if self.value is None else self.value


@dataclass(frozen=True, eq=False)
class PredicateTables:
    """Observed atoms, targets and truth of one predicate."""

    arity: int
    observed: AtomTable
    targets: AtomTable
    truth: AtomTable


@dataclass(frozen=True, eq=False)
class ProgramData:
    """Every predicate's atoms over one table of constants."""

    names: Names
    predicates: Mapping[str, PredicateTables]


def atom_places(wanted: AtomTable, listed: AtomTable) -> Ints:
    """Position of each wanted atom in a list of atoms, -1 where it is not there."""
    keys = np.zeros(len(wanted) + len(listed), dtype=np.int64)
    for wanted_ids, listed_ids in zip(wanted.arguments, listed.arguments, strict=True):
        column = np.concatenate([wanted_ids, listed_ids]).astype(np.int64)
        # numbers of distinct prefixes, so that any number of arguments fits
        keys = np.unique(keys * (column.max(initial=0) + 1) + column, return_inverse=True)[1]
    order = np.argsort(keys[len(wanted) :], kind="stable")
    ranked = keys[len(wanted) :][order]
    if not len(ranked):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(ranked, keys[: len(wanted)]), len(ranked) - 1)
    return np.where(ranked[at] == keys[: len(wanted)], order[at], -1)
