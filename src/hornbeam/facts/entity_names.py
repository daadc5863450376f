"""Display names of entities whose ids in the data are hard to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.errors import InputError
from hornbeam.facts.names import Names, unknown_entity


@dataclass(frozen=True, eq=False)
class EntityNames:
    """A name, and perhaps a type, by the id of an entity; ids without a name show as they are.

    Examples
    --------
    >>> names = EntityNames({"Q90": "Paris", "Q830149": "Paris", "Q64": "Berlin"}, {"Q90": "city"})
    >>> [names.shown(one) for one in ("Q64", "Q90", "Q5")]
    ['Berlin', 'Paris (Q90)', 'Q5']
    >>> names.described(["Q90", "Q5"])
    {'Q90': {'name': 'Paris', 'type': 'city'}}
    """

    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def shown(self, entity: str) -> str:
        """Text to show: the name, followed by the id where the name is not unique."""
        name = self.names.get(entity)
        if name is None:
            # an id that is another entity's name
            return f"{entity} ({entity})" if entity in self._ids_by_name else entity
        return f"{name} ({entity})" if len(self._ids_by_name[name]) > 1 else name

    def named(self, entity: str) -> str:
        """The name alone, or the id where there is none."""
        return self.names.get(entity, entity)

    @cached_property
    def _ids_by_name(self) -> dict[str, list[str]]:
        """Ids by the name that they have."""
        ids: dict[str, list[str]] = {}
        for entity, name in self.names.items():
            ids.setdefault(name, []).append(entity)
        return ids

    def entity(self, text: str, known: Names) -> str:
        """The id for a text: the text itself if it is an id, else the entity with that name.

        A text that is itself an entity without a name but is the name of exactly one other entity
        means that one: labels in the facts are entities, too. An ambiguous name is refused.
        """
        ids = [one for one in self._ids_by_name.get(text, []) if known.index(one) >= 0]
        if known.index(text) >= 0 and (text in self.names or len(ids) != 1):
            return text
        if len(ids) > 1:
            raise InputError(f"{len(ids)} entities are called {text!r}: {', '.join(ids)}")
        return ids[0] if ids else text

    def entities(self, texts: Iterable[str], locate: Callable[[Names], Ids]) -> dict[str, str]:
        """The ids of those texts that are names; see `entity`.

        `locate` gives the ids of entities in the facts, -1 where they do not have one.

        Examples
        --------
        >>> names = EntityNames({"Q90": "Paris", "Q64": "Berlin"})
        >>> known = Names.of(["Q90", "Q64"])
        >>> names.entities(["Paris", "Q64", "Berlin"], lambda asked: asked.translate(known))
        {'Paris': 'Q90', 'Berlin': 'Q64'}
        """
        called = [text for text in texts if text in self._ids_by_name]
        if not called:
            return {}
        asked = Names.of([*called, *(one for text in called for one in self._ids_by_name[text])])
        known = Names.of(asked.take(np.flatnonzero(locate(asked) >= 0)))
        return {text: self.entity(text, known) for text in called}

    def known_entity(self, text: str, known: Names, place: str = "entity") -> str:
        """The id for a text, which must be an entity of the facts."""
        found = self.entity(text, known)
        if known.index(found) < 0:
            raise unknown_entity(text, known, place, self.names.values())
        return found

    def type_of(self, entity: str) -> str | None:
        """Type of an entity, where it is known."""
        return self.types.get(entity)

    def described(self, entities: Iterable[str]) -> dict[str, dict[str, str | None]]:
        """Name and type by id, for JSON; entities without a name are left out."""
        return {
            entity: {"name": self.names[entity], "type": self.types.get(entity)}
            for entity in dict.fromkeys(entities)
            if entity in self.names
        }

    def __repr__(self) -> str:
        return f"EntityNames({len(self):,} names, {len(self.types):,} types)"


#: Every entity shows as its id.
NO_NAMES = EntityNames()
