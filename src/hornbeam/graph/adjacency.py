"""The facts as a graph: one adjacency list per node, over every predicate and its inverse.

Steps have the codes of `hornbeam.rules.codes`. Each fact is stored twice, once per node, in six
bytes (node and code) each.

Atoms of three or more arguments become edges between any two arguments, their projections. An atom
`ta(a, b, c)` is an edge a -> b of the relation of places 0 and 1, a -> c of 0 and 2, and b -> c of
1 and 2. `hornbeam.rules.body.Step.relation` names these relations. Atoms that differ only in the
other arguments are parallel edges: each is a grounding of its own.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-calls=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Ids,
    Integers,
    Ints,
    lower_bounds,
    part_numbers,
    pointers,
    run_starts,
    spliced,
)
from hornbeam.base.compiled import Kernel, kernels
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.growth import Growth, numbers_before, united_atoms
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts, narrow_type
from hornbeam.graph.edge_runs import place_of
from hornbeam.rules.body import Step
from hornbeam.rules.codes import code_limit, inverse_code, step_code

kernel = kernels("the layout of the graph")

#: Facts that NumPy sorts before Numba is imported.
SMALL_GRAPH = 100_000
#: Maximum entries per edge of a table with the degrees of all nodes and codes. A look-up in such a
#: table is ten times as fast as a search.
MAX_TABLE = 8
#: Edges of a graph above which compiling the walks between single nodes pays.
WALKS_WORTH_COMPILING = 20_000


class Adjacency(NamedTuple):
    """Edges by node: node v has the edges `offsets[v]` to `offsets[v + 1]`.

    A node's edges are sorted by code and neighbour. `value` is empty if all facts are 0 or 1. Edges
    of one code between the same nodes are parallel: projections of different atoms.
    """

    offsets: Ints
    neighbour: Ids
    code: Integers
    value: Ids

    def degree(self, nodes: Ids) -> Ints:
        """Number of edges of each node."""
        return self.offsets[nodes + 1] - self.offsets[nodes]

    def neighbours(self, node: int, code: int) -> Ids:
        """Nodes one step of a code away from a node, sorted."""
        low, high = self.offsets[node], self.offsets[node + 1]
        run = np.searchsorted(self.code[low:high], [code, code + 1])
        return self.neighbour[low + run[0] : low + run[1]]


@dataclass(frozen=True, eq=False)
class Graph:
    """The adjacency lists that a path search walks.

    `forward` lists the steps that leave a node. `backward` lists leaving steps, too: those whose
    reversal may be walked towards the node. The two differ only under a fan-out limit.
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
        """Build the graph from the binary facts; for wider atoms see `with_projections`."""
        atoms = facts.binary
        value = atoms.millionths if atoms.millionths is not None else np.empty(0, dtype=np.int32)
        subject, object_ = atoms.arguments
        sizes = len(facts.entities), len(facts.predicates)
        whole = adjacency_of(subject, atoms.predicate, object_, value, *sizes)
        return cls(whole, whole, code_limit(len(facts.predicates)))

    def grown(self, growth: Growth) -> tuple[Graph, Ints]:
        """The graph of facts that grew by links of truth 1, and which of its edges are new.

        The graph has no fan-out limit, and its facts are links of truth 1, too.
        """
        node, code, neighbour = new_edges(growth)
        old, n_codes = self.forward, code_limit(len(growth.facts.predicates))
        to_entity, codes = growth.to_entity, moved_codes(growth)
        degree = np.zeros(len(growth.facts.entities), dtype=np.int64)
        degree[to_entity] = np.diff(old.offsets)
        numbers, _ = numbers_before((code, neighbour), (codes, to_entity))
        at = places_in(Adjacency(pointers(degree), *old[1:]), node, *numbers)
        whole = Adjacency(
            pointers(degree + np.bincount(node, minlength=len(degree))),
            spliced(old.neighbour, at, neighbour, to_entity),
            spliced(old.code, at, code, codes),
            old.value,
        )
        return Graph(whole, whole, n_codes), at + np.arange(len(at))

    def walked_by(self, kernel: Kernel) -> Callable[..., Any]:
        """A kernel for walks between single nodes, interpreted or compiled by the graph's size."""
        return kernel.for_size(len(self.forward.neighbour), WALKS_WORTH_COMPILING)

    def limited(self, max_fanout: int | None) -> Graph:
        """Drop a node's steps of one code if there are more than `max_fanout`; None keeps all."""
        if max_fanout is None:
            return self
        leaving, arriving = (degree <= max_fanout for degree in self.step_degrees(self.forward))
        return Graph(
            _filtered(self.forward, leaving), _filtered(self.backward, arriving), self.n_codes
        )

    def step_degrees(self, edges: Adjacency) -> tuple[Ids, Ids]:
        """Degrees of the steps along `edges`, and degrees of the reversals of these steps.

        The degree of a step is the number of edges of its code that leave the node in this graph.
        """
        at_node = self.degree(part_numbers(edges.offsets), edges.code)
        return at_node, self.degree(edges.neighbour, inverse_code(edges.code))

    def degree(self, node: Integers, code: Integers) -> Ids:
        """Number of edges of a code that leave each node."""
        keys, size = self._degrees
        key = pair_keys(node, code, self.n_codes)
        if self.n_entities * self.n_codes <= MAX_TABLE * len(key):
            table = np.zeros(self.n_entities * self.n_codes, dtype=np.int32)
            table[keys] = size
            return table[key]
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        degree: Ids = np.where(keys[at] == key, size[at], 0)
        return degree

    @cached_property
    def _degrees(self) -> tuple[Ints, Ids]:
        """Sorted distinct keys (node, code), and the number of edges of each key."""
        key = pair_keys(part_numbers(self.forward.offsets), self.forward.code, self.n_codes)
        starts = run_starts(key)
        return key[starts], np.diff(np.append(starts, len(key))).astype(np.int32)


