"""The facts as a graph: one adjacency list per node, over every predicate and its inverse.

Steps have the codes of `hornbeam.rules.codes`. Each fact is stored twice, once per node, in six
bytes (node and code) each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers, Ints, pointers
from hornbeam.base.compiled import Kernel
from hornbeam.facts.table import Facts
from hornbeam.graph.adjacency_kernels import narrow, scatter
from hornbeam.rules.codes import code_limit, inverse_code, step_code

#: Facts that NumPy sorts before Numba is imported.
SMALL_GRAPH = 100_000
#: Edges to compare with a fan-out limit above which compiling pays.
WORTH_COMPILING = 200_000
#: Edges of a graph above which compiling the walks between single nodes pays.
WALKS_WORTH_COMPILING = 20_000


class Adjacency(NamedTuple):
    """Edges by node, each node's sorted by (code, neighbour); `value` is empty for 0/1 facts.

    Edges of one code between the same nodes are parallel: projections of different atoms.
    """

    offsets: Ints
    neighbour: Ids
    code: Integers
    value: Ids

    def degree(self, nodes: Ids) -> Ints:
        """How many edges each of some nodes has."""
        return self.offsets[nodes + 1] - self.offsets[nodes]

    def neighbours(self, node: int, code: int) -> Ids:
        """Nodes one step of a code away from a node, sorted."""
        low, high = self.offsets[node], self.offsets[node + 1]
        run = np.searchsorted(self.code[low:high], [code, code + 1])
        return self.neighbour[low + run[0] : low + run[1]]


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
        """The same graph for a search that starts at the objects."""
        return Graph(self.backward, self.forward, self.n_codes)

    @classmethod
    def of(cls, facts: Facts) -> Graph:
        """Build from the binary facts of `walked` facts."""
        atoms = facts.binary
        value = atoms.millionths if atoms.millionths is not None else np.empty(0, dtype=np.int32)
        subject, object_ = atoms.arguments
        sizes = len(facts.entities), len(facts.predicates)
        whole = adjacency_of(subject, atoms.predicate, object_, value, *sizes)
        return cls(whole, whole, code_limit(len(facts.predicates)))

    def walked_by(self, kernel: Kernel) -> Callable[..., Any]:
        """A kernel for walks between single nodes, interpreted or compiled by the graph's size."""
        return kernel.for_size(len(self.forward.neighbour), WALKS_WORTH_COMPILING)

    def limited(self, max_fanout: int | None) -> Graph:
        """The graph without steps of which a node has more than `max_fanout` per code, if given."""
        if max_fanout is None:
            return self
        run = narrow.choose(len(self.forward.neighbour), WORTH_COMPILING)
        leaving, arriving = run(*self.forward[:3], max_fanout)
        return Graph(
            _filtered(self.forward, leaving), _filtered(self.backward, arriving), self.n_codes
        )


def adjacency_of(
    subject: Ids, predicate: Integers, object_: Ids, value: Ids, n_entities: int, n_predicates: int
) -> Adjacency:
    """Adjacency lists of edges that are sorted by subject, predicate and object."""
    wide = np.uint16 if code_limit(n_predicates) <= np.iinfo(np.uint16).max else np.uint32
    code_of = step_code(np.arange(n_predicates, dtype=wide))
    build = _scattered_adjacency if len(subject) > SMALL_GRAPH else _sorted_adjacency
    return build(subject, predicate, object_, value, n_entities, code_of)


def _sorted_adjacency(
    subject: Ids, predicate: Integers, object_: Ids, value: Ids, n_entities: int, code_of: Integers
) -> Adjacency:
    """Adjacency by one sort of all edges; `code_of` has the code of a step along a predicate."""
    node, neighbour = np.concatenate([subject, object_]), np.concatenate([object_, subject])
    code = np.concatenate([code_of[predicate], inverse_code(code_of)[predicate]])
    order = np.lexsort((neighbour, code, node))
    offsets = np.searchsorted(node[order], np.arange(n_entities + 1))
    values = np.concatenate([value, value])[order] if len(value) else value
    return Adjacency(offsets, neighbour[order], code[order], values)


def _scattered_adjacency(
    subject: Ids, predicate: Integers, object_: Ids, value: Ids, n_entities: int, code_of: Integers
) -> Adjacency:
    """The result of `_sorted_adjacency` in linear time; facts must be sorted."""
    n = len(subject)
    offsets = np.zeros(n_entities + 2, dtype=np.int64)
    neighbour = np.empty(2 * n, dtype=np.int32)
    code = np.empty(2 * n, dtype=code_of.dtype)
    edge_value = np.empty(2 * len(value), dtype=np.int32)
    ends = np.zeros(len(code_of) + 1, dtype=np.int64)
    rows = np.empty(n, dtype=np.uint32)
    scatter.compiled(
        subject, predicate, object_, value, code_of, offsets, ends, rows, neighbour, code,
        edge_value,
    )  # fmt: skip
    return Adjacency(offsets[:-1], neighbour, code, edge_value)


def _filtered(adjacency: Adjacency, keep: Bools) -> Adjacency:
    offsets, neighbour, code, value = adjacency
    kept = value[keep] if len(value) else value
    return Adjacency(pointers(keep)[offsets], neighbour[keep], code[keep], kept)
