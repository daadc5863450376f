"""Counts conditions on one argument from the edges of the targets' own nodes.

Every distinct subject and object is looked at once, whatever the number of its targets; a target's
own edge (two edges for a loop) is subtracted afterwards.

With distinct variables, subject and object of a rule with an atom are two entities, and X of an
open condition is a third. A constant is not a variable, and may be any entity.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers, Ints, pointers, ranges, run_starts
from hornbeam.counting.known_conditions import condition_columns
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.names import Names
from hornbeam.facts.table import HALF, ONE, Facts
from hornbeam.graph.adjacency import Adjacency
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.candidates import ANCHORED, OPEN, UNARY, Candidates, Conditions, RuleLimits
from hornbeam.rules.codes import inverse_code, step_code


@dataclass(frozen=True, eq=False)
class LocatedPairs:
    """Targets of one predicate whose entities have facts, as nodes.

    `row` is the target of every pair, `own` whether it is among the facts, as a step of `own_code`
    from the subject.
    """

    row: Ints
    subject: Ids
    object: Ids
    positive: Bools
    own: Bools
    own_code: int

    def __len__(self) -> int:
        return len(self.row)

    def ends(self, argument: int) -> tuple[Ids, Ids, int]:
        """Nodes of the argument and of the other one, and the own edge's code from the former."""
        if argument == 0:
            return self.subject, self.object, self.own_code
        return self.object, self.subject, inverse_code(self.own_code)


@dataclass(frozen=True, eq=False)
class ConditionCounts:
    """Counts of conditions: the condition, the pair, the truth, and the number of groundings."""

    kind: Ints
    argument: Ints
    code: Ints
    constant: Ints
    pair: Ints
    truth: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.pair)

    @classmethod
    def united(cls, parts: Sequence[ConditionCounts]) -> ConditionCounts:
        """All parts, concatenated."""
        names = [one.name for one in fields(cls)]
        empty = [np.empty(0, dtype=np.int64)]
        return cls(*(np.concatenate([getattr(part, n) for part in parts] or empty) for n in names))

    def take(self, rows: Integers | Bools) -> ConditionCounts:
        """The cells at `rows`."""
        return ConditionCounts(*(getattr(self, one.name)[rows] for one in fields(self)))

    def keys(self, n_codes: int, n_entities: int) -> Ints:
        """One integer per condition."""
        return condition_key(
            self.kind, self.argument, self.code, self.constant, n_codes, n_entities
        )


