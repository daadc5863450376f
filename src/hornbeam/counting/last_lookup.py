"""A cache of the last lookup of names: the blocks of one list of pairs share a table of names."""

from __future__ import annotations

from collections.abc import Callable

from hornbeam.base.arrays import Ids
from hornbeam.facts.names import Names


class LastLookup:
    """The last table of names and its ids. Threads may share it: at worst one looks up again."""

    def __init__(self) -> None:
        self._last: tuple[Names, Ids] | None = None

    def ids(self, names: Names, look_up: Callable[[Names], Ids]) -> Ids:
        """Ids of the names, looked up unless the table is the same object as last time."""
        last = self._last
        if last is None or last[0] is not names:
            last = self._last = names, look_up(names)
        return last[1]
