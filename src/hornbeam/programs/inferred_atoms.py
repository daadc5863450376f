"""The atoms of a program after inference, by their names: values, truth, and where they occur."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.base.arrays import Ids, Ints
from hornbeam.language.syntax import Atom, Constant
from hornbeam.programs.inference import Inference
from hornbeam.programs.program_data import AtomTable, ProgramData


@dataclass(frozen=True)
class InferredAtom:
    """A ground atom with its value.

    `variable` is the number of a target's random variable; None for an atom that is observed, or
    absent and so false. `truth` is None where the program states none.
    """

    predicate: str
    arguments: tuple[str, ...]
    value: float
    variable: int | None = None
    truth: float | None = None

    @property
    def text(self) -> str:
        """As in a rule: `Knows('ann', 'bob')`."""
        return str(Atom(self.predicate, tuple(map(Constant, self.arguments))))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `target` says whether the value was inferred."""
        return {
            "predicate": self.predicate,
            "arguments": list(self.arguments),
            "value": self.value,
            "truth": self.truth,
            "target": self.variable is not None,
        }


@dataclass(frozen=True, eq=False)
class InferredAtoms:
    """The atoms of an inference."""

    inference: Inference

    @property
    def data(self) -> ProgramData:
        """The atoms of the program."""
        return self.inference.ground.data

    def find(self, predicate: str, arguments: Sequence[str]) -> InferredAtom | None:
        """The atom of some constants; None if the program has no such predicate."""
        tables = self.data.predicates.get(predicate)
        if tables is None or len(arguments) != tables.arity:
            return None
        ids = [self.data.names.index(name) for name in arguments]
        target, observed = (_place(table, ids) for table in (tables.targets, tables.observed))
        if target >= 0:
            return self.target(self.data.first_variable[predicate] + target)
        value = float(tables.observed.values[observed]) if observed >= 0 else 0.0
        return InferredAtom(predicate, tuple(arguments), value)

    def target(self, variable: int) -> InferredAtom:
        """The target of a random variable."""
        predicate, ids = self.data.target(variable)
        truth = float(self.data.truth[variable])
        return InferredAtom(
            predicate,
            tuple(self.data.names.take(ids)),
            float(self.inference.found.state[variable]),
            variable,
            None if np.isnan(truth) else truth,
        )

    def targets(
        self, predicate: str, constant: str, by_error: bool, start: int, most: int
    ) -> tuple[list[InferredAtom], int]:
        """Some targets, and the number of all: of one predicate or "", of one constant or "".

        They are sorted by value, or by their difference from the truth, the largest first.
        """
        chosen = np.concatenate(list(self._chosen(predicate, constant)) or [np.empty(0, np.int64)])
        value = self.inference.found.state[chosen]
        if by_error:
            error = np.abs(value - self.data.truth[chosen])
            value = np.where(np.isnan(error), -1.0, error)
        order = np.argsort(-value, kind="stable")[start : start + most]
        return [self.target(i) for i in chosen[order].tolist()], len(chosen)

    def observed(self, constant: str, most: int) -> list[tuple[str, list[InferredAtom], int]]:
        """Per predicate, the first observed atoms of a constant and the number of all."""
        data = self.data
        entity, listed = data.names.index(constant), []
        for name, tables in data.predicates.items():
            rows = _naming(tables.observed, entity)
            atoms = []
            for row in rows[:most].tolist():
                ids = [int(column[row]) for column in tables.observed.arguments]
                value = float(tables.observed.values[row])
                atoms.append(InferredAtom(name, tuple(data.names.take(ids)), value))
            if atoms:
                listed.append((name, atoms, len(rows)))
        return listed

    def _chosen(self, predicate: str, constant: str) -> Iterator[Ints]:
        """Random variables of the targets, predicate by predicate."""
        data = self.data
        entity = data.names.index(constant) if constant else None
        for name, tables in data.predicates.items():
            if predicate in ("", name):
                rows = np.arange(len(tables.targets))
                rows = rows if entity is None else _naming(tables.targets, entity)
                yield data.first_variable[name] + rows


def _naming(table: AtomTable, entity: int) -> Ints:
    """Rows of the atoms that name a constant."""
    columns: tuple[Ids, ...] = table.arguments
    return np.flatnonzero(np.any([column == entity for column in columns], axis=0))


def _place(table: AtomTable, ids: Sequence[int]) -> int:
    """Row of an atom in a table, whose atoms are sorted by their arguments; -1 if it is absent."""
    low, high = 0, len(table)
    for column, i in zip(table.arguments, ids, strict=True):
        low, high = (low + np.searchsorted(column[low:high], [i, i + 1])).tolist()
    return low if low < high else -1
