"""Numeric attributes of entities: years, prices, coordinates; dates are whole days.

An entity may have several values of an attribute, or none. Facts carry the numbers of their
entities (`hornbeam.facts.table.Facts.numbers`), with the same entity ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Floats, Ids, run_starts
from hornbeam.facts.names import Names


@dataclass(frozen=True, eq=False)
class Numbers:
    """Values of attributes, sorted by attribute, entity, value; distinct.

    Examples
    --------
    >>> entities = Names.of(["alien", "heat"])
    >>> numbers = Numbers.of(entities, [("heat", "year", 1995.0), ("alien", "year", 1979.0)])
    >>> numbers
    Numbers(2 values of year)
    >>> numbers.values_of("year")[1].tolist()
    [1979.0, 1995.0]
    """

    attributes: Names
    attribute: Ids
    entity: Ids
    value: Floats
    dates: frozenset[str] = frozenset()  #: the attributes whose values are days

    @classmethod
    def of(
        cls,
        entities: Names,
        rows: Iterable[tuple[str, str, float]],
        dates: Iterable[str] = (),
    ) -> Numbers:
        """Numbers from rows (entity, attribute, value) whose entities are all known."""
        rows = list(rows)
        names = Names.of(attribute for _, attribute, _ in rows)
        return cls.from_columns(
            names,
            names.find(attribute for _, attribute, _ in rows),
            entities.find(entity for entity, _, _ in rows),
            np.array([value for _, _, value in rows], dtype=np.float64),
            frozenset(dates),
        )

    @classmethod
    def from_columns(
        cls, attributes: Names, attribute: Ids, entity: Ids, value: Floats, dates: frozenset[str]
    ) -> Numbers:
        """Numbers from columns in any order, repetitions allowed."""
        value = value + 0.0  # -0 is 0
        order = np.lexsort((value, entity, attribute))
        attribute, entity, value = attribute[order], entity[order], value[order]
        first = run_starts(attribute, entity, value)
        return cls(attributes, attribute[first], entity[first], value[first], dates)

    def __len__(self) -> int:
        return len(self.value)

    def values_of(self, attribute: str) -> tuple[Ids, Floats]:
        """Entities and values of an attribute, sorted by both; none of an unknown one."""
        number = self.attributes.index(attribute)
        low, high = np.searchsorted(self.attribute, [number, number + 1]) if number >= 0 else (0, 0)
        return self.entity[low:high], self.value[low:high]

    def of_entity(self, entity: int) -> dict[str, list[float]]:
        """The values of an entity by attribute, sorted; of the attributes that it has."""
        found = {}
        for name in self.attributes:
            entities, values = self.values_of(name)
            low, high = np.searchsorted(entities, [entity, entity + 1])
            if low < high:
                found[name] = values[low:high].tolist()
        return found

    def moved(self, to_entity: Ids) -> Numbers:
        """The same numbers where entities have other ids in the same order."""
        return replace(self, entity=to_entity[self.entity])

    def joined(self, other: Numbers) -> Numbers:
        """The numbers of both, over one table of entities."""
        names = Names.of([*self.attributes, *other.attributes])
        parts = [part.attributes.translate(names)[part.attribute] for part in (self, other)]
        return Numbers.from_columns(
            names,
            np.concatenate(parts),
            np.concatenate([self.entity, other.entity]),
            np.concatenate([self.value, other.value]),
            self.dates | other.dates,
        )

    def __repr__(self) -> str:
        return f"Numbers({len(self):,} values of {', '.join(self.attributes)})"


def no_numbers() -> Numbers:
    """Numbers of facts that have none."""
    none = np.empty(0, dtype=np.int32)
    return Numbers(Names.of(()), none, none, np.empty(0))
