"""Types that are given with the facts: of entities, and of the arguments of relations.

`hornbeam.facts.argument_types` decides what follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.facts.names import Names

NO_IDS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class EntityTypes:
    """Entities that have a type, sorted, each once, and the numbers of their types.

    `arguments` has the types of a relation's arguments where they are given.

    Examples
    --------
    >>> entities = Names.of(["ann", "bob", "rome"])
    >>> EntityTypes.of(entities, {"rome": "city", "ann": "person", "eve": "person"}).named()
    {'city': 1, 'person': 1}
    """

    kinds: Names = field(default_factory=lambda: Names.of(()))
    entity: Ids = field(default_factory=NO_IDS.copy)
    kind: Ids = field(default_factory=NO_IDS.copy)
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, entities: Names, types: Mapping[str, str]) -> EntityTypes:
        """Types by the name of an entity; those of unknown entities are left out."""
        typed, kinds = Names.of(types), Names.of(types.values())
        located, kind = typed.translate(entities), kinds.find(types[name] for name in typed)
        return cls(kinds, located[located >= 0], kind[located >= 0])

    def named(self) -> dict[str, int]:
        """How many entities have a type, by its name."""
        numbers, sizes = np.unique(self.kind, return_counts=True)
        return dict(zip(self.kinds.take(numbers), sizes.tolist(), strict=True))

    def moved(self, to_entity: Ids) -> EntityTypes:
        """The same types where entities have other ids in the same order."""
        return replace(self, entity=to_entity[self.entity])

    def joined(self, other: EntityTypes) -> EntityTypes:
        """The types of both, over one table of entities; of two types of an entity the first."""
        kinds = Names.of([*self.kinds, *other.kinds])
        numbers = [part.kinds.translate(kinds)[part.kind] for part in (self, other)]
        entity, first = np.unique(np.concatenate([self.entity, other.entity]), return_index=True)
        arguments = {**other.arguments, **self.arguments}
        return EntityTypes(kinds, entity, np.concatenate(numbers)[first], arguments)