def adjacency_of(
    subject: Ids, predicate: Integers, object_: Ids, value: Ids, n_entities: int, n_predicates: int
) -> Adjacency:
    """Adjacency lists of edges that are sorted by subject, predicate and object."""
    code_of = step_code(np.arange(n_predicates, dtype=_code_type(code_limit(n_predicates))))
    build = _scattered_adjacency if len(subject) > SMALL_GRAPH else _sorted_adjacency
    return build(subject, predicate, object_, value, n_entities, code_of)


def _code_type(n_codes: int) -> type[np.uint16] | type[np.uint32]:
    """The type of codes below a limit: two bytes where they are enough."""
    return np.uint16 if n_codes <= np.iinfo(np.uint16).max else np.uint32


def new_edges(growth: Growth) -> tuple[Ids, Ints, Ids]:
    """Node, code and neighbour of the edges that a growth adds, sorted in this order."""
    subject, object_ = growth.new_links.arguments
    code = step_code(growth.new_links.predicate.astype(np.int64))
    node, neighbour = np.append(subject, object_), np.append(object_, subject)
    code = np.append(code, inverse_code(code))
    order = np.lexsort((neighbour, code, node))
    return node[order], code[order], neighbour[order]


def moved_codes(growth: Growth) -> Integers:
    """The code of a step by its code before predicates got other ids."""
    limit = code_limit(len(growth.facts.predicates))
    moved: Integers = np.arange(code_limit(len(growth.to_predicate))).astype(_code_type(limit))
    before = step_code(np.arange(len(growth.to_predicate)))
    moved[before] = step_code(growth.to_predicate)
    moved[inverse_code(before)] = inverse_code(step_code(growth.to_predicate))
    return moved


def places_in(edges: Adjacency, node: Ids, code: Integers, neighbour: Ids) -> Ints:
    """Per node, code and neighbour, the node's first edge that is not before; its end if none."""
    low, high = edges.offsets[node], edges.offsets[node.astype(np.intp) + 1]
    return lower_bounds((edges.code, edges.neighbour), (code, neighbour), low, high)


def _sorted_adjacency(
    subject: Ids, predicate: Integers, object_: Ids, value: Ids, n_entities: int, code_of: Integers
) -> Adjacency:
    """Adjacency by one sort of all edges; `code_of[p]` is the code of a step along predicate p."""
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


