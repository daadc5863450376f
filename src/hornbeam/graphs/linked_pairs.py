"""Pairs with several links: how many there are, and a pair's evidence for links that it lacks.

X is the 0/1 matrix of ordered pairs by steps: 1 where a step leads from the pair's first entity to
its second. As in `hornbeam.graphs.ridge`, the weights B that predict every step from all others,
with penalty l |B|^2 and B_tt = 0, are

    B_st = -P_st / P_tt,    P = (X^T X + l I)^-1,

and the score of t(a, c) is the sum of B_st over the steps s that lead from a to c: rules
t(X, Y) <- r(X, Y) and t(X, Y) <- r(Y, X) with signed weights. There are few steps, so that X^T X,
which counts the pairs that any two steps link, is small however many facts there are.

Weights are integers, in millionths, so that their sums do not depend on the order of summation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hornbeam.base.arrays import Ids, Integers, Ints
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.growth import Growth
from hornbeam.graph.adjacency import moved_codes, new_edges
from hornbeam.graphs.evidence_kernels import MILLION
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.ranking_model import LinkedShares
from hornbeam.graphs.softmax import inverse_of
from hornbeam.ranking.queries import Triples
from hornbeam.rules.codes import code_limit, step_code

#: L2 penalty of the weights.
PENALTY = 30.0
#: Maximum number of steps for which weights are fitted: inversion takes cubic time.
MAX_STEPS = code_limit(500)
#: What a graph keeps the numbers of pairs under.
PAIRS = "pairs of steps"
NO_WEIGHTS: Ints = np.empty((0, 0), dtype=np.int64)


def pair_weights(shared: Ints) -> Ints:
    """The weight, in millionths, of every step (row) for every other step (column).

    Parameters
    ----------
    shared
        Number of ordered pairs that any two steps both link; on the diagonal, pairs of one step.
    """
    return zero_diagonal_weights(shared, PENALTY)


def zero_diagonal_weights(shared: Ints, penalty: float) -> Ints:
    """The weights B of columns for each other in millionths, where `shared` is X^T X."""
    inverse = inverse_of(shared + penalty * np.eye(len(shared)))
    weights: Ints = np.rint(-MILLION * inverse / np.diag(inverse)).astype(np.int64)
    np.fill_diagonal(weights, 0)
    return weights


def graph_pair_weights(graph: LinkedGraph) -> Ints:
    """The pair weights of a graph; an empty array if the graph has too many relations."""
    if graph.step_limit > MAX_STEPS:
        return NO_WEIGHTS
    if PAIRS not in graph.kept:
        graph.kept[PAIRS] = PairsOfSteps(shared_pairs(graph))
    return pair_weights(graph.kept[PAIRS].shared)


@dataclass(frozen=True)
class PairsOfSteps:
    """Number of ordered pairs that any two steps both link, which follows facts that grow."""

    shared: Ints

    def grown(self, growth: Growth, before: LinkedGraph, graph: LinkedGraph) -> PairsOfSteps:
        """The numbers of the grown graph: only pairs that have a new link are counted again."""
        links, new = graph.links, dict[tuple[int, int], list[int]]()
        for node, step, end in zip(*(ids.tolist() for ids in new_edges(growth)), strict=True):
            new.setdefault((node, end), []).append(step)
        changes = list[tuple[Integers, list[int]]]()
        for (node, end), steps in new.items():
            runs = range(*links.first_run[node : node + 2].tolist())
            ends = (links.end[slice(*links.run_start[run : run + 2])] for run in runs)
            held = [run for run, some in zip(runs, ends, strict=True) if is_in(some, end)]
            changes.append((links.run_step[held], steps))
        return PairsOfSteps(moved_counts(self.shared, growth, graph.step_limit, changes))


def is_in(ascending: Ids, number: int) -> bool:
    """Whether a number is among ascending ones."""
    at = int(np.searchsorted(ascending, number))
    return at < len(ascending) and bool(ascending[at] == number)


def moved_counts(
    shared: Ints, growth: Growth, step_limit: int, changes: Iterable[tuple[Integers, list[int]]]
) -> Ints:
    """X^T X after a growth; `changes` has the steps of every row of X that changes, and the new."""
    codes = moved_codes(growth)
    grown = np.zeros((step_limit, step_limit), dtype=np.int64)
    grown[np.ix_(codes, codes)] = shared
    for steps, new in changes:
        before = steps[~np.isin(steps, new)]
        grown[np.ix_(steps, steps)] += 1
        grown[np.ix_(before, before)] -= 1
    return grown


def shared_pairs(graph: LinkedGraph) -> Ints:
    """Number of ordered pairs that any two steps both link."""
    keys = _unordered_pairs(graph, graph.n_entities)
    ordered = np.sort(keys)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    # most pairs of most graphs have one link and share nothing; a loop is linked both ways
    several = contained(keys, repeated) | (graph.subject == graph.object)
    subject, object_ = graph.subject[several], graph.object[several]
    start, end = np.concatenate([subject, object_]), np.concatenate([object_, subject])
    every = np.arange(graph.n_predicates)
    directions = [step_code(every), step_code(every, inverse=True)]
    step = np.concatenate([along[graph.predicate[several]] for along in directions])
    _, pair = np.unique(pair_keys(start, end, graph.n_entities), return_inverse=True)
    shape = (int(pair.max(initial=0)) + 1, graph.step_limit)
    linked = sparse.csr_array((np.ones(len(pair), dtype=np.int64), (pair, step)), shape=shape)
    shared: Ints = (linked.T @ linked).toarray()
    for along in directions:
        shared[along, along] = np.bincount(graph.predicate, minlength=graph.n_predicates)
    return shared


def linked_shares(graph: LinkedGraph, held: Triples | None = None) -> LinkedShares:
    """Fractions of the graph's and of held-out links whose two entities have a further link."""
    keys = _unordered_pairs(graph, graph.n_entities)
    pairs, counts = np.unique(keys, return_counts=True)
    train = float(counts[counts > 1].sum() / max(len(keys), 1))
    if held is None or not len(held):
        return LinkedShares(train)
    linked = contained(_unordered_pairs(held, graph.n_entities), pairs)
    return LinkedShares(train, float(linked.mean()))


def _unordered_pairs(links: LinkedGraph | Triples, n_entities: int) -> Ints:
    """The two entities of every link as one number, the same in both directions."""
    low, high = np.minimum(links.subject, links.object), np.maximum(links.subject, links.object)
    return pair_keys(low, high, n_entities)
