"""Counts conditions on one argument: columns over entities, less the fact of each pair itself.

A condition on one argument has the same groundings for all pairs of an entity, but for a pair's own
fact. So it is counted once per entity, whatever the number of the entity's pairs. These counts are
repeated for the pairs, and the groundings that are hidden from a pair are subtracted.

A kind of condition is a function that counts it for the pairs of one argument, and a line in
`COUNTED`; chains, which take more than one step, are in `chains`.

With distinct variables, subject and object of a rule with an atom are two entities, and X of an
open condition is a third. A constant is not a variable, and may be any entity.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers, Ints, pointers, ranges
from hornbeam.counting.memory.condition_rows import (
    ConditionCounts,
    ConditionRows,
    FoundConditions,
    rows_of_pairs,
)
from hornbeam.counting.memory.path_search import LocatedPairs
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import HALF, ONE, Facts
from hornbeam.graph.adjacency import Adjacency
from hornbeam.rules.body import MAX_CHAIN, Kind
from hornbeam.rules.codes import KINDS, ConditionNumbers, inverse_code, step_code


@dataclass(frozen=True, eq=False)
class _Edges(ConditionRows):
    """Edges that leave some nodes, by the node's index; sorted by node."""

    node: Ints
    code: Ints
    neighbour: Ints
    truth: Ints