@kernel
def scatter(  # type: ignore[no-untyped-def]
    subject, predicate, object_, value, code_of, offsets, ends, rows, neighbour, code, edge_value
):
    """Scatter each fact to both its nodes in an order that leaves every node's edges sorted.

    Facts come sorted by subject, predicate, object. They are taken predicate by predicate, first
    along it and then against it. So they reach every node in the order of codes and neighbours;
    parallel edges keep their order. The last six arrays are filled; `offsets` and `ends` must be 0
    before. `rows` lists the facts by predicate, the facts of predicate p up to `ends[p]`.
    Afterwards node v has the edges from `offsets[v]` to below `offsets[v + 1]`.
    """
    for i in range(len(subject)):
        offsets[subject[i] + 2] += 1
        offsets[object_[i] + 2] += 1
        ends[predicate[i] + 1] += 1
    for v in range(2, len(offsets)):
        offsets[v] += offsets[v - 1]
    for p in range(1, len(ends)):
        ends[p] += ends[p - 1]
    for i in range(len(subject)):
        rows[ends[predicate[i]]] = i
        ends[predicate[i]] += 1
    start = 0
    for p in range(len(code_of)):
        for inverse in range(2):
            for k in range(start, ends[p]):
                i = rows[k]
                here = object_[i] if inverse else subject[i]
                at = offsets[here + 1]
                offsets[here + 1] += 1
                neighbour[at] = subject[i] if inverse else object_[i]
                code[at] = code_of[p] ^ inverse
                if len(value) > 0:
                    edge_value[at] = value[i]
        start = ends[p]


@kernel
def list_properties(first_run, run_step, neighbour, code, found):  # type: ignore[no-untyped-def]
    """Fill `found` with the number of the run that contains the reversal of each edge.

    Node v has the runs `first_run[v]` to `first_run[v + 1]`; a run has the edges of one code.
    """
    for e in range(len(neighbour)):
        v = neighbour[e]
        found[e] = place_of(run_step, first_run[v], first_run[v + 1], code[e] ^ 1)


def projections(predicate: str, arity: int) -> dict[tuple[int, int], str]:
    """Names of the projections of a predicate by argument places; empty for binary predicates.

    Examples
    --------
    >>> list(projections("ta", 3))
    [(0, 1), (0, 2), (1, 2)]
    >>> projections("cites", 2)
    {}
    """
    if arity < 3:
        return {}
    places = combinations(range(arity), 2)
    return {two: Step(predicate, places=two, arity=arity).relation for two in places}


def walked_predicates(predicates: Names, not_binary: Mapping[str, int]) -> Names:
    """All predicates, and the projections of predicates with three or more arguments."""
    more = [
        name
        for predicate, arity in not_binary.items()
        for name in projections(predicate, arity).values()
    ]
    return Names.of([*predicates, *more]) if more else predicates


def with_projections(facts: Facts) -> Facts:
    """Unary facts and all edges, wider atoms as projections; `facts` itself if no atom is wider.

    Examples
    --------
    >>> from hornbeam.facts.table import Atoms, Facts
    >>> from hornbeam.facts.names import Names
    >>> columns = [np.array([i], dtype=np.int32) for i in range(4)]
    >>> table = Atoms(columns[0], tuple(columns[1:]))
    >>> with_projections(Facts(Names.of("abcd"), Names.of(["ta"]), {3: table}))
    Facts(3 facts, 4 entities, 4 predicates)
    """
    wider = {arity: table for arity, table in facts.atoms.items() if arity > 2}
    if not wider:
        return facts
    predicates = walked_predicates(facts.predicates, facts.not_binary)
    renamed = facts.predicates.translate(predicates)
    kind = narrow_type(len(predicates))
    kept = {
        arity: Atoms(renamed[table.predicate].astype(kind), table.arguments, table.millionths)
        for arity, table in facts.atoms.items()
        if arity < 3
    }
    parts = [kept[2]] if 2 in kept else []
    for arity, table in wider.items():
        for first, second in combinations(range(arity), 2):
            relation = np.zeros(len(facts.predicates), dtype=kind)
            for p in np.unique(table.predicate).tolist():
                step = Step(facts.predicates[p], places=(first, second), arity=arity)
                relation[p] = predicates.index(step.relation)
            ends = table.arguments[first], table.arguments[second]
            parts.append(Atoms(relation[table.predicate], ends, table.millionths))
    return replace(facts, predicates=predicates, atoms={**kept, 2: united_atoms(parts)})
