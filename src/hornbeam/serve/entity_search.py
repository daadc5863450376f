"""Finds entities by typed text: first equal names or ids, then names that begin with or contain it.

All names of an index are concatenated in folded form (without case, accents and width), each
between two zeros. Prefixes are found by bisection in the order of folded names. Substrings are
found by one scan of all bytes, which takes some ten milliseconds for a million names.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import le

import numpy as np

from hornbeam.base.arrays import Ids, Ints
from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.names import Names

#: Number of names folded at once, and of bytes scanned before other threads may run.
CHUNK_NAMES = 500_000
CHUNK_BYTES = 1 << 20


def fold(text: str) -> str:
    """Remove case, accents and width.

    Examples
    --------
    >>> fold("São ＴＯＭÉ"), fold("STRASSE") == fold("Straße")
    ('sao tome', True)
    """
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    for mark in filter(unicodedata.combining, set(apart)):
        apart = apart.replace(mark, "")
    return apart.casefold()


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Folded names by id, each after position `zeros[i]`, and the ids in the order of folded names.

    Examples
    --------
    >>> NameIndex.of(Names.of(["Bonn", "Bonny", "Carbonne", "Ulm"])).find("bonn", 3)
    ['Bonn', 'Bonny', 'Carbonne']
    """

    names: Names
    folded: bytes
    zeros: Ints
    order: Ids

    @classmethod
    def of(cls, names: Names) -> NameIndex:
        """Fold every name; characters fold independently, so that whole chunks fold at once."""
        parts = [b"\0"]
        for first in range(0, len(names), CHUNK_NAMES):
            last = min(first + CHUNK_NAMES, len(names)) - 1
            start = int(names.ends[first - 1]) + 1 if first else 0
            parts.append(fold(names.blob[start : int(names.ends[last]) + 1].decode()).encode())
        folded = b"".join(parts)
        zeros = np.flatnonzero(np.frombuffer(folded, dtype=np.uint8) == 0)
        return cls(names, folded, zeros, _sorted_ids(folded.split(b"\0")[1:-1]))

    def find(self, typed: str, limit: int) -> list[str]:
        """At most `limit` names, best first: whole names, prefixes, substrings."""
        wanted = fold(typed.strip()).encode("utf-8", "ignore").replace(b"\0", b"")
        if not wanted:
            return []
        ids = dict[int, None]()
        for i in chain(self._beginnings(wanted), self._hits(wanted)):
            ids[i] = None
            if len(ids) == limit:
                break
        return self.names.take(ids)

    def _name(self, place: int) -> bytes:
        i = self.order[place]
        return self.folded[self.zeros[i] + 1 : self.zeros[i + 1]]

    def _beginnings(self, wanted: bytes) -> Iterator[int]:
        """Ids of names with a prefix, in folded order: an equal name comes before longer names."""
        place = bisect_left(range(len(self.order)), wanted, key=self._name)
        while place < len(self.order) and self._name(place).startswith(wanted):
            yield int(self.order[place])
            place += 1

    def _hits(self, pattern: bytes) -> Iterator[int]:
        """Ids of names that contain the pattern, in increasing order, each once."""
        at, end = 0, len(self.folded)
        while at < end:
            # in chunks: other threads wait while bytes are scanned
            stop = min(at + CHUNK_BYTES, end)
            hit = self.folded.find(pattern, at, stop + len(pattern) - 1)
            if hit < 0:
                at = stop
                continue
            i = int(np.searchsorted(self.zeros, hit, side="right")) - 1
            yield i
            at = int(self.zeros[i + 1])


def _sorted_ids(folded: list[bytes]) -> Ids:
    """Ids in the order of their folded names; often the names are sorted already."""
    if all(map(le, folded, folded[1:])):
        return np.arange(len(folded), dtype=np.int32)
    return np.array(sorted(range(len(folded)), key=folded.__getitem__), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class EntitySearch:
    """An index of ids and an index of readable names, with the entities of each name.

    Examples
    --------
    >>> ids = Names.of(["Q64", "Q90", "berlin-east"])
    >>> names = EntityNames({"Q64": "Berlin", "Q90": "Paris", "Q1": "not among the facts"})
    >>> EntitySearch.of(ids, names).find("berlin", 5)
    ['Q64', 'berlin-east']
    """

    entity_names: EntityNames
    by_id: NameIndex
    by_name: NameIndex
    owners: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, ids: Names, called: EntityNames) -> EntitySearch:
        """Index the entities of the facts."""
        owners: dict[str, list[str]] = {}
        for entity, name in called.names.items():
            if ids.index(entity) >= 0:
                owners.setdefault(name, []).append(entity)
        return cls(called, NameIndex.of(ids), NameIndex.of(Names.of(owners)), owners)

    def find(self, typed: str, limit: int) -> list[str]:
        """Ids of at most `limit` entities; entities found by their names come first."""
        names = self.by_name.find(typed, limit)
        named = [entity for name in names for entity in self.owners[name]]
        return list(dict.fromkeys([*named, *self.by_id.find(typed, limit)]))[:limit]

    def called(self, text: str) -> str:
        """The id of the entity that a text names: an id, or a name that only one entity has."""
        owners = self.owners.get(text, ())
        return owners[0] if self.by_id.names.index(text) < 0 and len(owners) == 1 else text
