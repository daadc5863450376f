"""Finds entities by typed text: any part of their names or ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.names import Names
from hornbeam.serve.name_index import NameIndex


@dataclass(frozen=True, eq=False)
class EntitySearch:
    """Two indices, of readable names and of ids, and the owners of each name.

    Examples
    --------
    >>> ids = Names.of(["Q64", "Q90", "berlin-east"])
    >>> names = EntityNames({"Q64": "Berlin", "Q90": "Paris", "Q1": "not among the facts"})
    >>> EntitySearch.of(ids, names).find("berlin", 5)
    ['Q64', 'berlin-east']
    """

    ids: Names
    by_id: NameIndex
    names: Names
    by_name: NameIndex
    owners: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, ids: Names, called: EntityNames) -> EntitySearch:
        """Index the entities of the facts."""
        owners: dict[str, list[str]] = {}
        for entity, name in called.names.items():
            if ids.index(entity) >= 0:
                owners.setdefault(name, []).append(entity)
        names = Names.of(owners)
        return cls(ids, NameIndex.of(ids), names, NameIndex.of(names), owners)

    def find(self, typed: str, limit: int) -> list[str]:
        """Ids of at most `limit` entities, those found by their names first."""
        named = self.names.take(self.by_name.find(typed, limit))
        found = [entity for name in named for entity in self.owners[name]]
        found += self.ids.take(self.by_id.find(typed, limit))
        return list(dict.fromkeys(found))[:limit]

    def called(self, text: str) -> str:
        """The id of an entity that is called by its id, or by a name that no other one has."""
        owners = self.owners.get(text, ())
        return owners[0] if self.ids.index(text) < 0 and len(owners) == 1 else text