def condition_key(
    kind: Ints, argument: Ints, code: Ints, constant: Ints, n_codes: int, n_entities: int
) -> Ints:
    """One integer per condition; codes are below `n_codes`, constants are -1 or ids."""
    place = pair_keys(kind * 2 + argument, code, n_codes)
    return pair_keys(place, constant + 1, n_entities + 1)


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

    def cells(
        self, pairs: LocatedPairs, kinds: Collection[Kind], wanted: Ints | None, min_pairs: int
    ) -> ConditionCounts:
        """Count conditions of some kinds for all pairs.

        Only those whose key is among the sorted `wanted` ones, if given, and anchored ones only
        where they may cover `min_pairs` pairs.
        """
        parts = list[ConditionCounts]()
        for argument in (0, 1):
            if Kind.OPEN in kinds or Kind.ANCHORED in kinds:
                parts += self._of_edges(pairs, argument, kinds, wanted, min_pairs)
            if Kind.UNARY in kinds:
                parts.append(self._unary(pairs, argument))
            if Kind.ANCHORED in kinds:
                parts.append(self._equal(pairs, argument, min_pairs))
        found = ConditionCounts.united(parts)
        if self.distinct:
            apart = pairs.subject != pairs.object
            found = found.take(apart[found.pair] | (found.code == 0))
        if wanted is not None:
            found = found.take(np.isin(found.keys(self.n_codes, self.n_entities), wanted))
        return found

    def _of_edges(
        self,
        pairs: LocatedPairs,
        argument: int,
        kinds: Collection[Kind],
        wanted: Ints | None,
        min_pairs: int,
    ) -> Iterator[ConditionCounts]:
        """Open and anchored conditions, from the edges that leave the nodes of an argument."""
        node, _, _ = pairs.ends(argument)
        nodes, place, size = np.unique(node, return_inverse=True, return_counts=True)
        edges = _edges_of(self.forward, nodes)
        if Kind.OPEN in kinds:
            others = edges.take(nodes[edges.node] != edges.neighbour) if self.distinct else edges
            excluded = self._excluded(pairs, argument, others, place, self.distinct)
            others = replace(others, neighbour=np.full(len(others.node), -1))
            yield _cells(OPEN, argument, others, excluded, place)
        if Kind.ANCHORED in kinds:
            key = pair_keys(edges.code, edges.neighbour, self.n_entities)
            if wanted is None:
                found, group = np.unique(key, return_inverse=True)
                frequent = np.bincount(group, size[edges.node], len(found)) >= min_pairs
                keep = frequent[group]
            else:
                one = np.full(len(key), ANCHORED), np.full(len(key), argument)
                keep = np.isin(
                    condition_key(*one, edges.code, edges.neighbour, self.n_codes, self.n_entities),
                    wanted,
                )
            edges = edges.take(keep)
            excluded = self._excluded(pairs, argument, edges, place, any_code=False)
            yield _cells(ANCHORED, argument, edges, excluded, place)

    def _excluded(
        self, pairs: LocatedPairs, argument: int, edges: _Edges, place: Ints, any_code: bool
    ) -> tuple[Ints, Ints]:
        """(pair, edge) to exclude: a pair's own edge or, by `any_code`, all between its nodes."""
        node, other, own_code = pairs.ends(argument)
        some = np.arange(len(pairs)) if any_code else np.flatnonzero(pairs.own)
        if not len(some):
            return some, some
        n = self.n_entities
        ends = pair_keys(edges.node, edges.neighbour, n)
        by_end = np.argsort(ends, kind="stable")
        ends, wanted = ends[by_end], pair_keys(place[some], other[some], n)
        low, high = np.searchsorted(ends, wanted), np.searchsorted(ends, wanted, side="right")
        pair = np.repeat(some, high - low)
        edge = by_end[ranges(low, high)]
        if not any_code:
            loop, code = node[pair] == other[pair], edges.code[edge]
            keep = (code == own_code) | (loop & (code == inverse_code(own_code)))
            pair, edge = pair[keep], edge[keep]
        return pair, edge

    def _unary(self, pairs: LocatedPairs, argument: int) -> ConditionCounts:
        """Unary conditions: facts about the argument alone."""
        node, _, _ = pairs.ends(argument)
        nodes, place = np.unique(node, return_inverse=True)
        return _cells(UNARY, argument, _edges_of(self.unary, nodes), None, place)

    def _equal(self, pairs: LocatedPairs, argument: int, min_pairs: int) -> ConditionCounts:
        """Conditions `(A == 'c')`: the argument is a given entity."""
        node, _, _ = pairs.ends(argument)
        _, place, size = np.unique(node, return_inverse=True, return_counts=True)
        pair = np.flatnonzero(size[place] >= min_pairs)
        zero = np.zeros(len(pair), dtype=np.int64)
        return ConditionCounts(
            zero + ANCHORED, zero + argument, zero, node[pair].astype(np.int64), pair,
            zero + ONE, zero + 1,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges that leave some nodes, by the node's index; sorted by node."""

    node: Ints
    code: Ints
    neighbour: Ints
    truth: Ints

    def take(self, rows: Integers | Bools) -> _Edges:
        return _Edges(self.node[rows], self.code[rows], self.neighbour[rows], self.truth[rows])


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


def _edges_of(adjacency: Adjacency, nodes: Ids) -> _Edges:
    low, high = adjacency.offsets[nodes], adjacency.offsets[nodes + 1]
    edge = ranges(low, high)
    truth = adjacency.value[edge] if len(adjacency.value) else np.full(len(edge), ONE)
    return _Edges(
        np.repeat(np.arange(len(nodes)), high - low),
        adjacency.code[edge].astype(np.int64),
        adjacency.neighbour[edge].astype(np.int64),
        truth.astype(np.int64),
    )


def _cells(
    kind: int, argument: int, edges: _Edges, excluded: tuple[Ints, Ints] | None, place: Ints
) -> ConditionCounts:
    """Counts per pair of the edges of its node, without the `excluded` ones.

    `place` is the index of every pair's node. Pairs with excluded edges are counted one by one.
    """
    n_nodes = int(place.max(initial=-1)) + 1
    pairs = np.arange(len(place))
    parts = []
    special = np.empty(0, dtype=np.int64) if excluded is None else np.unique(excluded[0])
    if len(special):
        # the edges of these pairs one by one, without the excluded ones
        starts = pointers(np.bincount(edges.node, minlength=n_nodes))
        low, high = starts[place[special]], starts[place[special] + 1]
        pair, edge = np.repeat(special, high - low), ranges(low, high)
        assert excluded is not None
        n_edges = len(edges.node)
        gone = np.isin(pair_keys(pair, edge, n_edges), pair_keys(*excluded, n_edges))
        parts.append((pair[~gone], edges.take(edge[~gone])))
        pairs = np.setdiff1d(pairs, special)
    order = np.lexsort((edges.truth, edges.neighbour, edges.code, edges.node))
    grouped = edges.take(order)
    starts = run_starts(grouped.node, grouped.code, grouped.neighbour, grouped.truth)
    times = np.diff(np.append(starts, len(order)))
    grouped = grouped.take(starts)
    bounds = pointers(np.bincount(grouped.node, minlength=n_nodes))
    low, high = bounds[place[pairs]], bounds[place[pairs] + 1]
    group = ranges(low, high)
    shared = (np.repeat(pairs, high - low), grouped.take(group), times[group])
    lists = [shared, *(_counted(pair, single) for pair, single in parts)]
    pair = np.concatenate([one[0] for one in lists])
    count = np.concatenate([one[2] for one in lists])
    code, neighbour, truth = (
        np.concatenate([getattr(one[1], name) for one in lists])
        for name in ("code", "neighbour", "truth")
    )
    zero = np.zeros(len(pair), dtype=np.int64)
    return ConditionCounts(zero + kind, zero + argument, code, neighbour, pair, truth, count)


def _counted(pair: Ints, edges: _Edges) -> tuple[Ints, _Edges, Ints]:
    """Equal edges of a pair merged, with their number."""
    order = np.lexsort((edges.truth, edges.neighbour, edges.code, pair))
    pair, edges = pair[order], edges.take(order)
    starts = run_starts(pair, edges.code, edges.neighbour, edges.truth)
    return pair[starts], edges.take(starts), np.diff(np.append(starts, len(pair)))


def conditions_found(
    cells: ConditionCounts,
    pairs: LocatedPairs,
    head: int,
    predicates: tuple[str, ...],
    targets: tuple[str, ...],
    entities: Names,
    n_codes: int,
    language: RuleLimits,
) -> tuple[Candidates, Ints]:
    """The conditions of the cells of one target predicate, and the index of each cell's."""
    keys = cells.keys(n_codes, len(entities))
    _, first, condition = np.unique(keys, return_index=True, return_inverse=True)
    n = len(first)
    true = cells.truth >= HALF
    # a condition covers a pair once, however many values its groundings have
    covered = np.unique(pair_keys(condition[true], cells.pair[true], len(pairs)))
    of_covered = covered // max(len(pairs), 1)
    positive = pairs.positive[covered % max(len(pairs), 1)]
    steps = np.zeros((n, language.max_length), dtype=np.uint32)
    steps[:, 0] = cells.code[first]
    found = Candidates(
        predicates,
        targets,
        steps,
        np.full(n, head, dtype=np.int32),
        np.bincount(of_covered, minlength=n),
        np.bincount(of_covered, positive, n).astype(np.int64),
        np.bincount(condition[true], cells.count[true], n).astype(np.int64),
        language.distinct_variables,
        Conditions(
            cells.kind[first].astype(np.int32),
            cells.argument[first].astype(np.int32),
            cells.constant[first].astype(np.int32),
            entities,
        ),
    )
    return found, condition


def wanted_keys(
    bodies: Sequence[tuple[int, Body]], predicates: Names, entities: Names, n_codes: int
) -> tuple[Ints, Ints]:
    """Keys and numbers of those bodies that the facts can ground."""
    numbers, kind, argument, code, constant = condition_columns(bodies, predicates, entities.index)
    return condition_key(kind, argument, code, constant, n_codes, len(entities)), numbers
