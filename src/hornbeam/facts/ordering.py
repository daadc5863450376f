"""Sorting binary atoms: large tables by counting subjects, then by sorting each subject's edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.arrays import Array, Ids, Millionths
from hornbeam.compiled import kernels
from hornbeam.facts.table import Atoms

kernel = kernels("the sorting of facts")

#: Edges that NumPy sorts before Numba is imported.
FEW = 100_000


def sort_edges(
    predicate: Array, arguments: list[Ids], values: Millionths | None, n_entities: int
) -> tuple[Array, list[Ids], Millionths | None]:
    """Order edges by (subject, predicate, object, value); without values in linear time.

    `arguments` is emptied, so that the caller does not hold on to the unsorted columns.
    """
    object_, subject = arguments.pop(), arguments.pop()
    if values is not None or len(subject) <= FEW:
        columns = (object_, predicate, subject)
        order = np.lexsort(columns if values is None else (values, *columns))
        sorted_values = None if values is None else values[order]
        return predicate[order], [subject[order], object_[order]], sorted_values
    sorted_subject, sorted_predicate, sorted_object = _sort_by_subject.compiled(
        subject, predicate, object_, n_entities
    )
    return sorted_predicate, [sorted_subject, sorted_object], None


def united_edges(parts: Sequence[Atoms], n_entities: int) -> Atoms:
    """The edges of all parts, sorted as `Atoms` are; parts without values are true."""
    values = None
    if any(part.millionths is not None for part in parts):
        values = np.concatenate([part.all_millionths for part in parts])
    ends = [np.concatenate([part.arguments[k] for part in parts]) for k in range(2)]
    predicate = np.concatenate([part.predicate for part in parts])
    predicate, ends, values = sort_edges(predicate, ends, values, n_entities)
    return Atoms(predicate, tuple(ends), values)


@kernel
def _sort_by_subject(subject, predicate, object_, n_entities):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    n = len(subject)
    offsets = np.zeros(n_entities + 1, dtype=np.int64)
    for i in range(n):
        offsets[subject[i] + 1] += 1
    widest = np.int64(0)  # by hand: `max` takes a second to compile
    for i in range(n_entities):
        widest = max(widest, offsets[i + 1])
        offsets[i + 1] += offsets[i]
    to_subject = np.empty_like(subject)
    to_predicate = np.empty_like(predicate)
    to_object = np.empty_like(object_)
    place = offsets[:-1].copy()
    for i in range(n):
        at = place[subject[i]]
        place[subject[i]] += 1
        to_subject[at] = subject[i]
        to_predicate[at] = predicate[i]
        to_object[at] = object_[i]
    keys = np.empty(widest, dtype=np.uint64)
    for s in range(n_entities):
        low, high = offsets[s], offsets[s + 1]
        for k in range(high - low):
            keys[k] = (np.uint64(to_predicate[low + k]) << np.uint64(32)) | np.uint64(
                to_object[low + k]
            )
        keys[: high - low].sort()
        for k in range(high - low):
            to_predicate[low + k] = keys[k] >> np.uint64(32)
            to_object[low + k] = keys[k] & np.uint64(0xFFFFFFFF)
    return to_subject, to_predicate, to_object
