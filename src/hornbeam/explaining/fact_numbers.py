"""Numbers facts of all arities consecutively; finds, names and removes facts by number.

The facts of one argument come first, then those of two, and so on, each table in its own order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Integers, Ints, ranges
from hornbeam.explaining.reason import Fact
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE, Atoms, Facts
from hornbeam.rules.body import Step


@dataclass(frozen=True, eq=False)
class FactNumbers:
    """Numbers of the facts of one table."""

    facts: Facts

    @cached_property
    def _first(self) -> Mapping[int, int]:
        """The first number of every arity."""
        first, numbers = 0, dict[int, int]()
        for arity in sorted(self.facts.atoms):
            numbers[arity] = first
            first += len(self.facts.atoms[arity])
        return numbers

    def about(self, step: Step, entity: int) -> Ints:
        """Numbers of the facts of a unary predicate about an entity: one or none."""
        table = self.facts.atoms.get(1)
        if table is None:
            return np.empty(0, dtype=np.int64)
        predicate = self.facts.predicates.index(step.predicate)
        low, high = np.searchsorted(table.arguments[0], [entity, entity + 1]).tolist()
        found = np.flatnonzero(table.predicate[low:high] == predicate)
        return np.asarray(self._first[1] + low + found)

    def naming(self, entity: int) -> dict[str, Ints]:
        """Numbers of the facts about an entity that are not edges, by predicate."""
        found = dict[str, Ints]()
        for arity, table in self.facts.atoms.items():
            if arity == 2:
                continue
            rows = np.flatnonzero(np.any([column == entity for column in table.arguments], axis=0))
            for p in np.unique(table.predicate[rows]).tolist():
                of_predicate = rows[table.predicate[rows] == p]
                found[self.facts.predicates[p]] = self._first[arity] + of_predicate
        return found

    def along(self, step: Step, here: Integers, there: Integers, which: Integers) -> Ints:
        """Numbers of the facts that lead along a step from each `here` to each `there`.

        Facts of three or more arguments may be parallel: `which` is the index among them, in the
        order of their truth values, then of the table, as in the graph.
        """
        found, key, wanted = self._between(step, here, there)
        return np.asarray(found[np.searchsorted(key, wanted) + which])

    def all_along(self, step: Step, here: Integers, there: Integers) -> Ints:
        """Numbers of all facts that lead along a step from some `here` to its `there`."""
        found, key, wanted = self._between(step, here, there)
        wanted = np.unique(wanted)
        low, high = (np.searchsorted(key, wanted, side=side) for side in ("left", "right"))
        return found[ranges(low, high)]

    def _between(self, step: Step, here: Integers, there: Integers) -> tuple[Ints, Ints, Ints]:
        """Numbers of a step's facts sorted by the keys of their ends, these keys, wanted keys."""
        subject, object_ = (there, here) if step.inverse else (here, there)
        table, n = self.facts.atoms[step.arity], len(self.facts.entities)
        rows = self._rows(table, step, np.unique(subject))
        first, second = (table.arguments[place][rows] for place in step.places)
        key = pair_keys(first, second, n)
        value = np.zeros(len(rows)) if table.millionths is None else table.millionths[rows]
        order = np.lexsort((value, key))
        return self._first[step.arity] + rows[order], key[order], pair_keys(subject, object_, n)

    def _rows(self, table: Atoms, step: Step, subjects: Integers) -> Ints:
        """Rows of a table that have the step's predicate and one of the subjects."""
        predicate, place = self.facts.predicates.index(step.predicate), step.places[0]
        if place == 0:
            # the table is sorted by its first argument
            column = table.arguments[0]
            low, high = (np.searchsorted(column, subjects, side=side) for side in ("left", "right"))
            rows = ranges(low, high)
            return np.asarray(rows[table.predicate[rows] == predicate])
        same = table.predicate == predicate
        return np.flatnonzero(same & np.isin(table.arguments[place], subjects)).astype(np.int64)

    def named(self, number: int) -> Fact:
        """A fact by its names."""
        facts = self.facts
        arity = max(arity for arity, first in self._first.items() if first <= number)
        table, row = facts.atoms[arity], number - self._first[arity]
        truth = 1.0 if table.millionths is None else int(table.millionths[row]) / ONE
        arguments = [facts.entities[int(column[row])] for column in table.arguments]
        return Fact.of(facts.predicates[int(table.predicate[row])], arguments, truth)

    def without(self, numbers: Integers) -> Facts:
        """The facts except some; entities and predicates keep their ids."""
        left = dict[int, Atoms]()
        for arity, table in self.facts.atoms.items():
            keep = np.ones(len(table), dtype=np.bool_)
            row = numbers - self._first[arity]
            keep[row[(row >= 0) & (row < len(table))]] = False
            if keep.any():
                left[arity] = table.select(keep)
        return Facts(self.facts.entities, self.facts.predicates, left)
