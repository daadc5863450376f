"""Names of entities or predicates: a sorted, compact table between text and integer ids.

The id of a name is its rank in the order of Unicode code points, so permuted input gives the same
ids. The text is kept as one UTF-8 blob (about 12 bytes per name instead of the 60 of a Python
string), so that ten million entities fit into memory with a hundred million facts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from hornbeam.base.arrays import Ids, Ints
from hornbeam.base.compiled import kernels, numba_in_use
from hornbeam.base.texts import did_you_mean
from hornbeam.errors import InputError

kernel = kernels("the comparison of names")

#: Names above which compiling pays off, and, once Numba is imported, loading compiled code.
WORTH_COMPILING, WORTH_READING = 10_000, 500


@dataclass(frozen=True, eq=False)
class Names:
    """A sorted set of names; `names[i]` is the text of id i.

    Examples
    --------
    >>> names = Names.of(["ulm", "bonn", "ulm"])
    >>> list(names), names.find(["ulm", "rome"]).tolist()
    (['bonn', 'ulm'], [1, -1])
    """

    blob: bytes
    ends: Ints

    @classmethod
    def of(cls, texts: Iterable[str]) -> Names:
        """Build from texts in any order, duplicates allowed."""
        return cls.from_sorted_chunks([sorted(set(texts))])

    @classmethod
    def from_sorted_chunks(cls, chunks: Iterable[Sequence[str]]) -> Names:
        """Build from chunks that are already sorted and distinct, one after the other."""
        blobs = ["\0".join([*chunk, ""]).encode() for chunk in chunks if len(chunk)]
        return cls.of_blob(b"".join(blobs))

    @classmethod
    def of_blob(cls, blob: bytes) -> Names:
        """Names that are sorted and distinct, each with a NUL at its end."""
        ends = np.flatnonzero(np.frombuffer(blob, dtype=np.uint8) == 0).astype(np.int64)
        return cls(blob, ends)

    def __len__(self) -> int:
        return len(self.ends)

    def _bytes(self, i: int) -> bytes:
        ends = self.ends
        return self.blob[ends.item(i - 1) + 1 if i else 0 : ends.item(i)]

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        n = len(self.ends)
        if isinstance(i, slice):
            return self.take(range(n)[i])
        if not -n <= i < n:
            raise IndexError(i)
        return self._bytes(i % n).decode()

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self.blob == other.blob

    def __hash__(self) -> int:
        return hash(self.blob)

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(3, len(self))))
        return f"Names({len(self):,}: {shown}{', ...' if len(self) > 3 else ''})"

    def take(self, ids: Iterable[int]) -> list[str]:
        """Texts of many ids."""
        return [self[int(i)] for i in ids]

    def index(self, text: str) -> int:
        """Id of a name, -1 where it is unknown (UTF-8 keeps the order of code points)."""
        wanted = text.encode("utf-8", "surrogatepass")
        place = self._place(wanted)
        return place if place < len(self) and self._bytes(place) == wanted else -1

    def _place(self, wanted: bytes) -> int:
        """Id of the first name that is not before a text."""
        return bisect_left(range(len(self)), wanted, key=self._bytes)

    def joined(self, other: Names) -> tuple[Names, Ids]:
        """The names of both tables, and the new id of every name of this one.

        Only the other names are looked up, and put between these.

        Examples
        --------
        >>> names, moved = Names.of(["bonn", "ulm"]).joined(Names.of(["rome", "ulm"]))
        >>> list(names), moved.tolist()
        (['bonn', 'rome', 'ulm'], [0, 2])
        """
        number = np.arange(len(self), dtype=np.int32)
        missing = other.take(np.flatnonzero(other.translate(self) < 0))
        if not missing:
            return self, number
        pieces, done, places = list[bytes](), 0, list[int]()
        for text in missing:
            places.append(self._place(text.encode()))
            start = self.ends.item(places[-1] - 1) + 1 if places[-1] else 0
            pieces += [self.blob[done:start], text.encode(), b"\0"]
            done = start
        names = Names.of_blob(b"".join([*pieces, self.blob[done:]]))
        return names, number + np.searchsorted(places, number, "right").astype(np.int32)

    @cached_property
    def ids_by_name(self) -> Mapping[str, int]:
        """The whole table as Python objects: for few names that are asked for often."""
        return {text: i for i, text in enumerate(self)}

    def find(self, texts: Iterable[str]) -> Ids:
        """Ids of many names, -1 where unknown."""
        return np.fromiter((self.index(text) for text in texts), dtype=np.int32)

    def missing(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The texts that are not in this table, each once."""
        return tuple(text for text in dict.fromkeys(texts) if self.index(text) < 0)

    def translate(self, other: Names) -> Ids:
        """For every id of this table the id of the same name in `other`, -1 where it has none."""
        if self == other:
            return np.arange(len(self), dtype=np.int32)
        own, theirs = (np.frombuffer(names.blob, dtype=np.uint8) for names in (self, other))
        limit = WORTH_READING if numba_in_use() else WORTH_COMPILING
        translate = translated.choose(len(self), limit)
        ids = np.full(len(self), -1, dtype=np.int32)
        translate(own, self.ends, theirs, other.ends, ids)
        return ids


@dataclass(frozen=True, eq=False)
class NamedIds(Sequence[str | None]):
    """A column of names, decoded on access; ids below 0 have no name (None).

    Examples
    --------
    >>> column = NamedIds(Names.of(["bonn", "ulm"]), np.array([1, 0, -1], dtype=np.int32))
    >>> column[0], list(column[1:])
    ('ulm', ['bonn', None])
    """

    names: Names
    ids: Ids

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> str | None: ...
    @overload
    def __getitem__(self, at: slice) -> NamedIds: ...
    def __getitem__(self, at: int | slice) -> str | NamedIds | None:
        """The name at a place, or a part of the column."""
        if isinstance(at, slice):
            return NamedIds(self.names, self.ids[at])
        number = int(self.ids[at])
        return None if number < 0 else self.names[number]

    def __iter__(self) -> Iterator[str | None]:
        distinct, place = np.unique(self.ids, return_inverse=True)
        texts = [None if i < 0 else self.names[i] for i in distinct.tolist()]
        return (texts[i] for i in place.tolist())


def unknown_entity(
    name: str, known: Names, place: str = "entity", called: Iterable[str] = ()
) -> InputError:
    """The error for an entity that no fact has; suggests names that are `known` or `called`."""
    hint = did_you_mean(name, [*called, *known])
    return InputError(f"no fact has the {place} {name!r}; expected the name of an entity.{hint}")


@kernel
def translated(blob, ends, other_blob, other_ends, ids):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Look up one sorted table in another: each search goes on where the one before ended."""
    low = 0
    for i in range(len(ends)):
        start = ends[i - 1] + 1 if i else 0
        high, found = len(other_ends), False
        while low < high:
            middle = (low + high) // 2
            # names are NUL-terminated, so a prefix sorts before a longer name
            at, to = other_ends[middle - 1] + 1 if middle else 0, start
            while other_blob[at] == blob[to] and blob[to] != 0:
                at += 1
                to += 1
            if other_blob[at] < blob[to]:
                low = middle + 1
            else:
                high, found = middle, other_blob[at] == blob[to]
        if found:
            ids[i] = low
