"""Finding entities by what somebody types: whole names first, then beginnings, then parts.

All names stand in one folded blob (case, accents and width taken away), each between two zeros. The
zeros make one operation of three: with both of them a pattern is a whole name, with the first a
beginning, without them a part. Scanning a million names takes milliseconds, in linear time whatever
is typed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.facts.names import Names

#: Names folded at once, and bytes scanned before other threads get their turn.
CHUNK_NAMES = 500_000
CHUNK_BYTES = 1 << 20


def fold(text: str) -> str:
    """Take away case, accents and width.

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
    """Folded names in the order of their ids; `zeros[i]` stands before name i.

    Examples
    --------
    >>> names = Names.of(["Bonn", "Bonny", "Carbonne", "Ulm"])
    >>> names.take(NameIndex.of(names).find("bonn", 3))
    ['Bonn', 'Bonny', 'Carbonne']
    """

    folded: bytes
    zeros: npt.NDArray[np.int64]

    @classmethod
    def of(cls, names: Names) -> NameIndex:
        """Fold every name; each character folds alone, so whole chunks do it at once."""
        parts = [b"\0"]
        for first in range(0, len(names), CHUNK_NAMES):
            last = min(first + CHUNK_NAMES, len(names)) - 1
            start = int(names.ends[first - 1]) + 1 if first else 0
            parts.append(fold(names.blob[start : int(names.ends[last]) + 1].decode()).encode())
        folded = b"".join(parts)
        return cls(folded, np.flatnonzero(np.frombuffer(folded, dtype=np.uint8) == 0))

    def find(self, typed: str, limit: int) -> list[int]:
        """Ids of at most `limit` names, best first: the whole name, its beginning, a part."""
        wanted = fold(typed.strip()).encode("utf-8", "ignore").replace(b"\0", b"")
        if not wanted:
            return []
        found: dict[int, None] = {}
        for pattern in (b"\0" + wanted + b"\0", b"\0" + wanted, wanted):
            for i in self._hits(pattern):
                found.setdefault(i)
                if len(found) == limit:
                    return list(found)
        return list(found)

    def _hits(self, pattern: bytes) -> Iterator[int]:
        """Ids of names that hold the pattern, in their order, each once."""
        at, end = 0, len(self.folded)
        while at < end:
            # a chunk at a time: other threads wait while bytes are scanned
            stop = min(at + CHUNK_BYTES, end)
            hit = self.folded.find(pattern, at, stop + len(pattern) - 1)
            if hit < 0:
                at = stop
                continue
            # the zero before a name belongs to it
            i = int(np.searchsorted(self.zeros, hit, side="right")) - 1
            yield i
            at = int(self.zeros[i + 1])
