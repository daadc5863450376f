"""The loop behind `Names.translate`."""

from __future__ import annotations

import numpy as np

from hornbeam.compiled import kernels

kernel = kernels("the comparison of names")


@kernel
def translated(blob, ends, other_blob, other_ends):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Look up one sorted table in another: each search goes on where the one before ended."""
    ids = np.full(len(ends), -1, dtype=np.int32)
    low = 0
    for i in range(len(ends)):
        start = ends[i - 1] + 1 if i else 0
        high, found = len(other_ends), False
        while low < high:
            middle = (low + high) // 2
            # names end in a zero, which no name contains: it is the lesser in a shorter name
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
    return ids