@dataclass(frozen=True, eq=False)
class ConditionCounter:
    """Counts conditions over one graph.

    `forward` has the steps that may be walked from a node, `unary` the unary facts about it (see
    `unary_facts`), and `n_codes` is above every code.
    """

    forward: Adjacency
    unary: Adjacency
    n_codes: int
    distinct: bool

    @property
    def n_entities(self) -> int:
        """Number of nodes."""
        return len(self.forward.offsets) - 1

    def key(self, kind: Integers, argument: Integers, code: Integers, constant: Integers) -> Ints:
        """One integer per condition, given by the numbers of `condition_numbers`.

        Codes are below `n_codes`, constants are -1 or ids.
        """
        place = pair_keys(kind * 2 + argument, code, self.n_codes)
        return pair_keys(place, constant + 1, self.n_entities + 1)

    def found(
        self, pairs: LocatedPairs, kinds: Collection[Kind], min_pairs: int
    ) -> FoundConditions:
        """Count all conditions of some kinds; anchored ones where they may cover `min_pairs`."""
        cells = self._cells(pairs, kinds, None, min_pairs)
        distinct, condition = np.unique(cells.condition, return_inverse=True)
        place, constant = np.divmod(distinct, self.n_entities + 1)
        place, code = np.divmod(place, self.n_codes)
        conditions = np.stack([place // 2, place % 2, constant - 1], axis=1)
        counts = replace(cells, condition=condition)
        steps = np.pad(code[:, None], [(0, 0), (0, MAX_CHAIN)])
        return FoundConditions(steps, conditions, counts, cells.truth >= HALF)

    def counted(self, wanted: ConditionNumbers, pairs: LocatedPairs) -> ConditionCounts:
        """Count the given conditions, none of them a chain."""
        keys = self.key(wanted.kind, wanted.argument, wanted.code, wanted.constant)
        kinds = {KINDS[kind] for kind in np.unique(wanted.kind).tolist()}
        cells = self._cells(pairs, kinds, np.unique(keys), 1)
        return cells.numbered(keys, wanted.number)

    def _cells(
        self, pairs: LocatedPairs, kinds: Collection[Kind], wanted: Ints | None, min_pairs: int
    ) -> ConditionCounts:
        """Count conditions of some kinds; only those of the sorted `wanted` keys, if given."""
        parts = [
            COUNTED[kind](_ArgumentOfPairs(self, pairs, argument, wanted, min_pairs))
            for argument in (0, 1)
            for kind in COUNTED
            if kind in kinds
        ]
        cells = ConditionCounts.united(parts)
        return cells if wanted is None else cells.take(np.isin(cells.condition, wanted))


@dataclass(frozen=True, eq=False)
class _ArgumentOfPairs:
    """One argument of all pairs, as every kind of condition is counted for it."""

    counter: ConditionCounter
    pairs: LocatedPairs
    argument: int
    wanted: Ints | None  #: sorted keys of the conditions to count; None for all
    min_pairs: int  #: conditions of fewer pairs need not be counted

    @cached_property
    def node(self) -> Ids:
        """The argument of every pair."""
        return self.pairs.object if self.argument else self.pairs.subject

    @property
    def other(self) -> Ids:
        """The other argument of every pair."""
        return self.pairs.subject if self.argument else self.pairs.object

    @cached_property
    def _distinct(self) -> tuple[Ids, Ints, Ints]:
        """The nodes, each once; the index of every pair's node; the number of pairs of each."""
        nodes, place, size = np.unique(self.node, return_inverse=True, return_counts=True)
        return nodes, place, size

    def edges(self, adjacency: Adjacency) -> _Edges:
        """All edges of the nodes in some adjacency lists."""
        nodes, _, _ = self._distinct
        low, high = adjacency.offsets[nodes], adjacency.offsets[nodes + 1]
        edge = ranges(low, high)
        truth = adjacency.value[edge] if len(adjacency.value) else np.full(len(edge), ONE)
        return _Edges(
            np.repeat(np.arange(len(nodes)), high - low),
            adjacency.code[edge].astype(np.int64),
            adjacency.neighbour[edge].astype(np.int64),
            truth.astype(np.int64),
        )

    def without_loops(self, edges: _Edges) -> _Edges:
        """The edges that lead to another node."""
        nodes, _, _ = self._distinct
        return edges.take(nodes[edges.node] != edges.neighbour)

    def key(self, kind: Kind, code: Integers, constant: Integers) -> Ints:
        """Keys of conditions of a kind on this argument."""
        same = np.ones(len(code), dtype=np.int64)
        number = KINDS.index(kind)
        return self.counter.key(number * same, self.argument * same, code, constant)

    def is_frequent(self, condition: Ints, node: Ints) -> Bools:
        """Which groundings, by condition and node, are of wanted or frequent conditions."""
        if self.wanted is not None:
            return np.isin(condition, self.wanted)
        _, _, size = self._distinct
        distinct, group = np.unique(condition, return_inverse=True)
        return np.asarray((np.bincount(group, size[node], len(distinct)) >= self.min_pairs)[group])

    def hidden(self, edges: _Edges, any_code: bool = False) -> tuple[Ints, Ints]:
        """(pair, edge) to hide: a pair's own edge or, by `any_code`, all edges between its nodes.

        A loop is two own edges of its node.
        """
        _, place, _ = self._distinct
        n = self.counter.n_entities
        pairs = np.arange(len(self.pairs)) if any_code else np.flatnonzero(self.pairs.own)
        if not len(pairs):
            return pairs, pairs
        ends = pair_keys(edges.node, edges.neighbour, n)
        by_end = np.argsort(ends, kind="stable")
        between = pair_keys(place[pairs], self.other[pairs], n)
        low, high = (np.searchsorted(ends[by_end], between, side) for side in ("left", "right"))
        pair, edge = np.repeat(pairs, high - low), by_end[ranges(low, high)]
        if not any_code:
            loop, code = self.node[pair] == self.other[pair], edges.code[edge]
            own_code = self.pairs.own_code
            own_code = inverse_code(own_code) if self.argument else own_code
            keep = (code == own_code) | (loop & (code == inverse_code(own_code)))
            pair, edge = pair[keep], edge[keep]
        return pair, edge

    def per_pair(
        self, condition: Ints, edges: _Edges, hidden: tuple[Ints, Ints] | None = None
    ) -> ConditionCounts:
        """Groundings of conditions for every pair: the edges of its node less its hidden edges.

        `condition` is the condition of every edge.
        """
        _, place, _ = self._distinct
        ones = np.ones(len(condition), dtype=np.int64)
        column = ConditionCounts(condition, edges.node, edges.truth, ones).added_up()
        rows, pair = rows_of_pairs(column.row, place)
        cells = replace(column.take(rows), row=pair)
        if hidden is not None and len(hidden[0]):
            pair, edge = hidden
            less = ConditionCounts(condition[edge], pair, edges.truth[edge], -ones[edge])
            affected = np.isin(cells.row, pair)
            rest = ConditionCounts.united([cells.take(affected), less]).added_up()
            cells = ConditionCounts.united([cells.take(~affected), rest])
        apart = self.node != self.other
        return cells.take(apart[cells.row]) if self.counter.distinct else cells


def _open(argument: _ArgumentOfPairs) -> ConditionCounts:
    """Conditions `p(A, X)`: the edges of a node by code, whatever their ends."""
    edges, distinct = argument.edges(argument.counter.forward), argument.counter.distinct
    edges = argument.without_loops(edges) if distinct else edges
    condition = argument.key(Kind.OPEN, edges.code, np.full(len(edges.code), -1))
    return argument.per_pair(condition, edges, argument.hidden(edges, any_code=distinct))


def _anchored(argument: _ArgumentOfPairs) -> ConditionCounts:
    """Conditions `p(A, 'c')`: the edges of a node by code and end; and `(A == 'c')`."""
    edges = argument.edges(argument.counter.forward)
    condition = argument.key(Kind.ANCHORED, edges.code, edges.neighbour)
    keep = argument.is_frequent(condition, edges.node)
    condition, edges = condition[keep], edges.take(keep)
    linked = argument.per_pair(condition, edges, argument.hidden(edges))
    _, place, size = argument._distinct
    pair = np.flatnonzero(size[place] >= argument.min_pairs)
    same = argument.key(Kind.ANCHORED, np.zeros_like(pair), argument.node[pair])
    ones = np.ones(len(pair), dtype=np.int64)
    return ConditionCounts.united([linked, ConditionCounts(same, pair, ones * ONE, ones)])


def _unary(argument: _ArgumentOfPairs) -> ConditionCounts:
    """Conditions `student(A)`: the unary facts about a node, but not its own as a target."""
    facts = argument.edges(argument.counter.unary)
    facts = facts.take(facts.code != argument.pairs.own_code)
    return argument.per_pair(argument.key(Kind.UNARY, facts.code, facts.neighbour), facts)


#: How each kind of condition is counted.
COUNTED: Mapping[Kind, Callable[[_ArgumentOfPairs], ConditionCounts]] = {
    Kind.OPEN: _open,
    Kind.ANCHORED: _anchored,
    Kind.UNARY: _unary,
}


def counts_all(kinds: AbstractSet[Kind], min_pairs: int) -> bool:
    """Whether no condition of these kinds is left out because it has fewer than `min_pairs`."""
    return kinds.isdisjoint({Kind.ANCHORED, Kind.CHAIN}) or min_pairs == 1


def unary_facts(facts: Facts) -> Adjacency:
    """The unary facts by entity, as edges that lead nowhere (-1)."""
    n, atoms = len(facts.entities), facts.atoms.get(1)
    none = np.empty(0, dtype=np.int32)
    if atoms is None:
        return Adjacency(np.zeros(n + 1, dtype=np.int64), none, none, none)
    [entity] = atoms.arguments
    order = np.argsort(entity, kind="stable")
    return Adjacency(
        pointers(np.bincount(entity, minlength=n)),
        np.full(len(order), -1, dtype=np.int32),
        step_code(atoms.predicate[order].astype(np.int64)),
        none if atoms.millionths is None else atoms.millionths[order],
    )
