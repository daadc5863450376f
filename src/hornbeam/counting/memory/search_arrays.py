"""The arrays that a path search works in; they grow where it stops for lack of room."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hornbeam.base.arrays import Array, Keys
from hornbeam.counting.memory import search
from hornbeam.counting.memory.search import (
    Counters,
    Entries,
    MiddleSteps,
    Prefixes,
    PrefixNumbers,
    Scratch,
    Suffixes,
    enter_keys,
)

#: Room of new arrays, and of new hash tables; the latter is a power of two.
SMALL = 1 << 10
FEW_SLOTS = 1 << 12
#: Keys to enter above which compiling pays.
WORTH_COMPILING = 100_000

Named = dict[str, Array]


def _int32s(names: Iterable[str], size: int) -> Named:
    return {name: np.empty(size, dtype=np.int32) for name in names}


def _int64s(names: Iterable[str], size: int) -> Named:
    return {name: np.empty(size, dtype=np.int64) for name in names}


def _keys(names: Iterable[str], size: int) -> Named:
    return {name: np.empty(size, dtype=np.uint64) for name in names}


def _nodes(size: int) -> Named:
    return _int32s(["node"], size) | _int64s(["start", "stop"], size)


def _items(size: int) -> Named:
    return _int32s(["prefix", "via", "deficit", "times"], size)


def _suffixes(size: int) -> Named:
    segments = _int32s(["row"], size) | _int64s(["start", "stop"], size)
    return segments | _keys(["key", "order"], 2 * size) | _int32s(["v", "w", "deficit"], 2 * size)


def _by_prefix(size: int) -> Named:
    lists = {name: np.zeros(size, dtype=np.int32) for name in ("touched", "seen", "met")}
    return lists | {"counts": np.zeros(size, np.int64), "folded": np.zeros((size, 3), np.int64)}


#: What to make again in a larger size, by what lacks room: an attribute of `SearchArrays`, and the
#: function that makes its fields.
MADE: dict[np.int64, tuple[str, Callable[[int], Named]]] = {
    search.ROOM_NEAR: ("near", lambda size: _nodes(size) | _items(size)),
    search.ROOM_FAR_NODES: ("far", _nodes),
    search.ROOM_FAR_ITEMS: ("far", _items),
    search.ROOM_STEPS: ("steps", lambda size: _int32s(MiddleSteps._fields, size)),
    search.ROOM_CODES: ("numbers", lambda size: _keys(["code"], size)),
    search.ROOM_PAIRS: ("numbers", lambda size: {"pair": np.full(size, -1, dtype=np.int32)}),
    search.ROOM_SUFFIXES: ("suffixes", _suffixes),
    search.ROOM_PREFIXES: ("scratch", _by_prefix),
    search.ROOM_BODIES: ("scratch", lambda size: _keys(["bodies"], size)),
}


class SearchArrays:
    """What one search at a time works in, apart from counters; another one may use it afterwards.

    Between searches all slots and pairs are -1, and scratch is 0.
    """

    def __init__(self, n_entities: int) -> None:
        made: dict[str, Named] = {"scratch": {"places": np.empty(64, dtype=np.int64)}}
        for attribute in ("near", "far"):
            made[attribute] = {"slot": np.full(n_entities, -1, dtype=np.int32)}
        for attribute, fields in MADE.values():
            made.setdefault(attribute, {}).update(fields(SMALL))
        self.near, self.far = Prefixes(**made["near"]), Prefixes(**made["far"])
        self.steps, self.numbers = MiddleSteps(**made["steps"]), PrefixNumbers(**made["numbers"])
        self.suffixes, self.scratch = Suffixes(**made["suffixes"]), Scratch(**made["scratch"])
        rows = _int32s(["row", "body", "truth"], SMALL)
        self.entries = Entries(**rows, **_int64s(["paths"], SMALL))

    @property
    def arguments(self) -> tuple[tuple[Array, ...], ...]:
        """What the search takes."""
        return (
            self.near, self.far, self.steps, self.numbers, self.suffixes, self.scratch,
            self.entries,
        )  # fmt: skip

    @property
    def grown_bytes(self) -> int:
        """Bytes of all arrays that grow."""
        slots = self.near.slot.nbytes + self.far.slot.nbytes
        return sum(array.nbytes for part in self.arguments for array in part) - slots

    def grow(self, room: np.int64, needed: int) -> None:
        """Make room for what lacks it, more than needed; only entries keep what they have."""
        size = needed + needed // 2
        if room == search.ROOM_ENTRIES:
            self.entries = Entries(*(extended(column, size) for column in self.entries))
        else:
            attribute, fields = MADE[room]
            setattr(self, attribute, getattr(self, attribute)._replace(**fields(size)))


def extended(array: Array, size: int) -> Array:
    """The array with zeros at the end of its last axis, which gets that size."""
    longer = np.zeros((*array.shape[:-1], size), dtype=array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer


def counters_of(keys: Keys, figures: Array, size: int) -> Counters:
    """A hash table of distinct keys with their figures, with room for `size`, at most half full.

    Keys are numbered in their order.
    """
    slots = max(FEW_SLOTS, 1 << (2 * size).bit_length())
    slot_key, slot_id = np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.int32)
    enter_keys.choose(len(keys), WORTH_COMPILING)(slot_key, slot_id, keys)
    return Counters(slot_key, slot_id, extended(keys, slots // 2), extended(figures, slots // 2))
