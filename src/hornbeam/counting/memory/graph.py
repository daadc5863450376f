"""The facts as a graph: one adjacency list per node, over every predicate and its inverse.

Steps have the codes of `hornbeam.rules.codes`. Each fact is stored twice, once for either end, in
six bytes (node and code) each.
"""

# mypy: disallow-untyped-calls=false

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Bools, Ids, Integers, Ints, pointers
from hornbeam.compiled import kernels
from hornbeam.facts.table import Facts
from hornbeam.rules.codes import code_limit, step_code, turned

kernel = kernels("the layout of the graph")

#: Facts that NumPy sorts before Numba is imported.
FEW = 100_000
#: Edges to compare with a fan-out limit above which compiling pays.
WORTH_COMPILING = 200_000


class Adjacency(NamedTuple):
    """Edges by node, each node's sorted by (code, neighbour); `value` is empty for 0/1 facts.

    Edges of one code between the same nodes are parallel: projections of different atoms.
    """

    offsets: Ints
    neighbour: Ids
    code: Integers
    value: Ids


@dataclass(frozen=True, eq=False)
class Graph:
    """What a path search walks.

    `forward` lists the steps that leave a node. `backward` lists, also by leaving step, the steps
    whose reversal may be walked towards the node; the two differ only under a fan-out limit.
    """

    forward: Adjacency
    backward: Adjacency
    n_codes: int

    @property
    def n_entities(self) -> int:
        """Number of nodes."""
        return len(self.forward.offsets) - 1

    @property
    def reversed(self) -> Graph:
        """The same graph for a search that starts at the other end."""
        return Graph(self.backward, self.forward, self.n_codes)

    @classmethod
    def of(cls, facts: Facts) -> Graph:
        """Build from the binary facts (of `walked` ones)."""
        n_codes = code_limit(len(facts.predicates))
        wide = np.uint16 if n_codes <= np.iinfo(np.uint16).max else np.uint32
        atoms = facts.binary
        value = atoms.millionths if atoms.millionths is not None else np.empty(0, dtype=np.int32)
        subject, object_ = atoms.arguments
        lay_out = _adjacency.compiled if len(atoms) > FEW else _sorted_adjacency
        code_of = step_code(np.arange(len(facts.predicates), dtype=wide))
        arrays = lay_out(subject, atoms.predicate, object_, value, len(facts.entities), code_of)
        whole = Adjacency(*arrays)
        return cls(whole, whole, n_codes)

    def limited(self, max_fanout: int | None) -> Graph:
        """Drop the steps u -> v of a code of which u has more than `max_fanout`; none by None."""
        if max_fanout is None:
            return self
        narrow = _narrow.choose(len(self.forward.neighbour), WORTH_COMPILING)
        leaving, arriving = narrow(*self.forward[:3], max_fanout)
        return Graph(
            _filtered(self.forward, leaving), _filtered(self.backward, arriving), self.n_codes
        )


def _sorted_adjacency(
    subject: Ids, predicate: Integers, object_: Ids, value: Ids, n_entities: int, code_of: Integers
) -> tuple[Integers, ...]:
    """What `_adjacency` returns, by sorting all edges at once."""
    node, neighbour = np.concatenate([subject, object_]), np.concatenate([object_, subject])
    code = np.concatenate([code_of[predicate], turned(code_of)[predicate]])
    order = np.lexsort((neighbour, code, node))
    offsets = np.searchsorted(node[order], np.arange(n_entities + 1))
    values = np.concatenate([value, value])[order] if len(value) else value
    return offsets, neighbour[order], code[order], values


def _filtered(adjacency: Adjacency, keep: Bools) -> Adjacency:
    offsets, neighbour, code, value = adjacency
    kept = value[keep] if len(value) else value
    return Adjacency(pointers(keep)[offsets], neighbour[keep], code[keep], kept)


@kernel
def _adjacency(subject, predicate, object_, value, n_entities, code_of):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Scatter each fact to both ends, then sort every node's few edges in a small buffer.

    `code_of` has the code of a step along every predicate; codes are of its type.
    """
    n = len(subject)
    soft = len(value) > 0
    offsets = np.zeros(n_entities + 1, dtype=np.int64)
    for i in range(n):
        offsets[subject[i] + 1] += 1
        offsets[object_[i] + 1] += 1
    widest = np.int64(0)  # by hand: `max` takes a second to compile
    for v in range(n_entities):
        widest = max(widest, offsets[v + 1])
        offsets[v + 1] += offsets[v]
    neighbour = np.empty(2 * n, dtype=np.int32)
    code = np.empty(2 * n, dtype=code_of.dtype)
    edge_value = np.empty(2 * n if soft else 0, dtype=np.int32)
    place = offsets[:-1].copy()
    for i in range(n):
        for inverse in range(2):
            here = object_[i] if inverse else subject[i]
            at = place[here]
            place[here] += 1
            neighbour[at] = subject[i] if inverse else object_[i]
            code[at] = code_of[predicate[i]] ^ inverse
            if soft:
                edge_value[at] = value[i]
    keys = np.empty(widest, dtype=np.uint64)
    kept = np.empty(widest if soft else 0, dtype=np.int32)
    for v in range(n_entities):
        low = offsets[v]
        size = offsets[v + 1] - low
        for k in range(size):
            keys[k] = (np.uint64(code[low + k]) << np.uint64(32)) | np.uint64(neighbour[low + k])
        if soft:
            # stable, as parallel edges may have different values
            order = np.argsort(keys[:size], kind="mergesort")
            for k in range(size):  # an assignment of slices takes seconds to compile
                kept[k] = edge_value[low + k]
            for k in range(size):
                edge_value[low + k] = kept[order[k]]
        keys[:size].sort()
        for k in range(size):
            code[low + k] = keys[k] >> np.uint64(32)
            neighbour[low + k] = keys[k] & np.uint64(0xFFFFFFFF)
    return offsets, neighbour, code, edge_value


@kernel
def _narrow(offsets, neighbour, code, limit):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """For every edge: may it be walked from its node, and may its reversal be walked to it?"""
    leaving = np.ones(len(neighbour), dtype=np.bool_)
    arriving = np.ones(len(neighbour), dtype=np.bool_)
    for u in range(len(offsets) - 1):
        start = offsets[u]
        while start < offsets[u + 1]:
            later = code[start : offsets[u + 1]]
            stop = start + np.searchsorted(later, code[start], side="right")
            if stop - start > limit:
                leaving[start:stop] = False
            start = stop
    for u in range(len(offsets) - 1):
        for e in range(offsets[u], offsets[u + 1]):
            if not leaving[e]:
                # the twin edges at the neighbour stand for this step seen from its far end; of
                # parallel edges, which are left out together, the first marks all
                if e > offsets[u] and code[e] == code[e - 1] and neighbour[e] == neighbour[e - 1]:
                    continue
                v = neighbour[e]
                low, high = offsets[v], offsets[v + 1]
                first = low + np.searchsorted(code[low:high], code[e] ^ 1)
                last = low + np.searchsorted(code[low:high], code[e] ^ 1, side="right")
                twin = first + np.searchsorted(neighbour[first:last], u)
                while twin < last and neighbour[twin] == u:
                    arriving[twin] = False
                    twin += 1
    return leaving, arriving
