"""Which entities may stand where in a relation, by type: no gene in the place of a disease."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.arrays import Bools, Ids
from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.names import Names
from hornbeam.facts.reading.learned_names import types_in
from hornbeam.facts.table import Facts


@dataclass(frozen=True, eq=False)
class ArgumentTypes:
    """Types of entities, and the types that the facts of a relation have as subjects and objects.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> facts = read_facts([("Gene::1", "causes", "Disease::2"), ("Gene::3", "binds", "Gene::1")])
    >>> allowed = ArgumentTypes.of(facts).allowed("causes", 1)
    >>> [name for name, may in zip(facts.entities, allowed) if may]
    ['Disease::2']
    """

    facts: Facts
    kind: Ids  #: number of every entity's type, -1 where it is not known

    @classmethod
    def of(cls, facts: Facts, names: EntityNames | None = None) -> ArgumentTypes:
        """By the types that come with names, or else those that the facts tell."""
        types = names.types if names is not None and names.types else types_in(facts)
        kind = np.full(len(facts.entities), -1, dtype=np.int32)
        if types:
            typed, kinds = Names.of(types), Names.of(types.values())
            numbers = {name: number for number, name in enumerate(kinds)}
            located = typed.translate(facts.entities)
            number = np.array([numbers[types[name]] for name in typed], dtype=np.int32)
            kind[located[located >= 0]] = number[located >= 0]
        return cls(facts, kind)

    @cached_property
    def known(self) -> bool:
        """Whether some entity has a type."""
        return bool((self.kind >= 0).any())

    def allowed(self, relation: str, place: int) -> Bools | None:
        """Entities that may be subjects (`place` 0) or objects (1); None where all of them may.

        Those of a type that some fact of the relation has there, and those without a type.
        """
        if not self.known:
            return None
        table = self.facts.binary
        mine = table.predicate == self.facts.predicates.index(relation)
        seen = np.unique(self.kind[table.arguments[place][mine]])
        if not (seen >= 0).any():
            return None
        return np.asarray((self.kind < 0) | np.isin(self.kind, seen))
