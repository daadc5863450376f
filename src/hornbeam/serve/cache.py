"""A thread-safe LRU cache of bounded total size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """Results by key, up to a total size; a result has the size 1 unless `size` is given.

    Examples
    --------
    >>> cache = BoundedCache[str](limit=2)
    >>> [cache.get(key, lambda: key.upper()) for key in "abca"], len(cache)
    (['A', 'B', 'C', 'A'], 2)
    """

    def __init__(self, limit: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._limit = limit
        self._size = size
        self._held = 0
        self._items: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._items

    def peek(self, key: Hashable) -> T | None:
        """The result of a key if it is cached, else None."""
        with self._lock:
            if key not in self._items:
                return None
            self._items.move_to_end(key)
            return self._items[key][0]

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of a key, computed by `make` if it is not cached.

        Two threads may compute the same value concurrently: no lock is held while computing.
        """
        cached = self.peek(key)
        if cached is not None:
            return cached
        made = make()
        size = self._size(made)
        with self._lock:
            if key not in self._items and size <= self._limit:
                self._items[key] = made, size
                self._held += size
                while self._held > self._limit:
                    _, (_, freed) = self._items.popitem(last=False)
                    self._held -= freed
        return made
